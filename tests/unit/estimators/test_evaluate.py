"""`tacit.evaluate`: scikit-learn's figures on the pooled records, for every classifier; what it refuses.

What the report says.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    recall_score,
    roc_auc_score,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tacit
from tacit import Federation, GramSVC, LocalError, PanSVC, Report, ShiftSVC

FOURIER = {"landmark_source": "fourier", "landmarks": 60, "min_count": 3, "accept_risk": True, "random_state": 0}
MODELS = {
    "PanSVC": PanSVC(**FOURIER, multi_class="ovr", probability=True),
    "PanSVC by pairs": PanSVC(**FOURIER),
    "PanSVC on a ring": PanSVC(**FOURIER, multi_class="ovr", secure_sum="ring"),
    "GramSVC": GramSVC(probability=True),
    "ShiftSVC by rows": ShiftSVC(accept_risk=True, probability=True),
    "ShiftSVC by columns": ShiftSVC(accept_risk=True, partition="vertical"),
    "ELM by rows": tacit.SecureELMClassifier(n_hidden=30, random_state=0),
    "ELM by columns": tacit.SecureELMClassifier(n_hidden=30, partition="vertical", accept_risk=True, random_state=0),
}
BINS = {"PanSVC by pairs": 1024}  # votes of pairs lie closer together than other values
NAMES = ("north", "east", "south", "west")


def noisy(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X) + np.random.default_rng(0).normal(size=X.shape)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def cancer():
    return noisy(load_breast_cancer)


@pytest.fixture(scope="module")
def wine():
    return noisy(load_wine)


def split(X, y, partition="horizontal"):
    return Federation.simulate(X, y, parties=NAMES, partition=partition)


@pytest.fixture(scope="module")
def fitted(cancer):
    X, y, _, _ = cancer
    return PanSVC(landmark_source="fourier", landmarks=60, probability=True).fit(split(X, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", ["cancer", "wine"])
def test_figures_are_scikit_learns_on_the_pooled_records(request, name, data):
    X, y, Z, z = request.getfixturevalue(data)
    model = MODELS[name]
    model.fit(split(X, y, model.partition_))
    found = tacit.evaluate(model, split(Z, z, model.partition_), bins=BINS.get(name, 256))
    chosen, values = model.predict(Z), np.reshape(model.decision_function(Z), (len(z), -1))
    average = "binary" if data == "cancer" else "macro"
    np.testing.assert_array_equal(found.confusion_matrix, confusion_matrix(z, chosen))
    assert found.accuracy == pytest.approx(accuracy_score(z, chosen), abs=1e-6)
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(z, chosen), abs=1e-6)
    assert found.sensitivity == pytest.approx(recall_score(z, chosen, average=average), abs=1e-6)
    assert found.f1 == pytest.approx(f1_score(z, chosen, average=average), abs=1e-6)
    positive = [1] if data == "cancer" else [0, 1, 2]
    assert found.specificity == pytest.approx(np.mean([recall_score(z != k, chosen != k) for k in positive]), abs=1e-6)
    for bounds, figure in (
        (found.roc_auc_bounds, roc_auc_score),
        (found.average_precision_bounds, average_precision_score),
    ):
        reference = np.mean([figure(z == k, f) for k, f in zip(positive, values.T, strict=True)])
        assert bounds[0] - 1e-6 <= reference <= bounds[1] + 1e-6
        assert bounds[1] - bounds[0] < (1e-12 if model.partition_ == "vertical" else 0.02)


def test_probabilities_are_judged_as_by_scikit_learn(fitted, cancer):
    _, _, Z, z = cancer
    curve = tacit.evaluate(fitted, split(Z, z), min_count=1).curves[0]
    p = fitted.predict_proba(Z)[:, 1]
    assert curve.brier_score == pytest.approx(brier_score_loss(z, p), abs=1e-6)
    np.testing.assert_allclose(curve.calibration_curve, calibration_curve(z, p, n_bins=10), atol=1e-6)


def test_sites_that_agree_are_shown_beside_and_are_in_the_ledger_as_their_own_disclosure(cancer):
    X, y, Z, z = cancer
    model = PanSVC(landmark_source="fourier", landmarks=60).fit(split(X, y))
    fed = split(Z, z)
    found = tacit.evaluate(model, fed, per_site=True, name="held-out records")
    assert set(found.sites) == set(NAMES)
    for site in NAMES:
        rows = fed.rows[site]
        assert found.sites[site].accuracy == pytest.approx(accuracy_score(z[rows], model.predict(Z[rows])))
        assert found.sites[site].roc_auc == pytest.approx(roc_auc_score(z[rows], model.decision_function(Z[rows])))
    told = {row.from_whom for row in model.report_.learnt if row.message == "OwnCounts"}
    assert told == set(NAMES)


def test_a_site_of_one_class_is_no_trouble_and_has_no_area(fitted, cancer):
    _, _, Z, z = cancer
    parts = [(Z[z == 1][:40], z[z == 1][:40]), *((Z[i::3], z[i::3]) for i in range(3))]
    found = tacit.evaluate(fitted, Federation.from_parts(parts, partition="horizontal", names=NAMES), per_site=True)
    assert np.isnan(found.sites["north"].roc_auc)
    assert found.sites["north"].confusion_matrix[0].sum() == 0
    assert "roc_auc" not in found.sites["north"].figures()


def test_a_site_of_few_records_counts_but_is_not_shown(fitted, cancer):
    _, _, Z, z = cancer
    parts = [(Z[:4], z[:4]), *((Z[4 + i :: 3], z[4 + i :: 3]) for i in range(3))]
    with pytest.warns(UserWarning, match="north") as caught:
        found = tacit.evaluate(fitted, Federation.from_parts(parts, partition="horizontal", names=NAMES), per_site=True)
    assert found.n_records == len(z)
    assert found.sites == {}
    assert [str(w.message) for w in caught] == found.warnings == [
        "north: fewer than min_count records of a class, so no counts of their own are shown",
        "no site's own counts are shown, since those of north would follow from them by subtraction",
    ]  # fmt: skip


def test_a_class_of_few_records_is_left_out_and_said_so(wine):
    X, y, Z, z = wine
    model = GramSVC().fit(split(X, y, "vertical"))
    few = np.r_[np.flatnonzero(z != 2), np.flatnonzero(z == 2)[:2]]
    with pytest.warns(
        UserWarning, match="class 2 has fewer than min_count=5 records: they are left out of all figures"
    ):
        found = tacit.evaluate(model, split(Z[few], z[few], "vertical"))
    assert found.n_records == len(few) - 2


def test_a_pipeline_is_evaluated_with_its_steps(cancer):
    X, y, Z, z = cancer
    model = tacit.Pipeline(
        [("scale", tacit.FederatedScaler()), ("svm", PanSVC(landmark_source="fourier", landmarks=60))]
    ).fit(split(9 * X, y))
    found = tacit.evaluate(model, split(9 * Z, z))
    assert found.accuracy == pytest.approx(accuracy_score(z, model.predict(9 * Z)))
    assert model.report_.evaluations["records"].figures() == found.figures()


# What is refused


def test_bad_input_is_refused_in_one_line(fitted, cancer):
    _, _, Z, z = cancer
    fed, odd = split(Z, z), np.where(np.arange(len(z)) == 7, 9, z)
    cases = {
        r"\w+ has 1 records of classes that the model does not know, such as 9: leave them out": (
            fitted,
            split(Z, odd),
            {},
        ),
        "has records without labels, and evaluate needs their classes": (
            fitted,
            Federation.simulate(Z, parties=NAMES),
            {},
        ),
        "evaluate needs a classifier or a regressor of tacit, got a SVC": (SVC(), fed, {}),
        "evaluate needs a Federation that holds labelled records, got a ndarray": (fitted, Z, {}),
        r"The 'bins' parameter of evaluate must be an int in the range \[2, inf\). Got 1 instead": (
            fitted,
            fed,
            {"bins": 1},
        ),
        r"The 'min_count' parameter of evaluate must be an int in the range \[1, inf\)": (
            fitted,
            fed,
            {"min_count": 0},
        ),
        "per_site names 'moon', which is not one of the parties": (fitted, fed, {"per_site": ["moon"]}),
        "per_site leaves out east and south only, whose own counts would follow": (
            fitted,
            fed,
            {"per_site": ["north", "west"]},
        ),
        "the new records must be held by the same parties": (fitted, Federation.simulate(Z, z, parties=3), {}),
    }
    for words, (model, federation, settings) in cases.items():
        with pytest.raises(LocalError, match=words) as caught:
            tacit.evaluate(model, federation, **settings)
        assert "\n" not in str(caught.value)


def test_sites_of_columns_have_no_records_of_their_own(wine):
    X, y, Z, z = wine
    model = GramSVC().fit(split(X, y, "vertical"))
    with pytest.raises(LocalError, match="over columns no record belongs to one site; leave it out"):
        tacit.evaluate(model, split(Z, z, "vertical"), per_site=True)


# What the report says


def test_the_report_has_figures_plots_and_what_the_evaluation_disclosed(cancer, tmp_path):
    X, y, Z, z = cancer
    model = PanSVC(landmark_source="fourier", landmarks=60, probability=True).fit(split(X, y))
    before = model.report_.rounds, model.report_.bytes
    found = tacit.evaluate(model, split(Z, z), name="held-out records")
    report = model.report_
    assert report.rounds > before[0]
    assert report.bytes > before[1]
    assert report.traffic[-1] == (report.rounds, report.bytes)
    assert any(o.protocol == "score_counts" for o in report.opens)
    text = report.to_text()
    assert "on held-out records" in text
    assert f"{found.accuracy:.4f}" in text
    page = report.to_html(tmp_path / "r.html").read_text()
    assert "Evaluated on held-out records" in page
    assert "Confusion: accuracy" in page
    assert "trained and evaluated" in page
    assert "data:image" not in page


def test_the_report_over_columns_has_what_prediction_disclosed(wine):
    X, y, Z, z = wine
    model = GramSVC().fit(split(X, y, "vertical"))
    assert not any(o.protocol == "gram_predict" for o in model.report_.opens)
    found = tacit.evaluate(model, split(Z, z, "vertical"))
    assert {"gram_predict", "labeller_counts"} <= {o.protocol for o in model.report_.opens}
    assert "north, who has the labels" in found.how


def test_evaluations_are_kept_in_the_file_of_the_model_and_in_json(fitted, cancer, tmp_path):
    _, _, Z, z = cancer
    found = tacit.evaluate(fitted, split(Z, z), per_site=True)
    again = tacit.load(fitted.save(tmp_path / "m.tacit")).report_.evaluations["records"]
    assert again.figures() == found.figures()
    assert again.sites["east"].figures() == found.sites["east"].figures()
    assert Report.from_dict(json.loads(json.dumps(fitted.report_.to_dict()))).fingerprint == fitted.report_.fingerprint


def test_it_prints_its_figures_and_no_record(fitted, cancer):
    _, _, Z, z = cancer
    assert repr(tacit.evaluate(fitted, split(Z, z))).startswith(f"<Evaluation of {len(z)} records: accuracy 0.8")
