"""ELM row space: the sum H'H of fewer rows than there are nodes gives the rows away.

    H'H v = 0  for v in its null space N,   so N'h(x) = 0 for every x among the rows, and for hardly any other x

Who knows the weights, as everybody does over rows, starts somewhere and searches for zeros of N'h(x). That is why
`elm_horizontal` wants at least as many rows as nodes in every sum that it opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from tacit.arrays import F64

NULL = 1e-10  # of the largest eigenvalue


@dataclass(frozen=True)
class Found:
    """Zeros that the search ended in, and the share of the true records that are among them."""

    records: F64
    share: float


def elm_row_space(
    A: F64, layer: Callable[[F64], F64], truth: F64, starts: int = 60, seed: int = 0, tolerance: float = 1e-4
) -> Found:
    """Search for records from H'H alone; `layer` is the public h, `truth` only tells which were found."""
    values, V = np.linalg.eigh(A)
    N = V[:, values < NULL * values[-1]]
    begin = np.random.default_rng(seed).normal(size=(starts, truth.shape[1]))
    ends = (
        [least_squares(lambda x: N.T @ layer(x[None])[0], x, max_nfev=100) for x in begin]
        if N.shape[1] >= truth.shape[1]
        else []
    )
    # a zero, but for rounding
    zeros = np.array([end.x for end in ends if end.cost < 1e-12]).reshape(-1, truth.shape[1])  # noqa: PLR2004
    hit = [bool(len(zeros)) and np.linalg.norm(zeros - record, axis=1).min() < tolerance for record in truth]
    return Found(zeros, float(np.mean(hit)))
