"""Rows of linear SVMs at a holder, and the sums over some of them that are cuts: (2) of `cutting_plane`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, Array, State

OUTSIDE = 2.0  # the margin of a row that is not in a problem: never violated


class Rows(State):
    """What a holder brings along: features, signs (0: not a row of that problem), positive weights."""

    F: Array
    signs: NDArray[np.int8]
    weight: F64


def class_sums(rows: Rows) -> F64:
    """Return (2) of the two classes of every problem: two lines for each."""
    problems = np.repeat(np.arange(rows.signs.shape[1]), 2)
    V = np.stack([rows.signs > 0, rows.signs < 0], axis=2).reshape(len(rows.F), len(problems))
    return sums_of(rows, problems, V)


def origin(rows: Rows) -> F64:
    """Return the margins at w = 0, b = 0."""
    return np.where(rows.signs == 0, OUTSIDE, 0.0)


def margins(rows: Rows, problems: I64, w: F64, b: F64) -> F64:
    """Return the margin of every row in every one of these problems under its model."""
    values = (rows.F @ w.T.astype(rows.F.dtype)).astype(np.float64) + b
    signs = rows.signs[:, problems]
    return np.where(signs == 0, OUTSIDE, signs * values)


def sums_of(rows: Rows, problems: I64, V: NDArray[np.bool_]) -> F64:
    """Return a, d and c of (2), a line for each column of V, all in one pass over F."""
    weight = np.where(V, rows.weight[:, None], 0.0)
    signed = weight * rows.signs[:, problems]
    a = signed.T.astype(rows.F.dtype) @ rows.F
    return np.column_stack([a, signed.sum(axis=0), weight.sum(axis=0)]).astype(np.float64, copy=False)


def alone(rows: Rows) -> tuple[Rows]:
    """Return the rows as the one table of a training."""
    return (rows,)
