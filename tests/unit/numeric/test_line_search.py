"""Counts and losses along a line: against the direct computation at every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.numeric.line_search import BEYOND, CUTS, STEPS, along, best_steps, violating


def directly(margin, ahead, weight, steps):
    m = margin[:, None] + steps * (ahead - margin)[:, None]
    return (m < 1.0).sum(axis=0), (weight[:, None] * np.maximum(0.0, 1.0 - m)).sum(axis=0)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 60), st.sampled_from([0.01, 1.0, 1e4]))
def test_it_equals_every_row_at_every_step(seed, n, size):
    rng = np.random.default_rng(seed)
    margin, ahead, weight = size * rng.normal(size=n) + 1, size * rng.normal(size=n) + 1, rng.uniform(0.1, 3, n)
    counts, losses = along(margin, ahead, weight)
    expected = directly(margin, ahead, weight, STEPS)
    np.testing.assert_array_equal(counts, expected[0])
    np.testing.assert_allclose(losses, expected[1], rtol=1e-9, atol=1e-9 * max(1, n) * size)


# dyadic numbers, so that margins at dyadic steps are exact and rows stand on the margin itself
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-16, 24), st.integers(-16, 24)), max_size=30),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0]), min_size=1, unique=True),
)
def test_rows_on_the_margin_are_not_within_it_at_that_step(pairs, steps):
    margin, ahead = (np.array([p[i] / 8 for p in pairs]) for i in (0, 1))
    steps = np.sort(steps)
    counts, losses = along(margin, ahead, np.ones(len(pairs)), steps)
    expected = directly(margin, ahead, np.ones(len(pairs)), steps)
    np.testing.assert_array_equal(counts, expected[0])
    np.testing.assert_allclose(losses, expected[1], atol=1e-12)


@pytest.mark.parametrize(("m", "a", "first", "last"), [
    (0.5, 0.5, 1, 1), (1.0, 1.0, 0, 0), (2.0, 2.0, 0, 0), (0.0, 1.0, 1, 0), (1.0, 0.0, 0, 1), (1.0, 2.0, 0, 0), (0.0, 2.0, 1, 0),
    (2.0, 0.0, 0, 1),
])  # fmt: skip
def test_one_row_that_stays_rises_or_falls(m, a, first, last):
    counts, _ = along(np.array([m]), np.array([a]), np.ones(1), np.array([0.0, 1.0]))
    assert counts.tolist() == [first, last]


def test_no_rows_give_nothing():
    counts, losses = along(np.empty(0), np.empty(0), np.empty(0))
    assert counts.shape == losses.shape == STEPS.shape
    assert not counts.any()
    assert not losses.any()


def test_counts_are_of_the_sets_that_violating_gives():
    rng = np.random.default_rng(3)
    margin, ahead = rng.normal(size=500) + 1, 3 * rng.normal(size=500)
    counts, _ = along(margin, ahead, np.ones(500))
    np.testing.assert_array_equal(counts, [violating(margin, ahead, k).sum() for k in STEPS])
    np.testing.assert_array_equal(violating(margin, ahead, STEPS[:, None]).sum(axis=1), counts)


def test_a_loss_is_never_negative_however_large_the_margins():
    margin, ahead = np.array([1e15, -1e15, 3.0]), np.array([-1e15, 1e15, 1.5])
    assert along(margin, ahead, np.ones(3))[1].min() >= 0.0


def test_the_steps_start_at_nothing_pass_the_whole_way_and_go_beyond():
    assert STEPS[0] == 0.0
    assert np.all(np.diff(STEPS) > 0)
    assert {1.0, 3.0} <= set(STEPS[CUTS])
    assert STEPS[CUTS].min() >= 1 / 16


@pytest.mark.parametrize("best", [0, 5, int(np.flatnonzero(STEPS == 1.0)[0]), len(STEPS) - 1])
def test_the_cut_is_wanted_a_little_beyond_the_best_step_and_then_at_ever_farther_ones(best):
    objective = np.abs(np.arange(len(STEPS)) - best).astype(float)
    found, cuts = best_steps(objective)
    assert found == best
    assert sorted(cuts) == list(CUTS)
    away = np.abs(STEPS[cuts] - (STEPS[best] + BEYOND * (1 - STEPS[best])))
    assert np.all(np.diff(away) >= 0)
