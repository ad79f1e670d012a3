"""How many rows a sum must be over, from how much its numbers tell.

A sum of p rows of d columns, mapped to D features, is D equations for p d unknowns. From a sum with p d < D an optimisation finds all
rows; with p d > D it does not (`attacks.atom_inversion`). Every map is one more set of equations for the same rows, so what counts is
how many numbers were opened for each unknown, over all maps j with D_j features, of which sums over m_j rows or more were opened:

    told = sum_j D_j / (m_j d),        kept at or below 1 / 1.25                                                    (1)

A run spends half of what is left, so that there is always something for the next one; a map that was opened before at the same m, or a
larger one, costs nothing:

    m = max(5, ceil(D / (d (1 / 1.25 - told) / 2)))                                                                 (2)

A column of few values is less than one unknown: with k values it counts as log2(k) / 8, at most 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

FLOOR = 5  # rows that every sum is over, whatever its numbers tell
MARGIN = 1.25
BITS = 8.0  # of a column that counts as one unknown
SAMPLE = 5000  # rows in which values are counted
CAP = 1000  # features of a map whose size is left open: the map costs their square per row


def unknowns(X: F64) -> float:
    """Return how many unknowns a row is: its columns, those of few values counted as less; at least one."""
    counts = np.array([len(np.unique(column)) for column in X[:SAMPLE].T])
    return max(1.0, float(np.minimum(1.0, np.log2(np.maximum(counts, 1)) / BITS).sum()))


def left(told: float) -> float:
    """Return what may still be told by (1)."""
    return max(0.0, 1.0 / MARGIN - told)


def least_count(features: float, unknowns: float, told: float) -> int:
    """Return m of (2)."""
    share = left(told) / 2.0
    return max(FLOOR, math.ceil(features / (unknowns * max(share, 1e-12)) - 1e-9))


def advised(rows: int, columns: int, *, landmarks: bool, exact: bool = False) -> int:
    """Return how many features suit a table: with more, (2) asks for groups so large that sets follow the margin less well.

    Landmarks are means of groups themselves, each of which should still be split once: L = rows / (2 m), and by (2) their d columns count
    too, m = 2.5 (L + d) / d. Fourier features take some two hundred groups of m = 2.5 D / d rows. With `exact`, where every row is a
    group of its own, more features are better: 15 % of the rows.
    """
    if exact:
        return int(max(1, min(0.15 * rows, CAP)))
    if landmarks:
        most = (math.sqrt(columns**2 + 0.8 * rows * columns) - columns) / 2.0
        return int(max(1, min(most, rows / (2 * FLOOR), CAP)))
    return int(max(2 * columns, min(rows * columns / 500.0, CAP)))
