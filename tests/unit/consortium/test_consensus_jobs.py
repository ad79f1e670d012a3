"""A consensus between organisations: over rows it can be proposed, and its rehearsal says what its run opens."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import ConsensusSVC, Federation, LocalError
from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.proposal import propose
from tacit.consortium.rehearsal import cost_of, disclosure_of

ROSTER = Roster({Holder: ("a", "b", "c", "d"), Asker: ("a",), Coordinator: ("site",)})


@pytest.fixture
def federation():
    X = np.random.default_rng(0).normal(size=(400, 5))
    return Federation.simulate(X, (X[:, 0] > 0).astype(int), parties=["a", "b", "c", "d"], coordinator="site")


@pytest.mark.parametrize(
    "settings",
    [
        {"C": 2.0},
        {"C": 2.0, "disclose": "least"},
        {"C": 2.0, "kernel": "rbf", "landmarks": 12},
        {"C": 2.0, "method": "ring"},
        {"C": 2.0, "probability": True},
    ],
)
def test_the_disclosure_of_a_job_is_that_of_its_run(federation, settings):
    ledger = federation.execute("consensus_horizontal", {"data": (Holder, federation.parts)}, **settings).ledger
    assert disclosure_of("consensus_horizontal", settings, ROSTER) == ledger.template()


@pytest.mark.parametrize("probability", [False, True])
def test_the_cost_of_a_job_is_of_the_size_of_its_run(federation, probability):
    settings = {"C": 2.0, "tol": 1e-6, "max_rounds": 150, "probability": probability}
    ledger = federation.execute("consensus_horizontal", {"data": (Holder, federation.parts)}, **settings).ledger
    cost = cost_of("consensus_horizontal", settings, ROSTER, 400)
    assert ledger.rounds / 4 < cost.rounds < 4 * ledger.rounds
    moved = sum(row.bytes for row in ledger if "a" in (row.sender, row.receiver))
    assert moved / 4 < cost.bytes["a"] < 4 * moved


def test_a_job_says_that_it_accepts_the_risk_since_averages_give_records_away():
    given = {"partition": "horizontal", "parties": ("a", "b", "c"), "coordinator": "site", "dataset": "cohort", "submitter": "analyst",
             "purpose": "a test", "legal_basis": "consent"}  # fmt: skip
    with pytest.raises(LocalError, match=r"averages of a consensus give single records .*: use another protocol, or say accept_risk"):
        propose("consensus_horizontal", {"C": 1.0}, **given)
    assert propose("consensus_horizontal", {"C": 1.0}, accept_risk=True, **given).accept_risk


def test_what_would_be_kept_in_shares_is_refused_there(federation):
    federation.__class__ = type("Elsewhere", (Federation,), {"simulated": False})
    with pytest.raises(LocalError, match="each party keeps a part of the classifier"):
        ConsensusSVC(kernel="rbf").fit(federation)
    federation.partition = "vertical"
    with pytest.raises(LocalError, match="trains over rows only: use GramSVC"):
        ConsensusSVC(partition="vertical").fit(federation)
