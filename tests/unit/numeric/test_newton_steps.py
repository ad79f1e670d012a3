"""Rows from any map and Newton steps from sums: what they are without noise, and where noise decides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.numeric.privacy import newton
from tacit.numeric.privacy.descent import MOST, ONE, S, values_of
from tacit.numeric.privacy.newton import NUMBERS, STEPS, frame_of
from tacit.numeric.privacy.scaling import R


def features(rows: int, seed: int) -> np.ndarray:
    V = np.random.default_rng(seed).normal(size=(rows, 5)) @ np.diag([0.9, 0.5, 0.3, 0.1, 0.05]) + 0.2
    return np.column_stack([V, np.ones(rows)])


def descend(Q: np.ndarray, targets: np.ndarray, loss: str, a: float = newton.LEAST) -> np.ndarray:
    A = newton.multiply_rows(Q).astype(np.float64)
    P = newton.invert(A, 0.0, a, loss)
    w, last = np.zeros((Q.shape[1], 1), dtype=np.int64), []
    for _ in range(STEPS):
        g = newton.sum_slopes(Q, w, targets, np.ones(len(Q)), loss)
        w = newton.step(w, g.astype(np.float64), P, a, loss)
        last.append(w)
    return newton.mean_of(tuple(last))


def test_rows_are_whole_numbers_no_longer_than_the_noise_is_made_for() -> None:
    Z = features(500, 1)
    rows = frame_of(features(4000, 2), newton.TIGHT).rows(Z * [[10.0] * 5 + [1.0]])
    np.testing.assert_array_equal(rows, np.rint(rows))
    assert (np.square(rows).sum(axis=1) <= R * R).all()


def test_features_beyond_all_bounds_are_rows_too() -> None:
    Z = features(4, 1)
    Z[0, 0], Z[1, 1], Z[2, :5], Z[3, 2] = 1e300, -np.inf, 1e200, np.nan
    rows = frame_of(features(4000, 2), newton.TIGHT).rows(Z)
    assert np.isfinite(rows).all()
    assert (np.square(rows).sum(axis=1) <= R * R).all()


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.95])
def test_that_part_of_usual_rows_is_not_shortened(quantile: float) -> None:
    frame = frame_of(features(4000, 2), quantile)
    kept = frame.rows(features(4000, 3))[:, -1] == frame.bias
    assert kept.mean() == pytest.approx(quantile, abs=0.03)


def test_unfolded_weights_say_of_features_what_weights_say_of_rows_that_are_not_shortened() -> None:
    Z = features(300, 1)
    frame = frame_of(Z, 1.0)
    w = np.random.default_rng(0).integers(-20 * ONE, 20 * ONE, (6, 2))
    np.testing.assert_allclose(Z @ frame.unfold(w), values_of(frame.rows(Z), w), atol=0.05)


def test_a_shortened_row_lies_on_the_same_side_of_a_plane() -> None:
    Z = features(300, 1)
    frame = frame_of(Z, newton.TIGHT)
    w = np.random.default_rng(0).integers(-20 * ONE, 20 * ONE, (6, 1))
    values, short = Z @ frame.unfold(w), values_of(frame.rows(Z), w)
    sure = np.abs(short) > 0.05
    np.testing.assert_array_equal(values[sure] > 0, short[sure] > 0)


def test_numbers_without_noise_are_least_squares() -> None:
    Z = features(2000, 1)
    frame = frame_of(Z, 1.0)
    Q = frame.rows(Z).astype(np.int16)
    t = np.clip(Z @ [0.3, -0.2, 0.4, 0.5, -1.0, 0.1], -1.0, 1.0)
    real = Q / R
    ideal = np.linalg.solve(real.T @ real + newton.LEAST * np.eye(6), real.T @ t)
    np.testing.assert_allclose(values_of(Q, descend(Q, t, NUMBERS))[:, 0], real @ ideal, atol=0.01)


def test_classes_without_noise_are_told_apart() -> None:
    Z = features(2000, 1)
    Q = frame_of(Z, newton.TIGHT).rows(Z).astype(np.int16)
    codes = (Z[:, 0] - Z[:, 1] > 0.1).astype(np.float64)
    for loss in ("hinge", "logistic"):
        assert ((values_of(Q, descend(Q, codes, loss))[:, 0] > 0) == codes).mean() > 0.97


def test_slopes_of_numbers_are_cut() -> None:
    slopes = newton.slopes_at(np.array([[9.0], [-9.0], [0.25]]), np.zeros(3), np.array([1.0, 0.5, 1.0]), NUMBERS)
    np.testing.assert_array_equal(slopes, [[-S], [S / 2], [-S / 4]])


def test_more_noise_in_the_products_means_shorter_steps() -> None:
    A = newton.multiply_rows(frame_of(features(50, 1), 1.0).rows(features(50, 1)).astype(np.int16)).astype(np.float64)
    lengths = [
        float(np.linalg.norm(newton.invert(A, deviation, 1e-3, NUMBERS), 2)) for deviation in (0.0, R**2, 100.0 * R**2)
    ]
    assert lengths[0] > lengths[1] > lengths[2]
    assert lengths[2] == pytest.approx(1 / (newton.CALM * 2 * math.sqrt(6) * 100 + 1e-3), rel=0.01)


def test_a_matrix_that_noise_makes_indefinite_still_gives_steps_downhill() -> None:
    A = np.random.default_rng(0).normal(size=21) * R**2
    assert (np.linalg.eigvalsh(newton.invert(A, float(R**2), 1e-3, NUMBERS)) > 0).all()


@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax", NUMBERS])
def test_weights_that_no_record_asks_for_get_smaller(loss: str) -> None:
    P, w = newton.invert(np.zeros(6), 0.0, 0.5, loss), np.full((3, 1), ONE)
    assert np.abs(newton.step(w, np.zeros((3, 1)), P, 0.5, loss)).max() <= 0.51 * ONE


def test_a_model_never_grows_so_long_that_products_are_not_exact() -> None:
    w = newton.step(np.zeros((3, 1), dtype=np.int64), np.full((3, 1), 1e18), np.eye(3) * 1e6, 1e-3, "hinge")
    assert np.linalg.norm(w.astype(np.float64)) <= 1.01 * MOST
