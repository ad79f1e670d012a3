"""Feature maps: against scikit-learn's Nystroem and RBFSampler, with dependent landmarks and an indefinite kernel."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from tacit.numeric.svm.kernels import Kernel, basis_of, kernel_matrix

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


def test_a_kernel_without_a_positive_eigenvalue_has_a_map_of_no_column():
    assert basis_of(np.ones((3, 2)), Kernel("sigmoid", 1.0, coef0=-9.0)).shape == (3, 0)
    assert basis_of(np.zeros((3, 2)), Kernel("linear")).shape == (3, 0)


def test_the_basis_has_the_largest_eigenvalue_first_and_is_orthonormal_for_the_kernel():
    _, L = tables()
    basis = basis_of(L, KERNELS[0])
    np.testing.assert_allclose(basis.T @ kernel_matrix(L, L, KERNELS[0]) @ basis, np.eye(9), atol=1e-9)
    assert np.all(np.diff(np.linalg.norm(basis, axis=0)) > 0), "columns are as long as 1 / sqrt(eigenvalue)"
