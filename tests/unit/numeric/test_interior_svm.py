"""The interior point gives scikit-learn's SVM, a bound that holds, and multipliers that are on their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from tacit.numeric.svm.interior_svm import balance_classes, solve


def records(rows: int = 200, seed: int = 0):
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(X))[:rows]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], np.where(y[chosen] == 1, 1.0, -1.0)


def objective(X, y, C, w, b):
    return 0.5 * w @ w + C @ np.maximum(0, 1 - y * (X @ w + b))


@pytest.mark.parametrize(("price", "columns"), [(0.01, 30), (1.0, 30), (50.0, 5), (50.0, 30)])
def test_it_is_no_worse_than_libsvm_and_its_bound_holds(price, columns):
    X, y = records()
    X, C = X[:, :columns], np.full(200, price)
    svc = SVC(kernel="linear", C=price, tol=1e-5).fit(X, y)
    found, reference = solve(X, y, C), objective(X, y, C, svc.coef_[0], svc.intercept_[0])
    assert found.bound <= found.objective <= reference * (1 + 1e-7)
    assert found.objective - found.bound <= 1e-6 * found.objective
    assert found.objective == pytest.approx(objective(X, y, C, found.weights, found.bias))


def test_the_multipliers_are_feasible_and_those_of_the_rows_beyond_the_margin_exactly_0():
    X, y = records()
    C = np.random.default_rng(1).uniform(0.1, 2, 200)
    found = solve(X, y, C)
    multipliers, margin = found.multipliers, y * (X @ found.weights + found.bias)
    assert ((multipliers >= 0) & (multipliers <= C)).all()
    assert abs(y @ multipliers) < 1e-9
    assert (multipliers[margin > 1 + 1e-4] == 0).all()
    assert (multipliers[margin < 1 - 1e-4] == C[margin < 1 - 1e-4]).all()
    np.testing.assert_allclose(X.T @ (y * multipliers), found.weights, atol=1e-5)


def test_rows_without_weight_might_as_well_not_be_there():
    X, y = records(120)
    C = np.where(np.arange(120) % 3 == 0, 0.0, 2.0)
    with_them, without = solve(X, y, C), solve(X[C > 0], y[C > 0], C[C > 0])
    np.testing.assert_allclose(with_them.weights, without.weights, atol=1e-6)
    assert not with_them.multipliers[C == 0].any()


def test_one_row_of_a_class_and_features_of_nothing_are_solved_too():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0])
    found = solve(X, y, np.full(3, 100.0))
    assert found.weights[0] == pytest.approx(2.0, abs=1e-5)
    assert found.bias == pytest.approx(-3.0, abs=1e-5)
    flat = solve(np.zeros((3, 2)), y, np.ones(3))
    assert flat.objective == pytest.approx(2.0, rel=1e-6)  # the one positive row is given up


def test_the_start_has_all_rows_at_their_bound_but_for_the_heavier_class():
    np.testing.assert_allclose(balance_classes(np.array([1.0, -1.0, -1.0]), np.array([1.0, 2.0, 2.0])), [1.0, 0.5, 0.5])
