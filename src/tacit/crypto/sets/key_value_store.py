"""An oblivious key-value store: words from which a key reads its value, and which tell nothing about the keys.

Key x has a band of BAND random bits that starts at a random column (both from a hash under a public salt), and the
store p holds

    XOR_j  band_x[j] p[start_x + j]  =  value_x            for every key x                                          (1)

a linear system over Z_2. Sorted by their starts, the rows are a band matrix, which is solved by elimination in one
pass. Columns without a pivot are filled with noise: if the values are uniform, so is every word of the store, whatever
the keys are. A key that was not stored reads uniform words.

With 1.1 columns a key and bands of 256 bits a system has no solution with probability far below 2^-40.

Source: Bienstock, Patel, Seo, Yeo: Near-optimal oblivious key-value stores for efficient PSI, PSU and volume-hiding
multi-maps, USENIX Security 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import I64, U8, U64
from tacit.crypto.sets import row_hash
from tacit.errors import LocalError, PeerError

BAND, WORD = 256, 64  # bits
WORDS = BAND // WORD
SPARE = 1.1  # columns a key


@dataclass(frozen=True, repr=False)
class Bands:
    """The rows of (1): where each band starts, and its bits, the lowest first."""

    starts: I64
    bits: U64
    columns: int


def count_columns(keys: int) -> int:
    """Return how many columns a store for so many keys has: whole words of them."""
    return -(-(math.ceil(SPARE * keys) + BAND) // WORD) * WORD


def place_bands(keys: U8, salt: bytes, columns: int) -> Bands:
    """Return the band of every key in a store of so many columns."""
    if columns < BAND or columns % WORD:  # the loops check no bounds
        raise PeerError(
            f"a key-value store has at least {BAND} columns, in whole words of {WORD}, this one {columns}: stop and ask"
            " the sender"
        )
    drawn = row_hash.words(keys, WORDS + 1, use=b"tacit band", key=salt)
    starts = drawn[:, WORDS] % np.uint64(columns - BAND + 1)
    return Bands(starts.astype(np.int64), np.ascontiguousarray(drawn[:, :WORDS]), columns)


def fill(rows: Bands, values: U64, noise: U64) -> U64:
    """Return the store that solves (1); `noise` has a row of words for every column, uniform if anybody sees it."""
    from tacit.crypto.sets.store_loops import solve  # noqa: PLC0415 - it takes a second to load

    order, store = np.argsort(rows.starts), noise.copy()
    if not solve(rows.starts[order], np.take(rows.bits, order, axis=0), np.take(values, order, axis=0), store):
        raise LocalError("no key-value store holds these ids, which happens to less than one set in 2^40: run it again")
    return store


def read(store: U64, rows: Bands) -> U64:
    """Return the value of every key, (1)."""
    from tacit.crypto.sets.store_loops import look_up  # noqa: PLC0415 - it takes a second to load

    order = np.argsort(rows.starts)
    found, out = np.empty((2, len(order), store.shape[1]), np.uint64)
    look_up(rows.starts[order], np.take(rows.bits, order, axis=0), np.ascontiguousarray(store), found)
    out[order] = found
    return out
