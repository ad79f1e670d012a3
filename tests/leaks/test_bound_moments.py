"""Bounds on the loss of a group are functions of its second moments.

Many of them give the rows, and holders allow too few.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit.arrays import F64
from tacit.attacks.bound_moments import allowed, bound_moments, bounds_of, enough, match_records, moments
from tacit.numeric.groups.least_count import least_count
from tacit.protocols.planes.feature_map import FeatureMap, map_records

NONE = np.empty((0, 0))
COLUMNS = 4


def group(features: int) -> tuple[FeatureMap, F64, F64]:
    """A map, and a group of as many records as min_count="auto" asks for, with their features."""
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[y == 1, :COLUMNS]
    the_map = FeatureMap("fourier", "rbf", 1.0 / COLUMNS, 3, 0.0, NONE, NONE, 1, features)
    records = X[: least_count(features, COLUMNS, 0.0)]
    return the_map, records, np.asarray(map_records(the_map, records))


@pytest.mark.parametrize("features", [12, 24])
def test_bounds_on_many_models_give_the_second_moments_and_most_rows(features):
    the_map, records, F = group(features)
    told = bounds_of(F, enough(features, len(F), COLUMNS))
    rows = np.column_stack([F, np.ones(len(F))])
    np.testing.assert_allclose(moments(told, F.sum(axis=0), len(F)), rows.T @ rows, atol=1e-6)
    assert match_records(bound_moments(told, F.sum(axis=0), len(F), the_map, COLUMNS), records) >= 0.6 * len(F)


@pytest.mark.parametrize("features", [12, 24, 32])
def test_the_bounds_that_a_holder_allows_give_no_row(features):
    the_map, records, F = group(features)
    number = allowed(features, len(F), COLUMNS)
    assert features + number <= 0.8 * records.size  # numbers, and unknowns
    found = bound_moments(bounds_of(F, number), F.sum(axis=0), len(F), the_map, COLUMNS)
    assert match_records(found, records) == 0


def test_a_group_of_at_least_as_many_rows_as_features_has_no_null_space_to_search():
    the_map, _, F = group(12)
    many = np.vstack([F, F[::-1] + 0.1])
    assert len(bound_moments(bounds_of(many, 150), many.sum(axis=0), len(many), the_map, COLUMNS)) == 0
