"""The run: the verbs a choreography is written in.

`Run` knows the rules (places, owners, rounds, shapes, transcript, ledger) and none of the plumbing. A runtime
supplies two things: `_each` computes at the parties that are present here, `_exchange` moves frames.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tacit.choreo.at import PLAIN, At, Carry, Scope, Work, carried_values, entries_of, find_held, lift
from tacit.choreo.codec import Frames, decode_as, encode
from tacit.choreo.fact import Fact, prose_of
from tacit.choreo.ledger import Ledger, Opened, Row, line_of_message, line_of_opened
from tacit.choreo.message import Each, Message, check_message, for_receiver, shapes
from tacit.choreo.progress import Listener, Meter
from tacit.choreo.randomness import Entropy, Pads
from tacit.choreo.role import Channel, Everyone, Role, Roster
from tacit.crypto.pads.entropy import Seeds
from tacit.errors import ChoreographyError, PeerError, UndisclosedError

M = TypeVar("M", bound=Message)
T = TypeVar("T")
Pair = tuple[str, str]
Seen = Mapping[Pair, Frames]
Along = Mapping[str, Sequence[str]]  # to whom each party sends


PRESENT = Fact("run.present", "holder", "membership", "party", "that a party is there and answers")


class Present(Message, tells=PRESENT, of_records=False):
    """Who answered a `gather`, which its receiver publishes."""

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
        progress: Listener | None = None,
        disclosure: str | None = None,
    ) -> None:
        self.roster = roster
        self.present = tuple(present)
        self._local = frozenset(present)  # the same, to look names up in
        self.ledger = Ledger()
        self.history: list[dict[str, Any]] = []
        self.entropy = entropy
        self.meter = Meter(progress)
        self.place = "the start"  # of the verb that was called last
        self.in_text = False  # whether the text itself is at work, which knows published values only, and no step
        self.transcript = {party: hashlib.sha256(b"tacit job" + job).digest() for party in present}
        self._scopes = [Scope("")]
        self._agreed = None if disclosure is None else frozenset(disclosure.splitlines())  # else anything may be told

    # What a runtime supplies

    @abstractmethod
    def _each(self, place: str, work: Mapping[str, Work]) -> dict[str, Any]:
        """Do the work of every present party."""

    @abstractmethod
    def _exchange(self, place: str, outbox: Seen, wanted: Sequence[Pair], missing: int | None) -> dict[Pair, Frames]:
        """Send the outbox and wait for the wanted frames; in a gather up to `missing` senders may stay away.

        Returns all frames seen here: those sent and those that arrived. A frame to oneself arrives without moving.
        """

    def _bring(self, kind: type[Message], value: At[Any]) -> Mapping[str, Any]:
        """Return what the senders that are present give; a runtime that keeps values elsewhere fetches them."""
        del kind
        return entries_of(value)

    def _resume(self, base: str, carry: Carry) -> int:
        """Return the first round to play; a runtime that keeps checkpoints restores the carry of the one before."""
        del base, carry
        return 0

    def _finish_round(self, base: str, t: int, carry: Carry) -> None:  # noqa: B027 - a hook that most runtimes leave alone
        """Take note that a round is over; a runtime may write a checkpoint."""

    def _reach_records(self) -> None:  # noqa: B027 - a hook for runs that may begin again
        """Take note, before anything moves, that messages which hold something of records move from here on."""

    # Verbs

    def hold(self, role: Role, entries: Mapping[str, T]) -> At[T]:
        """Return an input: what each party of the role brings along."""
        return self._at(role, {p: entries[p] for p in self._here(role)})

    def members(self, role: Role) -> tuple[Role, ...]:
        """Return each party of the role as a role of its own, in public order."""
        return self.roster.members(role)

    def who(self, role: Role) -> At[str]:
        """Return each party's own name, at that party."""
        return self._at(role, {p: p for p in self._here(role)})

    def local(self, role: Role, step: Callable[..., T], *args: object, **kwargs: object) -> At[T]:
        """Let each party of the role compute on its own values; nothing moves."""
        label = getattr(step, "__name__", type(step).__name__)
        place = self._next_place(f"{label}()")  # a step may be called like a message
        for value in (*args, *kwargs.values()):
            self._check(value, self.roster[role], f"step {label} at {role}")

        def work(party: str) -> Work:
            return Work(
                label, step, tuple(_entry(a, party) for a in args), {k: _entry(v, party) for k, v in kwargs.items()}
            )

        here = self._here(role)
        with self.meter.step(here), self._at_home():
            return self._at(role, self._each(place, {p: work(p) for p in here}))

    def unite(self, role: Role, parts: Mapping[str, At[T]]) -> At[T]:
        """Return what the parties of a role hold each by itself, by party, as one value that all of them hold."""
        for party in self.roster[role]:
            self._check(parts[party], (party,), f"uniting what each {role} holds")
        return self._at(role, {p: entries_of(parts[p])[p] for p in self._here(role)})

    def send(self, kind: type[M], channel: Channel, value: At[Any], *, along: Along | None = None) -> At[Any]:
        """Send one message from every source to every (other) target, in one round.

        A target gets the message itself if the source is a single role, or else the messages by their senders. `along`
        is a public graph: which targets each source sends to, if not to all.
        """
        place, pairs, seen = self._deliver(kind, channel, value, missing=None, along=along)
        inboxes = self._inboxes(kind, place, channel.target, seen)
        self._write(kind, place, pairs, seen, channel)
        if not channel.source.single:
            return self._at(channel.target, inboxes)
        return self._at(channel.target, {r: next(iter(inbox.values())) for r, inbox in inboxes.items()})

    def add_up(self, kind: type[M], channel: Channel, value: At[Any], add: Callable[[Iterable[M]], M]) -> At[M]:
        """Send one message from every source to a single target, which gets what `add` makes of all of them.

        A runtime may add them up on the way: `add` gives the same in whatever groups and order.
        """
        return self.local(channel.target, _add_all, self.send(kind, channel, value), add)

    def gather(
        self, kind: type[M], channel: Channel, value: At[Any], *, at_least: int
    ) -> tuple[At[dict[str, M]], tuple[str, ...]]:
        """Send to one target, where senders may be missing; return the messages by sender, and who answered.

        Who answered is published.
        """
        senders = self.roster[channel.source]
        if not channel.target.single or not 1 <= at_least <= len(senders):
            raise ChoreographyError(
                f"gather needs a single receiver and at_least in 1..{len(senders)}, got {channel.target}, {at_least}"
            )
        place, pairs, seen = self._deliver(kind, channel, value, missing=len(senders) - at_least)
        received = self._at(channel.target, self._inboxes(kind, place, channel.target, seen))
        before = len(self.ledger)
        present = self._call_roll(place, channel.target, received, senders, at_least)
        self._write(kind, place, [(s, r) for s, r in pairs if s in present], seen, channel, at=before)
        return received, present

    def publish(self, kind: type[M], value: At[Any]) -> M:
        """Tell everyone a message of its one author; from here on it is a plain value."""
        messages = self._tell_everyone(kind, value)
        if len(messages) != 1:
            raise ChoreographyError(
                f"publish needs one author, {kind.__name__} has {', '.join(messages)}: use publish_all"
            )
        return next(iter(messages.values()))

    def publish_all(self, kind: type[M], value: At[Any]) -> dict[str, M]:
        """Tell everyone one message of each owner; return them by author."""
        return self._tell_everyone(kind, value)

    @contextmanager
    def seat(self, members: Sequence[str]) -> Iterator[None]:
        """Let these holders compute for all, until the block ends.

        All of them are `Site` then, those that compute `Holder`, and the others `Giver`.
        """
        before, self.roster = self.roster, self.roster.seat(members)
        try:
            yield
        finally:
            self.roster = before

    def leave_out(self, parties: Sequence[str]) -> None:
        """Go on without these holders, whose records are in nothing that follows."""
        self.roster = self.roster.leave_out(parties)

    def random(self, role: Role) -> At[bytes]:
        """Return a fresh 32-byte seed at each party of the role."""
        place = self._next_place("random")
        return self._at(role, {p: self.entropy.seed(p, place) for p in self._here(role)})

    def lasting(self, role: Role) -> At[bytes]:
        """Return a 32-byte secret at each party of the role: the same in all its runs if it keeps one, else fresh."""
        fresh = entries_of(self.random(role))
        return self._at(role, {p: self.entropy.lasting(p) or own for p, own in fresh.items()})

    def tag(self) -> At[bytes]:
        """Return H(job and all published so far, place): a PRF input that only parties told the same things share."""
        place = self._next_place("tag").encode()
        return self._at(Everyone, {p: hashlib.sha256(t + place).digest() for p, t in self.transcript.items()})

    def pads(self, seeds: At[Seeds], tag: At[bytes]) -> At[Pads]:
        """Return pads under each owner's seeds, bound to the tag."""
        self._check(seeds, seeds.owners, "pads")
        self._check(tag, seeds.owners, "pads")
        tags = entries_of(tag)
        return At(
            seeds.owners, {p: self.entropy.pads(p, s, tags[p]) for p, s in entries_of(seeds).items()}, self._scope
        )

    def carry(self, **values: object) -> Carry:
        """Return a carry of the values that outlive a round."""
        return Carry(values)

    def rounds(self, n: int, carry: Carry) -> Iterator[int]:
        """Yield the rounds 0..n-1; at the end of each, however it ends, only the carried values live on."""
        base, outer, depth = self._next_place("round"), self._scope, len(self._scopes)
        with self._at_home():
            first = self._resume(base, carry)
        for t in range(first, n):
            scope = Scope(f"{base}[{t}]")
            self._scopes.append(scope)
            try:
                yield t
            finally:  # also when the loop is left by break or return
                try:
                    lift(carried_values(carry), scope, outer)
                finally:
                    self._close(depth)
            with self._at_home():
                self._finish_round(base, t, carry)

    def note(self, **figures: float | str) -> None:
        """Note public figures in the history."""
        if any(True for _ in find_held(figures)) or "place" in figures:
            raise ChoreographyError("note takes published values only, and keeps the name 'place' for itself")
        self.history.append({"place": self._scope.path, **figures})
        self.meter.note(figures)

    @contextmanager
    def within(self, name: str) -> Iterator[Callable[[Any], None]]:
        """Enter a choreography of that name; yield the function that lets its result live on."""
        outer, depth = self._scope, len(self._scopes)
        inner = Scope(self._next_place(name))
        self._scopes.append(inner)
        self.in_text = True
        try:
            yield lambda result: lift(result, inner, outer)
            self.in_text = depth > 1  # the outermost text is over; what raises leaves the flag as it is
        finally:
            self._close(depth)

    def open(self, opened: Opened) -> None:
        """Note what a choreography opens as a whole; refuse to play one that opens what nobody agreed to."""
        self._check_agreed(line_of_opened(opened), opened.facts)
        self.ledger.open(opened)

    # Rules

    @contextmanager
    def _at_home(self) -> Iterator[None]:
        """Leave the text for a step or for a runtime's own work: what they raise may come of data or files."""
        before, self.in_text = self.in_text, False
        yield
        self.in_text = before

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _next_place(self, label: str) -> str:
        self.place = self._scope.place(label)
        return self.place

    def _close(self, depth: int) -> None:
        for scope in self._scopes[depth:]:
            scope.open = False
        del self._scopes[depth:]

    def _here(self, role: Role) -> list[str]:
        return [p for p in self.roster[role] if p in self._local]

    def _at(self, role: Role, entries: Mapping[str, T]) -> At[T]:
        return At(self.roster[role], entries, self._scope)

    def _check(self, value: object, owners: Sequence[str], where: str) -> None:
        """Raise if an owner lacks the value; every party gets the same error, since owners are public."""
        if not isinstance(value, At):
            if type(value) not in PLAIN and any(True for _ in find_held(value)):
                raise ChoreographyError(
                    f"{where} uses a value hidden in a {type(value).__name__}: pass it as an argument of its own"
                )
            return
        if not value.scope.open:
            raise ChoreographyError(f"{where} uses a value of {value.scope.path}, which is over: carry it")
        lacking = [] if value.owners == owners else [p for p in owners if p not in value.owners]
        if lacking:
            raise ChoreographyError(
                f"{where} uses a value that {', '.join(lacking)} does not hold (held by {', '.join(value.owners)})"
            )

    def _check_agreed(self, line: str, facts: Sequence[Fact]) -> None:
        """Raise if the disclosure that people agreed to has no such line: nothing of it leaves, nothing is awaited."""
        if self._agreed is not None and line not in self._agreed:
            raise UndisclosedError(self.place, prose_of(facts))

    def _tell_everyone(self, kind: type[M], value: At[Any]) -> dict[str, M]:
        place = self._next_place(kind.__name__)
        authors = self._senders(value, None, f"publish {kind.__name__}")
        brought = self._bring(kind, value)
        if any(isinstance(m, Each) for m in brought.values()):
            raise ChoreographyError(f"publish {kind.__name__} tells everyone the same: Each is for send")
        pairs = [(a, p) for a in authors for p in self.roster.parties]
        seen = self._move(kind, place, brought, pairs, None, missing=None)
        return self._read_published(kind, place, authors, seen)

    def _read_published(
        self, kind: type[M], place: str, authors: Sequence[str], seen: Seen, at: int | None = None
    ) -> dict[str, M]:
        """Return what these authors told everyone, by author, and bind the transcript to it."""
        for party in self.present:
            for author in authors:
                link = self.transcript[party] + f"{place} {author} ".encode() + seen[author, party].digest
                self.transcript[party] = hashlib.sha256(link).digest()
        messages = {a: self._read(kind, place, (a, self.present[0]), seen[a, self.present[0]]) for a in authors}
        self._same_shapes(kind, place, messages)
        pairs = [(a, p) for a in authors for p in self.roster.parties]
        self._write(kind, place, pairs, seen, None, at=at)
        return messages

    def _call_roll(
        self, place: str, target: Role, received: At[Any], senders: Sequence[str], at_least: int
    ) -> tuple[str, ...]:
        """Let the receiver publish who answered, and check that it can be."""
        present = self.publish(Present, self.local(target, _list_senders, received)).parties
        if len(set(present)) != len(present) or not set(present) <= set(senders) or len(present) < at_least:
            raise PeerError(
                f"{self.roster[target][0]} names senders at {place} that cannot be: {len(present)} of {len(senders)}"
            )
        return present

    def _deliver(
        self, kind: type[M], channel: Channel, value: At[Any], missing: int | None, along: Along | None = None
    ) -> tuple[str, list[Pair], dict[Pair, Frames]]:
        place = self._next_place(kind.__name__)
        senders = self._senders(value, self.roster[channel.source], f"send {kind.__name__} from {channel.source}")
        others_only = channel.source == channel.target and not channel.source.single
        targets = self.roster[channel.target]
        pairs = [(s, r) for s in senders for r in (along[s] if along else targets) if s != r or not others_only]
        return place, pairs, self._move(kind, place, self._bring(kind, value), pairs, channel, missing)

    def _senders(self, value: At[Any], senders: Sequence[str] | None, where: str) -> Sequence[str]:
        if not isinstance(value, At):
            raise ChoreographyError(
                f"{where} needs a value that parties hold, got a {type(value).__name__}: make it in a local step"
            )
        self._check(value, senders or value.owners, where)
        return senders or value.owners

    def _move(
        self,
        kind: type[M],
        place: str,
        brought: Mapping[str, Any],
        pairs: Sequence[Pair],
        channel: Channel | None,
        missing: int | None,
        wanted: Sequence[Pair] | None = None,
    ) -> dict[Pair, Frames]:
        """Encode at the senders and exchange; everyone reads back its own bytes too.

        `wanted` are the messages to wait for: all of them, unless some are given.
        """
        self._announce(kind, place, pairs, channel)
        outbox: dict[Pair, Frames] = {}
        encoded: dict[int, Frames] = {}  # what goes to many is checked and written once
        for s, r in pairs:
            if s in self._local:
                message = for_receiver(brought[s], r)
                if id(message) not in encoded:
                    encoded[id(message)] = encode(check_message(message, kind, s, r))
                outbox[s, r] = encoded[id(message)]
        awaited = [pair for pair in (pairs if wanted is None else wanted) if pair[1] in self._local]
        with self._at_home():
            arrived = self._exchange(place, outbox, awaited, missing)
        if pairs:
            self.meter.end_round()
        return arrived

    def _announce(self, kind: type[Message], place: str, pairs: Sequence[Pair], channel: Channel | None) -> None:
        """Take note of what is about to move, and refuse what nobody agreed to."""
        if kind.of_records:
            self._reach_records()
        for roles in dict.fromkeys(self._roles(s, channel) for s, r in pairs if s != r):
            self._check_agreed(line_of_message(place, *roles, kind.tells), kind.tells)

    def _roles(self, sender: str, channel: Channel | None) -> tuple[str, str]:
        """Return from which role to which a message goes; what is published goes to everyone."""
        return (channel.source.name, channel.target.name) if channel else (self.roster.role_of(sender), Everyone.name)

    def _inboxes(self, kind: type[M], place: str, target: Role, seen: Seen) -> dict[str, dict[str, M]]:
        inboxes: dict[str, dict[str, M]] = {r: {} for r in self._here(target)}
        rank = {party: i for i, party in enumerate(self.roster.parties)}  # the public order
        for (s, r), frames in seen.items():
            if r in inboxes:
                inboxes[r][s] = self._read(kind, place, (s, r), frames)
        for r, inbox in inboxes.items():
            inboxes[r] = dict(sorted(inbox.items(), key=lambda item: rank[item[0]]))  # however they arrived
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

    def _write(
        self,
        kind: type[M],
        place: str,
        pairs: Sequence[Pair],
        seen: Seen,
        channel: Channel | None,
        at: int | None = None,
    ) -> None:
        """Write a row for every message that crossed a border, known here or not."""
        rows = []
        for s, r in pairs:
            if s == r:
                continue
            frames = seen.get((s, r))
            shape, size = (frames.shapes, frames.nbytes) if frames else (None, None)
            roles = self._roles(s, channel)
            digest = None if channel else seen[s, self.present[0]].digest.hex()
            rows.append(Row(place, s, r, *roles, kind.__name__, kind.tells, shape, size, digest))
        at = len(self.ledger) if at is None else at
        self.ledger.rows[at:at] = rows


def _entry(value: Any, party: str) -> Any:
    return entries_of(value)[party] if isinstance(value, At) else value


def _add_all(messages: Mapping[str, M], add: Callable[[Iterable[M]], M]) -> M:
    return add(messages.values())


def _list_senders(messages: Mapping[str, object]) -> Present:
    return Present(tuple(messages))
