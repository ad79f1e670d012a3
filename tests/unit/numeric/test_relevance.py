"""The criteria for features equal brute force, scipy and scikit-learn; votes are the paper's.

Nothing undefined warns.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind, ttest_ind_from_stats
from sklearn.feature_selection import f_classif
from sklearn.svm import SVC

from tacit.errors import LocalError
from tacit.numeric.features import relevance
from tacit.numeric.features.relevance import Expansion
from tacit.numeric.svm.kernels import KERNELS, Kernel

RNG = np.random.default_rng(11)
N, D, L, K = 41, 6, 9, 3
X = RNG.normal(size=(N, D)) + np.arange(D)
LANDMARKS = RNG.normal(size=(L, D)) + np.arange(D)
SIGNS = RNG.integers(-1, 2, size=(N, K)).astype(np.int8)
CODES = np.arange(N) % 4
KERNEL_SETTINGS = [
    Kernel("linear"),
    Kernel("rbf", gamma=0.2),
    Kernel("rbf", gamma=40.0),  # takes the way without overflow
    Kernel("poly", 0.3, 3, 1.5),
    Kernel("poly", 0.3, 1, -1.0),
    Kernel("poly", 0.3, 0, 1.0),
    Kernel("sigmoid", 0.05, coef0=0.2),
]
BY_NAME = partial(pytest.mark.parametrize, "kernel", ids=lambda k: f"{k.name}-{k.gamma}-{k.degree}")


def expansion(kernel, problems=K):
    rng = np.random.default_rng(3)
    return Expansion(kernel, LANDMARKS, rng.normal(size=(problems, L)), rng.normal(size=problems))


def kernel_matrix(kernel, a, b):
    return kernel.from_dots(a @ b.T, (a * a).sum(axis=1), (b * b).sum(axis=1))


def without(e, a, j):
    """What is left of f - b without feature j, from kernels computed anew."""
    keep = [i for i in range(a.shape[1]) if i != j]
    return kernel_matrix(e.kernel, a[:, keep], e.landmarks[:, keep]) @ e.v.T


def whole(e, a):
    return kernel_matrix(e.kernel, a, e.landmarks) @ e.v.T


# RFE and RSVM


@BY_NAME(KERNEL_SETTINGS)
@pytest.mark.parametrize("block", [1, 7, 100, 1 << 18])
def test_rfe_is_what_the_norm_loses_without_a_feature(kernel, block):
    e = expansion(kernel)
    A = kernel_matrix(kernel, LANDMARKS, LANDMARKS)
    lost = [[abs(v @ A @ v - v @ without(e, LANDMARKS, j)[:, k]) for j in range(D)] for k, v in enumerate(e.v)]
    np.testing.assert_allclose(relevance.rfe(e, block), np.mean(lost, axis=0), rtol=1e-9, atol=1e-12)


@BY_NAME(KERNEL_SETTINGS)
@pytest.mark.parametrize("block", [1, 7, 100, 1 << 18])
def test_rsvm_is_the_difference_of_class_means_of_what_the_decision_loses(kernel, block):
    e = expansion(kernel)
    expected = np.empty((K, D))
    for j in range(D):
        lost = whole(e, X) - without(e, X, j)
        for k in range(K):
            expected[k, j] = lost[SIGNS[:, k] > 0, k].mean() - lost[SIGNS[:, k] < 0, k].mean()
    sums = relevance.rsvm_sums(e, X, SIGNS, block)
    assert sums.shape == (K, 2, 1 + D)
    np.testing.assert_allclose(relevance.rsvm(sums), expected.mean(axis=0), rtol=1e-9, atol=1e-12)


def test_for_the_linear_kernel_rfe_is_the_squared_weight_and_rsvm_the_weighted_difference_of_means():
    e = expansion(Kernel("linear"), 1)
    w, signs = (e.v @ e.landmarks)[0], np.where(CODES > 1, 1, -1).astype(np.int8)[:, None]
    np.testing.assert_allclose(relevance.rfe(e), w**2, rtol=1e-12)
    difference = X[CODES > 1].mean(axis=0) - X[CODES <= 1].mean(axis=0)
    np.testing.assert_allclose(relevance.rsvm(relevance.rsvm_sums(e, X, signs)), w * difference, rtol=1e-12)


def test_the_linear_kernel_has_the_scores_of_its_form_as_a_polynomial():
    linear, poly = (expansion(k) for k in (Kernel("linear"), Kernel("poly", 1.0, 1, 0.0)))
    np.testing.assert_allclose(relevance.rfe(linear), relevance.rfe(poly), rtol=1e-11)
    np.testing.assert_allclose(relevance.rsvm_sums(linear, X, SIGNS), relevance.rsvm_sums(poly, X, SIGNS), rtol=1e-10)


def test_weights_alone_are_an_expansion_over_themselves():
    e = expansion(Kernel("linear"))
    w = e.v @ e.landmarks
    same = Expansion(Kernel("linear"), w, np.eye(K), e.b)
    np.testing.assert_allclose(relevance.rfe(same), (w**2).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(relevance.decision(same, X), X @ w.T + e.b, rtol=1e-12)


def test_a_support_vector_machine_of_scikit_learn_is_an_expansion():
    y = np.where(X[:, 0] * (X[:, 1] - 1) > 0, 1, -1)
    svc = SVC(C=10.0, gamma=0.1).fit(X, y)
    e = Expansion(Kernel("rbf", 0.1), svc.support_vectors_, svc.dual_coef_, svc.intercept_)
    np.testing.assert_allclose(relevance.decision(e, X)[:, 0], svc.decision_function(X), rtol=1e-9)


@BY_NAME(KERNEL_SETTINGS)
def test_the_decision_is_the_expansion_whatever_the_block(kernel):
    e = expansion(kernel)
    for block in (1, 20, 1 << 18):
        np.testing.assert_allclose(relevance.decision(e, X, block), whole(e, X) + e.b, rtol=1e-11)


def test_a_feature_that_dominates_a_distance_neither_overflows_nor_exceeds_one():
    far = LANDMARKS * np.where(np.arange(D) == 2, 1e6, 1.0)
    e = Expansion(Kernel("rbf", 1.0), far, np.ones((1, L)), np.zeros(1))
    sums = relevance.rsvm_sums(e, X, np.ones((N, 1), dtype=np.int8))
    assert np.isfinite(sums).all()
    assert np.abs(sums[0, 0, 1:]).max() <= N * L


def test_the_contribution_of_one_of_very_many_features_keeps_its_digits():
    wide = RNG.normal(size=(5, 4000))
    gamma = 1e-12
    e = Expansion(Kernel("rbf", gamma), wide[:2], np.array([[1.0, -0.5]]), np.zeros(1))
    sums = relevance.rsvm_sums(e, wide, np.ones((5, 1), dtype=np.int8))
    first_order = -gamma * (((wide[:, None] - wide[None, :2]) ** 2) * np.array([1.0, -0.5])[:, None]).sum(axis=(0, 1))
    np.testing.assert_allclose(sums[0, 0, 1:], first_order, rtol=1e-6)


def test_a_feature_that_is_the_same_everywhere_has_no_part_in_an_rbf_model():
    flat, flat_landmarks = X.copy(), LANDMARKS.copy()
    flat[:, 1] = flat_landmarks[:, 1] = 0.1
    e = Expansion(Kernel("rbf", 0.2), flat_landmarks, expansion(Kernel("rbf")).v, np.zeros(K))
    assert relevance.rfe(e)[1] == 0.0
    assert relevance.rsvm(relevance.rsvm_sums(e, flat, SIGNS))[1] == 0.0


def test_a_class_without_rows_leaves_rsvm_at_zero():
    e = expansion(Kernel("rbf", 0.2), 1)
    assert not relevance.rsvm(relevance.rsvm_sums(e, X, np.ones((N, 1), dtype=np.int8))).any()


# Sums


@BY_NAME(KERNEL_SETTINGS)
def test_the_sums_of_parties_add_up_to_the_sums_of_all_rows(kernel):
    e, offset = expansion(kernel), LANDMARKS.mean(axis=0)
    cuts = [slice(0, 20), slice(20, 20), slice(20, N)]  # the second party holds nothing
    for what in (
        lambda rows: relevance.rsvm_sums(e, X[rows], SIGNS[rows]),
        lambda rows: relevance.margin_sums(e, X[rows], SIGNS[rows], offset),
        lambda rows: relevance.class_sums(X[rows], CODES[rows], 4, offset),
    ):
        np.testing.assert_allclose(sum(what(cut) for cut in cuts), what(slice(None)), rtol=1e-9, atol=1e-10)


def test_moments_are_counts_sums_and_sums_of_squares_around_the_offset():
    offset = np.arange(D) * 1.0
    got = relevance.class_sums(X, CODES, 4, offset)
    for c in range(4):
        mine = X[c == CODES] - offset
        np.testing.assert_allclose(got[c], [len(mine), *mine.sum(axis=0), *(mine**2).sum(axis=0)], rtol=1e-12)


# Welch's t


def test_svm_t_is_welchs_over_the_rows_inside_the_margin():
    e = replace(expansion(Kernel("rbf", 0.1)), b=np.array([0.1, -0.2, 0.0]))
    yf = SIGNS * (whole(e, X) + e.b)
    expected = [
        np.abs(
            ttest_ind(
                X[(SIGNS[:, k] > 0) & (yf[:, k] <= 1)], X[(SIGNS[:, k] < 0) & (yf[:, k] <= 1)], equal_var=False
            ).statistic
        )
        for k in range(K)
    ]
    sums = relevance.margin_sums(e, X, SIGNS, LANDMARKS.mean(axis=0))
    assert sums[..., 0].min() >= 2
    np.testing.assert_allclose(sums[:, 0, 0], ((SIGNS > 0) & (yf <= 1)).sum(axis=0))
    np.testing.assert_allclose(relevance.margin_t(sums), np.mean(expected, axis=0), rtol=1e-10)


def test_slack_widens_the_margin():
    e = expansion(Kernel("rbf", 0.2))
    counts = [relevance.margin_sums(e, X, SIGNS, slack=slack)[..., 0].sum() for slack in (0.0, 0.5, 1e9)]
    assert counts[0] < counts[1] < counts[2] == (SIGNS != 0).sum()


def test_welch_and_its_p_are_scipys_for_two_classes():
    sums = relevance.class_sums(X, CODES % 2, 2, X.mean(axis=0))
    theirs = ttest_ind(X[CODES % 2 == 0], X[CODES % 2 == 1], equal_var=False)
    np.testing.assert_allclose(relevance.welch(sums), np.abs(theirs.statistic), rtol=1e-10)
    np.testing.assert_allclose(relevance.welch_p(sums), theirs.pvalue, rtol=1e-9)


def test_with_more_classes_welch_is_the_mean_over_each_against_the_rest_and_p_is_bonferronis():
    sums = relevance.class_sums(X, CODES, 4, 2.0)
    theirs = [ttest_ind(X[c == CODES], X[c != CODES], equal_var=False) for c in range(4)]
    np.testing.assert_allclose(relevance.welch(sums), np.mean([np.abs(t.statistic) for t in theirs], axis=0), rtol=1e-9)
    np.testing.assert_allclose(
        relevance.welch_p(sums), np.minimum(1, 4 * np.min([t.pvalue for t in theirs], axis=0)), rtol=1e-9
    )


def test_the_offset_saves_what_a_large_mean_would_hide():
    far = X + 1e8
    shifted = far - 1e8  # what is left of the digits
    theirs = ttest_ind(shifted[CODES % 2 == 0], shifted[CODES % 2 == 1], equal_var=False)
    np.testing.assert_allclose(
        relevance.welch(relevance.class_sums(far, CODES % 2, 2, 1e8)), np.abs(theirs.statistic), rtol=1e-9
    )


# Fisher and the scatter ratio


def test_fisher_squares_the_difference_and_does_not_depend_on_units():
    a, b = X[CODES % 2 == 0], X[CODES % 2 == 1]
    expected = (a.mean(axis=0) - b.mean(axis=0)) ** 2 / (a.var(axis=0) + b.var(axis=0))
    np.testing.assert_allclose(relevance.fisher(relevance.class_sums(X, CODES % 2, 2, 2.0)), expected, rtol=1e-9)
    np.testing.assert_allclose(relevance.fisher(relevance.class_sums(X * 1000, CODES % 2, 2)), expected, rtol=1e-8)


def test_with_more_classes_fisher_is_the_mean_over_each_against_the_rest():
    expected = [relevance.fisher(relevance.class_sums(X, (c == CODES).astype(np.int64), 2)) for c in range(4)]
    np.testing.assert_allclose(
        relevance.fisher(relevance.class_sums(X, CODES, 4)), np.mean(expected, axis=0), rtol=1e-9
    )


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_scatter_ratio_is_anovas_f_up_to_the_degrees_of_freedom(classes):
    codes = CODES % classes
    ratio = relevance.scatter_ratio(relevance.class_sums(X, codes, classes, X.mean(axis=0)))
    np.testing.assert_allclose(ratio * (N - classes) / (classes - 1), f_classif(X, codes)[0], rtol=1e-10)


def test_a_class_that_nobody_has_does_not_change_the_scatter_ratio():
    with_empty = relevance.class_sums(X, CODES, 6)
    np.testing.assert_allclose(relevance.scatter_ratio(with_empty), relevance.scatter_ratio(with_empty[:4]), rtol=1e-12)


# What is undefined

SCORES = {
    "welch": relevance.welch,
    "fisher": relevance.fisher,
    "scatter": relevance.scatter_ratio,
    "margin_t": lambda sums, error=0.0: relevance.margin_t(relevance.one_versus_rest(sums), error * len(sums)),
}
BY_SCORE = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)


@BY_SCORE
@pytest.mark.parametrize("value", [0.0, 0.1, -1e7 / 3, 1e-9])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", [30, 20_001])
def test_a_constant_feature_scores_zero_and_ranks_below_any_other(score, value, classes, rows):
    data = np.random.default_rng(2).normal(size=(rows, 3))
    data[:, 1] = value
    sums = sum(relevance.class_sums(part, np.arange(len(part)) % classes, classes) for part in np.array_split(data, 5))
    assert score(sums)[1] == 0.0
    assert relevance.order(score(sums))[0] == 1
    assert relevance.welch_p(sums)[1] == 1.0


@BY_SCORE
@pytest.mark.parametrize("bits", [16, 24, 32])
@pytest.mark.parametrize("classes", [2, 5])
def test_a_constant_feature_scores_zero_also_after_rounding_to_fixed_point(score, bits, classes):
    data = np.random.default_rng(4).normal(size=(100, 200))
    data[:, 1:] = np.linspace(-1, 1, 199)
    parties = [relevance.class_sums(part, np.arange(len(part)) % classes, classes) for part in np.array_split(data, 3)]
    summed = sum(np.rint(np.ldexp(p, bits)) for p in parties) * 2.0**-bits
    found = score(summed, error=3 * 2.0 ** -(bits + 1))
    assert not found[1:].any()
    assert found[0] > 0.0
    np.testing.assert_allclose(found[0], score(sum(parties))[0], rtol=1e-2)


@BY_SCORE
def test_a_feature_constant_in_each_class_but_not_the_same_is_the_most_relevant(score):
    data = RNG.normal(size=(30, 2))
    data[:, 1] = np.arange(30) % 2 * 0.3 + 0.1
    sums = relevance.class_sums(data, np.arange(30) % 2, 2)
    assert score(sums)[1] == np.inf
    assert relevance.welch_p(sums)[1] == 0.0
    assert list(relevance.order(score(sums))) == [0, 1]


def test_with_one_row_in_a_class_welch_is_zero_and_the_others_are_defined():
    codes = (np.arange(N) == 0).astype(np.int64)
    sums = relevance.class_sums(X, codes, 2)
    assert not relevance.welch(sums).any()
    assert (relevance.welch_p(sums) == 1.0).all()
    np.testing.assert_allclose(relevance.fisher(sums), (X[0] - X[1:].mean(axis=0)) ** 2 / X[1:].var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(relevance.scatter_ratio(sums) * (N - 2), f_classif(X, codes)[0], rtol=1e-9)


@BY_SCORE
@pytest.mark.parametrize("codes", [[], [0], [1, 0], [0, 0, 0, 0]])
@pytest.mark.parametrize("classes", [2, 3])
def test_with_too_few_rows_all_scores_are_zero(score, codes, classes):
    found = np.array(codes, dtype=np.int64)
    sums = relevance.class_sums(X[: len(found)], found, classes)
    assert not score(sums).any()
    assert (relevance.welch_p(sums) == 1.0).all()


def test_one_spread_and_one_constant_class_have_scipys_t():
    data = np.where(CODES % 2, X[:, 0], 0.25)[:, None]
    spread = X[CODES % 2 == 1, 0]
    theirs = ttest_ind_from_stats(
        spread.mean(), spread.std(ddof=1), len(spread), 0.25, 0.0, N - len(spread), equal_var=False
    )
    sums = relevance.class_sums(data, CODES % 2, 2)
    np.testing.assert_allclose(relevance.welch(sums), np.abs(theirs.statistic), rtol=1e-9)
    np.testing.assert_allclose(relevance.welch_p(sums), theirs.pvalue, rtol=1e-8)


# Votes


def test_equal_scores_are_ordered_by_their_place():
    assert list(relevance.order(np.array([2.0, 0.0, np.inf, 0.0, -1.0]))) == [4, 1, 3, 0, 2]


def test_a_feature_that_two_criteria_put_last_goes():
    assert relevance.vote([[3, 1, 2], [1, 3, 2], [3, 2, 1]], 1) == relevance.Vote((3,), ())


def test_if_all_three_disagree_each_proposes_its_own():
    assert relevance.vote([[1, 2, 3], [2, 3, 1], [3, 1, 2]], 1) == relevance.Vote((), ((1,), (2,), (3,)))


def test_one_criterion_decides_alone():
    assert relevance.vote([np.array([4, 2, 0])], 2) == relevance.Vote((4, 2), ())


def test_what_the_vote_leaves_open_is_proposed_by_each_criterion_in_its_order():
    a, b, c = [0, 1, 2, 3, 4, 5], [0, 3, 4, 1, 2, 5], [5, 0, 4, 1, 2, 3]
    assert relevance.vote([a, b, c], 3) == relevance.Vote((0, 4), ((1,), (3,), (5,)))


def test_if_too_many_have_a_majority_the_most_votes_and_then_the_lowest_ranks_go():
    a, b, c = [0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3]
    assert relevance.vote([a, b, c], 2).gone == (0, 1)  # all three have two votes and the same sum of ranks
    assert relevance.vote([[0, 1, 2, 3], [1, 2, 0, 3], [2, 1, 0, 3]], 2).gone == (1, 2)


@pytest.mark.parametrize("drop", [0, -1, 4])
def test_a_vote_on_too_many_or_no_features_is_refused(drop):
    with pytest.raises(LocalError, match=f"a vote drops 1 to 3 of 3 features, got drop={drop}"):
        relevance.vote([[0, 1, 2]] * 3, drop)


@pytest.mark.parametrize("rankings", [[], [[0, 1], [0, 2]], [[0, 0]], [[0, 1], [0, 1, 1]]])
def test_rankings_of_different_features_are_refused(rankings):
    with pytest.raises(LocalError, match="every ranking must hold the same features, each once"):
        relevance.vote(rankings, 1)


@st.composite
def ballots(draw, least=1):
    features = draw(st.lists(st.integers(0, 50), min_size=1, max_size=12, unique=True))
    rankings = [draw(st.permutations(features)) for _ in range(draw(st.integers(least, 3)))]
    return rankings, draw(st.integers(1, len(features)))


@given(ballots())
@settings(max_examples=150, deadline=None)
def test_a_vote_names_exactly_as_many_as_shall_go(ballot):
    rankings, drop = ballot
    found = relevance.vote(rankings, drop)
    assert len(set(found.gone)) == len(found.gone) <= drop
    assert bool(found.contested) == (len(found.gone) < drop)
    for proposal in found.contested:
        assert len(set(found.gone) | set(proposal)) == drop


@given(ballots())
@settings(max_examples=150, deadline=None)
def test_who_goes_has_a_majority_and_who_has_none_stays_open(ballot):
    rankings, drop = ballot
    found = relevance.vote(rankings, drop)
    named = {j: sum(j in r[:drop] for r in rankings) for j in rankings[0]}
    needed = min(2, len(rankings))
    assert all(named[j] >= needed for j in found.gone)
    if found.contested:
        assert set(found.gone) == {j for j, votes in named.items() if votes >= needed}
        assert len(found.contested) == len(rankings)
        assert len({j for proposal in found.contested for j in proposal}) == len(rankings) * (drop - len(found.gone))


@given(ballots(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_criteria_changes_nothing_but_the_order_of_the_proposals(ballot, random):
    rankings, drop = ballot
    shuffled = random.sample(rankings, len(rankings))
    found, again = relevance.vote(rankings, drop), relevance.vote(shuffled, drop)
    assert found.gone == again.gone
    assert set(found.contested) == set(again.contested)


@given(ballots(least=3))
@settings(max_examples=100, deadline=None)
def test_dropping_one_is_the_papers_step_four(ballot):
    rankings, _ = ballot
    least = [r[0] for r in rankings]
    found = relevance.vote(rankings, 1)
    twice = [j for j in least if least.count(j) >= 2]
    assert found == (relevance.Vote((twice[0],), ()) if twice else relevance.Vote((), tuple((j,) for j in least)))


@given(st.permutations(range(8)), st.integers(1, 8), st.integers(1, 5))
@settings(deadline=None)
def test_criteria_that_agree_need_no_tie_break(ranking, drop, criteria):
    assert relevance.vote([ranking] * criteria, drop) == relevance.Vote(tuple(ranking[:drop]), ())


def test_every_kernel_is_tried():
    assert {k.name for k in KERNEL_SETTINGS} == set(KERNELS)
