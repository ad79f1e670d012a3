"""Cells as integers: exact products, and refusals of what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import LocalError
from tacit.numeric.cells.integers import EXPONENTS, Cells, exponent_over, mark_exceeded
from tacit.papers.gram.cells import most_bits

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("bits", "terms"), [(20, 30), (21, 30), (26, 30), (28, 3)])
def test_products_of_the_largest_integers_are_exact(bits, terms):
    cells = Cells(0, bits, terms)
    A = RNG.choice([-1, 1], (5, terms)) * cells.bound
    B = RNG.integers(-cells.bound, cells.bound + 1, (4, terms))
    expected = A.astype(object) @ B.T.astype(object)
    np.testing.assert_array_equal(cells.dots(A, B), expected.astype(np.int64))
    assert terms * cells.bound**2 < 1 << (cells.ring_bits - 1)


@pytest.mark.parametrize("exponent", [-10, 0, 4, 30])
def test_reals_come_back_to_half_a_step(exponent):
    cells = Cells(exponent, 20, 3)
    x = RNG.uniform(-1, 1, (6, 3)) * 2.0**exponent
    ints = cells.encode(x, "x")
    assert np.abs(ints).max() <= cells.bound
    np.testing.assert_allclose(np.ldexp(ints, exponent - 20), x, atol=2.0 ** (exponent - 21))
    np.testing.assert_allclose(
        cells.decode(cells.dots(ints, ints)), x @ x.T, rtol=0, atol=3 * 2.0 ** (2 * exponent - 20)
    )


def test_a_value_outside_the_range_is_refused():
    with pytest.raises(LocalError, match=r"cells of a: a value of size 4\.5 is outside the declared range of 4"):
        Cells(2, 20, 3).encode(np.array([[4.5]]), "cells of a")


def test_more_bits_than_cost_nothing_are_taken_where_there_are_few_columns():
    assert [most_bits(n) for n in (1, 4, 30, 127, 128, 5000)] == [23, 22, 21, 20, 20, 20]
    assert [Cells(0, most_bits(n), n).ring_bits for n in (1, 4, 30, 127)] == [48] * 4
    assert Cells(0, 20, 5000).ring_bits == 54


@pytest.mark.parametrize(("largest", "exponent"), [(0.0, EXPONENTS[0]), (1.0, 0), (1.01, 1), (16.0, 4), (0.3, -1)])
def test_the_first_power_of_two_that_nothing_exceeds(largest, exponent):
    assert exponent_over(mark_exceeded(np.array([[largest, -largest / 2]]))) == exponent


def test_values_beyond_every_power_are_refused():
    with pytest.raises(LocalError, match="larger than 2\\^63: scale the features"):
        exponent_over(mark_exceeded(np.array([[1e30]])))
