"""Machines with epsilon: what one record changes in their sums, and what the best attack on whole trainings finds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.federation.part import Part
from tacit.numeric.privacy import newton
from tacit.numeric.privacy.accountant import epsilon_of, most_found
from tacit.numeric.privacy.descent import S, find_diagonal
from tacit.numeric.privacy.newton import NUMBERS, PRODUCTS, STEPS, Frame
from tacit.numeric.privacy.scaling import R
from tacit.protocols.features.landmarks import standard_distribution
from tacit.protocols.features.maps import PublicMap, map_layer
from tacit.protocols.learners.private import Private, frame_map, map_rows, multiply, sum_slopes
from tacit.protocols.learners.svm import choose_map
from tacit.protocols.noisy.noisy_sum import Budget, agree_on_budget
from tacit.protocols.parameters import AnyKernel

CLASSES = ("a", "b", "c")
ODD = np.array([
    [1e300, -1e300, 1e-300], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [-5e5, 3.0, 2.0**-16], [np.nan, 1.0, 1.0],
    [np.inf, 0.0, 0.0], [4.0, -4.0, 4.0], [-0.1, 77.0, 1e9],
])  # fmt: skip
POINTS = standard_distribution(3, 1)
MAPS = {
    **{
        name: choose_map(POINTS, AnyKernel(kernel=name, gamma=0.3, degree=3, coef0=1.0), 9)
        for name in ("rbf", "poly", "linear")
    },
    "layer": map_layer("sigmoid", 7, 1.0, 1, 3),
}
PRIVATE = {
    "two": Private(classes=CLASSES[:2], class_weight={"a": 2.0}),
    "three": Private(classes=CLASSES),
    "logistic": Private(classes=CLASSES[:2], probability=True),
    "numbers": Private(classify=False, target_range=(-1.0, 3.0)),
}
TRIALS, FALSE, DELTA = 4000, 1e-3, 0.01  # runs of each table, the probability that a bound fails, of the claim


def table(private: Private) -> Part:
    X = np.concatenate([np.random.default_rng(5).normal(size=(40, 3)), ODD])
    weight = np.resize([1.0, 3.0, np.nan, -1.0, 0.5], len(X))
    labels = np.resize(np.array([*CLASSES, "rare"]), len(X))
    numbers = np.resize([1.0, -1e9, np.nan, 3.0, 0.2], len(X))
    return Part(X, labels if private.classify else numbers, weight, (), None)


def blanked(part: Part, i: int) -> Part:
    X = part.X.copy()
    X[i] = np.nan
    return dataclasses.replace(part, X=X)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("aim", PRIVATE)
def test_a_record_changes_no_sum_by_more_than_noise_is_made_for_and_no_other_row_at_all(kind: str, aim: str) -> None:
    private, the_map = PRIVATE[aim], MAPS[kind]
    part, frame = table(private), frame_map(the_map, private, 3)
    own = map_rows(part, the_map, frame, private)
    models = [np.random.default_rng(k).integers(-(4**k), 4**k, (frame.size, private.columns)) for k in (1, 9, 14)]
    on = find_diagonal(frame.size)
    changed = 0
    for i in range(len(part.X)):
        other = map_rows(blanked(part, i), the_map, frame, private)
        kept = np.arange(len(part.X)) != i
        np.testing.assert_array_equal(own.rows[kept], other.rows[kept])
        assert not other.rows[i].any()
        squares = [int(d) ** 2 for d in multiply(own) - multiply(other)]
        assert 2 * sum(squares) - sum(squares[k] for k in on) <= R**4  # twice (4): half as much on the diagonal
        for w in models:
            apart = (sum_slopes(own, w, private.loss) - sum_slopes(other, w, private.loss)).ravel()
            assert sum(int(d) ** 2 for d in apart) <= (S * R) ** 2
            changed += bool(apart.any())
    assert changed > 20


def describe_runs(rows: Any, targets: Any, budget: Budget, times: float, seed: int) -> Any:
    """Return noisy sums of many trainings from these rows, and the iterates that they were taken at.

    The noise is that of the honest holders, times a number that is 1 for a mechanism that is sound.
    """
    D, on = rows.shape[1], find_diagonal(rows.shape[1])
    once, each = budget.noise(R**4 // 2, PRODUCTS), budget.noise((S * R) ** 2, (1 - PRODUCTS) / STEPS)

    def noise(size: int, variance: int, tag: int) -> Any:
        keys = [bytes([seed, tag, k]) + bytes(29) for k in range(budget.honest)]
        return times * sum(draw_noise(key, TRIALS * size, variance).reshape(TRIALS, size) for key in keys)

    triangle = noise(D * (D + 1) // 2, once.variance, 0)
    triangle[:, on] += noise(D, once.variance, 1)
    A = newton.multiply_rows(rows) + triangle
    P = [newton.invert(a, once.deviation, newton.LEAST, NUMBERS) for a in A]
    w, steps = np.zeros((D, TRIALS), dtype=np.int64), []
    for k in range(STEPS):
        g = sums_at(rows, targets, w) + noise(D, each.variance, 2 + k).T
        steps.append((w, g))
        pairs = zip(w.T, g.T, P, strict=True)
        w = np.stack([newton.step(one[:, None], y[:, None], p, newton.LEAST, NUMBERS)[:, 0] for one, y, p in pairs], 1)
    return A, steps


def sums_at(rows: Any, targets: Any, w: Any) -> Any:
    values = newton.values_of(rows.astype(np.float64), w)
    return rows.T.astype(np.float64) @ newton.slopes_at(values, targets, np.ones(len(rows)), NUMBERS)


def likelihoods(seen: Any, tables: Any, budget: Budget) -> Any:
    """Return the logarithm of how much likelier a training is with the record than without: the best test there is."""
    A, steps = seen
    once, each = budget.noise(R**4 // 2, PRODUCTS), budget.noise((S * R) ** 2, (1 - PRODUCTS) / STEPS)
    spread = np.full(A.shape[1], 1.0 * budget.honest * once.variance)
    spread[find_diagonal(tables[0][0].shape[1])] *= 2.0

    def far(rows: Any, targets: Any) -> Any:
        total = ((A - newton.multiply_rows(rows)) ** 2 / spread).sum(axis=1)
        for w, g in steps:
            total = total + ((g - sums_at(rows, targets, w)) ** 2).sum(axis=0) / (budget.honest * each.variance)
        return total

    with_it, without = (far(*each) for each in tables)
    return (without - with_it) / 2.0


def found_epsilon(budget: Budget, times: float) -> tuple[float, bool]:
    """Return a lower bound of epsilon from many trainings, and whether any attack found more than mu allows."""
    rng = np.random.default_rng(0)
    others = np.round(rng.normal(size=(12, 2)) * R / 8).astype(np.int16)
    others[:3] = 0, R
    record = others[:1]  # as long as a row may be, and with another target than all others at its place
    tables = [
        (np.concatenate([others, each]), np.append(np.ones(12), -1.0)) for each in (record, np.zeros_like(record))
    ]
    scores = [
        likelihoods(describe_runs(*each, budget, times, seed), tables, budget) for seed, each in enumerate(tables)
    ]
    best, broken = 0.0, False
    for threshold in np.quantile(scores[1], (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)):
        hits, alarms = ((each > threshold).sum() for each in scores)
        least = float(beta.ppf(FALSE, hits, TRIALS - hits + 1))
        most = float(beta.ppf(1 - FALSE, alarms + 1, TRIALS - alarms))
        broken |= least > most_found(budget.mu, most)
        best = max(best, math.log(max(least - DELTA, 1e-9) / most))
    return best, bool(broken)


@pytest.mark.parametrize("honest", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_best_attack_on_whole_trainings_finds_no_more_than_epsilon_and_most_of_it(honest: int) -> None:
    budget = agree_on_budget(4.0, 1e-5, honest, holders=3, rows=100)
    claimed = epsilon_of(budget.mu, DELTA)
    found, broken = found_epsilon(budget, 1.0)
    assert 0.4 * claimed < found <= claimed
    assert not broken


def test_an_audit_finds_that_half_of_the_noise_is_missing() -> None:
    budget = agree_on_budget(4.0, 1e-5, 2, holders=3, rows=100)
    found, broken = found_epsilon(budget, 0.5)
    assert found > epsilon_of(budget.mu, DELTA)
    assert broken


def test_maps_and_frames_say_nothing_of_the_data() -> None:
    private = PRIVATE["two"]
    for the_map in MAPS.values():
        assert isinstance(the_map, PublicMap)
        frame = frame_map(the_map, private, 3)
        assert isinstance(frame, Frame)
        again = frame_map(the_map, private, 3)
        np.testing.assert_array_equal(frame.middle, again.middle)
        assert frame.stretch == again.stretch
