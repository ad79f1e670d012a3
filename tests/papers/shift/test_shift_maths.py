"""Shifts and rotations: 002's Table 1, what is drawn, and which columns are hidden badly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.papers.shift.formulas import CONFIDENCE, interval, narrow, rotation_of, shift_of, unit


def words(count: int, seed: int = 0):
    return np.random.default_rng(seed).integers(0, 2**64, size=count, dtype=np.uint64)


@pytest.mark.parametrize(
    ("kind", "told"), [("uniform", [1.0, 1.9, 1.98, 1.998]), ("gaussian", [1.349, 3.920, 5.152, 6.581])]
)
def test_interval_widths_are_those_of_table_1(kind, told):
    assert [round(interval(kind, 1.0, c), 3) for c in CONFIDENCE] == told
    assert interval(kind, 7.0, 0.95) == pytest.approx(7 * told[1], rel=1e-4)


@pytest.mark.parametrize(("kind", "law"), [("uniform", stats.uniform(-3, 6)), ("gaussian", stats.norm(0, 3))])
def test_shifts_follow_their_distribution(kind, law):
    drawn = shift_of(words(4000), np.full(4000, 3.0), kind)
    assert stats.kstest(drawn, law.cdf).pvalue > 0.01


def test_extreme_words_give_finite_shifts():
    edge = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert np.isfinite(shift_of(edge, np.ones(2), "gaussian")).all()
    assert 0 < unit(edge).min() < unit(edge).max() < 1


@pytest.mark.parametrize("d", [1, 2, 9])
def test_rotations_are_orthogonal_and_differ_from_key_to_key(d):
    Q = rotation_of(words(d * d), d)
    np.testing.assert_allclose(Q @ Q.T, np.eye(d), atol=1e-12)
    np.testing.assert_array_equal(Q, rotation_of(words(d * d), d))
    assert d == 1 or not np.allclose(Q, rotation_of(words(d * d, 1), d))


def test_columns_with_a_range_beyond_the_95_per_cent_interval_are_narrow():
    X = np.array([[0.0, 0.0, 5.0], [1.8, 2.0, 5.0]])
    np.testing.assert_array_equal(narrow(X, np.ones(3), "uniform"), [1])
    np.testing.assert_array_equal(narrow(X, np.ones(3), "gaussian"), [])
    assert narrow(X[:0], np.ones(3), "uniform").size == 0
