"""Histograms of columns over public ranges: which cell a value is in, how many are in each, and quantiles from that.

Cell c of [low, high] is [low + c w, low + (c + 1) w) with w = (high - low) / size; values beyond the range are in the
first or the last cell. Whoever knows the cell of a value knows the value up to w / 2, by the middle of the cell.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64


def cells_of(X: F64, low: F64, high: F64, size: int) -> I64:
    """Return the cell of every value, column by column; -1 where it is missing."""
    width = np.where(high > low, high - low, 1.0)
    with np.errstate(invalid="ignore"):
        found = np.clip(np.floor((X - low) / width * size), 0, size - 1)
    return np.where(np.isnan(X), -1, found).astype(np.int64)


def counts_of(cells: I64, size: int) -> F64:
    """Return how many values each cell has, a row per column; missing values are in none."""
    numbered = cells + size * np.arange(cells.shape[1])
    return np.bincount(numbered[cells >= 0], minlength=size * cells.shape[1]).reshape(-1, size).astype(np.float64)


def join_cells(counts: F64, least: float) -> list[tuple[int, float]]:
    """Return the cells of a coarser histogram, each with no value or `least` of them: where it begins, what it holds.

    The range is halved, and so is each half. A half that holds a few values only is joined with the nearest cell beside
    it that holds some, and halves without any are one cell. So the cells for a larger `least` are unions of those for a
    smaller one, and several histograms of the same values tell no more than the finest of them. How many cells there
    are to begin with is a power of two.
    """
    total, middle = float(counts.sum()), len(counts) // 2
    if total < least or not middle:
        return [(0, total)]
    left = join_cells(counts[:middle], least)
    right = [(middle + start, held) for start, held in join_cells(counts[middle:], least)]
    if 0 < counts[:middle].sum() < least:
        after = next(k for k, (_, held) in enumerate(right) if held)
        return [(0, left[0][1] + right[after][1]), *right[after + 1 :]]
    if 0 < counts[middle:].sum() < least:
        last = max(k for k, (_, held) in enumerate(left) if held)
        return [*left[:last], (left[last][0], left[last][1] + right[0][1])]
    return [*left, *right]


def middles(low: F64, high: F64, size: int) -> F64:
    """Return the middle of every cell, a row per column."""
    return low[:, None] + (high - low)[:, None] * (np.arange(size) + 0.5) / size


def ranks_of(present: F64, probability: float) -> tuple[I64, I64, F64]:
    """Return between which two sorted values a quantile lies, counted from 0, and how far along, as numpy has it."""
    at = (present - 1) * probability
    below, above = np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)
    return below, above, at - below


def reach(present: F64, probability: float) -> F64:
    """Return how many standard deviations the two values of `ranks_of` can be away from the mean, at most.

    Of n values with mean m and deviation s, k at least are as large as the one of rank n - k, so it is at most
    m + s sqrt((n - k) / k); and likewise below.
    """
    below, above, _ = ranks_of(present, probability)
    up = above / np.maximum(present - above, 1.0)
    down = (present - 1 - below) / (below + 1.0)
    return np.sqrt(np.maximum(up, down))
