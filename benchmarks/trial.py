"""A trial: one classifier, trained on some rows and judged on others.

And many of them, with a figure of how far they are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

import tacit
from figures import Data, Figure, Step


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Attributes:
        percent: accuracy on the rows to be judged by.
        seconds: wall clock, with all parties on this machine.
        cpu: CPU seconds of all of them.
        busiest: CPU seconds of the busiest party and the coordinator.
        rounds: of the cutting planes.
        landmarks: or random features.
        early: 1 if it warned that problems ended before the gap was small enough.
        other: other warnings.
    """

    percent: float
    seconds: float = 0.0
    cpu: float = 0.0
    busiest: float = 0.0
    rounds: int = 0
    landmarks: int = 0
    early: int = 0
    other: int = 0


Learner = Callable[[Data, int], Trial]
Key = tuple[str, ...]
Results = dict[Key, list[Trial]]


def central(make: Callable[[], ClassifierMixin]) -> Learner:
    """Return a trial of a classifier of scikit-learn on the pooled rows."""

    def learn(data: Data, seed: int) -> Trial:  # noqa: ARG001 - nothing is drawn
        start, clock = time.process_time(), time.perf_counter()
        model = make().fit(data.X, data.y)
        return Trial(100 * model.score(data.Z, data.z), time.perf_counter() - clock, time.process_time() - start)

    return learn


def pan(*, parties: int = 5, by: int | None = None, **params: Any) -> Learner:
    """Return a trial of PanSVC over rows that are dealt at random, or by the value of one feature."""

    def learn(data: Data, seed: int) -> Trial:
        model, cpu, warned = fitted(data, parties=parties, by=by, seed=seed, **params)
        score = 100 * model.score(data.Z, data.z) if len(data.Z) else 0.0
        early = sum(issubclass(kind, ConvergenceWarning) for kind in warned)
        return Trial(
            score,
            model.report_.seconds,
            cpu,
            busiest(model),
            model.n_iter_,
            landmarks(model),
            early,
            len(warned) - early,
        )

    return learn


def fitted(
    data: Data, *, parties: int = 5, by: int | None = None, seed: int = 0, **params: Any
) -> tuple[tacit.PanSVC, float, list[type[Warning]]]:
    """Return the model, its CPU seconds, and the kinds of its warnings, which are counted instead of shown."""
    rows = federation(data, parties=parties, by=by, seed=seed)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = tacit.PanSVC(**params).fit(rows)
    return model, time.process_time() - start, [w.category for w in caught]


def federation(data: Data, *, parties: int, by: int | None, seed: int) -> tacit.Federation:
    """Return the rows to learn from, dealt at random or by the value of one feature."""
    how = {"split": "random"} if by is None else {"split": "range", "by": by}
    return tacit.Federation.simulate(data.X, data.y, parties=parties, seed=seed, **how)


def busiest(model: tacit.PanSVC) -> float:
    """Return the CPU seconds of the busiest party and the coordinator.

    The time it takes where everyone has a machine, but for the network.
    """
    cpu = model.report_.cpu
    return max(seconds for party, seconds in cpu.items() if party != "coordinator") + cpu["coordinator"]


def landmarks(model: tacit.PanSVC) -> int:
    """Return the number of landmarks, or of random features."""
    return len(model.model_.map.centres) or model.model_.map.size


def folds(data: Data, seed: int, number: int = 5) -> Iterator[Data]:
    """Return stratified folds, shuffled by the seed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # it is not in every fold then
        parts = list(StratifiedKFold(number, shuffle=True, random_state=seed).split(data.X, data.y))
    for train, test in parts:
        yield Data(data.X[train], data.y[train], data.X[test], data.y[test])


def cross_validated(learner: Learner, data: Data, seeds: int) -> list[Trial]:
    """Return the trials of five folds of every seed."""
    return [learner(part, seed) for seed in range(seeds) for part in folds(data, seed)]


def repeated(learner: Learner, data: Data, seeds: int) -> list[Trial]:
    """Return trials on the same rows, dealt to the parties by every seed."""
    return [learner(data, seed) for seed in range(seeds)]


def measured(title: str, cells: dict[Key, Callable[[], list[Trial]]]) -> Generator[Step, None, Results]:
    """Measure all cells of a table, one after the other."""
    found: Results = {}
    for done, (key, work) in enumerate(cells.items()):
        yield Step(f"{title}: {', '.join(key)}", done, len(cells))
        found[key] = work()
    return found


def percent(trials: Iterable[Trial]) -> float:
    """Return the mean accuracy in percent."""
    return float(np.mean([trial.percent for trial in trials]))


def early(what: str, *groups: list[Trial]) -> Figure:
    """Return how often problems ended with too large a gap, for want of a sum that min_count lets through."""
    counts = ", ".join(str(sum(t.early for t in trials)) for trials in groups)
    return Figure(f"{what}: fits of PAN that warned that they ended early", f"{counts} of {len(groups[0])}")
