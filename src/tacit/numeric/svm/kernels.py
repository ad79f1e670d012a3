"""Kernels computed from dot products alone, so that whoever holds a gram block needs no record.

linear      x.z
poly        (gamma x.z + coef0)^degree
rbf         exp(-gamma |x - z|^2),  |x - z|^2 = x.x + z.z - 2 x.z
sigmoid     tanh(gamma x.z + coef0)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.errors import LocalError
from tacit.numeric.devices import in_place

KERNELS = ("linear", "poly", "rbf", "sigmoid")


@dataclass(frozen=True)
class Kernel:
    """A kernel with its numbers; `gamma` is not used by the linear one, and may be one for each column of K."""

    name: str
    gamma: Any = 1.0
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


# How several classes become problems of two, and how what these say becomes a value for each class.
#
# Two classes are one problem, in which the second is positive, as in scikit-learn. k > 2 classes are
#
#     "ovr"   k problems: class i is positive, all others together negative; the largest value chooses
#     "ovo"   k (k - 1) / 2 problems, pairs i < j: i is positive, j negative, and all other records are in none of it;
#             the class of the most won pairs is chosen, and among those the one of the largest summed values:
#             scikit-learn's SVC(break_ties=True)


OVR, OVO = "ovr", "ovo"
REST = -1  # in place of a negative class: all others

Pairs = tuple[tuple[int, int], ...]


def problems(classes: int, multi_class: str) -> Pairs:
    """Return which class stands against which in every problem; -1 is the rest."""
    if classes == 2:  # noqa: PLR2004 - one problem
        return ((1, 0),)
    if multi_class == OVO:
        return tuple(combinations(range(classes), 2))
    return tuple((k, REST) for k in range(classes))


def count_problems(classes: int, multi_class: str) -> int:
    """Return how many problems so many classes are."""
    if classes == 2:  # noqa: PLR2004 - one problem
        return 1
    return classes * (classes - 1) // 2 if multi_class == OVO else classes


def signs_of(codes: I64, pairs: Pairs) -> I8:
    """Return the side of every record in every problem: +1, -1, or 0 where it is in neither class."""
    signs = np.zeros((len(codes), len(pairs)), dtype=np.int8)
    for k, (positive, negative) in enumerate(pairs):
        signs[:, k] -= (codes == negative) if negative >= 0 else (codes != positive)
        signs[:, k] += codes == positive
    return signs


CUTOFF = 1e-10  # of the largest eigenvalue, of either sign


def kernel_matrix(X: F64, L: F64, kernel: Kernel) -> F64:
    """Return the kernel matrix K(X, L)."""
    return kernel.from_dots(X @ L.T, np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", L, L))


def basis_of(centres: F64, kernel: Kernel, cutoff: float = CUTOFF) -> F64:
    """Return U Lambda^-1/2 of (3.6), largest eigenvalue first."""
    values, U = np.linalg.eigh(kernel_matrix(centres, centres, kernel))
    kept = np.flatnonzero(values > cutoff * np.abs(values).max())[::-1]
    return np.ascontiguousarray(U[:, kept] / np.sqrt(values[kept]))
