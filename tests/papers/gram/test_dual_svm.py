"""The SVM from its kernel matrix equals scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from tacit.errors import LocalError
from tacit.numeric.svm.kernels import count_problems, problems
from tacit.papers.dual_svm import dual_objective, solve
from tacit.papers.machine import value_classes

RNG = np.random.default_rng(11)
X = RNG.normal(size=(90, 4))
NOISE = RNG.normal(size=90)
BINARY = (X[:, 0] - X[:, 1] + 0.7 * NOISE > 0).astype(np.int64)
THREE = np.digitize(X[:, 0] + 0.5 * NOISE, [-0.5, 0.5])
K = rbf_kernel(X, gamma=0.4)
NEW = rbf_kernel(RNG.normal(size=(30, 4)), X, gamma=0.4)
TIGHT = {"multi_class": "ovr", "tol": 1e-8, "max_iter": -1}
WEIGHT = np.linspace(0.1, 3.0, 90)


def values(found, kernel=NEW):
    return kernel @ found.coef.T + found.bias


def test_two_classes_and_one_against_the_rest_equal_scikit_learn():
    for C, weight in ((0.1, None), (20.0, None), (1.5, WEIGHT)):
        svc = SVC(C=C, kernel="precomputed", tol=1e-8)
        got = values(solve(K, BINARY, weight, C=C, **TIGHT))
        np.testing.assert_allclose(
            got[:, 0], svc.fit(K, BINARY, sample_weight=weight).decision_function(NEW), atol=1e-7
        )
        if weight is None:
            rest = OneVsRestClassifier(svc).fit(K, THREE).decision_function(NEW)
            np.testing.assert_allclose(values(solve(K, THREE, None, C=C, **TIGHT)), rest, atol=1e-7)


@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(90) % 4])
def test_pairs_are_those_of_scikit_learns_svc_to_the_last_step(weight):
    five = np.digitize(X[:, 0] + 0.5 * NOISE, [-1.0, -0.3, 0.3, 1.0])
    pairs = values(solve(K, five, weight, C=2.0, multi_class="ovo", tol=1e-3, max_iter=-1))
    svc = SVC(C=2.0, kernel="precomputed", decision_function_shape="ovo").fit(K, five, sample_weight=weight)
    np.testing.assert_allclose(pairs, svc.decision_function(NEW), atol=1e-12)
    svc.decision_function_shape = "ovr"
    np.testing.assert_allclose(value_classes(pairs, "ovo"), svc.decision_function(NEW), atol=1e-12)


def test_a_class_that_wins_no_more_pairs_is_chosen_by_its_summed_values():
    """Each of three wins one pair; the values 0 and 0.2 are the first of a pair's, as in scikit-learn."""
    pairs = np.array([[0.2, -0.1, 3.0], [0.0, 1.0, -1.0]])
    np.testing.assert_array_equal(value_classes(pairs, "ovo").argmax(axis=1), [1, 0])
    np.testing.assert_array_equal(value_classes(pairs, "ovr"), pairs)


def test_as_many_problems_are_counted_as_there_are():
    for classes in range(2, 30):
        for multi_class in ("ovr", "ovo"):
            assert len(problems(classes, multi_class)) == count_problems(classes, multi_class)
        shape = value_classes(np.ones((2, count_problems(classes, "ovo"))), "ovo").shape
        assert shape == (2, classes if classes > 2 else 1)


def test_the_solution_is_feasible_and_the_least_of_all():
    for codes, positives in ((BINARY, [1]), (THREE, [0, 1, 2])):
        got = solve(K, codes, WEIGHT, C=2.0, **TIGHT)
        for coef, p, objective in zip(got.coef, positives, got.objective, strict=True):
            d = np.where(codes == p, 1.0, -1.0)
            assert ((coef * d >= 0) & (np.abs(coef) <= 2.0 * WEIGHT + 1e-12)).all()
            assert abs(coef.sum()) < 1e-9
            a = coef * d
            assert objective == pytest.approx(0.5 * a @ (np.outer(d, d) * K) @ a - a.sum(), rel=1e-12)
    got, rng = solve(K, BINARY, None, C=2.0, **TIGHT), np.random.default_rng(0)
    up, down = np.flatnonzero(BINARY == 1), np.flatnonzero(BINARY == 0)
    for _ in range(200):
        coef = got.coef[0].copy()
        i, j, step = rng.choice(up), rng.choice(down), rng.uniform(-0.5, 0.5)
        coef[i], coef[j] = np.clip(coef[i] + step, 0, 2), np.clip(coef[j] - step, -2, 0)
        if abs(coef.sum()) < 1e-9:
            assert dual_objective(K, coef) >= got.objective[0] - 1e-9
    assert dual_objective(K, np.zeros(90)) == 0.0


def test_a_weight_of_two_is_a_record_twice_and_of_zero_one_left_out():
    for weight in (np.where(np.arange(90) % 4 == 0, 2.0, 1.0), np.where(np.arange(90) % 3 == 0, 0.0, 1.0)):
        times = np.repeat(np.arange(90), weight.astype(int))
        got = solve(K, BINARY, weight, C=0.8, **TIGHT)
        repeated = solve(K[np.ix_(times, times)], BINARY[times], None, C=0.8, **TIGHT)
        np.testing.assert_allclose(values(got), values(repeated, NEW[:, times]), atol=1e-6)
        assert got.objective[0] == pytest.approx(repeated.objective[0], abs=1e-7)
        assert not got.coef[0][weight == 0].any()


def test_classes_without_weight_or_without_another_class_are_refused_and_codes_may_be_any():
    for codes in (BINARY, THREE):
        for zero in (codes == 1, codes >= 0):
            with pytest.raises(LocalError, match="has no record of positive weight: give every class some weight"):
                solve(K, codes, np.where(zero, 0.0, 1.0), C=1.0, **TIGHT)
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        solve(K, np.zeros(90, dtype=np.int64), None, C=1.0, **TIGHT)
    got, shifted = (solve(K, codes, None, C=1.0, **TIGHT) for codes in (BINARY, BINARY * 3 + 2))
    assert np.array_equal(got.coef, shifted.coef)
