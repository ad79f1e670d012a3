"""Column minima: who sees moved records and knows the least value of every column has all of them.

    b_i = x_i + r:     x_i = b_i - min_k b_k + min_k x_k                                                       (1)

Counts, ages, amounts and one-hot columns have a minimum that everybody knows: 0. No record needs to be known. Under a
rotation a column of b mixes all columns of x, and (1) finds nothing.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.papers.shift.attacks.one_record import MovedBack, relative_error


def shift_column_minimum(moved: F64, truth: F64, minimum: F64 | None = None) -> MovedBack:
    """Move all records back by (1); `truth` only measures the error.

    `minimum` is that of each column, 0 unless it is given.
    """
    least = np.zeros(moved.shape[1]) if minimum is None else minimum
    records = moved - moved.min(axis=0) + least
    return MovedBack(records, relative_error(records, truth))
