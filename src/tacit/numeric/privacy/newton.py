"""Linear machines on any public map of records: whole rows of bounded length, and Newton steps from noisy sums.

    q = (G (z - o), B),  shortened to |q| <= R,  whole numbers            z: the features of a record                (1)
    A = sum q q'                one record, with noise 2v on the diagonal and v off it:  mu^2 = R^4 / 2v             (2)
    g = sum s q,   |s| <= S     one record: mu^2 = (S R)^2 / v,  in each of `STEPS` steps                            (3)
    w <- w + P (g / S R - a w) `LONG` / c,    P = (A+ / R^2 + r + a / c)^-1,    r = `CALM` times the noise in A      (4)

o and G follow from records of N(0, I), which anybody can draw: o is the mean of their features, and by G all but a few
of their rows have length R, because noise is as large for a short row as for a long one. A row is shortened with its
constant B, so that the side of a plane on which it lies is the same before and after. In (4) A+ is A without negative
eigenvalues, `2 sqrt(D)` deviations are the length of a noisy symmetric matrix, and c is the largest curvature of the
loss. The model is the mean of the last iterates, each of which shows less of its noise.

Slopes s are those of the loss: two classes have a hinge that is rounded between margins 0 and 2, or the logistic loss,
several the softmax's, shortened to S, and numbers t between -1 and 1 have t - f, cut to 1.

Rows, slopes and iterates are whole numbers whose products are exact, so that (2) and (3) hold without an allowance for
rounding: in sums of doubles one record could move the rounding of all others.

Source: ours; one matrix for many steps as in Ganesh, Haghifam, Steinke and Thakurta, NeurIPS 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64
from tacit.numeric.privacy.descent import CURVATURES, KEPT, LONG, ONE, S, round_model, slopes_of, values_of
from tacit.numeric.privacy.scaling import R, shorten
from tacit.numeric.ring.triangle import unpack

STEPS = 16
PRODUCTS = 0.12  # of mu^2, for A; the steps have the rest
CALM = 0.5  # of the length of the noise in A
CONSTANT = 0.25  # B, of R
LEAST = 1e-3  # a, if nobody gives one
TIGHT, LOOSE = 0.05, 0.95  # of usual rows are at most R long: where only the side of a plane counts, and elsewhere
FARTHEST = 256.0  # where values of columns are cut
LARGEST = 2.0**40  # of an entry of a row before it is shortened
BLOCK = 1 << 22  # entries of a temporary
NUMBERS = "numbers"  # the loss of a regression
I16 = NDArray[np.int16]


@dataclass(frozen=True)
class Frame:
    """How features become rows, (1): o, G and B."""

    middle: F64
    stretch: float
    bias: int

    @property
    def size(self) -> int:
        """How many entries a row has."""
        return len(self.middle) + 1

    def rows(self, Z: F64) -> F64:
        """Return the rows of records' features, whose last one is the constant."""
        V = np.clip(np.nan_to_num((Z[:, :-1] - self.middle) * self.stretch), -LARGEST, LARGEST)
        return shorten(np.trunc(np.column_stack([V, np.full(len(Z), float(self.bias))])), R)

    def unfold(self, w: I64) -> F64:
        """Return weights of features, the constant last, from those of rows."""
        real = w / (ONE * float(R))
        inner = real[:-1] * self.stretch
        return np.concatenate([inner, real[-1:] * self.bias - self.middle @ inner])


def frame_of(Z: F64, quantile: float) -> Frame:
    """Return the frame by the features of usual records, of which this part has rows of length R at most."""
    middle = Z[:, :-1].mean(axis=0)
    usual = float(np.quantile(np.sqrt(np.square(Z[:, :-1] - middle).sum(axis=1)), quantile))
    bias = int(CONSTANT * R)
    return Frame(middle, math.sqrt(R * R - bias * bias) / max(usual, 1e-9), bias)


def clean_records(X: F64, counts: NDArray[np.bool_]) -> F64:
    """Return records within bounds; zeros where a record does not count."""
    return np.clip(np.where(counts[:, None], X, 0.0), -FARTHEST, FARTHEST)


def multiply_rows(Q: I16) -> I64:
    """Return A of (2) as its lower triangle, row by row."""
    A = np.zeros((Q.shape[1], Q.shape[1]))
    for block in _blocks(Q):
        A += block.T @ block  # exact: whole numbers below 2^53
    return A[np.tril_indices(len(A))].astype(np.int64)


def sum_slopes(Q: I16, w: I64, targets: F64 | I64, weight: F64, loss: str) -> I64:
    """Return g of (3), a column for each problem; targets are codes of classes, or numbers between -1 and 1."""
    g, at = np.zeros(w.shape), 0
    for block in _blocks(Q):
        rows = slice(at, at + len(block))
        values = values_of(block, w)
        g += block.T @ slopes_at(values, targets[rows], weight[rows], loss)  # exact: whole numbers below 2^53
        at = rows.stop
    return g.astype(np.int64)


def slopes_at(values: F64, targets: F64 | I64, weight: F64, loss: str) -> F64:
    """Return s of every row: whole numbers, |s| <= S."""
    if loss != NUMBERS:
        return slopes_of(values, targets.astype(np.int64), weight, loss)
    return np.asarray(np.rint(S * np.clip(targets[:, None] - values, -1.0, 1.0) * weight[:, None]))


def invert(triangle: F64, deviation: float, a: float, loss: str) -> F64:
    """Return P of (4); `deviation` is that of the noise in A off the diagonal."""
    size = math.isqrt(2 * triangle.size)
    values, U = np.linalg.eigh(unpack([triangle], size) / float(R) ** 2)
    r = CALM * 2.0 * math.sqrt(size) * deviation / float(R) ** 2
    return np.asarray((U / (np.maximum(values, 0.0) + r + a / curvature_of(loss))) @ U.T)


def curvature_of(loss: str) -> float:
    """Return c of (4)."""
    return CURVATURES.get(loss, 1.0)


def step(w: I64, g: F64, P: F64, a: float, loss: str) -> I64:
    """Return the next iterate of (4)."""
    now = w / ONE
    return round_model(now + LONG / curvature_of(loss) * (P @ (g / (S * float(R)) - a * now)))


def mean_of(iterates: tuple[I64, ...]) -> I64:
    """Return the model: the mean of the last iterates."""
    last = iterates[-KEPT:]
    return np.asarray(sum(last) // len(last))


def _blocks(Q: I16) -> list[F64]:
    """Return rows in blocks, as doubles."""
    step = max(1, BLOCK // Q.shape[1])
    return [Q[i : i + step].astype(np.float64) for i in range(0, len(Q), step)]
