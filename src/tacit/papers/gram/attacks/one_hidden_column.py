"""One hidden column: who holds the gram matrix and all columns but one has that one too, up to its sign.

The coordinator and some holders know A_c, the columns of these. What is left of the gram matrix is that of the d
columns of the others:

    R = G - A_c A_c' = H H',      rank R = d,      V S V' = R      so      H = V sqrt(S) Q,   Q'Q = I      (1)

001 section 3.2 says that attribute values stay hidden while number and kind of the attributes do. The number is the
rank of R. For d = 1 Q is a sign. For more columns it is a rotation, and records that are known in full determine it:

    V_K sqrt(S) Q = H_K         for known records K                                                        (2)

One known record gives the sign. As many independent ones as there are hidden columns give Q and so all others; fewer
give the part of every record in their span.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.papers.gram.attacks.inversion import Inversion, relative

TINY = 1e-9  # of the largest eigenvalue: less is the fixed point's rounding


def one_hidden_column(gram: F64, columns: F64, hidden: F64, known: I64) -> Inversion:
    """Reconstruct the hidden columns; of `hidden`, which else measures, only known rows are used.

    The error is up to signs of columns.
    """
    H = up_to_rotation(gram - columns @ columns.T)
    if len(known):
        H = H @ np.linalg.lstsq(H[known], hidden[known], rcond=None)[0]  # (2)
    H = _as_wide(H, hidden.shape[1])
    unknown = np.setdiff1d(np.arange(len(hidden)), known)
    signs = np.where((H * hidden)[unknown].sum(axis=0) < 0, -1.0, 1.0)
    return Inversion(H, relative((H * signs)[unknown], hidden[unknown]))


def up_to_rotation(residue: F64) -> F64:
    """Return V sqrt(S) of (1), with as many columns as are hidden, the largest first."""
    sizes, V = np.linalg.eigh(residue)
    there = np.flatnonzero(sizes > TINY * sizes[-1])[::-1]
    return np.asarray(V[:, there] * np.sqrt(sizes[there]))


def _as_wide(H: F64, columns: int) -> F64:
    """Return the hidden columns as wide as the truth, to measure by.

    Hidden columns that depend on each other count as fewer in (1).
    """
    return np.hstack([H[:, :columns], np.zeros((len(H), max(0, columns - H.shape[1])))])
