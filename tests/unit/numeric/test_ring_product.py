"""Products in Z_2^64 by a compiled loop, compared with NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numeric.ring.triangle import pack
from tacit.numeric.shares.ring_loops import DEEP, WIDE
from tacit.numeric.shares.ring_product import ring_both_ways, ring_product, ring_square, ring_symmetric

EXTREMES = [0, 1, 2**21 - 1, 2**21, 2**43, 2**63 - 1, 2**63, 2**64 - 2**21, 2**64 - 1]


def draw(seed, *shape):
    return np.random.default_rng(seed).integers(0, 2**64, shape, dtype=np.uint64)


@pytest.mark.parametrize(
    ("n", "inner", "m"), [(1, 1, 1), (3, 7, 2), (20, DEEP + 5, 9), (4, 2 * DEEP, WIDE + 1), (5, 3, 2 * WIDE)]
)
def test_products_are_numpys_own(n, inner, m):
    A, B = draw(0, n, inner), draw(1, inner, m)
    np.testing.assert_array_equal(ring_product(A, B), A @ B)
    np.testing.assert_array_equal(ring_product(B.T, A.T), (A @ B).T)


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize("other", EXTREMES)
def test_products_are_exact_at_the_extremes(value, other):
    A, B = np.full((2, DEEP), value, dtype=np.uint64), np.full((DEEP, 2), other, dtype=np.uint64)
    np.testing.assert_array_equal(ring_product(A, B), np.full((2, 2), DEEP * value * other % 2**64, dtype=np.uint64))


@pytest.mark.parametrize("n", [1, 5, 60, WIDE + 3])
def test_products_of_symmetric_matrices_come_as_triangles(n):
    A, B = draw(2, n, n), draw(3, n, n)
    A, B = A + A.T, B + B.T
    np.testing.assert_array_equal(ring_square(A), pack(A @ A, 0))
    np.testing.assert_array_equal(ring_both_ways(A, B), pack(A @ B + B @ A, 0))
    Q = draw(4, n, 3)
    np.testing.assert_array_equal(ring_symmetric(pack(A, 0), Q), A @ Q)
