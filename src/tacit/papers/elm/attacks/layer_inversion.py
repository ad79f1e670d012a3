"""ELM inversion: who knows the weights of the hidden layer and sees it can work out the records.

    S = X W + b,   so X = (S - b) W^+           exact as soon as there are as many nodes as columns that are not known

In the paper's protocol the coordinator draws W and sees S (003, section 4, steps 1 and 6). It would not help if it kept
H = g(S) only: sigmoid and tanh are inverted, a rectifier is wherever it is positive, and rbf nodes give squared
distances, which are linear in x and |x|^2. With signs every node says on which side of a plane the record lies;
logistic regression finds where, the better the more nodes there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from tacit.arrays import F64, I64

STEPS, SHARP = 60, 20.0  # of the regression on signs: Newton steps, and how steep a side is


@dataclass(frozen=True)
class Inversion:
    """The reconstructed table, and how wrong it is on what was not known, relative to its size."""

    records: F64
    error: float


def judge(records: F64, truth: F64, known: I64) -> Inversion:
    """Return the reconstruction with its error; `truth` only measures, on the records that were not known."""
    unknown = np.setdiff1d(np.arange(len(truth)), known)
    return Inversion(records, relative(records[unknown], truth[unknown]))


def relative(found: F64, truth: F64) -> float:
    """Return the size of what is wrong, over that of the truth."""
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def elm_inversion(
    seen: F64, W: F64, b: F64, truth: F64, *, activation: str = "linear", known: I64 | None = None
) -> Inversion:
    """Reconstruct all records from the hidden layer, its weights, and the known columns of `truth`.

    activation: "linear" if S itself is seen, else what was applied to it.
    """
    given = np.empty(0, dtype=np.int64) if known is None else known
    open_ = np.setdiff1d(np.arange(truth.shape[1]), given)
    records = truth.copy()
    records[:, open_] = _solve(seen, W[open_], W[given], b, truth[:, given], activation)
    return Inversion(records, relative(records[:, open_], truth[:, open_]))


def _solve(seen: F64, W: F64, W_given: F64, b: F64, given: F64, activation: str) -> F64:
    """Return the columns that are not known."""
    if activation == "rbf":
        return _from_squares(-np.log(seen) * (len(W) + len(W_given)), W, W_given, given)
    offset = given @ W_given + b
    if activation == "sign":
        return np.array([_from_sides(s, W, o) for s, o in zip(seen, offset, strict=True)])
    if activation == "relu":
        return np.array([_least(W[:, h > 0], (h - o)[h > 0]) for h, o in zip(seen, offset, strict=True)])
    back = {"linear": np.asarray, "sigmoid": logit, "tanh": np.arctanh}[activation]
    return np.asarray(_least(W, (back(seen) - offset).T).T)


def _least(W: F64, values: F64) -> F64:
    """Return the x of W'x = values, by least squares."""
    return np.asarray(np.linalg.lstsq(W.T, values, rcond=None)[0])


def _from_squares(squares: F64, W: F64, W_given: F64, given: F64) -> F64:
    """Return x from |x - w|^2 = |x|^2 - 2 w.x + |w|^2, with |x|^2 as one unknown more."""
    squares = squares - np.square(given[:, :, None] - W_given).sum(axis=1) - np.square(W).sum(axis=0)
    return np.asarray(_least(np.vstack([-2.0 * W, np.ones(W.shape[1])]), squares.T)[:-1].T)


def _from_sides(sides: F64, W: F64, offset: F64) -> F64:
    """Return one record from its signs by logistic regression on the planes.

    The steepness stands for how far the record may be from them.
    """
    x, signed = np.zeros(len(W)), W * sides
    for _ in range(STEPS):
        p = expit(-SHARP * (signed.T @ x + sides * offset))
        slope = SHARP * signed @ p - x * 1e-3
        bend = SHARP**2 * (signed * (p * (1.0 - p))) @ signed.T + np.eye(len(x)) * 1e-3
        step = np.linalg.solve(bend, slope)
        x = x + step * min(1.0, 1.0 / max(float(np.linalg.norm(step)), 1e-12))
    return x
