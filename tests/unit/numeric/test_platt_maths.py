"""Platt's sigmoids: scikit-learn's answer on the same scores, also where there is little to find."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import _sigmoid_calibration

from tacit.numeric.scores.platt import MOST, advance, probabilities, sigmoids, start, sums


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("n", [20, 300])
def test_probabilities_are_those_of_scikit_learns_sigmoid(n, scale):
    rng = np.random.default_rng(n)
    y = rng.random(n) < 0.3
    f = scale * (rng.normal(size=n) + 1.5 * y)
    AB = sigmoids(f[:, None], y.astype(np.int64))
    reference = np.array([_sigmoid_calibration(f, y.astype(float))])
    np.testing.assert_allclose(probabilities(f[:, None], AB), probabilities(f[:, None], reference), atol=1e-6)


EDGES = {
    "separated": np.r_[np.linspace(-3, -1, 50), np.linspace(1, 3, 50)],
    "all the same": np.full(100, 0.7),
    "zero": np.zeros(100),
    "one apart": np.r_[np.full(99, 1.0), -1.0],
    "upside down": np.r_[np.linspace(1, 3, 50), np.linspace(-3, -1, 50)],
}


@pytest.mark.parametrize("name", EDGES)
def test_scores_that_say_everything_or_nothing_end_where_scikit_learn_does(name):
    f, y = EDGES[name], np.arange(100) >= 50
    AB = sigmoids(f[:, None], y.astype(np.int64))
    reference = np.array([_sigmoid_calibration(f, y.astype(float))])
    np.testing.assert_allclose(probabilities(f[:, None], AB), probabilities(f[:, None], reference), atol=1e-5)


def test_the_search_ends_within_its_rounds_and_no_step_is_uphill():
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.1
    f = 40 * rng.normal(size=500) * (1 + 3 * y)
    P, N = float(y.sum()), float((~y).sum())
    fit, losses = start(np.array([P]), np.array([N])), []
    for _ in range(MOST):
        fit = advance(fit, sums(f, y, P, N, fit.candidate[0])[None])
        losses.append(float(fit.loss[0]))
    assert fit.done.all()
    assert np.all(np.diff(losses) <= 0)


def test_several_classes_add_up_to_one_even_where_none_has_a_chance():
    values = np.array([[0.0, 1.0, -2.0], [-1e9, -1e9, -1e9]])
    p = probabilities(values, np.array([[-2.0, 0.0], [-1.0, 0.5], [-3.0, 0.0]]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[1], 1 / 3)
