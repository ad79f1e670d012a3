"""How good a classifier is, from counts: the confusion matrix, and histograms of the scores of either side.

    confusion     n_ab records of class a for which class b was chosen
    histogram     P_c records of the class and N_c others whose score is in bin c, from the lowest scores up

What a histogram leaves open is the order within a bin. So areas have bounds: all of the class above all others in each bin, and all
below (for the precision, equal scores are the best and different ones the worst that can be). No bin with both sides: no gap.

    ROC AUC = (1 / P N) sum_c P_c (N_{below c} + h N_c),   h = 0, 1/2, 1                                              (1)
    average precision = (1 / P) sum over the class of the precision at its score                                      (2)

Definitions are scikit-learn's. A figure without a record to judge by is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.numeric.histogram import cells_of, counts_of

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
Bounds = tuple[float, float]

PARTS = 10  # bins of probability in a calibration curve


def squashed(values: F64) -> F64:
    """Decision values in order, between 0 and 1: bins of equal width are the finer the nearer to the boundary between classes."""
    return 0.5 + 0.5 * values / (1.0 + np.abs(values))


def stretched(scores: F64) -> F64:
    """The decision values of these; the inverse of `squashed`."""
    moved = 2.0 * scores - 1.0
    return moved / (1.0 - np.abs(moved))


def histograms(values: F64, positive: Mask, bins: int) -> tuple[F64, F64]:
    """P_c and N_c, a line for every column of values."""
    zeros = np.zeros(values.shape[1])
    cells = cells_of(squashed(values), zeros, zeros + 1.0, bins)
    return counts_of(np.where(positive, cells, -1), bins), counts_of(np.where(positive, -1, cells), bins)


def merged(P: F64, N: F64, least: int) -> I64:
    """Where to cut so that each bin has none or at least so many of either side: numbers of bins, the last being their number."""
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
    """(1)."""
    pairs = float(P.sum() * N.sum())
    if not pairs:
        return np.nan, np.nan
    below = np.cumsum(N) - N
    low = float(P @ below)
    return low / pairs, (low + float(P @ N)) / pairs


def average_precision(P: F64, N: F64) -> Bounds:
    """(2)."""
    if not P.sum():
        return np.nan, np.nan
    down = slice(None, None, -1)
    p, above, others = P[down], np.cumsum(P[down]) - P[down], np.cumsum(N[down])
    first = others - N[down]
    high = np.sum(_ratio(p * (above + p), above + p + first))
    each = np.repeat(above - np.cumsum(p) + p, p.astype(np.int64)) + np.arange(1, round(float(p.sum())) + 1)  # rank within the class
    low = np.sum(each / (each + np.repeat(others, p.astype(np.int64))))
    return float(low / P.sum()), float(high / P.sum())


def tied_precision(P: F64, N: F64) -> float:
    """(2) where all scores of a bin are the same."""
    tp, fp = np.cumsum(P[::-1]), np.cumsum(N[::-1])
    return float(np.sum(_ratio(P[::-1] * tp, tp + fp)) / P.sum()) if P.sum() else np.nan


def exact_areas(values: F64, positive: Mask) -> tuple[float, float]:
    """Area and average precision of one who has all scores: a bin for every different one."""
    _, at = np.unique(values, return_inverse=True)
    P, N = (np.bincount(at[side], minlength=int(at.max(initial=-1)) + 1).astype(np.float64) for side in (positive, ~positive))
    return float(np.mean(roc_auc(P, N))), tied_precision(P, N)


def rates(P: F64, N: F64) -> tuple[F64, F64]:
    """Shares of the others and of the class that score above each cut, from above all to below all."""
    return _above(N) / max(1.0, N.sum()), _above(P) / max(1.0, P.sum())


def precisions(P: F64, N: F64) -> tuple[F64, F64]:
    """Precision and recall above each cut, from above all to below all; the precision of nothing is 1."""
    tp, fp = _above(P), _above(N)
    return np.where(tp + fp > 0, _ratio(tp, tp + fp), 1.0), tp / max(1.0, P.sum())


def _above(counts: F64) -> F64:
    return np.concatenate([[0.0], np.cumsum(counts[::-1])])


def _ratio(a: F64, b: F64) -> F64:
    found: F64 = np.divide(a, b, out=np.zeros_like(np.asarray(a, dtype=np.float64)), where=b > 0)
    return found


# From the confusion matrix


def recalls(confusion: F64) -> F64:
    """Of every class, how much is found; NaN without a record."""
    return _share(confusion.diagonal(), confusion.sum(axis=1))


def specificities(confusion: F64) -> F64:
    """Of all records that are not of a class, how many are not taken for it."""
    wrongly = confusion.sum(axis=0) - confusion.diagonal()
    others = confusion.sum() - confusion.sum(axis=1)
    return _share(others - wrongly, others)


def f1_scores(confusion: F64) -> F64:
    """2 tp / (2 tp + fp + fn); NaN for a class that neither is there nor is chosen."""
    return _share(2.0 * confusion.diagonal(), confusion.sum(axis=0) + confusion.sum(axis=1))


def accuracy(confusion: F64) -> float:
    """Of all records, how many are given their own class."""
    return float(confusion.trace() / confusion.sum()) if confusion.sum() else np.nan


def macro(each: F64) -> float:
    """The mean over the classes that have one."""
    return float(np.nanmean(each)) if np.isfinite(each).any() else np.nan


def _share(part: F64, whole: F64) -> F64:
    return np.where(whole > 0, _ratio(part, whole), np.nan)


# Calibration


def parts_of(probability: F64) -> I64:
    """The bin of every probability; an edge belongs to the bin below, as in scikit-learn's calibration_curve."""
    return np.searchsorted(np.linspace(0.0, 1.0, PARTS + 1)[1:-1], probability).astype(np.int64)


def shown(counts: F64, least: int) -> Mask:
    """Which bins to show: those of enough records, as long as what is left is of none or of enough as well."""
    seen: Mask = counts >= least
    while 0 < counts[~seen].sum() < least and seen.any():
        seen[np.argmin(np.where(seen, counts, np.inf))] = False
    return seen
