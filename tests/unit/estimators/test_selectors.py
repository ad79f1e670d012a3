"""The selectors keep scikit-learn's contract, on arrays, in pipelines and on federations.

What they cannot do they refuse.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit import FilterWrapperSelector, LocalError, PanSVC, VotedWrapperSelector

RNG = np.random.default_rng(8)
X = RNG.normal(size=(90, 6))
Y = np.where(X[:, 0] + X[:, 3] * 0.8 + 0.3 * RNG.normal(size=90) > 0, "yes", "no")
EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own
LINEAR = PanSVC(kernel="linear", tol=1e-2, **EXACT)
BOTH = pytest.mark.parametrize("kind", [VotedWrapperSelector, FilterWrapperSelector])


@parametrize_with_checks(
    [
        VotedWrapperSelector(SVC(), step=0.5),
        FilterWrapperSelector(SVC(), step=0.5),
        VotedWrapperSelector(PanSVC(kernel="linear", max_rounds=8, tol=0.1, **EXACT), criteria=("rfe",), step=0.5),
        FilterWrapperSelector(PanSVC(kernel="linear", max_rounds=8, tol=0.1, **EXACT), step=0.5, max_trials=2),
    ]
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of data with few rows, and checks that are skipped
def test_selectors_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@BOTH
@pytest.mark.parametrize(
    "learner", [LINEAR, PanSVC(gamma=0.3, tol=1e-2, **EXACT), SVC(kernel="linear"), SVC(gamma=0.3)], ids=repr
)
def test_the_two_features_that_matter_are_found(kind, learner):
    selector = kind(learner, n_features_to_select=2).fit(X, Y)
    assert selector.get_support(indices=True).tolist() == [0, 3]
    assert selector.ranking_[[0, 3]].tolist() == [1, 1]
    assert (np.delete(selector.ranking_, [0, 3]) > 1).all()
    assert selector.n_features_ == 2
    np.testing.assert_array_equal(selector.transform(X), X[:, [0, 3]])
    back = selector.inverse_transform(X[:, [0, 3]])
    np.testing.assert_array_equal(back[:, [0, 3]], X[:, [0, 3]])
    assert not back[:, [1, 2, 4, 5]].any()


def test_rfe_of_a_linear_pan_svm_is_scikit_learns_rfe_of_the_pooled_linear_svm():
    data = load_breast_cancer()
    A, y = MinMaxScaler((-1, 1)).fit_transform(data.data[:150, :8]), data.target[:150]
    mine = VotedWrapperSelector(
        PanSVC(kernel="linear", C=1.0, tol=1e-5, **EXACT), criteria=("rfe",), n_features_to_select=3
    ).fit(A, y)
    theirs = RFE(SVC(kernel="linear", C=1.0, tol=1e-6), n_features_to_select=3).fit(A, y)
    np.testing.assert_array_equal(mine.ranking_, theirs.ranking_)
    pooled = VotedWrapperSelector(SVC(kernel="linear", C=1.0, tol=1e-6), criteria=("rfe",), n_features_to_select=3).fit(
        A, y
    )
    np.testing.assert_array_equal(pooled.ranking_, theirs.ranking_)


@BOTH
def test_they_stand_in_a_pipeline_before_either_classifier(kind):
    selector = kind(SVC(kernel="linear"), n_features_to_select=2)
    for classifier in (SVC(), LINEAR):
        assert cross_val_score(make_pipeline(MinMaxScaler(), selector, classifier), X, Y, cv=3).mean() > 0.8
    assert cross_val_score(make_pipeline(clone(selector).set_params(estimator=LINEAR), SVC()), X, Y, cv=3).mean() > 0.8


@BOTH
def test_names_of_features_pass_through(kind):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    selector = kind(SVC(kernel="linear"), n_features_to_select=2).fit(frame, Y)
    assert selector.get_feature_names_out().tolist() == ["a", "d"]
    federated = kind(LINEAR, n_features_to_select=2).fit(tacit.Federation.simulate(frame, Y, parties=3))
    assert federated.get_feature_names_out().tolist() == ["a", "d"]


@BOTH
def test_a_federation_is_narrowed_and_trained_on(kind):
    federation = tacit.Federation.simulate(X, Y, parties=3)
    selector = kind(LINEAR, n_features_to_select=2).fit(federation)
    few = selector.transform(federation)
    assert few.n_features == 2
    assert [part.X.shape[1] for part in few.parts.values()] == [2, 2, 2]
    assert clone(LINEAR).fit(few).score(few) > 0.8
    with pytest.raises(LocalError, match="the 6 features of fit"):
        selector.transform(few)


def test_the_best_subset_is_chosen_by_the_folds_and_bounded():
    selector = VotedWrapperSelector(LINEAR, n_features_to_select="best", max_features=3).fit(X, Y)
    assert set(selector.accuracy_) == {1, 2, 3}
    assert selector.n_features_ in {2, 3}
    assert {0, 3} <= set(selector.get_support(indices=True))
    pooled = VotedWrapperSelector(SVC(kernel="linear"), n_features_to_select="best", max_features=3).fit(X, Y)
    assert set(pooled.accuracy_) == {1, 2, 3}


# the plan, the report


@BOTH
@pytest.mark.parametrize(
    "learner",
    [
        PanSVC(gamma=0.3, tol=1e-2, max_rounds=3, landmark_source="local", min_count=3, accept_risk=True),
        PanSVC(gamma=0.3, tol=1e-2, max_rounds=3, landmark_source="joint", min_count=3, accept_risk=True),
        PanSVC(kernel="linear", tol=1e-2, max_rounds=3, secure_sum="ring", min_count=3, accept_risk=True),
    ],
    ids=["local", "joint", "ring"],
)
def test_the_rounds_stay_below_the_bound_that_is_printed_before(kind, learner, capsys):
    selector = kind(learner, n_features_to_select="best", step=2, verbose=True).fit(X, Y)
    printed = capsys.readouterr().out
    assert f"{kind.__name__}, 6 features, 3 parties: at most {selector.plan_.eliminations} eliminations" in printed
    assert selector.report_.rounds <= selector.plan_.rounds == selector.planned_rounds(6)
    assert selector.planned_rounds(6) < selector.planned_rounds(60)


def test_an_svc_sends_nothing():
    assert VotedWrapperSelector(SVC()).planned_rounds(100) == 0


def test_the_report_tells_who_learnt_what_and_how_the_features_went():
    selector = VotedWrapperSelector(LINEAR, n_features_to_select=2).fit(X, Y)
    report = selector.report_
    assert [row["features"] for row in report.history] == [5, 4, 3, 2]
    assert "VotedWrapperSelector" in report.title
    text = report.to_text()
    assert "the ranking of the features" in " ".join(text.split())
    assert report.from_dict(report.to_dict()).rounds == report.rounds


def test_sums_that_outnumber_the_cells_are_warned_about():
    wide = RNG.normal(size=(24, 30))
    y = (wide[:, 0] > 0).astype(int)
    learner = PanSVC(gamma=0.05, tol=0.1, max_rounds=3, min_cluster=1, **EXACT)
    with pytest.warns(UserWarning, match="sums for rsvm, more than the 720 cells"):
        VotedWrapperSelector(learner, criteria=("rsvm",), n_features_to_select=1).fit(wide, y)
    VotedWrapperSelector(learner, criteria=("rsvm",), n_features_to_select=1, step=0.5).fit(wide, y)


def test_trainings_that_end_early_are_warned_about():
    with pytest.warns(
        UserWarning, match=r"2 of 2 trainings ended before tol=1e-06: their features are judged by a coarser model"
    ):
        VotedWrapperSelector(
            PanSVC(kernel="linear", tol=1e-6, max_rounds=4, **EXACT), criteria=("rfe",), n_features_to_select=4
        ).fit(X, Y)  # fmt: skip


@BOTH
def test_of_rows_in_groups_the_same_features_are_found_and_nothing_is_warned_of(kind):
    rng = np.random.default_rng(8)
    A = rng.normal(size=(240, 6))
    y = A[:, 0] + A[:, 3] * 0.8 + 0.3 * rng.normal(size=240) > 0
    selector = kind(PanSVC(kernel="linear", tol=1e-2), n_features_to_select=2).fit(A, y)
    assert selector.get_support(indices=True).tolist() == [0, 3]
    assert selector.report_.warnings == []


# refusals


@BOTH
@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"n_features_to_select": 7}, "more features than the 6"),
        ({"n_features_to_select": 0}, "'n_features_to_select' parameter"),
        ({"n_features_to_select": 1.5}, "'n_features_to_select' parameter"),
        ({"n_features_to_select": "most"}, "'n_features_to_select' parameter"),
        ({"max_features": 7}, "more features than the 6"),
        ({"step": 0}, "'step' parameter"),
        ({"cv": 1}, "'cv' parameter"),
        ({"estimator": LogisticRegression()}, "must be a PanSVC, or scikit-learn's SVC"),
        ({"estimator": SVC(kernel="precomputed")}, "must be a PanSVC, or scikit-learn's SVC"),
        ({"estimator": PanSVC(landmark_source="fourier")}, "no sum over landmarks"),
        ({"estimator": PanSVC(C=-1)}, "'C' parameter of PanSVC"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(kind, params, why):
    with pytest.raises(LocalError, match=why) as refusal:
        kind(**params).fit(X, Y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("criteria", ["rfe", ("rfe", "chi2"), (), ("t", "t")])
def test_unknown_criteria_are_refused(criteria):
    with pytest.raises(LocalError, match="criteria must be"):
        VotedWrapperSelector(criteria=criteria).fit(X, Y)


@pytest.mark.parametrize(
    "params", [{"welch": 2.0}, {"fisher": -1.0}, {"agree": "some"}, {"max_trials": 0}, {"quota": 9}]
)
def test_bad_thresholds_are_refused(params):
    with pytest.raises(LocalError, match=next(iter(params))):
        FilterWrapperSelector(**params).fit(X, Y)


@BOTH
def test_a_federation_is_refused_for_an_svc_and_for_labels_given_twice(kind):
    federation = tacit.Federation.simulate(X, Y, parties=3)
    with pytest.raises(LocalError, match="needs all records in one place: give a PanSVC"):
        kind(SVC()).fit(federation)
    with pytest.raises(LocalError, match="got a Federation and also y"):
        kind(LINEAR).fit(federation, Y)


@BOTH
def test_a_data_holder_coordinates_only_if_that_is_accepted(kind):
    federation = tacit.Federation.simulate(X, Y, parties=3, coordinator="party-1")
    with pytest.raises(LocalError, match=r"'party-1' would coordinate and learn the sums, .*accept_risk"):
        kind(clone(LINEAR).set_params(accept_risk=False)).fit(federation)
    assert kind(LINEAR, n_features_to_select=2).fit(federation).n_features_ == 2


@BOTH
def test_one_class_is_refused(kind):
    for learner in (LINEAR, SVC()):
        with pytest.raises(LocalError, match="2 classes"):
            kind(learner).fit(X, np.zeros(len(X)))
