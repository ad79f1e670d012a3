"""Integer combinations of opened sums are single records, although no two of the sums differ by few rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit.attacks.pairwise_rule import View, pairwise_rule
from tacit.attacks.set_lattice import (
    distinct,
    found_rows,
    heavy_class,
    neighbouring_jobs,
    of_sums,
    reduce_basis,
    set_lattice,
    single,
)
from tacit.protocols.planes.feature_map import FeatureMap, map_records

NONE = np.empty((0, 0))


@pytest.fixture(scope="module")
def cancer():
    """Standardised records and their signs."""
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1.0, -1.0)


def test_one_linear_run_gives_dozens_of_records(cancer):
    """The counts of differences of one run with defaults give records, and nothing but records."""
    X, y = cancer
    found = set_lattice(pairwise_rule(X, y, C=10.0))
    rows = found_rows(found, X, within=1e-8)
    assert len(rows) == len(found) >= 30


def test_no_two_sums_of_that_run_differ_by_few_rows(cancer):
    """The rule that the attack gets round is kept: sizes and differences are at least min_count."""
    X, y = cancer
    view = pairwise_rule(X, y, C=10.0, min_count=5)
    size = view.gram.diagonal()
    apart = size[:, None] + size - 2 * view.gram
    assert apart[~np.eye(len(size), dtype=bool)].min() >= 5
    assert size.min() >= 5
    np.testing.assert_allclose(view.sums[:, -1], size, atol=1e-6)


@pytest.mark.slow
def test_the_sums_alone_give_records_where_there_are_more_features_than_sums(cancer):
    """Without any count, the lattice of the sums themselves gives records."""
    X, y = cancer[0][:400], cancer[1][:400]
    F = map_records(FeatureMap("fourier", "rbf", 1 / 30, 3, 0.0, NONE, NONE, 1, 200), X)
    view = pairwise_rule(F, y, C=100.0)
    assert len(found_rows(set_lattice(View(view.sums)), F)) >= 40
    assert len(found_rows(set_lattice(view), F)) >= 50


def test_a_sum_beside_a_class_of_tiny_weight_is_a_record(cancer):
    """Hundreds of rows of no weight satisfy every count, and one row is all that the sum shows."""
    X, y = cancer
    view = pairwise_rule(X, y, C=1e6, weight={1: 1.0, -1: 1e-8})
    alone, apart = heavy_class(view)
    assert len(alone) == len(found_rows(alone, X, within=1e-4)) >= 1
    assert len(found_rows(apart, X, within=1e-4)) >= 3
    assert view.gram.diagonal().min() >= 5


def test_jobs_that_hardly_differ_give_records_together(cancer):
    """Differences of sums of different jobs are records, and more jobs give more."""
    X, y = cancer
    views = [pairwise_rule(X, y, C=1.0 + 0.01 * i) for i in range(12)]
    few, many = (len(found_rows(neighbouring_jobs(views[:n]), X)) for n in (6, 12))
    assert 5 <= few < many


def test_reduction_finds_the_unit_vectors_of_a_scrambled_basis():
    """A lattice that has an orthonormal basis is reduced to it."""
    rng = np.random.default_rng(3)
    scrambled = np.eye(20, dtype=np.int64)
    for _ in range(200):
        i, j = rng.choice(20, 2, replace=False)
        scrambled[i] += rng.integers(-1, 2) * scrambled[j]
    U = reduce_basis((scrambled @ scrambled.T).astype(float), 1e10)
    np.testing.assert_array_equal(np.abs(U @ scrambled).sum(axis=1), 1)


def test_candidates_have_the_weight_of_one_row_and_are_told_once():
    """Combinations of another weight are no candidates."""
    sums = np.array([[3.0, 1.0, 1.0], [3.0, 1.0, 1.0], [4.0, -2.0, 2.0], [5.0, 0.0, 1.0]])
    assert len(single(sums)) == 2
    assert len(single(sums, (1.0, 2.0))) == 3
    assert len(distinct(single(sums))) == 1


def test_a_view_of_no_single_rows_gives_no_records():
    """Sums of groups that are never split have no single row in their lattice."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(12, 40)) * np.sqrt(10)
    members = rng.integers(0, 2, size=(9, 12))
    sums = np.column_stack([members @ groups, members.sum(axis=1) * 10.0, members.sum(axis=1) * 10.0])
    assert len(of_sums(sums)) == 0
