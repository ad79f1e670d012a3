"""How good a classifier is, from counts: the confusion matrix, and histograms of the scores of either side.

    confusion     n_ab records of class a for which class b was chosen
    histogram     P_c records of the class and N_c others whose score is in bin c, from the lowest scores up

What a histogram leaves open is the order within a bin. So areas have bounds: all of the class above all others in each
bin, and all below (for the precision, equal scores are the best and different ones the worst that can be). No bin with
both sides: no gap.

    ROC AUC = (1 / P N) sum_c P_c (N_{below c} + h N_c),   h = 0, 1/2, 1                                   (1)
    average precision = (1 / P) sum over the class of the precision at its score                           (2)

Definitions are scikit-learn's. A figure without a record to judge by is NaN.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import F64, I64, Flags

Bounds = tuple[float, float]

PARTS = 10  # bins of probability in a calibration curve
TINY = 1e-12  # a score from 0 or 1


def squash(values: F64) -> F64:
    """Return decision values in order, between 0 and 1.

    Bins of equal width are the finer the nearer to the boundary between classes.
    """
    return 0.5 + 0.5 * values / (1.0 + np.abs(values))


def stretch(scores: F64) -> F64:
    """Return the decision values of these scores; the inverse of `squash`."""
    moved = 2.0 * scores - 1.0
    return moved / (1.0 - np.abs(moved))


def _rests(won: F64, k: int) -> tuple[F64, F64]:
    """Return where three times the rest begins for these numbers of votes, and how wide it is."""
    start: F64 = np.where(won == k - 1, 0.0, -1.0)
    return start, np.where(won == 0, 0.0, 1.0) - start


def histograms(values: F64, positive: Flags, bins: int) -> tuple[F64, F64]:
    """Return P_c and N_c, a line for every column of values."""
    zeros = np.zeros(values.shape[1])
    cells = cells_of(squash(values), zeros, zeros + 1.0, bins)
    return counts_of(np.where(positive, cells, -1), bins), counts_of(np.where(positive, -1, cells), bins)


def merge_bins(P: F64, N: F64, least: int) -> I64:
    """Return where to cut so that each bin has none or at least `least` records of either side.

    Cuts are numbers of bins, and the last one is the number of all bins.
    """
    total = np.cumsum(np.column_stack([P, N]), axis=0)
    cuts: list[int] = []
    for c in range(1, len(P) + 1):
        if _enough(total[c - 1] - (total[cuts[-1] - 1] if cuts else 0.0), least):
            cuts.append(c)
    while cuts and cuts[-1] < len(P) and not _enough(total[-1] - total[cuts[-1] - 1], least, empty=True):
        cuts.pop()  # what is left above the last cut goes to the bin below it
    return np.array([*(c for c in cuts if c < len(P)), len(P)], dtype=np.int64)


def _enough(held: F64, least: int, *, empty: bool = False) -> bool:
    return bool(np.all((held == 0) | (held >= least)) and (held.any() or empty))


def roc_auc(P: F64, N: F64) -> Bounds:
    """Return the bounds on the area under the ROC curve, (1)."""
    pairs = float(P.sum() * N.sum())
    if not pairs:
        return np.nan, np.nan
    below = np.cumsum(N) - N
    low = float(P @ below)
    return low / pairs, (low + float(P @ N)) / pairs


def average_precision(P: F64, N: F64) -> Bounds:
    """Return the bounds on the average precision, (2)."""
    if not P.sum():
        return np.nan, np.nan
    down = slice(None, None, -1)
    p, above, others = P[down], np.cumsum(P[down]) - P[down], np.cumsum(N[down])
    first = others - N[down]
    high = np.sum(_ratio(p * (above + p), above + p + first))
    number = np.arange(1, round(float(p.sum())) + 1)
    each = np.repeat(above - np.cumsum(p) + p, p.astype(np.int64)) + number  # rank within the class
    low = np.sum(each / (each + np.repeat(others, p.astype(np.int64))))
    return float(low / P.sum()), float(high / P.sum())


def tied_precision(P: F64, N: F64) -> float:
    """Return the average precision (2) where all scores of a bin are the same."""
    tp, fp = np.cumsum(P[::-1]), np.cumsum(N[::-1])
    return float(np.sum(_ratio(P[::-1] * tp, tp + fp)) / P.sum()) if P.sum() else np.nan


def exact_areas(values: F64, positive: Flags) -> tuple[float, float]:
    """Return area and average precision where all scores are known: a bin for every different one."""
    _, at = np.unique(values, return_inverse=True)
    bins = int(at.max(initial=-1)) + 1
    P, N = (np.bincount(at[side], minlength=bins).astype(np.float64) for side in (positive, ~positive))
    return float(np.mean(roc_auc(P, N))), tied_precision(P, N)


def rates(P: F64, N: F64) -> tuple[F64, F64]:
    """Return the shares of the others and of the class that score above each cut, from above all to below all."""
    return _above(N) / max(1.0, N.sum()), _above(P) / max(1.0, P.sum())


def precisions(P: F64, N: F64) -> tuple[F64, F64]:
    """Return precision and recall above each cut, from above all to below all; the precision of nothing is 1."""
    tp, fp = _above(P), _above(N)
    return np.where(tp + fp > 0, _ratio(tp, tp + fp), 1.0), tp / max(1.0, P.sum())


def net_benefits(P: F64, N: F64, chances: F64) -> tuple[F64, F64]:
    """Return the net benefit of the model, and of taking all records for the class, where bins have these cuts.

        benefit(t) = TP / n - FP / n * t / (1 - t),   t: the probability from which on a record is taken for the class

    Vickers and Elkin, Medical Decision Making 26 (2006).
    """
    n, price = max(1.0, P.sum() + N.sum()), chances / (1.0 - chances)
    tp, fp = (_above(side)[1:-1][::-1] for side in (P, N))  # above each cut, from the lowest cut up
    return tp / n - fp / n * price, P.sum() / n - N.sum() / n * price


def _above(counts: F64) -> F64:
    return np.concatenate([[0.0], np.cumsum(counts[::-1])])


def _ratio(a: F64, b: F64) -> F64:
    found: F64 = np.divide(a, b, out=np.zeros_like(np.asarray(a, dtype=np.float64)), where=b > 0)
    return found


# From the confusion matrix


def recalls(confusion: F64) -> F64:
    """Return how much of every class is found; NaN without a record."""
    return _share(confusion.diagonal(), confusion.sum(axis=1))


def specificities(confusion: F64) -> F64:
    """Return for every class how many of the records not of it are not taken for it."""
    wrongly = confusion.sum(axis=0) - confusion.diagonal()
    others = confusion.sum() - confusion.sum(axis=1)
    return _share(others - wrongly, others)


def f1_scores(confusion: F64) -> F64:
    """Return 2 tp / (2 tp + fp + fn); NaN for a class that neither is there nor is chosen."""
    return _share(2.0 * confusion.diagonal(), confusion.sum(axis=0) + confusion.sum(axis=1))


def accuracy(confusion: F64) -> float:
    """Return the share of all records that are given their own class."""
    return float(confusion.trace() / confusion.sum()) if confusion.sum() else np.nan


def macro(each: F64) -> float:
    """Return the mean over the classes that have a figure."""
    return float(np.nanmean(each)) if np.isfinite(each).any() else np.nan


def _share(part: F64, whole: F64) -> F64:
    return np.where(whole > 0, _ratio(part, whole), np.nan)


# Calibration


# Histograms of columns over public ranges: which cell a value is in, how many are in each, and quantiles from that.
#
# Cell c of [low, high] is [low + c w, low + (c + 1) w) with w = (high - low) / size; values beyond the range are in the
# first or the last cell. Whoever knows the cell of a value knows the value up to w / 2, by the middle of the cell.


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


# Sampling intervals of figures: how far off they may be because other records might have been judged.
#
#     share h / n     (h + z^2 / 2 + e z sqrt(h (n - h) / n + z^2 / 4)) / (n + z^2),    e = -1 and 1                 (1)
#     area            A + e z sqrt(S_P / P + S_N / N),   on the scale of log(A / (1 - A))                            (2)
#
# S_P is the variance over the records of the class of the share of others that score below them, S_N that over the
# others of the share of the class above them; scores in one bin count as equal, which makes both a little smaller than
# they are.
#
# Source: Wilson, JASA 22, 1927, for (1); DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988, for (2).


Z = 1.959964  # of 95 %
LEVEL = "95 %"
Interval = tuple[float, float]
NONE: Interval = (math.nan, math.nan)


def interval_of_share(hits: float, records: float) -> Interval:
    """Return (1)."""
    if records <= 0 or not math.isfinite(hits):
        return NONE
    middle, square = hits + Z**2 / 2, hits * (records - hits) / records + Z**2 / 4
    half = Z * math.sqrt(square)
    low, high = ((middle + e * half) / (records + Z**2) for e in (-1.0, 1.0))
    return max(0.0, low), min(1.0, high)


def interval_of_area(P: F64, N: F64) -> Interval:
    """Return (2) of the area under the ROC curve, from counts of both sides by bin, the lowest scores first."""
    p, n = float(P.sum()), float(N.sum())
    if min(p, n) < 2:  # noqa: PLR2004 - a variance takes two
        return NONE
    below = (np.cumsum(N) - N / 2) / n
    above = (p - np.cumsum(P) + P / 2) / p
    A = float(P @ below) / p
    S_P = float(P @ np.square(below - A)) / (p - 1)
    S_N = float(N @ np.square(above - A)) / (n - 1)
    deviation = math.sqrt(S_P / p + S_N / n)
    inner = min(max(A, 0.5 / (p * n)), 1.0 - 0.5 / (p * n))
    middle, half = math.log(inner / (1.0 - inner)), Z * deviation / (inner * (1.0 - inner))
    low, high = (1.0 / (1.0 + math.exp(-min(max(middle + e * half, -700.0), 700.0))) for e in (-1.0, 1.0))
    return low, high
