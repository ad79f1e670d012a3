"""Searches between organisations: one job names the whole grid, each party rehearses it, and its policy sees the sums' least sizes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tacit import FederatedGridSearch, FederatedHalvingSearch, Federation, GramSVC, PanSVC
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster
from tacit.consortium.proposal import propose
from tacit.consortium.rehearsal import cost_of, disclosure_of
from tacit.consortium.site import of_json, split
from tacit.consortium.values import chosen_values
from tacit.registry import opened

PARTIES = ("a", "b", "c")
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}


class Overheard(Federation):
    """Keeps what a search asked for."""

    def execute(self, protocol, inputs, **params):
        self.asked = protocol, params
        self.outcome = super().execute(protocol, inputs, **params)
        return self.outcome


def searched(model, kind=FederatedGridSearch, **more):
    X = np.random.default_rng(0).normal(size=(240, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
    fed = Overheard.simulate(X, y, parties=PARTIES, partition=model.partition, coordinator="site")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = kind(model, GRID, cv=2, **more).fit(fed)
    return search, fed, Roster({Holder: PARTIES, Labeller: ("a",), Asker: ("a",), Coordinator: ("site",)})


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
    _, fed, roster = searched(model, kind)
    protocol, params = fed.asked
    assert disclosure_of(protocol, params, roster) == fed.outcome.ledger.template()


def test_a_job_holds_the_whole_grid_and_a_policy_sees_its_least_sums():
    _, fed, _ = searched(PanSVC(tol=0.1))
    protocol, params = fed.asked
    said = {"dataset": "d", "submitter": "x", "purpose": "study", "legal_basis": "consent", "rows": dict.fromkeys(PARTIES, 80)}
    job = propose(protocol, params, partition="horizontal", parties=PARTIES, coordinator="site", **said)
    assert [dict(each) for each in job.arguments["candidates"]] == [dict(each) for each in params["candidates"]]
    chosen = dict(chosen_values(job))
    assert (chosen["min_count"], chosen["min_cluster"], chosen["C"]) == ("auto", 5, 10.0)
    assert job.cost.rounds > 0


@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_the_cost_of_a_gram_search_is_that_of_its_run(partition):
    search, fed, roster = searched(GramSVC(partition=partition))
    assert cost_of(*fed.asked, roster, 240).rounds == search.report_.rounds


def test_what_is_public_of_a_search_comes_back_from_json():
    search, fed, _ = searched(PanSVC(tol=0.1))
    own, public = split({k: v for k, v in fed.outcome.result.items() if k != "fold"}, "a")
    assert own == {}
    again = {name: of_json(value) for name, value in public.items()}
    assert again["best"] == search.best_index_
    np.testing.assert_allclose(np.average(again["tried"][0]["scores"], axis=1), search.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(again["solution"].w, search.best_estimator_.model_.w)
    assert opened(again["classes"]) == (0, 1)
