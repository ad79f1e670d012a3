"""How many features leave in which round, how each is ranked, which subset is taken, which ones pass the filters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway, ttest_ind

from tacit.numeric.features.elimination import best, ranking, schedule, sizes, subsets
from tacit.numeric.features.filters import Filters, candidates, vote_features
from tacit.numeric.features.relevance import class_sums
from tacit.numeric.scores.folds import choose_class, deal_folds

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 8)) + np.arange(8)
CODES = (X[:, 0] + 0.5 * X[:, 3] + RNG.normal(size=60) * 0.5 > 1.5).astype(np.int64)


@pytest.mark.parametrize(
    ("features", "keep", "step", "drops"),
    [
        (8, 4, 1, (1, 1, 1, 1)),
        (8, 3, 2, (2, 2, 1)),
        (10, 1, 0.5, (5, 2, 1, 1)),
        (5, 5, 1, ()),
        (5, 1, 0.01, (1, 1, 1, 1)),
        (7, 1, 100, (6,)),
    ],
)
def test_a_schedule_goes_from_all_features_to_those_kept(features, keep, step, drops):
    assert schedule(features, keep, step) == drops
    assert sizes(features, drops)[-1] == keep


@given(st.integers(1, 300), st.floats(0.01, 0.99), st.integers(1, 40))
def test_fewer_features_never_need_more_rounds(features, step, fewer):
    assert len(schedule(max(1, features - fewer), 1, step)) <= len(schedule(features, 1, step))


def test_ranks_are_one_for_the_chosen_and_grow_with_the_round_before_which_a_feature_went():
    gone = [np.array([4]), np.array([0, 2]), np.array([1])]
    features = np.arange(6)
    assert ranking(6, features, gone, 3).tolist() == [3, 2, 3, 1, 4, 1]
    assert ranking(6, features, gone, 1).tolist() == [1, 1, 1, 1, 2, 1]
    assert [s.tolist() for s in subsets(features, gone)] == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5], [1, 3, 5], [3, 5]]


def test_features_that_were_filtered_out_rank_last():
    assert ranking(5, np.array([1, 3, 4]), [np.array([3])], 1).tolist() == [3, 1, 3, 2, 1]


def test_the_largest_subset_within_a_standard_error_of_the_best_is_chosen():
    scores = np.array([np.nan, 0.85, 0.89, 0.90, 0.5])
    assert best(scores, 100) == 2  # sqrt(.9 x .1 / 100) = 0.03
    assert best(scores, 10000) == 3
    assert best(scores, 20) == 1
    assert best(np.array([1.0, 1.0, 0.99]), 5) == 0


# folds


@given(st.integers(2, 6), st.lists(st.integers(-1, 3), max_size=60), st.integers(0, 1000))
def test_every_class_is_dealt_evenly_and_the_same_way_again(folds, codes, seed):
    codes = np.array(codes, dtype=np.int64)
    fold = deal_folds(codes, folds, (seed, 7))
    np.testing.assert_array_equal(fold, deal_folds(codes, folds, (seed, 7)))
    for code in set(codes) - {-1}:
        counts = np.bincount(fold[codes == code], minlength=folds)
        assert counts.max() - counts.min() <= 1


def test_one_column_chooses_by_sign_and_more_by_the_largest():
    assert choose_class(np.array([[0.1], [-0.1], [0.0]])).tolist() == [1, 0, 0]
    assert choose_class(np.array([[0.1, 0.3], [-1.0, -2.0]])).tolist() == [1, 0]


# filters


def sums():
    return class_sums(X, CODES, 2)


def scores():
    A, B = X[CODES == 0], X[CODES == 1]
    t = ttest_ind(A, B, equal_var=False)
    fisher = (A.mean(axis=0) - B.mean(axis=0)) ** 2 / (A.var(axis=0) + B.var(axis=0))
    return fisher, t, f_oneway(A, B).statistic / (len(X) - 2)


def test_a_feature_passes_if_it_meets_all_thresholds():
    fisher, t, ratio = scores()
    passing = set(np.flatnonzero((fisher >= 0.1) & (t.pvalue <= 0.2) & (ratio >= 0.02)))
    assert set(vote_features(sums(), Filters(fisher=0.1, welch=0.2, scatter=0.02))) == passing
    assert passing < set(range(8))


def test_a_majority_is_two_of_three():
    fisher, t, ratio = scores()
    votes = (fisher >= 0.3).astype(int) + (t.pvalue <= 0.5) + (ratio >= 0.05)
    assert set(vote_features(sums(), Filters(fisher=0.3, welch=0.5, scatter=0.05, votes=2))) == set(
        np.flatnonzero(votes >= 2)
    )


def test_a_filter_without_threshold_passes_its_quota_or_all():
    assert len(vote_features(sums(), Filters(welch=None))) == 8
    fisher, t, ratio = scores()
    tops = [set(np.argsort(s)[-3:]) for s in (fisher, np.abs(t.statistic), ratio)]
    assert set(vote_features(sums(), Filters(welch=None, quota=3))) == set.intersection(*tops)


def test_the_voted_set_comes_weakest_first_and_is_never_empty():
    order = vote_features(sums(), Filters(welch=None))
    assert order[-1] == np.argmax(scores()[0])
    assert vote_features(sums(), Filters(welch=0.0)).tolist() == [order[-1]]


def test_candidates_are_sets_of_the_weakest():
    order = np.array([5, 2, 7, 1, 0])
    assert candidates(order, 1, 3).tolist() == [[5], [2], [7]]
    assert candidates(order, 2, 3).tolist() == [[5, 2], [7, 1]]
    assert candidates(order, 5, 9).tolist() == [[5, 2, 7, 1, 0]]
