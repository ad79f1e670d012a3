"""PanSVC: scikit-learn's contract, the pooled SVM's answers, and its warnings."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

from tacit import Federation, PanSVC

# scikit-learn's own SVC is on scikit-learn's list of expected failures of this check, and here a row that is there twice
# counts twice towards min_count
AS_SVC = {"check_sample_weight_equivalence_on_dense_data": "as scikit-learn's SVC"}
QUICK = {"landmark_source": "fourier", "landmarks": 60, "min_count": 1}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=90, n_features=6, n_informative=4, random_state=0)


def federation(parts, **named):
    return Federation.from_parts(parts, partition="horizontal", **named)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{}, {"landmark_source": "fourier", "multi_class": "ovo"}])
def test_check_estimator_passes(settings):
    failed = []
    for estimator, check in estimator_checks_generator(PanSVC(**settings), expected_failed_checks=AS_SVC, mark="skip"):
        try:
            check(estimator)
        except Exception as error:  # noqa: BLE001 - any failure counts, but a skip
            if type(error).__name__ != "SkipTest":
                failed.append((check, error))
    assert not failed


@pytest.mark.parametrize("source", ["local", "joint", "fourier"])
def test_it_does_as_well_as_the_whole_kernel(cancer, source):
    X, y = cancer
    model = PanSVC(C=10, gamma=0.01, landmark_source=source).fit(X[:400], y[:400], compare=True)
    pooled = SVC(C=10, gamma=0.01).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) >= pooled.score(X[400:], y[400:]) - 0.02
    figures = model.report_.comparison
    assert figures["accuracy of the reference on them"] == pytest.approx(pooled.score(X[:400], y[:400]))
    assert figures["accuracy on the training records"] == pytest.approx(model.score(X[:400], y[:400]))


def test_a_kernel_bends_the_boundary_where_a_plane_cannot():
    X, y = make_moons(400, noise=0.15, random_state=0)
    bent, flat = PanSVC(C=2, gamma=2.0, min_count=1).fit(X, y), PanSVC(kernel="linear", min_count=1).fit(X, y)
    assert bent.score(X, y) > 0.97
    assert flat.score(X, y) < 0.9


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_keep_the_callers_labels_and_scikit_learns_shapes(multi_class):
    X, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    model = PanSVC(C=5, multi_class=multi_class, **QUICK).fit(X, y)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.95
    assert len(model.model_.pairs) == 3
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


def test_two_classes_have_one_decision_value_by_whose_sign_they_are_chosen(small):
    X, y = small
    model = PanSVC(**QUICK).fit(X, y)
    assert model.decision_function(X).shape == (90,)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(model.decision_function(X) > 0).astype(int)])


@pytest.mark.parametrize("protection", [
    {"secure_sum": "ring"}, {"secure_sum": "ring", "segments": 2, "n_parties": 5}, {"n_parties": 1}, {"n_parties": 40}, {"witness": True},
])  # fmt: skip
def test_every_protection_gives_the_same_model(small, protection):
    X, y = small
    reference = PanSVC(**QUICK).fit(X, y).decision_function(X)
    np.testing.assert_allclose(PanSVC(**{**QUICK, **protection}).fit(X, y).decision_function(X), reference, atol=1e-6)


def test_single_precision_changes_little(small):
    X, y = small
    full, half = (PanSVC(**QUICK, dtype=dtype).fit(X, y).decision_function(X) for dtype in ("float64", "float32"))
    np.testing.assert_allclose(half, full, atol=0.05)


def test_the_public_seed_follows_random_state(small):
    X, y = small
    one, same, other = (PanSVC(**QUICK, random_state=r).fit(X, y) for r in (1, 1, 2))
    np.testing.assert_array_equal(one.decision_function(X), same.decision_function(X))
    assert one.model_.map.seed != other.model_.map.seed


def test_it_works_in_pipelines_grids_and_clones(cancer):
    X, y = cancer
    pipe = make_pipeline(StandardScaler(), PanSVC(**QUICK))
    search = GridSearchCV(pipe, {"pansvc__C": [0.1, 10], "pansvc__kernel": ["linear", "rbf"]}, cv=3).fit(X[:200], y[:200])
    assert search.best_score_ > 0.93
    assert clone(search.best_estimator_).get_params()["pansvc"].get_params() == search.best_estimator_["pansvc"].get_params()
    assert cross_val_score(pipe, X[:300], y[:300], cv=3).mean() > 0.93


def test_frames_keep_their_names_and_others_are_refused(small):
    X, y = small
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = PanSVC(**QUICK).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.copy()))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_a_fitted_estimator_can_be_pickled_and_holds_no_record(small):
    X, y = small
    model = PanSVC(**QUICK).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - what scikit-learn asks of estimators
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert all(part.X.size == 0 for part in model.federation_.parts.values())
    assert model.model_.records_of() == {}


def test_new_records_may_stay_split(small):
    X, y = small
    parts = [(X[i::3], y[i::3]) for i in range(3)]
    model = PanSVC(**QUICK).fit(federation(parts))
    new = federation([X[:5], X[5:7], X[7:12]])
    np.testing.assert_array_equal(model.predict(new), model.predict(X[:12]))
    assert model.score(federation(parts)) == model.score(np.vstack([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))


# What the report says


def test_the_report_has_objective_bound_and_gap_of_every_round(small):
    model = PanSVC(**QUICK).fit(*small)
    history = model.report_.history
    assert len(history) == model.n_iter_ > 3
    assert all({"objective", "bound", "gap", "problems"} <= set(h) for h in history)
    assert history[-1]["gap"] <= 1e-3 < history[0]["gap"]
    assert model.report_.to_dict()["history"]


def test_the_report_says_who_learnt_what(small):
    report = PanSVC(**QUICK).fit(*small).report_
    opens = {o.role: o.what for o in report.opens if o.protocol == "pan_svm"}
    assert "never of fewer than min_count" in opens["coordinator"]
    assert "which classes each party has" in opens["everyone"]
    assert {row.message for row in report.learnt if row.who == "coordinator"} == {"PublicKey", "Held", "Masked"}
    assert any("combinations of the opened sums" in line for line in report.not_protected)


# Warnings


def test_a_run_that_gets_there_warns_of_nothing():
    X, y = make_classification(n_samples=400, n_features=5, flip_y=0.1, random_state=0)
    assert PanSVC(C=0.5).fit(X, y).report_.warnings == []


def test_too_few_rounds_are_said_so(small):
    with pytest.warns(
        ConvergenceWarning, match=r"after max_rounds=4 rounds the relative gap is 0\.\d+, not 0\.001: raise max_rounds, or lower C"
    ):
        model = PanSVC(**QUICK, max_rounds=4).fit(*small)
    assert "after max_rounds=4" in model.report_.warnings[-1]


def test_a_problem_held_back_is_said_so(small):
    words = (
        r"1 of 1 problems ended at a relative gap of up to [\d.e-]+, for want of a sum that differs by min_count=20 rows from all before"
    )
    with pytest.warns(ConvergenceWarning, match=words):
        PanSVC(**{**QUICK, "min_count": 20}, C=10).fit(*small)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_cap_of_landmarks_is_named():
    X = np.random.default_rng(0).normal(size=(7000, 2))
    words = r"landmarks=0\.15 of 7000 rows are more than 1000: 1000 were taken; give landmarks as a number for more"
    with pytest.warns(UserWarning, match=words):
        model = PanSVC(landmark_source="fourier", max_rounds=3).fit(X, X[:, 0] > 0)
    assert model.model_.map.size == 1000


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("classes", "so"), [(2, "it is told from the other less well"), (3, "it is never chosen")])
def test_a_class_of_few_records_is_named(small, classes, so):
    X, y = small
    y = np.where(np.arange(90) < 2, classes - 1, y if classes == 3 else 0)
    with pytest.warns(UserWarning, match=f"class {classes - 1} has 2 records, fewer than min_count=5: no sum of them is opened, so {so}"):
        model = PanSVC(**{**QUICK, "min_count": 5}).fit(X, y)
    assert classes == 2 or 2 not in model.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_landmarks_of_all_together_where_parties_have_too_few_rows_are_said_so(small):
    X, y = small
    words = r"90 rows are fewer than min_cluster=5 for each party: landmarks were taken from all together, as by landmark_source='joint'"
    with pytest.warns(UserWarning, match=words):
        PanSVC(n_parties=30).fit(X, y)
