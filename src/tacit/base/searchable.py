"""What a learner offers to a search for its parameters. A search asks for these four methods and for no class."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import clone

from tacit.base.estimator import Federated
from tacit.base.selection_plan import Candidates, SearchPlan
from tacit.federation import Federation
from tacit.numeric.scores.grid import check_candidates
from tacit.registry import Outcome
from tacit.report import Report
from tacit.request import Records, Request

NUMBERS = ("C", "coef0", "gamma")


class Searchable(Federated):
    """A learner whose parameters a protocol of its own can search for, all candidates in one run.

    `receive` of the learner, with the best candidate's parameters, makes the model of the outcome.
    """

    def search_request(self, federation: Federation, candidates: Candidates, **search: Any) -> Request:
        """Return what a search would have the federation run; raises whatever `fit` would refuse of any candidate.

        `search` says cv, scoring, refit and factor, as the searches have them.
        """
        check_candidates(candidates)
        for each in candidates:
            clone(self).set_params(**each).check_parameters()
        self.check_federation(federation)
        protocol, params = self._search()
        asked = tuple({name: _plain(name, value) for name, value in each.items()} for each in candidates)
        return Request(protocol, {"data": Records()}, {**params, "candidates": asked, **search})

    @abstractmethod
    def search_plan(self, candidates: Candidates, cv: int, *, factor: int, refit: bool, parties: int) -> SearchPlan:
        """Return what a search can cost at most."""

    @abstractmethod
    def search_report(self, search: Any, federation: Federation, outcome: Outcome) -> Report:
        """Return the report of a search, with what it does not protect."""

    @abstractmethod
    def _search(self) -> tuple[str, dict[str, Any]]:
        """Return the protocol that searches, and what it is given beside the candidates."""


def _plain(name: str, value: Any) -> Any:
    """Return a value as a job writes it down."""
    if name in NUMBERS and not isinstance(value, str):
        return float(value)
    return int(value) if name == "degree" else value
