"""The rank of numbers, of which there may be more than memory holds: found by their bits, pass after pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.scratch import empty_like, release, side_by_side

WORD, DIGIT = 64, 16  # bits of a number, and of a pass
HELD = 1 << 21  # numbers that are sorted in memory
SIGN = np.uint64(1 << 63)


def find_smallest(values: F64, count: int) -> tuple[float, int]:
    """Return the `count`-th smallest of these numbers, and how many that are equal to it are among the `count`."""
    found, below, _ = select_ranks(lambda: (v[:, None] for _, (v,) in side_by_side(values)), 1, count - 1)
    return float(found[0]), count - int(below[0])


def divide(rows: I64, value: F64, count: int) -> tuple[I64, I64]:
    """Return the `count` rows of the smallest values, of equal ones the first, and the others; both in their order."""
    low, high = (empty_like(rows, (n,), np.int64) for n in (count, len(rows) - count))
    cut, ties = find_smallest(value, count)
    full = [0, 0]
    for _, (some, v) in side_by_side(rows, value):
        equal = v == cut
        below = (v < cut) | (equal & (np.cumsum(equal) <= ties))
        ties -= int((below & equal).sum())
        for i, (side, own) in enumerate(((low, some[below]), (high, some[~below]))):
            side[full[i] : full[i] + len(own)] = own
            full[i] += len(own)
            release(side)
    return low, high


def find_medians(blocks: Callable[[], Iterable[F64]], columns: int, rows: int) -> F64:
    """Return the median of every column, of so many rows that come in blocks, as often as they are asked for."""
    found, below, equal = select_ranks(blocks, columns, (rows - 1) // 2)
    if rows % 2:
        return found
    above = np.full(columns, np.inf)
    if (below + equal <= rows // 2).any():  # the next one is another number
        for block in blocks():
            above = np.minimum(above, np.where(block > found, block, np.inf).min(axis=0))
    return (found + np.where(below + equal <= rows // 2, above, found)) / 2.0


def select_ranks(blocks: Callable[[], Iterable[F64]], columns: int, rank: int) -> tuple[F64, I64, I64]:
    """Return of every column the number of this rank, from 0 on, and how many numbers are smaller, and how many equal.

    Numbers come in blocks of rows, as often as they are asked for. Their bits are looked at from the first on, a few in
    each pass, until those with the same first bits are few enough to be sorted.
    """
    prefix, below, bits = np.zeros(columns, dtype=np.uint64), np.zeros(columns, dtype=np.int64), 0
    among, place = np.full(columns, rank + 1), np.arange(columns)
    while bits < WORD and (bits == 0 or among.sum() > HELD):
        bits += DIGIT
        counts = np.zeros((columns, 1 << DIGIT), dtype=np.int64)
        for block in blocks():
            for j in range(columns):
                counts[j] += np.bincount(
                    _digits(_alike(block[:, j], prefix[j], bits - DIGIT), bits), minlength=1 << DIGIT
                )
        upto = np.cumsum(counts, axis=1)
        digit = np.array([np.searchsorted(upto[j], rank - below[j], side="right") for j in range(columns)])
        among = counts[place, digit]
        below += upto[place, digit] - among
        prefix = (prefix << np.uint64(DIGIT)) | digit.astype(np.uint64)
    if bits == WORD:
        return _value(prefix), below, among
    kept: list[list[U64]] = [[] for _ in range(columns)]
    for block in blocks():
        for j in range(columns):
            kept[j].append(_alike(block[:, j], prefix[j], bits))
    ranked = [np.sort(np.concatenate(each)) for each in kept]
    chosen = np.array([each[rank - n] for each, n in zip(ranked, below, strict=True)], dtype=np.uint64)
    first, last = (
        np.array([np.searchsorted(each, key, side=side) for each, key in zip(ranked, chosen, strict=True)])
        for side in ("left", "right")
    )
    return _value(chosen), below + first, last - first


def _alike(values: F64, prefix: np.uint64, bits: int) -> U64:
    """Return the keys of those numbers whose first bits are these."""
    keys = _key(values)
    found: U64 = keys[keys >> np.uint64(WORD - bits) == prefix] if bits else keys
    return found


def _digits(keys: U64, bits: int) -> I64:
    """Return the last `DIGIT` of the first bits of each key."""
    found: I64 = ((keys >> np.uint64(WORD - bits)) & np.uint64((1 << DIGIT) - 1)).astype(np.int64)
    return found


def _key(values: F64) -> U64:
    """Return numbers as words in the same order."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 is 0.0
    found: U64 = np.where(bits & SIGN, ~bits, bits | SIGN)
    return found


def _value(key: U64) -> F64:
    """Return the numbers of such words."""
    return np.where(key & SIGN, key ^ SIGN, ~key).view(np.float64)
