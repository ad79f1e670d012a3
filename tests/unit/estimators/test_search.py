"""Searches for parameters.

Scikit-learn's answer on the same folds, its names, what is refused, and what the report says.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterSampler, PredefinedSplit
from sklearn.svm import SVC

from tacit import (
    FederatedGridSearch,
    FederatedHalvingSearch,
    FederatedRandomizedSearch,
    Federation,
    GramSVC,
    LocalError,
    PanSVC,
    ShiftSVC,
)
from tacit.protocols.planes.feature_map import map_records

GRID = {"C": [0.5, 5.0], "gamma": [0.1, 0.7]}
EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=150) > 0.6, "ill", "well")


@pytest.fixture(scope="module")
def found(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pan = FederatedGridSearch(
            PanSVC(landmarks=12, min_cluster=3, tol=1e-5, probability=True, random_state=0, **EXACT), GRID, cv=3
        ).fit(*table)
        return {
            "pan": pan,
            "gram": FederatedGridSearch(
                GramSVC(tol=1e-6, random_state=0), {**GRID, "kernel": ["rbf", "poly"]}, cv=3
            ).fit(*table),
        }


def test_gram_equals_grid_search_of_scikit_learn_on_the_same_folds_in_every_figure(found, table):
    search = found["gram"]
    reference = GridSearchCV(SVC(tol=1e-6), {**GRID, "kernel": ["rbf", "poly"]}, cv=PredefinedSplit(search.folds_)).fit(
        *table
    )
    assert search.best_params_ == reference.best_params_
    assert search.best_score_ == pytest.approx(reference.best_score_, abs=1e-12)
    assert search.best_index_ == reference.best_index_
    for name in ("split0_test_score", "split2_test_score", "mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], reference.cv_results_[name], atol=1e-12)
    assert search.cv_results_["params"] == reference.cv_results_["params"]
    assert list(search.cv_results_["param_kernel"]) == list(reference.cv_results_["param_kernel"])
    np.testing.assert_allclose(search.decision_function(table[0]), reference.decision_function(table[0]), atol=1e-4)


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_over_rows_and_cells_too(table, partition):
    X, y = table
    search = FederatedGridSearch(GramSVC(tol=1e-6, partition=partition, probability=True), GRID, cv=3).fit(X, y)
    reference = GridSearchCV(SVC(tol=1e-6), GRID, cv=PredefinedSplit(search.folds_)).fit(X, y)
    assert search.best_params_ == reference.best_params_
    for name in ("split0_test_score", "split2_test_score", "mean_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], reference.cv_results_[name], atol=1e-12)
    np.testing.assert_array_equal(search.predict(X), reference.predict(X))
    assert search.predict_proba(X[:3]).shape == (3, 2)
    assert search.report_.rounds <= search.plan_.rounds


def test_over_rows_no_fold_and_no_stage_has_a_few_records_of_a_class(table):
    X, y = table
    y = np.where(np.arange(len(y)) < len(y) - 12, 0, 1)
    with pytest.warns(
        UserWarning, match="of cv=5 folds one would have too few rows of a class for min_count=5: 2 were dealt"
    ):
        search = FederatedHalvingSearch(GramSVC(partition="horizontal"), GRID, cv=5, factor=2).fit(X, y)
    assert np.bincount(search.folds_[y == 1]).tolist() == [6, 6]
    assert set(search.cv_results_["iter"]) == {0}  # half of the records would be three of a class
    with pytest.raises(
        LocalError, match="too few rows for folds: even of two, one would have fewer than min_count=5 rows of a class"
    ):
        FederatedGridSearch(GramSVC(partition="horizontal"), GRID).fit(X, np.arange(len(X)) < 9)


def test_pan_equals_grid_search_of_scikit_learn_on_the_same_folds_and_map(found, table):
    search = found["pan"]
    X, y = table
    for gamma in GRID["gamma"]:
        rows = [i for i, p in enumerate(search.cv_results_["params"]) if p["gamma"] == gamma]
        best = clone(search.best_estimator_).set_params(gamma=gamma)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            F = map_records(best.fit(X, y).model_.map, X)
        reference = GridSearchCV(
            SVC(kernel="linear", tol=1e-6), {"C": GRID["C"]}, cv=PredefinedSplit(search.folds_), refit=False
        ).fit(F, y)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"][rows], reference.cv_results_["mean_test_score"], atol=1e-12
        )
    assert search.best_index_ == int(np.argmax(search.cv_results_["mean_test_score"]))
    assert not search.cv_results_["ended_early"].any()


def test_the_best_estimator_is_a_fitted_classifier_like_any_other(found, table, tmp_path):
    X, y = table
    for search in found.values():
        best = search.best_estimator_
        assert {name: best.get_params()[name] for name in search.best_params_} == search.best_params_
        np.testing.assert_array_equal(search.predict(X), best.predict(X))
        assert search.score(X, y) == best.score(X, y) > 0.8
        assert list(search.classes_) == ["ill", "well"]
        assert search.n_features_in_ == 3
        assert best.save(tmp_path / f"{type(best).__name__}.tacit").exists()
    chances = found["pan"].predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.mean(chances[:, 1] > 0.5) == pytest.approx(np.mean(y == "well"), abs=0.1)


def test_the_search_takes_the_rounds_of_few_trainings_and_no_more_than_planned(found, table):
    for search in found.values():
        assert search.report_.rounds <= search.plan_.rounds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = found["pan"].best_estimator_.fit(*table)
    assert found["pan"].plan_.models == 13
    assert found["pan"].report_.rounds < 13 * one.report_.rounds / 3


def test_the_report_has_the_best_the_candidates_and_who_learnt_what(found):
    report = found["pan"].report_
    assert report.estimator == "FederatedGridSearch"
    assert report.figures["best C"] == found["pan"].best_params_["C"]
    assert report.figures["its accuracy"] == found["pan"].best_score_
    assert any("for every candidate and fold, how many rows" in opened.what for opened in report.opens)
    assert any("candidates" in row for row in report.history)


def test_a_federation_gives_what_plain_arrays_give(found, table):
    X, y = table
    fed = Federation.simulate(X, y, parties=3, partition="vertical", seed=0)
    again = FederatedGridSearch(GramSVC(tol=1e-6, random_state=0), {**GRID, "kernel": ["rbf", "poly"]}, cv=3).fit(fed)
    np.testing.assert_allclose(
        again.cv_results_["mean_test_score"], found["gram"].cv_results_["mean_test_score"], atol=1e-12
    )


def test_a_randomized_search_draws_as_scikit_learn_does(table):
    given = {"C": uniform(0.5, 5), "gamma": [0.1, 0.7]}
    search = FederatedRandomizedSearch(
        GramSVC(), given, n_iter=4, random_state=3, cv=3, scoring="balanced_accuracy"
    ).fit(*table)
    assert search.cv_results_["params"] == list(ParameterSampler(given, 4, random_state=3))
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        each = {name: [value] for name, value in params.items()}
        reference = GridSearchCV(SVC(), each, cv=PredefinedSplit(search.folds_), scoring="balanced_accuracy").fit(
            *table
        )
        assert score == pytest.approx(reference.best_score_, abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        GramSVC(),
        *(PanSVC(landmarks=10, min_cluster=3, tol=1e-2, min_count=least, accept_risk=True) for least in (1, 2)),
    ],
    ids=["gram", "pan", "pan in groups"],
)
def test_a_halving_search_tries_fewer_candidates_on_more_records(table, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = FederatedHalvingSearch(model, {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.7]}, cv=2, factor=2).fit(*table)
    results = search.cv_results_
    assert list(results["iter"]) == [0] * 6 + [1] * 3 + [2] * 2
    np.testing.assert_allclose(np.unique(results["share"]), [0.25, 0.5, 1.0])
    for stage in (0, 1):
        now, later = ([results["params"][i] for i in np.flatnonzero(results["iter"] == s)] for s in (stage, stage + 1))
        means = results["mean_test_score"][results["iter"] == stage]
        assert [now.index(p) for p in later] == sorted(np.argsort(-means, kind="stable")[: len(later)])
    assert search.best_params_ in [results["params"][i] for i in np.flatnonzero(results["iter"] == 2)]
    assert search.score(*table) > 0.8


def test_weights_count_in_training_and_rows_without_weight_are_in_no_fold(table):
    X, y = table
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0)
    whole, part = (FederatedGridSearch(GramSVC(tol=1e-6, random_state=0), GRID, cv=3).fit(A, b, w) for A, b, w in
                   ((X, y, weight), (X[weight > 0], y[weight > 0], None)))  # fmt: skip
    assert list(np.flatnonzero(whole.folds_ < 0)) == list(np.flatnonzero(weight == 0))
    assert set(whole.folds_) == {-1, 0, 1, 2}
    np.testing.assert_array_equal(whole.folds_[weight > 0], part.folds_)
    np.testing.assert_allclose(whole.cv_results_["mean_test_score"], part.cv_results_["mean_test_score"], atol=1e-12)


def test_fewer_folds_are_dealt_where_one_would_have_no_group_of_a_class(table):
    X, y = table
    few = np.sort(np.concatenate([np.flatnonzero(y == "ill"), np.flatnonzero(y == "well")[:24]]))
    fed = Federation.simulate(X[few], y[few], parties=3, partition="horizontal")
    with pytest.warns(
        UserWarning, match="of cv=5 folds one would have too few rows of a class for min_count=auto: 2 were dealt"
    ):
        search = FederatedGridSearch(
            PanSVC(kernel="linear", tol=0.1, accept_risk=True, random_state=2), {"C": [0.01, 0.02]}
        ).fit(fed)
    assert search.n_splits_ == 2
    assert set(search.folds_) == {0, 1}
    for party, part in fed.parts.items():
        for label in ("ill", "well"):
            assert np.unique(search.folds_[fed.rows[party]][part.y == label], return_counts=True)[1].min() >= 5


def test_rows_without_a_group_are_in_no_fold(table):
    X, y = table
    ill, well = np.flatnonzero(y == "ill"), np.flatnonzero(y == "well")
    split = [
        np.concatenate([ill[:30], well[:4]]),
        np.concatenate([ill[30:60], well[4:24]]),
        np.concatenate([ill[60:], well[24:]]),
    ]
    fed = Federation.from_parts([(X[i], y[i]) for i in split], partition="horizontal")
    search = FederatedGridSearch(PanSVC(kernel="linear", tol=0.1), {"C": [0.01, 0.02]}, cv=2).fit(fed)
    lost = np.concatenate([(part.y == "well") & (party == "party-1") for party, part in fed.parts.items()])
    np.testing.assert_array_equal(search.folds_ < 0, lost)


def test_folds_that_ended_early_are_said(table):
    with pytest.warns(UserWarning, match="1 of 1 candidates were scored by models that ended before tol=1e-06"):
        search = FederatedGridSearch(
            PanSVC(kernel="linear", tol=1e-6, max_rounds=4, **EXACT), {"C": [30.0]}, cv=2, refit=False
        ).fit(*table)  # fmt: skip
    assert search.cv_results_["ended_early"][0] > 0
    with pytest.raises(AttributeError) as refused:
        search.predict(table[0])
    assert "FederatedGridSearch(refit=False) trains no model on all records: say refit=True" in str(
        refused.value.__cause__
    )


def test_groups_always_leave_a_gap_which_is_no_reason_for_a_warning(table):
    search = FederatedGridSearch(PanSVC(kernel="linear", tol=1e-6), {"C": [30.0]}, cv=2, refit=False).fit(*table)
    assert search.cv_results_["ended_early"][0] > 0
    assert search.report_.warnings == []


def test_a_bound_on_the_rounds_is_printed_before_the_start(table, capsys):
    FederatedGridSearch(GramSVC(), GRID, cv=2, verbose=True).fit(*table)
    assert "FederatedGridSearch, 3 parties: 9 models, in at most 10 rounds of messages" in capsys.readouterr().out


BAD = {
    "The 'C' parameter of PanSVC must be a float": (PanSVC(), {"C": [-1.0]}, {}),
    "candidates may differ in C, kernel, gamma, degree, coef0, not in landmarks": (PanSVC(), {"landmarks": [0.1]}, {}),
    "param_grid is not a grid: Parameter grid for parameter 'C' needs to be a list": (PanSVC(), {"C": 1.0}, {}),
    "searches for the parameters of PanSVC and GramSVC, not of ShiftSVC": (ShiftSVC(), {"C": [1.0]}, {}),
    "The 'cv' parameter of FederatedGridSearch must be an int in the range": (PanSVC(), GRID, {"cv": 1}),
    "The 'scoring' parameter of FederatedGridSearch must be among": (PanSVC(), GRID, {"scoring": "roc_auc"}),
    "landmark_source='fourier' is for the rbf kernel, not for 'poly'": (
        PanSVC(landmark_source="fourier"),
        {"kernel": ["rbf", "poly"]},
        {},
    ),
    "at most 20 % of the rows can be landmarks, got 50 %": (PanSVC(landmarks=0.5), GRID, {}),
    "The 'kernel' parameter of GramSVC must be among": (GramSVC(), {"kernel": ["cubic"]}, {}),
}


@pytest.mark.parametrize("words", BAD)
def test_what_cannot_be_searched_is_refused_in_one_line(table, words):
    model, grid, more = BAD[words]
    with pytest.raises(LocalError) as refused:
        FederatedGridSearch(model, grid, **more).fit(*table)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bad_data_is_refused_in_one_line(table):
    X, y = table
    with pytest.raises(LocalError, match="a class has a single record, and a search leaves records out in turn"):
        FederatedGridSearch(GramSVC(), GRID, cv=3).fit(X, np.where(np.arange(len(X)) == 0, "rare", "usual"))
    words = (
        "a search leaves rows out in turn, and there are too few groups of min_count rows for that: even of two folds"
        " one would have"
    )
    rare = np.where(np.arange(len(X)) < 8, "rare", "usual")
    parts = [
        (X[i], rare[i]) for i in np.split(np.arange(len(X)), [40, 90])
    ]  # the first has all of a class, too few for two groups
    with pytest.raises(LocalError, match=words):
        FederatedGridSearch(PanSVC(kernel="linear"), {"C": [1.0]}, cv=3).fit(
            Federation.from_parts(parts, partition="horizontal")
        )
    fed = Federation.simulate(X, y, parties=3, coordinator="party-1")
    with pytest.raises(LocalError, match="party 'party-1' would coordinate and learn the sums"):
        FederatedGridSearch(PanSVC(), GRID).fit(fed)
    with pytest.raises(LocalError, match="scoring='f1' is for two classes, and there are 3"):
        FederatedGridSearch(GramSVC(), GRID, scoring="f1", cv=2).fit(X, np.arange(len(X)) % 3)
