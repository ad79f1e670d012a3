"""Extreme learning machines between organisations: over rows they can be proposed, over columns they cannot."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Federation, LocalError, SecureELMClassifier
from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.proposal import propose
from tacit.consortium.rehearsal import cost_of, disclosure_of

ROSTER = Roster({Holder: ("a", "b", "c", "d"), Asker: ("a",), Coordinator: ("site",)})
SETTINGS = {"classify": True, "activation": "tanh", "n_hidden": 40, "scale": 1.0, "ridge": "gcv", "min_rows": 5}


@pytest.fixture
def federation():
    X = np.random.default_rng(0).normal(size=(400, 5))
    return Federation.simulate(X, (X[:, 0] > 0).astype(int), parties=["a", "b", "c", "d"], coordinator="site")


def test_the_disclosure_of_a_job_is_that_of_a_fitted_estimator(federation):
    settings = {**SETTINGS, "classes": None}
    ledger = federation.execute("elm_horizontal", {"data": (Holder, federation.parts)}, **settings).ledger
    assert disclosure_of("elm_horizontal", settings, ROSTER) == ledger.template()


@pytest.mark.parametrize("method", ["pairwise", "ring"])
def test_the_cost_of_a_job_is_close_to_that_of_its_run(federation, method):
    settings = {**SETTINGS, "method": method}
    ledger = federation.execute("elm_horizontal", {"data": (Holder, federation.parts)}, **settings).ledger
    cost = cost_of("elm_horizontal", settings, ROSTER, 400)
    moved = {p: sum(row.bytes for row in ledger if p in (row.sender, row.receiver)) for p in ROSTER.parties}
    assert cost.rounds == ledger.rounds
    assert max(cost.bytes[p] for p in "abcd") == pytest.approx(max(moved[p] for p in "abcd"), rel=0.25)  # a ring's first only sends
    assert cost.bytes["site"] == pytest.approx(moved["site"], rel=0.25)


def test_known_classes_and_numbers_can_be_rehearsed():
    named = disclosure_of("elm_horizontal", {**SETTINGS, "classes": ("ill", "well")}, ROSTER)
    assert "which classes the sender has records of" not in named
    assert "Width" in disclosure_of("elm_horizontal", {**SETTINGS, "classify": False}, ROSTER)


def test_columns_cannot_be_proposed(federation):
    asked = {"classify": True, "activation": "tanh", "n_hidden": 4, "scale": 1.0, "ridge": 1.0}
    with pytest.raises(LocalError, match="protocol 'elm_vertical' runs in simulation only, since a few known records"):
        propose("elm_vertical", asked, partition="vertical", parties=("a", "b", "c"), coordinator="site", dataset="d", submitter="x",
                purpose="study", legal_basis="consent", labeller="a", columns={}, rows={}, retention_days=3)  # fmt: skip
    federation.__class__ = type("Elsewhere", (Federation,), {"simulated": False})
    federation.partition = "vertical"
    with pytest.raises(LocalError, match="is for studies in simulation only"):
        SecureELMClassifier(partition="vertical", accept_risk=True).fit(federation)
