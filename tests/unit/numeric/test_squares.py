"""Resolvents from squares, compared with 1 / (1 + x)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from tacit import LocalError
from tacit.numeric.shares.dual_plan import check_answers, describe_linear, plan_dual
from tacit.numeric.shares.lean import design
from tacit.numeric.shares.losses import HINGE, INSENSITIVE, WEIGHTED
from tacit.numeric.shares.squares import BITS, ERROR, add_squares, choose_relative, choose_squares, evaluate_squares


@pytest.mark.parametrize("kappa", [100.0, 760.0, 3400.0, 5e4])
def test_squares_come_near_the_resolvent_at_every_eigenvalue(kappa):
    found = choose_squares(kappa)
    x = np.random.default_rng(0).uniform(0, 1, 5000) ** 4 * kappa
    f = add_squares(found.weights, evaluate_squares(found.levels, x, kappa))
    assert np.abs((f - 1 / (1 + x)) * np.sqrt(1 + x)).max() < 2 * ERROR
    assert sum(map(abs, found.weights)) < 2 << BITS


WEIGHTS = (
    22060,
    21483,
    27313,
    62918,
    119195,
    241138,
    466982,
    901290,
    1650120,
    2797972,
    3984539,
    4079764,
    2107537,
    294846,
)


def test_every_machine_finds_the_same_weights_to_the_last_bit():
    assert choose_squares(760.0).weights == WEIGHTS


@pytest.mark.parametrize("kappa", [1.0, 3.0, 106.7, 760.0, 2.0**15, 2.0**21])
@pytest.mark.parametrize("more", [0, 5, 12])
def test_errors_of_fewer_levels_are_relative_at_every_eigenvalue(kappa, more):
    fewest = choose_relative(kappa, 0.15)
    found = choose_relative(kappa, 0.15, fewest.levels + more)
    x = np.r_[0.0, np.geomspace(1e-6, kappa, 5000)]
    f = add_squares(found.weights, evaluate_squares(found.levels, x, kappa))
    assert np.abs(f * (1 + x) - 1).max() < 0.16
    assert found.levels == fewest.levels + more
    assert sum(map(abs, found.weights)) < 3 << BITS
    if kappa > 100.0:
        assert fewest.levels < choose_squares(kappa, 0.03 / np.sqrt(1 + kappa)).levels - 1


def test_more_levels_are_taken_for_larger_eigenvalues():
    assert choose_squares(100.0).levels < choose_squares(1e4).levels < choose_squares(1e6).levels


@pytest.mark.parametrize("loss", [HINGE, WEIGHTED, INSENSITIVE])
@pytest.mark.parametrize(("n", "C"), [(5, 1.0), (60, 0.1), (455, 10.0), (3000, 1.0), (3000, 2.0)])
def test_what_is_planned_fits_into_64_bits(n, C, loss):
    plan = plan_dual(n, 1, C, loss=loss)
    assert plan.window.k == plan.clipping.k == 64
    assert plan.window.s == plan.clipping.s
    assert plan.scale * n**2 * n <= 1 << plan.shift, "no eigenvalue is above n"
    assert plan.scale * n**2 << 30 < 1 << 62
    assert plan.z_bits >= 20


def kernel_of(points, *, narrow):
    """The kernel matrix of points, RBF or linear, with a mean diagonal of 1."""
    K = points @ points.T if narrow else np.exp(-0.5 * np.sum((points[:, None] - points[None]) ** 2, axis=2))
    return K / np.mean(np.diag(K))


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("lone", [False, True])
def test_no_solution_is_further_away_than_slopes_are_bounded_by(lone, C, narrow):
    """Of classes with one record against all others too, far from them: there the mean of the slopes is large."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(60, 3))
    points[0] += 9.0 * lone
    y = np.where(np.arange(60) < (1 if lone else 20), 1.0, -1.0)
    K = kernel_of(points, narrow=narrow)
    given = {"C": C, "kernel": "precomputed", "tol": 1e-3}
    values = SVC(**given).fit(K, y).decision_function(K)
    numbers = SVR(epsilon=0.1, **given).fit(K, y).predict(K)
    assert np.linalg.norm((y - values) / C) <= HINGE.bound_slopes(60, C)
    assert np.linalg.norm((y - numbers) / C) <= INSENSITIVE.bound_slopes(60, C)


def test_a_price_at_which_a_regression_would_be_inexact_is_refused():
    with pytest.raises(LocalError, match=r"too large with 2000 records: shares would be off by more than 2% of it"):
        plan_dual(2000, 1, 50.0, loss=INSENSITIVE)


def test_what_is_dealt_does_not_grow_with_a_wide_window():
    wide = plan_dual(2000, 1, 640.0, describe_linear(2000, 1.0))
    window = wide.clipping
    assert window.I > 15
    assert sum(design(window, clips=True).planes) < 800 < 2**window.I, "bits for each value"
    assert wide.z_bits >= 20


def test_new_records_whose_answers_could_leave_their_window_are_refused():
    check_answers(455, 1e4, 10.0)
    with pytest.raises(LocalError, match=r"decision values could reach .*: scale the records"):
        check_answers(455, 1e12, 10.0)


@pytest.mark.parametrize(("n", "C", "says"), [(455, 1e-9, "which leaves no room in 64 bits"), (100_000, 1.0, "sample")])
def test_what_does_not_fit_is_refused_in_one_line(n, C, says):
    with pytest.raises(LocalError, match=says) as refused:
        plan_dual(n, 1, C)
    assert "\n" not in str(refused.value)
