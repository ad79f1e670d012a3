"""A consensus between organisations: over rows it can be proposed, and its rehearsal says what its run opens."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tacit import ConsensusSVC, Federation, LocalError
from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of
from tacit.federation.backend import Described
from tacit.request import Records

ROSTER = Roster({Holder: ("a", "b", "c", "d"), Asker: ("a",), Coordinator: ("site",)})


GIVEN = {
    "partition": "horizontal",
    "parties": ("a", "b", "c"),
    "coordinator": "site",
    "dataset": "cohort",
    "submitter": "analyst",
    "purpose": "a test",
    "legal_basis": "consent",
}


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
    ledger = federation.run("consensus_horizontal", {"data": Records()}, **settings).ledger
    assert disclosure_of("consensus_horizontal", settings, ROSTER) == ledger.template()


@pytest.mark.parametrize("probability", [False, True])
def test_the_cost_of_a_job_is_of_the_size_of_its_run(federation, probability):
    settings = {"C": 2.0, "tol": 1e-6, "max_rounds": 150, "probability": probability}
    ledger = federation.run("consensus_horizontal", {"data": Records()}, **settings).ledger
    cost = cost_of("consensus_horizontal", settings, ROSTER, 400)
    assert ledger.rounds / 4 < cost.rounds < 4 * ledger.rounds
    moved = sum(row.bytes for row in ledger if "a" in (row.sender, row.receiver))
    assert moved / 4 < cost.bytes["a"] < 4 * moved


def test_a_job_says_that_it_accepts_the_risk_since_averages_give_records_away():
    with pytest.raises(
        LocalError, match=r"averages of a consensus give single records .*: use another protocol, or say accept_risk"
    ):
        propose("consensus_horizontal", {"C": 1.0}, **GIVEN)
    assert propose("consensus_horizontal", {"C": 1.0}, accept_risk=True, **GIVEN).accept_risk


@pytest.mark.parametrize("settled", [{"dtype": "float32"}, {"device": "cuda"}, {"witness": True}])
def test_a_job_does_not_choose_what_no_consensus_offers(settled):
    name = next(iter(settled))
    with pytest.raises(LocalError, match=f"consensus_horizontal.*{name}"):
        propose("consensus_horizontal", {"C": 1.0, **settled}, accept_risk=True, **GIVEN)


@pytest.mark.parametrize(
    ("how", "step"),
    [({"kernel": "rbf"}, True), ({"partition": "vertical"}, True), ({}, False)],
    ids=["kernel", "columns", "public"],
)
def test_what_is_kept_in_shares_is_proposed_as_a_study_by_which_it_is_asked(federation, how, step):
    there = dataclasses.replace(federation, backend=Described(), partition=how.get("partition", "horizontal"))
    svm = ConsensusSVC(**how)
    assert svm.is_step(svm.request(there)) is step
    with pytest.raises(LocalError, match="connect to them first"):
        svm.fit(there)
