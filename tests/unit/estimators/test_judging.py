"""`tacit.evaluate` of models of the core: figures of pooled records, groups, sites alone, and what is suppressed."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import confusion_matrix, mean_absolute_error, mean_squared_error, r2_score, roc_auc_score

import tacit
from tacit import LocalError, Report
from tacit.numeric.scores.metrics import interval_of_area, interval_of_share

SPLITS = ("horizontal", "vertical", "arbitrary")


def noisy(load: Any, scale: float = 1.0) -> tuple[Any, Any]:
    X, y = load(return_X_y=True)
    return (X - X.mean(0)) / X.std(0) + scale * np.random.default_rng(0).normal(size=X.shape), y


def halves(X: Any, y: Any, partition: str = "horizontal", **how: Any) -> tuple[Any, Any]:
    fed = tacit.simulate(X, y, parties=("north", "east", "south", "west"), partition=partition, **how)
    return tacit.train_test_split(fed, test_size=0.4, random_state=0)


@pytest.mark.parametrize("partition", SPLITS)
@pytest.mark.parametrize("make", [tacit.SVC, tacit.ELMClassifier])
def test_two_classes_have_the_figures_of_the_pooled_records_and_areas_within_their_bounds(partition, make):
    learn, held = halves(*noisy(load_breast_cancer), partition)
    model = make(random_state=0, probability=True).fit(learn)
    found = tacit.evaluate(model, held)
    z, values, chosen = held.targets()[0], model.decision_function(held), model.predict(held)
    off = np.abs(found.confusion_matrix - confusion_matrix(z, chosen)).sum()
    assert off == 0 if partition == "horizontal" else off <= 4  # values in shares have sixteen bits
    low, high = found.roc_auc_bounds
    assert low - 1e-3 <= roc_auc_score(z, values) <= high + 1e-3
    assert high - low < 0.15
    p = model.predict_proba(held)[:, 1]
    assert found.brier_score == pytest.approx(np.square(p - z).mean(), abs=2e-3)
    assert found.warnings == []


@pytest.mark.parametrize("partition", SPLITS)
def test_more_classes_have_a_confusion_matrix_and_no_curve(partition):
    learn, held = halves(*noisy(load_wine, 0.3), partition)
    model = tacit.SVC(random_state=0).fit(learn)
    found = tacit.evaluate(model, held)
    z, chosen = held.targets()[0], model.predict(held)
    assert np.abs(found.confusion_matrix - confusion_matrix(z, chosen)).sum() <= (0 if partition == "horizontal" else 2)
    assert found.curves == []
    assert np.isnan(found.roc_auc)


@pytest.mark.parametrize("partition", SPLITS)
def test_numbers_have_rounded_errors_and_say_how_far_they_may_be_off(partition):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 6))
    y = 100 + 5 * (X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=500)
    learn, held = halves(X, y, partition)
    model = tacit.SVR(random_state=0).fit(learn)
    found = tacit.evaluate(model, held)
    z, answers = held.targets()[0], model.predict(held)
    slack = 1e-9 if partition == "horizontal" else 2e-3
    assert abs(found.r2 - r2_score(z, answers)) <= found.errors.r2_off + slack
    assert found.mean_squared_error == pytest.approx(mean_squared_error(z, answers), rel=2**-8 + slack)
    assert found.mean_absolute_error == pytest.approx(mean_absolute_error(z, answers), rel=2**-8 + slack)
    assert found.n_records == len(z)
    assert found.score == found.r2


# Classes without records, and few


def rare() -> tuple[Any, Any]:
    """Four sites of 200 patients with six events each, as a data scientist wrote it."""
    parts = []
    for i in range(4):
        y = np.zeros(200, int)
        y[:6] = 1
        X = np.random.default_rng(i).normal(size=(200, 4))
        X[:, 0] += 1.5 * y
        parts.append((X, y))
    fed = tacit.from_parts(parts, partition="horizontal")
    judged = np.arange(fed.n_rows) % 200 >= 150
    return fed.take_rows(~judged), fed.take_rows(judged)


def test_figures_of_a_class_without_a_record_are_nan_with_one_warning_that_names_it():
    learn, held = rare()
    assert held.targets()[0].sum() == 0
    model = tacit.ELMClassifier(class_weight="balanced", random_state=0).fit(learn)
    with pytest.warns(UserWarning, match="class 1 has no record") as caught:
        found = tacit.evaluate(model, held)
    assert len(caught) == 1
    assert found.confusion_matrix[1].sum() == 0
    assert np.isnan([found.sensitivity, found.balanced_accuracy, found.f1, found.roc_auc]).all()
    assert 0 < found.accuracy < 1


def test_records_of_a_class_with_few_records_count_as_of_no_class():
    X, y = noisy(load_wine, 0.1)
    learn, held = halves(X, y)
    model = tacit.SVC(random_state=0).fit(learn)
    z = held.targets()[0]
    few = np.sort(np.concatenate([np.flatnonzero(z != 2), np.flatnonzero(z == 2)[:6]]))
    parts = held.take_rows(few)
    with pytest.warns(UserWarning, match="all figures are suppressed"):
        assert tacit.evaluate(model, parts).suppressed
    found = tacit.evaluate(model, parts, min_count=3)
    assert found.n_records == len(few)
    unknown = [(part.X, np.where(part.y == 0, 7, part.y)) for part in held.parts.values()]
    others = tacit.from_parts(unknown, partition="horizontal", names=list(held.parts))
    with pytest.warns(UserWarning, match="class 0 has no record"):
        found = tacit.evaluate(model, others)
    assert found.no_class == (z == 0).sum()
    assert found.n_records == (z != 0).sum()


# Groups


def people(n: int = 800) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.normal(50, 9, n), "sex": rng.choice(["f", "m"], n), "dose": rng.normal(size=n)})
    return frame, (frame["age"] > 50 + 5 * frame["dose"]).to_numpy().astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("by", ["sex", {"sex": ["m", "f"]}])
def test_groups_are_by_a_column_of_the_records_as_sites_hold_them(partition, by):
    frame, y = people()
    learn, held = halves(frame, y, partition, raw=True)
    model = tacit.Pipeline([("table", tacit.TableVectorizer()), ("m", tacit.SVC(random_state=0))]).fit(learn)
    found = tacit.evaluate(model, held, by=by)
    assert set(found.groups) == {"f", "m"}
    summed = np.sum([each.confusion_matrix for each in found.groups.values()], axis=0)
    np.testing.assert_array_equal(summed, found.confusion_matrix)
    (owner,) = [part for part in held.parts.values() if "sex" in part.features][:1]
    codes = owner.X[:, owner.features.index("sex")]
    if partition == "vertical":
        assert found.groups["f"].n_records == (codes == owner.texts["sex"].index("f")).sum()


def test_by_site_shows_sites_unless_one_or_the_rest_has_few_records_of_a_class():
    X, y = noisy(load_breast_cancer)
    learn, held = halves(X, y)
    model = tacit.SVC(random_state=0).fit(learn)
    found = tacit.evaluate(model, held, by="site")
    assert list(found.sites) == ["north", "east", "south", "west"]
    for site, part in held.parts.items():
        chosen = model.predict(part.X)
        np.testing.assert_array_equal(found.sites[site].confusion_matrix, confusion_matrix(part.y, chosen))
    z = held.targets()[0]
    kept = np.ones(len(z), dtype=bool)
    kept[held.rows["north"][3:]] = False
    found = tacit.evaluate(model, held.take_rows(kept), by="site")
    assert all(each.suppressed for each in found.groups.values()), "three records would follow by subtraction"
    assert "suppressed" in repr(found.groups["north"])
    assert np.isnan(found.groups["north"].accuracy)


def test_numbers_have_groups_too():
    frame, _ = people()
    y = frame["age"].to_numpy() + 3 * (frame["sex"] == "f")
    learn, held = halves(frame, y, raw=True)
    model = tacit.Pipeline([("table", tacit.TableVectorizer()), ("m", tacit.SVR(random_state=0))]).fit(learn)
    found = tacit.evaluate(model, held, by="sex")
    assert sum(each.n_records for each in found.groups.values()) == found.n_records
    assert all(each.r2 > 0.5 for each in found.groups.values())


# Each site alone


@pytest.mark.slow
def test_each_site_alone_is_judged_on_its_own_records_beside_the_joint_model():
    X, y = noisy(load_breast_cancer)
    learn, held = halves(X, y)
    model = tacit.SVC(random_state=0).fit(learn)
    found = tacit.evaluate(model, held, against="alone", learnt_on=learn)
    assert [each.site for each in found.beside] == list(held.parts)
    assert found.groups == {}
    for each in found.beside:
        part = held.parts[each.site]
        joint = (model.predict(part.X) == part.y).mean()
        assert abs(each.joint["accuracy"] - joint) <= each.step / 2
        own = tacit.SVC(random_state=0).fit(learn.parts[each.site].X, learn.parts[each.site].y)
        assert abs(each.alone["accuracy"] - (own.predict(part.X) == part.y).mean()) <= 0.1
    told = {row.message for row in model.report_.learnt if row.message == "OwnFigures"}
    assert told == {"OwnFigures"}


@pytest.mark.slow
def test_a_site_that_cannot_train_alone_is_told_without_figures_of_its_own():
    X, y = noisy(load_breast_cancer)
    learn, held = halves(X, y)
    model = tacit.SVC(random_state=0).fit(learn)
    first = learn.targets()[0] == 1
    kept = np.ones(len(first), dtype=bool)
    north = learn.rows["north"]
    kept[north[~first[north]]] = False
    found = tacit.evaluate(model, held, against="alone", learnt_on=learn.take_rows(kept))
    assert np.isnan(found.beside[0].alone["accuracy"])
    assert found.beside[0].joint["accuracy"] > 0.7
    assert found.beside[1].alone["accuracy"] > 0.7


# Figures and the report


def test_the_other_class_is_the_positive_one_where_it_is_asked_for():
    learn, held = halves(*noisy(load_breast_cancer))
    model = tacit.SVC(random_state=0).fit(learn)
    one, other = (tacit.evaluate(model, held, pos_label=k) for k in (1, 0))
    assert (one.sensitivity, one.specificity) == (other.specificity, other.sensitivity)
    assert one.roc_auc == pytest.approx(other.roc_auc)
    z, f = held.targets()[0], model.decision_function(held)
    low, high = other.roc_auc_bounds
    assert low <= roc_auc_score(z == 0, -f) <= high
    assert other.curves[0].label == 0


def test_intervals_are_those_of_wilson_and_delong():
    assert interval_of_share(45, 50) == pytest.approx((0.7864, 0.9565), abs=1e-4)
    assert interval_of_share(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    rng = np.random.default_rng(0)
    y, f = np.repeat([0, 1], 60), rng.normal(size=120)
    covered = 0
    for _ in range(100):
        f = rng.normal(size=120) + 1.2 * y
        order = np.argsort(np.argsort(f))
        P, N = (np.bincount(order[y == a], minlength=120).astype(float) for a in (1, 0))
        low, high = interval_of_area(P, N)
        covered += low <= 0.80193 <= high
    assert 88 <= covered <= 100


@pytest.mark.slow
def test_the_report_shows_intervals_groups_and_sites_alone_and_reads_back(tmp_path):
    learn, held = halves(*noisy(load_breast_cancer))
    model = tacit.SVC(random_state=0, probability=True).fit(learn)
    tacit.evaluate(model, held, by="site", against="alone", learnt_on=learn, name="held-out records")
    page = model.report_.to_html(tmp_path / "r.html").read_text()
    for words in ("95 %:", "Each site alone, beside the joint model", "rounded to", "sensitivity of 1", "north"):
        assert words in page
    assert "95 %:" in str(model.report_._repr_html_()) or "95 %:" in page
    again = Report.from_dict(json.loads(json.dumps(model.report_.to_dict())))
    found, before = again.evaluations["held-out records"], model.report_.evaluations["held-out records"]
    assert found.sites["north"].confusion == before.sites["north"].confusion
    assert found.beside[0].joint == before.beside[0].joint
    assert found.intervals == before.intervals


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"bins": 16}, "bins= is for judging with epsilon"),
        ({"by": "height"}, "no categories of this column are declared"),
        ({"by": {"height": [1]}}, "is not a column of these records"),
        ({"against": "alone"}, "give them as learnt_on="),
        ({"pos_label": 3}, "is not one of the two classes"),
        ({"min_count": 0}, "must be an int"),
        ({"against": "best"}, "among"),
    ],
)
def test_what_cannot_be_is_refused_with_its_remedy(asked, words):
    learn, held = halves(*noisy(load_breast_cancer))
    model = tacit.SVC(random_state=0, features=20).fit(learn)
    with pytest.raises(LocalError, match=words):
        tacit.evaluate(model, held, **asked)


def test_figures_of_sites_are_refused_where_no_record_is_of_one():
    learn, held = halves(*noisy(load_breast_cancer), "vertical")
    model = tacit.SVC(random_state=0, features=20).fit(learn)
    with pytest.raises(LocalError, match="no record is of one site"):
        tacit.evaluate(model, held, by="site")


def test_cross_validation_scores_folds_however_few_records_they_have():
    X, y = noisy(load_wine, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = tacit.cross_val_score(tacit.SVC(random_state=0), tacit.simulate(X, y, parties=3), cv=3, random_state=0)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.85
