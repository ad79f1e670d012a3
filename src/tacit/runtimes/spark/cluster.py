"""A run on a Spark cluster, ONE trust domain (docs/spark.md): each partition is a holder, the driver coordinates.

    local at holders       queued, and played at the executors with the next job
    holder >> coordinator  one job: plays the queue, keeps its results as a new layer (`layers`), collects the messages
    holder >> holder       the same, of messages that are sealed for their receivers (`passing`), who open them
    publish                a broadcast, which the steps read that use what was published

One mask never covers two values that anybody sees:
* Root keys are drawn at the executors and lie in a checkpoint before the first public key leaves, so that a partition
  that is computed again has the same keys.
* Each message is collected once; what is sent again of the same slot are the same bytes. Speculation is refused.
* A task that is tried again has told nobody anything before: what it says leaves its executor when it succeeds.
* A job that fails ends the run, and its keys with it. The next run has others.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from weakref import ref

from tacit.choreo.at import At, Work, entries_of
from tacit.choreo.codec import Frames, decode, decode_as, seal_arrays
from tacit.choreo.ledger import Row
from tacit.choreo.message import Each, Message
from tacit.choreo.progress import Listener
from tacit.choreo.role import Channel, Everyone, Role, Roster
from tacit.choreo.run import Along, Pair, Run, Seen
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import ChoreographyError, LocalError, PeerError
from tacit.runtimes.spark.layers import Layer, Layers, Partitions, Slot
from tacit.runtimes.spark.partition import (
    CPU,
    ERROR,
    SIZE,
    SPENT,
    SUM,
    TOLD,
    Adder,
    Call,
    Given,
    Pad,
    Play,
    Ref,
    Seed,
    Summand,
    TooLargeError,
    is_value,
    join_own,
)
from tacit.runtimes.spark.passing import (
    PUBLIC,
    SEALED,
    SHAPE,
    make_key,
    open_message,
    open_messages,
    seal_message,
    show_key,
)
from tacit.runtimes.spark.passing import SIZE as BYTES

M = TypeVar("M", bound=Message)
TREE = 32  # learners from which on executors add up what they send: two more stages cost more than fewer vectors


class Elsewhere:
    """The entropy of the parties here, and stand-ins for the holders', whose root keys the driver does not have."""

    def __init__(self, here: Sequence[str], run: bytes) -> None:
        self._here, self._own = here, RootEntropy(here, run)

    def seed(self, party: str, place: str) -> Any:
        """Return the party's seed for a place."""
        return self._own.seed(party, place) if party in self._here else Seed(place)

    def lasting(self, party: str) -> None:
        """Return nothing: no secret outlives a run on a cluster."""
        del party

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        """Return the party's pads."""
        return self._own.pads(party, seeds, tag) if party in self._here else Pad(seeds, tag)


@dataclass
class Queue:
    """Steps that wait for a job: the slots they make and use, the values they need, the tags of their pads."""

    calls: list[Call] = field(default_factory=list)
    makes: list[Slot] = field(default_factory=list)
    uses: list[Slot] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    tags: set[bytes] = field(default_factory=set)

    def add(self, place: str, work: Mapping[str, Work], slot: Slot) -> None:
        """Add a step of several holders, as one call."""
        first, parties = next(iter(work.values())), tuple(work)
        args = tuple(self._stand_in([w.args[i] for w in work.values()], parties) for i in range(len(first.args)))
        named = {name: self._stand_in([w.named[name] for w in work.values()], parties) for name in first.named}
        self.calls.append(Call(place, parties, Work(first.label, first.step, args, named), slot.name))
        self.makes.append(slot)

    def _stand_in(self, column: list[Any], parties: Sequence[str]) -> Any:
        """Return what stands for an argument, one for all holders or one for each, until it is at the executors."""
        first = column[0]
        if isinstance(first, Slot):
            self.uses += dict.fromkeys(column)
            alike = all(slot is first for slot in column)
            return Ref(first.name if alike else {p: slot.name for p, slot in zip(parties, column, strict=True)})
        if isinstance(first, Pad):
            self.tags.add(first.tag)
            return Pad(self._stand_in([pad.seeds for pad in column], parties), first.tag)
        alike = isinstance(first, Seed) or all(a is first for a in column)
        if alike and not is_value(first):
            return first
        try:
            value = seal_arrays(first, "this") if alike else join_own(dict(zip(parties, column, strict=True)))
        except ChoreographyError:
            return first  # a setting without wire form
        key = str(len(self.given))
        self.given[key] = value
        return Given(key, own=not alike)


class Spark(Run):
    """The whole run, as the driver walks it. Use it as a context: what it leaves on the cluster goes with it.

    The driver carries every message. What goes from holder to holder is sealed, unless all is `simulated`, with data
    that the driver had anyway.
    """

    def __init__(
        self,
        roster: Roster,
        holders: Sequence[str],
        *,
        sc: Any,
        job: bytes,
        simulated: bool = False,
        progress: Listener | None = None,
    ) -> None:
        here = [p for p in roster.parties if p not in holders]
        super().__init__(roster, present=roster.parties, job=job, entropy=Elsewhere(here, job), progress=progress)
        self.cpu: defaultdict[str, float] = defaultdict(float)
        self._sc, self._job, self._holders, self._simulated = sc, job, tuple(holders), simulated
        self._names = (f"slot {n}" for n in itertools.count())
        self._queue = Queue()
        self._ats: list[ref[At[Any]]] = []  # that stand for values of holders
        self._spent: dict[bytes, dict[str, tuple[bytes, ...]]] = {}  # marks of the pads of a tag
        self._closed: set[bytes] = set()  # tags of which the driver has no marks
        self._seals: Slot | None = None  # the holders' keys of what they send each other
        self._publics: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        self._layers = Layers(self._sc, len(self._holders))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with suppress(Exception) if kind else nullcontext():  # what happened first is what counts
            self._layers.close()

    def finish(self) -> None:
        """Play what is still queued: a step may refuse something."""
        if self._queue.calls:
            self._play()

    def opened(self, at: At[Any]) -> dict[str, Any]:
        """Return what the parties hold, brought to the driver."""
        entries = entries_of(at)
        self._fetch(entries)
        return {p: decode(e.sent[p][""]) if isinstance(e, Slot) else e for p, e in entries.items()}

    def here(self, at: At[Any]) -> dict[str, Any]:
        """Return what those parties hold that are no partitions."""
        return {p: e for p, e in entries_of(at).items() if not isinstance(e, Slot)}

    # What Run asks of a runtime

    def hold(self, role: Role, entries: Mapping[str, Any] | Partitions) -> At[Any]:
        """Return an input: that of holders goes to their executors, or is there already."""
        if isinstance(entries, Partitions):
            return self._at(role, dict.fromkeys(self.roster[role], Slot(entries.name, Layer(entries.rdd))))
        away = [p for p in self.roster[role] if p in self._holders]
        if not away:
            return super().hold(role, entries)
        slot = Slot(next(self._names))
        slot.layer = self._layers.place([{slot.name: entries[p]} if p in away else {} for p in self._holders])
        return super().hold(role, {**entries, **dict.fromkeys(away, slot)})

    def pads(self, seeds: At[Mapping[Any, bytes]], tag: At[bytes]) -> At[Any]:
        """Return pads under each owner's seeds, bound to the tag."""
        made = super().pads(seeds, tag)
        self._ats.append(ref(made))
        return made

    def _at(self, role: Role, entries: Mapping[str, Any]) -> At[Any]:
        made = super()._at(role, entries)
        if any(True for _ in _slots(entries)):
            self._ats.append(ref(made))
        return made

    def _each(self, place: str, work: Mapping[str, Work]) -> dict[str, Any]:
        away = {p: do for p, do in work.items() if p in self._holders}
        done: dict[str, Any] = {p: do() for p, do in work.items() if p not in away}
        if away:
            slot = Slot(next(self._names))
            self._queue.add(place, away, slot)
            done |= dict.fromkeys(away, slot)
        return done

    def _bring(self, kind: type[Message], value: At[Any]) -> Mapping[str, Any]:
        entries = entries_of(value)
        self._fetch(entries)
        return {p: _message(kind, e.sent[p]) if isinstance(e, Slot) else e for p, e in entries.items()}

    def _exchange(self, place: str, outbox: Seen, wanted: Sequence[Pair], missing: int | None) -> dict[Pair, Frames]:
        del place, wanted, missing
        return dict(outbox)

    def send(self, kind: type[M], channel: Channel, value: At[Any], *, along: Along | None = None) -> At[Any]:
        """Send as every runtime does; what goes from holder to holder passes the driver sealed."""
        away = set(self._holders)
        ends = {*self.roster[channel.source]} | {*self.roster[channel.target]}
        if self._simulated or not kind.of_records or not ends <= away:
            return super().send(kind, channel, value, along=along)
        place = self._next_place(kind.__name__)
        senders = self._senders(value, self.roster[channel.source], f"send {kind.__name__} from {channel.source}")
        others_only = channel.source == channel.target and not channel.source.single
        targets = {s: along[s] if along else self.roster[channel.target] for s in senders}
        to = {s: tuple(r for r in targets[s] if s != r or not others_only) for s in senders}
        pairs = [(s, r) for s in senders for r in to[s]]
        self._announce(kind, place, pairs, channel)
        with self._at_home():
            told = self._seal(kind, place, value, to)
            self._check_shapes(kind, place, pairs, told)
            about = kind.__name__, kind.tells
            self.ledger.rows += [
                Row(place, s, r, *self._roles(s, channel), *about, told[s][SHAPE][r], told[s][BYTES][r], None)
                for s, r in pairs
                if s != r
            ]
            self.meter.end_round()
            inboxes = {r: {s: told[s][SEALED][r] for s, t in pairs if t == r} for r in self.roster[channel.target]}
            opening = open_message if channel.source.single else open_messages
            return self._at(channel.target, self._open_sealed(opening, kind, place, inboxes))

    def _seal(
        self, kind: type[Message], place: str, value: At[Any], to: Mapping[str, Sequence[str]]
    ) -> dict[str, dict[str, Any]]:
        """Return what the senders tell of their messages, which they seal for each receiver."""
        keys, held = self._make_seals(), entries_of(value)
        work = {
            s: Work("seal", seal_message, (held[s], s, keys, self._publics, self._job, kind, receivers), {})
            for s, receivers in to.items()
        }
        return dict(self._bring(Message, self._at(Everyone, self._each(place, work))))

    def _open_sealed(
        self, opening: Callable[..., Any], kind: type[Message], place: str, inboxes: Mapping[str, Mapping[str, bytes]]
    ) -> dict[str, Any]:
        """Return what the receivers make of what is sealed for them."""
        keys = self._make_seals()
        work = {
            r: Work("open", opening, (dict(sealed), r, keys, self._publics, self._job, kind), {})
            for r, sealed in inboxes.items()
        }
        return self._each(place, work)

    def _make_seals(self) -> Slot:
        """Return the keys of all holders, which are made with the first message that needs them."""
        if self._seals is None:
            place = self._next_place("seals")
            made = self._each(place, {p: Work("make_key", make_key, (Seed(place),), {}) for p in self._holders})
            self._seals = made[self._holders[0]]
            self._lasting = At(self._holders, made, self._scopes[0])  # keeps the slot for as long as the run
            self._ats.append(ref(self._lasting))
            shown = self._each(place, {p: Work("show_key", show_key, (made[p],), {}) for p in self._holders})
            told = self._bring(Message, self._at(Everyone, shown))
            self._publics = {p: bytes(each[PUBLIC]) for p, each in told.items()}
        return self._seals

    def _check_shapes(
        self, kind: type[Message], place: str, pairs: Sequence[Pair], told: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Raise if senders disagree on the shape of what a receiver gets from all of them."""
        for receiver in dict.fromkeys(r for _, r in pairs):
            found = {s: told[s][SHAPE][receiver] for s, r in pairs if r == receiver}
            if not kind.ragged and len(set(found.values())) > 1:
                raise _disagreeing(kind, place, found)

    def add_up(self, kind: type[M], channel: Channel, value: At[Any], add: Callable[[Iterable[M]], M]) -> At[M]:
        """Give a party here the sum of what all holders send; executors add it up, and the driver sees the sum."""
        (target,), slots = self.roster[channel.target], set(entries_of(value).values())
        slot = next(iter(slots))
        alike = len(slots) == 1 and isinstance(slot, Slot) and not slot.sent
        if len(self._holders) < TREE or target in self._holders or not alike:
            return super().add_up(kind, channel, value, add)
        place = self._next_place(kind.__name__)
        senders = self._senders(value, self.roster[channel.source], f"send {kind.__name__} from {channel.source}")
        self._announce(kind, place, [(s, target) for s in senders], channel)
        with self._at_home():
            sizes, total = self._fetch_total(slot, kind, add)
        if len({shape for shape, _ in sizes.values()}) > 1:
            raise _disagreeing(kind, place, {s: shape for s, (shape, _) in sizes.items()})
        roles = self._roles(target, channel)
        self.ledger.rows += [Row(place, s, target, *roles, kind.__name__, kind.tells, *sizes[s], None) for s in senders]
        return self._at(channel.target, {target: total})

    # Jobs

    def _fetch_total(
        self, slot: Slot, kind: type[M], add: Callable[[Iterable[M]], M]
    ) -> tuple[dict[str, tuple[tuple[Any, ...], int]], M]:
        """Return shapes and bytes of the holders' messages in a slot, and their sum; once only."""
        if slot.added:
            raise ChoreographyError(f"{kind.__name__} was added up before, and is sent once: make another in a step")
        slot.added, found = True, {}

        def told(layer: Layer) -> list[dict[str, Any]]:
            found.update(self._layers.total(layer, Summand(self._holders, slot.name), Adder(kind, add, self.place)))
            return [found[TOLD][p] for p in self._holders]

        if slot in self._queue.makes:
            self._play(slot, tell=told)
        elif slot.layer is not None:
            self._hear(told(slot.layer))
        sizes = {p: said[SIZE] for p, said in found[TOLD].items()}
        return sizes, decode_as(kind, Frames.split(found[SUM]))

    def _fetch(self, entries: Mapping[str, Any]) -> None:
        """Bring what the driver has not seen yet; it never asks twice."""
        for slot in dict.fromkeys(_slots(entries)):
            if slot.added:
                raise ChoreographyError("a message was added up before, and is sent once: make another in a step")
            if slot in self._queue.makes:
                self._play(slot)
            elif not slot.sent and slot.layer is not None:
                self._hear(self._layers.collect(slot.layer, [slot.name], self.place), slot)

    def _play(self, *wanted: Slot, tell: Callable[[Layer], list[dict[str, Any]]] | None = None) -> None:
        """Play the queue at all holders in one job, and keep of its results what the text can still use.

        `tell` brings what the holders say of it in another way than one by one.
        """
        queue, self._queue = self._queue, Queue()
        if not self._closed.isdisjoint(queue.tags):
            raise LocalError(
                "pads under a tag whose messages were added up would be used again, which gives away a difference: give"
                " each sum its own tag"
            )
        live = set(self._usable())
        self._layers.sweep({slot.layer for slot in live.union(queue.uses) if slot.layer is not None})
        kept = [slot for slot in queue.makes if slot in live.union(wanted)]
        parents = dict.fromkeys([self._layers.root, *(slot.layer for slot in queue.uses if slot.layer is not None)])
        given = self._layers.broadcast(queue.given)
        names, spent = frozenset(slot.name for slot in kept), self._marks(queue.tags)
        layer = self._layers.play(parents, Play(self._job, self._holders, tuple(queue.calls), names, given, spent))
        for slot in kept:
            slot.layer = layer
        if tell is None:
            told = self._hear(self._layers.collect(layer, [slot.name for slot in wanted], self.place), *wanted)
        else:
            told = self._hear(tell(layer))
        for party, answer in told.items():
            self.cpu[party] += answer[CPU]
        if tell is not None:  # marks of thousands of learners would be more than their sum
            self._closed |= queue.tags
        else:
            self._spent |= {tag: {p: answer[SPENT] for p, answer in told.items()} for tag in queue.tags}

    def _usable(self) -> Iterator[Slot]:
        """Return the slots that the text can still reach."""
        held = [at for known in self._ats if (at := known()) is not None and at.scope.open]
        self._ats = [ref(at) for at in held]
        for at in held:
            yield from _slots(entries_of(at))

    def _hear(self, told: Sequence[dict[str, Any]], *wanted: Slot) -> dict[str, dict[str, Any]]:
        answers = dict(zip(self._holders, told, strict=True))
        for party, answer in answers.items():
            if ERROR in answer:
                self._layers.close()
                raise name_fault(party, *answer[ERROR])
        for slot in wanted:
            slot.sent = {
                p: answer["frames"][slot.name] for p, answer in answers.items() if slot.name in answer["frames"]
            }
        return answers

    def _marks(self, tags: set[bytes]) -> dict[str, tuple[bytes, ...]]:
        """Return the marks of pads from earlier jobs under tags that are used again."""
        earlier = [self._spent[tag] for tag in tags if tag in self._spent]
        return {p: tuple(mark for marks in earlier for mark in marks[p]) for p in self._holders}


def _slots(entries: Mapping[str, Any]) -> Iterator[Slot]:
    for entry in entries.values():
        held = entry.seeds if isinstance(entry, Pad) else entry
        if isinstance(held, Slot):
            yield held


def _message(kind: type[Message], frames: Mapping[str, bytes]) -> Any:
    """Return the message, or one for each receiver; a value that is no message is refused later."""
    made = {receiver: decode(frame, kinds={kind.__name__: kind}) for receiver, frame in frames.items()}
    return made[""] if "" in made else Each(made)


def _disagreeing(kind: type[Message], place: str, found: Mapping[str, Any]) -> PeerError:
    told = ", ".join(f"{s} {shape}" for s, shape in found.items())
    return PeerError(f"the senders of {kind.__name__} at {place} disagree on its shape: {told}")


def name_fault(party: str, kind: str, place: str) -> LocalError | PeerError:
    """Return the error that names the party; its class tells whose fault it is."""
    words = (
        f"{party} stopped at {place} ({kind}): the error text stays on the cluster, since it can contain data;"
        " run its rows alone with runtime='together' to read it"
    )
    return LocalError(words) if kind in {LocalError.__name__, TooLargeError.__name__} else PeerError(words)
