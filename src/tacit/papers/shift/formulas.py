"""Shifts and rotations of a table, and the privacy that 002's Table 1 counts for a shift.

    x -> x + r                 one r for all rows, so x_i - x_j stays                                          (1)
    x -> xQ + r                Q orthogonal, so |x_i - x_j| stays                                              (2)

Table 1: a value is in an interval of this width at confidence c,

    uniform on [-a, a]         2 a c                                                                           (3)
    gaussian, sigma            2 sigma Phi^-1((1 + c) / 2)        1.349, 3.920, 5.152, 6.581 sigma             (4)

if nothing else is known of it. One r serves all rows: one known value of a column makes every width in it 0.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from tacit.arrays import F64, I64, U64

DISTRIBUTIONS = ("uniform", "gaussian")
CONFIDENCE = (0.5, 0.95, 0.99, 0.999)
FRACTION = 1.0  # of a column's range: the 95 % interval of its shift should be no narrower


def interval(distribution: str, width: float, confidence: float) -> float:
    """Return the width of the interval (3) with a = width, or (4) with sigma = width."""
    return 2.0 * width * (confidence if distribution == "uniform" else float(ndtri((1.0 + confidence) / 2.0)))


def unit(words: U64) -> F64:
    """Return uniform words of 64 bits as numbers strictly between 0 and 1."""
    numbers: F64 = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return numbers


def shift_of(words: U64, width: F64, distribution: str) -> F64:
    """Return one shift r, from a word and a width for each of its columns."""
    drawn = 2.0 * unit(words) - 1.0 if distribution == "uniform" else ndtri(unit(words))
    return np.asarray(width * drawn, dtype=np.float64)


def rotation_of(words: U64, columns: int) -> F64:
    """Return a Q of (2), uniform among all orthogonal matrices.

    It comes from a gaussian matrix, with R's diagonal made positive.
    """
    Q, R = np.linalg.qr(ndtri(unit(words)).reshape(columns, columns))
    signs = np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return np.ascontiguousarray(Q * signs)


def narrow(X: F64, width: F64, distribution: str) -> I64:
    """Return the columns whose range is wider than the 95 % interval of their shift, which then hides too little."""
    if not len(X):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(interval(distribution, 1.0, 0.95) * width < FRACTION * np.ptp(X, axis=0))
