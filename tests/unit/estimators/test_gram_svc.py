"""GramSVC: scikit-learn's contract, the pooled SVM's answers, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tacit
from tacit import Federation, GramSVC, LocalError


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=80, n_features=6, n_informative=4, random_state=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("parties", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_it_equals_the_pooled_svm(cancer, kernel, parties):
    X, y = cancer
    ours = GramSVC(kernel=kernel, C=3, tol=1e-7, n_parties=parties).fit(X[:300], y[:300], compare=True)
    pooled = SVC(kernel=kernel, C=3, tol=1e-7).fit(X[:300], y[:300])
    np.testing.assert_array_equal(ours.predict(X[300:]), pooled.predict(X[300:]))
    np.testing.assert_allclose(ours.decision_function(X[300:]), pooled.decision_function(X[300:]), atol=1e-5)
    assert ours.report_.comparison["relative gap of the dual objective"] < 1e-6
    assert ours.report_.comparison["training records labelled differently"] == 0
    assert set(ours.support_) == set(pooled.support_)


def test_several_classes_are_one_against_the_rest_and_keep_the_callers_labels():
    X, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    model = GramSVC(multi_class="ovr", tol=1e-7).fit(X, y)
    values = np.column_stack([SVC(tol=1e-7).fit(X, y == c).decision_function(X) for c in model.classes_])
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


@pytest.mark.parametrize("weights", ["class", "balanced", "sample", "zeros"])
def test_weights_are_those_of_the_pooled_svm(small, weights):
    X, y = small
    class_weight = {"class": {0: 3.0, 1: 0.5}, "balanced": "balanced"}.get(weights)
    sample = {"sample": np.linspace(0.1, 2, len(y)), "zeros": np.arange(len(y)) % 3.0}.get(weights)
    model = GramSVC(class_weight=class_weight, tol=1e-8).fit(X, y, sample_weight=sample)
    pooled = SVC(class_weight=class_weight, tol=1e-8).fit(X, y, sample_weight=sample)
    np.testing.assert_allclose(model.decision_function(X), pooled.decision_function(X), atol=1e-5)


def test_a_gram_matrix_summed_in_bands_gives_the_same_model(small, monkeypatch):
    X, y = small
    whole = GramSVC(tol=1e-8, random_state=0).fit(X, y)
    defaults = tacit.protocols.gram.vertical.gram_vertical.__wrapped__.__kwdefaults__
    monkeypatch.setitem(defaults, "band", 200)
    banded = GramSVC(tol=1e-8, random_state=0).fit(X, y)
    assert banded.report_.rounds > whole.report_.rounds + 10
    np.testing.assert_array_equal(banded.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize(
    "protection", [{"secure_sum": "ring"}, {"secure_sum": "ring", "segments": 2, "n_parties": 5}, {"n_parties": 1}]
)
def test_every_protection_gives_the_same_model(small, protection):
    X, y = small
    reference = GramSVC().fit(X, y).decision_function(X)
    np.testing.assert_allclose(GramSVC(**protection).fit(X, y).decision_function(X), reference, atol=1e-6)


@pytest.mark.slow
def test_it_works_in_pipelines_grids_and_clones(cancer):
    X, y = cancer
    pipe = make_pipeline(StandardScaler(), GramSVC(n_parties=4))
    search = GridSearchCV(pipe, {"gramsvc__C": [0.1, 10], "gramsvc__kernel": ["linear", "rbf"]}, cv=3).fit(
        X[:200], y[:200]
    )
    pooled = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 10], "svc__kernel": ["linear", "rbf"]}, cv=3
    )
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], pooled.fit(X[:200], y[:200]).cv_results_["mean_test_score"]
    )
    assert (
        clone(search.best_estimator_).get_params()["gramsvc"].get_params()
        == search.best_estimator_["gramsvc"].get_params()
    )
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.95


def test_a_fitted_simulated_estimator_can_be_pickled(small):
    X, y = small
    model = GramSVC().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - what scikit-learn asks of estimators
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_it_fits_a_federation_whose_new_records_stay_split(small):
    X, y = small
    parts = {"north": X[:, :2], "south": X[:, 2:3], "east": X[:, 3:]}
    fed = Federation.from_parts(list(parts.values()), names=list(parts), partition="vertical", y=y, labeller="south")
    model = GramSVC().fit(fed)
    new = Federation.from_parts([p[:9] for p in parts.values()], names=list(parts), partition="vertical")
    np.testing.assert_array_equal(model.predict(new), model.predict(X[:9]))
    assert model.score(fed) == model.score(X, y)
    assert model.report_.parties == {
        "north": "80 records, 2 columns",
        "south": "80 records, 1 columns, the labels",
        "east": "80 records, 3 columns",
        "coordinator": "no data; coordinates",
    }


def test_the_report_says_who_learnt_what(small):
    report = GramSVC().fit(*small).report_
    opens = {o.role: o.what for o in report.opens if o.protocol == "gram_vertical"}
    assert "every record up to one unknown rotation" in opens["coordinator"]
    assert "which records are support vectors" in opens["holder"]
    coordinator = {row.message for row in report.learnt if row.who == "coordinator"}
    assert coordinator == {"Classes", "Size", "Labels", "PublicKey", "Masked"}
    assert any("gram matrix" in line for line in report.not_protected)


def test_two_parties_are_a_warning_in_simulation(small):
    report = GramSVC(n_parties=2).fit(*small).report_
    assert any("only 2 parties hold data" in w for w in report.warnings)


def test_a_model_keeps_no_training_records_but_the_support_vectors(small):
    X, y = small
    model = GramSVC().fit(X, y)
    assert all(part.X.size == 0 for part in model.federation_.parts.values())
    assert all(len(c.X) == len(model.support_) for c in model.model_.columns.values())


BAD = {
    "kernel": (
        "cosine",
        "The 'kernel' parameter of GramSVC must be among .*'linear', 'poly', 'rbf', 'sigmoid'.* Got 'cosine' instead",
    ),
    "C": (0, r"The 'C' parameter of GramSVC must be a float in the range \(0, inf\). Got 0 instead"),
    "gamma": (-1.0, "The 'gamma' parameter of GramSVC must be"),
    "partition": (
        "diagonal",
        "The 'partition' parameter of GramSVC must be among {None, 'vertical', 'horizontal', 'arbitrary'}",
    ),
    "secure_sum": ("none", "The 'secure_sum' parameter of GramSVC"),
    "fraction_bits": (60, r"The 'fraction_bits' parameter of GramSVC must be an int in the range \[0, 52\]"),
    "segments": (2, "4 parties on the ring have 1 edge-disjoint rings"),
    "n_parties": (0, "The 'n_parties' parameter of GramSVC"),
    "class_weight": ("heavy", "The 'class_weight' parameter of GramSVC"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_parameter_is_refused_in_one_line(small, name):
    value, words = BAD[name]
    extra = {"secure_sum": "ring"} if name == "segments" else {}
    with pytest.raises(LocalError, match=words) as caught:
        GramSVC(**{name: value}, **extra).fit(*small)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("cell", "words"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_are_refused(small, cell, words):
    X, y = small
    X = X.copy()
    X[3, 2] = cell
    with pytest.raises(ValueError, match=f"Input X contains {words}"):
        GramSVC().fit(X, y)


def test_one_class_is_refused(small):
    X, y = small
    with pytest.raises(LocalError, match="at least 2 classes in y"):
        GramSVC().fit(X, np.zeros_like(y))
    fed = Federation.simulate(X, np.zeros_like(y), partition="vertical", parties=3)
    with pytest.raises(LocalError, match=r"one class only .*at least 2 classes"):
        GramSVC().fit(fed)


def test_values_the_fixed_point_cannot_hold_are_refused(small):
    X, y = small
    with pytest.raises(
        LocalError,
        match=r"gram matrix of party-1: a value of size .* does not fit .*scale the features, or lower fraction_bits",
    ):
        GramSVC(gamma=1.0).fit(X * 1e6, y)


def test_a_federation_split_otherwise_is_refused(small):
    with pytest.raises(LocalError, match="federation split horizontally: set partition to match it"):
        GramSVC(partition="vertical").fit(Federation.simulate(*small, partition="horizontal"))


def test_a_federation_without_labels_is_refused(small):
    with pytest.raises(LocalError, match="needs labels, and no party of the federation holds any"):
        GramSVC().fit(Federation.simulate(small[0], partition="vertical"))


def test_labels_beside_a_federation_are_refused(small):
    with pytest.raises(LocalError, match="got a Federation and also y"):
        GramSVC().fit(Federation.simulate(*small, partition="vertical"), small[1])


def test_new_records_split_otherwise_are_refused(small):
    X, y = small
    model = GramSVC().fit(Federation.simulate(X, y, partition="vertical", parties=3, seed=0))
    other = Federation.simulate(X, y, partition="vertical", parties=3, seed=1)
    with pytest.raises(LocalError, match="not split like the training records: 'party-1' must hold"):
        model.predict(other)


def test_a_data_holder_as_coordinator_needs_accept_risk(small):
    fed = Federation.simulate(*small, partition="vertical", parties=3, coordinator="party-2")
    with pytest.raises(
        LocalError, match=r"party 'party-2' would coordinate and learn the gram matrix.*accept_risk=True"
    ):
        GramSVC().fit(fed)
    model = GramSVC(accept_risk=True).fit(fed)
    np.testing.assert_array_equal(model.predict(small[0]), GramSVC().fit(*small).predict(small[0]))
