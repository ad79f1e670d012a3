"""Records as integer rows q of bounded length, |q|^2 <= R^2, by a map that says nothing of the data.

    linear     q = trunc(G (1, z)), shortened to R                                                                 (1)
    rbf        q = (B, c cos p_1, ..., c sin p_1, ...), p = z W,  W normal with variance 2 gamma, public     (2)

z are scaled records (`scaling`). Everything is exact: phases are sums of products of integers below 2^53, cosines stand
in a table, lengths are compared in integers. So a row depends on its own record alone, and not, by the rounding of a
matrix product, on how many stand beside it.

Source: Rahimi and Recht, NIPS 2007 (2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.numeric.features.feature_map import fourier_weights
from tacit.numeric.privacy.scaling import Scale, mark_finite, scale_records

R = 4096
BIAS = 1228  # B of (2): three tenths of R
TIGHT = 0.5  # of the usual length of a scaled record: longer rows are shortened to R, which costs less than noise does
GRID = 256  # of a scaled value in a phase
TURN = 1 << 24  # a full turn of a phase
ANGLES = 1 << 12  # entries of the table of cosines
BLOCK = 1 << 22  # entries of a temporary


@dataclass(frozen=True)
class Features:
    """A map of scaled records to rows: linear, or of so many pairs of a cosine and a sine."""

    scale: Scale
    kernel: str
    gamma: float
    seed: int
    pairs: int

    @property
    def columns(self) -> int:
        """How many columns a record has."""
        return len(self.scale.centre)

    @property
    def size(self) -> int:
        """How many entries a row has."""
        return 1 + (self.columns if self.kernel == "linear" else 2 * self.pairs)

    @property
    def stretch(self) -> float:
        """G of (1)."""
        return R / (TIGHT * math.sqrt(self.columns + 1))

    @property
    def height(self) -> int:
        """The length c of a pair of (2)."""
        return math.isqrt((R * R - BIAS * BIAS) // self.pairs)

    @property
    def frequencies(self) -> F64:
        """W of (2), drawn from the public seed."""
        return np.asarray(fourier_weights(self.seed, self.columns, self.pairs, self.gamma)[0])

    def rows(self, X: F64) -> F64:
        """Return the rows of records: whole numbers, all zero where a record is blank."""
        step = max(1, BLOCK // self.size)
        made = [self._some(X[i : i + step]) for i in range(0, len(X), step)]
        return np.concatenate(made) if made else np.empty((0, self.size))

    def _some(self, X: F64) -> F64:
        z = scale_records(X, self.scale)
        made = self._line(z) if self.kernel == "linear" else self._waves(z)
        return made * mark_finite(X)[:, None]

    def _line(self, z: F64) -> F64:
        return shorten(np.trunc(np.column_stack([np.ones(len(z)), z]) * self.stretch), R)  # (1)

    def _waves(self, z: F64) -> F64:
        turns = np.rint(self.frequencies * (TURN / (2 * np.pi * GRID)))
        phase = np.mod(np.rint(z * GRID) @ turns, TURN)  # exact: sums of whole numbers below 2^53
        at = (phase // (TURN // ANGLES)).astype(np.intp)
        cosine = np.trunc(self.height * np.cos(2 * np.pi * np.arange(ANGLES) / ANGLES))
        sine = np.roll(cosine, ANGLES // 4)
        return np.column_stack([np.full(len(z), float(BIAS)), cosine[at], sine[at]])  # (2)

    def expect_products(self) -> F64:
        """Return the mean of q q' / R^2 over records whose scaled values are normal: public, and so are its errors."""
        if self.kernel == "linear":
            return np.asarray(np.eye(self.size) / self.size)
        W = self.frequencies
        length, dots = np.einsum("ij,ij->j", W, W), W.T @ W
        apart = np.exp(-(length[:, None] + length - 2 * dots) / 2)
        along = np.exp(-(length[:, None] + length + 2 * dots) / 2)
        none, mean = np.zeros_like(dots), BIAS * self.height * np.exp(-length / 2)
        square = self.height**2 / 2
        first = np.concatenate([[float(BIAS) ** 2], mean, np.zeros(self.pairs)])
        waves = np.block([[square * (apart + along), none], [none, square * (apart - along)]])
        return np.asarray(np.block([[first[:1, None], first[None, 1:]], [first[1:, None], waves]]) / R**2)


def shorten(rows: F64, most: int) -> F64:
    """Return rows of whole numbers with lengths of `most` at most: longer ones point in the same direction."""
    squares = np.einsum("ij,ij->i", rows, rows)  # exact: whole numbers below 2^53
    factor = np.minimum(1.0, most / np.sqrt(np.maximum(squares, 1.0)))
    short: F64 = np.trunc(rows * factor[:, None])
    over = np.einsum("ij,ij->i", short, short) > most * most  # by the rounding of the factor
    short[over] = np.trunc(short[over] * (1 - 2.0**-20))
    return short
