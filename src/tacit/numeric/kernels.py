"""Kernels computed from dot products alone, so that whoever holds a gram block needs no record.

linear      x.z
poly        (gamma x.z + coef0)^degree
rbf         exp(-gamma |x - z|^2),  |x - z|^2 = x.x + z.z - 2 x.z
sigmoid     tanh(gamma x.z + coef0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import LocalError

F64 = NDArray[np.float64]
KERNELS = ("linear", "poly", "rbf", "sigmoid")


@dataclass(frozen=True)
class Kernel:
    """A kernel with its numbers; `gamma` is not used by the linear one."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise LocalError(f"unknown kernel {self.name!r}: use one of {', '.join(KERNELS)}")

    def from_dots(self, dots: F64, rows: F64, columns: F64) -> F64:
        """K from dots = A B', with rows = |a_i|^2 and columns = |b_j|^2; `dots` is overwritten."""
        if self.name == "linear":
            return dots
        if self.name == "rbf":
            dots *= 2.0
            dots -= rows[:, None]
            dots -= columns
            np.minimum(dots, 0.0, out=dots)  # rounding can make a squared distance negative
            dots *= self.gamma
            return np.exp(dots, out=dots)
        dots *= self.gamma
        dots += self.coef0
        return np.power(dots, self.degree, out=dots) if self.name == "poly" else np.tanh(dots, out=dots)

    def slopes(self, norms: F64) -> F64:
        """Numbers s with |dK_ij| <= sqrt(s_i s_j) |dG_ij| where x_i . x_i = norms_i; 0 for sigmoid, which is indefinite by itself."""
        if self.name == "poly" and self.degree:
            return np.asarray(self.degree * self.gamma * (self.gamma * np.abs(norms) + abs(self.coef0)) ** (self.degree - 1))
        # a distance is made of three dot products, one of them twice
        return np.full(len(norms), {"linear": 1.0, "rbf": 4.0 * self.gamma}.get(self.name, 0.0))


def gamma_of(gamma: float | str, columns: int, cells: int, total: float, squares: float) -> float:
    """scikit-learn's 'scale' and 'auto' as a number, from how many cells there are, their sum and their sum of squares."""
    if gamma == "auto":
        return 1.0 / columns
    if gamma != "scale":
        return float(gamma)
    variance = squares / cells - (total / cells) ** 2 if cells else 0.0
    # a constant table has a variance of nothing but rounding
    return 1.0 / (columns * variance) if variance > 1e-12 * (squares / max(cells, 1)) else 1.0
