"""Gram inversion: who holds the gram matrix and knows some records in full can work out the others.

    G_ij = x_i . x_j,   so for known records K:   A_K x_i = G_Ki       (001 section 3.2 counts equations and sees no harm)

With as many linearly independent known records as there are columns, the least-squares solution is every other record.
With fewer it is the part of every record that lies in the span of the known ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Inversion:
    """The reconstructed table, and how wrong it is on the records that were not known, relative to their size."""

    records: F64
    error: float


def gram_inversion(gram: F64, truth: F64, known: I64) -> Inversion:
    """Reconstruct all records from the gram matrix and the known ones; `truth` only measures the error."""
    found, *_ = np.linalg.lstsq(truth[known], gram[known], rcond=None)
    records = found.T.astype(np.float64)
    unknown = np.setdiff1d(np.arange(len(truth)), known)
    wrong = np.linalg.norm(records[unknown] - truth[unknown])
    return Inversion(records, float(wrong / np.linalg.norm(truth[unknown])))
