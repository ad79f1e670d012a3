"""Vertical modes: ADMM over columns is a linear system, whose input and output give every party's part.

Party m's part moves by c_m(t) = H_m (c_m(t-1) + v(t)), H_m = X_m (I/rho + X_m'X_m)^-1 X_m', where v(t) is public and S
= sum_m c_m is opened. With U = [U_1, ..., U_M] the left singular vectors of all X_m, and Lambda = rho s^2 / (1 + rho
s^2) by their singular values,

    S(t) = A S(t-1) + B v(t),    A = U Lambda U^+,    B = U Lambda U'                                      (1)

on the span of the columns. A and B follow by least squares from twice as many rounds as columns; eigenvectors and
eigenvalues of A are U and Lambda, which make X_m X_m' for every party, and of a party with one column that column up to
its sign. No record is known.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64


def vertical_modes(told: F64, sums: F64, columns: int, rho: float) -> F64:
    """Return the modes U diag(s) by (1), from v and S, a column for each round.

    Modes of one party are orthogonal, which shows which belong together.
    """
    Q = np.linalg.svd(sums / np.linalg.norm(sums, axis=0), full_matrices=False)[0][:, :columns]
    S, v = Q.T @ sums, Q.T @ told
    given, after = np.vstack([S[:, :-1], v[:, 1:]]), S[:, 1:]
    weight = np.linalg.norm(given, axis=0)
    A = np.linalg.lstsq((given / weight).T, (after / weight).T, rcond=None)[0][: len(S)].T
    share, U = np.linalg.eig(A)
    real = (share.imag == 0) & (share.real > 0) & (share.real < 1)  # what is not is rounding
    share, U = share.real[real], U.real[:, real] / np.linalg.norm(U.real[:, real], axis=0)
    modes: F64 = Q @ U * np.sqrt(share / (rho * (1 - share)))
    return modes


def nearest(modes: F64, column: F64) -> float:
    """Return how wrong the best mode is, up to its sign, relative to the column; 1 if nothing was found."""
    each = [np.linalg.norm(sign * mode - column) for mode in modes.T for sign in (1, -1)]
    return float(min([np.linalg.norm(column), *each]) / np.linalg.norm(column))
