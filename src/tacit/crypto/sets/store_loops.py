"""The loops of `key_value_store`: elimination over Z_2, substitution and look-up, by words and by tables of nibbles.

A band of so many words that starts anywhere covers parts of one aligned word of columns more, and is kept as these: two
bands that meet in a column are added word by word, without shifts. A value is the XOR of the columns under a band's
bits; of every four columns a table has all sixteen XORs, so that four bits take one look-up. Two words of the values
are done at a time, and the tables of RING words of columns are there at a time, since bands are walked in the order of
their starts: so the tables stay in the first cache.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from tacit.arrays import I64, U64
from tacit.compiled import NEW_WORD_LIST, NEW_WORD_TABLE, NUMBERS, WORD_TABLE, Word, compiled

RING = np.uint64(8)  # words of columns: a power of two, and more than lie under a band
NIBBLES = 16  # of a word; and values of a nibble
ENTRIES = int(RING) * NIBBLES * NIBBLES
PAIR = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]  # numba is untyped

# where the lowest bit of a word is, by the top six bits of its product with a de Bruijn number
DE_BRUIJN = 0x03F79D71B4CB0A89
PLACES = np.argsort([(DE_BRUIJN << place & (1 << 64) - 1) >> 58 for place in range(64)]).astype(np.uint64)
ZERO, ONE, TWO, FOUR, SIX, LOW, TOP, ALL = (np.uint64(bits) for bits in (0, 1, 2, 4, 6, 15, 58, 64))


@compiled(types.uint64, types.uint64)
def find_lowest(word: Word) -> Word:
    """Return the place of the lowest bit of a word that is not zero."""
    return PLACES[((word & (~word + ONE)) * np.uint64(DE_BRUIJN)) >> TOP]


@compiled(types.void, WORD_TABLE, types.int64, types.uint64, NEW_WORD_LIST)
def align_band(bits: U64, i: int, shift: Word, row: U64) -> None:
    """Write the aligned words that band i covers, if it starts at this bit of the first of them."""
    size, over = bits.shape[1], ZERO
    for k in range(size):
        row[k] = (bits[i, k] << shift) | over
        over = (bits[i, k] >> ONE) >> (ALL - ONE - shift)
    row[size] = over


@compiled(types.void, NEW_WORD_TABLE, WORD_TABLE, types.uint64, types.int64, types.int64)
def make_table(tables: U64, store: U64, nibble: Word, w: int, v: int) -> None:
    """Write the table of four columns, of two words of theirs: entry e has the XOR of those whose bits e has."""
    first = (nibble & (RING * np.uint64(NIBBLES) - ONE)) << FOUR
    for bit in range(4):
        column, size = (nibble << TWO) + np.uint64(bit), np.uint64(1 << bit)
        here = column < np.uint64(len(store))
        a, b = (store[column, w], store[column, v]) if here else (ZERO, ZERO)
        for e in range(1 << bit):
            low = first + np.uint64(e)
            tables[low + size, 0] = tables[low, 0] ^ a
            tables[low + size, 1] = tables[low, 1] ^ b


@compiled(PAIR, NEW_WORD_TABLE, types.uint64, types.uint64, types.uint64, types.uint64)
def add_columns(tables: U64, word: Word, bits: Word, a: Word, b: Word) -> tuple[Word, Word]:
    """Return two words of a value with the columns of an aligned word added that have these bits."""
    first = (word & (RING - ONE)) << np.uint64(8)
    for nibble in range(NIBBLES):
        entry = first + np.uint64(NIBBLES * nibble) + (bits & LOW)
        a ^= tables[entry, 0]
        b ^= tables[entry, 1]
        bits >>= FOUR
    return a, b


@compiled(types.void, NUMBERS, WORD_TABLE, WORD_TABLE, NEW_WORD_TABLE)
def look_up(starts: I64, bits: U64, store: U64, out: U64) -> None:
    """Write the XOR of the columns under each band; they stand in the order of their starts."""
    size, width = bits.shape[1], store.shape[1]
    tables, row = np.zeros((ENTRIES, 2), np.uint64), np.zeros(size + 1, np.uint64)
    for w in range(0, width, 2):
        v, made = min(w + 1, width - 1), ZERO
        for i in range(len(starts)):
            start = np.uint64(starts[i])
            word = start >> SIX
            made = max(made, word)
            while made <= word + np.uint64(size):
                for nibble in range(NIBBLES):
                    make_table(tables, store, (made << FOUR) + np.uint64(nibble), w, v)
                made += ONE
            align_band(bits, i, start & (ALL - ONE), row)
            a = b = ZERO
            for k in range(size + 1):
                a, b = add_columns(tables, word + np.uint64(k), row[k], a, b)
            out[i, v], out[i, w] = b, a


@compiled(types.void, types.Array(types.boolean, 1, "C"), NEW_WORD_TABLE, NEW_WORD_TABLE)
def substitute(pivot: NDArray[np.bool_], kept: U64, store: U64) -> None:
    """Write the column of every pivot in place of its goal, from the last to the first.

    What lies above the lowest bit of its band is known by then.
    """
    (columns, width), size = store.shape, kept.shape[1]
    tables = np.zeros((ENTRIES, 2), np.uint64)
    for w in range(0, width, 2):
        v = min(w + 1, width - 1)
        for back in range(columns):
            column = np.uint64(columns - 1 - back)
            if pivot[column]:
                word, a, b = column >> SIX, store[column, w], store[column, v]
                own = kept[column, 0] & ~(ONE << (column & (ALL - ONE)))  # all other bits are of columns above
                while own >> (column & np.uint64(60)) & LOW:  # of the same nibble, whose table is not there yet
                    above = (word << SIX) + find_lowest(own)
                    a ^= store[above, w]
                    b ^= store[above, v]
                    own &= own - ONE
                a, b = add_columns(tables, word, own, a, b)
                for k in range(1, size):
                    a, b = add_columns(tables, word + np.uint64(k), kept[column, k], a, b)
                store[column, v], store[column, w] = b, a
            if column & (FOUR - ONE) == ZERO:
                make_table(tables, store, column >> TWO, w, v)


@compiled(types.boolean, NUMBERS, WORD_TABLE, WORD_TABLE, NEW_WORD_TABLE)
def solve(starts: I64, bits: U64, values: U64, store: U64) -> bool:  # noqa: C901 - one loop, compiled whole
    """Eliminate and substitute back, in place of the noise; return False if a row is left with no bit.

    Bands stand in the order of their starts.
    """
    size, (columns, width) = bits.shape[1] + 1, store.shape
    pivot = np.zeros(columns, np.bool_)
    kept = np.zeros((columns, size), np.uint64)  # the row of each pivot, from the word of its column on
    row, value = np.zeros(size, np.uint64), np.zeros(width, np.uint64)
    for i in range(len(starts)):
        start = np.uint64(starts[i])
        word = start >> SIX
        align_band(bits, i, start & (ALL - ONE), row)
        for w in range(width):
            value[w] = values[i, w]
        while True:
            skipped = 0
            while skipped < size and row[0] == ZERO:  # whole words of zeros
                for k in range(size - 1):
                    row[k] = row[k + 1]
                row[size - 1] = ZERO
                skipped += 1
            if row[0] == ZERO:
                return False
            word += np.uint64(skipped)
            column = (word << SIX) + find_lowest(row[0])
            if not pivot[column]:
                break
            for k in range(size):
                row[k] ^= kept[column, k]
            for w in range(width):
                value[w] ^= store[column, w]
        pivot[column] = True
        for k in range(size):
            kept[column, k] = row[k]
        for w in range(width):
            store[column, w] = value[w]
    substitute(pivot, kept, store)
    return True
