"""A sum of few mapped rows gives the rows back, as long as it has more entries than the rows have unknowns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit.attacks.atom_inversion import (
    all_records,
    atom_inversion,
    closest_sums,
    counted_records,
    listed_records,
    recover_rows,
    slopes_of,
    sum_of,
)
from tacit.attacks.pairwise_rule import View, pairwise_rule
from tacit.errors import LocalError
from tacit.numeric.features.feature_map import basis_of
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.feature_map import FeatureMap, map_records

NONE = np.empty((0, 0))


def fourier(size, columns=8, seed=1):
    return FeatureMap("fourier", "rbf", 1.0 / columns, 3, 0.0, NONE, NONE, seed, size)


def nystroem(size, columns=8, kernel="rbf"):
    centres = np.random.default_rng(7).normal(size=(size, columns))
    basis = basis_of(centres, Kernel(kernel, 1.0 / columns))
    return FeatureMap("local", kernel, 1.0 / columns, 3, 0.0, centres, basis, 0, basis.shape[1])


def group(rows, columns=8, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns))


@pytest.mark.parametrize(
    "the_map", [fourier(100), fourier(500), nystroem(100)], ids=["fourier 100", "fourier 500", "nystroem 100"]
)
def test_a_sum_of_five_rows_gives_all_of_them(the_map):
    """Five rows of eight columns follow from their sum under one hundred features or more."""
    X = group(5)
    assert recover_rows(atom_inversion([sum_of(the_map, X)], 8).rows, X, within=1e-6) == 1.0


def test_a_sum_with_fewer_entries_than_unknowns_gives_no_row():
    """Other rows have the same sum."""
    X = group(16)
    found = atom_inversion([sum_of(fourier(100), X)], 8, pursuits=2)
    assert recover_rows(found.rows, X) == 0.0


def test_features_of_two_maps_add_up():
    """Neither map has as many features as there are unknowns; together they have."""
    X = group(10)
    both = [sum_of(fourier(60, seed=1), X), sum_of(fourier(60, seed=2), X)]
    assert recover_rows(atom_inversion(both, 8, pursuits=40).rows, X, within=1e-6) == 1.0
    assert recover_rows(atom_inversion(both[:1], 8, pursuits=2).rows, X) == 0.0


def test_sub_groups_that_are_safe_alone_are_not_safe_together():
    """Two halves with 1.25 unknowns per feature, and their union under a second map.

    Three equations for two and a half unknowns.
    """
    X, half = group(20), np.repeat([1.0, 0.0], 10)
    halves = [sum_of(fourier(64, seed=1), X, half), sum_of(fourier(64, seed=1), X, 1.0 - half)]
    assert recover_rows(atom_inversion([*halves, sum_of(fourier(64, seed=2), X)], 8, pursuits=40).rows, X) == 1.0
    assert recover_rows(atom_inversion(halves, 8, pursuits=1).rows, X) == 0.0


def test_rows_of_two_values_follow_from_half_as_many_features_as_cells():
    """The possible records are listed, and non-negative least squares says which are in the group."""
    X = np.random.default_rng(0).integers(0, 2, size=(15, 12)).astype(float)
    found = listed_records([sum_of(fourier(100, columns=12), X)], all_records([(0.0, 1.0)] * 12))
    assert sorted(map(tuple, found)) == sorted(map(tuple, X))


def test_rows_of_few_possible_records_follow_from_any_sum():
    """With no more possible records than features, groups of any size are counted out."""
    X = np.random.default_rng(0).integers(0, 2, size=(400, 6)).astype(float)
    found = listed_records([sum_of(fourier(80, columns=6), X)], all_records([(0.0, 1.0)] * 6))
    assert sorted(map(tuple, found)) == sorted(map(tuple, X))


def test_a_large_group_of_few_possible_records_is_counted_out():
    """Two hundred rows of six columns of two values follow from twenty features.

    A sum is exact, and counts are whole numbers.
    """
    X = np.random.default_rng(0).integers(0, 2, size=(200, 6)).astype(float)
    found = counted_records([sum_of(fourier(20, columns=6), X)], all_records([(0.0, 1.0)] * 6))
    assert sorted(map(tuple, found)) == sorted(map(tuple, X))


def test_too_few_features_count_nothing_out():
    """Four numbers do not tell which of sixty-four records are in a group."""
    X = np.random.default_rng(0).integers(0, 2, size=(200, 6)).astype(float)
    sums, possible = [sum_of(fourier(4, columns=6), X)], all_records([(0.0, 1.0)] * 6)
    for found in (counted_records(sums, possible), listed_records(sums, possible)):
        assert sorted(map(tuple, found)) != sorted(map(tuple, X))


def test_two_sums_of_the_pairwise_rule_give_the_rows_between_them():
    """No two sums differ by fewer than five rows, and the five rows between two sums are found."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[:, :8], np.where(y == 1, 1.0, -1.0)
    the_map = fourier(200)
    between = closest_sums(pairwise_rule(map_records(the_map, X), y, C=10.0, min_count=5), the_map)
    found = atom_inversion([between], 8).rows
    assert len(found) == len(between.of) >= 5
    assert max(np.linalg.norm(X - x, axis=1).min() / np.linalg.norm(x) for x in found) < 1e-3


def test_sums_that_differ_by_an_unknown_number_of_rows_are_refused():
    """The closest pair needs the counts."""
    with pytest.raises(LocalError, match="does not say by how many rows the sums differ"):
        closest_sums(View(np.zeros((2, 4))), fourier(2))


@pytest.mark.parametrize(
    "the_map", [fourier(30), nystroem(20), FeatureMap("identity", "linear", 1.0, 3, 0.0, NONE, NONE, 0, 8)]
)
def test_slopes_are_derivatives(the_map):
    """Differences of features agree with the slopes."""
    X, step = group(3), 1e-6
    F, slopes = slopes_of(the_map, 8)(X)
    np.testing.assert_allclose(F, map_records(the_map, X))
    for j, move in enumerate(step * np.eye(8)):
        change = (map_records(the_map, X + move) - map_records(the_map, X - move)) / (2 * step)
        np.testing.assert_allclose(slopes[:, :, j], change, atol=1e-8)


def test_maps_without_slopes_are_refused():
    """Landmarks are differentiated with the rbf kernel only."""
    with pytest.raises(LocalError, match="use kernel='rbf'"):
        slopes_of(nystroem(10, kernel="poly"), 8)
