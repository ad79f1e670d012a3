"""The hidden layer of an extreme learning machine as integer rows of bounded length, and what noisy sums of them give.

    q = s (B, G (h - o), F t),  shortened to |q| <= R        h = g(x W + b), t the targets, s^2 the weight <= 1    (1)
    M = sum q q'                   one record, with noise 2v on the diagonal: R^4 / 2v (`descent`)                 (2)
    A = H'H, C = H'T               follow from M, since h is a sum of two parts of q that are known up to M        (3)
    beta = (A+ + r I)^-1 C,        A+: A without negative eigenvalues,  r >= a part of the length of the noise     (4)

o is about the middle of what a node gives, so that noise need not hide what is public. Everything is exact: records and
weights are whole numbers, sums of their products stay below 2^53, and what a node does stands in a table. So a row
depends on its own record alone, and not, by the rounding of a matrix product, on how many stand beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.numeric.features.elm import Output, activate, solve
from tacit.numeric.privacy.features import R, shorten
from tacit.numeric.privacy.scaling import mark_finite
from tacit.numeric.ring.triangle import pack, unpack

CELL, FARTHEST = 10, 256.0  # bits of a value after the point, and where values are clipped
EXACT = 53 - 18  # bits that are left for sums over columns of one weight each
GRID, REACH = 1024, 16.0  # of sums in the tables of what nodes do
LIKELY = {"sigmoid": (0.5, 0.3), "tanh": (0.0, 0.75), "sign": (0.0, 1.0), "relu": (0.0, 0.9), "rbf": (0.25, 0.3)}
SHARES = {"bias": 0.1, "hidden": 0.6, "targets": 0.3}  # of R^2
CALM = 0.25  # the least ridge, in units of the length of the noise
BLOCK = 1 << 22  # entries of a temporary


@dataclass(frozen=True)
class Rows:
    """How records become the rows (1)."""

    W: F64
    b: F64
    activation: str
    scale: float
    outputs: int

    @property
    def offset(self) -> float:
        """The number o of (1)."""
        return LIKELY[self.activation][0]

    @property
    def bias(self) -> int:
        """The number B of (1); 0 where nothing follows from it."""
        return int(math.sqrt(SHARES["bias"]) * R) if self.offset else 0

    @property
    def stretch(self) -> float:
        """The number G of (1): rows of usual records are not shortened."""
        usual = LIKELY[self.activation][1] * (self.scale if self.activation == "relu" else 1.0)
        return math.sqrt(SHARES["hidden"]) * R / (usual * math.sqrt(len(self.b)))

    @property
    def unit(self) -> int:
        """The number F of (1)."""
        return int(math.sqrt(SHARES["targets"] / self.outputs) * R)

    @property
    def size(self) -> int:
        """How many entries a row has."""
        return 1 + len(self.b) + self.outputs

    def make(self, X: F64, T: F64, weight: F64) -> F64:
        """Return the rows of records with targets within -1 and 1: whole numbers, zeros where a record is blank."""
        blocks = [slice(i, i + BLOCK // self.size + 1) for i in range(0, len(X), BLOCK // self.size + 1)]
        made = [self._some(X[block], T[block], weight[block]) for block in blocks]
        return np.concatenate(made) if made else np.empty((0, self.size))

    def _some(self, X: F64, T: F64, weight: F64) -> F64:
        counts = (mark_finite(X) & mark_finite(T))[:, None]
        cells = np.rint(np.clip(np.where(counts, X, 0.0), -FARTHEST, FARTHEST) * 2**CELL)
        sums = self._distances(cells) if self.activation == "rbf" else self._products(cells)
        at = np.rint((np.clip(sums, -REACH, REACH) + REACH) * GRID).astype(np.intp)
        nodes = np.arange(-REACH * GRID, REACH * GRID + 1) / GRID
        table = np.rint(self.stretch * (activate(nodes, self.activation) - self.offset))
        targets = np.rint(self.unit * np.clip(np.where(counts, T, 0.0), -1.0, 1.0))
        rows = np.column_stack([np.full(len(X), float(self.bias)), table[at], targets])
        return shorten(np.rint(rows * np.sqrt(np.clip(weight, 0.0, 1.0))[:, None]) * counts, R)

    def _products(self, cells: F64) -> F64:
        largest = max(float(np.abs(self.W).max(initial=0.0)), 2.0**-20) * max(1, len(self.W))
        unit = 2.0 ** min(20, EXACT - 1 - math.ceil(math.log2(largest)))
        return np.asarray((cells @ np.rint(self.W * unit)) / (unit * 2**CELL) + self.b)  # exact before the division

    def _distances(self, cells: F64) -> F64:
        W = np.rint(np.clip(self.W, -FARTHEST, FARTHEST) * 2**CELL)
        squares = (cells**2).sum(axis=1)[:, None] - 2.0 * (cells @ W) + (W**2).sum(axis=0)  # exact: below 2^53
        return np.asarray(squares / (4.0**CELL * max(1, len(self.W))))

    def read(self, triangle: F64) -> tuple[F64, F64, F64]:
        """Return A and C of (3) and T'T, from the noisy sums M."""
        M, nodes = unpack([triangle], self.size), slice(1, 1 + len(self.b))
        last = slice(1 + len(self.b), None)
        A, C = M[nodes, nodes] / self.stretch**2, M[nodes, last] / (self.stretch * self.unit)
        if self.offset:
            s, t = M[nodes, 0] / (self.stretch * self.bias), M[0, last] / (self.bias * self.unit)
            A = A + self.offset * (s[:, None] + s) + self.offset**2 * M[0, 0] / self.bias**2
            C = C + self.offset * t
        return A, C, np.diag(M)[last] / self.unit**2

    def solve(self, triangle: F64, rows: int, deviation: float, ridge: float | str) -> Output:
        """Return the output weights (4); `deviation` is that of the noise in M off the diagonal."""
        A, C, squares = self.read(triangle)
        values, V = np.linalg.eigh(A)
        above = (V * np.maximum(values, 0.0)) @ V.T
        sums = np.concatenate([pack(above, 0), C.reshape(-1), np.maximum(squares, 0.0), [float(rows)]])
        nodes, outputs = C.shape
        least = CALM * 2 * math.sqrt(nodes) * deviation / self.stretch**2
        chosen = solve(sums, nodes, outputs, ridge).ridge if isinstance(ridge, str) else float(ridge)
        return solve(sums, nodes, outputs, max(chosen, least))
