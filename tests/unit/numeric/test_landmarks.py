"""Landmarks: k-means whose every centre is the mean of enough records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from tacit.numeric.features import landmarks
from tacit.numeric.features.landmarks import (
    centres,
    centres_of_cells,
    clusters,
    clusters_of_groups,
    cut,
    k_means,
    lloyd,
    merge_small,
    nearest,
    seeds,
    spread_seeds,
)


@pytest.fixture(scope="module")
def wdbc():
    return MinMaxScaler((-1, 1)).fit_transform(load_breast_cancer().data)


def objective(X, middle):
    return np.square(X - middle[nearest(X, middle)]).sum()


def libraries(X, k):
    return np.mean([KMeans(k, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(3)])


@settings(deadline=None, max_examples=60)
@given(
    X=arrays.arrays(
        np.float64,
        st.tuples(st.integers(0, 40), st.integers(1, 3)),
        elements=st.sampled_from([0.0, 1.0, 1.5, -7.0, 1e6]),
    ),
    k=st.integers(0, 50),
    min_cluster=st.integers(1, 7),
)
def test_every_centre_is_the_mean_of_enough_records_and_all_records_are_in_one(X, k, min_cluster):
    middle, size = centres(X, k, min_cluster, seed=0)
    assert middle.shape == (len(size), X.shape[1])
    assert len(size) <= min(k, len(X) // min_cluster)
    if len(size):
        assert size.min() >= min_cluster
        assert size.sum() == len(X)
        np.testing.assert_allclose(size @ middle, X.sum(axis=0), rtol=1e-9, atol=1e-6)
    else:
        assert k < 1 or len(X) < min_cluster


@pytest.mark.parametrize("k", [5, 20, 85])
def test_with_clusters_of_one_it_is_plain_k_means(wdbc, k):
    middle, size = centres(wdbc, k, 1, seed=0)
    assert len(middle) == k
    assert size.sum() == len(wdbc)
    assert objective(wdbc, middle) < 1.1 * libraries(wdbc, k)


@pytest.mark.parametrize(("k", "most"), [(5, 1.1), (20, 1.15), (50, 1.25), (85, 1.35)])
def test_with_clusters_of_five_there_are_as_many_and_the_objective_is_near(wdbc, k, most):
    middle, size = centres(wdbc, k, 5, seed=0)
    assert len(middle) == k
    assert size.min() >= 5
    assert objective(wdbc, middle) < most * libraries(wdbc, k)


def test_giving_back_what_merging_took_keeps_the_number_and_lowers_the_objective(wdbc):
    label = merge_small(wdbc, k_means(wdbc, np.ones(len(wdbc)), 85, 0), 85, 5)
    without, _ = landmarks.means(wdbc, label)
    middle, _ = centres(wdbc, 85, 5, seed=0)
    assert len(without) < 60
    assert objective(wdbc, middle) < 0.9 * objective(wdbc, without)


def test_the_smallest_cluster_joins_the_nearest_until_all_are_large_enough():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0], [9.1], [9.2]])
    label = merge_small(X, np.array([0, 0, 0, 1, 1, 2, 2, 2]), 3, 3)
    np.testing.assert_array_equal(label, [0, 0, 0, 2, 2, 2, 2, 2])


def test_equal_records_are_one_cluster():
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 20, axis=0)
    middle, size = centres(X, 8, 5, seed=0)
    np.testing.assert_array_equal(middle[np.argsort(middle[:, 0])], [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(size, [20, 20])


def test_a_single_cluster_is_the_mean_and_more_clusters_than_rows_allow_are_cut_down():
    X = np.random.default_rng(1).normal(size=(13, 2))
    np.testing.assert_allclose(centres(X, 1, 5, seed=0)[0], [X.mean(axis=0)])
    assert len(centres(X, 13, 5, seed=0)[0]) <= 2
    assert len(centres(X, 99, 1, seed=0)[0]) == 13
    assert len(centres(X[:4], 3, 5, seed=0)[0]) == 0


def test_data_far_from_zero_are_clustered_as_well():
    X = np.random.default_rng(2).normal(size=(300, 3))
    near, far = centres(X, 20, 5, seed=0)[0], centres(X + 1e7, 20, 5, seed=0)[0]
    np.testing.assert_allclose(far - 1e7, near, atol=1e-6)


def test_the_same_seed_gives_the_same_centres(wdbc):
    np.testing.assert_array_equal(centres(wdbc, 30, 5, seed=3)[0], centres(wdbc, 30, 5, seed=3)[0])


def test_blocks_change_nothing(wdbc, monkeypatch):
    whole = nearest(wdbc, wdbc[:40])
    monkeypatch.setattr(landmarks, "BLOCK", 100)
    np.testing.assert_array_equal(nearest(wdbc, wdbc[:40]), whole)


def test_centres_of_a_sample_are_means_of_all_records_and_nearly_as_good():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(20, 4))[draw.integers(0, 20, 6000)] + 0.3 * draw.normal(size=(6000, 4))
    found, size = centres(X, 20, 5, 0)
    assert (size.sum(), len(found)) == (6000, 20)
    np.testing.assert_allclose(size @ found / 6000, X.mean(axis=0), atol=1e-12)
    whole = np.square(X - X[0]).sum()
    assert size.min() >= 5
    assert objective(X, found) < 1.02 * libraries(X, 20) < whole


def test_the_mean_of_every_cluster_of_a_sample_is_of_enough_records():
    X = np.random.default_rng(0).standard_cauchy(size=(6000, 2))
    assert centres(X, 20, 50, 0)[1].min() >= 50


def test_a_cut_goes_across_the_longest_axis_and_leaves_enough_on_both_sides():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2)) * [10.0, 1.0]
    X[0] = [1000.0, 0.0]
    low, high = sorted(cut(X, np.arange(60), 5), key=lambda rows: X[rows, 0].mean())
    assert len(high) == 5, "the mean would have cut off one record"
    assert X[low, 0].max() < X[high, 0].min()


def test_centres_of_cells_are_the_means_of_all_their_records(wdbc):
    label = k_means(wdbc, np.ones(len(wdbc)), 80, 0)
    means, size = landmarks.means(wdbc, label)
    middle = centres_of_cells(means, size, 20, seed=0)
    assert len(middle) == 20
    assert objective(wdbc, middle) < 1.1 * libraries(wdbc, 20)
    np.testing.assert_array_equal(centres_of_cells(means, size, 80, seed=0), means)


def test_seeds_are_spread_until_every_record_is_one_of_them(wdbc):
    chosen = spread_seeds(wdbc, 30)
    covered = [
        np.sqrt(np.square(wdbc[:, None] - wdbc[chosen[:k]][None]).sum(axis=2).min(axis=1).max()) for k in (1, 10, 30)
    ]
    assert covered[0] > covered[1] > covered[2]
    assert len(set(chosen.tolist())) == 30
    assert len(spread_seeds(np.repeat(wdbc[:3], 4, axis=0), 12)) == 3


def test_of_two_starts_the_better_counts(wdbc):
    weight, spent = np.ones(len(wdbc)), {}
    for k in (20, 200):
        starts = seeds(wdbc, weight, k, np.random.default_rng(0)), spread_seeds(wdbc, k)
        spent[k] = [objective(wdbc, landmarks.means(wdbc, lloyd(wdbc, weight, wdbc[start])[1])[0]) for start in starts]
        found = objective(wdbc, landmarks.means(wdbc, k_means(wdbc, weight, k, 0))[0])
        assert found == pytest.approx(min(spent[k]), rel=1e-3)
    assert spent[20][0] < spent[20][1]
    assert spent[200][0] > spent[200][1]


@pytest.mark.parametrize("k", [20, 80, 200])
def test_of_many_records_the_start_that_is_better_early_goes_on_alone(wdbc, k, monkeypatch):
    weight, taken = np.ones(len(wdbc)), []
    both = objective(wdbc, landmarks.means(wdbc, k_means(wdbc, weight, k, 0))[0])
    monkeypatch.setattr(landmarks, "MANY", 100)
    monkeypatch.setattr(landmarks, "nearest", lambda *args, real=landmarks.nearest: taken.append(1) or real(*args))
    found = objective(wdbc, landmarks.means(wdbc, k_means(wdbc, weight, k, 0))[0])
    assert found == pytest.approx(both, rel=2e-2)
    assert len(taken) <= 2 * (1 + landmarks.FIRST) + landmarks.ITERATIONS - landmarks.FIRST


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 8), st.integers(1, 12), st.integers(1, 12))
def test_clusters_of_groups_are_unions_of_groups_or_of_large_pieces(seed, least, groups, k, min_cluster):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(groups), rng.integers(least, 5 * least + 1, groups)))
    X = rng.normal(size=(len(group), 3))
    label = clusters_of_groups(X, group, k, min_cluster, 0)
    sizes = np.unique(label, return_counts=True)[1]
    assert sizes.min() >= min(min_cluster, len(X)), "as (2): what is too small joins the nearest"
    assert len(sizes) <= max(k, groups) + groups / 2, "each group has its share of k, rounded"
    for g in range(groups):
        pieces = np.unique(label[group == g], return_counts=True)[1]
        assert len(pieces) == 1 or pieces.min() >= min_cluster


def test_as_many_clusters_as_groups_are_the_groups(wdbc):
    group = np.arange(len(wdbc)) % 7
    label = clusters_of_groups(wdbc, group, 7, 5, 0)
    assert len(np.unique(np.stack([label, group]), axis=1).T) == 7
    np.testing.assert_array_equal(clusters_of_groups(wdbc, np.zeros(len(wdbc), int), 9, 5, 0), clusters(wdbc, 9, 5, 0))
