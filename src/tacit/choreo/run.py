"""The run: the verbs a choreography is written in.

`Run` knows the rules (places, owners, rounds, shapes, transcript, ledger) and none of the plumbing. A runtime
supplies two things: `_each` computes at the parties that are present here, `_exchange` moves frames.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tacit.choreo.at import At, Carry, Scope, carried, entries_of, held_in, lift
from tacit.choreo.codec import Frames, decode_as, encode, sealed
from tacit.choreo.ledger import Ledger, Row
from tacit.choreo.message import Each, Message, misfit, shapes
from tacit.choreo.role import Channel, Everyone, Role, Roster
from tacit.errors import ChoreographyError, PeerError

M = TypeVar("M", bound=Message)
Pair = tuple[str, str]
Seen = Mapping[Pair, Frames]


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


F = TypeVar("F", bound=Callable[..., Any])


def once(step: F) -> F:
    """Mark a step whose result is another one every time, such as an encryption: a run that is taken up again goes on with the first."""
    vars(step)["once"] = True
    return step


@dataclass(frozen=True, repr=False)
class Work:
    """A step with the arguments of one party, to be done where that party is."""

    label: str
    step: Callable[..., Any]
    args: tuple[Any, ...]
    named: Mapping[str, Any]

    @property
    def once(self) -> bool:
        """Whether doing it again would give something else."""
        return getattr(self.step, "once", False)

    def __call__(self) -> Any:
        """Do it."""
        return sealed(self.step(*self.args, **self.named), f"step {self.label}")


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
        self.place = "the start"  # of the verb that was called last
        self.transcript = {party: hashlib.sha256(b"tacit job" + job).digest() for party in present}
        self._scopes = [Scope("")]

    # What a runtime supplies

    @abstractmethod
    def _each(self, place: str, work: Mapping[str, Work]) -> dict[str, Any]:
        """Do the work of every present party."""

    @abstractmethod
    def _exchange(self, place: str, outbox: Seen, wanted: Sequence[Pair], missing: int | None) -> dict[Pair, Frames]:
        """Send the outbox and wait for the wanted frames; in a gather up to `missing` senders may stay away.

        Returns all frames seen here: those sent and those that arrived. A frame to oneself arrives without moving.
        """

    def _brought(self, kind: type[Message], value: At[Any]) -> Mapping[str, Any]:
        """What the senders that are present give: a runtime that keeps values elsewhere fetches them."""
        del kind
        return entries_of(value)

    def _resumed(self, base: str, carry: Carry) -> int:
        """The first round to play: a runtime that keeps checkpoints restores the carry of the one before."""
        del base, carry
        return 0

    def _finished(self, base: str, t: int, carry: Carry) -> None:  # noqa: B027 - a hook that most runtimes leave alone
        """A round is over: the place for a checkpoint."""

    def _keep(self, entries: Mapping[str, Any]) -> None:  # noqa: B027 - a hook for runtimes that have something that outlives a run
        """Write down, for each party that is present, what must outlive the run, before anything else leaves the party."""

    # Verbs

    def hold(self, role: Role, entries: Mapping[str, Any]) -> At[Any]:
        """An input: what each party of the role brings along."""
        return self._at(role, {p: entries[p] for p in self._here(role)})

    def members(self, role: Role) -> tuple[Role, ...]:
        """Each party of the role as a role of its own, in public order."""
        return self.roster.members(role)

    def who(self, role: Role) -> At[str]:
        """Each party's own name."""
        return self._at(role, {p: p for p in self._here(role)})

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """Each party of the role computes on its own values; nothing moves."""
        label = getattr(step, "__name__", type(step).__name__)
        place = self._placed(f"{label}()")  # a step may be called like a message
        for value in (*args, *kwargs.values()):
            self._check(value, self.roster[role], f"step {label} at {role}")

        def work(party: str) -> Work:
            return Work(label, step, tuple(_entry(a, party) for a in args), {k: _entry(v, party) for k, v in kwargs.items()})

        return self._at(role, self._each(place, {p: work(p) for p in self._here(role)}))

    def send(self, kind: type[M], channel: Channel, value: At[Any]) -> At[Any]:
        """One round: every source sends one message to every (other) target."""
        place, pairs, seen = self._deliver(kind, channel, value, missing=None)
        inboxes = self._inboxes(kind, place, channel.target, seen)
        self._write(kind, place, pairs, seen, channel)
        if not channel.source.single:
            return self._at(channel.target, inboxes)
        return self._at(channel.target, {r: next(iter(inbox.values())) for r, inbox in inboxes.items()})

    def gather(self, kind: type[M], channel: Channel, value: At[Any], *, at_least: int) -> tuple[At[Any], tuple[str, ...]]:
        """As send, to one target, but senders may be missing; who answered is published."""
        senders = self.roster[channel.source]
        if not channel.target.single or not 1 <= at_least <= len(senders):
            raise ChoreographyError(f"gather needs a single receiver and at_least in 1..{len(senders)}, got {channel.target}, {at_least}")
        place, pairs, seen = self._deliver(kind, channel, value, missing=len(senders) - at_least)
        received = self._at(channel.target, self._inboxes(kind, place, channel.target, seen))
        before = len(self.ledger)
        present = self.publish(Present, self.local(channel.target, _answered, received)).parties
        if len(set(present)) != len(present) or not set(present) <= set(senders) or len(present) < at_least:
            raise PeerError(f"{self.roster[channel.target][0]} names senders at {place} that cannot be: {len(present)} of {len(senders)}")
        self._write(kind, place, [(s, r) for s, r in pairs if s in present], seen, channel, at=before)
        return received, present

    def publish(self, kind: type[M], value: At[Any]) -> M:
        """Everyone learns it from its one author; from here on it is a plain value."""
        messages = self._published(kind, value)
        if len(messages) != 1:
            raise ChoreographyError(f"publish needs one author, {kind.__name__} has {', '.join(messages)}: use publish_all")
        return next(iter(messages.values()))

    def publish_all(self, kind: type[M], value: At[Any]) -> dict[str, M]:
        """Everyone learns one from each of its owners."""
        return self._published(kind, value)

    def keep(self, value: At[Any]) -> None:
        """Write what each owner holds where it outlives the run, however that ends; it is there before the owner sends anything more."""
        self._placed("keep")
        self._check(value, value.owners, "keep")
        self._keep(entries_of(value))

    def random(self, role: Role) -> At[bytes]:
        """A fresh 32-byte seed at each party of the role."""
        place = self._placed("random")
        return self._at(role, {p: self.entropy.seed(p, place) for p in self._here(role)})

    def tag(self) -> At[bytes]:
        """H(job and all published so far, place): a PRF input that only parties told the same things share."""
        place = self._placed("tag").encode()
        return self._at(Everyone, {p: hashlib.sha256(t + place).digest() for p, t in self.transcript.items()})

    def pads(self, seeds: At[dict[str, bytes]], tag: At[bytes]) -> At[Any]:
        """Pads under each owner's seeds, bound to the tag."""
        self._check(seeds, seeds.owners, "pads")
        self._check(tag, seeds.owners, "pads")
        tags = entries_of(tag)
        return At(seeds.owners, {p: self.entropy.pads(p, s, tags[p]) for p, s in entries_of(seeds).items()}, self._scope)

    def carry(self, **values: object) -> Carry:
        """The values that outlive a round."""
        return Carry(values)

    def rounds(self, n: int, carry: Carry) -> Iterator[int]:
        """Rounds 0..n-1; at the end of each, however it ends, only the carried values live on."""
        base, outer, depth = self._placed("round"), self._scope, len(self._scopes)
        for t in range(self._resumed(base, carry), n):
            scope = Scope(f"{base}[{t}]")
            self._scopes.append(scope)
            try:
                yield t
            finally:  # also when the loop is left by break or return
                try:
                    lift(carried(carry), scope, outer)
                finally:
                    self._close(depth)
            self._finished(base, t, carry)
            if self.progress:
                self.progress(base, t + 1, n)

    def note(self, **figures: float | str) -> None:
        """Public figures for the history."""
        if any(True for _ in held_in(figures)) or "place" in figures:
            raise ChoreographyError("note takes published values only, and keeps the name 'place' for itself")
        self.history.append({"place": self._scope.path, **figures})

    @contextmanager
    def within(self, name: str) -> Iterator[Callable[[Any], None]]:
        """A choreography of that name; yields the function that lets its result live on."""
        outer, depth = self._scope, len(self._scopes)
        inner = Scope(self._placed(name))
        self._scopes.append(inner)
        try:
            yield lambda result: lift(result, inner, outer)
        finally:
            self._close(depth)

    # Rules

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _placed(self, label: str) -> str:
        self.place = self._scope.place(label)
        return self.place

    def _close(self, depth: int) -> None:
        for scope in self._scopes[depth:]:
            scope.open = False
        del self._scopes[depth:]

    def _here(self, role: Role) -> list[str]:
        return [p for p in self.roster[role] if p in self.present]

    def _at(self, role: Role, entries: Mapping[str, Any]) -> At[Any]:
        return At(self.roster[role], entries, self._scope)

    def _check(self, value: object, owners: Sequence[str], where: str) -> None:
        """The same error at every party, present or not: owners are public."""
        if not isinstance(value, At):
            if any(True for _ in held_in(value)):
                raise ChoreographyError(f"{where} uses a value hidden in a {type(value).__name__}: pass it as an argument of its own")
            return
        if not value.scope.open:
            raise ChoreographyError(f"{where} uses a value of {value.scope.path}, which is over: carry it")
        lacking = [p for p in owners if p not in value.owners]
        if lacking:
            raise ChoreographyError(f"{where} uses a value that {', '.join(lacking)} does not hold (held by {', '.join(value.owners)})")

    def _published(self, kind: type[M], value: At[Any]) -> dict[str, M]:
        place = self._placed(kind.__name__)
        authors = self._senders(value, None, f"publish {kind.__name__}")
        brought = self._brought(kind, value)
        if any(isinstance(m, Each) for m in brought.values()):
            raise ChoreographyError(f"publish {kind.__name__} tells everyone the same: Each is for send")
        pairs = [(a, p) for a in authors for p in self.roster.parties]
        seen = self._move(kind, place, brought, pairs, missing=None)
        for party in self.present:
            for author in authors:
                link = self.transcript[party] + f"{place} {author} ".encode() + seen[author, party].digest
                self.transcript[party] = hashlib.sha256(link).digest()
        messages = {a: self._read(kind, place, (a, self.present[0]), seen[a, self.present[0]]) for a in authors}
        self._same_shapes(kind, place, messages)
        self._write(kind, place, pairs, seen, None)
        return messages

    def _deliver(self, kind: type[M], channel: Channel, value: At[Any], missing: int | None) -> tuple[str, list[Pair], dict[Pair, Frames]]:
        place = self._placed(kind.__name__)
        senders = self._senders(value, self.roster[channel.source], f"send {kind.__name__} from {channel.source}")
        others_only = channel.source == channel.target and not channel.source.single
        pairs = [(s, r) for s in senders for r in self.roster[channel.target] if s != r or not others_only]
        return place, pairs, self._move(kind, place, self._brought(kind, value), pairs, missing)

    def _senders(self, value: At[Any], senders: Sequence[str] | None, where: str) -> Sequence[str]:
        if not isinstance(value, At):
            raise ChoreographyError(f"{where} needs a value that parties hold, got a {type(value).__name__}: make it in a local step")
        self._check(value, senders or value.owners, where)
        return senders or value.owners

    def _move(
        self, kind: type[M], place: str, brought: Mapping[str, Any], pairs: Sequence[Pair], missing: int | None
    ) -> dict[Pair, Frames]:
        """Encode at the senders and exchange; everyone reads back its own bytes too."""
        outbox: dict[Pair, Frames] = {}
        encoded: dict[int, Frames] = {}  # what goes to many is checked and written once
        for s, r in pairs:
            if s in self.present:
                message = _for(brought[s], r)
                if id(message) not in encoded:
                    encoded[id(message)] = encode(_checked(message, kind, s, r))
                outbox[s, r] = encoded[id(message)]
        return self._exchange(place, outbox, [pair for pair in pairs if pair[1] in self.present], missing)

    def _inboxes(self, kind: type[M], place: str, target: Role, seen: Seen) -> dict[str, dict[str, M]]:
        inboxes: dict[str, dict[str, M]] = {r: {} for r in self._here(target)}
        for (s, r), frames in seen.items():
            if r in inboxes:
                inboxes[r][s] = self._read(kind, place, (s, r), frames)
        for r, inbox in inboxes.items():
            inboxes[r] = {s: inbox[s] for s in self.roster.parties if s in inbox}  # in public order, however it arrived
            self._same_shapes(kind, place, inboxes[r])
        return inboxes

    def _read(self, kind: type[M], place: str, pair: Pair, frames: Frames) -> M:
        try:
            return decode_as(kind, frames)
        except PeerError as error:
            raise PeerError(f"{pair[0]} sent {pair[1]} a bad {kind.__name__} at {place}: {error}") from None

    def _same_shapes(self, kind: type[M], place: str, inbox: Mapping[str, M]) -> None:
        found = {s: shapes(m) for s, m in inbox.items()}
        if not kind.ragged and len(set(found.values())) > 1:
            told = ", ".join(f"{s} {shape}" for s, shape in found.items())
            raise PeerError(f"the senders of {kind.__name__} at {place} disagree on its shape: {told}")

    def _write(self, kind: type[M], place: str, pairs: Sequence[Pair], seen: Seen, channel: Channel | None, at: int | None = None) -> None:
        """A row for every message that crossed a border, known here or not."""
        rows = []
        known: dict[int, tuple[tuple[int, ...], ...]] = {}  # of messages that went to many
        for s, r in pairs:
            if s == r:
                continue
            frames = seen.get((s, r))
            if frames and id(frames) not in known:
                known[id(frames)] = shapes(decode_as(kind, frames))
            shape, size = (known[id(frames)], frames.nbytes) if frames else (None, None)
            roles = (channel.source.name, channel.target.name) if channel else (self.roster.role_of(s), Everyone.name)
            digest = None if channel else seen[s, self.present[0]].digest.hex()
            rows.append(Row(place, s, r, *roles, kind.__name__, kind.tells, shape, size, digest))
        at = len(self.ledger) if at is None else at
        self.ledger.rows[at:at] = rows


def _entry(value: Any, party: str) -> Any:
    return entries_of(value)[party] if isinstance(value, At) else value


def _answered(messages: Mapping[str, Message]) -> Present:
    return Present(tuple(messages))


def _for(value: Any, receiver: str) -> Any:
    return value.get(receiver) if isinstance(value, Each) else value


def _checked(message: Any, kind: type[M], sender: str, receiver: str) -> M:
    if type(message) is not kind:
        raise ChoreographyError(f"{sender} should send {kind.__name__} to {receiver}, its step gave {type(message).__name__}")
    if wrong := misfit(message):
        raise ChoreographyError(f"field {wrong} of the {kind.__name__} that {sender} sends is not of its declared type")
    return message
