"""Probabilities and weights of the SVMs.

Platt's sigmoid as scikit-learn fits it to the same scores, and SVC's weights.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, _sigmoid_calibration
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import tacit
from tacit import ConsensusSVC, GramSVC, LocalError, PanSVC, ShiftSVC
from tacit.numeric.scores.folds import deal_folds
from tacit.numeric.scores.platt import probabilities
from tacit.numeric.svm.dual_svm import out_of_fold

EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own
QUICK = {"landmark_source": "fourier", "landmarks": 60, "gamma": 0.2, "probability": True, **EXACT}
SVMS = {
    "rows": PanSVC(**QUICK),
    "rows, one against one": PanSVC(**QUICK, multi_class="ovo"),
    "rows, witnessed": PanSVC(**QUICK, witness=True),
    "columns": GramSVC(gamma=0.2, probability=True),
    "consensus over columns": ConsensusSVC(
        kernel="rbf", gamma=0.2, probability=True, partition="vertical", accept_risk=True
    ),
    "moved rows": ShiftSVC(gamma=0.2, probability=True, accept_risk=True),
    "moved columns": ShiftSVC(gamma=0.2, probability=True, accept_risk=True, partition="vertical"),
    "secretly moved rows": ShiftSVC(gamma=0.2, probability=True, accept_risk=True, shift="secret"),
    "secretly moved columns": ShiftSVC(
        gamma=0.2, probability=True, accept_risk=True, shift="secret", partition="vertical"
    ),
}
LINEAR = {
    "consensus over rows": ConsensusSVC(probability=True, **EXACT),
    "consensus over columns": ConsensusSVC(probability=True, partition="vertical", accept_risk=True),
    "consensus over columns, by ADMM": ConsensusSVC(
        rho=0.3, probability=True, partition="vertical", accept_risk=True, max_rounds=100
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def two():
    return make_classification(n_samples=240, n_features=6, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def three():
    X, codes = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[codes]


@pytest.mark.parametrize("name", SVMS)
@pytest.mark.parametrize("data", ["two", "three"])
def test_every_svm_gives_probabilities_that_are_nearly_as_good_as_svcs(request, name, data):
    X, y = request.getfixturevalue(data)
    model = SVMS[name].set_params(random_state=1).fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    assert p.shape == (len(X) // 2, len(model.classes_))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[1::2])), p)
    values = np.reshape(SVC(gamma=0.2).fit(X[::2], y[::2]).decision_function(X[1::2]), (len(p), -1))
    chance = log_loss(y[1::2], np.full_like(p, 1 / p.shape[1]))
    assert log_loss(y[1::2], p) < 0.75 * chance
    assert len(model.probA_) == len(model.probB_) == values.shape[1]


def test_of_rows_in_groups_they_are_better_than_chance():
    X, y = make_classification(n_samples=1600, n_features=6, n_informative=4, flip_y=0.1, random_state=0)
    model = PanSVC(gamma=0.2, probability=True).fit(X[::2], y[::2])
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.9 * np.log(2)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("data", ["two", "three"])
def test_of_a_linear_consensus_they_are_nearly_those_of_the_calibrated_pooled_svm(request, name, data):
    X, y = request.getfixturevalue(data)
    p = LINEAR[name].fit(X, y).predict_proba(X)
    pooled = SVC(kernel="linear") if data == "two" else OneVsRestClassifier(SVC(kernel="linear"))
    reference = CalibratedClassifierCV(pooled, ensemble=False).fit(X, y).predict_proba(X)
    assert np.abs(p - reference).mean() < 0.05
    assert log_loss(y, p) == pytest.approx(log_loss(y, reference), abs=0.03)


@pytest.mark.parametrize("data", ["two", "three"])
def test_over_columns_they_are_scikit_learns_sigmoid_of_the_values_out_of_fold(request, data):
    X, y = request.getfixturevalue(data)
    model = GramSVC(gamma=0.2, tol=1e-8, probability=True).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    way = {"multi_class": model.multi_class, "tol": 1e-8, "max_iter": -1}
    values, _ = out_of_fold(rbf_kernel(X, gamma=0.2), codes, None, C=1.0, **way)
    positives = [1] if data == "two" else range(3)
    reference = [_sigmoid_calibration(f, (codes == k).astype(float)) for f, k in zip(values.T, positives, strict=True)]
    decided = np.reshape(model.decision_function(X), (len(X), -1))
    np.testing.assert_allclose(model.predict_proba(X), probabilities(decided, np.array(reference)), atol=1e-6)


def test_values_out_of_fold_are_of_svms_that_did_not_see_the_record(two):
    X, y = two
    weight = np.where(np.arange(len(y)) % 7, 1.0, 0.0)
    kept = np.flatnonzero(weight)
    values, codes = out_of_fold(rbf_kernel(X, gamma=0.2), y, weight, C=2.0, multi_class="ovr", tol=1e-8, max_iter=-1)
    np.testing.assert_array_equal(codes, y[kept])
    fold = deal_folds(y[kept], 5, 0)
    for q in range(5):
        oracle = SVC(C=2.0, gamma=0.2, tol=1e-8).fit(X[kept[fold != q]], y[kept[fold != q]])
        np.testing.assert_allclose(values[fold == q, 0], oracle.decision_function(X[kept[fold == q]]), atol=1e-5)


@pytest.mark.parametrize("name", ["rows", "columns", "moved rows", "consensus over rows", "consensus over columns"])
def test_they_are_kept_in_model_files(two, tmp_path, name):
    X, y = two
    model = (LINEAR | SVMS)[name].fit(X, y)
    again = tacit.load(model.save(tmp_path / "m.tacit"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["consensus over columns", "consensus over columns, by ADMM"])
def test_a_record_without_weight_counts_for_nothing(two, name):
    X, y = two
    weight = np.where(np.arange(len(y)) % 7, 1.0, 0.0)
    model = LINEAR[name].set_params(random_state=0)  # the same columns at the same parties
    with_zeros = model.fit(X, y, weight)._sigmoids
    without = model.fit(X[weight > 0], y[weight > 0])._sigmoids
    np.testing.assert_allclose(with_zeros, without, atol=1e-2)


def test_records_that_stay_split_have_the_same_probabilities(two):
    X, y = two
    fed = tacit.Federation.simulate(X, y, parties=3, partition="vertical")
    model = GramSVC(gamma=0.2, probability=True).fit(fed)
    np.testing.assert_allclose(model.predict_proba(fed), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("kind", [PanSVC, GramSVC])
def test_without_them_there_is_no_predict_proba(two, kind):
    model = kind().fit(*two)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = model.predict_proba
    assert "not available when probability=False: say probability=True before" in str(caught.value.__cause__)
    model.set_params(probability=True)
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False: fit again"):
        model.predict_proba(two[0])


@pytest.mark.parametrize("name", ["columns", "consensus over columns"])
def test_a_class_of_one_record_is_refused_in_one_line(two, name):
    X, _ = two
    with pytest.raises(
        LocalError, match="a class has a single record, and probability=True leaves records out in turn"
    ) as caught:
        SVMS[name].fit(X[:40], np.arange(40) == 0)
    assert "\n" not in str(caught.value)


def test_too_few_rows_for_folds_are_refused_in_one_line(two):
    X, _ = two
    y = np.arange(60) < 8
    parts = [(X[i], y[i]) for i in (np.arange(30), np.arange(30, 45), np.arange(45, 60))]
    with pytest.raises(
        LocalError,
        match=r"too few groups of min_count rows for that: even of two folds .*lower min_count with accept_risk=True",
    ):
        PanSVC(**{**QUICK, "min_count": 5}).fit(tacit.Federation.from_parts(parts, partition="horizontal"))
    PanSVC(**{**QUICK, "min_count": 4}).fit(tacit.Federation.from_parts(parts, partition="horizontal"))


def test_a_class_that_took_no_part_has_no_chance(three):
    X, y = three
    y = np.where(np.arange(150) < 3, "rare", y)
    with pytest.warns(UserWarning, match="class rare has 3 records"):
        model = PanSVC(**{**QUICK, "min_count": 4}).fit(X, y)
    assert model.predict_proba(X)[:, 0].max() < 1e-100


def test_the_report_says_that_models_of_folds_are_public(two):
    report = PanSVC(**QUICK).fit(*two).report_
    assert any(o.protocol == "fold_scores" and "one model per fold" in o.what for o in report.opens)
    assert any(o.protocol == "platt" for o in report.opens)


WEIGHTS = {
    "class": ({0: 0.5, 1: 2.0}, None),
    "balanced": ("balanced", None),
    "sample": (None, "sample"),
    "zeros": (None, "zeros"),
    "both": ({0: 0.5, 1: 2.0}, "sample"),
}


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_over_rows_are_those_of_the_pooled_svm(two, name, probability):
    X, y = two
    y = np.where(np.arange(len(y)) % 5 == 0, 0, y)
    class_weight, sample = WEIGHTS[name]
    weight = {"sample": np.linspace(0.1, 2, len(y)), "zeros": np.arange(len(y)) % 3.0}.get(sample)
    model = PanSVC(kernel="linear", C=0.5, class_weight=class_weight, tol=1e-5, probability=probability, **EXACT)
    model.fit(X, y, sample_weight=weight)
    pooled = SVC(kernel="linear", C=0.5, class_weight=class_weight, tol=1e-4).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(X), pooled.decision_function(X), atol=0.02)


def test_probabilities_do_not_depend_on_class_weights_as_in_svc(two):
    """A price of errors is no statement about how frequent a class is."""
    X, y = two
    heavy = GramSVC(gamma=0.2, class_weight={0: 5.0}, probability=True).fit(X, y)
    assert abs(heavy.predict_proba(X)[:, 1].mean() - y.mean()) < 0.05
