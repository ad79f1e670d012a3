"""The discrete Gaussian: exact probabilities, sums that are one again, and noise that only the key decides."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import chisquare

from tacit.crypto.noise.discrete_gaussian import AliasTable, alias_table, draw_noise, sampler_of

KEY = bytes(range(32))


def probabilities(variance: float, tail: int) -> np.ndarray:
    weights = np.exp(-(np.arange(-tail, tail + 1) ** 2) / (2 * variance))
    return weights / weights.sum()


def spread(table: AliasTable) -> dict[int, Fraction]:
    """Return the exact probability of every number, from the heights of all columns."""
    column, found = 1 << (128 - table.bits), dict[int, Fraction]()
    for high, low, here, there in zip(table.high, table.low, table.here, table.there, strict=True):
        height = (int(high) << 64) + low
        for value, part in ((int(here), height), (int(there), column - height)):
            found[value] = found.get(value, Fraction(0)) + Fraction(part, 1 << 128)
    return found


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(7), Fraction(2048)])
def test_a_table_has_the_probabilities_of_the_discrete_gaussian(variance: Fraction) -> None:
    found = spread(alias_table(variance))
    assert sum(found.values()) == 1
    tail = max(found)
    expected = probabilities(float(variance), tail)
    np.testing.assert_allclose([float(found[x]) for x in range(-tail, tail + 1)], expected, rtol=1e-9, atol=1e-37)


def test_a_table_is_exact_to_128_bits() -> None:
    with mpmath.workdps(60):
        found, v = spread(alias_table(Fraction(7))), mpmath.mpf(7)
        total = mpmath.nsum(lambda x: mpmath.exp(-(x**2) / (2 * v)), [-mpmath.inf, mpmath.inf])
        for x in range(-20, 21):
            exact = mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) / total
            assert abs(mpmath.mpf(found[x].numerator) / found[x].denominator - exact) < mpmath.mpf(2) ** -120


@pytest.mark.parametrize("variance", [9300, 200_000, 2_000_000])
def test_a_sum_of_tables_has_the_probabilities_of_one_discrete_gaussian(variance: int) -> None:
    terms = sampler_of(variance).terms
    assert len(terms) > 1
    tail = 8 * math.isqrt(variance)
    found = np.zeros(2 * tail + 1)
    found[tail] = 1.0
    for step, table in terms:  # an exact convolution, term by term
        held = np.zeros_like(found)
        for x, p in spread(table).items():
            if abs(x * step) <= tail:
                held[tail + x * step] = float(p)
        found = fftconvolve(found, held, mode="same")
    middle = slice(tail - 3 * math.isqrt(variance), tail + 3 * math.isqrt(variance))
    np.testing.assert_allclose(found[middle], probabilities(variance, tail)[middle], rtol=1e-9)


@pytest.mark.parametrize("variance", [40, 9300, 10**6, 2**40, 2**54])
def test_draws_have_the_variance_that_was_asked_for(variance: int) -> None:
    drawn = draw_noise(KEY, 200_000, variance)
    assert abs(drawn.mean()) < 4 * math.sqrt(variance / len(drawn))
    assert abs(drawn.var() / variance - 1) < 4 * math.sqrt(2 / len(drawn))


def test_draws_come_as_often_as_their_probability_says() -> None:
    drawn = draw_noise(KEY, 200_000, 40)
    counts = np.bincount(np.clip(drawn, -16, 16) + 16)
    expected = probabilities(40, 100)
    folded = np.concatenate([[expected[:85].sum()], expected[85:116], [expected[116:].sum()]])
    assert chisquare(counts, folded / folded.sum() * len(drawn)).pvalue > 1e-4


def test_the_same_key_draws_the_same_noise_and_another_key_other_noise() -> None:
    first = draw_noise(KEY, 40_000, 10**9)
    np.testing.assert_array_equal(first, draw_noise(KEY, 40_000, 10**9))
    np.testing.assert_array_equal(first[:100], draw_noise(KEY, 100, 10**9))  # a longer sum begins with the same
    assert (first != draw_noise(bytes(32), 40_000, 10**9)).mean() > 0.99


def test_where_upper_bits_are_equal_the_lower_bits_of_a_height_decide() -> None:
    table = AliasTable(1, np.array([5, 1 << 63], dtype=np.uint64), (100, 0), np.array([1, 2]), np.array([7, 8]))
    met = np.full(3, 5 << 1, dtype=np.uint64)  # column 0, exactly at its height
    np.testing.assert_array_equal(table.draw(met, iter([99, 100, 101])), [1, 7, 7])


def test_a_variance_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive variance, got 0"):
        draw_noise(KEY, 1, 0)
