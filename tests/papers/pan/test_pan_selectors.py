"""VotedWrapperSelector and FilterWrapperSelector at their defaults, and against plain implementations."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC

import tacit
from papers.pan import reference
from tacit.errors import LocalError
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.pan import FilterWrapperSelector, PanSVC, VotedWrapperSelector
from tacit.papers.pan.relevance import Expansion, order, score_rfe, score_rsvm, sum_changes, vote

X, Y = reference.table()
NOISY = np.column_stack([X, np.random.default_rng(5).normal(size=(len(X), 3))])
LINEAR = PanSVC(kernel="linear", tol=1e-5, random_state=0)
BOTH = (VotedWrapperSelector, FilterWrapperSelector)


def test_the_filter_drops_as_a_plain_implementation_does():
    federation = tacit.simulate(X, Y, parties=3, seed=1)
    selector = FilterWrapperSelector(LINEAR, step=1, cv=2, welch=0.9, max_trials=9).fit(federation)
    passing, gone, accuracies = reference.select_by_filters(X, Y, rows_of(federation), C=1.0, folds=2)
    np.testing.assert_allclose(list(selector.accuracy_.values()), accuracies)
    best = int(np.argmax(accuracies))
    assert sorted(np.flatnonzero(selector.support_)) == sorted(set(passing) - set(gone[:best]))


def test_the_wrapper_drops_as_a_plain_implementation_does():
    """Two criteria, and the accuracy where they disagree; support vectors of SVM-t depend on the solver."""
    federation = tacit.simulate(NOISY, Y, parties=3, seed=1)
    selector = VotedWrapperSelector(LINEAR, n_features_to_select=1, step=1, criteria=("rfe", "rsvm")).fit(federation)
    left, gone = list(range(NOISY.shape[1])), []
    while len(left) > 1:
        e, sign = plain_expansion(NOISY[:, left], Y), (2 * Y - 1).astype(np.int8)[:, None]
        found = [order(score_rfe(e)), order(score_rsvm(sum_changes(e, NOISY[:, left], sign)))]
        agreed, contested = vote(found, 1)
        proposed = [agreed] if agreed else contested
        rest = [[j for i, j in enumerate(left) if i not in each] for each in proposed]
        tried = [reference.accuracy(NOISY[:, each], Y, rows_of(federation), 1.0, 5) for each in rest]
        gone.append(left[proposed[int(np.argmax(tried))][0]])
        left = rest[int(np.argmax(tried))]
    assert np.argsort(-selector.ranking_)[:-1].tolist() == gone


def rows_of(federation: tacit.Federation) -> list[np.ndarray]:
    """The numbers of each party's records in the table."""
    return [
        np.array([np.flatnonzero((x == X).all(axis=1))[0] for x in part.X[:, :4]]) for part in federation.parts.values()
    ]


def plain_expansion(X: np.ndarray, y: np.ndarray) -> Expansion:
    svc = SVC(kernel="linear", tol=1e-7).fit(X, y)
    return Expansion(Kernel("linear"), np.zeros((1, X.shape[1])), svc.coef_, svc.intercept_)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOTH)
def test_both_work_at_their_defaults_and_keep_the_accuracy(kind):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    selector = kind(step=0.4).fit(X[:300], y[:300])
    kept = PanSVC(random_state=0).fit(selector.transform(X[:300]), y[:300])
    every = PanSVC(random_state=0).fit(X[:300], y[:300])
    assert kept.score(selector.transform(X[300:]), y[300:]) >= every.score(X[300:], y[300:]) - 0.04
    assert selector.accuracy_[selector.n_features_] == max(selector.accuracy_.values())


@pytest.mark.parametrize("kind", BOTH)
def test_several_classes_kernels_and_more_columns_than_records(kind):
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:10, 50:60, 100:110]
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(150, 60))])[rows]
    selector = kind(PanSVC(kernel="poly", coef0=1.0), n_features_to_select=5, step=0.5, cv=2).fit(wide, y[rows])
    assert selector.n_features_ <= 5
    assert selector.support_[:4].any()


@pytest.mark.parametrize("kind", BOTH)
def test_a_selector_is_saved_and_narrows_a_federation(kind, tmp_path):
    federation = tacit.simulate(NOISY, Y, parties=2)
    selector = kind(LINEAR, n_features_to_select=2, step=3, cv=2).fit(federation)
    again = tacit.load(selector.save(tmp_path / "selector.tacit"))
    np.testing.assert_array_equal(again.support_, selector.support_)
    np.testing.assert_array_equal(again.ranking_, selector.ranking_)
    assert again.accuracy_ == selector.accuracy_
    narrow = selector.transform(federation)
    assert narrow.features == tuple(np.array(federation.features)[selector.support_])
    np.testing.assert_array_equal(selector.transform(NOISY), NOISY[:, selector.support_])
    assert any("a model for every subset" in line.lower() for line in selector.report_.not_protected)


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (VotedWrapperSelector(n_features_to_select=9), "asks for more features than the 7 that there are: lower it"),
        (VotedWrapperSelector(estimator=tacit.SVC()), "must be a PanSVC of tacit.papers.pan"),
        (VotedWrapperSelector(criteria=("rfe", "lasso")), "The 'criteria' parameter of VotedWrapperSelector must be"),
        (FilterWrapperSelector(welch=1.5), "The 'welch' parameter of FilterWrapperSelector must be"),
        (FilterWrapperSelector(step=0), "The 'step' parameter of FilterWrapperSelector must be"),
    ],
    ids=["too many", "estimator", "criteria", "p-value", "step"],
)
def test_selectors_refuse_in_one_line(selector, words):
    with pytest.raises(LocalError, match=words) as raised:
        clone(selector).fit(NOISY, Y)
    assert "\n" not in str(raised.value)
