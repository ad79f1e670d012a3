"""Arrays in scratch files: numbers that lie on disk, and of which only what is at hand is in memory.

A scratch file has no name, so that nobody else can open it, and it is gone when its last array is, however the process
ends. (Windows gives it a name in the folder of its user, and removes it with its last array too.) It lies where
`tempfile` puts files (TMPDIR). An array of it is a plain NumPy array over mapped pages, which
`release` gives back to the system; what is looked at again comes from disk, or from the system's own cache.

    blocks      yields rows block by block, and releases each that lies on disk
    side_by_side   the same of several arrays with a line for every row
    fill        makes one more such array of them, which lies on disk if they do
    lay_aside   puts the large arrays of a value on disk; `Work` does it with what steps make of values from disk
"""

from __future__ import annotations

import dataclasses
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, TypeVar

import numpy as np

from tacit.arrays import Array
from tacit.errors import LocalError
from tacit.sparse import is_sparse

T = TypeVar("T")
ROWS = 1 << 13  # of a block, where nothing else decides
LINES = 1 << 16  # of a block of what is known of each row, which is a few numbers
CELLS = 1 << 23  # of a block, at most
LARGE = 1 << 16  # bytes from which an array is put on disk
SCRATCH: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()  # all scratch files that this process has mapped
RELEASE = getattr(mmap, "MADV_DONTNEED", None)  # Windows has no such thing; its pages stay until memory is short
ZEROS = bytes(1 << 20)  # of which a scratch file is made, where the system has no call for it


def make_array(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array of zeros on disk."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    if not count:
        return np.zeros(shape, kind)
    size = count * kind.itemsize
    with tempfile.TemporaryFile(buffering=0) as file:
        try:
            _reserve(file, size)
        except OSError as error:
            raise LocalError(
                f"no room for a scratch file of {size / 1e9:.1f} GB in {tempfile.gettempdir()} ({error.strerror}): set"
                " TMPDIR to a folder on a larger disk"
            ) from None
        pages = mmap.mmap(file.fileno(), size)
    SCRATCH.add(pages)
    return np.frombuffer(pages, kind, count).reshape(shape)


def _reserve(file: IO[bytes], size: int) -> None:
    """Take room on the disk: a full one is an error here, and not a crash when a page is written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    while size:  # macOS and Windows
        size -= file.write(ZEROS[:size])


def is_on_disk(value: object) -> bool:
    """Return whether a value is an array of a scratch file, or has one in it.

    Nothing is looked at where there are no scratch files: every step of a run asks this of all that it is given.
    """
    return bool(SCRATCH) and any(_pages_of(array) is not None for array in _arrays_in(value))


def lay_aside(value: T) -> T:
    """Return a value whose large arrays lie on disk, read-only."""
    made: T = _replace(value, _move)
    return made


def release(value: object) -> None:
    """Give back the memory of all arrays of a value that lie on disk."""
    for array in _arrays_in(value) if SCRATCH else ():
        if array.size and array.flags.c_contiguous:
            _release(array)
        elif array.size and array.ndim > 1:  # a block of a table that has a line for every problem
            release(tuple(array))


def blocks(X: Array, rows: int) -> Iterator[tuple[slice, Any]]:
    """Yield so many rows at a time, or fewer of many columns, with their place; release those that lie on disk."""
    step = rows_at_once(X, rows)
    for i in range(0, X.shape[0], step):
        at = slice(i, min(i + step, X.shape[0]))
        block = X[at]
        yield at, block
        release(block)


def side_by_side(*arrays: Array, rows: int | None = None) -> Iterator[tuple[slice, tuple[Any, ...]]]:
    """Yield the same rows of several arrays, with their place; release those that lie on disk."""
    step, count = rows or LINES, len(arrays[0])
    for i in range(0, count, step):
        at = slice(i, min(i + step, count))
        some = tuple(array[at] for array in arrays)
        yield at, some
        release(some)


def fill(make: Callable[..., Any], *arrays: Array, dtype: Any, width: int | None = None) -> Array:
    """Return what `make` makes of the same rows of several arrays, block by block; on disk if one of them is.

    It is a column, or with a width a table of so many.
    """
    made = empty_like(arrays, (len(arrays[0]), *(() if width is None else (width,))), dtype)
    for at, some in side_by_side(*arrays):
        made[at] = make(*some)
        release(made[at])
    return made


def distinct(array: Array) -> Array:
    """Return what occurs in a column, in its order, each once."""
    found = np.unique(array[:0])
    for _, (some,) in side_by_side(array):
        found = np.unique(np.concatenate([found, np.unique(some)]))
    return found


def rows_at_once(X: Array, rows: int) -> int:
    """Return how many rows a block of so many has, where columns may be many."""
    if is_sparse(X):
        return rows
    return max(1, min(rows, CELLS // max(1, int(X.shape[1]))))


def like(X: object, value: T) -> T:
    """Return a value that belongs to these records, on disk if they are."""
    return lay_aside(value) if is_on_disk(X) else value


def empty_like(X: object, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array to be filled that belongs to these records, on disk if they are."""
    return make_array(shape, dtype) if is_on_disk(X) else np.empty(shape, dtype)


def zeros_like(X: object, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array of zeros that belongs to these records, on disk if they are."""
    return make_array(shape, dtype) if is_on_disk(X) else np.zeros(shape, dtype)


def map_blocks(X: Array, rows: int, make: Callable[[Any], Array], width: int, dtype: Any = np.float64) -> Array:
    """Return what `make` makes of all rows, block by block, on disk if they are."""
    made = empty_like(X, (X.shape[0], width), dtype)
    for at, block in blocks(X, rows):
        made[at] = make(block)
        release(made[at])
    return made


def gather(X: Array, rows: Array) -> Array:
    """Return a copy of these rows in memory; of rows on disk few are mapped at a time, wherever they lie."""
    if not is_on_disk(X):
        return X[rows]
    made = np.empty((len(rows), *X.shape[1:]), X.dtype)
    for i in range(0, len(rows), ROWS):
        made[i : i + ROWS] = X[rows[i : i + ROWS]]
        release(X)
    return made


def take_rows(X: Array, rows: Array) -> Array:
    """Return a copy of these rows, on disk if all are."""
    if not is_on_disk(X):
        return X[rows]
    made = make_array((len(rows), *X.shape[1:]), X.dtype)
    for i in range(0, len(rows), ROWS):
        made[i : i + ROWS] = X[rows[i : i + ROWS]]
        release((X, made))
    return made


def take_columns(X: Array, columns: Sequence[int]) -> Array:
    """Return a copy of these columns, on disk if all are."""
    if not is_on_disk(X):
        return X[:, columns]
    return map_blocks(X, ROWS, lambda block: block[:, columns], len(columns))


def _move(array: Array) -> Array:
    if array.nbytes < LARGE or array.dtype.hasobject or _pages_of(array) is not None:
        return array
    there = make_array(array.shape, array.dtype)
    there[...] = array
    _release(there)
    there.flags.writeable = False
    return there


def _release(array: Array) -> None:
    pages = _pages_of(array)
    if pages is None or RELEASE is None or not hasattr(pages, "madvise"):
        return
    first = np.frombuffer(pages, np.uint8).ctypes.data
    start = array.ctypes.data - first
    begin = start // mmap.PAGESIZE * mmap.PAGESIZE
    pages.madvise(RELEASE, begin, start + array.nbytes - begin)


def _pages_of(array: Any) -> mmap.mmap | None:
    """Return the mapped file that an array is a view of, if it is one of these."""
    while isinstance(array, np.ndarray):
        array = array.base
    held = array.obj if isinstance(array, memoryview) else array
    return held if isinstance(held, mmap.mmap) else None


def _arrays_in(value: object) -> Iterator[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays_in(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _arrays_in(getattr(value, field.name, None))


def _replace(value: Any, change: Callable[[Array], Array]) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if type(value) is tuple:
        return tuple(_replace(part, change) for part in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        made = {name: _replace(part, change) for name, part in fields.items()}
        changed = {name: part for name, part in made.items() if part is not fields[name]}
        return dataclasses.replace(value, **changed) if changed else value
    return value
