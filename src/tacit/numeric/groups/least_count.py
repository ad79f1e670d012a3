"""How many rows a sum must be over, from how much its numbers tell.

A sum of p rows of d columns, mapped to D features, is D equations for p d unknowns. From a sum with p d < D an
optimisation finds all rows; with p d > D it does not (`attacks.atom_inversion`). Every map is one more set of equations
for the same rows, so what counts is how many numbers were opened for each unknown, over all maps j with D_j features,
of which sums over m_j rows or more were opened:

    told = sum_j D_j / (m_j d),        kept at or below 1 / 1.25                                               (1)

A run spends half of what is left, so that there is always something for the next one; a map that was opened before at
the same m, or a larger one, costs nothing:

    m = max(5, ceil(D / (d (1 / 1.25 - told) / 2)))                                                            (2)

Columns of few values are less than one unknown each: where all records that are possible in them can be listed, their
number N, which of them are in the sum is a linear problem, and a row counts as about 1.6 ln(N / D) unknowns. Taken is

    d = columns of many values + min(columns of few values, sum_j ln k_j - ln D),      k_j values in column j  (3)
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import F64, I64
from tacit.sparse import Sparse, is_sparse

FLOOR = 5  # rows that every sum is over, whatever its numbers tell
MARGIN = 1.25
MANY = 256  # values from which a column counts as one unknown
SAMPLE = 5000  # rows in which values are counted
CAP = 1000  # features of a map whose size is left open: the map costs their square per row


def unknowns(X: F64, features: float) -> float:
    """Return how many unknowns a row is by (3), of which so many features are opened; at least one."""
    rows = X[:SAMPLE]
    counts = _count_sparse(rows) if is_sparse(rows) else np.array([len(np.unique(column)) for column in rows.T])
    many = (2 * counts >= len(rows)) | (counts >= MANY)  # values that hardly repeat are many
    few = counts[~many & (counts > 1)]
    listed = float(np.log(few).sum()) - math.log(max(1.0, features))
    return max(1.0, float(many.sum()) + min(float(len(few)), max(0.0, listed)))


def _count_sparse(rows: Sparse) -> I64:
    """Return how many values each column has; 0 is one of them where a cell is not kept, whatever it is less."""
    order = np.lexsort((rows.values, rows.columns))
    column, value = rows.columns[order], rows.values[order]
    new = np.append(True, (np.diff(column) != 0) | (np.diff(value) != 0))[: len(column)]
    kept = np.bincount(column, minlength=rows.width)
    return np.bincount(column[new], minlength=rows.width) + (kept < len(rows))


def count_left(told: float) -> float:
    """Return how much may still be told by (1)."""
    return max(0.0, 1.0 / MARGIN - told)


def least_count(features: float, unknowns: float, told: float) -> int:
    """Return the least number m of rows of a group, (2)."""
    share = count_left(told) / 2.0
    return max(FLOOR, math.ceil(features / (unknowns * max(share, 1e-12)) - 1e-9))


def advise_size(rows: int, columns: int, *, landmarks: bool, exact: bool = False) -> int:
    """Return how many features suit a table.

    With more, (2) asks for groups so large that sets follow the margin less well. Landmarks are means of groups
    themselves, each of which should still be split twice: L = rows / (4 m), and by (2) their d columns count too,
    m = 2.5 (L + d) / d. Fourier features take some two hundred groups of m = 2.5 D / d rows. With `exact`, where every
    row is a group of its own, more features are better: 15 % of the rows.
    """
    if exact:
        return int(max(1, min(0.15 * rows, CAP)))
    if landmarks:
        most = (math.sqrt(columns**2 + 0.4 * rows * columns) - columns) / 2.0
        return int(max(1, min(most, rows / (4 * FLOOR), CAP)))
    return int(max(2 * columns, min(rows * columns / 500.0, CAP)))
