"""An SVM over columns that many hold: the steps of ADMM (000, eqs 26 to 29, corrected), and the span of all sums.

    min_{w,b}  1/2 sum_m |w_m|^2 + sum_i C_i max(0, 1 - y_i (z_i + b)),     z = sum_m X_m w_m                       (1)

ADMM takes in turn, with S = sum_m c_m, c_m = X_m w_m, d = S - r:

    w_m = (I/rho + X_m'X_m)^-1 X_m' [c_m + (z - S + r)/M]           kernel: c_m = K_m (K_m + I/rho)^-1 [...]        (2)
    l_i(b) = clip((rho/M)(1 - y_i (d_i + b)), 0, C_i),   b such that y'l(b) = 0                                     (3)
    z = d + (M/rho) Y l,    r += z - S                                                                              (4)

The span: whoever knows S_j = K p_j, K = sum_m K_m, for some p_j, has a basis B of them with B'KB = I and F = KB, and
(1) restricted to w = sum_m X_m'Ba is a linear SVM on the columns of F (`interior_svm`). Its multipliers give the next p
= Yl: if K p is in the span too, the restricted optimum is that of (1). With d independent columns that is so after d
products at the latest.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky

from tacit.arrays import F64
from tacit.errors import LocalError
from tacit.numeric.svm.kernels import Kernel, gamma_of

NEW = 1e-10  # of a product's own square: what is less than this beyond the span is rounding
NOISE = 10.0  # times what independent errors come to
BELOW = -1e-6  # of a product's own square: what is less is no rounding, but a kernel that is no inner product


def spans(rounds: int, columns: int, problems: int = 1) -> bool:
    """Return whether the sums of so many rounds span the columns.

    If they do, as many known records as columns give all others.
    """
    return rounds * problems >= columns


def own_kernel(kernel: Kernel, gamma: float | str, X: F64) -> Kernel:
    """Return a party's kernel: 'scale' and 'auto' are of its own columns, so that nothing has to be told."""
    if not X.size:
        return kernel
    number = gamma_of(gamma, X.shape[1], X.size, float(X.sum()), float(np.einsum("ij,ij->", X, X)))
    return Kernel(kernel.name, number, kernel.degree, kernel.coef0)


def kernel_values(kernel: Kernel, A: F64, B: F64) -> F64:
    """Return K(A, B); zeros from a party that has no columns."""
    if not A.shape[1]:
        return np.zeros((len(A), len(B)))
    return kernel.from_dots(A @ B.T, np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B))


# ADMM


def factor(A: F64, rho: float, *, linear: bool) -> F64:
    """Return the Cholesky factor of (2), made once for all rounds; A is X_m, or K_m."""
    G = A.T @ A if linear else A.copy()
    G[np.diag_indices(len(G))] += 1.0 / rho
    return np.asarray(cholesky(G, lower=True))


def ridge(A: F64, L: F64, target: F64, *, linear: bool) -> tuple[F64, F64]:
    """Return the weights of (2), or the coefficients of the party's own kernel, and c_m."""
    weights = cho_solve((L, True), A.T @ target if linear else target)
    return weights, A @ weights


def hinge(d: F64, y: F64, C: F64, k: float) -> tuple[F64, F64]:
    """Return l and b of (3) for every column of d, with k = rho/M.

    y'l(b) falls in straight pieces, so b is found between two sorted ends of them.
    """
    ends = np.concatenate([y - d, y - d - y * C / k])
    order = np.argsort(ends, axis=0)
    at = np.take_along_axis(ends, order, axis=0)
    # y'l falls by k more after the lower end of a row's piece, by k less after the upper one
    turn = np.take_along_axis(np.concatenate([k * y, -k * y]), order, axis=0)
    slope = np.cumsum(turn, axis=0)[:-1]
    top = np.where(y > 0, C, 0.0).sum(axis=0)
    value = np.vstack([top, top + np.cumsum(slope * np.diff(at, axis=0), axis=0)])
    last = len(at) - 1 - np.argmax(value[::-1] >= 0, axis=0)  # the last end at which it is not below 0
    last = np.minimum(last, len(at) - 2)
    each = np.arange(d.shape[1])
    fall = slope[last, each]
    b = at[last, each] - np.divide(value[last, each], fall, out=np.zeros_like(fall), where=fall < 0)
    return np.clip(k * (1.0 - y * (d + b)), 0.0, C), b


# The span


def widen_span(B: F64, F: F64, p: F64, S: F64, error: float) -> tuple[F64, F64]:
    """Return the span with S = K p, whose entries are wrong by up to `error`, if S is beyond it."""
    size = float(p @ S)
    for _ in range(2):  # once more, for what rounding left
        inside = F.T @ p
        p, S = p - B @ inside, S - F @ inside
    square, noise = float(p @ S), NOISE * error * float(np.linalg.norm(p))
    if square < BELOW * abs(size) - noise:
        raise LocalError(
            "the kernel is no inner product on these records (its matrix has a negative direction): choose 'rbf' or"
            " 'linear'"
        )
    if square <= NEW * size + noise:
        return B, F
    length = np.sqrt(square)
    return np.column_stack([B, p / length]), np.column_stack([F, S / length])
