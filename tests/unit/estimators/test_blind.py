"""`SVC(features="exact", loss="hinge")` as a user meets it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tacit
from tacit import Federation, LocalError
from tacit.protocols.blind import size
from tacit.protocols.blind.size import describe_size
from tacit.report.card import outermost

X, Y = make_classification(90, 6, n_informative=4, flip_y=0.05, random_state=2)
Z = make_classification(120, 6, n_informative=4, flip_y=0.05, random_state=2)[0][90:]


@pytest.fixture(scope="module")
def fitted():
    return tacit.SVC(C=3.0, features="exact", loss="hinge").fit(
        Federation.simulate(X, Y, parties=3, partition="vertical")
    )


def test_it_labels_as_svc_does_and_is_saved_and_asked_again(fitted, tmp_path):
    theirs = SVC(C=3.0).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(Z), theirs.predict(Z))
    fitted.save(tmp_path / "blind.tacit")
    again = tacit.load(tmp_path / "blind.tacit")
    np.testing.assert_allclose(again.decision_function(Z), fitted.decision_function(Z), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["vertical", "horizontal"])
def test_a_linear_model_is_saved_as_shares_of_weights_without_any_record(partition, tmp_path):
    model = tacit.SVC(features="exact", loss="hinge", kernel="linear", partition=partition)
    model.fit(Federation.simulate(X, Y, parties=3, partition=partition))
    theirs = SVC(kernel="linear", tol=1e-8).fit(X, Y).decision_function(Z)
    np.testing.assert_allclose(model.decision_function(Z), theirs, atol=0.05)
    assert model.model_.records_of() == {}
    again = tacit.load(model.save(tmp_path / "linear.tacit"))
    np.testing.assert_allclose(again.decision_function(Z), model.decision_function(Z), atol=1e-3)


def test_one_number_of_gamma_stands_in_the_ledger_and_on_the_card(fitted):
    federation = Federation.simulate(X, Y, parties=3, partition="vertical")
    outcome = federation.run(tacit.SVC(features="exact", loss="hinge").request(federation))
    (row, *others) = (row for row in outcome.ledger if row.type == "VarianceShare")
    assert [fact.identifier for fact in row.tells] == ["core.magnitudes"]
    assert {each.bytes for each in others} == {row.bytes}
    by_number = federation.run(tacit.SVC(features="exact", loss="hinge", gamma=0.2).request(federation))
    assert "VarianceShare" not in {row.type for row in by_number.ledger}
    shown = {fact.identifier for each in outermost(fitted.report_.opens) for fact in each.facts}
    assert "core.magnitudes" in shown


def test_the_report_says_that_nobody_sees_the_gram_matrix(fitted):
    told = {each.identifier for line in fitted.report_.opens for each in line.facts}
    assert "gram.matrix" not in told
    assert "gram.support" not in told
    assert fitted.support_.size == 0
    assert any("together with any one party" in line for line in fitted.report_.not_protected)
    (line,) = (line for line in fitted.report_.warnings if "random numbers" in line)
    assert line.startswith("nobody can work out records of others without coordinator, which deals the random numbers,")


@pytest.mark.parametrize(("weight", "opens"), [("balanced", True), ({0: 0.2, 1: 3.0}, False)])
def test_class_weights_cost_no_more_rounds_and_only_balanced_ones_open_the_sizes_of_classes(fitted, weight, opens):
    columns = Federation.simulate(X, Y, parties=3, partition="vertical")
    model = tacit.SVC(C=3.0, features="exact", loss="hinge", class_weight=weight).fit(columns)
    theirs = SVC(C=3.0, class_weight=weight, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(Z), theirs.decision_function(Z), atol=0.02)
    assert ("open_sizes" in {line.protocol for line in model.report_.opens}) == opens
    before, after = (own.report_.rounds - 5 * own.n_iter_ for own in (fitted, model))  # three openings and two deals
    assert abs(after - before) < 20


def test_several_classes_are_told_from_the_rest():
    wine, kinds = load_wine(return_X_y=True)
    wine = StandardScaler().fit_transform(wine)
    rows = Federation.simulate(wine, kinds, parties=3, partition="horizontal")
    model = tacit.SVC(features="exact", loss="hinge").fit(rows)
    assert np.mean(model.predict(wine) == kinds) > 0.98


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"probability": True},
            "whose model stays in shares: say loss='hinge', and leave probability out",
        ),
        (
            {"class_weight": {0: 0.0}},
            "features='exact' needs class weights above 0: leave records of other classes out",
        ),
        (
            {"class_weight": {0: 100.0}},
            "a class weight of 100 leaves no room in 64 bits: give at most 64, and a larger C",
        ),
        ({"C": 1e-9}, "leaves no room in 64 bits: use a larger C, or fewer records"),
        ({"C": 1e12}, r"C=1e\+12 with 90 records would take \d+ iterations in shares: lower C, or take fewer"),
    ],
)
def test_what_cannot_be_trained_in_shares_is_refused_in_one_line(asked, says):
    with pytest.raises(LocalError, match=says) as refused:
        tacit.SVC(**{"features": "exact", "loss": "hinge", **asked}).fit(
            Federation.simulate(X, Y, parties=3, partition="vertical")
        )
    assert "\n" not in str(refused.value)


def test_a_search_and_a_coordinator_with_data_are_refused():
    federation = Federation.simulate(X, Y, parties=3, partition="vertical")
    with pytest.raises(LocalError, match="no search compares them: use landmarks"):
        tacit.FederatedGridSearch(tacit.SVC(features="exact", loss="hinge"), {"C": [1, 3]}).fit(federation)
    inside = Federation.simulate(X, Y, parties=["a", "b", "c"], partition="vertical", coordinator="a")
    with pytest.raises(LocalError, match="a holds data and would deal the randomness"):
        tacit.SVC(features="exact", loss="hinge", accept_risk=True).fit(inside)


@pytest.mark.parametrize("machine", [tacit.SVC, tacit.SVR])
def test_spark_is_refused_before_anything_is_sent_since_its_driver_would_read_every_opening(machine):
    on_spark = Federation.simulate(X, Y, parties=3, partition="horizontal", runtime="spark")
    says = r"features='exact' leaves a model in shares, which would be lost .*: use landmarks, runtime='together', or"
    with pytest.raises(LocalError, match=says):
        machine(features="exact", loss="hinge").fit(on_spark)
    with pytest.raises(LocalError, match=says):
        machine(features="exact", loss="hinge", runtime="spark", n_parties=3).fit(X, Y)


def test_gamma_outside_its_window_is_refused_where_the_exponential_is_taken_in_shares():
    rows = Federation.simulate(X, Y, parties=3, partition="horizontal")
    with pytest.raises(LocalError, match=r"gamma=1e\+06 and cells of up to .*: scale the columns, or lower gamma"):
        tacit.SVC(features="exact", loss="hinge", gamma=1e6).fit(rows)


def test_many_records_are_warned_of_with_the_time_that_they_take():
    said = r"4000 records in shares take about (\d+) CPU minutes and 1.5 GB at every party: train on a sample of 3000,"
    asked, numbers = {"kernel": "rbf", "C": 10.0}, {"C": 1.0, "tube": 0.1}
    assert re.fullmatch(rf"{said} or by rows use SVC\(\)", describe_size(4000, 3, asked))
    assert re.fullmatch(rf"{said} or by rows use SVR\(\)", describe_size(4000, 3, {**asked, **numbers}))
    linear = describe_size(4000, 3, {**asked, "kernel": "linear"})  # no matrix of records is squared
    assert "take about 1 CPU minutes" in linear
    assert describe_size(3000, 3, asked) is None


def test_who_trains_on_many_records_is_warned(monkeypatch):
    monkeypatch.setattr(size, "MANY", 50)
    with pytest.warns(UserWarning, match=rf"^{len(X)} records in shares take about 1 CPU minutes"):
        tacit.SVC(features="exact", loss="hinge").fit(Federation.simulate(X, Y, parties=3, partition="horizontal"))


def test_two_holders_suffice_since_nothing_is_summed_in_the_clear():
    parts = [(X[:, :3], Y), (X[:, 3:], None)]
    two = Federation.from_parts(parts, partition="vertical", allow_two_parties=True)
    model = tacit.SVC(C=3.0, features="exact", loss="hinge").fit(two)
    np.testing.assert_array_equal(model.predict(Z), SVC(C=3.0).fit(X, Y).predict(Z))
