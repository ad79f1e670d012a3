"""Transposition of bits: what was made place by place, to be used column by column."""

from __future__ import annotations

import numpy as np
from numba import types

from tacit.arrays import U64
from tacit.compiled import NEW_WORD_TABLE, WORD_TABLE, compiled

SIDE = 64  # bits of a word
HALF = np.uint64(0x00000000FFFFFFFF)


@compiled(types.void, WORD_TABLE, NEW_WORD_TABLE)
def transpose_bits(places: U64, out: U64) -> None:
    """Write bit c of place p as bit p of row c; places are whole words of 64, and so are rows."""
    square = np.empty(SIDE, np.uint64)
    for word in range(len(out) // SIDE):
        for group in range(out.shape[1]):
            for i in range(SIDE):
                square[i] = places[SIDE * group + i, word]
            half, mask = SIDE // 2, HALF
            while half:  # swap the upper right and the lower left quarter of every square of twice this side
                i, shift = 0, np.uint64(half)
                while i < SIDE:
                    swapped = ((square[i] >> shift) ^ square[i + half]) & mask
                    square[i + half] ^= swapped
                    square[i] ^= swapped << shift
                    i = (i + half + 1) & ~half
                half >>= 1
                mask ^= mask << np.uint64(half)
            for i in range(SIDE):
                out[SIDE * word + i, group] = square[i]
