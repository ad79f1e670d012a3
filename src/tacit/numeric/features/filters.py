"""Which features pass the filters of paper 004, section 6.2.3: Fisher's score, Welch's t, between over within scatter.

Every filter passes the features that meet its own threshold: a score of at least `fisher` or `scatter`, a p-value of at
most `welch`; without a threshold, the `quota` features that it holds for the best, or all if there is none. The voted
set is what all filters pass, or two of the three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.numeric.features.relevance import fisher, order, scatter_ratio, welch, welch_p


@dataclass(frozen=True)
class Filters:
    """The thresholds, how many features pass a filter without one, and how many filters a feature must pass."""

    fisher: float | None = None
    welch: float | None = 0.01
    scatter: float | None = None
    quota: int | None = None
    votes: int = 3


def vote_features(sums: F64, by: Filters, error: float = 0.0) -> I64:
    """Return the voted set, weakest first, from the total of `class_sums`; the best feature if none passes."""
    scores = (fisher(sums, error), welch(sums, error), scatter_ratio(sums, error))
    ranks = np.sum([_ranks(each) for each in scores], axis=0)
    passing = (
        _top(scores[0], by.quota) if by.fisher is None else scores[0] >= by.fisher,
        _top(scores[1], by.quota) if by.welch is None else welch_p(sums, error) <= by.welch,
        _top(scores[2], by.quota) if by.scatter is None else scores[2] >= by.scatter,
    )
    weakest_first = np.lexsort((np.arange(len(scores[0])), ranks))
    chosen = [j for j in weakest_first if sum(passes[j] for passes in passing) >= by.votes]
    return np.array(chosen or weakest_first[-1:], dtype=np.int64)


def candidates(weakest_first: I64, number: int, trials: int) -> I64:
    """Return the weakest features, `number` by `number`: at most `trials` sets, one per row."""
    sets = min(trials, len(weakest_first) // number)
    return weakest_first[: sets * number].reshape(sets, number)


def _ranks(scores: F64) -> I64:
    """Return the rank of every score: 0 for the least, and equal ranks for equal scores."""
    return np.unique(scores, return_inverse=True)[1]


def _top(scores: F64, quota: int | None) -> Flags:
    return np.isin(np.arange(len(scores)), order(scores)[-(quota or len(scores)) :])
