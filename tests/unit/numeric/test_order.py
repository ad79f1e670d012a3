"""Ranks of numbers that come in blocks: as sorting finds them."""

import numpy as np
import pytest

from tacit import scratch
from tacit.numeric import order


@pytest.fixture(autouse=True, params=[1 << 21, 3])
def _held(request, monkeypatch):
    """Sort those with the same first bits, or go on to the last bit."""
    monkeypatch.setattr(order, "HELD", request.param)
    monkeypatch.setattr(scratch, "LINES", 50)


def drawn(seed, n):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, 3)) < 0.3, np.round(rng.normal(size=(n, 3))), 1e3 * rng.normal(size=(n, 3)))


@pytest.mark.parametrize("n", [1, 2, 101, 300])
def test_medians_are_those_of_all_numbers(n):
    X = drawn(n, n)
    X[:, 2] = np.sign(X[:, 0])
    found = order.find_medians(lambda: np.array_split(X, 4) if n > 3 else [X], 3, n)
    np.testing.assert_array_equal(found, np.median(X, axis=0))


@pytest.mark.parametrize("count", [1, 40, 199])
def test_the_smallest_are_parted_from_the_others_and_of_equal_ones_the_first(count):
    value, rows = np.round(drawn(count, 200)[:, 0]), np.arange(1000, 1200)
    low, high = order.divide(rows, value, count)
    expected = rows[np.sort(np.argsort(value, kind="stable")[:count])]
    np.testing.assert_array_equal(low, expected)
    np.testing.assert_array_equal(high, np.setdiff1d(rows, expected))
