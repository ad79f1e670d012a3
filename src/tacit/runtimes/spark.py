"""A run on a Spark cluster: a partition is a holder, the driver walks the text and coordinates. ONE trust domain (docs/spark.md).

    local at holders       queued, and played at the executors with the next job
    holder >> coordinator  one job: plays the queue, keeps its results as a new layer (`layers`), collects the messages
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from weakref import ref

from tacit.choreo.at import At, entries_of
from tacit.choreo.codec import Frames, decode, sealed
from tacit.choreo.message import Each, Message
from tacit.choreo.role import Channel, Role, Roster
from tacit.choreo.run import Pair, Run, Seen, Work
from tacit.crypto.entropy import RootEntropy
from tacit.errors import ChoreographyError, LocalError, PeerError
from tacit.runtimes.layers import Layer, Layers, Partitions, Slot
from tacit.runtimes.partition import CPU, ERROR, SPENT, Call, Given, Pad, Play, Ref, Seed, TooLargeError, is_value

M = TypeVar("M", bound=Message)


class Elsewhere:
    """The entropy of the parties here, and what stands for that of the holders, whose root keys the driver does not have."""

    def __init__(self, here: Sequence[str], run: bytes) -> None:
        self._here, self._own = here, RootEntropy(here, run)

    def seed(self, party: str, place: str) -> Any:
        """The party's seed for a place."""
        return self._own.seed(party, place) if party in self._here else Seed(place)

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        """The party's pads."""
        return self._own.pads(party, seeds, tag) if party in self._here else Pad(seeds, tag)


@dataclass
class Queue:
    """Steps that wait for a job: the slots they make and use, the values that come with them, the tags of their pads."""

    calls: list[Call] = field(default_factory=list)
    makes: list[Slot] = field(default_factory=list)
    uses: list[Slot] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    tags: set[bytes] = field(default_factory=set)

    def add(self, place: str, work: Mapping[str, Work], slot: Slot) -> None:
        """A step of several holders, as one call."""
        first, parties = next(iter(work.values())), tuple(work)
        args = tuple(self._standing([w.args[i] for w in work.values()], parties) for i in range(len(first.args)))
        named = {name: self._standing([w.named[name] for w in work.values()], parties) for name in first.named}
        self.calls.append(Call(place, parties, Work(first.label, first.step, args, named), slot.name))
        self.makes.append(slot)

    def _standing(self, column: list[Any], parties: Sequence[str]) -> Any:
        """What stands for an argument that is the same for all holders, or one for each, until it is at the executors."""
        first = column[0]
        if isinstance(first, Slot):
            self.uses.append(first)
            return Ref(first.name)
        if isinstance(first, Pad):
            self.tags.add(first.tag)
            return Pad(self._standing([pad.seeds for pad in column], parties), first.tag)
        alike = isinstance(first, Seed) or all(a is first for a in column)
        if alike and not is_value(first):
            return first
        try:
            value = sealed(first if alike else dict(zip(parties, column, strict=True)), "this")
        except ChoreographyError:
            return first  # a setting without wire form
        key = str(len(self.given))
        self.given[key] = value
        return Given(key, own=not alike)


class Spark(Run):
    """The whole run, as the driver walks it. Use it as a context: what it leaves on the cluster goes with it.

    The driver carries every message. Unless all is `simulated`, with data that it had anyway, nothing may go from holder to holder.
    """

    def __init__(
        self,
        roster: Roster,
        holders: Sequence[str],
        *,
        sc: Any,
        job: bytes,
        simulated: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        here = [p for p in roster.parties if p not in holders]
        super().__init__(roster, present=roster.parties, job=job, entropy=Elsewhere(here, job), progress=progress)
        self.cpu: defaultdict[str, float] = defaultdict(float)
        self._sc, self._job, self._holders, self._simulated = sc, job, tuple(holders), simulated
        self._names = (f"slot {n}" for n in itertools.count())
        self._queue = Queue()
        self._ats: list[ref[At[Any]]] = []  # that stand for values of holders
        self._spent: dict[bytes, dict[str, tuple[bytes, ...]]] = {}  # marks of the pads of a tag

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
        """What the parties hold, brought here."""
        entries = entries_of(at)
        self._fetch(entries)
        return {p: decode(e.sent[p][""]) if isinstance(e, Slot) else e for p, e in entries.items()}

    def here(self, at: At[Any]) -> dict[str, Any]:
        """What those of the parties hold that are no partitions."""
        return {p: e for p, e in entries_of(at).items() if not isinstance(e, Slot)}

    # What Run asks of a runtime

    def hold(self, role: Role, entries: Mapping[str, Any] | Partitions) -> At[Any]:
        """An input: that of holders goes to their executors, or is there already."""
        if isinstance(entries, Partitions):
            return self._at(role, dict.fromkeys(self.roster[role], Slot(entries.name, Layer(entries.rdd))))
        away = [p for p in self.roster[role] if p in self._holders]
        if not away:
            return super().hold(role, entries)
        slot = Slot(next(self._names))
        slot.layer = self._layers.placed([{slot.name: entries[p]} if p in away else {} for p in self._holders])
        return super().hold(role, {**entries, **dict.fromkeys(away, slot)})

    def pads(self, seeds: At[dict[str, bytes]], tag: At[bytes]) -> At[Any]:
        """Pads under each owner's seeds, bound to the tag."""
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

    def _brought(self, kind: type[Message], value: At[Any]) -> Mapping[str, Any]:
        entries = entries_of(value)
        self._fetch(entries)
        return {p: _message(kind, e.sent[p]) if isinstance(e, Slot) else e for p, e in entries.items()}

    def _exchange(self, place: str, outbox: Seen, wanted: Sequence[Pair], missing: int | None) -> dict[Pair, Frames]:
        del place, wanted, missing
        return dict(outbox)

    def _deliver(self, kind: type[M], channel: Channel, value: At[Any], missing: int | None) -> tuple[str, list[Pair], dict[Pair, Frames]]:
        sources, targets = ([p for p in self.roster[role] if p in self._holders] for role in (channel.source, channel.target))
        if not self._simulated and any(s != r for s in sources for r in targets):
            raise LocalError(
                f"{kind.__name__} goes from one holder to another, and on Spark the driver would read it:"
                " use secure_sum='pairwise' and a coordinator without data"
            )
        return super()._deliver(kind, channel, value, missing)

    # Jobs

    def _fetch(self, entries: Mapping[str, Any]) -> None:
        """Bring what the driver has not seen yet; it never asks twice."""
        for slot in dict.fromkeys(_slots(entries)):
            if slot in self._queue.makes:
                self._play(slot)
            elif not slot.sent and slot.layer is not None:
                self._hear(self._layers.collect(slot.layer, [slot.name], self.place), slot)

    def _play(self, *wanted: Slot) -> None:
        """One job: the queue, at all holders. Of what it makes, that is kept which the text can still use."""
        queue, self._queue = self._queue, Queue()
        live = set(self._usable())
        self._layers.sweep({slot.layer for slot in live.union(queue.uses) if slot.layer is not None})
        kept = [slot for slot in queue.makes if slot in live.union(wanted)]
        parents = dict.fromkeys([self._layers.root, *(slot.layer for slot in queue.uses if slot.layer is not None)])
        given = self._layers.broadcast(queue.given)
        names, spent = frozenset(slot.name for slot in kept), self._marks(queue.tags)
        layer = self._layers.played(parents, Play(self._job, self._holders, tuple(queue.calls), names, given, spent))
        for slot in kept:
            slot.layer = layer
        told = self._hear(self._layers.collect(layer, [slot.name for slot in wanted], self.place), *wanted)
        for party, answer in told.items():
            self.cpu[party] += answer[CPU]
        self._spent |= {tag: {p: answer[SPENT] for p, answer in told.items()} for tag in queue.tags}

    def _usable(self) -> Iterator[Slot]:
        """What the text can still get hold of."""
        held = [at for known in self._ats if (at := known()) is not None and at.scope.open]
        self._ats = [ref(at) for at in held]
        for at in held:
            yield from _slots(entries_of(at))

    def _hear(self, told: Sequence[dict[str, Any]], *wanted: Slot) -> dict[str, dict[str, Any]]:
        answers = dict(zip(self._holders, told, strict=True))
        for party, answer in answers.items():
            if ERROR in answer:
                self._layers.close()
                raise _stopped(party, *answer[ERROR])
        for slot in wanted:
            slot.sent = {p: answer["frames"][slot.name] for p, answer in answers.items() if slot.name in answer["frames"]}
        return answers

    def _marks(self, tags: set[bytes]) -> dict[str, tuple[bytes, ...]]:
        """Of pads that were put on in earlier jobs under tags that are used again."""
        earlier = [self._spent[tag] for tag in tags if tag in self._spent]
        return {p: tuple(mark for marks in earlier for mark in marks[p]) for p in self._holders}


def _slots(entries: Mapping[str, Any]) -> Iterator[Slot]:
    for entry in entries.values():
        held = entry.seeds if isinstance(entry, Pad) else entry
        if isinstance(held, Slot):
            yield held


def _message(kind: type[Message], frames: Mapping[str, bytes]) -> Any:
    """The message, or one for each receiver; a value that is none is refused further on."""
    made = {receiver: decode(frame, kinds={kind.__name__: kind}) for receiver, frame in frames.items()}
    return made[""] if "" in made else Each(made)


def _stopped(party: str, kind: str, place: str) -> LocalError | PeerError:
    """Whose fault it is can be told from the class."""
    words = (
        f"{party} stopped at {place} ({kind}): its words stay on the cluster, since they can contain data;"
        " take its rows alone to runtime='together' to read them"
    )
    return LocalError(words) if kind in {LocalError.__name__, TooLargeError.__name__} else PeerError(words)
