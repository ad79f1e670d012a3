"""Folds: rows dealt out class by class; the class that decision values choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def dealt(codes: I64, folds: int, seed: int | Sequence[int]) -> I64:
    """The fold of every row: each class is shuffled and dealt round, from a fold drawn by lot; codes below 0 are no rows."""
    rng = np.random.default_rng(seed)
    fold = np.zeros(len(codes), dtype=np.int64)
    for code in range(int(codes.max(initial=-1)) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        fold[rows] = (np.arange(len(rows)) + rng.integers(folds)) % folds
    return fold


def chosen(values: F64) -> I64:
    """Which class the decision values choose: by sign if there is one column, else the largest."""
    return np.asarray(values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1), dtype=np.int64)


def votes(values: F64, pairs: Sequence[tuple[int, int]], classes: int) -> F64:
    """One-versus-one: the number of duels won, and below one vote the sum of the values, as scikit-learn has it."""
    won, sure = np.zeros((len(values), classes)), np.zeros((len(values), classes))
    for k, (i, j) in enumerate(pairs):
        won[:, i] += values[:, k] >= 0
        won[:, j] += values[:, k] < 0
        sure[:, i] += values[:, k]
        sure[:, j] -= values[:, k]
    return won + sure / (3.0 * (np.abs(sure) + 1.0))


def staged(codes: I64, fold: I64, shares: Sequence[float], seed: int | Sequence[int]) -> I64:
    """From which stage on a row takes part, if stage s has this share of the rows of every class and fold; shares rise to 1."""
    rng = np.random.default_rng(seed)
    stage = np.full(len(codes), len(shares) - 1, dtype=np.int64)
    for code in range(int(codes.max(initial=-1)) + 1):
        for q in range(int(fold.max(initial=-1)) + 1):
            rows = rng.permutation(np.flatnonzero((codes == code) & (fold == q)))
            ends = np.ceil(np.asarray(shares) * len(rows) - 1e-9)
            stage[rows] = np.searchsorted(ends, np.arange(len(rows)), side="right")
    return stage
