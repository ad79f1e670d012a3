"""Gradient descent from noisy sums, with a preconditioner that is a noisy sum itself.

Rows q of whole numbers, |q| <= R (`features`); a model w of whole numbers, f = q.w / (R 2^16), so products are exact.

    A = sum q q'                one record, with noise 2v on the diagonal and v off it:
                                sum_i q_i^4 / 2v + sum_{i<j} q_i^2 q_j^2 / v = |q|^4 / 2v <= R^4 / 2v              (1)
    g = sum s q,   |s| <= S     one record: S R                                                                    (2)
    P = ((1 - k) A / n R^2 + k A0 + kappa)^-1                                                                      (3)
    w <- w + step P (g / n S R - w / C n),    and at the end the mean of the last iterates                         (4)

A0 is public: what (1) would be of normal records. kappa and k follow from the size of the noise, which is public.
s is the slope of the loss: for two classes a hinge that is rounded between margins 0 and 2, or the logistic loss, whose
values are log-odds; for more classes the softmax's, shortened to S. The steps of (4) are 1.5 times those that never
overshoot without noise: noise makes kappa large, and the way long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.numeric.privacy.scaling import R, shorten
from tacit.numeric.ring.triangle import unpack

S = 1024
ONE = 1 << 16  # of a weight
MOST = 1 << 36  # the length of a model: products stay below 2^53
STEPS = 8
KEPT = 4  # iterates whose mean is the model
LONG = 1.5
CALM = 0.25  # kappa in units of the noise
GRID, REACH = 256, 16  # of values in tables of exponentials: steps of 1/256, from -16 to 16
TWO = 2  # classes
CURVATURES = {"hinge": 0.5, "logistic": 0.25, "softmax": 0.5}  # how much the slope of each loss changes at most


@dataclass(frozen=True)
class Noise:
    """The standard deviation of the noise in (1) off the diagonal, and how many rows all holders have."""

    deviation: float
    rows: int


def loss_of(classes: int, *, probability: bool) -> str:
    """Return which loss is trained."""
    if classes > TWO:
        return "softmax"
    return "logistic" if probability else "hinge"


def multiply_rows(Q: F64) -> I64:
    """Return A of (1) as its lower triangle, row by row."""
    A = Q.T @ Q  # exact: whole numbers below 2^53
    return A[np.tril_indices(len(A))].astype(np.int64)


def find_diagonal(size: int) -> I64:
    """Return where the diagonal stands in a lower triangle."""
    return np.arange(size) * (np.arange(size) + 3) // 2


def values_of(Q: F64, w: I64) -> F64:
    """Return f of every row, exactly."""
    return (Q @ w.astype(np.float64)) / (R * ONE)


def slopes_of(values: F64, codes: I64, weight: F64, loss: str) -> F64:
    """Return s of every row: whole numbers, in one column for two classes, else in one for each.

    `weight` is from 0 to 1; of a row with a code of -1 it is 0.
    """
    if loss == "softmax":
        return shorten(np.rint(_softmax_slopes(values, codes) * weight[:, None]), S)
    sign = np.where(codes == 1, 1.0, -1.0)
    margin = values[:, 0] * sign
    size = np.clip((2.0 - margin) / 2.0, 0.0, 1.0) if loss == "hinge" else _logistic(-margin)
    return np.asarray((np.rint(S * size * weight) * sign)[:, None])


def _softmax_slopes(values: F64, codes: I64) -> F64:
    """Return S (y - p) with p from a table of whole numbers, so that a row's slope is its own."""
    below = np.clip(np.rint((values.max(axis=1, keepdims=True) - values) * GRID), 0, REACH * GRID).astype(np.intp)
    table = np.rint(np.exp(-np.arange(REACH * GRID + 1) / GRID) * (1 << 20))
    weights = table[below]
    total = weights.sum(axis=1, keepdims=True)  # exact
    hit = codes[:, None] == np.arange(values.shape[1])
    return np.asarray(S * (hit * total - weights) / total)


def _logistic(values: F64) -> F64:
    table = 1.0 / (1.0 + np.exp(-np.arange(-REACH * GRID, REACH * GRID + 1) / GRID))
    at = np.clip(np.rint(values * GRID), -REACH * GRID, REACH * GRID).astype(np.intp) + REACH * GRID
    return np.asarray(table[at])


def invert(triangle: F64, expected: F64, noise: Noise, C: float, loss: str) -> F64:
    """Return P of (3)."""
    size, scale = len(expected), noise.rows * float(R) ** 2
    spectral = 2 * math.sqrt(size) * noise.deviation / scale  # the length of a symmetric matrix of noise
    kept = spectral / (spectral + float(np.trace(expected)) / size)  # k
    mixed = (1 - kept) * unpack([triangle], size) / scale + kept * expected
    values, U = np.linalg.eigh(mixed)
    kappa = CALM * spectral + 1 / (CURVATURES[loss] * C * noise.rows)
    return np.asarray((U / (np.maximum(values, 0.0) + kappa)) @ U.T)


def descend(w: I64, gradient: F64, P: F64, rows: int, C: float, loss: str) -> I64:
    """Return the next iterate of (4)."""
    now = w / ONE
    ahead = P @ (gradient / (rows * S * float(R)) - now / (C * rows))
    return round_model(now + LONG / CURVATURES[loss] * ahead)


def round_model(w: F64) -> I64:
    """Return a model in whole numbers, short enough that products with rows are exact."""
    length = float(np.linalg.norm(w)) * ONE
    return np.rint(w * ONE * min(1.0, MOST / max(length, 1.0))).astype(np.int64)


def mean_of(iterates: list[I64]) -> I64:
    """Return the model: the mean of the last iterates."""
    last = iterates[-KEPT:]
    return np.asarray(sum(last) // len(last))
