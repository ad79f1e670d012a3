"""Sets of rows rounded to groups, and the splits of groups that this needs: (2) and (3) of `atoms`, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I8, I64, Flags
from tacit.numeric.groups.numbering import add_up, count_labels, rank_within, sum_block
from tacit.scratch import empty_like, fill, release, side_by_side

# of the largest |h|: where two cuts are equal, a group in which they differ has a sum of 0, of which rounding decides
# the sign
NOTHING = 1e-7
HELD = 1 << 20  # rows among which the largest of groups are looked for at once


def round_to_groups(group: I64, h: F64, least: int, slack: float, fresh: int) -> tuple[Flags, I64]:
    """Return a union of groups, each row of which is marked, and the groups after the splits (2) that it needs by (3).

    Pieces that are split off get the numbers `fresh`, `fresh` + 1, ...
    """
    size = count_labels(group)[1:]
    if size.max(initial=0) <= 1:  # every row is a group of its own
        return fill(lambda own, v: (own >= 0) & (v > 0.0), group, h, dtype=np.bool_), group
    total, above, largest = _sums(group, h, len(size))
    tiny = NOTHING * largest if least > 1 else 0.0
    violating = add_up(len(size), lambda v: v > tiny, group, h).astype(np.int64)
    whole = np.maximum(total, 0.0)
    taken = np.append(total > tiny, False)
    mixed = np.flatnonzero((size >= 2 * least) & (violating > 0) & (violating < size))
    lacking = float(above.sum() - whole.sum())
    if least == 1 or not len(mixed) or lacking <= slack:
        return fill(lambda own: taken[own], group, dtype=np.bool_), group
    k = np.clip(violating[mixed], least, size[mixed] - least)
    top = find_largest(group, h, mixed, k, size, tiny)
    upper = np.zeros(len(size))
    for at, (own, v) in side_by_side(group, h):
        upper += sum_block(len(size), own, np.where(top.mark(at, own, v), v, 0.0))
    gain = (upper - whole)[mixed]  # (2)
    best = np.argsort(-gain, kind="stable")
    best = best[gain[best] > tiny]
    needed = 1 + int(np.searchsorted(np.cumsum(gain[best]), lacking - slack))  # (3)
    number = np.full(len(size) + 1, -1, dtype=np.int64)
    number[mixed[best[:needed]]] = np.arange(len(best[:needed]))
    return _split(group, h, top, taken, number, fresh)


def _sums(group: I64, h: F64, count: int) -> tuple[F64, F64, float]:
    """Return by group the sum of h and of its positive part, and the largest |h| of all."""
    total, above, largest = np.zeros(count), np.zeros(count), 0.0
    for _, (own, v) in side_by_side(group, h):
        total += sum_block(count, own, v)
        above += sum_block(count, own, np.maximum(v, 0.0))
        largest = max(largest, float(np.abs(v[own >= 0]).max(initial=0.0)))
    return total, above, largest


def _split(group: I64, h: F64, top: Largest, taken: Flags, number: I64, fresh: int) -> tuple[Flags, I64]:
    """Return which rows are marked, and the groups, those with a number split into their largest rows and the rest."""
    marked, finer = (empty_like((group, h), group.shape, dtype) for dtype in (np.bool_, np.int64))
    for at, (own, v) in side_by_side(group, h):
        piece, upper = number[own], top.mark(at, own, v)
        marked[at] = np.where(piece >= 0, upper, taken[own])
        finer[at] = np.where((piece >= 0) & upper, fresh + piece, own)
        release((marked[at], finer[at]))
    return marked, finer


@dataclass(frozen=True)
class Largest:
    """Which rows have one of the largest h of their group.

    Most groups have as many rows above `tiny` as are asked for, and these are they. Of the others `rows` are listed, in
    their order: the largest where `listed` is 1, and all but the largest where it is -1.
    """

    tiny: float
    listed: I8
    rows: I64

    def mark(self, at: slice, own: I64, h: F64) -> Flags:
        """Return whether each row of a block, which has this place, is one of them."""
        first, last = np.searchsorted(self.rows, (at.start, at.stop))
        here, way = np.zeros(len(own), bool), self.listed[own]
        here[self.rows[first:last] - at.start] = True
        found: Flags = np.where(way == 0, h > self.tiny, here == (way > 0))
        return found


def find_largest(own: I64, h: F64, groups: I64, k: I64, size: I64, tiny: float) -> Largest:
    """Return the k largest rows of each of these groups, of equal ones the first; other groups are not looked at."""
    above = add_up(len(size), lambda v: v > tiny, own, h)[groups]
    uneven, k = groups[above != k], k[above != k]
    few, listed = np.zeros(len(size) + 1, dtype=np.int64), np.zeros(len(size) + 1, dtype=np.int8)
    few[uneven], listed[uneven] = np.minimum(k, size[uneven] - k), np.where(2 * k <= size[uneven], 1, -1)
    rows, start = [np.empty(0, dtype=np.int64)], 0
    ends = np.cumsum(few[uneven])
    while start < len(uneven):
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + HELD, side="right")))
        some = np.zeros_like(few)
        some[uneven[start:stop]] = few[uneven[start:stop]]
        rows.append(_list_rows(own, h, some, listed))
        start = stop
    return Largest(tiny, listed, np.sort(np.concatenate(rows)))


def _list_rows(own: I64, h: F64, few: I64, listed: I8) -> I64:
    """Return the numbers of so `few` rows of each group: those first in order, or where `listed` is -1 those last."""
    rows, kept = np.empty(0, dtype=np.int64), (np.empty(0, dtype=np.int64), np.empty(0))
    bar = np.full(len(few), -np.inf)  # what a row must reach, once a group has as many as it needs
    for at, (group, v) in side_by_side(own, h):
        key = listed[group] * v
        new = np.flatnonzero((few[group] > 0) & (key >= bar[group]))
        if not len(new):
            continue
        rows = np.concatenate([rows, at.start + new])
        group, key = np.concatenate([kept[0], group[new]]), np.concatenate([kept[1], key[new]])  # noqa: PLW2901
        order = np.lexsort((listed[group] * rows, -key))
        order = order[np.argsort(group[order].astype(np.min_scalar_type(len(few))), kind="stable")]  # short: by digits
        rank = rank_within(group[order])
        stay = rank < few[group[order]]
        full = order[stay & (rank == few[group[order]] - 1)]
        bar[group[full]] = key[full]
        order = order[stay]
        rows, kept = rows[order], (group[order], key[order])
    return rows
