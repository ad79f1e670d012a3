"""Repeated release: which record came in between two models of the same training.

    d(x) = |s_1(x) - s_0(x)|      how much more or less sure of x the later model is than the earlier one

Whoever has both models, and candidates for the record that was added or removed, calls the one with the largest d.
Nothing but the two models is used, and no run is listened to, so no rule about the sums of a run stops it: only noise
in the models does, and letting many records come and go between two releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.attacks.learners import Point, Points, list_learners
from tacit.attacks.twins import Train, measure_sureness

TRIALS = 12
COUNTS = (5, 10, 20, 40)  # candidates in the study


@dataclass(frozen=True)
class Releases:
    """d of the candidates of every trial, the record that came in between first."""

    d: F64

    def share_first(self, candidates: int) -> float:
        """Return how often the record is the first of so many candidates; a guess is, one time in so many."""
        return float(np.mean(self.d[:, 0] > self.d[:, 1:candidates].max(axis=1)))


def repeated_release(earlier: Any, later: Any, candidates: Any, y: Array) -> F64:
    """Return d(x) of every candidate; the record that only one of the models has learnt from has the largest."""
    return np.abs(measure_sureness(later, candidates, y) - measure_sureness(earlier, candidates, y))


def try_releases(train: Train, X: F64, y: Array, *, candidates: int, trials: int = TRIALS, seed: int = 0) -> Releases:
    """Train with and without one of the candidates, again and again, and compare the two models on all of them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(trials):
        order = rng.permutation(len(X))
        pool, rest = order[:candidates], order[candidates:]
        both = (rest, np.append(rest, pool[0]))  # at the end, where it moves no other row
        earlier, later = (train(X[rows], y[rows], 0) for rows in both)
        found.append(repeated_release(earlier, later, X[pool], y[pool]))
    return Releases(np.array(found))


def study(X: F64, y: I64) -> Points:
    """Yield how often the record is the first of so many candidates."""
    for learner in list_learners():
        found = try_releases(learner.train, X, y, candidates=max(COUNTS))
        for candidates in COUNTS:
            yield Point(learner.name, candidates, found.share_first(candidates))
