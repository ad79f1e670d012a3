"""Folds: rows dealt out class by class; the class that decision values choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import F64, I64, U64


def deal_folds(codes: I64, folds: int, seed: int | Sequence[int]) -> I64:
    """Return the fold of every row: each class is shuffled and dealt round, from a fold drawn by lot.

    Codes below 0 are no rows.
    """
    rng = np.random.default_rng(seed)
    fold = np.zeros(len(codes), dtype=np.int64)
    for code in range(int(codes.max(initial=-1)) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        fold[rows] = (np.arange(len(rows)) + rng.integers(folds)) % folds
    return fold


def deal_shares(kind: I64, key: U64, shares: Sequence[float], draw: np.random.Generator) -> I64:
    """Return to which part each row goes, where part s has about this share of the rows of every class.

    Rows of a class are ordered by their keys and cut.
    """
    part = np.zeros(len(kind), dtype=np.int64)
    for k in np.unique(kind):
        rows = np.flatnonzero(kind == k)
        ordered = rows[np.argsort(key[rows], kind="stable")]
        part[ordered] = np.repeat(np.arange(len(shares)), share_out(len(rows), shares, draw))
    return part


def share_out(count: int, shares: Sequence[float], draw: np.random.Generator) -> I64:
    """Return how many of `count` rows each part gets; what rounding leaves goes to the largest rests, or by lot."""
    ideal = count * np.asarray(shares, dtype=np.float64) / np.sum(shares)
    whole: I64 = np.floor(ideal + 1e-9).astype(np.int64)
    order = np.lexsort((draw.random(len(ideal)), -np.round(ideal - whole, 9)))
    whole[order[: count - int(whole.sum())]] += 1
    return whole


def choose_class(values: F64) -> I64:
    """Return which class the decision values choose: by sign if there is one column, else the largest."""
    return np.asarray(values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1), dtype=np.int64)


def votes(values: F64, pairs: Sequence[tuple[int, int]], classes: int) -> F64:
    """Return the duels won of one-versus-one, and below one vote the sum of the values, as scikit-learn has it."""
    won, sure = np.zeros((len(values), classes)), np.zeros((len(values), classes))
    for k, (i, j) in enumerate(pairs):
        won[:, i] += values[:, k] >= 0
        won[:, j] += values[:, k] < 0
        sure[:, i] += values[:, k]
        sure[:, j] -= values[:, k]
    return won + sure / (3.0 * (np.abs(sure) + 1.0))
