"""Columns that are nearly constant at a site: a few rows differ from all others, and would stand alone in every step.

A column whose values differ from the most frequent one in fewer than k rows of a site is constant there, from the
moment its records are made ready. A missing value counts as a value of its own. The most frequent value is the one that
more than half of the first 2 k rows have: with fewer than k rows unlike it there is no other.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, Array, Flags
from tacit.scratch import ROWS, blocks, is_on_disk, map_blocks
from tacit.sparse import Sparse, is_sparse


def level_rare(X: F64, least: int, owned: Array | None = None) -> F64:
    """Return the cells with every nearly constant column constant; as they are if there is none.

    owned: which cells are the site's own; None if all are.
    """
    rare, value = find_rare(X, least, owned)
    if not rare.any():
        return X
    if is_sparse(X):
        return X * np.where(rare & (value == 0), 0.0, 1.0)  # type: ignore[return-value]  # it stands for an array

    def level(block: F64) -> F64:
        return np.where(rare, value, block)

    if is_on_disk(X):
        return map_blocks(X, ROWS, level, X.shape[1])
    return level(X) if owned is None else np.where(owned, level(X), X)


def find_rare(X: F64, least: int, owned: Array | None = None) -> tuple[Flags, F64]:
    """Return which columns are nearly constant, and the most frequent value of each column."""
    width = X.shape[1]
    value, unlike = np.full(width, np.nan), np.zeros(width, dtype=np.int64)
    if least <= 1 or not len(X):
        return np.zeros(width, dtype=np.bool_), value
    for j in range(width) if owned is not None or is_sparse(X) else ():
        own = _column(X, j) if owned is None else X[owned[:, j], j]
        value[j] = _most_frequent(own[: 2 * least])
        unlike[j] = _count_unlike(own[:, None], value[[j]])[0]
    if owned is None and not is_sparse(X):
        value = np.array([_most_frequent(x) for x in np.array(X[: 2 * least]).T])
        unlike = sum((_count_unlike(block, value) for _, block in blocks(X, ROWS)), unlike)
    return np.asarray((unlike > 0) & (unlike < least)), value


def _column(X: Sparse | F64, j: int) -> F64:
    return X[:, j : j + 1].toarray().ravel()  # type: ignore[union-attr,no-any-return]  # sparse rows


def _most_frequent(x: F64) -> float:
    if not len(x):
        return np.nan
    values, counts = np.unique(x, return_counts=True)  # all gaps are one value
    return float(values[counts.argmax()])


def _count_unlike(block: F64, value: F64) -> Array:
    found: Array = ((block != value) & ~(np.isnan(block) & np.isnan(value))).sum(axis=0)
    return found
