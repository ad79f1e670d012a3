"""Loops over planes of bits, which numba compiles.

A plane is a list of words: bit i % 64 of its word i // 64 belongs to value i. So one operation on words is one on 64
values. Bits of a last word that belong to no value are zero where words become planes, and are ignored on the way back.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tacit.arrays import I64, U64
from tacit.compiled import NEW_WORD_LIST, NEW_WORD_TABLE, NUMBERS, WORD_LIST, WORD_TABLE, Word, compiled, inlined

BITS = 64
NUMBER_TABLE = types.Array(types.int64, 2, "C", readonly=True)
ONE = np.uint64(1)
FULL = np.uint64(2**64 - 1)
WIDEST = 64  # entries of a table, at most
BLOCK = 8  # words that are done together: as many as a vector of the processor has, or two


@compiled(types.void, WORD_LIST, NEW_WORD_TABLE)
def fill_planes(words: U64, planes: U64) -> None:  # pragma: no cover
    """Write bit j of word i to plane j, for as many j as there are planes: 64 x 64 bits are turned at a time."""
    block = np.empty(BITS, dtype=np.uint64)
    for at in range(planes.shape[1]):
        here = min(BITS, words.size - BITS * at)
        block[:here] = words[BITS * at : BITS * at + here]
        block[here:] = np.uint64(0)
        half = BITS // 2
        low = np.uint64(2**32 - 1)
        while half:
            up = np.uint64(half)
            for start in range(0, BITS, 2 * half):
                for k in range(start, start + half):
                    other = ((block[k] >> up) ^ block[k + half]) & low
                    block[k] ^= other << up
                    block[k + half] ^= other
            half //= 2
            low ^= low << np.uint64(half)
        for j in range(planes.shape[0]):
            planes[j, at] = block[j]


@inlined
def mark_entries(planes: U64, low: int, width: int, at: int, size: int, marks: U64) -> None:  # pragma: no cover
    """Mark which entry each value has: bit of marks[e] where its digit is e."""
    for i in range(size):
        marks[0, i] = FULL
    for j in range(width):
        half = 1 << j
        for e in range(half):
            for i in range(size):
                bit = planes[low + j, at + i]
                marks[half + e, i] = marks[e, i] & bit
                marks[e, i] &= ~bit


@compiled(types.void, WORD_TABLE, NUMBERS, NUMBERS, NEW_WORD_TABLE)
def fill_tables(planes: U64, low: I64, width: I64, tables: U64) -> None:  # pragma: no cover
    """Write a table for every digit of every value, one after the other: its entry is 1, and the others are 0."""
    marks = np.empty((WIDEST, BLOCK), dtype=np.uint64)
    for at in range(0, planes.shape[1], BLOCK):
        size = min(BLOCK, planes.shape[1] - at)
        row = 0
        for d in range(low.size):
            mark_entries(planes, low[d], width[d], at, size, marks)
            for e in range(1 << width[d]):
                tables[row + e, at : at + size] = marks[e, :size]
            row += 1 << width[d]


@compiled(types.void, WORD_TABLE, NUMBERS, WORD_TABLE, NUMBERS, NUMBERS, NEW_WORD_TABLE, NEW_WORD_TABLE)
def look_up(
    tables: U64, rows: I64, planes: U64, low: I64, width: I64, equal: U64, above: U64
) -> None:  # pragma: no cover
    """Write what the tables say at the digits of public values: the entry, and the sum of the entries above it."""
    marks = np.empty((WIDEST, BLOCK), dtype=np.uint64)
    below = np.empty(BLOCK, dtype=np.uint64)
    for at in range(0, planes.shape[1], BLOCK):
        size = min(BLOCK, planes.shape[1] - at)
        for d in range(low.size):
            mark_entries(planes, low[d], width[d], at, size, marks)
            same, over = equal[d, at : at + size], above[d, at : at + size]
            for i in range(size):
                same[i] = np.uint64(0)
                over[i] = np.uint64(0)
                below[i] = np.uint64(0)
            for e in range(1 << width[d]):
                table = tables[rows[d] + e, at : at + size]
                for i in range(size):
                    same[i] ^= table[i] & marks[e, i]
                    over[i] ^= table[i] & below[i]
                    below[i] |= marks[e, i]


@compiled(types.void, WORD_TABLE, NUMBER_TABLE, NEW_WORD_TABLE)
def fill_products(bits: U64, factors: I64, found: U64) -> None:  # pragma: no cover
    """Write products of bits: the empty one, which is 1, and then each as an earlier one times a bit."""
    found[0] = FULL
    for row in range(len(factors)):
        less, bit, into = found[factors[row, 0]], bits[factors[row, 1]], found[row + 1]
        for i in range(into.size):
            into[i] = less[i] & bit[i]


@compiled(types.void, WORD_TABLE, WORD_TABLE, NUMBER_TABLE, NEW_WORD_TABLE)
def add_terms(public: U64, shares: U64, terms: I64, found: U64) -> None:  # pragma: no cover
    """Add to every sum its terms: a public product times a share."""
    for row in range(len(terms)):
        into, product, share = found[terms[row, 0]], public[terms[row, 1]], shares[terms[row, 2]]
        for i in range(into.size):
            into[i] ^= product[i] & share[i]


@inlined
def read_bit(plane: U64, i: int) -> Word:  # pragma: no cover
    """Return the bit of a plane that belongs to value i."""
    return (plane[i // BITS] >> np.uint64(i % BITS)) & ONE


@compiled(types.void, WORD_LIST, NEW_WORD_LIST)
def spread_bits(plane: U64, words: U64) -> None:  # pragma: no cover
    """Write the bits of a plane as words."""
    for i in range(words.size):
        words[i] = read_bit(plane, i)


@compiled(
    types.void, WORD_LIST, WORD_TABLE, WORD_TABLE, types.uint64, types.uint64, types.uint64, types.uint64, NEW_WORD_LIST
)
def add_clip(
    c: U64, bits: U64, made: U64, first: Word, F: Word, s: Word, q: Word, found: U64
) -> None:  # pragma: no cover
    """Write the shares of inside (c_lo - r_lo) + 2^q B from masked bits, and words r_lo, m1, m1 r_lo and mB."""
    within = (ONE << F) - ONE
    for i in range(c.size):
        low = (c[i] & within) >> s
        inside, beyond = read_bit(bits[0], i), read_bit(bits[1], i)
        share = made[1, i] * low - made[2, i]
        share = first * low - made[0, i] - share if inside else share
        one = first - made[3, i] if beyond else made[3, i]
        found[i] = share + (one << q)
