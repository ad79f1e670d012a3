"""Known column: who holds the gram matrix and knows some values of one column can work out its other values.

    G = U U',    A = U R with R orthogonal if there are as many records as columns,    so column f is a_f = U r_f  (1)

Every known value of the column is an equation for r_f, so as many as there are columns give all of it; no record need
be known in full. Since |r_f| = 1, one fewer gives it up to a sign: what is left of r_f is as long as the known values
leave room for.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import F64, I64
from tacit.papers.gram.attacks.inversion import Inversion, judge
from tacit.papers.gram.attacks.one_hidden_column import up_to_rotation


def known_column(gram: F64, column: F64, known: I64) -> Inversion:
    """Reconstruct one column from the gram matrix and its known values.

    Of `column` only known values are used, and a sign where they leave one open; the rest measures.
    """
    U = up_to_rotation(gram)
    r = np.linalg.pinv(U[known]) @ column[known] if len(known) else np.zeros(U.shape[1])
    found = [judge(U @ each, column, known) for each in _unit(r, U[known])]
    return min(found, key=lambda each: each.error)


def _unit(r: F64, rows: F64) -> list[F64]:
    """Return the column as found, or both that are as long as they must be if one direction is open."""
    if len(rows) != len(r) - 1:
        return [r]
    free = np.linalg.svd(rows)[2][-1] * math.sqrt(max(0.0, 1.0 - float(r @ r)))
    return [r + free, r - free]
