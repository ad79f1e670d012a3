"""The steps of a consensus over columns: ridge, margin with a bias, and the span of what was summed."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import LocalError
from tacit.numeric.consensus.columns import factor, hinge, kernel_values, own_kernel, ridge, spans, widen_span
from tacit.numeric.svm.kernels import Kernel

RNG = np.random.default_rng(0)


def by_bisection(d, y, C, k):
    low, high = -1e5, 1e5
    for _ in range(200):
        b = (low + high) / 2
        multipliers = np.clip(k * (1 - y * (d + b)), 0, C)
        low, high = (b, high) if y @ multipliers > 0 else (low, b)
    return multipliers


@pytest.mark.parametrize("k", [0.01, 1.0, 100.0])
def test_the_margin_step_is_that_of_a_bisection_for_every_problem(k):
    d, C = RNG.normal(size=(40, 3)), RNG.uniform(0, 5, size=(40, 1)) * np.ones(3)
    C[:4] = 0  # rows without weight
    y = np.where(RNG.random((40, 3)) < [0.1, 0.5, 0.9], 1.0, -1.0)
    y[5], y[6] = 1, -1
    multipliers, b = hinge(d, y, C, k)
    np.testing.assert_allclose((y * multipliers).sum(axis=0), 0, atol=1e-9)
    np.testing.assert_array_equal(multipliers, np.clip(k * (1 - y * (d + b)), 0, C))
    for j in range(3):
        np.testing.assert_allclose(multipliers[:, j], by_bisection(d[:, j], y[:, j], C[:, j], k), atol=1e-8)


def test_the_margin_step_takes_any_bias_where_all_are_at_their_bounds():
    multipliers, b = hinge(np.array([[9.0], [-9.0]]), np.array([[1.0], [-1.0]]), np.ones((2, 1)), 1.0)
    np.testing.assert_allclose(multipliers, 0, atol=1e-12)
    assert np.isfinite(b).all()


@pytest.mark.parametrize("linear", [True, False])
def test_the_ridge_step_minimises_what_it_should(linear):
    X, target, rho = RNG.normal(size=(30, 4)), RNG.normal(size=(30, 2)), 0.7
    A = X if linear else X @ X.T
    weights, c = ridge(A, factor(A, rho, linear=linear), target, linear=linear)
    w = weights if linear else X.T @ weights
    np.testing.assert_allclose(w, np.linalg.solve(np.eye(4) + rho * X.T @ X, rho * X.T @ target), atol=1e-10)
    np.testing.assert_allclose(c, X @ w, atol=1e-10)


def test_the_span_takes_up_what_is_new_and_nothing_else():
    X = RNG.normal(size=(20, 3))
    K, B, F = X @ X.T, np.empty((20, 0)), np.empty((20, 0))
    for p in RNG.normal(size=(6, 20)):
        B, F = widen_span(B, F, p, K @ p, 1e-10)
    assert B.shape == (20, 3)
    np.testing.assert_allclose(B.T @ K @ B, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-9)


def test_a_kernel_that_is_no_inner_product_is_refused():
    K = np.diag([1.0, -1.0, 1.0])
    with pytest.raises(LocalError, match="the kernel is no inner product on these records"):
        widen_span(np.empty((3, 0)), np.empty((3, 0)), np.array([0.1, 1.0, 0.1]), K @ np.array([0.1, 1.0, 0.1]), 1e-10)


def test_a_party_s_gamma_is_of_its_own_columns_and_a_party_without_columns_adds_nothing():
    X = RNG.normal(scale=3, size=(50, 4))
    assert own_kernel(Kernel("rbf"), "scale", X).gamma == pytest.approx(1 / (4 * X.var()))
    assert own_kernel(Kernel("rbf"), "auto", X).gamma == 0.25
    assert not kernel_values(own_kernel(Kernel("rbf"), "auto", X[:, :0]), X[:, :0], X[:, :0]).any()


def test_sums_span_the_columns_from_as_many_as_there_are():
    assert not spans(29, 30)
    assert spans(30, 30)
    assert spans(10, 30, problems=3)
