"""Criteria, filters and votes against scikit-learn, SciPy and models trained without the feature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind
from sklearn.feature_selection import f_classif
from sklearn.svm import SVC

from papers.pan import reference
from tacit.numeric.svm.kernels import Kernel, problems, signs_of
from tacit.papers.pan import relevance as scores
from tacit.papers.pan.elimination import Eliminated, Elimination, finish, list_subsets, rank_features

X, Y = reference.table()
X3, Y3 = reference.table(3)
SIGNS = signs_of(Y, problems(2, "ovo"))
KERNELS = {"rbf": Kernel("rbf", 0.4), "poly": Kernel("poly", 0.4, 3, 1.0), "linear": Kernel("linear")}


def expansion(name: str) -> scores.Expansion:
    """The SVM of LIBSVM as a sum over its support vectors."""
    kernel = KERNELS[name]
    svc = SVC(kernel=name, gamma=0.4, coef0=1.0).fit(X, Y)
    if name == "linear":
        return scores.Expansion(kernel, np.zeros((1, X.shape[1])), svc.coef_, svc.intercept_)
    return scores.Expansion(kernel, svc.support_vectors_, svc.dual_coef_, svc.intercept_)


def without(e: scores.Expansion, X: np.ndarray, j: int) -> np.ndarray:
    """The decision values of a model whose kernel does not see a feature."""
    X, L, v = X.copy(), e.landmarks.copy(), e.v.copy()
    X[:, j] = L[:, j] = 0.0
    v[:, j] = 0.0 if e.kernel.name == "linear" else v[:, j]
    return scores.Expansion(e.kernel, L, v, e.b).values(X)


@pytest.mark.parametrize("name", KERNELS)
def test_changes_are_those_of_a_kernel_without_the_feature(name):
    e = expansion(name)
    np.testing.assert_allclose(e.values(X)[:, 0], SVC(kernel=name, gamma=0.4, coef0=1.0).fit(X, Y).decision_function(X))
    for j, change in enumerate(e.changes(X)):
        np.testing.assert_allclose(change, e.values(X) - without(e, X, j), atol=1e-10)


def test_criteria_of_a_linear_kernel_are_those_of_the_literature():
    e = expansion("linear")
    w = e.v[0]
    np.testing.assert_allclose(scores.score_rfe(e), w**2)
    parts = [scores.sum_changes(e, X[i], SIGNS[i]) for i in reference.deal(("a", "b", "c"), len(X)).values()]
    means = X[Y == 1].mean(axis=0) - X[Y == 0].mean(axis=0)
    np.testing.assert_allclose(scores.score_rsvm(np.sum(parts, axis=0)), w * means)
    inside = SIGNS[:, 0] * e.values(X)[:, 0] <= 1
    expected = ttest_ind(X[inside & (Y == 1)], X[inside & (Y == 0)], equal_var=False)
    found = scores.score_t(scores.sum_margin(e, X, SIGNS, X.mean(axis=0)))
    np.testing.assert_allclose(found, np.abs(expected.statistic))


def test_rfe_of_a_kernel_is_the_change_of_the_norm():
    e = expansion("rbf")
    for j, found in enumerate(scores.score_rfe(e)):
        A = np.exp(-0.4 * np.square(e.landmarks[:, None] - e.landmarks).sum(axis=2))
        B = np.exp(-0.4 * np.square(np.delete(e.landmarks[:, None] - e.landmarks, j, axis=2)).sum(axis=2))
        assert found == pytest.approx(abs(float(e.v[0] @ (A - B) @ e.v[0])))


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_filters_equal_scipy_and_scikit_learn(scale):
    Z = scale * (X + 5.0)
    sums = scores.sum_classes(Z, Y, 2, Z.mean(axis=0))
    fisher, t, p, scatter = reference.filters(Z, Y)
    np.testing.assert_allclose(scores.score_fisher(sums), fisher)
    np.testing.assert_allclose(scores.score_t(scores.pair_classes(sums)), t)
    np.testing.assert_allclose(scores.find_p(sums), p)
    np.testing.assert_allclose(scores.score_scatter(sums), scatter)


def test_scatter_of_three_classes_is_the_f_of_an_analysis_of_variance():
    sums = scores.sum_classes(X3, Y3, 3, X3.mean(axis=0))
    np.testing.assert_allclose(scores.score_scatter(sums) * (len(X3) - 3) / 2, f_classif(X3, Y3)[0])
    each = [ttest_ind(X3[k == Y3], X3[k != Y3], equal_var=False).pvalue for k in range(3)]
    np.testing.assert_allclose(scores.find_p(sums), np.minimum(1, 3 * np.min(each, axis=0)))


def test_constant_features_score_nothing_and_separating_ones_everything():
    Z = np.column_stack([np.ones(len(X)), Y.astype(float)])
    sums = scores.sum_classes(Z, Y, 2, Z.mean(axis=0))
    for found in (scores.score_fisher(sums), scores.score_t(scores.pair_classes(sums)), scores.score_scatter(sums)):
        assert found.tolist() == [0.0, np.inf]
    assert scores.find_p(sums).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("orders", "drop", "outcome"),
    [
        ([[2, 0, 1], [2, 1, 0], [0, 1, 2]], 1, ([2], [])),
        ([[2, 0, 1], [1, 2, 0], [0, 1, 2]], 1, ([], [[2], [1], [0]])),
        ([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]], 2, ([0, 1], [])),
        ([[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]], 2, ([0], [[1], [2], [3]])),
        ([[1, 0, 2]], 2, ([1, 0], [])),
    ],
)
def test_a_vote_drops_what_most_name_and_else_proposes(orders, drop, outcome):
    gone, contested = scores.vote([np.array(each) for each in orders], drop)
    assert (sorted(gone), contested) == (sorted(outcome[0]), outcome[1])


def test_thresholds_and_quota_make_the_voted_set():
    sums = scores.sum_classes(X, Y, 2, X.mean(axis=0))
    every = scores.Thresholds(None, None, None, 4)
    assert sorted(scores.vote_features(sums, every)) == [0, 1, 2, 3]
    assert scores.vote_features(sums, every)[-1] == 0  # the strongest feature of the table stands last
    assert scores.vote_features(sums, scores.Thresholds(None, None, None, 1)).tolist() == [0]
    assert scores.vote_features(sums, scores.Thresholds(1e9, 0.01, None, 4)).tolist() == [0]  # the best if none passes


def test_rounds_follow_from_the_portion_and_ranks_from_the_rounds():
    assert Elimination(portion=1.0).drops(4) == (1, 1, 1)
    assert Elimination(portion=0.5, least_left=2).drops(9) == (4, 2, 1)
    assert Elimination(portion=3.0).drops(5) == (3, 1)
    gone = [np.array([1]), np.array([0, 3])]
    found = finish(np.arange(4), gone, (0.7, 0.9, 0.9), Elimination())
    assert isinstance(found, Eliminated)
    assert found.chosen == 1, "of equals the largest"
    assert list_subsets(found)[found.chosen].tolist() == [0, 2, 3]
    assert rank_features(5, found).tolist() == [1, 2, 1, 1, 3]
