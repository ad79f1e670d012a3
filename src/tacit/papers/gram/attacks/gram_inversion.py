"""Gram inversion: who holds the gram matrix and knows some records in full can work out the others.

    G_ij = x_i . x_j,   so for known records K:   A_K x_i = G_Ki     (001 section 3.2 counts equations and sees no harm)

With as many linearly independent known records as there are columns, the least-squares solution is every other record.
With fewer it is the part of every record that lies in the span of the known ones.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.papers.gram.attacks.inversion import Inversion, judge


def gram_inversion(gram: F64, truth: F64, known: I64) -> Inversion:
    """Reconstruct all records from the gram matrix and the known ones.

    Of `truth` only these are used, the rest measures.
    """
    found, *_ = np.linalg.lstsq(truth[known], gram[known], rcond=None)
    return judge(found.T.astype(np.float64), truth, known)
