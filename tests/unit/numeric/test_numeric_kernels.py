"""Kernels from dot products equal scikit-learn's from records."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

from tacit.errors import LocalError
from tacit.numeric.svm.kernels import KERNELS, Kernel

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(17, 4)), RNG.normal(size=(9, 4))
THEIRS = {
    "linear": lambda a, b, k: linear_kernel(a, b),  # noqa: ARG005 - one signature
    "poly": lambda a, b, k: polynomial_kernel(a, b, degree=k.degree, gamma=k.gamma, coef0=k.coef0),
    "rbf": lambda a, b, k: rbf_kernel(a, b, gamma=k.gamma),
    "sigmoid": lambda a, b, k: sigmoid_kernel(a, b, gamma=k.gamma, coef0=k.coef0),
}


def from_records(kernel, a, b):
    return kernel.from_dots(a @ b.T, (a * a).sum(axis=1), (b * b).sum(axis=1))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("gamma", "degree", "coef0"), [(1.0, 3, 0.0), (0.3, 2, 1.5), (2.0, 1, -0.5), (0.05, 5, 0.25)])
@pytest.mark.parametrize(("a", "b"), [(A, A), (A, B), (B[:1], A), (A, A[:0])])
def test_a_kernel_equals_scikit_learns(name, gamma, degree, coef0, a, b):
    kernel = Kernel(name, gamma, degree, coef0)
    got = from_records(kernel, a, b)
    assert got.shape == (len(a), len(b))
    if b.size:
        np.testing.assert_allclose(got, THEIRS[name](a, b, kernel), rtol=1e-10, atol=1e-12)


def test_all_four_kernels_are_compared():
    assert set(THEIRS) == set(KERNELS)


def test_an_rbf_kernel_never_exceeds_one_whatever_rounding_does():
    a = RNG.normal(size=(50, 3)) * 1e8
    K = from_records(Kernel("rbf", gamma=1e-3), a, a)
    assert K.max() <= 1.0
    assert np.isfinite(K).all()


@pytest.mark.parametrize("name", KERNELS)
def test_the_dots_are_overwritten_so_that_a_large_matrix_exists_once(name):
    dots = A @ B.T
    assert Kernel(name).from_dots(dots, (A * A).sum(axis=1), (B * B).sum(axis=1)) is dots


@pytest.mark.parametrize("name", ["gaussian", "RBF", "", "precomputed"])
def test_an_unknown_kernel_is_refused_with_the_list(name):
    with pytest.raises(LocalError, match=f"unknown kernel '{name}': use one of linear, poly, rbf, sigmoid"):
        Kernel(name)


@pytest.mark.parametrize("name", KERNELS)
def test_slopes_bound_what_a_change_of_dot_products_changes(name):
    rng = np.random.default_rng(4)
    A, kernel, step = rng.normal(size=(30, 5)), Kernel(name, gamma=0.3, degree=3, coef0=0.5), 1e-7
    G = A @ A.T
    E = rng.uniform(-step, step, G.shape)
    E = E + E.T
    before, after = (kernel.from_dots(M.copy(), M.diagonal(), M.diagonal()) for M in (G, G + E))
    slopes = kernel.slopes(G.diagonal())
    if name == "sigmoid":
        assert not slopes.any()
    else:
        assert (np.abs(after - before) <= 2.001 * step * np.sqrt(np.outer(slopes, slopes)) + 1e-13).all()
