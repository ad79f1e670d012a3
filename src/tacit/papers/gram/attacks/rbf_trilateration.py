"""RBF trilateration: a kernel matrix of RBF is a table of distances, and distances from known records give all others.

    |x_i - x_k|^2 = -log K_ik / gamma =: D_ik                                                                   (1)

D is quadratic in x_i, but differences of two are linear. With c the mean of the known records, and averages over them,

    2 (x_k - c) . (x_i - c) = (|x_k - c|^2 - D_ik) - mean_l (|x_l - c|^2 - D_il)      for every known record k  (2)

One known record more than there are columns, in general position, gives every other record; fewer give the part of it
that lies in the plane through them. Who does not know gamma finds it from two known records:

    gamma = sum_kl -log K_kl |x_k - x_l|^2 / sum_kl |x_k - x_l|^4                                               (3)

So a coordinator that keeps K and forgets the gram matrix has forgotten nothing (001 section 4).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.errors import LocalError
from tacit.papers.gram.attacks.inversion import Inversion, judge


def rbf_trilateration(kernel: F64, truth: F64, known: I64, gamma: float | None = None) -> Inversion:
    """Reconstruct all records from K and the known ones; of `truth` only these are used, the rest measures.

    None: gamma by (3).
    """
    if not len(known):
        return judge(np.zeros_like(truth), truth, known)
    logs = -np.log(_positive(kernel[:, known]))
    squares = logs / (find_gamma(logs[known], truth[known]) if gamma is None else gamma)  # (1)
    centre = truth[known].mean(axis=0)
    X = truth[known] - centre
    right = np.square(X).sum(axis=1) - squares
    found = np.linalg.lstsq(2.0 * X, (right - right.mean(axis=1, keepdims=True)).T, rcond=None)[0]  # (2)
    return judge(np.asarray(found.T + centre), truth, known)


def find_gamma(logs: F64, X: F64) -> float:
    """Return the gamma that the known records give, (3)."""
    apart = np.square(X[:, None] - X).sum(axis=2)
    if not apart.any():
        raise LocalError(
            f"gamma cannot be worked out from {len(X)} known record(s): give two that differ, or gamma itself"
        )
    return float((logs * apart).sum() / np.square(apart).sum())


def _positive(kernel: F64) -> F64:
    if not (kernel > 0).all():
        raise LocalError(
            "an entry of the kernel matrix is 0, so its distance cannot be computed: use a kernel with a smaller gamma"
        )
    return kernel
