"""The codec: values to bytes and back, without pickle.

    frame = "TACT" version:u8 header_length:u32 header buffers...
    header = msgpack [tree, [[dtype, shape], ...]]       arrays stand in the tree as ["a"], in the order of the table

Arrays, long strings and long bytes travel as raw little-endian buffers. Every declared size is checked against the
bytes that are really there before anything is built, and decoded arrays are read-only views of them, so decoding
allocates next to nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import struct
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import numpy as np

from tacit.arrays import Array
from tacit.choreo.message import Each, Message, Record, State, fits
from tacit.errors import ChoreographyError, PeerError

MAGIC, VERSION = b"TACT", 2
PREFIX = struct.Struct("<4sBI")
HEADER_LIMIT = 1 << 20  # a header can grow about a hundredfold when it is read
LIMIT = 1 << 36  # bytes of one message
ARRAYS, DIMENSIONS = 1 << 12, 32
TABLE = msgspec.msgpack.Decoder(tuple[Any, list[tuple[str, list[int]]]])
LONG = 1 << 10  # strings and bytes from here on are buffers
DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"})
ITEM_BYTES = {name: np.dtype(name).itemsize for name in DTYPES}
KINDS = frozenset(kind for name in DTYPES for kind in (np.dtype(name), np.dtype(name).newbyteorder()))
BYTES = np.dtype("|u1")
PLAIN = frozenset({bool, float, type(None)})  # whatever their value, they stand for themselves
_SEALED: weakref.WeakSet[Record] = weakref.WeakSet()  # pools of many records pass through many steps unchanged

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Frames:
    """An encoded value: a header and the arrays' own memory, joined only where a wire needs it."""

    header: bytes
    buffers: tuple[memoryview, ...]

    @classmethod
    def split(cls, data: bytes | memoryview, *, limit: int = LIMIT, versions: tuple[int, ...] = (VERSION,)) -> Frames:
        """Take a contiguous frame of one of these versions apart again, without copying its arrays."""
        if len(data) > limit:
            raise PeerError(f"message of {len(data)} bytes is over the limit of {limit}")
        if len(data) < PREFIX.size:
            raise PeerError("message is truncated")
        magic, version, size = PREFIX.unpack_from(data)
        if magic != MAGIC or version not in versions:
            raise PeerError("not a tacit message of this version: all parties need the same version of tacit")
        if size > min(HEADER_LIMIT, len(data) - PREFIX.size):
            raise PeerError("message is truncated or its header is over the limit")
        view = memoryview(data)
        return cls(bytes(view[PREFIX.size : PREFIX.size + size]), (view[PREFIX.size + size :],))

    @property
    def nbytes(self) -> int:
        """How many bytes the frame has on the wire."""
        return PREFIX.size + len(self.header) + sum(b.nbytes for b in self.buffers)

    def parts(self) -> tuple[bytes | memoryview, ...]:
        """Return the pieces in wire order."""
        return (PREFIX.pack(MAGIC, VERSION, len(self.header)), self.header, *self.buffers)

    def join(self) -> bytes:
        """Return one contiguous frame."""
        return b"".join(self.parts())

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the frame."""
        h = hashlib.sha256()
        for part in self.parts():
            h.update(part)
        return h.digest()

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays in it, as `message.shapes` gives them of the decoded value."""
        tree, table = TABLE.decode(self.header)
        return tuple(tuple(shape) for tag, (_, shape) in zip(_tags(tree), table, strict=True) if tag == "a")


def encode(value: object) -> Frames:
    """Return the frames of any wire-form value."""
    arrays: list[Array] = []
    tree = _pack(seal_arrays(value, "this"), arrays)
    header = msgspec.msgpack.encode([tree, [[a.dtype.str, list(a.shape)] for a in arrays]])
    if len(header) > HEADER_LIMIT or len(arrays) > ARRAYS:
        raise ChoreographyError("a value of this many parts has no wire form: put its numbers into arrays")
    return Frames(header, tuple(a.reshape(-1).view(np.uint8).data if a.size else memoryview(b"") for a in arrays))


def decode(
    data: Frames | bytes | memoryview,
    *,
    limit: int = LIMIT,
    kinds: Mapping[str, type[Message]] = MappingProxyType({}),
    versions: tuple[int, ...] = (VERSION,),
) -> Any:
    """Read back a value without messages, or with messages of the given classes, by name.

    Anything else raises `PeerError`.
    """
    return _make_messages(_read(data, limit, versions), kinds)


def decode_as(kind: type[R], data: Frames | bytes | memoryview, *, limit: int = LIMIT) -> R:
    """Read back a record of the given type, all its fields of the declared types."""
    value = _read(data, limit)
    if isinstance(value, _Foreign):
        value = value.become(kind)
    if type(value) is not kind:
        raise PeerError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def seal_arrays(value: Any, who: str, *, kept: bool = False) -> Any:
    """Return a value with all its arrays read-only; refuse what has no wire form. `who` made the value.

    kept: it stays with its party, where a state may hold texts, such as the party's own labels.
    """
    if type(value) in PLAIN or (type(value) is str and value.isascii()):
        return value
    if type(value) is np.ndarray and value.dtype in KINDS:
        return _freeze(value)
    if isinstance(value, tuple):
        parts = [seal_arrays(v, who, kept=kept) for v in value]
        return value if type(value) is tuple and _are_same(value, parts) else tuple(parts)
    if isinstance(value, dict):
        return (Each if isinstance(value, Each) else dict)(
            {seal_arrays(k, who): seal_arrays(v, who, kept=kept) for k, v in value.items()}
        )
    if isinstance(value, Record):
        return _seal_record(value, who, kept=kept)
    if _is_scalar(value):
        return value.item() if isinstance(value, np.generic) else value
    kind = f"an array of {value.dtype}" if type(value) is np.ndarray else f"a {type(value).__name__}"
    raise ChoreographyError(
        f"{who} gave {kind}, which has no wire form (scalars, plain arrays, tuple, dict, State, Message)"
    )


def _seal_record(value: Record, who: str, *, kept: bool) -> Record:
    if kept and value in _SEALED:
        return value
    texts = kept and isinstance(value, State)
    fields = [getattr(value, name) for name in value.field_names()]
    sealed = [_freeze(v) if texts and _is_texts(v) else seal_arrays(v, who, kept=kept) for v in fields]
    made = value if _are_same(fields, sealed) else type(value)(*sealed)
    if kept:
        _SEALED.add(made)
    return made


def _are_same(parts: Sequence[object], sealed: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(parts, sealed, strict=True))


def _freeze(array: Array) -> Array:
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def _is_texts(value: object) -> bool:
    return type(value) is np.ndarray and value.dtype.kind == "U"


def _is_scalar(value: object) -> bool:
    if isinstance(value, np.generic) and not isinstance(value, (str, bytes)):
        return value.dtype.newbyteorder("<").str in DTYPES
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 64
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)  # a lone surrogate has no UTF-8
    return value is None or isinstance(value, (float, bytes))


def _pack(value: Any, arrays: list[Array]) -> Any:  # noqa: PLR0911 - as above
    if type(value) in PLAIN or type(value) is int:
        return value
    if isinstance(value, (str, bytes)) and len(value) >= LONG:
        data = value.encode() if isinstance(value, str) else value
        arrays.append(np.frombuffer(data, BYTES))
        return ["u" if isinstance(value, str) else "b"]
    if isinstance(value, np.ndarray):
        arrays.append(np.asarray(value, value.dtype.newbyteorder("<"), order="C"))
        return ["a"]
    if isinstance(value, tuple):
        return ["t", *(_pack(v, arrays) for v in value)]
    if isinstance(value, dict):
        return ["d", *([_pack(k, arrays), _pack(v, arrays)] for k, v in value.items())]
    if isinstance(value, Record):
        tag = "m" if isinstance(value, Message) else "s"
        return [tag, type(value).__name__, *(_pack(getattr(value, n), arrays) for n in value.field_names())]
    return value


def _read(data: Frames | bytes | memoryview, limit: int, versions: tuple[int, ...] = (VERSION,)) -> Any:
    try:
        tree, arrays = _arrays(data if isinstance(data, Frames) else Frames.split(data, limit=limit, versions=versions))
        unused = iter(arrays)
        value = _unpack(tree, unused)
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError, ValueError) as error:
        # the type only: the text of an error can contain data
        raise PeerError(f"malformed message ({type(error).__name__})") from None
    if any(True for _ in unused):
        raise PeerError("an array that nothing refers to")
    return value


def _arrays(frames: Frames) -> tuple[Any, list[Array]]:
    tree, table = TABLE.decode(frames.header)
    if len(table) > ARRAYS or any(len(shape) > DIMENSIONS for _, shape in table):
        raise PeerError("too many arrays or dimensions")
    if any(dtype not in DTYPES or any(n < 0 for n in shape) for dtype, shape in table):
        raise PeerError("array of an unknown type or shape")
    sizes = [math.prod(shape) * ITEM_BYTES[dtype] for dtype, shape in table]
    if sum(sizes) != sum(b.nbytes for b in frames.buffers):
        raise PeerError("arrays are not of the declared size")
    buffers = frames.buffers if len(frames.buffers) == len(sizes) else _cut(frames.buffers, sizes)
    return tree, [_array(buffer, dtype, shape) for buffer, (dtype, shape) in zip(buffers, table, strict=True)]


def _array(buffer: memoryview, dtype: str, shape: list[int]) -> Array:
    array = np.frombuffer(buffer, dtype=dtype).reshape(shape)
    if dtype == "|b1" and array.size and array.view(np.uint8).max() > 1:
        raise PeerError("a truth value that is neither 0 nor 1")
    array.flags.writeable = False
    return array


def _tags(tree: Any) -> Iterator[str]:
    """Yield what each buffer of a frame holds, in order: an array, a text or bytes."""
    if isinstance(tree, list):
        tag, *parts = tree
        if tag in ("a", "u", "b"):
            yield tag
        for part in itertools.chain(*parts) if tag == "d" else parts:
            yield from _tags(part)


def _cut(buffers: Sequence[memoryview], sizes: Sequence[int]) -> list[memoryview]:
    """Return a contiguous frame's one buffer, cut into the arrays in it."""
    (body,) = buffers
    ends = itertools.accumulate(sizes)
    return [body[end - size : end] for end, size in zip(ends, sizes, strict=True)]


@dataclass(frozen=True)
class _Foreign:
    """A message whose class only the receiver's expectation can name."""

    name: str
    fields: tuple[Any, ...]

    def become(self, kind: type[R]) -> R:
        if self.name != kind.__name__ or not issubclass(kind, Message):
            raise PeerError(f"expected {kind.__name__}, got {self.name[:80]!r}")
        return _build(kind, self.fields)


def _make_messages(value: Any, kinds: Mapping[str, type[Message]]) -> Any:
    """Return a value with its messages made."""
    if isinstance(value, tuple):
        return tuple(_make_messages(v, kinds) for v in value)
    if isinstance(value, dict):
        return {k: _make_messages(v, kinds) for k, v in value.items()}
    if isinstance(value, _Foreign):
        if value.name not in kinds:
            raise PeerError("a message where a value was expected")
        return value.become(kinds[value.name])
    return value


def _unpack(tree: Any, arrays: Iterator[Array]) -> Any:
    if not isinstance(tree, list):
        if tree is not None and type(tree) not in (bool, int, float, str, bytes):
            raise PeerError("unknown kind of value")
        return tree
    tag, *rest = tree
    if tag in ("a", "u", "b"):  # each array is referred to once, so that a small header cannot multiply a large buffer
        array = next(arrays, None)
        if array is None or rest:
            raise PeerError("reference to an array that is not there")
        return array if tag == "a" else str(array.data, "utf-8") if tag == "u" else array.tobytes()
    if tag == "t":
        return tuple(_unpack(v, arrays) for v in rest)
    if tag == "d":
        return {_unpack(k, arrays): _unpack(v, arrays) for k, v in rest}
    name, fields = rest[0], tuple(_unpack(v, arrays) for v in rest[1:])
    if tag == "m" and isinstance(name, str):
        return _Foreign(name, fields)
    if tag == "s" and isinstance(name, str) and name in State.registry:
        return _build(State.registry[name], fields)
    raise PeerError("unknown kind of value")


def _build(kind: type[R], fields: tuple[Any, ...]) -> R:
    hints = kind.field_types()
    names = kind.field_names()
    if not (kind.required() if issubclass(kind, State) else len(names)) <= len(fields) <= len(names):
        raise PeerError(f"{kind.__name__} with {len(fields)} fields, expected {len(names)}")
    known = [
        v.become(hints[n]) if isinstance(v, _Foreign) and isinstance(hints[n], type) else v
        for n, v in zip(names, fields, strict=False)
    ]
    for name, value in zip(names, known, strict=False):
        if not fits(value, hints[name]):
            raise PeerError(f"field {name} of {kind.__name__} is not of its declared type")
    return kind(*known)
