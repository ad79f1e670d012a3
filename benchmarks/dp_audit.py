"""Audits of neighbouring tables: how well the best attack there is tells a noisy sum from that without one record.

    D = x - x'         what the record changes in a sum, as the protocol's own step makes it
    L = sum_j D_j e_j / s_j,   e the noise of t honest holders as the protocol adds it, of variance s_j t V         (1)
    d' = (mean of L with the record - mean without) / deviation of L,   which was promised to be mu at most        (2)

The attacker knows all records but one, and the noise of all but the honest holders: then (1) is the best test. Of all
records of a table with odd ones in it, the one is taken that changes the sum most.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.federation.part import Part
from tacit.numeric.privacy import columns, scaling, scores
from tacit.numeric.privacy.accountant import cost_of, variance_for
from tacit.protocols.noisy import noisy_columns, noisy_scores
from tacit.protocols.noisy.noisy_scores import Answered, Scored
from tacit.protocols.noisy.noisy_sum import add_noise

NAMES, BINS = ("a", "b", "c"), 8
ODD = ((1e300, -1e300, 1e-300), (0.0, 0.0, 0.0), (4.0, -4.0, 4.0), (np.inf, 0.0, 0.0), (-0.1, 77.0, 1e9))
BLOCK = 1 << 22  # draws at a time


@dataclass(frozen=True)
class Neighbours:
    """Two tables that differ in one record: what it changes, and for which squared length the noise is made.

    doubled: where noise of twice the variance is added.
    """

    name: str
    change: np.ndarray
    sensitivity: int
    doubled: np.ndarray


def list_neighbours() -> Iterator[Neighbours]:
    """Yield the sums of `noisy_columns` and `noisy_scores`, each with the record that shows most."""
    part = _table()
    low, high = np.array([-4.0, 0.0, -1.0]), np.array([4.0, 1e9, 1e-3])
    middle, half, count = (low + high) / 2, (high - low) / 2, columns.count_sensitivity(len(NAMES))
    declared = ((0.0, 1.0), (-4.0, 1.0), (1.0, 4.0))
    magnitude, present = scaling.magnitude_sensitivity(len(NAMES)), columns.present_sensitivity(len(NAMES))
    of_columns: tuple[tuple[str, Callable[[Part], Any], int], ...] = (
        ("magnitudes", lambda p: noisy_columns.count_magnitudes(p, NAMES), magnitude),
        ("moments", lambda p: noisy_columns.sum_present(p, NAMES, middle, half), present),
        ("histograms", lambda p: noisy_columns.count_bins(p, NAMES, low, high, BINS), count),
        ("values", lambda p: noisy_columns.count_values(p, NAMES, declared), count),
    )
    for name, step, most in of_columns:
        yield _worst(f"noisy_columns: {name}", step, [_blank(part, i) for i in range(len(part.X))], part, most)
    yield from _list_scores()


def _list_scores() -> Iterator[Neighbours]:
    rng = np.random.default_rng(1)
    codes, chosen = rng.integers(-1, 2, 30), rng.integers(0, 2, 30)
    scored = Scored(rng.normal(size=(30, 1)), codes, chosen)
    blanks: list[Any] = [dataclasses.replace(scored, codes=np.where(np.arange(30) == i, -1, codes)) for i in range(30)]
    most = scores.score_sensitivity(1)
    yield _worst("noisy_scores", lambda s: noisy_scores.count_scored(s, 2, BINS), blanks, scored, most)
    answered = Answered(np.array([4.0, -2.0, 1.0]), np.array([-2.0, 4.0, 1.0]))
    blanks = [Answered(np.where(np.arange(3) == i, np.nan, answered.targets), answered.answers) for i in range(3)]
    errors, most = (lambda a: noisy_scores.sum_errors(a, -2.0, 4.0, BINS)), scores.error_sensitivity()
    yield _worst("noisy_errors", errors, blanks, answered, most)


def _worst(
    name: str, step: Callable[[Any], Any], blanks: list[Any], whole: Any, most: int, doubled: np.ndarray | None = None
) -> Neighbours:
    """Return the neighbours that differ most, in units of the noise."""
    twice = np.zeros(0, dtype=np.int64) if doubled is None else doubled
    of_all = np.asarray(step(whole)).reshape(-1)
    changes = [of_all - np.asarray(step(each)).reshape(-1) for each in blanks]
    change = max(changes, key=lambda each: _square(each, twice))
    kept = np.flatnonzero(change)  # noise elsewhere tells nothing
    return Neighbours(name, change[kept], most, np.flatnonzero(np.isin(kept, twice)))


def _square(change: np.ndarray, doubled: np.ndarray) -> float:
    return float((change.astype(np.float64) ** 2 / _spread(change.size, doubled)).sum())


def _spread(size: int, doubled: np.ndarray) -> np.ndarray:
    made = np.ones(size)
    made[doubled] = 2.0
    return made


def audit(found: Neighbours, honest: int, trials: int) -> float:
    """Return d' of (2) in units of mu."""
    variance = variance_for(found.sensitivity, 1.0, honest)
    mu = math.sqrt(cost_of(found.sensitivity, variance, honest))
    weight = found.change / _spread(found.change.size, found.doubled)
    step = max(1, BLOCK // found.change.size)
    sizes = [min(step, trials - done) for done in range(0, trials, step)]
    without, seen = (
        np.concatenate([_see(found, weight, honest, variance, size, 2 * k + there) for k, size in enumerate(sizes)])
        for there in (0, 1)
    )
    seen = seen + weight @ found.change
    return float((seen.mean() - without.mean()) / math.sqrt((seen.var() + without.var()) / 2) / mu)


def _see(found: Neighbours, weight: np.ndarray, honest: int, variance: int, size: int, seed: int) -> np.ndarray:
    """Return (1) of so many sums, with the noise that holders add in earnest."""
    zeros = np.zeros((size, found.change.size), dtype=np.int64)
    places = (found.doubled + found.change.size * np.arange(size)[:, None]).reshape(-1)
    total = np.zeros_like(zeros)
    for holder in range(honest):
        total += add_noise(zeros, _Key(seed, holder), variance, places if places.size else None).view(np.int64)
    return np.asarray(total @ weight)


@dataclass(frozen=True)
class _Key:
    """What a holder's own pad would be: a key that differs by sum and holder."""

    seed: int
    holder: int

    def put_on(self, _: str, words: int) -> list[np.ndarray]:
        return [np.array([self.seed, self.holder, 20, *[0] * (words - 3)], dtype=np.uint64)]


def _table() -> Part:
    X = np.concatenate([np.random.default_rng(5).normal(size=(40, len(NAMES))), ODD])
    return Part(X, np.resize(np.array(["a", "b", "c", "rare"]), len(X)), None, NAMES, None)


def _blank(part: Part, i: int) -> Part:
    X = part.X.copy()
    X[i] = np.nan
    return dataclasses.replace(part, X=X)
