"""How much a selection of features or parameters can cost at most, known before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.numeric.elimination import sizes
from tacit.numeric.grid import schedule


@dataclass(frozen=True)
class Plan:
    """Rounds in which features go; models trained, those of the folds of one subset being one; rounds of messages. All at most."""

    eliminations: int
    trainings: int
    rounds: int

    def __str__(self) -> str:
        return f"at most {self.eliminations} eliminations, {self.trainings} trainings and {self.rounds} rounds of messages"


def wrapper_plan(learner: Any, drops: Sequence[int], criteria: int, *, best: bool, parties: int) -> Plan:
    """Of `select_wrapper`: in every round a training, one more per contested set, and with `best` one for the subset."""
    folds = len(drops) * (criteria if criteria > 1 else 0) + (len(drops) + 1 if best else 0)
    s = _sum(learner, parties)
    own = len(drops) * (2 * s + 3)  # rsvm; moments of t, and of which problems; the vote and who goes
    return _plan(learner, s, len(drops), len(drops), folds, own)


def filter_plan(learner: Any, features: int, drops: Sequence[int], trials: int, *, best: bool, parties: int) -> Plan:
    """Of `select_filter`, if `features` pass: a training for every set that is tried, and with `best` one for the voted set."""
    tried = sum(min(trials, left // number) for left, number in zip(sizes(features, drops), drops, strict=False))
    s = _sum(learner, parties)
    return _plan(learner, s, len(drops), 0, tried + int(best), s + 1 + len(drops))


def _plan(learner: Any, s: int, eliminations: int, trainings: int, folds: int, own: int) -> Plan:
    """The agreement, landmarks, folds; `trainings` and `folds` models; the selection's own messages; the best subset."""
    training = 3 + s + learner.max_rounds * (2 + 2 * s)  # of `cutting_plane`, with the basis
    before = 7 + 2 * s + 32 * (s + 1) + (s + 1)  # 24 draws of slots or 15 cuts of cells, with what is before and after
    return Plan(eliminations, trainings + folds, before + trainings * training + folds * (training + s) + own + 1)


def _sum(learner: Any, parties: int) -> int:
    """Rounds of messages of one secure sum."""
    return 1 if learner.secure_sum == "pairwise" else int(learner.segments) * (parties + 1)


@dataclass(frozen=True)
class SearchPlan:
    """Models trained over all folds and stages, and on all records; rounds of messages, at most."""

    models: int
    rounds: int

    def __str__(self) -> str:
        return f"{self.models} models, in at most {self.rounds} rounds of messages"


def search_plan(learner: Any, candidates: Sequence[Mapping[str, Any]], cv: int, *, factor: int, refit: bool, parties: int) -> SearchPlan:
    """Of `pan_search` and `gram_search`, whose rounds do not depend on the grid but for the number of prices C."""
    s, plan = _sum(learner, parties), schedule(len(candidates), factor)
    models = cv * sum(number for number, _ in plan) + int(refit)
    if not hasattr(learner, "max_rounds"):
        cells = (learner.partition, learner.method) != ("vertical", "product")
        return SearchPlan(models, 8 + 2 * s + cells * (4 + s + parties))  # of a gram matrix in one band; of cells with owners and range
    kernels = [tuple(sorted((name, value) for name, value in each.items() if name != "C")) for each in candidates]
    paths = len(plan) * max(map(kernels.count, kernels)) + int(refit)  # a pool goes through all prices of its kernel
    before = 11 + 4 * s + 32 * (s + 1) + (s + 1)  # as of a selection, with the bases and the folds
    return SearchPlan(models, before + paths * learner.max_rounds * (2 + 2 * s) + (len(plan) + 1) * (6 + 5 * s))
