"""An oblivious key-value store: a table of words from which a key reads its value, and which tells nothing about the keys.

Key x has a band of BAND random bits that starts at a random column (both from a hash under a public salt), and the store p holds

    XOR_j  band_x[j] p[start_x + j]  =  value_x            for every key x                                          (1)

a linear system over Z_2. Sorted by their starts, the rows are a band matrix, which is solved by elimination in one pass. Columns
without a pivot are filled with noise: if the values are uniform, so is every word of the store, whatever the keys are. A key that
was not stored reads uniform words.

With 1.1 columns a key and bands of 256 bits a system has no solution with probability far below 2^-40.

Source: Bienstock, Patel, Seo, Yeo: Near-optimal oblivious key-value stores for efficient PSI, PSU and volume-hiding multi-maps,
USENIX Security 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.crypto import row_hash
from tacit.errors import LocalError, PeerError

U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

BAND = 256  # bits
WORDS = BAND // 64
SPARE = 1.1  # columns a key


@dataclass(frozen=True, repr=False)
class Bands:
    """The rows of (1): where each band starts, and its bits, the lowest first."""

    starts: I64
    bits: U64
    columns: int


def width(keys: int) -> int:
    """Columns of a store for so many keys."""
    return int(np.ceil(SPARE * keys)) + BAND


def bands(keys: U8, salt: bytes, columns: int) -> Bands:
    """The band of every key in a store of so many columns."""
    if columns < BAND:
        raise PeerError(f"a key-value store has at least {BAND} columns, this one {columns}: stop and ask who sent it")
    drawn = row_hash.words(keys, WORDS + 1, use=b"tacit band", key=salt)
    starts = drawn[:, WORDS] % np.uint64(columns - BAND + 1)
    return Bands(starts.astype(np.int64), np.ascontiguousarray(drawn[:, :WORDS]), columns)


def filled(rows: Bands, values: U64, noise: U64) -> U64:
    """The store that solves (1); `noise` has a row of uniform words for every column."""
    order = np.argsort(rows.starts, kind="stable")
    store = noise.copy()
    solve, _ = _compiled()
    if not solve(rows.starts[order], rows.bits[order], np.ascontiguousarray(values[order]), store):
        raise LocalError("no key-value store holds these ids, which happens to less than one set in 2^40: run it again")
    return store


def read(store: U64, rows: Bands) -> U64:
    """The value of every key (1)."""
    out = np.zeros((len(rows.starts), store.shape[1]), np.uint64)
    _, look_up = _compiled()
    look_up(rows.starts, rows.bits, np.ascontiguousarray(store), out)
    return out


def _solve(starts: Any, bits: Any, values: Any, store: Any) -> bool:  # noqa: C901 - one loop, which numba compiles whole
    """Elimination and back substitution, in place of the noise; False if a row is left with no bit."""
    n, size = bits.shape
    columns = len(store)
    one, whole = np.uint64(1), np.uint64(64)
    pivot = np.zeros(columns, np.bool_)
    kept = np.zeros((columns, size), np.uint64)  # the row of each pivot, its lowest bit in the pivot's column
    goal = np.zeros((columns, values.shape[1]), np.uint64)
    for i in range(n):
        column, row, value = starts[i], bits[i].copy(), values[i].copy()
        while True:
            skipped = 0
            while skipped < size and row[0] == 0:  # whole words of zeros
                row[:-1] = row[1:]
                row[-1] = 0
                skipped += 1
            if row[0] == 0:
                return False
            column += 64 * skipped
            shift = np.uint64(0)
            while (row[0] >> shift) & one == 0:
                shift += one
            if shift > 0:
                for w in range(size):
                    above = row[w + 1] << (whole - shift) if w + 1 < size else np.uint64(0)
                    row[w] = (row[w] >> shift) | above
                column += np.int64(shift)
            if not pivot[column]:
                break
            row ^= kept[column]
            value ^= goal[column]
        pivot[column] = True
        kept[column] = row
        goal[column] = value
    for column in range(columns - 1, -1, -1):
        if pivot[column]:
            value = goal[column]
            for j in range(1, min(64 * size, columns - column)):
                if (kept[column, j // 64] >> np.uint64(j % 64)) & one:
                    value ^= store[column + j]
            store[column] = value
    return True


def _look_up(starts: Any, bits: Any, store: Any, out: Any) -> None:
    """The XOR of the columns under each band."""
    one, columns = np.uint64(1), len(store)
    for i in range(len(starts)):
        for j in range(min(64 * bits.shape[1], columns - starts[i])):
            if (bits[i, j // 64] >> np.uint64(j % 64)) & one:
                for w in range(store.shape[1]):
                    out[i, w] ^= store[starts[i] + j, w]


@cache
def _compiled() -> tuple[Callable[..., bool], Callable[..., None]]:
    """The loops as machine code; numba takes a second to import, which nobody pays who does not align."""
    from numba import njit, types  # noqa: PLC0415 - see above

    starts = types.Array(types.int64, 1, "C", readonly=True)
    table = types.Array(types.uint64, 2, "C", readonly=True)
    into = types.Array(types.uint64, 2, "C")

    def made(signature: Any, loop: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(signature, nogil=True, cache=True)(loop)  # type: ignore[no-any-return]  # numba is untyped
        except RuntimeError:  # nowhere to keep it: compile in every process
            return njit(signature, nogil=True)(loop)  # type: ignore[no-any-return]  # as above

    return made(types.boolean(starts, table, table, into), _solve), made(types.void(starts, table, table, into), _look_up)
