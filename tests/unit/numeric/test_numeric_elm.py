"""The maths of extreme learning machines beside plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numeric.features.elm import (
    ACTIVATIONS,
    CUTOFF,
    RIDGES,
    activate,
    hidden,
    layer_of,
    moments,
    reach,
    size_of,
    solve,
    targets_of,
    words_needed,
)
from tacit.numeric.ring.words import public_words, uniform


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def layer(nodes, columns, activation="sigmoid", scale=1.0, seed=1):
    return layer_of(public_words(seed, words_needed(columns, nodes)), nodes, activation, scale, columns)


def test_words_become_uniform_numbers_that_never_change():
    drawn = uniform(public_words(7, 20_000))
    assert drawn[:3].tolist() == uniform(public_words(7, 3)).tolist()
    assert 0 < drawn.min() < 1e-3 < 1 - 1e-3 < drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.01
    assert drawn[0] == pytest.approx(0.5 * 2.0**-53 + (public_words(7, 1)[0] >> np.uint64(11)) * 2.0**-53)


def test_weights_make_inputs_of_about_the_scale_for_columns_of_unit_variance(rng):
    X = rng.normal(size=(2000, 50))
    W, b = layer(100, 50, scale=2.0)
    assert W.shape == (50, 100)
    assert np.std(X @ W) == pytest.approx(2.0, rel=0.05)
    assert np.abs(b).max() <= 2.0


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_parts_of_the_columns_add_up_to_the_layer_s_input(rng, activation):
    X = rng.normal(size=(9, 7))
    W, b = layer(5, 7, activation)
    parts = [
        reach(X[:, c], W[c], share, activation, 7) for c, share in ((slice(0, 3), b / 4), (slice(3, 7), 3 * b / 4))
    ]
    np.testing.assert_allclose(activate(sum(parts), activation), hidden(X, W, b, activation), atol=1e-12)


def test_rbf_nodes_are_gaussians_of_squared_distances(rng):
    X = rng.normal(size=(4, 3))
    W, b = layer(6, 3, "rbf")
    expected = np.exp(-np.square(X[:, :, None] - W).sum(axis=1) / 3)
    np.testing.assert_allclose(hidden(X, W, b, "rbf"), expected, rtol=1e-12)
    assert not b.any()


def test_targets_are_signs_by_class_and_two_classes_share_a_column():
    assert targets_of(np.array([0, 2, 1]), 3).tolist() == [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    assert targets_of(np.array([0, 1]), 2).tolist() == [[-1], [1]]


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_solution_is_that_of_least_squares(rng, ridge):
    H, T = rng.normal(size=(60, 8)), rng.normal(size=(60, 2))
    found = solve(moments(H, T, None), 8, 2, ridge)
    np.testing.assert_allclose(found.beta, np.linalg.solve(H.T @ H + ridge * np.eye(8), H.T @ T), atol=1e-10)
    assert (found.ridge, found.rank) == (ridge, 8)


def test_without_a_ridge_a_singular_matrix_gives_the_pseudo_inverse_and_says_its_rank(rng):
    H = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 12))
    T = rng.normal(size=(60, 1))
    found = solve(moments(H, T, None), 12, 1, 0.0)
    assert found.rank == 5
    np.testing.assert_allclose(found.beta, np.linalg.pinv(H, rcond=np.sqrt(CUTOFF)) @ T, atol=1e-9)


def test_no_rows_give_a_model_that_says_zero():
    assert not solve(np.zeros(size_of(3, 1)), 3, 1, 1.0).beta.any()


@pytest.mark.parametrize("noise", [0.01, 3.0])
def test_cross_validation_takes_the_ridge_that_the_formula_over_all_rows_takes(rng, noise):
    H = rng.normal(size=(40, 15))
    T = H @ rng.normal(size=(15, 2)) + noise * rng.normal(size=(40, 2))

    def score(r):
        hat = H @ np.linalg.solve(H.T @ H + r * np.eye(15), H.T)
        return 40 * np.square(T - hat @ T).sum() / (40 - np.trace(hat)) ** 2

    assert solve(moments(H, T, None), 15, 2, "gcv").ridge == min(RIDGES, key=score)
