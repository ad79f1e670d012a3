"""The run: the verbs a choreography is written in.

`Run` knows the rules (places, owners, rounds, shapes, transcript, ledger) and none of the plumbing. A runtime
supplies two things: `_each` computes at the parties that are present here, `_exchange` moves frames.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from tacit.choreo.at import At, Carry, Scope, lifted
from tacit.choreo.codec import Frames, decode_as, encode, sealed
from tacit.choreo.ledger import Ledger, Row
from tacit.choreo.message import Each, Message, shapes
from tacit.choreo.role import Channel, Everyone, Role, Roster
from tacit.errors import ChoreographyError, PeerError

M = TypeVar("M", bound=Message)
Pair = tuple[str, str]


class Entropy(Protocol):
    """Where all secret randomness comes from; the one place at which a test may inject its own."""

    def seed(self, party: str, place: str) -> bytes:
        """32 bytes, a PRF of the party's root key, the run and the place."""
        ...

    def pads(self, party: str, seeds: Mapping[str, bytes], tag: bytes) -> Any:
        """Pads of the party under these seeds, bound to the tag; each can be put on once."""
        ...


class Present(Message, tells="who answered in this round"):
    """Closes a `gather`."""

    parties: tuple[str, ...]


class Run(ABC):
    """One run of a choreography, as seen from one process."""

    def __init__(
        self,
        roster: Roster,
        *,
        present: Sequence[str],
        job: bytes,
        entropy: Entropy,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.roster = roster
        self.present = tuple(present)
        self.ledger = Ledger()
        self.history: list[dict[str, Any]] = []
        self.entropy = entropy
        self.progress = progress
        self.transcript = {party: hashlib.sha256(b"tacit job" + job).digest() for party in present}
        self._scopes = [Scope("")]

    # What a runtime supplies

    @abstractmethod
    def _each(self, place: str, work: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """Do the work of every present party."""

    @abstractmethod
    def _exchange(self, place: str, outbox: Mapping[Pair, Frames], wanted: Sequence[Pair], missing: int) -> dict[Pair, Frames]:
        """Send the outbox and wait for the wanted frames, of which up to `missing` may stay away."""

    # Verbs

    def hold(self, role: Role, entries: Mapping[str, Any]) -> At[Any]:
        """An input: what each party of the role brings along."""
        owners = self.roster[role]
        return At(owners, {p: entries[p] for p in owners if p in self.present}, self._scope)

    def members(self, role: Role) -> tuple[Role, ...]:
        """Each party of the role as a role of its own, in public order."""
        return self.roster.members(role)

    def who(self, role: Role) -> At[str]:
        """Each party's own name."""
        return self.hold(role, {p: p for p in self.roster[role]})

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """Each party of the role computes on its own values; nothing moves."""
        owners = self.roster[role]
        label = getattr(step, "__name__", type(step).__name__)
        place = self._scope.place(f"{label}()")  # a step may be called like a message
        for value in (*args, *kwargs.values()):
            self._check(value, owners, f"step {label} at {role}")

        def work(party: str) -> Callable[[], Any]:
            mine = [_entry(a, party) for a in args]
            named = {k: _entry(v, party) for k, v in kwargs.items()}
            return lambda: sealed(step(*mine, **named), f"step {label}")

        done = self._each(place, {p: work(p) for p in owners if p in self.present})
        return At(owners, done, self._scope)

    def send(self, kind: type[M], channel: Channel, value: At[Any]) -> At[Any]:
        """One round: every source sends one message to every (other) target."""
        return self._deliver(kind, channel, value, at_least=None)

    def gather(self, kind: type[M], channel: Channel, value: At[Any], *, at_least: int) -> tuple[At[Any], tuple[str, ...]]:
        """As send, to one target, but senders may be missing; who answered is published."""
        if not channel.target.single:
            raise ChoreographyError(f"gather needs a single receiver, got {channel.target}")
        received = self._deliver(kind, channel, value, at_least=at_least)
        return received, self.publish(Present, self.local(channel.target, _answered, received)).parties

    def publish(self, kind: type[M], value: At[Any]) -> M:
        """Everyone learns it from its one author; from here on it is a plain value."""
        if len(value.owners) != 1:
            raise ChoreographyError(f"publish needs one author, {kind.__name__} has {', '.join(value.owners)}: use publish_all")
        return self.publish_all(kind, value)[value.owners[0]]

    def publish_all(self, kind: type[M], value: At[Any]) -> dict[str, M]:
        """Everyone learns one from each of its owners."""
        place = self._scope.place(kind.__name__)
        self._check(value, value.owners, f"publish {kind.__name__}")
        pairs = [(a, p) for a in value.owners for p in self.roster.parties]
        frames = self._move(kind, place, value, pairs)
        for party in self.present:
            for author in value.owners:
                self._append(party, place, author, frames[author, party])
        here = self.present[0]
        messages = {a: self._read(kind, place, (a, here), frames[a, here]) for a in value.owners}
        self._same_shapes(kind, place, messages)
        self._write(kind, place, [(a, p) for a, p in pairs if a != p], frames, None, Everyone)
        return messages

    def random(self, role: Role) -> At[bytes]:
        """A fresh 32-byte seed at each party of the role."""
        place = self._scope.place("random")
        owners = self.roster[role]
        return At(owners, {p: self.entropy.seed(p, place) for p in owners if p in self.present}, self._scope)

    def tag(self) -> At[bytes]:
        """H(job and all published so far, place): a PRF input that only parties told the same things share."""
        place = self._scope.place("tag").encode()
        tags = {p: hashlib.sha256(t + place).digest() for p, t in self.transcript.items()}
        return At(self.roster.parties, tags, self._scope)

    def pads(self, seeds: At[dict[str, bytes]], tag: At[bytes]) -> At[Any]:
        """Pads under each owner's seeds, bound to the tag."""
        self._check(seeds, seeds.owners, "pads")
        self._check(tag, seeds.owners, "pads")
        pads = {p: self.entropy.pads(p, s, tag.entries[p]) for p, s in seeds.entries.items()}
        return At(seeds.owners, pads, self._scope)

    def carry(self, **values: object) -> Carry:
        """The values that outlive a round."""
        return Carry(**values)

    def rounds(self, n: int, carry: Carry) -> Iterator[int]:
        """Rounds 0..n-1; at the end of each only the carried values live on."""
        base, outer, depth = self._scope.place("round"), self._scope, len(self._scopes)
        for t in range(n):
            scope = Scope(f"{base}[{t}]")
            self._scopes.append(scope)
            yield t
            del self._scopes[depth:]
            scope.open = False
            carry.move(outer)
            if self.progress:
                self.progress(base, t + 1, n)

    def note(self, **figures: float | str) -> None:
        """Public figures for the history."""
        if any(isinstance(v, At) for v in figures.values()):
            raise ChoreographyError("note takes published values only")
        self.history.append({"place": self._scope.path, **figures})

    @contextmanager
    def within(self, name: str) -> Iterator[Callable[[Any], Any]]:
        """A choreography of that name; yields the function that lifts its result out of it."""
        outer, depth = self._scope, len(self._scopes)
        self._scopes.append(Scope(outer.place(name)))
        try:
            yield lambda result: lifted(result, outer)
        finally:
            for scope in self._scopes[depth:]:
                scope.open = False
            del self._scopes[depth:]

    # Rules

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _check(self, value: object, owners: Sequence[str], where: str) -> None:
        """The same error at every party, present or not: owners are public."""
        if not isinstance(value, At):
            return
        if not value.scope.open:
            raise ChoreographyError(f"{where} uses a value of {value.scope.path}, which is over: carry it")
        lacking = [p for p in owners if p not in value.owners]
        if lacking:
            raise ChoreographyError(f"{where} uses a value that {', '.join(lacking)} does not hold (held by {', '.join(value.owners)})")

    def _deliver(self, kind: type[M], channel: Channel, value: At[Any], at_least: int | None) -> At[Any]:
        place = self._scope.place(kind.__name__)
        senders, receivers = self.roster[channel.source], self.roster[channel.target]
        self._check(value, senders, f"send {kind.__name__} from {channel.source}")
        others_only = channel.source == channel.target and not channel.source.single
        pairs = [(s, r) for s in senders for r in receivers if s != r or not others_only]
        missing = 0 if at_least is None else len(senders) - at_least
        frames = self._move(kind, place, value, pairs, missing)
        inboxes: dict[str, dict[str, M]] = {r: {} for r in receivers if r in self.present}
        for (s, r), frame in frames.items():
            if r in inboxes:
                inboxes[r][s] = self._read(kind, place, (s, r), frame)
        for inbox in inboxes.values():
            self._same_shapes(kind, place, inbox)
        self._write(kind, place, [(s, r) for s, r in pairs if s != r], frames, channel.source, channel.target)
        single = channel.source.single and at_least is None
        entries: dict[str, Any] = {r: inbox[senders[0]] if single else inbox for r, inbox in inboxes.items()}
        return At(receivers, entries, self._scope)

    def _move(self, kind: type[M], place: str, value: At[Any], pairs: Sequence[Pair], missing: int = 0) -> dict[Pair, Frames]:
        """Encode at the senders, exchange, and let everyone read back its own bytes."""
        outbox: dict[Pair, Frames] = {}
        encoded: dict[int, Frames] = {}
        for s, r in pairs:
            if s in self.present:
                message = _for(value.entries[s], r, kind, s)
                outbox[s, r] = encoded[id(message)] = encoded.get(id(message)) or encode(message)
        mine = {(s, r): f for (s, r), f in outbox.items() if s == r}
        abroad = {(s, r): f for (s, r), f in outbox.items() if s != r}
        wanted = [(s, r) for s, r in pairs if s != r and r in self.present]
        arrived = self._exchange(place, abroad, wanted, missing)
        sent = {(s, r): f for (s, r), f in abroad.items() if r not in self.present}
        return {**mine, **sent, **arrived}

    def _read(self, kind: type[M], place: str, pair: Pair, frame: Frames) -> M:
        try:
            return decode_as(kind, frame)
        except PeerError as error:
            raise PeerError(f"{pair[0]} sent {pair[1]} a bad {kind.__name__} at {place}: {error}") from None

    def _same_shapes(self, kind: type[M], place: str, inbox: Mapping[str, M]) -> None:
        found = {s: shapes(m) for s, m in inbox.items()}
        if not kind.ragged and len(set(found.values())) > 1:
            told = ", ".join(f"{s} {shape}" for s, shape in found.items())
            raise PeerError(f"the senders of {kind.__name__} at {place} disagree on its shape: {told}")

    def _append(self, party: str, place: str, author: str, frame: Frames) -> None:
        link = self.transcript[party] + f"{place} {author} ".encode() + frame.digest
        self.transcript[party] = hashlib.sha256(link).digest()

    def _write(
        self, kind: type[M], place: str, pairs: Sequence[Pair], frames: Mapping[Pair, Frames], source: Role | None, target: Role
    ) -> None:
        for s, r in pairs:
            frame = frames.get((s, r))
            seen = shapes(decode_as(kind, frame)) if frame else None
            author = source.name if source else self.roster.role_of(s)
            row = Row(place, s, r, author, target.name, kind.__name__, kind.tells, seen, frame.nbytes if frame else None)
            self.ledger.rows.append(row)


def _entry(value: Any, party: str) -> Any:
    return value.entries[party] if isinstance(value, At) else value


def _answered(messages: Mapping[str, Message]) -> Present:
    return Present(tuple(messages))


def _for(value: Any, receiver: str, kind: type[M], sender: str) -> M:
    message = value.get(receiver) if isinstance(value, Each) else value
    if type(message) is not kind:
        raise ChoreographyError(f"{sender} should send {kind.__name__} to {receiver}, its step gave {type(message).__name__}")
    return message
