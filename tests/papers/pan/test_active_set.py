"""The small quadratic programme: against SLSQP, by its optimality conditions, singular, degenerate, warm-started."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from tacit.papers.pan.active_set import solve


def cold(n, C):
    """Everything in the first variable, the slack."""
    x, free = np.zeros(n), np.zeros(n, bool)
    x[0], free[0] = C, True
    return x, free


def programme(seed, n=8, rank=4, C=2.0, features=1.0):
    """Cuts as they arise: a slack, then lines a with c > 0 and d of either sign."""
    rng = np.random.default_rng(seed)
    a, c, d = features * rng.normal(size=(n, rank)), rng.uniform(1, 10, n), rng.normal(size=n)
    a[0], c[0], d[0] = 0.0, 0.0, 0.0
    return a @ a.T, c, np.stack([np.ones(n), d]), np.array([C, 0.0])


def value(H, c, x):
    return 0.5 * x @ H @ x - c @ x


def check(H, c, E, r, found, tol=1e-7):
    """Feasible, and no price is negative, nor any but zero where x is not."""
    scale = max(1.0, np.abs(c).max(), 1e-8 * (np.abs(H) @ found.x).max())  # what H x loses to rounding
    price = H @ found.x - c + found.multipliers @ E
    assert found.x.min() >= 0
    assert not found.x[~found.free].any()
    np.testing.assert_allclose(E @ found.x, r, atol=1e-9 * max(1.0, np.abs(E).max()) * r.max())
    assert price.min() >= -tol * scale
    np.testing.assert_allclose(price[found.x > 1e-9 * r.max()], 0.0, atol=tol * scale)


@pytest.mark.parametrize("seed", range(12))
def test_the_minimum_is_that_of_slsqp(seed):
    n = 3 + seed
    H, c, E, r = programme(seed, n=n)
    found = solve(H, c, E, r, *cold(n, r[0]))
    check(H, c, E, r, found)
    other = minimize(
        lambda x: value(H, c, x), cold(n, r[0])[0], jac=lambda x: H @ x - c, bounds=[(0, None)] * n, method="SLSQP",
        constraints={"type": "eq", "fun": lambda x: E @ x - r, "jac": lambda _x: E},
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert value(H, c, found.x) <= other.fun + 1e-8 * max(1.0, abs(other.fun))
    assert value(H, c, found.x) >= other.fun - 1e-6 * max(1.0, abs(other.fun))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 25),
    st.integers(1, 6),
    st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
    st.sampled_from([1e-3, 1, 300]),
)
def test_any_programme_ends_at_a_point_that_satisfies_the_optimality_conditions(seed, n, rank, C, features):
    H, c, E, r = programme(seed, n, rank, C, features)
    check(H, c, E, r, solve(H, c, E, r, *cold(n, C)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 12), st.sampled_from([0.01, 1.0, 100.0]))
def test_equal_cuts_which_make_it_singular_change_nothing(seed, n, C):
    H, c, E, r = programme(seed, n=n, C=C)
    twice = np.concatenate([np.arange(n), np.random.default_rng(seed).integers(0, n, n)])
    once, again = (
        solve(H, c, E, r, *cold(n, C)),
        solve(H[np.ix_(twice, twice)], c[twice], E[:, twice], r, *cold(2 * n, C)),
    )
    check(H[np.ix_(twice, twice)], c[twice], E[:, twice], r, again)
    np.testing.assert_allclose(
        value(H[np.ix_(twice, twice)], c[twice], again.x), value(H, c, once.x), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("seed", range(6))
def test_without_any_curvature_it_is_a_linear_programme(seed):
    _, c, E, r = programme(seed, n=9)
    found = solve(np.zeros((9, 9)), c, E, r, *cold(9, r[0]))
    check(np.zeros((9, 9)), c, E, r, found)
    np.testing.assert_allclose(-c @ found.x, linprog(-c, A_eq=E, b_eq=r).fun, rtol=1e-9)


def test_an_equality_of_no_variable_at_all_is_no_obstacle():
    H, c, E, r = programme(0)
    E[1] = 0.0
    found = solve(H, c, E, r, *cold(len(c), r[0]))
    check(H, c, E, r, found)
    assert found.multipliers[1] == 0.0


def test_a_cut_that_the_equality_holds_at_zero_waits_for_its_counterpart():
    """The first cut of either sign alone can only be zero: a step of length nothing, with rounding in it."""
    H, E = np.diag([0.0, 1e3, 1e3]), np.array([[1.0, 1.0, 1.0], [0.0, 24.1, -12.3]])
    c, r = np.array([0.0, 1017.0, 900.0]), np.array([0.003, 0.0])
    found = solve(H, c, E, r, *cold(3, 0.003))
    check(H, c, E, r, found)
    np.testing.assert_allclose(found.x[1] * 24.1, found.x[2] * 12.3)
    assert found.x[1] > 1e-4


@pytest.mark.parametrize("features", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_units_of_features_and_price_do_not_matter(features, C):
    H, c, E, r = programme(3, n=20, rank=5, C=C, features=features)
    check(H, c, E, r, solve(H, c, E, r, *cold(20, C)), tol=1e-6)


def test_a_bias_bound_stands_outside_the_sum():
    H, c, E, r = programme(5, n=6)
    H, c = np.pad(H, (0, 2)), np.append(c, [-1e3, -1e3])
    E = np.column_stack([E, [0.0, 1.0], [0.0, -1.0]])
    E[1] = np.where(np.arange(8) < 6, np.abs(E[1]), E[1])  # without the bound only x = 0 but for the slack
    found = solve(H, c, E, r, *cold(8, r[0]))
    check(H, c, E, r, found)
    assert abs(found.multipliers[1]) <= 1e3 * (1 + 1e-9)


def test_a_warm_start_gives_what_a_cold_one_gives_in_fewer_steps(monkeypatch):
    import tacit.papers.pan.active_set as module  # noqa: PLC0415 - to count

    steps = []
    real = module._equality
    monkeypatch.setattr(module, "_equality", lambda *args: steps.append(1) or real(*args))
    H, c, E, r = programme(11, n=40, rank=15)
    x, free = cold(2, r[0])
    for n in range(2, 41):
        steps.clear()
        found = solve(H[:n, :n], c[:n], E[:, :n], r, x, free)
        x, free = np.append(found.x, 0.0), np.append(found.free, False)
    warm = len(steps)
    steps.clear()
    once = solve(H, c, E, r, *cold(40, r[0]))
    np.testing.assert_allclose(value(H, c, found.x), value(H, c, once.x), rtol=1e-10)
    assert warm < len(steps) / 3


def test_what_it_is_given_stays_as_it_was():
    H, c, E, r = programme(2)
    x, free = cold(len(c), r[0])
    copies = [v.copy() for v in (H, c, E, r, x, free)]
    solve(H, c, E, r, x, free)
    for before, after in zip(copies, (H, c, E, r, x, free), strict=True):
        np.testing.assert_array_equal(before, after)
