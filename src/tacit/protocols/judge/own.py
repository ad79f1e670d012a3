"""What each holder counts of held-out records alone, where it has whole ones: their values, by the public model.

    cells    for all records and each group: how many of each class, and of no class, were given each class
    bins     of two classes, how many of either have a value in each of many fine bins
    sums     of numbers: 1, |e|, e^2, t and t^2 with e = t - f, in whole units of 2^-b and 2^-2b

Nothing of it leaves the holder but as its part of a value in shares. t and f are in units of the reach of the targets,
and those beyond `FAR` are cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import State
from tacit.numeric.scores.folds import choose_class
from tacit.numeric.scores.metrics import stretch

FAR = 16.0  # reaches of the targets
SUM_BITS = 60  # of a sum of squares
MOST_BITS = 20  # of a target or an answer, after the point
SUMS = 5  # of numbers
TWO = 2


class HeldOut(State):
    """What a holder knows of the records that a model is judged on.

    values: decision values or answers, a row for each record; none where nobody has a record as a whole. codes: the
    numbers of the classes, -1 for none of the model's; empty where the holder has no labels. targets: of numbers.
    groups: which group each record is of, as far as the holder knows; -1 for none.
    """

    values: F64
    codes: I64
    targets: F64
    groups: I64


@dataclass(frozen=True)
class Layout:
    """The public sizes of what is counted. classes: 0 of numbers. bins: fine ones, of two classes; else 0."""

    records: int
    classes: int
    groups: int
    bins: int

    @property
    def lines(self) -> int:
        """How many sets of records are counted: all, and each group."""
        return self.groups + 1

    @property
    def cells(self) -> int:
        """How many cells all of these have."""
        return self.lines * (self.classes + 1) * self.classes if self.classes else self.lines * SUMS

    @property
    def edges(self) -> F64:
        """The decision values between fine bins; 0 is the one in the middle."""
        return stretch(np.arange(1, self.bins) / self.bins) if self.bins else np.empty(0)

    def bits(self, largest: float = 2.0 * FAR) -> int:
        """Return how many bits a number has after the point, so that the sum of squares of all fits."""
        room = SUM_BITS - math.ceil(math.log2(max(self.records, 1) * largest**2))
        return max(4, min(MOST_BITS, room // 2))


def count_own(own: HeldOut, layout: Layout) -> I64:
    """Return the cells of a holder's own records, then its bins."""
    K, own_groups = layout.classes, group_lines(own, layout)
    cells = np.zeros((layout.lines, K + 1, K), dtype=np.int64)
    a, chosen = np.where(own.codes < 0, K, own.codes), choose_class(own.values)
    for line, rows in zip(cells, own_groups, strict=True):
        np.add.at(line, (a[rows], chosen[rows]), 1)
    bins = np.zeros((TWO, layout.bins), dtype=np.int64)
    if layout.bins:
        known = own.codes >= 0
        place = np.searchsorted(layout.edges, own.values[known, 0], side="left")  # above an edge: as a class is chosen
        np.add.at(bins, (own.codes[known], place), 1)
    return np.concatenate([cells.ravel(), bins.ravel()])


def sum_own(own: HeldOut, layout: Layout, middle: float, reach: float) -> I64:
    """Return the sums of a holder's own records."""
    bits = layout.bits()
    t, f = (np.clip((x - middle) / reach, -FAR, FAR) for x in (own.targets, own.values[:, 0]))
    terms = np.stack([np.ones_like(t), np.abs(t - f), t - f, t, t])
    whole = np.rint(np.ldexp(terms, [[0], [bits], [bits], [bits], [bits]])).astype(np.int64)
    whole[[2, 4]] *= whole[[2, 4]]
    return np.concatenate([whole[:, rows].sum(axis=1) for rows in group_lines(own, layout)])


def group_lines(own: HeldOut, layout: Layout) -> list[I64]:
    """Return the numbers of all records, and of those of each group."""
    return [np.arange(len(own.values)), *(np.flatnonzero(own.groups == g) for g in range(layout.groups))]
