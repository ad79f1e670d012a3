"""Far queries: who asks an RBF model about records far out in some direction learns the outermost support vector.

With b = f(infinity), which one question tells, F = f - b is a sum of bells, one for each support vector. Far out in
direction u all of them are tiny, and all but the outermost tiny beside that one. Of a single bell the value and its
neighbours give the centre, whatever its height, column by column:

    F(z) = c exp(-gamma |z - x|^2)    so    log F(z + s e_j) - log F(z) = -gamma (2 s (z_j - x_j) + 1),  s = +-1  (1)

So n + 2 questions tell whoever asks, alone, a support vector: a record of somebody's. How exactly depends on how far
the second one lies behind, and on how far out an answer still has digits: at gamma |z - x|^2 = `depth` F is about
e^-depth. Asked at two depths, (1) gives the same x if there was one bell only, and otherwise does not: so who asks
knows what to believe.

Answers of three decimals leave a rough idea at most; a quota below n + 2 stops it, and so does refusing records far
outside the range of the training records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64

DEPTH, INFINITY = 25.0, 1000.0  # at e^-1000 no bell is left
NEARER = 0.8  # of the depth, where (1) is asked first


@dataclass(frozen=True)
class Bell:
    """A support vector as it was made out, and how far (1) at the two depths is apart."""

    record: F64
    doubt: float


def far_queries(directions: F64, gamma: float, reach: float, depth: float = DEPTH) -> F64:
    """Return what to ask: once at infinity, then twice n + 1 records for each direction of length 1.

    The training records lie within about `reach` of 0.
    """
    lengths = np.sqrt(depth * np.array([NEARER, 1.0]) / gamma) + reach
    # inwards, where answers are larger
    steps = [np.vstack([np.zeros_like(u), np.diag(np.where(u > 0, -1.0, 1.0))]) for u in directions]
    asked = [u * length + step for u, step in zip(directions, steps, strict=True) for length in lengths]
    return np.vstack([directions[0] * np.sqrt(INFINITY / gamma), *asked])


def bells(queries: F64, answers: F64, gamma: float) -> list[Bell]:
    """Return a support vector for each direction, where answers have the digits for it; the surest first."""
    n = queries.shape[1]
    asked, F = queries[1:].reshape(-1, 2, n + 1, n), (answers[1:] - answers[0]).reshape(-1, 2, n + 1)
    told = [(z, values) for z, values in zip(asked, F, strict=True) if np.all(values * values[0, 0] > 0)]
    return sorted((_bell(z, values, gamma) for z, values in told), key=lambda bell: bell.doubt)


def _bell(z: F64, F: F64, gamma: float) -> Bell:
    s = (z[0, 1:] - z[0, 0]).sum(axis=1)
    near, far = z[:, 0] + (np.log(F[:, 1:] / F[:, :1]) / gamma + 1.0) / (2.0 * s)  # (1)
    return Bell(far, float(np.linalg.norm(far - near)))


def nearest(record: F64, support: F64) -> float:
    """Return how far the nearest support vector is from what was found, relative to its size."""
    apart = np.linalg.norm(support - record, axis=1)
    return float(apart.min() / np.linalg.norm(support[apart.argmin()]))
