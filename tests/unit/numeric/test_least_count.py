"""Of how many rows a sum must be.

Never so few that its numbers, with all that were opened before, outnumber the unknowns.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.numeric.groups.least_count import (
    CAP,
    FLOOR,
    MANY,
    MARGIN,
    SAMPLE,
    advise_size,
    count_left,
    least_count,
    unknowns,
)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=12), st.floats(1.0, 60.0))
def test_however_many_maps_are_opened_they_never_tell_as_much_as_there_are_unknowns(maps, d):
    told = 0.0
    for features in maps:
        m = least_count(features, d, told)
        assert m >= FLOOR
        told += features / (m * d)
    assert told <= 1.0 / MARGIN + 1e-9
    assert count_left(told) > 0, "there is always something for the next one"


@given(st.integers(1, 500), st.floats(1.0, 60.0), st.floats(0.0, 0.7))
def test_more_features_or_fewer_unknowns_or_more_told_before_need_larger_groups(features, d, told):
    m = least_count(features, d, told)
    assert least_count(features + 50, d, told) >= m
    assert least_count(features, d / 2, told) >= m
    assert least_count(features, d, told + 0.05) >= m


def test_a_first_run_opens_two_numbers_for_every_five_unknowns():
    assert least_count(100, 10.0, 0.0) == 25
    assert least_count(10, 10.0, 0.0) == FLOOR
    assert least_count(0, 10.0, 0.0) == FLOOR
    assert least_count(100, 10.0, 1.0) > 10**9, "where nothing is left no group is large enough"


def test_columns_of_many_values_are_one_unknown_each_and_constant_ones_none():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(1000, 4)), np.full(1000, 7.0)])
    assert unknowns(X, 50) == 4.0
    assert unknowns(np.full((1000, 3), 2.0), 50) == 1.0, "at least one"
    assert unknowns(np.empty((0, 6)), 50) == 6.0, "a holder without rows has nothing to lose, and asks for nothing"


def test_columns_of_few_values_count_less_the_fewer_records_are_possible():
    rng = np.random.default_rng(0)
    binary = rng.integers(0, 2, (1000, 12)).astype(float)
    many, few = unknowns(binary, 2), unknowns(binary, 500)
    assert many > few
    assert few == pytest.approx(12 * np.log(2) - np.log(500))
    assert unknowns(binary[:, :5], 500) == 1.0, "all 32 records can be listed"
    tens = rng.integers(0, 10, (1000, 3)).astype(float)
    assert unknowns(np.column_stack([rng.normal(size=1000), tens]), 4) == 4.0
    assert MANY < SAMPLE


def test_values_are_counted_in_a_sample():
    X = np.zeros((SAMPLE + 1000, 1))
    X[SAMPLE:, 0] = np.arange(1000)
    assert unknowns(X, 5) == 1.0


@pytest.mark.parametrize("landmarks", [True, False])
@pytest.mark.parametrize("columns", [2, 10, 60])
@pytest.mark.parametrize("rows", [20, 500, 10_000, 10**7])
def test_a_map_whose_size_is_left_open_leaves_groups_that_can_be_split(rows, columns, landmarks):
    size = advise_size(rows, columns, landmarks=landmarks)
    assert 1 <= size <= max(CAP, 2 * columns)
    if rows >= 10_000:
        m = least_count(size + columns * landmarks, columns, 0.0)
        assert rows >= 4 * m
    assert advise_size(10 * rows, columns, landmarks=landmarks) >= size


def test_over_single_rows_more_features_are_better():
    assert advise_size(1000, 10, landmarks=True, exact=True) == 150
    assert advise_size(10**6, 10, landmarks=False, exact=True) == CAP
    assert advise_size(3, 10, landmarks=True, exact=True) == 1
