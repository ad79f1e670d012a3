"""The release gate: what a model gives away is measured, and too much keeps it where it is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from tacit import SVC, ELMClassifier, ELMRegressor, FederatedScaler, Federation, Pipeline, Report, load
from tacit.consortium.consent.policy import Policy
from tacit.errors import LocalError
from tacit.report.release import Limits


@pytest.fixture(scope="module")
def records():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:160]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[rows, :10], y[rows]


@pytest.fixture(scope="module")
def elm(records):
    return ELMClassifier(n_hidden=20, random_state=0).fit(*records)


def by_limit(found):
    return {line.limit: line for line in found.lines}


def test_a_plain_model_passes_and_its_report_says_so(elm, records, tmp_path):
    found = elm.release_check(*records, twins=6, limits=Limits(membership_auc=0.65, attribute_advantage=0.3))
    assert not found.refused, str(found)
    assert {*by_limit(found)} == {"stored_records", "membership_auc", "true_positives", "attribute_advantage"}
    assert "membership: area under the curve" in elm.report_.to_text()
    assert "has seen the model already" in elm.report_.to_text(width=300)
    page = elm.report_.to_html(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h2>Release</h2>" in page
    assert Report.from_dict(elm.report_.to_dict()).release == found
    assert load(elm.save(tmp_path / "m.tacit")).report_.release == found


def test_an_overfitted_model_is_refused_and_not_exported(records, tmp_path):
    model = ELMClassifier(n_hidden=90, activation="tanh", alpha=1e-6, random_state=0).fit(*records)
    found = model.release_check(*records, twins=8)
    assert by_limit(found)["membership_auc"].refused
    model.save(tmp_path / "m.tacit")
    for each in (model, load(tmp_path / "m.tacit")):
        with pytest.raises(LocalError, match=r"the model is not released, membership.*\[release\] say otherwise"):
            each.export(tmp_path / "m.skops")
    assert not (tmp_path / "m.skops").exists()
    model.release_check(*records, twins=8, limits=Limits(membership_auc=1, true_positives=1, attribute_advantage=1))
    assert model.export(tmp_path / "m.skops").exists()


def test_with_other_records_the_model_itself_is_attacked(records):
    X, y = records
    model = ELMClassifier(n_hidden=35, random_state=0).fit(X[:80], y[:80])
    found = model.release_check(X[:80], y[:80], others=(X[80:], y[80:]), twins=6)
    assert "the model itself" in found.how
    assert 0.3 < by_limit(found)["membership_auc"].figure < 1  # of six twins, with noise: an answer, not a bound


def test_a_machine_whose_file_has_records_is_refused(records):
    X, y = records
    model = SVC(features="exact", loss="hinge", partition="vertical", random_state=0).fit(X[:40], y[:40])
    found = model.release_check(X[:40], y[:40])
    lines = by_limit(found)
    assert lines["stored_records"].figure == 3
    assert lines["stored_records"].refused
    assert "no attack on answers" in found.how


def test_without_records_what_was_not_measured_is_not_released(elm):
    found = elm.release_check()
    assert [line.verdict for line in found.refused] == ["not measured: bring the records of the training"] * 3
    assert not elm.release_check(limits=Limits(unmeasured=True)).refused


def test_a_pipeline_is_checked_as_a_whole_and_keeps_its_table(records, tmp_path):
    X, y = records
    model = Pipeline([("scale", FederatedScaler()), ("elm", ELMClassifier(n_hidden=20))])
    model.fit(Federation.simulate(100 * X, y, parties=3, seed=0))
    found = model.release_check(100 * X, y, twins=4)
    assert found.lines == load(model.save(tmp_path / "p.tacit")).report_.release.lines
    if found.refused:
        with pytest.raises(LocalError, match="not released"):
            model.export(tmp_path / "p.skops")


def test_a_pipeline_with_steps_of_others_is_checked_too(records):
    steps = [("scale", StandardScaler()), ("elm", ELMClassifier(n_hidden=20))]
    model = Pipeline(steps, savable=False).fit(*records)
    found = model[-1].release_check(model[0].transform(records[0]), records[1], twins=4)
    assert model.report_.release is None
    assert by_limit(found)["stored_records"].figure == 0


def test_numbers_are_checked_too(records):
    X, _ = records
    model = ELMRegressor(n_hidden=20, random_state=0).fit(X, X[:, 0])
    assert by_limit(model.release_check(X, X[:, 0], twins=4))["membership_auc"].figure > 0.3


def test_too_few_records_say_so(elm, records):
    X, y = records
    found = elm.release_check(X[:20], y[:20])
    assert "fewer than 20 members or others" in by_limit(found)["membership_auc"].verdict


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[1.0] * 10] * 60, None, "needs the labels of the records: give y as well"),
        ([[1.0] * 9] * 60, [0, 1] * 30, "the model has 10 columns, and the records have the shape"),
        ([[1.0] * 10] * 60, [0, 1] * 20, "there are 60 records and 40 labels"),
        ([[1.0] * 10] * 60, [0, 2] * 30, "label 2 is not one of the model's classes, 0, 1: correct it"),
        ([["a"] * 10] * 60, [0, 1] * 30, "these have texts or dates: check a pipeline that prepares them"),
    ],
)
def test_bad_input_is_one_line(elm, X, y, words):
    with pytest.raises(LocalError, match=words):
        elm.release_check(X, y)


def test_a_policy_says_how_much_may_be_given_away(tmp_path):
    base = 'protocols = "any"\napprovers = ["ann"]\n[columns]\nd = "all"\n'
    (tmp_path / "p.toml").write_text(base + "[release]\nmembership_auc = 0.7\n")
    assert Policy.from_toml(tmp_path / "p.toml").release == Limits(membership_auc=0.7)
    (tmp_path / "p.toml").write_text(base + "[release]\nmembership_auc = 7\n")
    with pytest.raises(LocalError, match="release"):
        Policy.from_toml(tmp_path / "p.toml")
