"""What a Spark executor does for the holder whose partition it has: plays steps, keeps what they give, hands messages out.

A holder's values lie in layers: RDDs with one record per partition, `pack({slot: value})`. A job reads the layers that its
steps need and plays them (`Play`), which gives the record of the next layer; `Outbox` takes messages out of one.
Records are codec frames: only steps and their settings travel as Spark's own tasks do.

An error becomes a record too, of its class and place: its text can contain data, and Spark would log it and tell the driver.
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

from tacit.choreo.codec import Frames, decode, encode
from tacit.choreo.message import Array, Each, Message, Record
from tacit.choreo.run import Work
from tacit.crypto.entropy import RootEntropy
from tacit.errors import ChoreographyError, LocalError, PeerError

ROOT, ERROR, SPENT, CPU = "root", "error", "spent", "cpu"
ALIGNED = 16  # arrays that start elsewhere would be copied in every step
HEAD = struct.Struct("<Q8x")
MOST = (1 << 31) - 1  # bytes of a record: Spark counts them in 32 bits
Values = dict[str, Any]


class TooLargeError(LocalError):
    """A partition holds more than Spark moves as one record: use more partitions."""


# What stands for an argument until it is at the executor


@dataclass(frozen=True)
class Ref:
    """The value of a slot."""

    slot: str


@dataclass(frozen=True)
class Seed:
    """The holder's seed for a place."""

    place: str


@dataclass(frozen=True)
class Pad:
    """The holder's pads under its seeds and a tag."""

    seeds: Any
    tag: bytes


@dataclass(frozen=True)
class Given:
    """A value that the driver wrote for this job; with `own` one for each holder."""

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
    """Slots to a record, with all arrays where a processor likes them, and the classes of the messages and states among them."""
    written, texts = _without_text(values)
    frames, kinds = encode(written), set(_kinds(values))
    if len({kind.__name__ for kind in kinds}) < len(kinds):
        raise ChoreographyError(f"a holder keeps values of two classes of one name ({', '.join(map(repr, kinds))}): rename one")
    names = tuple((kind.__module__, kind.__qualname__) for kind in kinds)
    each = tuple(name for name, value in values.items() if isinstance(value, Each))
    head = encode((names, each, texts, frames.header, tuple(b.nbytes for b in frames.buffers))).join()
    parts: list[bytes | memoryview] = [HEAD.pack(len(head)), head, *frames.buffers]
    if sum(len(part) + ALIGNED for part in parts) > MOST:
        raise TooLargeError("what a learner keeps of one job takes over 2 GB, which Spark cannot move as one record: use more partitions")
    gaps = [bytes(-len(part) % ALIGNED) for part in parts]
    return b"".join(itertools.chain.from_iterable(zip(parts, gaps, strict=True)))


def unpack(record: bytes) -> Values:
    """A record to its slots; arrays are views of it."""
    view, (length,) = memoryview(record), HEAD.unpack_from(record)
    kinds, each, texts, header, sizes = decode(view[HEAD.size : HEAD.size + length])
    buffers, at = [], HEAD.size + length
    for size in sizes:
        at += -at % ALIGNED
        buffers.append(view[at : at + size])
        at += size
    known = {kind.__name__: kind for kind in map(_imported, kinds)}  # a state is known once its module is imported
    values = decode(Frames(header, tuple(buffers)), kinds={name: kind for name, kind in known.items() if issubclass(kind, Message)})
    for name, column in texts:
        values[name] = dataclasses.replace(values[name], **{column: _text(getattr(values[name], column))})
    return {name: Each(value) if name in each else value for name, value in values.items()}


def _without_text(values: Values) -> tuple[Values, tuple[tuple[str, str], ...]]:
    """A holder's own labels may be text, which no message may: it is written as its code points."""
    records = {name: value for name, value in values.items() if isinstance(value, Record)}
    texts = tuple((name, f) for name, record in records.items() for f in record.field_names() if _is_text(getattr(record, f)))
    written = dict(values)
    for name, column in texts:
        labels = np.ascontiguousarray(getattr(written[name], column), dtype=np.str_)
        codes = labels.astype(labels.dtype.newbyteorder("<")).view("<u4").reshape(len(labels), labels.dtype.itemsize // 4)
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
    """Of all records in a value."""
    if isinstance(value, Record):
        yield type(value)
        value = tuple(getattr(value, name) for name in value.field_names())
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ():
        yield from _kinds(part)


def _imported(name: tuple[str, str]) -> type[Record]:
    kind = importlib.import_module(name[0])
    for part in name[1].split("."):
        kind = getattr(kind, part)
    if not (isinstance(kind, type) and issubclass(kind, Record)):
        raise PeerError(f"{'.'.join(name)} is no message and no state")
    return kind


def merged(records: Iterable[Any]) -> Values:
    """What all layers hold: zipped RDDs give nested pairs, one of each partition."""
    values: Values = {}
    for record in records:
        values |= merged(record) if isinstance(record, tuple) else unpack(record)
    return values


# What is mapped over partitions


def draw_root(_: int, nothing: Iterable[Any]) -> Iterator[bytes]:
    """A root key, made where the driver does not see it."""
    list(nothing)
    yield pack({ROOT: secrets.token_bytes(32)})


def same(_: int, records: Iterable[bytes]) -> Iterator[bytes]:
    """As it is: a copy that Spark may keep in memory."""
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
        """The record of the new layer."""
        party, start, place = self.parties[index], time.thread_time(), "the start"
        try:
            _settled(len(sys.modules))
            values = merged(records)
            entropy = RootEntropy([], self.run, {party: values[ROOT]}, self.spent)
            given = unpack(self.given.value)
            for call in self.calls:
                if party in call.parties:
                    place = call.place
                    values[call.into] = _done(call.work, lambda a: _argument(a, party, values, given, entropy))
            kept = {name: values[name] for name in self.keep if name in values}
            yield pack({**kept, SPENT: tuple(entropy.marks(party)), CPU: time.thread_time() - start})
        except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
            yield pack({ERROR: (type(error).__name__, place)})


@functools.cache
def _settled(modules: int) -> None:
    """Spark collects garbage after every task. With so many modules that takes 0.2 s, unless what they brought is left out, once."""
    del modules
    gc.collect()
    gc.freeze()


def _done(work: Work, at: Callable[[Any], Any]) -> Any:
    return Work(work.label, work.step, tuple(map(at, work.args)), {name: at(a) for name, a in work.named.items()})()


def _argument(a: Any, party: str, values: Values, given: Values, entropy: RootEntropy) -> Any:
    match a:
        case Ref(slot):
            return values[slot]
        case Seed(place):
            return entropy.seed(party, place)
        case Pad(seeds, tag):
            return entropy.pads(party, _argument(seeds, party, values, given, entropy), tag)
        case Given(key, own):
            return given[key][party] if own else given[key]
    return a


@dataclass(frozen=True)
class Outbox:
    """What a layer's record tells the driver: an error, or marks, time, and the frames of the wanted slots."""

    slots: tuple[str, ...]

    def __call__(self, _: int, records: Iterable[bytes]) -> Iterator[bytes]:
        """One frame."""
        values = merged(records)
        frames = {name: _frames(values[name]) for name in self.slots if name in values}
        yield encode({**{name: values[name] for name in (ERROR, SPENT, CPU) if name in values}, "frames": frames}).join()


def _frames(value: Any) -> dict[str, bytes]:
    """By receiver, where they get different ones."""
    return {receiver: encode(message).join() for receiver, message in (value if isinstance(value, Each) else {"": value}).items()}


def is_value(argument: Any) -> bool:
    """Whether an argument is worth a frame of its own; what has no wire form, or is small, travels with its step."""
    if isinstance(argument, (tuple, dict)):
        return any(is_value(v) for v in (argument.values() if isinstance(argument, dict) else argument))
    return isinstance(argument, (Record, np.ndarray))
