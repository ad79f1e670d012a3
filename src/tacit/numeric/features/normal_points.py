"""Synthetic points of a normal distribution whose covariance is known with noise.

Records in units of their columns, clipped to 8 and to a length of R:

    u_ij = (x_ij - c_j) / s_j cut to [-8, 8],      |u_i| <= R,      in whole numbers of 2^-12                      (1)
    m = sum_i u_i / n,      A = sum_i u_i u_i' / n - m m'                                                          (2)

A has noise of a known deviation t beside its diagonal, sqrt(2) t on it. What of A stands out of this noise is kept:

    a_jj <- 1 + (a_jj - 1) p / (p + 2 t^2),  >= 1/4     s is a deviation already, to sqrt(p) = 1/4                 (3)
    A_off + diag(h) = U diag(w) U',   w <- (w + sqrt(w^2 - E^2)) / 2 where w > E = 2 t sqrt(d), or else 0          (4)
    C_jk = b_jk sqrt(a_jj a_kk / (b_jj b_kk)),    b the matrix of (4), its diagonal not below a                    (5)

h is at first 0, then the diagonal of the matrix of (4), five times: factors that columns have in common, as principal
factor analysis finds them. E is the edge of the eigenvalues of noise alone, and (4) the eigenvalue behind one that is
seen with it. Where all of A drowns in noise, the columns are drawn independently. Points are

    l_i = c + s (m + C^(1/2) z_i),      z_i standard normals, number i d .. i d + d - 1 of a public seed           (6)

so that the first points are the same of however many are drawn. The root is the symmetric one, which does not depend
on how a library orders its eigenvectors.

Source: ours; (4) as for spiked matrices, Baik, Ben Arous and Peche, Annals of Probability 33, 2005; Gavish and Donoho,
IEEE Transactions on Information Theory 63, 2017.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from tacit.arrays import F64, I64
from tacit.numeric.ring.words import public_words, uniform

CLIP, BITS = 8.0, 12  # of (1)
PRIOR = 0.25**2  # p of (3)
LEAST = 0.25  # of a_jj: records with a rare value are the long ones that (1) shortens, and s^2 knows better
FACTORINGS = 5  # how often (4) is done
ROWS = 1 << 13  # whose products are added up as doubles without rounding


def whole_records(X: F64, centre: F64, scale: F64, radius: float) -> I64:
    """Return the records u of (1) as whole numbers; columns without a scale are 0."""
    live = scale > 0
    u = np.zeros(X.shape)
    u[:, live] = np.clip((X[:, live] - centre[live]) / scale[live], -CLIP, CLIP)
    return shorten(u, radius)


def shorten(u: F64, radius: float) -> I64:
    """Return records of this length at most, in units of 2^-12; rounding is towards zero, so that none is longer."""
    length = np.sqrt(np.square(u).sum(axis=1))
    cut = radius / np.maximum(length, radius) * (1 << BITS)
    found: I64 = np.trunc(u * cut[:, None]).astype(np.int64)
    return found


def sum_products(u: I64) -> I64:
    """Return sum_i u_i u_i', exactly."""
    total = np.zeros((u.shape[1], u.shape[1]), dtype=np.int64)
    for start in range(0, len(u), ROWS):
        block = u[start : start + ROWS].astype(np.float64)
        total += (block.T @ block).astype(np.int64)
    return total


def clear_noise(A: F64, t: float) -> F64:
    """Return C of (3) to (5) from A with noise of deviation t beside its diagonal."""
    a = np.maximum(1.0 + (np.diag(A) - 1.0) * PRIOR / (PRIOR + 2.0 * t * t), LEAST)  # (3)
    edge, beside = 2.0 * t * np.sqrt(len(A)), A - np.diag(np.diag(A))
    low = np.zeros_like(A)
    for _ in range(FACTORINGS):
        w, U = np.linalg.eigh(beside + np.diag(np.minimum(np.diag(low), a)))
        kept = np.where(w > edge, 0.5 * (w + np.sqrt(np.maximum(w * w - edge * edge, 0.0))), 0.0)  # (4)
        low = (U * kept) @ U.T
    b = low + np.diag(np.maximum(a - np.diag(low), 0.0))
    ratio = np.sqrt(a / np.diag(b))
    C: F64 = b * np.outer(ratio, ratio)  # (5)
    return C


def root_of(C: F64) -> F64:
    """Return the symmetric root of a matrix without negative eigenvalues."""
    w, U = np.linalg.eigh(C)
    root: F64 = (U * np.sqrt(np.maximum(w, 0.0))) @ U.T
    return root


def draw_normals(seed: int, count: int, columns: int) -> F64:
    """Return the z of (6), a line for each point."""
    z: F64 = ndtri(uniform(public_words(seed, count * columns))).reshape(count, columns)
    return z
