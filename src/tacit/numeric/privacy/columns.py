"""Statistics of columns from noisy sums of integers, where single values may be missing.

With u of `scaling`, a whole number from -U to U, over the values that are there:

    sums of U^2, of U u_j and of u_j^2      one record: a squared length of 3 d U^4 at most                        (1)
    n_j, mean_j and var_j                   follow from them; a variance that is lost in the noise is the noise's  (2)
    U times how many values lie in which of B equal bins of a column's range    one record: U per column           (3)
    U times how many values are which of those declared                         one record: U per column           (4)

A value that is not finite is missing, and one that was not declared does not count in (4); one that lies outside of its
range counts in the outermost bin of (3). What is computed of a record depends on that record alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.numeric.privacy.scaling import Bounds, U, count_magnitudes, grid_of

STEP = 1.0 / U  # of the grid
SPREAD = 4.0  # standard deviations on either side of the mean, where a histogram ends that nobody declared a range for


@dataclass(frozen=True)
class Moments:
    """About how many values each column has, their mean and their variance."""

    present: F64
    mean: F64
    var: F64


def count_sizes(X: F64) -> I64:
    """Return the histogram of magnitudes of the values that are there."""
    return count_magnitudes(np.where(np.isfinite(X), X, 0.0))


def sum_present(X: F64, bounds: Bounds) -> I64:
    """Return the sums (1), one kind after the other."""
    there = np.isfinite(X)
    u = (grid_of(np.where(there, X, 0.0), bounds) * there).astype(np.int64)
    return np.concatenate([U * U * there.sum(axis=0), U * u.sum(axis=0), (u * u).sum(axis=0)])


def present_sensitivity(columns: int) -> int:
    """Return by which squared length one record changes (1) at most."""
    return 3 * columns * U**4


def estimate_moments(sums: F64, rows: int, deviation: float, bounds: Bounds) -> Moments:
    """Return (2) from the sums (1), whose noise has this standard deviation; `rows` are how many records there are."""
    held, first, second = sums.reshape(3, -1) / U**2
    n = np.clip(held, 1.0, rows)
    mean = np.clip(first / n, -1.0, 1.0)
    least = np.minimum(deviation / (n * U**2) + STEP**2, 1.0)
    var = np.clip(second / n - mean**2, least, 1.0)
    return Moments(n, bounds.middle + mean * bounds.half, var * bounds.half**2)


def range_of(moments: Moments, bounds: Bounds) -> tuple[F64, F64]:
    """Return between which numbers a histogram is made where no range was declared: around the mean, within bounds."""
    reach = SPREAD * np.sqrt(moments.var)
    low = np.maximum(moments.mean - reach, bounds.middle - bounds.half)
    return low, np.minimum(moments.mean + reach, bounds.middle + bounds.half)


def count_bins(X: F64, low: F64, high: F64, bins: int) -> I64:
    """Return the histograms (3), a row per column."""
    there = np.isfinite(X)
    inside = np.clip(np.where(there, X, low), low, high)
    place = np.clip(((inside - low) / (high - low) * bins).astype(np.int64), 0, bins - 1)
    flat = place + bins * np.arange(X.shape[1])
    return U * np.bincount(flat[there], minlength=X.shape[1] * bins).reshape(X.shape[1], bins)


def count_values(X: F64, declared: Sequence[Sequence[float]]) -> I64:
    """Return the counts (4), with zeros behind the last declared value of a column."""
    counts = np.zeros((len(declared), max(map(len, declared), default=0)), dtype=np.int64)
    for row, column, known in zip(counts, X.T, declared, strict=True):
        row[: len(known)] = [U * (column == value).sum() for value in known]
    return counts


def count_sensitivity(columns: int) -> int:
    """Return by which squared length one record changes (3), or (4), at most."""
    return columns * U**2


def read_counts(total: F64) -> F64:
    """Return how many values there are, from sums (3) or (4)."""
    return total / U


def find_quantiles(counts: F64, low: F64, high: F64, probabilities: Sequence[float]) -> F64:
    """Return quantiles of columns from their noisy histograms (3), a row per column, each within a bin."""
    bins = counts.shape[1]
    below = np.maximum.accumulate(np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0))), axis=1)
    below = below + np.arange(bins + 1) * 1e-9 * np.maximum(below[:, -1:], 1.0)  # so that each place is one place
    at = [np.interp(np.asarray(probabilities) * row[-1], row, np.arange(bins + 1)) for row in below]
    return np.asarray(low[:, None] + np.array(at).reshape(len(counts), -1) * ((high - low) / bins)[:, None])
