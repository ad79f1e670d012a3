"""A word for every row, by which rows are known again: two tables with the same words have the same cells.

Records do not change while they are held, and one run asks for their words several times. So the words of an array that
nobody can write to are kept as long as the array is.
"""

from __future__ import annotations

import weakref

import numpy as np

from tacit.arrays import F64, U64
from tacit.scratch import blocks, empty_like, release, rows_at_once
from tacit.sparse import Sparse, is_sparse

MIX = np.uint64(0x9E3779B97F4A7C15)
ROWS_AT_ONCE = 1 << 14  # of which words are mixed: a column stays in a core's own cache
_KEPT: dict[int, tuple[weakref.ref[F64], U64]] = {}


def row_words(X: F64) -> U64:
    """Return a word for every row, mixed from its cells."""
    if is_sparse(X):
        return _mix_sparse(X)
    if X.flags.writeable or X.base is not None:  # it may change, or lies on disk
        return _mix(X)
    key, (held, words) = id(X), _KEPT.get(id(X), (None, None))
    if held is None or held() is not X or words is None:
        words = _mix(X)
        words.flags.writeable = False
        _KEPT[key] = weakref.ref(X, lambda _: _KEPT.pop(key, None)), words
    return words


def _mix(X: F64) -> U64:
    """Return the words, computed block by block in memory that is taken once."""
    each, most = empty_like(X, (len(X),), np.uint64), min(len(X), rows_at_once(X, ROWS_AT_ONCE))
    cells, mixed, shifted = np.empty((X.shape[1], most)), *np.empty((2, most), dtype=np.uint64)
    for at, block in blocks(X, ROWS_AT_ONCE):
        n = len(block)
        words = mixed[:n]
        words[:] = 0
        for column in np.add(block.T, 0.0, out=cells[:, :n]).view(np.uint64):  # -0.0 is 0.0
            words ^= column
            words *= MIX
            words ^= np.right_shift(words, np.uint64(29), out=shifted[:n])
        each[at] = words
        release(each[at])
    return each


def _mix_sparse(X: Sparse) -> U64:
    """Return a word for every row, mixed from the cells that are kept and from what all cells are less."""
    words = np.zeros(len(X), dtype=np.uint64)
    for at, block in blocks(X, ROWS_AT_ONCE):  # type: ignore[arg-type]  # rows are chosen as of an array
        cells = np.ascontiguousarray(block.values).view(np.uint64) ^ (block.columns.astype(np.uint64) * MIX)
        for _ in range(2):
            cells *= MIX
            cells ^= cells >> np.uint64(29)
        sums = np.append(np.uint64(0), np.cumsum(cells, dtype=np.uint64))  # modulo 2^64, as their differences are
        words[at] = sums[block.starts[1:]] - sums[block.starts[:-1]]
    if X.shift is not None:
        words ^= row_words(X.shift[None, :])
    return words
