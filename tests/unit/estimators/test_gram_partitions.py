"""GramSVC by rows and cell by cell, and GramSVR: the pooled machine's answers, model files, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import tacit
from tacit import Federation, GramSVC, GramSVR, LocalError


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :8], y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=40, n_features=4, n_informative=3, n_redundant=1, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(n_samples=40, n_features=4, noise=5.0, random_state=1)
    return X, y / np.std(y)


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_rows_and_cells_give_the_pooled_svm(cancer, partition):
    X, y = cancer
    ours = GramSVC(C=3, tol=1e-7, partition=partition).fit(X[:120], y[:120], compare=True)
    pooled = SVC(C=3, tol=1e-7).fit(X[:120], y[:120])
    np.testing.assert_array_equal(ours.predict(X[120:]), pooled.predict(X[120:]))
    assert ours.report_.comparison["relative gap of the dual objective"] < 5e-6
    assert ours.report_.comparison["training records labelled differently"] == 0
    assert set(ours.support_) == set(pooled.support_)


@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_svr_is_the_pooled_svr(numbers, partition, weighted):
    X, y = numbers
    weight = np.arange(len(y)) % 3.0 if weighted else None
    settings = {"C": 2.0, "epsilon": 0.2, "tol": 1e-8}
    ours = GramSVR(partition=partition, engine="bfv", **settings).fit(X, y, sample_weight=weight)
    pooled = SVR(**settings).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), pooled.predict(X), atol=1e-4 if partition != "vertical" else 1e-6)
    assert ours.score(X, y) == pytest.approx(pooled.score(X, y), abs=1e-4)


def test_the_gap_of_a_regression_is_in_its_report(numbers):
    comparison = GramSVR(tol=1e-8).fit(*numbers, compare=True).report_.comparison
    assert comparison["reference"] == "scikit-learn's SVR(tol=1e-08) on the pooled records"
    assert comparison["relative gap of the dual objective"] < 1e-6
    assert comparison["root mean square difference of the answers"] < 1e-6


@pytest.mark.parametrize(
    "how", [{"engine": "paillier"}, {"method": "algorithm1"}, {"method": "intersection", "accept_risk": True}]
)
def test_every_method_gives_the_same_model_of_binary_records(small, how):
    X, y = small
    B = (X > 0).astype(float)[:10]
    found = GramSVC(kernel="linear", partition="arbitrary", tol=1e-8, **how).fit(B, y[:10])
    pooled = SVC(kernel="linear", tol=1e-8).fit(B, y[:10])
    np.testing.assert_allclose(found.decision_function(B[:3]), pooled.decision_function(B[:3]), atol=1e-6)


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_a_model_file_answers_as_the_model(small, partition, tmp_path):
    X, y = small
    model = GramSVC(partition=partition).fit(X, y)
    loaded = tacit.load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(loaded.decision_function(X[:5]), model.decision_function(X[:5]))
    np.testing.assert_array_equal(loaded.support_, model.support_)


def test_new_rows_stay_with_their_holders_in_whatever_order_these_are_named(small):
    X, y = small
    names = ["north", "south", "east"]
    rows = np.array_split(np.arange(len(y)), 3)
    fed = Federation.from_parts([(X[r], y[r]) for r in rows], names=names, partition="horizontal")
    model = GramSVC(partition="horizontal").fit(fed)
    new = Federation.from_parts([X[5:7], X[9:10], X[0:2]], names=["east", "north", "south"], partition="horizontal")
    np.testing.assert_allclose(model.decision_function(new), model.decision_function(X[[5, 6, 9, 0, 1]]), atol=1e-5)


def test_holders_keep_only_their_own_cells_of_the_support_vectors(small):
    model = GramSVC(partition="arbitrary").fit(*small).model_
    owned = np.sum([c.owned for c in model.columns.values()], axis=0)
    assert (owned == 1).all()
    assert all((c.X[~c.owned] == 0).all() for c in model.columns.values())


def test_the_report_says_first_that_the_coordinator_has_the_records_up_to_a_rotation(small):
    report = GramSVC(partition="horizontal").fit(*small).report_
    assert report.opens[0].role == "coordinator"
    assert "which is every record up to one unknown rotation" in report.opens[0].what
    assert "gram matrix is every record up to one rotation" in report.not_protected[0]
    assert any("together with one party" in line for line in report.not_protected)
    received = {row.message for row in report.learnt if row.who == "coordinator"}
    assert received == {"Owned", "OwnLabels", "PublicKey", "Masked"}


def test_what_it_refuses(small):
    X, y = small
    with pytest.raises(LocalError, match=r"shows the coordinator the table up to the columns' order.*accept_risk=True"):
        GramSVC(partition="horizontal", method="intersection").fit(X, y)
    for partition in ("vertical", "horizontal", "arbitrary"):
        with pytest.raises(LocalError, match=r"has size .*, outside the declared range of 0.1"):
            GramSVC(partition=partition, feature_range=0.1).fit(X, y)
    with pytest.raises(LocalError, match="The 'engine' parameter of GramSVR"):
        GramSVR(engine="ckks").fit(X, y)
    with pytest.raises(LocalError, match="would coordinate and learn the gram matrix"):
        GramSVC(partition="horizontal").fit(
            Federation.simulate(X, y, parties=3, partition="horizontal", coordinator="party-1")
        )
