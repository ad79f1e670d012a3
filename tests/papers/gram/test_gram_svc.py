"""GramSVC over columns, rows and cells: the pooled SVM's answers, scikit-learn's contract, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tacit
from tacit import Federation, LocalError
from tacit.papers.gram import GramSVC

RECEIVED = {
    "vertical": {"Classes", "Size", "Labels", "PublicKey", "Masked"},
    "horizontal": {"Owned", "OwnLabels", "PublicKey", "Masked"},
    "arbitrary": {"Owned", "Classes", "Labels", "PublicKey", "Masked"},
}
PARTITIONS = tuple(RECEIVED)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=80, n_features=6, n_informative=4, random_state=0)


def test_over_columns_it_equals_the_pooled_svm(cancer):
    X, y = cancer
    for kernel in ("linear", "rbf", "poly"):
        ours = GramSVC(kernel=kernel, C=3, tol=1e-7).fit(X[:300], y[:300], compare=True)
        pooled = SVC(kernel=kernel, C=3, tol=1e-7).fit(X[:300], y[:300])
        np.testing.assert_allclose(ours.decision_function(X[300:]), pooled.decision_function(X[300:]), atol=1e-5)
        assert ours.report_.comparison["relative gap of the dual objective"] < 1e-6
        assert ours.report_.comparison["training records labelled differently"] == 0
        assert set(ours.support_) == set(pooled.support_)


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_over_rows_and_cells_too(cancer, partition):
    X, y = cancer[0][:, :8], cancer[1]
    ours = GramSVC(C=3, tol=1e-7, partition=partition).fit(X[:120], y[:120], compare=True)
    pooled = SVC(C=3, tol=1e-7).fit(X[:120], y[:120])
    np.testing.assert_array_equal(ours.predict(X[120:]), pooled.predict(X[120:]))
    assert ours.report_.comparison["relative gap of the dual objective"] < 5e-6
    assert ours.report_.comparison["training records labelled differently"] == 0
    assert set(ours.support_) == set(pooled.support_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{"engine": "paillier"}, {"method": "algorithm1"}, {"method": "intersection", "accept_risk": True}]
)
def test_every_method_gives_the_same_model_of_binary_records(small, how):
    B, y = (small[0] > 0).astype(float)[:10], small[1][:10]
    found = GramSVC(kernel="linear", partition="arbitrary", tol=1e-8, **how).fit(B, y)
    pooled = SVC(kernel="linear", tol=1e-8).fit(B, y)
    np.testing.assert_allclose(found.decision_function(B[:3]), pooled.decision_function(B[:3]), atol=1e-6)


def test_several_classes_are_one_against_the_rest_and_keep_the_callers_labels():
    X, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    model = GramSVC(multi_class="ovr", tol=1e-7).fit(X, y)
    values = np.column_stack([SVC(tol=1e-7).fit(X, y == c).decision_function(X) for c in model.classes_])
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


def test_weights_are_those_of_the_pooled_svm(small):
    X, y = small
    for class_weight, sample in (
        ({0: 3.0, 1: 0.5}, None),
        ("balanced", None),
        (None, np.linspace(0.1, 2, len(y))),
        (None, np.arange(len(y)) % 3.0),
    ):
        model = GramSVC(class_weight=class_weight, tol=1e-8).fit(X, y, sample_weight=sample)
        pooled = SVC(class_weight=class_weight, tol=1e-8).fit(X, y, sample_weight=sample)
        np.testing.assert_allclose(model.decision_function(X), pooled.decision_function(X), atol=1e-5)


def test_a_gram_matrix_summed_in_bands_gives_the_same_model(small, monkeypatch):
    X, y = small
    whole = GramSVC(tol=1e-8, random_state=0).fit(X, y)
    defaults = tacit.papers.gram.vertical.gram_vertical.__wrapped__.__kwdefaults__
    monkeypatch.setitem(defaults, "band", 200)
    banded = GramSVC(tol=1e-8, random_state=0).fit(X, y)
    assert banded.report_.rounds > whole.report_.rounds + 10
    np.testing.assert_array_equal(banded.decision_function(X), whole.decision_function(X))


@pytest.mark.slow
def test_it_works_in_pipelines_grids_and_clones(cancer):
    X, y = cancer[0][:200], cancer[1][:200]
    pipe = make_pipeline(StandardScaler(), GramSVC(n_parties=4))
    search = GridSearchCV(pipe, {"gramsvc__C": [0.1, 10], "gramsvc__kernel": ["linear", "rbf"]}, cv=3).fit(X, y)
    pooled = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 10], "svc__kernel": ["linear", "rbf"]}, cv=3
    )
    expected = pooled.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    best = search.best_estimator_
    assert clone(best)["gramsvc"].get_params() == best["gramsvc"].get_params()


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_model_file_answers_as_the_model_and_holds_support_vectors_only(small, partition, tmp_path):
    X, y = small[0][:40], small[1][:40]
    model = GramSVC(partition=partition).fit(X, y)
    loaded = tacit.load(model.save(tmp_path / "model.tacit"))
    for copy in (loaded, pickle.loads(pickle.dumps(model))):  # noqa: S301 - what scikit-learn asks of estimators
        np.testing.assert_array_equal(copy.decision_function(X[:5]), model.decision_function(X[:5]))
        np.testing.assert_array_equal(copy.support_, model.support_)
    columns = model.model_.columns.values()
    assert all(part.X.size == 0 for part in model.federation_.parts.values())
    rows = sum(len(c.X) for c in columns)
    assert rows == len(model.support_) * (1 if partition == "horizontal" else 3)
    if partition == "arbitrary":
        assert (np.sum([c.owned for c in columns], axis=0) == 1).all()
        assert all((c.X[~c.owned] == 0).all() for c in columns)


@pytest.mark.slow
def test_new_records_stay_split_in_whatever_order_holders_are_named(small):
    X, y = small[0][:40], small[1][:40]
    parts = {"north": X[:, :2], "south": X[:, 2:3], "east": X[:, 3:]}
    fed = Federation.from_parts(list(parts.values()), names=list(parts), partition="vertical", y=y, labeller="south")
    model = GramSVC().fit(fed)
    new = Federation.from_parts([p[:9] for p in parts.values()], names=list(parts), partition="vertical")
    np.testing.assert_array_equal(model.predict(new), model.predict(X[:9]))
    assert model.score(fed) == model.score(X, y)
    assert model.report_.parties["south"] == "40 records, 1 columns, the labels"
    rows = np.array_split(np.arange(len(y)), 3)
    fed = Federation.from_parts([(X[r], y[r]) for r in rows], names=list(parts), partition="horizontal")
    model = GramSVC(partition="horizontal").fit(fed)
    new = Federation.from_parts([X[5:7], X[9:10], X[0:2]], names=["east", "north", "south"], partition="horizontal")
    np.testing.assert_allclose(model.decision_function(new), model.decision_function(X[[5, 6, 9, 0, 1]]), atol=1e-5)


def test_the_report_says_who_learnt_what(small):
    for partition in PARTITIONS:
        report = GramSVC(partition=partition).fit(small[0][:40], small[1][:40]).report_
        assert report.opens[0].role == "coordinator"
        assert "which is every record up to one unknown rotation" in report.opens[0].what
        assert "gram matrix is every record up to one rotation" in report.not_protected[0]
        assert any("together with one party" in line for line in report.not_protected) == (partition != "vertical")
        assert {row.message for row in report.learnt if row.who == "coordinator"} == RECEIVED[partition]
    assert any("only 2 parties hold data" in w for w in GramSVC(n_parties=2).fit(*small).report_.warnings)


BAD = {
    "kernel": ("cosine", r"The 'kernel' parameter of GramSVC must be among .*Got 'cosine' instead"),
    "C": (0, r"The 'C' parameter of GramSVC must be a float in the range \(0, inf\). Got 0 instead"),
    "gamma": (-1.0, "The 'gamma' parameter of GramSVC must be"),
    "partition": ("diagonal", "The 'partition' parameter of GramSVC must be among {None, 'vertical', 'horizontal'"),
    "n_parties": (0, "The 'n_parties' parameter of GramSVC"),
    "class_weight": ("heavy", "The 'class_weight' parameter of GramSVC"),
    "engine": ("ckks", "The 'engine' parameter of GramSVC"),
    "method": ("intersection", r"shows the coordinator the table up to the columns' order.*accept_risk=True"),
    "quota": (-1, "The 'quota' parameter of GramSVC must be"),
}


def test_what_it_refuses_is_said_in_one_line(small):
    X, y = small
    for name, (value, words) in BAD.items():
        with pytest.raises(LocalError, match=words) as caught:
            GramSVC(**{name: value}).fit(X, y)
        assert "\n" not in str(caught.value)
    for partition in PARTITIONS:
        with pytest.raises(LocalError, match=r"has size .*, outside the declared range of 0.1"):
            GramSVC(partition=partition, feature_range=0.1).fit(X, y)
    with pytest.raises(LocalError, match=r"gram matrix of party-1: a value of size .* does not fit .*scale"):
        GramSVC(gamma=1.0).fit(X * 1e6, y)
    for cell, words in ((np.nan, "NaN"), (np.inf, "infinity")):
        spoilt = X.copy()
        spoilt[3, 2] = cell
        with pytest.raises(ValueError, match=f"Input X contains {words}"):
            GramSVC().fit(spoilt, y)


def test_federations_that_do_not_fit_are_refused(small):
    X, y = small

    def split(y=y, **more):
        return Federation.simulate(X, y, **{"parties": 3, "partition": "vertical", **more})

    with pytest.raises(LocalError, match="at least 2 classes in y"):
        GramSVC().fit(X, np.zeros_like(y))
    with pytest.raises(LocalError, match=r"one class only .*at least 2 classes"):
        GramSVC().fit(split(np.zeros_like(y)))
    with pytest.raises(LocalError, match="federation split horizontally: set partition to match it"):
        GramSVC(partition="vertical").fit(split(partition="horizontal"))
    with pytest.raises(LocalError, match="needs labels, and no party of the federation holds any"):
        GramSVC().fit(split(None))
    with pytest.raises(LocalError, match="got a Federation and also y"):
        GramSVC().fit(split(), y)
    model = GramSVC().fit(split(seed=0))
    with pytest.raises(LocalError, match="not split like the training records: 'party-1' must hold"):
        model.predict(split(seed=1))
    for partition in PARTITIONS:
        fed = split(partition=partition, coordinator="party-2")
        with pytest.raises(LocalError, match=r"party 'party-2' would coordinate and learn the gram matrix.*accept"):
            GramSVC().fit(fed)
    model = GramSVC(accept_risk=True).fit(split(coordinator="party-2"))
    np.testing.assert_array_equal(model.predict(X), GramSVC().fit(X, y).predict(X))
