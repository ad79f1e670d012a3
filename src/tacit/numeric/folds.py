"""Folds: rows dealt out class by class, and the class that decision values choose."""

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
