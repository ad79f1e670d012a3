"""Histograms.

Every value in one cell, quantiles between the two values that numpy takes, and never beyond the reach.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.numeric.scores.metrics import cells_of, counts_of, join_cells, ranks_of, reach

COLUMN = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6))


def test_every_present_value_is_counted_in_the_cell_it_is_in():
    X = np.array([[0.0, 5.0], [0.24, np.nan], [0.25, 5.0], [1.0, -3.0], [7.0, np.nan]])
    cells = cells_of(X, np.array([0.0, -5.0]), np.array([1.0, 5.0]), 4)
    assert cells.T.tolist() == [[0, 0, 1, 3, 3], [3, -1, 3, 0, -1]]
    assert counts_of(cells, 4).tolist() == [[2, 1, 0, 2], [1, 0, 0, 2]]


def test_a_range_without_extent_has_one_cell_that_counts():
    assert cells_of(np.full((3, 1), 2.0), np.array([2.0]), np.array([2.0]), 8).tolist() == [[0], [0], [0]]


@given(COLUMN, st.sampled_from([0.0, 0.05, 0.25, 0.5, 0.9, 1.0]))
def test_a_quantile_lies_between_its_two_ranks_as_numpy_has_it(x, probability):
    below, above, along = ranks_of(np.array([float(len(x))]), probability)
    lower, upper = np.sort(x)[below[0]], np.sort(x)[above[0]]
    assert lower + (upper - lower) * along[0] == pytest.approx(np.quantile(x, probability), rel=1e-9, abs=1e-9)


@given(COLUMN, st.sampled_from([0.05, 0.25, 0.5, 0.9]))
def test_no_value_of_a_quantile_is_beyond_its_reach(x, probability):
    n = np.array([float(len(x))])
    below, above, _ = ranks_of(n, probability)
    away = reach(n, probability)[0] * x.std()
    slack = 1e-9 * (1.0 + np.abs(x).max())
    assert x.mean() - away - slack <= np.sort(x)[below[0]]
    assert np.sort(x)[above[0]] <= x.mean() + away + slack


COUNTS = arrays(np.float64, 32, elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 9.0]))


@given(COUNTS, st.integers(2, 20))
def test_cells_that_are_joined_hold_none_or_enough_and_nothing_is_lost(counts, least):
    cells = join_cells(counts, least)
    ends = [*(start for start, _ in cells[1:]), len(counts)]
    assert cells[0][0] == 0
    assert [held for _, held in cells] == [counts[start:end].sum() for (start, _), end in zip(cells, ends, strict=True)]
    assert all(held == 0 or held >= least for _, held in cells) or counts.sum() < least


@given(COUNTS, st.integers(2, 20), st.integers(1, 10))
def test_a_histogram_of_fuller_cells_is_a_union_of_those_of_a_finer_one(counts, least, more):
    fine, coarse = ({start for start, _ in join_cells(counts, n)} for n in (least, least + more))
    assert coarse <= fine, "so that both together tell no more than the finer one"
