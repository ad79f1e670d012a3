"""Feature maps: against scikit-learn's Nystroem and RBFSampler, with dependent landmarks and an indefinite kernel."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import pairwise_kernels

from tacit.numeric.features.feature_map import basis_of, fourier, fourier_weights, kernel_matrix, nystroem, suits_single
from tacit.numeric.svm.kernels import Kernel

KERNELS = [Kernel("rbf", 0.3), Kernel("poly", 0.5, 3, 1.0), Kernel("linear"), Kernel("sigmoid", 0.1, coef0=0.2)]


def tables(rows=40, landmarks=9, columns=4):
    rng = np.random.default_rng(5)
    return rng.normal(size=(rows, columns)), rng.normal(size=(landmarks, columns))


def by_definition(X, L, kernel):
    numbers = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    return pairwise_kernels(X, L, metric=kernel.name, filter_params=True, **numbers)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_kernel_values_are_scikit_learns(kernel):
    X, L = tables()
    np.testing.assert_allclose(kernel_matrix(X, L, kernel), by_definition(X, L, kernel), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda k: k.name)
def test_it_is_scikit_learns_nystroem_up_to_a_rotation(kernel):
    X, L = tables()
    F = nystroem(X, L, basis_of(L, kernel), kernel)
    numbers = {"rbf": {"gamma": kernel.gamma}, "poly": {"gamma": kernel.gamma, "degree": 3, "coef0": 1.0}}[kernel.name]
    theirs = Nystroem(kernel.name, n_components=len(L), random_state=0, **numbers).fit(L)
    np.testing.assert_allclose(F @ F.T, theirs.transform(X) @ theirs.transform(X).T, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k.name)
def test_landmarks_keep_their_own_kernel_matrix(kernel):
    _, L = tables()
    F = nystroem(L, L, basis_of(L, kernel), kernel)
    np.testing.assert_allclose(F @ F.T, by_definition(L, L, kernel), atol=1e-8)


def test_equal_landmarks_and_dependent_ones_are_counted_once():
    X, L = tables()
    rbf, linear = KERNELS[0], KERNELS[2]
    once, twice = basis_of(L, rbf), basis_of(np.vstack([L, L]), rbf)
    assert twice.shape == (18, 9)
    F, G = nystroem(X, L, once, rbf), nystroem(X, np.vstack([L, L]), twice, rbf)
    np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-8)
    assert basis_of(L, linear).shape == (9, 4), "nine points of four columns have rank four"
    F = nystroem(X, L, basis_of(L, linear), linear)
    np.testing.assert_allclose(F @ F.T, X @ X.T, atol=1e-8)


def test_one_landmark_many_times_is_a_map_of_one_column():
    X, L = tables(landmarks=1)
    F = nystroem(X, np.repeat(L, 5, axis=0), basis_of(np.repeat(L, 5, axis=0), KERNELS[0]), KERNELS[0])
    np.testing.assert_allclose(np.abs(F), by_definition(X, L, KERNELS[0]), atol=1e-9)


def test_negative_eigenvalues_of_the_sigmoid_are_left_out():
    kernel = Kernel("sigmoid", 0.5, coef0=-1.0)
    X, L = tables(landmarks=12)
    values, U = np.linalg.eigh(by_definition(L, L, kernel))
    assert values[0] < -0.1, "the matrix is indefinite"
    basis = basis_of(L, kernel)
    kept = values > 1e-10 * np.abs(values).max()
    assert basis.shape[1] == kept.sum()
    F = nystroem(X, L, basis, kernel)
    assert np.all(np.isfinite(F))
    expected = by_definition(X, L, kernel) @ (U[:, kept] / values[kept]) @ U[:, kept].T @ by_definition(L, X, kernel)
    np.testing.assert_allclose(F @ F.T, expected, atol=1e-7)


def test_a_kernel_without_a_positive_eigenvalue_has_a_map_of_no_column():
    assert basis_of(np.ones((3, 2)), Kernel("sigmoid", 1.0, coef0=-9.0)).shape == (3, 0)
    assert basis_of(np.zeros((3, 2)), Kernel("linear")).shape == (3, 0)


def test_the_basis_has_the_largest_eigenvalue_first_and_is_orthonormal_for_the_kernel():
    _, L = tables()
    basis = basis_of(L, KERNELS[0])
    np.testing.assert_allclose(basis.T @ kernel_matrix(L, L, KERNELS[0]) @ basis, np.eye(9), atol=1e-9)
    assert np.all(np.diff(np.linalg.norm(basis, axis=0)) > 0), "columns are as long as 1 / sqrt(eigenvalue)"


@pytest.mark.parametrize("block", [1, 50, 1 << 22])
def test_blocks_change_nothing(block):
    X, L = tables()
    basis = basis_of(L, KERNELS[0])
    np.testing.assert_allclose(
        nystroem(X, L, basis, KERNELS[0], block=block), nystroem(X, L, basis, KERNELS[0]), atol=1e-13
    )
    maps = fourier_weights(0, 4, 7, 0.3)
    np.testing.assert_allclose(fourier(X, *maps, block=block), fourier(X, *maps), atol=1e-13)


def test_single_precision_is_asked_for_and_given():
    X, L = tables()
    basis = basis_of(L, KERNELS[0])
    F = nystroem(X, L, basis, KERNELS[0], "float32")
    assert F.dtype == np.float32
    np.testing.assert_allclose(F, nystroem(X, L, basis, KERNELS[0]), atol=1e-4)
    assert fourier(X, *fourier_weights(0, 4, 7, 0.3), "float32").dtype == np.float32


def test_features_are_computed_in_single_precision_where_that_loses_nothing():
    X = 1000.0 + np.random.default_rng(0).normal(size=(300, 20))
    rbf = Kernel("rbf", 0.05)
    for L, single in ((X[:60], True), (np.vstack([X[:60], X[:60] + 1e-3]), False), (10.0 * X[:60] - 9000.0, False)):
        basis = basis_of(L, rbf)
        assert suits_single(L, basis, rbf) == single
        np.testing.assert_allclose(nystroem(X, L, basis, rbf, "float32"), nystroem(X, L, basis, rbf), atol=1e-4)
    assert not suits_single(X[:60], basis_of(X[:60], Kernel("poly", 0.01)), Kernel("poly", 0.01))


def test_fourier_features_are_those_of_scikit_learns_sampler_with_the_same_weights():
    X, _ = tables()
    weights, offsets = fourier_weights(3, 4, 50, 0.3)
    theirs = RBFSampler(gamma=0.3, n_components=50).fit(X)
    theirs.random_weights_, theirs.random_offset_ = weights, offsets
    np.testing.assert_allclose(fourier(X, weights, offsets), theirs.transform(X), atol=1e-12)


def test_many_fourier_features_come_close_to_the_kernel():
    X, _ = tables()
    F = fourier(X, *fourier_weights(1, 4, 20000, 0.3))
    assert np.abs(F @ F.T - by_definition(X, X, KERNELS[0])).max() < 0.05
    weights, offsets = fourier_weights(1, 4, 20000, 0.3)
    assert abs(weights.var() - 0.6) < 0.01
    assert 0 <= offsets.min() < offsets.max() < 2 * np.pi


def test_the_same_seed_gives_the_same_fourier_features_everywhere():
    for first, second in zip(fourier_weights(9, 3, 5, 1.0), fourier_weights(9, 3, 5, 1.0), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(fourier_weights(9, 3, 5, 1.0)[0], fourier_weights(8, 3, 5, 1.0)[0])


def test_no_records_are_no_rows():
    _, L = tables()
    assert nystroem(np.empty((0, 4)), L, basis_of(L, KERNELS[0]), KERNELS[0]).shape == (0, 9)
    assert fourier(np.empty((0, 4)), *fourier_weights(0, 4, 6, 1.0)).shape == (0, 6)
