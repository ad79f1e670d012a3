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

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.numeric.scores.histogram import cells_of, counts_of

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


def spread_votes(values: F64) -> F64:
    """Return values of k classes by pairs, votes with a rest within a third, in order and apart from each other.

    As they are most of them would share a few bins: here each number of votes has as many. Who lost every pair has a
    rest below 0 and who won every pair one above.
    """
    k = values.shape[1]
    won = np.clip(np.round(values), 0, k - 1)
    start, width = _rests(won, k)
    scores = (won + (3.0 * (values - won) - start) / width) / k
    return stretch(np.clip(scores, TINY, 1.0 - TINY))


def gather_votes(spread: F64, k: int) -> F64:
    """Return the values of k classes by pairs that these are; the inverse of `spread_votes`."""
    scores = k * squash(spread)
    won = np.clip(np.floor(scores), 0, k - 1)
    start, width = _rests(won, k)
    found: F64 = won + (start + (scores - won) * width) / 3.0
    return found


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


def parts_of(probability: F64) -> I64:
    """Return the bin of every probability; an edge belongs to the bin below, as in scikit-learn's calibration_curve."""
    return np.searchsorted(np.linspace(0.0, 1.0, PARTS + 1)[1:-1], probability).astype(np.int64)


def choose_shown(counts: F64, least: int) -> Flags:
    """Return which bins to show: those of enough records, as long as what is left is none or enough as well."""
    seen: Flags = counts >= least
    while 0 < counts[~seen].sum() < least and seen.any():
        seen[np.argmin(np.where(seen, counts, np.inf))] = False
    return seen
