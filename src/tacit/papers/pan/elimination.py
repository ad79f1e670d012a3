"""Backward elimination: how many features go in each round, and where that leaves every feature.

    drop_t = min(max(1, floor(portion left_t)), left_t - least)          portion < 1                                (1)
    drop_t = min(portion, left_t - least)                                portion >= 1

The paper drops one feature a round; with thousands of features that is as many trainings. So the rounds are known
before anything is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import Result
from tacit.choreo.declaration import Number, Settings, Switch, parameter

MOST = 10_000  # features in a job


@dataclass(frozen=True, kw_only=True)
class Elimination(Settings):
    """How features are dropped, and whether the most accurate subset on the way is taken."""

    least_left: int = parameter(1, Number(1, MOST, whole=True), "how many features are left at the end", opens=True)
    portion: float = parameter(
        0.1, Number(0, MOST, above=True), "how many features go in a round; below 1 a share", opens=True
    )
    by_accuracy: bool = parameter(
        default=True, kind=Switch(), says="whether the subset of the best accuracy over folds is taken", opens=True
    )
    folds: int = parameter(5, Number(2, 100, whole=True), "over how many folds accuracies are", opens=True)

    def drops(self, features: int) -> tuple[int, ...]:
        """Return how many of these features go in each round, (1)."""
        found, left, least = [], features, min(self.least_left, features)
        while left > least:
            wanted = max(1, int(self.portion * left)) if self.portion < 1 else int(self.portion)
            found.append(min(wanted, left - least))
            left -= found[-1]
        return tuple(found)


class Eliminated(Result):
    """What a selection leaves: the features it began with, those that went in each round, which subset was taken.

    `accuracies` are over folds, of the subset before each round and the last one; NaN where none was needed.
    """

    features: I64
    gone: tuple[I64, ...]
    chosen: int
    accuracies: F64


def finish(features: I64, gone: Sequence[I64], accuracies: Sequence[float], by: Elimination) -> Eliminated:
    """Return the result: the most accurate subset, of equals the largest; or the last one."""
    scores = np.array(accuracies)
    chosen = int(np.argmax(scores)) if by.by_accuracy else len(gone)
    return Eliminated(features=features, gone=tuple(gone), chosen=chosen, accuracies=scores)


def drop_from(features: I64, gone: I64) -> I64:
    """Return the features that stay, in their order."""
    return features[~np.isin(features, gone)]


def list_subsets(found: Eliminated) -> list[I64]:
    """Return the subset before each round, and the last one."""
    left = [np.sort(found.features)]
    for gone in found.gone:
        left.append(drop_from(left[-1], gone))
    return left


def rank_features(columns: int, found: Eliminated) -> I64:
    """Return ranks as scikit-learn has them: 1 for what is taken, then a rank for each round, the last to go first."""
    ranks = np.full(columns, found.chosen + 2)
    ranks[found.features] = 1
    for t in range(found.chosen):
        ranks[found.gone[t]] = found.chosen + 1 - t
    return ranks
