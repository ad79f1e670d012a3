"""Gram SVMs over rows and cells, their answers and alignments as jobs.

Rehearsed as they run, at a cost that is known before.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

from tacit import Federation
from tacit.choreo import Holder
from tacit.choreo.protocol import Stage
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of
from tacit.errors import LocalError
from tacit.federation.backend import Here
from tacit.federation.part import part_of
from tacit.papers.gram import GramSVC
from tacit.papers.gram.cost import VECTORS
from tacit.registry import PROTOCOLS, execute_together

pytest.importorskip("tenseal")
pytest.importorskip("gmpy2")
RECORDS, NEW = 90, 12


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(RECORDS, 20))
    return X, (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] > 0).astype(int)


class Watched(Here):
    """Keeps the ledgers of all runs."""

    seen: ClassVar[list[Any]] = []

    def run(self, federation, request):
        outcome = super().run(federation, request)
        self.seen.append((request.name, request.params, outcome.ledger, federation.roster))
        return outcome


def watched(*records, **split):
    return dataclasses.replace(Federation.simulate(*records, **split), backend=Watched())


def runs_of(data, partition, records=RECORDS, **setting):
    """A training and an answer, in one process."""
    X, y = data[0][:records], data[1][:records]
    if setting.get("method") == "intersection":
        X = (X > 0).astype(float)
    split = {"parties": ["a", "b", "c"], "partition": partition, "coordinator": "site"}
    Watched.seen.clear()
    GramSVC(partition=partition, gamma=0.05, **setting).fit(watched(X, y, **split)).predict(watched(X[:NEW], **split))
    return list(Watched.seen)


@pytest.mark.parametrize(
    ("partition", "setting"),
    [
        ("vertical", {}),
        ("horizontal", {}),
        ("arbitrary", {}),
        pytest.param(
            "horizontal",
            {"kernel": "linear", "engine": "paillier", "feature_range": 8.0, "records": 30},
            marks=pytest.mark.slow,
        ),
        ("arbitrary", {"kernel": "linear"}),
        pytest.param("arbitrary", {"method": "algorithm1", "records": 20}, marks=pytest.mark.slow),
        ("horizontal", {"method": "intersection", "accept_risk": True, "records": 30}),
    ],
)
def test_a_rehearsal_opens_what_a_run_opens_and_its_cost_is_about_that_of_the_run(data, partition, setting):
    runs = runs_of(data, partition, **setting)
    assert len(runs) == (3 if setting.get("kernel") == "linear" else 2)
    for protocol, params, ledger, roster in runs:
        assert disclosure_of(protocol, params, roster) == ledger.template()
        trained = protocol in {"gram_vertical", "gram_arbitrary"}
        cost = cost_of(protocol, params, roster, setting.get("records", RECORDS) if trained else NEW)
        assert cost.rounds == ledger.rounds
        moved = {p: sum(row.bytes for row in ledger if p in {row.sender, row.receiver}) for p in roster.parties}
        for p in roster[Holder]:
            # the support vectors of these models are a third to as many as are counted
            slack = (0.7, 1.1) if trained else (0.5, VECTORS / 10)
            assert slack[0] * moved[p] < cost.bytes[p] < slack[1] * moved[p]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_holder_that_asks_about_more_records_than_the_job_declares_gets_no_answer(data, kernel):
    *_, (protocol, params, _, roster) = runs_of(data, "horizontal", records=30, kernel=kernel)
    asked = {**params, "records": 6}
    inputs = PROTOCOLS[protocol].rehearsal.inputs(Stage(roster, 30, asked, part_of))
    with pytest.raises(
        LocalError, match=r"bring \d+ new records, and the job declares 6: declare them all in \[rows\]"
    ):
        execute_together(roster, protocol, inputs, asked)
