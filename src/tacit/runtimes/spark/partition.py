"""What an executor does for the holder of its partition: it plays steps, keeps results and hands messages out.

A holder's values lie in layers: RDDs with one record per partition, `pack({slot: value})`. A job reads the layers that
its steps need and plays them (`Play`), which gives the record of the next layer; `Outbox` takes messages out of one.
Records are codec frames: only steps and their settings travel as Spark's own tasks do.

An error becomes a record too, of its class and place: its text can contain data, and Spark would log it and tell the
driver.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib
import itertools
import secrets
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.choreo.at import Work
from tacit.choreo.codec import Frames, decode, encode
from tacit.choreo.message import Each, Message, Record, shapes
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import ChoreographyError, LocalError, PeerError

ROOT, ERROR, SPENT, CPU = "root", "error", "spent", "cpu"
TOLD, SUM, SIZE = "told", "sum", "size"
OWN, PARTIES, ENDS, RECORDS = "own", "parties", "ends", "records"
ALIGNED = 16  # arrays that start elsewhere would be copied in every step
HEAD = struct.Struct("<Q8x")
MOST = (1 << 31) - 1  # bytes of a record: Spark counts them in 32 bits
Values = dict[str, Any]


class TooLargeError(LocalError):
    """A partition holds more than Spark moves as one record: use more partitions."""


# What stands for an argument until it is at the executor


@dataclass(frozen=True)
class Ref:
    """Stands for the value of a slot; or of another slot for each holder, by party."""

    slot: str | Mapping[str, str]


@dataclass(frozen=True)
class Seed:
    """Stands for the holder's seed for a place."""

    place: str


@dataclass(frozen=True)
class Pad:
    """Stands for the holder's pads under its seeds and a tag."""

    seeds: Any
    tag: bytes


@dataclass(frozen=True)
class Given:
    """Stands for a value that the driver wrote for this job; with `own` one for each holder."""

    key: str
    own: bool


@dataclass(frozen=True)
class Call:
    """A step of some holders, not yet played."""

    place: str
    parties: tuple[str, ...]
    work: Work
    into: str


# Records


def pack(values: Values) -> bytes:
    """Write slots to a record: arrays at aligned addresses, with the classes of the messages and states among them."""
    written, texts = _without_text(values)
    frames, kinds = encode(written), set(_kinds(values))
    if len({kind.__name__ for kind in kinds}) < len(kinds):
        raise ChoreographyError(
            f"a holder keeps values of two classes of one name ({', '.join(map(repr, kinds))}): rename one"
        )
    names = tuple((kind.__module__, kind.__qualname__) for kind in kinds)
    each = tuple(name for name, value in values.items() if isinstance(value, Each))
    head = encode((names, each, texts, frames.header, tuple(b.nbytes for b in frames.buffers))).join()
    parts: list[bytes | memoryview] = [HEAD.pack(len(head)), head, *frames.buffers]
    if sum(len(part) + ALIGNED for part in parts) > MOST:
        raise TooLargeError(
            "what a learner keeps of one job takes over 2 GB, which Spark cannot move as one record: use more"
            " partitions"
        )
    gaps = [bytes(-len(part) % ALIGNED) for part in parts]
    return b"".join(itertools.chain.from_iterable(zip(parts, gaps, strict=True)))


def unpack(record: bytes) -> Values:
    """Return the slots of a record; arrays are views of it."""
    view, (length,) = memoryview(record), HEAD.unpack_from(record)
    kinds, each, texts, header, sizes = decode(view[HEAD.size : HEAD.size + length])
    buffers, at = [], HEAD.size + length
    for size in sizes:
        at += -at % ALIGNED
        buffers.append(view[at : at + size])
        at += size
    known = {kind.__name__: kind for kind in map(_import_kind, kinds)}  # a state is known once its module is imported
    values = decode(
        Frames(header, tuple(buffers)), kinds={name: kind for name, kind in known.items() if issubclass(kind, Message)}
    )
    for name, column in texts:
        values[name] = dataclasses.replace(values[name], **{column: _text(getattr(values[name], column))})
    return {name: Each(value) if name in each else value for name, value in values.items()}


def _without_text(values: Values) -> tuple[Values, tuple[tuple[str, str], ...]]:
    """Write text as code points: a holder's own labels may be text, which no message may."""
    records = {name: value for name, value in values.items() if isinstance(value, Record)}
    texts = tuple(
        (name, f) for name, record in records.items() for f in record.field_names() if _is_text(getattr(record, f))
    )
    written = dict(values)
    for name, column in texts:
        labels = np.ascontiguousarray(getattr(written[name], column), dtype=np.str_)
        codes = (
            labels.astype(labels.dtype.newbyteorder("<")).view("<u4").reshape(len(labels), labels.dtype.itemsize // 4)
        )
        written[name] = dataclasses.replace(written[name], **{column: codes})
    return written, texts


def _is_text(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (
        value.dtype.kind == "U" or (value.dtype.kind == "O" and all(isinstance(v, str) for v in value))
    )


def _text(codes: Array) -> Array:
    made: Array = codes.view(f"<U{codes.shape[1]}").reshape(-1) if codes.size else np.empty(len(codes), np.str_)
    return made


def _kinds(value: Any) -> Iterator[type[Record]]:
    """Return the classes of all records in a value."""
    if isinstance(value, Record):
        yield type(value)
        value = tuple(getattr(value, name) for name in value.field_names())
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ():
        yield from _kinds(part)


def _import_kind(name: tuple[str, str]) -> type[Record]:
    kind = importlib.import_module(name[0])
    for part in name[1].split("."):
        kind = getattr(kind, part)
    if not (isinstance(kind, type) and issubclass(kind, Record)):
        raise PeerError(f"{'.'.join(name)} is no message and no state")
    return kind


def join_own(values: Mapping[str, Any]) -> Values:
    """Return one value of each holder as one: a holder reads its own, and passes over those of thousands of others."""
    records = {party: pack({OWN: value}) for party, value in values.items()}
    ends = np.cumsum([len(record) for record in records.values()])
    return {PARTIES: tuple(records), ENDS: ends, RECORDS: b"".join(records.values())}


def find_own(joined: Values, party: str) -> Any:
    """Return the value of one holder."""
    at, ends = joined[PARTIES].index(party), joined[ENDS]
    return unpack(joined[RECORDS][int(ends[at - 1]) if at else 0 : int(ends[at])])[OWN]


def merge(records: Iterable[Any]) -> Values:
    """Return what all layers hold: zipped RDDs give nested pairs, one for each partition."""
    values: Values = {}
    for record in records:
        values |= merge(record) if isinstance(record, tuple) else unpack(record)
    return values


# What is mapped over partitions


def draw_root(_: int, nothing: Iterable[Any]) -> Iterator[bytes]:
    """Draw a root key where the driver does not see it."""
    list(nothing)
    yield pack({ROOT: secrets.token_bytes(32)})


def same(_: int, records: Iterable[bytes]) -> Iterator[bytes]:
    """Return the records as they are: a copy that Spark may keep in memory."""
    yield from records


@dataclass(frozen=True)
class Play:
    """The steps of a job, at each holder; `keep` names the slots that somebody may still use."""

    run: bytes
    parties: tuple[str, ...]
    calls: tuple[Call, ...]
    keep: frozenset[str]
    given: Any  # a broadcast record
    spent: Mapping[str, tuple[bytes, ...]]

    def __call__(self, index: int, records: Iterable[Any]) -> Iterator[bytes]:
        """Play the steps, and return the record of the new layer."""
        party, start, place = self.parties[index], time.thread_time(), "the start"
        try:
            _settle(len(sys.modules))
            values = merge(records)
            entropy = RootEntropy([], self.run, {party: values[ROOT]}, self.spent)
            given = unpack(self.given.value)
            for call in self.calls:
                if party in call.parties:
                    place = call.place
                    values[call.into] = _do(call.work, lambda a: _argument(a, party, values, given, entropy))
            kept = {name: values[name] for name in self.keep if name in values}
            yield pack({**kept, SPENT: tuple(entropy.marks(party)), CPU: time.thread_time() - start})
        except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
            yield pack({ERROR: (type(error).__name__, place)})


@functools.cache
def _settle(modules: int) -> None:
    """Exempt what the modules brought from garbage collection: Spark collects after every task, which takes 0.2 s."""
    del modules
    gc.collect()
    gc.freeze()


def _do(work: Work, at: Callable[[Any], Any]) -> Any:
    return Work(work.label, work.step, tuple(map(at, work.args)), {name: at(a) for name, a in work.named.items()})()


def _argument(a: Any, party: str, values: Values, given: Values, entropy: RootEntropy) -> Any:
    match a:
        case Ref(slot):
            return values[slot if isinstance(slot, str) else slot[party]]
        case Seed(place):
            return entropy.seed(party, place)
        case Pad(seeds, tag):
            return entropy.pads(party, _argument(seeds, party, values, given, entropy), tag)
        case Given(key, own):
            return find_own(given[key], party) if own else given[key]
    return a


@dataclass(frozen=True)
class Outbox:
    """What a layer's record tells the driver: an error, or marks, time, and the frames of the wanted slots."""

    slots: tuple[str, ...]

    def __call__(self, _: int, records: Iterable[bytes]) -> Iterator[bytes]:
        """Return what the driver is told, as one frame."""
        values = merge(records)
        frames = {name: _frames(values[name]) for name in self.slots if name in values}
        yield encode(
            {**{name: values[name] for name in (ERROR, SPENT, CPU) if name in values}, "frames": frames}
        ).join()


@dataclass(frozen=True)
class Summand:
    """What a layer's record tells on its way to the driver: what the holder says (`Outbox`), and its message."""

    parties: tuple[str, ...]
    slot: str

    def __call__(self, index: int, records: Iterable[bytes]) -> Iterator[bytes]:
        """Return one frame: by party what it tells, with the size of its message, and the message's own frame."""
        values = merge(records)
        told = {name: values[name] for name in (ERROR, CPU) if name in values}
        if ERROR in told:
            yield encode({TOLD: {self.parties[index]: told}, SUM: b""}).join()
            return
        message = values[self.slot]
        frame = encode(message).join()
        told |= {SIZE: (shapes(message), len(frame))}
        yield encode({TOLD: {self.parties[index]: told}, SUM: frame}).join()


@dataclass(frozen=True)
class Adder:
    """Adds up the messages that come together at an executor, by a function that does not mind the order."""

    kind: type[Message]
    add: Callable[[Iterable[Any]], Any]
    place: str

    def __call__(self, _: int, records: Iterable[bytes]) -> Iterator[bytes]:
        """Return one frame for all that came, as `Summand` writes them; nothing where nothing came."""
        found = [decode(bytes(record)) for record in records]
        told = {party: said for each in found for party, said in each[TOLD].items()}
        if found:
            yield encode({TOLD: told, SUM: self._total(told, [each[SUM] for each in found])}).join()

    def _total(self, told: dict[str, Any], frames: list[bytes]) -> bytes:
        if any(ERROR in said for said in told.values()):
            return b""
        try:
            total = self.add(decode(frame, kinds={self.kind.__name__: self.kind}) for frame in frames)
        except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
            told[next(iter(told))][ERROR] = (type(error).__name__, self.place)
            return b""
        return encode(total).join()


def _frames(value: Any) -> dict[str, bytes]:
    """Return the frames of a message by receiver, where receivers get different ones."""
    return {
        receiver: encode(message).join()
        for receiver, message in (value if isinstance(value, Each) else {"": value}).items()
    }


def is_value(argument: Any) -> bool:
    """Whether an argument is worth a frame of its own; what has no wire form, or is small, travels with its step."""
    if isinstance(argument, (tuple, dict)):
        return any(is_value(v) for v in (argument.values() if isinstance(argument, dict) else argument))
    return isinstance(argument, (Record, np.ndarray))
