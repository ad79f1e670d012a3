"""PAN-SVM as a job between organisations: what a rehearsal says it opens and costs, and its risk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from papers.pan import reference
from tacit.consortium.jobs.rehearsal import USUAL, check_params, cost_of, disclosure_of
from tacit.papers.pan import FilterWrapperSelector, PanSVC, VotedWrapperSelector
from tacit.registry import declared

X, Y = reference.table(3)
NOISY = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 3))])
LINEAR = PanSVC(kernel="linear", tol=1e-2)
ASKED = {
    "rbf": PanSVC(),
    "linear": LINEAR,
    "poly-ring": PanSVC(kernel="poly", multi_class="ovr"),
    "voted": VotedWrapperSelector(step=0.5),
    "voted-number": VotedWrapperSelector(LINEAR, n_features_to_select=2, step=2),
    "voted-rfe": VotedWrapperSelector(LINEAR, criteria=("rfe",), n_features_to_select=2, step=2),
    "filter": FilterWrapperSelector(PanSVC(tol=1e-2), cv=2, step=0.5),
    "filter-few": FilterWrapperSelector(LINEAR, cv=2, welch=1e-300, quota=1),
}
MAYBE = ("voted-number", "filter-few")  # criteria may agree, and one feature needs no round


@pytest.mark.parametrize("name", ASKED)
def test_a_run_opens_nothing_that_its_rehearsal_does_not_name(name):
    federation = tacit.simulate(NOISY, Y, parties=3)
    request: Any = ASKED[name].request(federation)
    check_params(request.name, request.params)
    agreed = disclosure_of(request.name, request.params).splitlines()
    opened = federation.run(request).ledger.template().splitlines()
    assert set(opened) <= set(agreed)
    assert name in MAYBE or set(opened) == set(agreed)
    cost = cost_of(request.name, request.params, USUAL, 1000)
    assert cost.rounds > 100
    assert set(cost.bytes) == set(USUAL.parties)


@pytest.mark.parametrize("name", ["pan_svm", "voted_wrapper", "filter_wrapper"])
def test_a_job_that_plays_it_has_to_accept_the_risk(name):
    assert "single records" in declared(name).attacked
