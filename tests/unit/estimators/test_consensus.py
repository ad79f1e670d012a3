"""ConsensusSVC: scikit-learn's contract, the pooled SVM's answers, its history, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import tacit
from tacit import ConsensusSVC, Federation, LocalError

# scikit-learn's own SVC is on scikit-learn's list of expected failures of this check: another split of the rows ends
# within tol
AS_SVC = {"check_sample_weight_equivalence_on_dense_data": "as scikit-learn's SVC"}
COLUMNS = {"partition": "vertical", "accept_risk": True}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=90, n_features=6, n_informative=4, random_state=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "rbf", "landmark_source": "ranges", "landmarks": 8}, COLUMNS], ids=str
)
def test_check_estimator_passes(settings):
    failed = []
    quick = ConsensusSVC(max_rounds=20, **settings)
    for estimator, check in estimator_checks_generator(quick, expected_failed_checks=AS_SVC, mark="skip"):
        try:
            check(estimator)
        except Exception as error:  # noqa: BLE001 - any failure counts, but a skip
            if type(error).__name__ != "SkipTest":
                failed.append((check, error))
    assert not failed


def test_with_a_kernel_a_small_table_gets_as_many_landmarks_as_it_has_rows_for(small):
    X, y = small
    few, many = (ConsensusSVC(kernel="rbf", max_rounds=5, **how) for how in ({}, {"landmarks": 40}))
    with pytest.warns(ConvergenceWarning):
        assert 1 <= few.fit(X, y).model_.map.size <= len(X) // few.min_cluster
    with pytest.raises(LocalError, match="90 rows give at most 18 landmarks, got 40: lower landmarks"):
        many.fit(X, y)


@pytest.mark.parametrize("partition", [{}, COLUMNS], ids=["rows", "columns"])
def test_linear_it_equals_the_pooled_svm(cancer, partition):
    X, y = cancer
    ours = ConsensusSVC(C=1, tol=1e-4, n_parties=4, **partition).fit(X[:400], y[:400], compare=True)
    pooled = SVC(kernel="linear", C=1).fit(X[:400], y[:400])
    assert abs(ours.report_.comparison["relative gap of the objective"]) < 1e-3
    assert ours.score(X[400:], y[400:]) == pytest.approx(pooled.score(X[400:], y[400:]), abs=0.006)
    np.testing.assert_allclose(ours.decision_function(X[400:]), pooled.decision_function(X[400:]), atol=0.2)
    assert ours.n_iter_ == sum("primal" in h or "moved" in h for h in ours.report_.history) or partition


@pytest.mark.parametrize("partition", [{}, COLUMNS], ids=["rows", "columns"])
def test_several_classes_advance_together_and_keep_the_callers_labels(partition):
    X, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    model = ConsensusSVC(C=5, **partition).fit(X, y, compare=True)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.decision_function(X).shape == (150, 3)
    assert model.report_.comparison["relative gap of the objective"] < 5e-3
    assert model.report_.comparison["training records labelled differently"] <= 3


def test_a_kernel_over_rows_bends_the_boundary_and_says_where_the_parties_disagree():
    X, y = make_moons(300, noise=0.15, random_state=0)
    bent = ConsensusSVC(C=2, kernel="rbf", gamma=2.0, landmarks=20).fit(X, y, compare=True)
    assert bent.score(X, y) > 0.96
    assert ConsensusSVC(C=2).fit(X, y).score(X, y) < 0.9
    each = bent.party_decisions(X)
    assert list(each) == ["party-1", "party-2", "party-3"]
    np.testing.assert_allclose(np.mean(list(each.values()), axis=0)[:, 0], bent.decision_function(X), atol=1e-7)
    apart = np.any(np.sign(np.hstack(list(each.values()))) != np.sign(each["party-1"]), axis=1).sum()
    assert bent.report_.figures["training records on which the parties' own classifiers disagree"] == apart
    assert "whole kernel" in bent.report_.comparison["reference"]


def test_landmarks_near_the_data_bring_the_parties_closer_than_landmarks_anywhere(cancer):
    X, y = cancer
    apart = {}
    for source in ("local", "ranges"):
        model = ConsensusSVC(C=5, kernel="rbf", n_parties=4, landmark_source=source).fit(X[:300], y[:300])
        apart[source] = np.std(list(model.party_decisions(X[300:]).values()), axis=0).mean()
    assert apart["local"] < apart["ranges"]


def test_accuracy_of_watched_rows_stands_in_the_history_and_ends_at_the_models(cancer):
    X, y = cancer
    for kernel in ("linear", "rbf"):
        model = ConsensusSVC(C=5, kernel=kernel, landmarks=10, max_rounds=500).fit(
            X[:200], y[:200], watch=(X[400:], y[400:])
        )
        shares = [h["accuracy"] for h in model.report_.history if "accuracy" in h]
        assert len(shares) == model.n_iter_
        assert shares[-1] == model.score(X[400:], y[400:])
        assert not hasattr(model, "_watch")


def test_the_papers_numbers_are_parameters(small):
    X, y = small
    with pytest.warns(ConvergenceWarning, match="do not agree to tol"):
        model = ConsensusSVC(C=50, rho=100, over_relaxation=1, disclose="least", max_rounds=20).fit(X, y)
    assert {h["rho"] for h in model.report_.history if "rho" in h} == {100.0}
    assert not any("objective" in h for h in model.report_.history)
    assert "second moments" not in str(model.report_.learnt)


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "rbf", "landmarks": 8}, COLUMNS, {**COLUMNS, "kernel": "rbf"}], ids=str
)
def test_a_model_file_gives_the_same_answers_and_names_whose_records_it_holds(small, settings, tmp_path):
    X, y = small
    model = ConsensusSVC(**settings).fit(X, y)
    again = tacit.load(model.save(tmp_path / "m.tacit"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.n_iter_ == model.n_iter_
    assert bool(again.model_.records_of()) == ("kernel" in settings)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - scikit-learn asks for it
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_new_records_may_stay_split_between_the_parties(small):
    X, y = small
    for kernel in ("linear", "rbf"):
        federation = Federation.simulate(X, y, parties=3, seed=1)
        model = ConsensusSVC(kernel=kernel, landmarks=8).fit(federation)
        np.testing.assert_allclose(model.decision_function(federation), model.decision_function(X), atol=1e-8)
        assert model.score(federation) == model.score(X, y)


def test_grid_search_pipelines_and_named_columns(small):
    X, y = small
    table = pd.DataFrame(X, columns=list("abcdef"))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ConsensusSVC(tol=1e-2)), {"consensussvc__C": [0.1, 1]}, cv=2
    ).fit(X, y)
    assert search.best_score_ > 0.6
    model = clone(ConsensusSVC(tol=1e-2)).fit(table, y)
    assert model.feature_names_in_.tolist() == list("abcdef")


def test_no_more_records_than_columns_is_told(small):
    X, y = small
    with pytest.warns(UserWarning, match="no more records than columns"):
        ConsensusSVC(tol=1e-2).fit(np.hstack([X[:12]] * 3), y[:12])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rho": -1.0}, "The 'rho' parameter"),
        ({"over_relaxation": 2.0}, "The 'over_relaxation' parameter"),
        ({"landmark_range": (1.0, 0.0)}, "The 'landmark_range' parameter"),
        ({"partition": "vertical"}, "accept_risk=True"),
        ({"partition": "vertical", "kernel": "sigmoid", "accept_risk": True}, "sigmoid"),
        (
            {"kernel": "rbf", "probability": True},
            "agree at landmarks only, and each has decision values of its own; use PanSVC",
        ),
        (
            {"partition": "vertical", "max_rounds": 3, "probability": True},
            "3 sums for each of 6 problems can span all 6 columns",
        ),
        (
            {"probability": True, "min_count": 40},
            "no party has enough rows of class 0, 1 for a group of min_count=40, and a classifier needs",
        ),
        (
            {"probability": True, "min_count": 4},
            "min_count=4 is less than the 5 rows that keep the numbers this run opens",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(small, settings, words):
    with pytest.raises(LocalError, match=words) as caught:
        ConsensusSVC(**settings).fit(*small)
    assert "\n" not in str(caught.value)


def test_watch_and_party_decisions_are_for_rows(small):
    X, y = small
    with pytest.raises(LocalError, match="watch is for partition='horizontal'"):
        ConsensusSVC(**COLUMNS).fit(X, y, watch=(X, y))
    with pytest.raises(LocalError, match="use decision_function"):
        ConsensusSVC(tol=1e-2).fit(X, y).party_decisions(X)


def test_a_party_without_rows_is_refused(small):
    X, y = small
    parts = [(X[:40], y[:40]), (X[40:60], y[40:60]), (X[60:], y[60:]), (X[:0], y[:0])]
    with pytest.raises(LocalError, match="party-4 has no records"):
        ConsensusSVC().fit(Federation.from_parts(parts, partition="horizontal"))


def test_a_party_may_coordinate_rows_since_all_that_is_opened_is_public(small):
    X, y = small
    federation = Federation.simulate(X, y, parties=3, coordinator="party-1")
    assert ConsensusSVC().fit(federation).score(X, y) > 0.6


def test_but_not_where_probabilities_open_sums_of_rows_to_the_coordinator(small):
    federation = Federation.simulate(*small, parties=3, coordinator="party-1")
    with pytest.raises(
        LocalError, match="'party-1' would coordinate and learn the sums of rows that probabilities need"
    ):
        ConsensusSVC(probability=True).fit(federation)
    model = ConsensusSVC(probability=True, accept_risk=True).fit(federation)
    assert any(
        "sums for probabilities that are over groups of at least min_count rows" in line
        for line in model.report_.not_protected
    )


def test_over_columns_risk_is_asked_for_before_anything_is_sent(small, monkeypatch):
    federation = Federation.simulate(*small, parties=3, partition="vertical")
    monkeypatch.setattr(Federation, "run_plan", lambda *_, **__: pytest.fail("something was sent"))
    with pytest.raises(LocalError, match="can span all 6 columns"):
        ConsensusSVC(partition="vertical").fit(federation)
