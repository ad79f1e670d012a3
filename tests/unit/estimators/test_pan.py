"""PanSVC: scikit-learn's contract, the pooled SVM's answers, and its warnings."""

from __future__ import annotations

import pickle
import re

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

from tacit import Federation, GramSVC, LocalError, PanSVC
from tacit.protocols.planes import problems

# scikit-learn's own SVC is on scikit-learn's list of expected failures of these checks, and here a row that is there
# twice counts twice towards min_count
AS_SVC = dict.fromkeys(
    (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")), "as scikit-learn's SVC"
)
EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own
QUICK = {"landmark_source": "fourier", "landmarks": 60, **EXACT}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=90, n_features=6, n_informative=4, random_state=0)


def federation(parts, **named):
    return Federation.from_parts(parts, partition="horizontal", **named)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{"min_cluster": 1}, {"landmark_source": "fourier", "multi_class": "ovo"}])
def test_check_estimator_passes(settings):
    """Its tables are too small for groups of several rows, and for means of several at each party."""
    failed = []
    for estimator, check in estimator_checks_generator(
        PanSVC(**EXACT, **settings), expected_failed_checks=AS_SVC, mark="skip"
    ):
        try:
            check(estimator)
        except Exception as error:  # noqa: BLE001 - any failure counts, but a skip
            if type(error).__name__ != "SkipTest":
                failed.append((check, error))
    assert not failed


@pytest.mark.parametrize(("least", "worse"), [(EXACT, 0.02), ({}, 0.03)], ids=["single rows", "groups"])
@pytest.mark.parametrize("source", ["local", "joint", "fourier"])
def test_it_does_as_well_as_the_whole_kernel(cancer, source, least, worse):
    X, y = cancer
    model = PanSVC(C=10, gamma=0.01, landmark_source=source, random_state=1, **least)
    model.fit(X[:400], y[:400], compare=True)
    pooled = SVC(C=10, gamma=0.01).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) >= pooled.score(X[400:], y[400:]) - worse
    figures = model.report_.comparison
    assert figures["accuracy of the reference on them"] == pytest.approx(pooled.score(X[:400], y[:400]))
    assert figures["accuracy on the training records"] == pytest.approx(model.score(X[:400], y[:400]))


def test_a_kernel_bends_the_boundary_where_a_plane_cannot():
    X, y = make_moons(400, noise=0.15, random_state=0)
    bent, flat = PanSVC(C=2, gamma=2.0, **EXACT).fit(X, y), PanSVC(kernel="linear", **EXACT).fit(X, y)
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
    {"secure_sum": "ring"}, {"secure_sum": "ring", "segments": 2, "n_parties": 5}, {"secure_sum": "graph"},
    {"n_parties": 1}, {"n_parties": 40},
    {"witness": True},
])  # fmt: skip
def test_every_protection_gives_the_same_model(small, protection):
    X, y = small
    one, other = (PanSVC(**{**QUICK, **more}, random_state=0).fit(X, y) for more in ({}, protection))
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)


def test_single_precision_changes_little(small):
    X, y = small
    full, half = (
        PanSVC(**QUICK, dtype=dtype, random_state=0).fit(X, y).decision_function(X) for dtype in ("float64", "float32")
    )
    np.testing.assert_allclose(half, full, atol=0.05)


def test_many_records_are_mapped_in_single_precision_by_themselves(small, monkeypatch):
    X, y = small
    few = PanSVC(**QUICK, random_state=0).fit(X, y).decision_function(X)
    monkeypatch.setattr(problems, "MANY", len(X))
    many = PanSVC(**QUICK, random_state=0).fit(X, y).decision_function(X)
    for dtype, found in (("float64", few), ("float32", many)):
        asked = PanSVC(**QUICK, dtype=dtype, random_state=0).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(found, asked)


def test_the_public_seed_follows_random_state(small):
    X, y = small
    one, same, other = (PanSVC(**QUICK, random_state=r).fit(X, y) for r in (1, 1, 2))
    np.testing.assert_array_equal(one.decision_function(X), same.decision_function(X))
    assert one.model_.map.seed != other.model_.map.seed


@pytest.mark.slow
def test_it_works_in_pipelines_grids_and_clones(cancer):
    X, y = cancer
    pipe = make_pipeline(StandardScaler(), PanSVC(**QUICK, random_state=0))
    search = GridSearchCV(pipe, {"pansvc__C": [0.1, 10], "pansvc__kernel": ["linear", "rbf"]}, cv=3).fit(
        X[:200], y[:200]
    )
    assert search.best_score_ > 0.93
    assert (
        clone(search.best_estimator_).get_params()["pansvc"].get_params()
        == search.best_estimator_["pansvc"].get_params()
    )
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
    assert model.score(federation(parts)) == model.score(
        np.vstack([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    )


# What the report says


def test_the_report_has_objective_bound_and_gap_of_every_round(small):
    model = PanSVC(**QUICK).fit(*small)
    history = model.report_.history
    assert len(history) - 1 == model.n_iter_ > 3
    assert all({"objective", "bound", "gap", "problems"} <= set(h) for h in history)
    assert history[-2]["gap"] < history[0]["gap"]
    assert model.report_.figures["relative gap to the optimum, at most"] <= 1e-3
    assert model.report_.to_dict()["history"]


def test_the_report_says_who_learnt_what(small):
    report = PanSVC(**QUICK).fit(*small).report_
    opens = {o.role: o.what for o in report.opens if o.protocol == "pan_svm"}
    assert "every group is of at least min_count rows of one class at one holder" in opens["coordinator"]
    assert "which classes each party has" in opens["everyone"]
    assert {row.message for row in report.learnt if row.who == "coordinator"} == {
        "PublicKey",
        "Held",
        "GroupSize",
        "Masked",
    }
    assert any("What the sums over one group of rows tell of them" in line for line in report.not_protected)


def test_the_report_says_of_how_many_rows_groups_are_and_which_gap_that_leaves(cancer):
    single, auto = (PanSVC(C=2, kernel="linear", **least).fit(*cancer).report_ for least in (EXACT, {}))
    least, gap = "least rows of a group that a sum tells apart", "relative gap to the optimum, at most"
    assert single.figures[least] == "1: single records may be opened"
    assert auto.figures[least] == "5"
    assert single.figures[gap] <= 1e-3 < auto.figures[gap] < 1


# Runs one after the other


def test_a_second_fit_begins_from_the_groups_that_the_first_left_until_they_are_forgotten(cancer):
    X, y = cancer
    fed = Federation.simulate(X, y, partition="horizontal", parties=3)
    settings = {"kernel": "linear", "C": 2}
    first, second, again = (
        PanSVC(**settings).fit(fed),
        PanSVC(**settings).fit(fed),
        PanSVC(**settings).fit(fed.forget()),
    )
    np.testing.assert_array_equal(first.decision_function(X), again.decision_function(X))
    assert set(fed.backend.past) == set(fed.parts)
    assert np.abs(second.decision_function(X) - first.decision_function(X)).max() > 0
    objective = "relative gap to the optimum, at most"
    assert second.report_.figures[objective] < first.report_.figures[objective]


def test_what_was_opened_before_makes_groups_of_new_maps_larger(cancer):
    X, y = cancer
    fed = Federation.simulate(X, y, partition="horizontal", parties=3)
    least = []
    for seed in (0, 0, 1, 2):
        model = PanSVC(landmark_source="fourier", landmarks=40, random_state=seed).fit(fed)
        least.append(int(model.report_.figures["least rows of a group that a sum tells apart"]))
    assert least[0] == least[1], "the same map tells nothing new"
    assert least == sorted(least)
    assert least[-1] >= 2 * least[0]


# Warnings


@pytest.mark.parametrize(
    "settings", [EXACT, {}, {"landmark_source": "joint"}, {"kernel": "linear", "probability": True}]
)
def test_a_run_that_gets_there_warns_of_nothing(settings):
    X, y = make_classification(n_samples=1000, n_features=5, flip_y=0.1, random_state=0)
    assert PanSVC(C=0.5, **settings).fit(X, y).report_.warnings == []


def test_on_few_rows_it_names_the_methods_that_are_better_there_and_what_they_open():
    X, y = make_classification(n_samples=999, n_features=5, flip_y=0.1, random_state=0)
    words = "999 rows are few for a kernel on groups of rows: GramSVC(view='blind') equals the SVM of the pooled rows"
    with pytest.warns(UserWarning, match=re.escape(words)):
        model = PanSVC().fit(X, y)
    (told,) = model.report_.warnings
    assert told.startswith(words)
    assert "SecureELMClassifier is often better here too, but opens sums of all rows, which may be more" in told
    advised = GramSVC(view="blind")
    assert advised.request(advised.federate(X[:60], y[:60])).name == "gram_blind"  # and refuses nothing


@pytest.mark.parametrize("settings", [{"probability": True}, {"kernel": "sigmoid"}])
def test_what_cannot_be_trained_blind_is_not_advised_blind(settings):
    X, y = make_classification(n_samples=300, n_features=5, flip_y=0.1, random_state=0)
    with pytest.warns(UserWarning, match="GramSVC equals .* its coordinator learns every record up to one unknown"):
        PanSVC(**settings).fit(X, y)


@pytest.mark.parametrize("settings", [EXACT, {"kernel": "linear"}])
def test_nothing_better_is_named_where_no_kernel_is_on_groups_of_rows(settings):
    X, y = make_classification(n_samples=300, n_features=5, flip_y=0.1, random_state=0)
    assert PanSVC(**settings).fit(X, y).report_.warnings == []


def test_too_few_rounds_are_said_so(small):
    with pytest.warns(
        ConvergenceWarning, match=r"after 4 rounds the relative gap is 0\.\d+, not 0\.001: raise max_rounds"
    ):
        model = PanSVC(**QUICK, max_rounds=4).fit(*small)
    assert "after 4 rounds" in model.report_.warnings[-1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_cap_of_landmarks_is_named():
    X = np.random.default_rng(0).normal(size=(7000, 2))
    words = r"landmarks=0\.15 of 7000 rows are more than 1000: 1000 were taken; give a whole number for more"
    with pytest.warns(UserWarning, match=words):
        model = PanSVC(landmark_source="fourier", landmarks=0.15, max_rounds=3, **EXACT).fit(X, X[:, 0] > 0)
    assert model.model_.map.size == 1000


def test_a_class_of_few_records_is_named(small):
    X, y = small
    y = np.where(np.arange(90) < 2, 2, y)
    with pytest.warns(UserWarning, match="class 2 has 2 records, and no party has a group of them: it is never chosen"):
        model = PanSVC(**{**QUICK, "min_count": 3}).fit(X, y)
    assert 2 not in model.predict(X)


def test_records_that_take_no_part_are_counted(small):
    X, y = small
    order = np.argsort(y, kind="stable")
    parts = [(X[i], y[i]) for i in np.split(order, [37, 47])]  # the second has a few of both
    few = sum(n for _, labels in parts for n in np.bincount(labels) if n < 12)
    words = (
        f"{few} of 90 records take no part: their parties have fewer of their class than a group needs, with"
        " min_count=12"
    )
    assert few > 0.05 * 90
    with pytest.warns(UserWarning, match=words):
        PanSVC(**{**QUICK, "min_count": 12}).fit(federation(parts))


def test_a_smaller_min_count_than_auto_is_refused_and_the_remedies_work(small):
    X, y = small
    words = (
        r"min_count=2 is less than the \d+ rows that keep the numbers .*: use min_count='auto', fewer landmarks, or say"
        r" accept_risk=True"
    )
    with pytest.raises(LocalError, match=words):
        PanSVC(landmark_source="fourier", landmarks=30, min_count=2).fit(X, y)
    PanSVC(landmark_source="fourier", landmarks=12, min_count="auto").fit(X, y)
    PanSVC(landmark_source="fourier", landmarks=30, min_count=2, accept_risk=True).fit(X, y)
