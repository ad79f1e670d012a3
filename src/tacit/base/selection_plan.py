"""How much a selection of features or parameters can cost at most, known before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.numeric.features.elimination import sizes
from tacit.numeric.scores.grid import schedule

Candidates = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Plan:
    """Rounds in which features go; models trained, those of the folds of one subset being one; rounds of messages.

    All at most.
    """

    eliminations: int
    trainings: int
    rounds: int

    def __str__(self) -> str:
        models = f"{self.eliminations} eliminations, {self.trainings} trainings"
        return f"at most {models} and {self.rounds} rounds of messages"


def wrapper_plan(learner: Any, drops: Sequence[int], criteria: int, *, best: bool, parties: int) -> Plan:
    """Return what `select_wrapper` can cost.

    In every round a training, one more per contested set, and with `best` one for the subset.
    """
    folds = len(drops) * (criteria if criteria > 1 else 0) + (len(drops) + 1 if best else 0)
    s = _sum(learner, parties)
    own = len(drops) * (2 * s + 3)  # rsvm; moments of t, and of which problems; the vote and who goes
    return _plan(learner, s, len(drops), len(drops), folds, own)


def filter_plan(learner: Any, features: int, drops: Sequence[int], trials: int, *, best: bool, parties: int) -> Plan:
    """Return what `select_filter` can cost, if `features` pass.

    A training for every set that is tried, and with `best` one for the voted set.
    """
    tried = sum(min(trials, left // number) for left, number in zip(sizes(features, drops), drops, strict=False))
    s = _sum(learner, parties)
    return _plan(learner, s, len(drops), 0, tried + int(best), s + 1 + len(drops))


def _plan(learner: Any, s: int, eliminations: int, trainings: int, folds: int, own: int) -> Plan:
    """Add up the agreement, landmarks and folds, so many models, and the selection's own messages.

    The last round publishes the best subset.
    """
    training = 3 + s + learner.max_rounds * (2 + 2 * s)  # of `cutting_plane`, with the basis
    before = 7 + 2 * s + 32 * (s + 1) + (s + 1)  # 24 draws of slots or 15 cuts of cells, with what is before and after
    return Plan(eliminations, trainings + folds, before + trainings * training + folds * (training + s) + own + 1)


def _sum(learner: Any, parties: int) -> int:
    """Return the rounds of messages of one secure sum."""
    return int(learner.segments) * (parties + 1) if learner.secure_sum == "ring" else 1


@dataclass(frozen=True)
class SearchPlan:
    """Models trained over all folds and stages, and on all records; rounds of messages, at most."""

    models: int
    rounds: int

    def __str__(self) -> str:
        return f"{self.models} models, in at most {self.rounds} rounds of messages"


def gram_search_plan(
    learner: Any, candidates: Candidates, cv: int, *, factor: int, refit: bool, parties: int
) -> SearchPlan:
    """Return what `gram_search` can cost; its rounds do not depend on the grid."""
    s, cells = _sum(learner, parties), (learner.partition_, learner.method) != ("vertical", "product")
    models = cv * sum(number for number, _ in schedule(len(candidates), factor)) + int(refit)
    # of a gram matrix in one band; of cells with owners and range
    return SearchPlan(models, 8 + 2 * s + cells * (4 + s + parties))


def pan_search_plan(
    learner: Any, candidates: Candidates, cv: int, *, factor: int, refit: bool, parties: int
) -> SearchPlan:
    """Return what `pan_search` can cost; its rounds depend on the grid's number of prices C only."""
    s, plan = _sum(learner, parties), schedule(len(candidates), factor)
    models = cv * sum(number for number, _ in plan) + int(refit)
    kernels = [tuple(sorted((name, value) for name, value in each.items() if name != "C")) for each in candidates]
    paths = len(plan) * max(map(kernels.count, kernels)) + int(refit)  # a pool goes through all prices of its kernel
    before = 11 + 4 * s + 32 * (s + 1) + (s + 1)  # as of a selection, with the bases and the folds
    return SearchPlan(models, before + paths * learner.max_rounds * (2 + 2 * s) + (len(plan) + 1) * (6 + 5 * s))
