"""The resolvent of a matrix from squares alone.

A matrix in shares is cheap to square and dear to multiply with another one. With eigenvalues 0 <= x <= kappa,

    f(x) = 1 / (1 + x)  ~  c_0 + sum_j c_(j+1) p_j(x),      p_0 = 1 - x / kappa,      p_(j+1) = p_j^2               (1)

p_j is nearly exp(-2^j x / kappa), and a sum of such exponentials comes near 1 / (1 + x) at every scale at once. Errors
count by 1 / sqrt(f), which lies between absolute and relative ones, or by 1 / f where what they leave is solved for
again. The fewest levels are taken that come below the error that is asked for.

Every holder multiplies its own shares by the weights c, so that all sites must find the same ones to the last bit, on
whatever machine. So nothing here goes through BLAS, whose sums have another order on another processor: products are
taken entry by entry, and sums by `math.fsum`, which rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tacit.arrays import F64
from tacit.errors import LocalError

ERROR = 1e-4
LEAST = 100.0  # kappa below which there are too few different squares; a larger kappa is as true
LEVELS = 30
GRID = 400
OCTAVE, BELOW = 16, 6  # points of an octave of x, and how many octaves below 1 there are
BITS, LARGEST = 24, 2.0  # fraction bits of a weight, and the size that none reaches


@dataclass(frozen=True)
class Squares:
    """How a resolvent is made: the weights c as integers of `BITS` fraction bits, and the largest error of (1)."""

    kappa: float
    weights: tuple[int, ...]
    error: float

    @property
    def levels(self) -> int:
        """How often p is squared."""
        return len(self.weights) - 2


@cache
def choose_squares(kappa: float, most: float = ERROR) -> Squares:
    """Return the fewest levels that are exact enough for eigenvalues up to kappa."""
    i = np.arange(GRID + 1) / GRID
    x = kappa * np.unique(np.concatenate([i, i * i * i]))
    least = math.frexp(kappa)[1] - 1  # with fewer the last exponential has not fallen where x is 1
    for levels in range(max(1, least), LEVELS + 1):
        found = _fit(levels, x, kappa, np.sqrt(1.0 + x))
        if found.error <= most:
            return found
    raise LocalError(f"the kernel's eigenvalues may reach {kappa:.3g} times its ridge: lower C, or scale the columns")


@cache
def choose_relative(kappa: float, most: float, least: int = 1) -> Squares:
    """Return the fewest levels, but `least`, whose error relative to 1 / (1 + x) is small enough.

    Where so many do not fit a small kappa, those beyond what does have the weight 0.
    """
    i = 1.0 - np.arange(OCTAVE) / (2 * OCTAVE)
    octaves = math.frexp(kappa)[1] + BELOW
    x = kappa * np.concatenate([[0.0], *(np.ldexp(i, -j) for j in range(octaves))])
    for levels in range(max(least, math.frexp(kappa)[1] - BELOW), LEVELS + 1):
        found = _fit(levels, x, kappa, 1.0 + x)
        if found.error <= most:
            return found
    if least == 1:
        raise LocalError(f"eigenvalues may reach {kappa:.3g} times alpha: raise alpha")
    fewer = choose_relative(kappa, most)
    return replace(fewer, weights=(*fewer.weights, *[0] * (least - fewer.levels)))


def evaluate_squares(levels: int, x: F64, kappa: float) -> list[F64]:
    """Return 1, p_0, p_1, ... of (1) at these eigenvalues."""
    columns = [np.ones_like(x), 1.0 - x / kappa]
    for _ in range(levels):
        columns.append(columns[-1] * columns[-1])
    return columns


def add_squares(weights: Sequence[int], columns: Sequence[F64]) -> F64:
    """Return the sum of (1)."""
    total = np.zeros_like(columns[0])
    for c, column in zip(weights, columns, strict=True):
        total = total + math.ldexp(c, -BITS) * column
    return total


def _fit(levels: int, x: F64, kappa: float, by: F64) -> Squares:
    """Return the weights of least squares, rounded to integers, and the largest error that they leave."""
    f, columns = 1.0 / (1.0 + x), evaluate_squares(levels, x, kappa)
    weights = _solve_least_squares([column * by for column in columns], f * by)
    whole = tuple(round(math.ldexp(c, BITS)) for c in weights)
    error = float(np.abs((add_squares(whole, columns) - f) * by).max())
    return Squares(kappa, whole, error if max(map(abs, weights)) < LARGEST else math.inf)


def _solve_least_squares(columns: Sequence[F64], target: F64) -> list[float]:
    """Return the weights of the columns that come nearest to the target, by Gram and Schmidt, twice for each column."""
    directions: list[F64] = []
    upper = np.zeros((len(columns), len(columns) + 1))
    for j, column in enumerate((*columns, target)):
        rest = column
        for _ in range(2):
            for i, direction in enumerate(directions):
                along = math.fsum(direction * rest)
                upper[i, j] += along
                rest = rest - along * direction
        if j < len(columns):
            upper[j, j] = math.sqrt(math.fsum(rest * rest))
            directions.append(rest / upper[j, j])
    weights = [0.0] * len(columns)
    for j in reversed(range(len(columns))):
        later = math.fsum(upper[j, i] * weights[i] for i in range(j + 1, len(columns)))
        weights[j] = float((upper[j, -1] - later) / upper[j, j])
    return weights
