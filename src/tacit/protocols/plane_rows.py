"""Rows of linear SVMs at a holder, and the sums over some of them that are cuts: (2) of `cutting_plane`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, Array, State

Bits = NDArray[np.uint64]
OUTSIDE = 2.0  # the margin of a row that is not in a problem: never violated


class Rows(State):
    """What a holder brings along: features, signs (0: not a row of that problem), positive weights."""

    F: Array
    signs: NDArray[np.int8]
    weight: F64


def class_sizes(rows: Rows) -> F64:
    """Rows of each class, by problem."""
    return np.stack([(rows.signs == sign).sum(axis=0) for sign in (1, -1)], axis=1).astype(np.float64)


def class_sums(rows: Rows, both: I64) -> F64:
    """(2) for V = a class, or all rows and nothing where a class is small: two lines for each problem."""
    problems = np.repeat(np.arange(len(both)), 2)
    V = np.stack([y > 0 if two else y != 0 for y, two in zip(rows.signs.T, both, strict=True)], axis=1)
    W = np.stack([(y < 0) & bool(two) for y, two in zip(rows.signs.T, both, strict=True)], axis=1)
    return sums_of(rows, problems, np.stack([V, W], axis=2).reshape(len(rows.F), len(problems)))


def origin(rows: Rows) -> F64:
    """Margins at w = 0, b = 0."""
    return np.where(rows.signs == 0, OUTSIDE, 0.0)


def margins(rows: Rows, problems: I64, w: F64, b: F64) -> F64:
    """Of every row, in every one of these problems under its model."""
    values = (rows.F @ w.T.astype(rows.F.dtype)).astype(np.float64) + b
    signs = rows.signs[:, problems]
    return np.where(signs == 0, OUTSIDE, signs * values)


def sums_of(rows: Rows, problems: I64, V: NDArray[np.bool_]) -> F64:
    """a, d and c of (2), a line for each column of V, all in one pass over F."""
    weight = np.where(V, rows.weight[:, None], 0.0)
    signed = weight * rows.signs[:, problems]
    a = signed.T.astype(rows.F.dtype) @ rows.F
    return np.column_stack([a, signed.sum(axis=0), weight.sum(axis=0)]).astype(np.float64, copy=False)


def bits(sets: NDArray[np.bool_]) -> Bits:
    """Sets of rows, one to a line, 64 rows to a word."""
    padded = np.zeros((len(sets), -(-sets.shape[1] // 64) * 64), bool)
    padded[:, : sets.shape[1]] = sets
    return np.packbits(padded, axis=1).view(np.uint64)
