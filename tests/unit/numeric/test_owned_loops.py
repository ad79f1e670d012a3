"""Loops of products with an owner's rows, compared with NumPy's own products modulo 2^64."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numeric.shares.owned_loops import add_dots, add_outer, add_own_dots, add_own_outer

RNG = np.random.default_rng(3)
SIZES = [(0, 3, 1, 0), (1, 1, 1, 0), (7, 5, 3, 2), (8, 9, 4, 0), (13, 30, 9, 4)]  # rows, columns, lines, start


def words(*shape):
    return RNG.integers(0, 2**64, shape, dtype=np.uint64)


@pytest.mark.parametrize(("rows", "columns", "lines", "start"), SIZES)
def test_products_of_words_are_added_where_the_rows_begin(rows, columns, lines, start):
    A, B, C = words(rows, columns), words(lines, columns), words(lines, start + rows + 1)
    dots, outer = words(lines, start + rows + 1), words(lines, columns)
    expected, below = dots.copy(), outer + C[:, start : start + rows] @ A
    expected[:, start : start + rows] += B @ A.T
    add_dots(A, B, dots, start)
    add_outer(A, C, outer, start)
    np.testing.assert_array_equal(dots, expected)
    np.testing.assert_array_equal(outer, below)


@pytest.mark.parametrize(("rows", "columns", "lines", "start"), SIZES)
def test_products_of_small_numbers_wrap_as_words_do(rows, columns, lines, start):
    Z = RNG.integers(-(2**15), 2**15, (rows, columns)).astype(np.int16)
    V, C = words(lines, columns).view(np.int64), words(lines, start + rows + 1).view(np.int64)
    dots, outer = words(lines, start + rows + 1).view(np.int64), words(lines, columns).view(np.int64)
    wide = Z.astype(np.int64)
    expected, below = dots.copy(), outer + C[:, start : start + rows] @ wide
    expected[:, start : start + rows] += V @ wide.T
    add_own_dots(Z, V, dots, start)
    add_own_outer(Z, C, outer, start)
    np.testing.assert_array_equal(dots, expected)
    np.testing.assert_array_equal(outer, below)
