"""Searches between organisations.

One job names the whole grid, each party rehearses it, and its policy sees the sums' least sizes.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tacit import FederatedGridSearch, FederatedHalvingSearch, Federation, GramSVC, PanSVC
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of
from tacit.consortium.jobs.values import chosen_values

PARTIES = ("a", "b", "c")
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}


def searched(model, kind=FederatedGridSearch, **more):
    X = np.random.default_rng(0).normal(size=(240, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
    fed = Federation.simulate(X, y, parties=PARTIES, partition=model.partition_, coordinator="site")
    search = kind(model, GRID, cv=2, **more)
    request = search.request(fed)
    outcome = fed.run(request)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.receive(fed, outcome)
    return search, request, outcome


ROSTER = Roster({Holder: PARTIES, Labeller: ("a",), Asker: ("a",), Coordinator: ("site",)})


MODELS = {
    "pan": (PanSVC(tol=0.1), FederatedGridSearch),
    "witness": (PanSVC(tol=0.1, witness=True), FederatedGridSearch),
    "halving": (PanSVC(tol=0.1, kernel="linear", accept_risk=True), FederatedHalvingSearch),
    "gram": (GramSVC(), FederatedGridSearch),
    "gram by rows": (GramSVC(partition="horizontal"), FederatedHalvingSearch),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_disclosure_of_a_job_is_that_of_the_search(name):
    model, kind = MODELS[name]
    _, request, outcome = searched(model, kind)
    assert disclosure_of(request.name, request.params, ROSTER) == outcome.ledger.template()


def test_a_job_holds_the_whole_grid_and_a_policy_sees_its_least_sums():
    request = searched(PanSVC(tol=0.1))[1]
    said = {
        "dataset": "d",
        "submitter": "x",
        "purpose": "study",
        "legal_basis": "consent",
        "rows": dict.fromkeys(PARTIES, 80),
    }
    job = propose(request.name, request.params, partition="horizontal", parties=PARTIES, coordinator="site", **said)
    assert [dict(each) for each in job.arguments["candidates"]] == [dict(each) for each in request.params["candidates"]]
    chosen = dict(chosen_values(job))
    assert (chosen["min_count"], chosen["min_cluster"], chosen["C"]) == ("auto", 5, 10.0)
    assert job.cost.rounds > 0


@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_the_cost_of_a_gram_search_is_that_of_its_run(partition):
    search, request, _ = searched(GramSVC(partition=partition))
    assert cost_of(request.name, request.params, ROSTER, 240).rounds == search.report_.rounds
