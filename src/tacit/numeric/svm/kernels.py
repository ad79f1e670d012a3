"""Kernels computed from dot products alone, so that whoever holds a gram block needs no record.

linear      x.z
poly        (gamma x.z + coef0)^degree
rbf         exp(-gamma |x - z|^2),  |x - z|^2 = x.x + z.z - 2 x.z
sigmoid     tanh(gamma x.z + coef0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.errors import LocalError
from tacit.numeric.devices import in_place

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

    def from_dots(self, dots: F64, rows: F64, columns: F64, xp: Any = np) -> F64:
        """Return K from dots = A B', with rows = |a_i|^2 and columns = |b_j|^2; `dots` is overwritten.

        `xp` has the functions for arrays of their device, NumPy's or others.
        """
        if self.name == "linear":
            return dots
        if self.name == "rbf":
            dots *= 2.0
            dots -= rows[:, None]
            dots -= columns
            dots = in_place(xp.clip, dots, None, 0.0)  # rounding can make a squared distance negative
            dots *= self.gamma
            return in_place(xp.exp, dots)
        dots *= self.gamma
        dots += self.coef0
        return in_place(xp.pow, dots, self.degree) if self.name == "poly" else in_place(xp.tanh, dots)

    def slopes(self, norms: F64) -> F64:
        """Return numbers s with |dK_ij| <= sqrt(s_i s_j) |dG_ij|, where x_i.x_i = norms_i.

        They are 0 for sigmoid, which is indefinite by itself.
        """
        if self.name == "poly" and self.degree:
            largest = self.gamma * np.abs(norms) + abs(self.coef0)
            return np.asarray(self.degree * self.gamma * largest ** (self.degree - 1))
        # a distance is made of three dot products, one of them twice
        return np.full(len(norms), {"linear": 1.0, "rbf": 4.0 * self.gamma}.get(self.name, 0.0))


def gamma_of(gamma: float | str, columns: int, cells: int, total: float, squares: float) -> float:
    """Return scikit-learn's 'scale' or 'auto' as a number, from the number, sum and sum of squares of all cells."""
    if gamma == "auto":
        return 1.0 / columns
    if gamma != "scale":
        return float(gamma)
    variance = squares / cells - (total / cells) ** 2 if cells else 0.0
    # a constant table has a variance of nothing but rounding
    return 1.0 / (columns * variance) if variance > 1e-12 * (squares / max(cells, 1)) else 1.0
