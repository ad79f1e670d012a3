"""Numbers for labels and for pairs of labels, 0, 1, ..., in their order, counted block by block.

A label is a number from `OUT` on, and labels leave no large gaps. So a table with a line for each label takes the place
of sorting rows, and what is in memory at once is such tables and one block of rows, wherever the rows lie.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.arrays import F64, I32, I64, Array
from tacit.scratch import empty_like, fill, release, side_by_side

OUT = -1  # the label of a row that never was in a sum, and the group of one that takes no part
MERGED = 1 << 20  # pairs that are put aside before they are merged with the others


def largest_of(label: I32 | I64) -> int:
    """Return the largest label; OUT if there is none."""
    return max((int(some.max(initial=OUT)) for _, (some,) in side_by_side(label)), default=OUT)


def count_labels(label: I64) -> I64:
    """Return how many rows have each label, those of OUT first."""
    size = np.zeros(1, dtype=np.int64)
    for _, (some,) in side_by_side(label):
        found = np.bincount(some + 1, minlength=len(size))
        found[: len(size)] += size
        size = found
    return size


def number_labels(label: I64) -> tuple[I64, I64]:
    """Return labels as 0, 1, ..., in their order, and how many rows have each."""
    size = count_labels(label)
    rank = np.cumsum(size > 0) - 1
    return fill(lambda some: rank[some + 1], label, dtype=np.int64), size[size > 0]


def sort_by_label(label: I64, size: I64) -> I64:
    """Return the numbers of the rows, label by label, of those that have one; `size` is how many have each."""
    order, free = empty_like(label, (int(size.sum()),), np.int64), np.cumsum(size) - size
    for at, (own,) in side_by_side(label):
        rows = np.flatnonzero(own >= 0)
        rows = rows[np.argsort(own[rows], kind="stable")]
        order[free[own[rows]] + rank_within(own[rows])] = at.start + rows
        free += np.bincount(own[rows], minlength=len(size))
        release(order)
    return order


def rank_within(label: I64) -> I64:
    """Return the how manieth of its label every entry is, counted from 0, where equal labels follow each other."""
    first = np.flatnonzero(np.diff(label, prepend=OUT))
    found: I64 = np.arange(len(label)) - np.repeat(first, np.diff(first, append=len(label)))
    return found


def sum_by(own: I64, values: F64, count: int) -> F64:
    """Return the sum of the values of each of `count` groups; rows that are OUT of all are left out."""
    return add_up(count, lambda some: some, own, values)


def add_up(count: int, make: Callable[..., Array], own: I64, *arrays: Array) -> F64:
    """Return by group the sum of what `make` makes of blocks of arrays."""
    total = np.zeros(count)
    for _, (group, *some) in side_by_side(own, *arrays):
        total += sum_block(count, group, make(*some))
    return total


def sum_block(count: int, group: I64, values: Array) -> F64:
    """Return the sums by group of a block of rows; rows that are OUT of all are left out."""
    found: F64 = np.bincount(group + 1, values, minlength=count + 1)[1:].astype(np.float64)
    return found


def number_pairs(first: I64, second: I64) -> I64:
    """Return pairs of numbers from OUT on as 0, 1, ..., in the order of the first, then of the second.

    Nothing is sorted where pairs are in order already, as of single rows. Where most rows with the same first number
    have the same second one too, as in a run, only the others are.
    """
    width = largest_of(second) + 2
    if _rises(first, second, width):
        return _number_rising(first, second, width)
    usual = np.full(largest_of(first) + 2, OUT - 1, dtype=np.int64)
    for _, (a, b) in side_by_side(first, second):
        usual[a + 1] = b
    held = np.flatnonzero(usual >= OUT)
    known = held * width + usual[held] + 1
    pairs, number = _distinct_with(known, first, second, usual, width), np.empty(len(usual), dtype=np.int64)
    number[held] = np.searchsorted(pairs, known)

    def number_block(a: I64, b: I64) -> I64:
        found: I64 = number[a + 1]
        odd = np.flatnonzero(b != usual[a + 1])
        found[odd] = np.searchsorted(pairs, _pair(a[odd], b[odd], width))
        return found

    return fill(number_block, first, second, dtype=np.int64)


def _pair(first: I64, second: I64, width: int) -> I64:
    return (first + 1) * width + second + 1


def _rises(first: I64, second: I64, width: int) -> bool:
    last = OUT
    for _, (a, b) in side_by_side(first, second):
        pair = _pair(a, b, width)
        if pair[0] < last or (pair[1:] < pair[:-1]).any():
            return False
        last = int(pair[-1])
    return True


def _number_rising(first: I64, second: I64, width: int) -> I64:
    """Return the numbers of pairs that rise from row to row."""
    last = [-1, OUT]  # the number and the pair of the row before

    def number_block(a: I64, b: I64) -> I64:
        pair = _pair(a, b, width)
        number = last[0] + np.cumsum(np.diff(pair, prepend=last[1]) > 0)
        last[:] = int(number[-1]), int(pair[-1])
        return number

    return fill(number_block, first, second, dtype=np.int64)


def _distinct_with(known: I64, first: I64, second: I64, usual: I64, width: int) -> I64:
    """Return all pairs once, in their order: those that are known, and those of rows that are not as usual."""
    found, aside, waiting = known, [np.empty(0, dtype=np.int64)], 0
    for _, (a, b) in side_by_side(first, second):
        odd = b != usual[a + 1]
        aside.append(_distinct(_pair(a[odd], b[odd], width)))
        waiting += len(aside[-1])
        if waiting > max(MERGED, len(found)):
            found, aside, waiting = _distinct(np.concatenate([found, *aside])), [], 0
    return _distinct(np.concatenate([found, *aside]))


def _distinct(numbers: I64) -> I64:
    """Return the numbers in their order, each once; sorted, which is faster here than NumPy's table of hashes."""
    found = np.sort(numbers)
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found
