"""Sums of features over groups that are kept from cut to cut."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numeric.groups.group_sums import ROWS, sum_groups
from tacit.protocols.planes.rows import Rows, sums_of, sums_of_groups
from tacit.scratch import lay_aside

DRAW = np.random.default_rng(0)


def add_up_plainly(F, group):
    return np.stack([F[group == g].astype(np.float64).sum(axis=0) for g in range(int(group.max()) + 1)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_over_groups_are_those_of_their_rows(dtype):
    F, group = DRAW.normal(size=(3 * ROWS, 3)).astype(dtype), DRAW.integers(-1, 2, size=3 * ROWS)
    np.testing.assert_allclose(sum_groups(F, group).sums, add_up_plainly(F, group), rtol=1e-5, atol=1e-3)


def test_groups_that_were_split_since_have_the_same_bits_as_if_they_never_were_one():
    F, group = DRAW.normal(size=(400, 5)), DRAW.integers(-1, 6, size=400)
    kept = sum_groups(F, group)
    finer = np.where((group == 2) & (F[:, 0] > 0), 7, np.where((group == 4) & (F[:, 1] > 0), 6, group))
    np.testing.assert_array_equal(sum_groups(F, finer, kept).sums, sum_groups(F, finer).sums)


def test_on_disk_they_have_the_same_bits():
    F, group = DRAW.normal(size=(2 * ROWS, 6)), DRAW.integers(-1, 6, size=2 * ROWS)
    np.testing.assert_array_equal(sum_groups(lay_aside(F), group).sums, sum_groups(F, group).sums)


def test_only_groups_that_were_split_are_added_up_again():
    F, group = DRAW.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    kept = sum_groups(F, group)
    finer = np.where(np.arange(60) < 10, 3, group)
    after = sum_groups(np.where(group[:, None] == 0, F, np.nan), finer, kept)
    np.testing.assert_array_equal(after.sums[1:3], kept.sums[1:])
    assert np.isfinite(after.sums).all()
    assert sum_groups(F, finer, after) is after


def test_fewer_groups_than_before_are_added_up_from_their_rows():
    F, group = DRAW.normal(size=(40, 2)), np.repeat([0, 1, 2, 3], 10)
    np.testing.assert_array_equal(sum_groups(F, group // 2, sum_groups(F, group)).sums, sum_groups(F, group // 2).sums)


def test_a_cut_over_whole_groups_is_the_cut_over_their_rows():
    group = DRAW.integers(-1, 8, size=300)
    signs = np.where(group[:, None] < 0, 0, np.stack([group % 2 * 2 - 1, (group % 3 > 0) * 1], axis=1)).astype(np.int8)
    rows = Rows(DRAW.normal(size=(300, 4)), signs, 1.0 + group % 4)
    V = np.stack([(group % 2 == 0) & (group >= 0), group > 4], axis=1)
    problems = np.array([0, 1])
    np.testing.assert_allclose(sums_of_groups(rows, problems, V, group), sums_of(rows, problems, V), atol=1e-12)
