"""A grid of parameters.

Candidates by kernel and price, their scores, and who stays when most are dropped on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.errors import LocalError
from tacit.numeric.scores.metrics import accuracy, f1_scores, macro, recalls
from tacit.numeric.svm.kernels import Kernel

SCORINGS: Mapping[str, Callable[[F64], float]] = {  # of a confusion matrix; scikit-learn's names
    "accuracy": accuracy,
    "balanced_accuracy": lambda confusion: macro(recalls(confusion)),
    "f1": lambda confusion: float(np.nan_to_num(f1_scores(confusion)[1])),
    "f1_macro": lambda confusion: macro(f1_scores(confusion)),
}


VARIED = ("C", "kernel", "gamma", "degree", "coef0")  # what candidates may differ in


@dataclass(frozen=True)
class Grid:
    """Kernels, the prices of each in rising order, and of every candidate its kernel and the place of its price."""

    kernels: tuple[Kernel, ...]
    prices: tuple[tuple[float, ...], ...]
    places: tuple[tuple[int, int], ...]


def arrange(candidates: Sequence[tuple[Kernel, float]]) -> Grid:
    """Return the grid of these candidates: those that share a kernel share its map and its cuts."""
    kernels = tuple(dict.fromkeys(kernel for kernel, _ in candidates))
    prices = tuple(tuple(sorted({C for other, C in candidates if other == kernel})) for kernel in kernels)
    numbers = {kernel: k for k, kernel in enumerate(kernels)}
    return Grid(kernels, prices, tuple((numbers[kernel], prices[numbers[kernel]].index(C)) for kernel, C in candidates))


def check_candidates(candidates: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the candidates; raise if there are none, or if they differ in what all must share."""
    if not candidates:
        raise LocalError("there is no candidate to try: give the grid at least one value of each parameter")
    others = sorted({name for each in candidates for name in each} - set(VARIED))
    if others:
        raise LocalError(
            f"candidates may differ in {', '.join(VARIED)}, not in {', '.join(others)}: set that on the estimator"
        )
    return candidates


def check_scoring(scoring: str, classes: int | None = None) -> None:
    """Raise for a score that confusion counts do not tell."""
    if scoring not in SCORINGS:
        raise LocalError(f"unknown scoring {scoring!r}: counts that are summed give one of {', '.join(SCORINGS)}")
    if scoring == "f1" and classes not in {None, 2}:
        raise LocalError(f"scoring='f1' is for two classes, and there are {classes}: use 'f1_macro'")


def scores_of(confusion: F64, scoring: str) -> F64:
    """Return the score of every candidate in every fold, from a confusion matrix for each."""
    score = SCORINGS[scoring]
    return np.array([[score(each) for each in folds] for folds in confusion])


def first_best(scores: F64) -> int:
    """Return the candidate of the largest mean over the folds; of equals the first, as GridSearchCV has it."""
    return int(np.argmax(np.average(scores, axis=1)))


def best_of(scores: F64, keep: int) -> I64:
    """Return the numbers of the `keep` candidates of the largest means, in their old order; of equals the first."""
    return np.sort(np.argsort(-np.average(scores, axis=1), kind="stable")[:keep])


def schedule(candidates: int, factor: int) -> tuple[tuple[int, float], ...]:
    """Return how many candidates are tried on which share of the rows, stage by stage.

    Each time 1/factor of the candidates are tried on factor times the rows.
    """
    if factor < 2 or candidates < 2:  # noqa: PLR2004 - nothing to drop
        return ((candidates, 1.0),)
    last = math.floor(math.log(candidates, factor) + 1e-9)
    return tuple((math.ceil(candidates / factor**i), float(factor) ** (i - last)) for i in range(last + 1))
