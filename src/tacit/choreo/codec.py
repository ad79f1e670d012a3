"""The codec: values to bytes and back, without pickle.

    frame = "TACT" version:u8 header_length:u32 header buffers...
    header = msgpack [tree, [[dtype, shape], ...]]       arrays stand in the tree as ["a", index]

Arrays travel as raw little-endian buffers. Every declared size is checked against the bytes that are really there
before anything is built, and decoded arrays are read-only views of them, so that decoding allocates next to nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import numpy as np

from tacit.choreo.message import Array, Message, Record, State, fits
from tacit.errors import ChoreographyError, PeerError

MAGIC, VERSION = b"TACT", 1
PREFIX = struct.Struct("<4sBI")
HEADER_LIMIT = 1 << 24
LIMIT = 1 << 36  # bytes of one message
DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"})

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Frames:
    """An encoded value: a header and the arrays' own memory, joined only where a wire needs it."""

    header: bytes
    buffers: tuple[memoryview, ...]

    @property
    def nbytes(self) -> int:
        """Length on the wire."""
        return PREFIX.size + len(self.header) + sum(b.nbytes for b in self.buffers)

    @classmethod
    def split(cls, data: bytes | memoryview, *, limit: int = LIMIT) -> Frames:
        """Take a contiguous frame apart again, without copying its arrays."""
        if len(data) > limit:
            raise PeerError(f"message of {len(data)} bytes is over the limit of {limit}")
        if len(data) < PREFIX.size:
            raise PeerError("message is truncated")
        magic, version, size = PREFIX.unpack_from(data)
        if magic != MAGIC or version != VERSION:
            raise PeerError("not a tacit message of this version")
        if size > min(HEADER_LIMIT, len(data) - PREFIX.size):
            raise PeerError("message is truncated or its header is over the limit")
        view = memoryview(data)
        return cls(bytes(view[PREFIX.size : PREFIX.size + size]), (view[PREFIX.size + size :],))

    def parts(self) -> tuple[bytes | memoryview, ...]:
        """The pieces in wire order."""
        return (PREFIX.pack(MAGIC, VERSION, len(self.header)), self.header, *self.buffers)

    def join(self) -> bytes:
        """One contiguous frame."""
        return b"".join(self.parts())

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the frame."""
        h = hashlib.sha256()
        for part in self.parts():
            h.update(part)
        return h.digest()


def encode(value: object) -> Frames:
    """Write any wire-form value."""
    arrays: list[Array] = []
    tree = _pack(value, arrays)
    table = [[a.dtype.str, list(a.shape)] for a in arrays]
    return Frames(msgspec.msgpack.encode([tree, table]), tuple(_bytes(a) for a in arrays))


def decode(data: Frames | bytes | memoryview, *, limit: int = LIMIT) -> Any:
    """Read a value back; anything that is not one raises `PeerError`."""
    try:
        tree, arrays = _arrays(data if isinstance(data, Frames) else Frames.split(data, limit=limit))
        return _unpack(tree, arrays)
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, UnicodeDecodeError) as error:
        # the type only: the text of an error can contain data
        raise PeerError(f"malformed message ({type(error).__name__})") from None


def decode_as(kind: type[R], data: Frames | bytes | memoryview, *, limit: int = LIMIT) -> R:
    """Read back a record of the given type, all its fields of the declared types."""
    value = decode(data, limit=limit)
    if type(value) is _Foreign:
        value = value.become(kind)
    if type(value) is not kind:
        raise PeerError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def sealed(value: Any, who: str) -> Any:
    """Check that a step returned a wire-form value, and make its arrays read-only."""
    if isinstance(value, np.ndarray):
        if value.dtype.newbyteorder("<").str not in DTYPES:
            raise ChoreographyError(f"{who} returned an array of {value.dtype}, which has no wire form")
        value = value.view()
        value.flags.writeable = False
        return value
    if isinstance(value, (tuple, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            sealed(v, who)
        return value
    if isinstance(value, (bool, int, float, str, bytes, np.generic, Record)) or value is None:
        return value
    raise ChoreographyError(
        f"{who} returned a {type(value).__name__}, which has no wire form (scalars, arrays, tuple, dict, State, Message)"
    )


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def _pack(value: Any, arrays: list[Array]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"), copy=False)))
        if arrays[-1].dtype.str not in DTYPES:
            raise ChoreographyError(f"an array of {value.dtype} has no wire form")
        return ["a", len(arrays) - 1]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return ["t", *(_pack(v, arrays) for v in value)]
    if isinstance(value, dict):
        return ["d", *([_pack(k, arrays), _pack(v, arrays)] for k, v in value.items())]
    if isinstance(value, Record):
        tag = "m" if isinstance(value, Message) else "s"
        return [tag, type(value).__name__, *(_pack(getattr(value, n), arrays) for n in value.field_names())]
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise ChoreographyError(f"a {type(value).__name__} has no wire form")


def _arrays(frames: Frames) -> tuple[Any, list[Array]]:
    tree, table = msgspec.msgpack.decode(frames.header, type=tuple[Any, list[tuple[str, list[int]]]])
    if any(dtype not in DTYPES or any(n < 0 for n in shape) for dtype, shape in table):
        raise PeerError("array of an unknown type or shape")
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize for dtype, shape in table]
    if sum(sizes) != sum(b.nbytes for b in frames.buffers):
        raise PeerError("arrays are not of the declared size")
    buffers = frames.buffers if len(frames.buffers) == len(sizes) else _cut(frames.buffers, sizes)
    return tree, [_array(buffer, dtype, shape) for buffer, (dtype, shape) in zip(buffers, table, strict=True)]


def _array(buffer: memoryview, dtype: str, shape: list[int]) -> Array:
    array = np.frombuffer(buffer, dtype=dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _cut(buffers: Sequence[memoryview], sizes: Sequence[int]) -> list[memoryview]:
    """A contiguous frame's one buffer, by the arrays in it."""
    (body,) = buffers
    ends = itertools.accumulate(sizes)
    return [body[end - size : end] for end, size in zip(ends, sizes, strict=True)]


@dataclass(frozen=True)
class _Foreign:
    """A message whose class only the receiver's expectation can name."""

    name: str
    fields: tuple[Any, ...]

    def become(self, kind: type[R]) -> R:
        if self.name != kind.__name__:
            raise PeerError(f"expected {kind.__name__}, got {self.name[:80]!r}")
        return _build(kind, self.fields)


def _unpack(tree: Any, arrays: list[Array]) -> Any:
    if not isinstance(tree, list):
        return tree
    tag, *rest = tree
    if tag == "a":
        return arrays[_index(rest, len(arrays))]
    if tag == "t":
        return tuple(_unpack(v, arrays) for v in rest)
    if tag == "d":
        return {_unpack(k, arrays): _unpack(v, arrays) for k, v in rest}
    if tag in ("s", "m"):
        name, fields = rest[0], tuple(_unpack(v, arrays) for v in rest[1:])
        return _Foreign(name, fields) if tag == "m" else _build(_state(name), fields)
    raise PeerError("unknown kind of value")


def _index(rest: list[Any], n: int) -> int:
    if len(rest) != 1 or type(rest[0]) is not int or not 0 <= rest[0] < n:
        raise PeerError("reference to an array that is not there")
    return rest[0]


def _state(name: object) -> type[State]:
    if not isinstance(name, str) or name not in State.registry:
        raise PeerError("unknown state")
    return State.registry[name]


def _build(kind: type[R], fields: tuple[Any, ...]) -> R:
    hints = kind.field_types()
    names = kind.field_names()
    if len(fields) != len(names):
        raise PeerError(f"{kind.__name__} with {len(fields)} fields, expected {len(names)}")
    for name, value in zip(names, fields, strict=True):
        if not fits(value, hints[name]):
            raise PeerError(f"field {name} of {kind.__name__} is not of its declared type")
    return kind(*fields)
