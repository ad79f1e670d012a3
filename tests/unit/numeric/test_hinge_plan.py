"""The plan of the hinge in shares: what fits, what is refused, and that no value leaves its window in plain numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import LocalError
from tacit.numeric.shares.hinge_plan import (
    G_FACTOR,
    ROOM,
    S_BITS,
    Z_BITS,
    choose_exponent,
    choose_iterations,
    plan_hinge,
    suit_exponent,
)
from tacit.numeric.shares.squares import add_squares, evaluate_squares

RNG = np.random.default_rng(8)
N, D = 60, 4
SIZES = [((1, 1), 1, 1), ((700, 800, 500), 300, 1), ((50_000, 50_000), 300, 1), ((6_000, 4_000), 400, 26)]


def tables():
    """Rows of length 1 at most: equal ones, some that point to all sides, and one that is far from all others."""
    points = RNG.normal(size=(N, D))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return {"equal": np.full((N, D), 0.5), "all sides": points, "one apart": np.eye(D)[(np.arange(N) < 1).astype(int)]}


@pytest.mark.parametrize("labels", ["half", "one", "all"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", ["equal", "all sides", "one apart"])
def test_no_value_of_the_iteration_leaves_its_window(name, C, labels):
    plan, z = plan_hinge((N,), D, 1, C, iterations=150), tables()[name]
    y = np.where(np.arange(N) < {"half": N // 2, "one": 1, "all": N}[labels], 1.0, -1.0)
    rho, S = 2.0**plan.exponent, z.T @ z
    G = G_FACTOR * np.linalg.inv(np.eye(D) + rho * S)
    w = W = H = np.zeros(D)
    Sigma = np.zeros(N)
    most = dict.fromkeys(("X", "w", "SW", "sum"), 0.0)
    for _ in range(plan.iterations):
        X = y / plan.kappa + (y < 0) - (z @ W - Sigma)
        s = np.clip(X, 0, 1) - (y < 0)
        h, SW = z.T @ s, S @ (W - w)
        r = rho * (SW - H + 2 * h) - w
        found = {"X": X, "w": [*(3 * G @ r + 3 * w - W), *(G @ r + w)], "SW": SW, "sum": h}
        most = {key: max(most[key], float(np.abs(value).max())) for key, value in found.items()}
        w, W, H, Sigma = w + G @ r, 1.5 * (w + G @ r) - 0.5 * W, 1.5 * h - 0.5 * H, 1.5 * s - 0.5 * Sigma
    assert most["X"] < 2.0 ** (plan.window.I - 1) - 1
    assert most["w"] < 2.0 ** (ROOM - plan.w_bits - plan.g_bits - plan.below)
    assert most["SW"] < 2.0 ** (ROOM - plan.w_bits - plan.gram_bits)
    assert most["sum"] < 2.0 ** (plan.window.k - 2 - Z_BITS - S_BITS)


@pytest.mark.parametrize(("rows", "columns", "problems"), SIZES)
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
def test_all_bits_fit(rows, columns, problems, C):
    plan = plan_hinge(rows, columns, problems, C)
    assert plan.n == sum(rows)
    assert plan.lift >= 2
    assert plan.window.k <= 56
    assert Z_BITS + plan.short_bits + plan.lift == plan.window.F
    assert plan.short_bits <= plan.w_bits <= Z_BITS + S_BITS
    assert sum(plan.batches) == plan.iterations - 1
    assert max(plan.batches) * problems <= max(16, problems)


def test_the_weights_of_the_last_shares_add_up_to_one_and_continue_the_recursion():
    plan = plan_hinge((10, 10), 3, 1, 1.0)
    c = np.array(plan.weights) / 2.0**plan.window.s
    assert c.sum() == 1.0
    s, Sigma = RNG.uniform(-1, 1, 60), 0.0
    for each in s:
        Sigma = 1.5 * each - 0.5 * Sigma
    assert c @ s[::-1][: c.size] == pytest.approx(Sigma, abs=2.0 ** (2 - c.size))


@pytest.mark.parametrize("n", [2, 1000, 30_000, 400_000])
def test_no_eigenvalue_of_g_is_too_large_or_off_by_more_than_some_hundredths(n):
    plan = plan_hinge((n,), 10, 1, 1.0)
    x = 2.0**plan.shift * (np.arange(2001) / 2000) ** 3
    off = add_squares(plan.squares.weights, evaluate_squares(plan.squares.levels, x, 2.0**plan.shift)) * (1.0 + x)
    assert off.max() <= 1.0 + 1e-6
    assert off.min() >= 0.96
    assert 2.0**plan.shift >= 2.0**plan.exponent * n


def test_rho_and_iterations_follow_from_c():
    assert [choose_exponent(C, 1) for C in (0.1, 1.0, 10.0, 100.0)] == [-3, -1, 1, 3]
    assert choose_exponent(10.0, 6) == -1
    assert [choose_iterations(C) for C in (0.1, 1.0, 10.0, 100.0)] == [20, 20, 30, 45]


def test_one_unit_of_the_result():
    plan = plan_hinge((5, 5), 3, 2, 4.0)
    shares = RNG.integers(0, 2**64, (2, 6), dtype=np.uint64)
    shares[1] = np.arange(-3, 3).astype(np.int64).view(np.uint64) - shares[0]
    np.testing.assert_allclose(plan.decode(list(shares)), np.arange(-3, 3).reshape(3, 2) * plan.kappa / 2**plan.w_bits)
    assert plan.kappa == 4.0 / 2.0**plan.exponent


@pytest.mark.parametrize(
    ("rows", "C", "remedied"),
    [((10**6,), 100.0, ((10**5,), 100.0)), ((10**6,), 100.0, ((10**6,), 1.0)), ((4 * 10**6,), 1.0, ((10**6,), 1.0))],
)
def test_what_does_not_fit_is_refused_with_a_remedy_that_works(rows, C, remedied):
    with pytest.raises(
        LocalError, match=r"C=.* with .* rows leaves no room in 64 bits: take fewer rows, or a C nearer"
    ):
        plan_hinge(rows, 100, 1, C)
    few, price = remedied
    plan_hinge(few, 100, 1, price)


@pytest.mark.parametrize("wrong", [{"C": 0.0}, {"C": math.inf}, {"rows": (0, 0)}, {"longest": 5.0}, {"columns": 0}])
def test_nothing_to_train_on_is_refused(wrong):
    given = {"rows": (3, 4), "columns": 2, "problems": 1, "C": 1.0} | wrong
    with pytest.raises(LocalError, match="is nothing to train on: check them"):
        plan_hinge(**given)
    with pytest.raises(LocalError, match="0 iterations are too few: take at least 1"):
        plan_hinge((3, 4), 2, 1, 1.0, iterations=0)


def test_rows_that_take_no_part_have_room_below_all_others():
    for rows in ((100,), (20_000,), (100_000,)):
        plan = plan_hinge(rows, 50, 1, 1.0, partial=True)
        start = math.sqrt(2.0) * plan.n / 2 + math.sqrt(plan.n)
        outside = 3.0 * 1.1 * math.sqrt(0.5) * (start + math.sqrt(plan.n))
        assert outside + 1 <= 2.0 ** (plan.window.I - 2)


def test_sizes_of_openings_do_not_depend_on_the_measured_length_of_rows():
    sizes = set()
    for bits in range(-14, 8, 2):
        length = math.sqrt(1.5 * 2.0**bits)
        exponent = suit_exponent(3.0, 1, length)
        plan = plan_hinge((1000,), 50, 1, 3.0, longest=length, reach=length * 30, exponent=exponent, measured=True)
        sizes.add((plan.window.k, plan.squares.levels, plan.iterations, plan.batches))
    assert len(sizes) == 1
