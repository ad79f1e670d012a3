"""Extreme learning machines between organisations: over rows they can be proposed, over columns they cannot."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tacit import Federation, LocalError, SecureELMClassifier
from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of
from tacit.federation.backend import Described
from tacit.request import Records

ROSTER = Roster({Holder: ("a", "b", "c", "d"), Asker: ("a",), Coordinator: ("site",)})
SETTINGS = {"classify": True, "activation": "tanh", "n_hidden": 40, "scale": 1.0, "ridge": "gcv", "min_rows": 5}


@pytest.fixture
def federation():
    X = np.random.default_rng(0).normal(size=(400, 5))
    return Federation.simulate(X, (X[:, 0] > 0).astype(int), parties=["a", "b", "c", "d"], coordinator="site")


def test_the_disclosure_of_a_job_is_that_of_a_fitted_estimator(federation):
    settings = {**SETTINGS, "classes": None}
    ledger = federation.run("elm_horizontal", {"data": Records()}, **settings).ledger
    assert disclosure_of("elm_horizontal", settings, ROSTER) == ledger.template()


@pytest.mark.parametrize(
    "more",
    [
        {"class_weight": {0: 1.0, 1: 3.0}},
        {"class_weight": "balanced"},
        {"probability": True, "n_hidden": 20},
        {"probability": True, "class_weight": {1: 2.0}, "n_hidden": 20},
    ],
    ids=str,
)
def test_class_weights_and_probabilities_are_disclosed_as_they_are_opened(federation, more):
    settings = {**SETTINGS, "classes": None, **more}
    ledger = federation.run("elm_horizontal", {"data": Records()}, **settings).ledger
    told = disclosure_of("elm_horizontal", settings, ROSTER)
    assert told == ledger.template()
    assert ("elm.class_sums" in told) == ("class_weight" in more)
    assert ("elm.fold_sums" in told) == ("probability" in more)


def test_the_cost_of_probabilities_covers_the_sums_of_all_folds(federation):
    settings = {**SETTINGS, "n_hidden": 30, "probability": True}
    ledger = federation.run("elm_horizontal", {"data": Records()}, **settings).ledger
    cost = cost_of("elm_horizontal", settings, ROSTER, 400)
    moved = {p: sum(row.bytes for row in ledger if p in (row.sender, row.receiver)) for p in ROSTER.parties}
    assert max(cost.bytes.values()) == pytest.approx(max(moved.values()), rel=0.25)


@pytest.mark.parametrize("method", ["pairwise", "ring", "graph"])
def test_the_cost_of_a_job_is_close_to_that_of_its_run(federation, method):
    settings = {**SETTINGS, "method": method}
    ledger = federation.run("elm_horizontal", {"data": Records()}, **settings).ledger
    cost = cost_of("elm_horizontal", settings, ROSTER, 400)
    moved = {p: sum(row.bytes for row in ledger if p in (row.sender, row.receiver)) for p in ROSTER.parties}
    assert cost.rounds == ledger.rounds
    assert max(cost.bytes[p] for p in "abcd") == pytest.approx(
        max(moved[p] for p in "abcd"), rel=0.25
    )  # a ring's first only sends
    assert cost.bytes["site"] == pytest.approx(moved["site"], rel=0.25)


def test_known_classes_and_numbers_can_be_rehearsed():
    named = disclosure_of("elm_horizontal", {**SETTINGS, "classes": ("ill", "well")}, ROSTER)
    assert "which classes the sender has records of" not in named
    assert "Width" in disclosure_of("elm_horizontal", {**SETTINGS, "classify": False}, ROSTER)


def test_over_columns_the_estimate_is_near_what_a_run_moves(federation):
    X, y, _ = federation.pooled()
    columns = Federation.simulate(X, y, parties=3, partition="vertical", coordinator="site")
    elm = SecureELMClassifier(n_hidden=20, accept_risk=True).fit(columns)
    request = elm.request(columns)
    cost = cost_of(request.name, request.params, columns.roster, len(X))
    assert cost.rounds == elm.report_.rounds
    assert sum(cost.bytes.values()) / 2 == pytest.approx(elm.report_.bytes, rel=0.25)


def test_columns_cannot_be_proposed_without_accepting_the_risk(federation):
    asked = {"classify": True, "activation": "tanh", "n_hidden": 4, "scale": 1.0, "ridge": 1.0}
    with pytest.raises(LocalError, match=r"the inputs of its hidden layer, .* say accept_risk = true"):
        propose(
            "elm_vertical",
            asked,
            partition="vertical",
            parties=("a", "b", "c"),
            coordinator="site",
            dataset="d",
            submitter="x",
            purpose="study",
            legal_basis="consent",
            labeller="a",
            columns={},
            rows={},
            retention_days=3,
        )
    federation = dataclasses.replace(federation, backend=Described())
    federation = dataclasses.replace(federation, partition="vertical")
    with pytest.raises(LocalError, match="gives away more than a model"):
        SecureELMClassifier(partition="vertical").fit(federation)
