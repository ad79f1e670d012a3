"""Numbers of groups, and the largest rows of each."""

import numpy as np
import pytest

from tacit import scratch
from tacit.numeric.groups.numbering import number_pairs
from tacit.numeric.groups.rounding import find_largest


@pytest.fixture(autouse=True, params=[1 << 16, 7])
def _blocks_of(request, monkeypatch):
    monkeypatch.setattr(scratch, "LINES", request.param)


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_numbered_in_their_order(seed):
    draw = np.random.default_rng(seed)
    first, second = draw.integers(-1, 6, 200), draw.integers(-1, 4, 200)
    expected = np.unique(np.stack([first, second]), axis=1, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(number_pairs(first, second), expected)
    np.testing.assert_array_equal(number_pairs(first, np.abs(first)), np.unique(first, return_inverse=True)[1])


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_of_each_group_are_marked_and_of_equal_ones_the_first(seed):
    draw = np.random.default_rng(seed)
    own, h = draw.integers(0, 6, 100), np.round(draw.normal(size=100), 1)
    groups = np.unique(own)
    k = np.array([draw.integers(1, (own == g).sum() + 1) for g in groups])
    found = find_largest(own, h, groups, k, np.bincount(own), 0.0)
    top = np.concatenate([found.mark(at, *some) for at, some in scratch.side_by_side(own, h)])
    for g, most in zip(groups, k, strict=True):
        rows = np.flatnonzero(own == g)
        expected = rows[np.argsort(-h[rows], kind="stable")[:most]]
        np.testing.assert_array_equal(np.flatnonzero(top & (own == g)), np.sort(expected))
