"""Backward elimination: how many features go in each round, where that leaves every feature, which subset is best.

With d features at first and `keep` at the end, `step` features go per round, or a share of those that are left:

    drop_t = min(max(1, floor(step left_t)), left_t - keep)          step < 1                         (1)
    drop_t = min(step, left_t - keep)                                step >= 1

So the rounds, and how many features are left in each, are known before anything is scored. Of the subsets on the way,
with accuracy a_t over n rows, the largest is chosen for which

    a_t >= a - sqrt(a (1 - a) / n),     a = max_t a_t                                                 (2)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import F64, I64


def schedule(features: int, keep: int, step: float) -> tuple[int, ...]:
    """Return how many features go in each round, (1)."""
    drops, left = [], features
    while left > keep:
        drops.append(min(max(1, int(step * left)) if step < 1 else int(step), left - keep))
        left -= drops[-1]
    return tuple(drops)


def sizes(features: int, drops: Sequence[int]) -> tuple[int, ...]:
    """Return how many features are left before the first round and after each."""
    return tuple(int(n) for n in features - np.cumsum([0, *drops]))


def subsets(features: I64, gone: Sequence[I64]) -> list[I64]:
    """Return what is left before the first round and after each; `gone` has one set per round."""
    left = [features]
    for each in gone:
        left.append(without(left[-1], each))
    return left


def without(features: I64, gone: I64) -> I64:
    """Return the features that stay, in their order."""
    return features[~np.isin(features, gone)]


def ranking(columns: int, features: I64, gone: Sequence[I64], chosen: int) -> I64:
    """Return the rank of every feature, as scikit-learn has it.

    1 for what is left after `chosen` rounds, then a rank per round, the last to go first, then all others.
    """
    ranks = np.full(columns, chosen + 2)
    ranks[features] = 1
    for t in range(chosen):
        ranks[gone[t]] = chosen + 1 - t
    return ranks


def best(scores: F64, rows: int) -> int:
    """Return the number of the largest subset whose accuracy is within one standard error of the best.

    Scores not taken are NaN. The ranking has seen the rows on which the accuracy is taken, which flatters small
    subsets: the largest is the safest.
    """
    top = float(np.nanmax(scores))
    return int(np.flatnonzero(scores >= top - np.sqrt(top * (1.0 - top) / max(rows, 1)))[0])  # (2)
