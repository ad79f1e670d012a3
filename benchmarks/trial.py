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
from sklearn.model_selection import StratifiedKFold

import tacit
from figures import Data, Step


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Attributes:
        percent: accuracy on the rows to be judged by.
        seconds: wall clock, with all parties on this machine.
        cpu: CPU seconds of all of them.
        rounds: of messages.
        warned: how many warnings there were.
    """

    percent: float
    seconds: float = 0.0
    cpu: float = 0.0
    rounds: int = 0
    warned: int = 0


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


def across(make: Callable[[], Any], *, parties: int = 5, by: int | None = None) -> Learner:
    """Return a trial of a classifier of ours over rows that are dealt at random, or by the value of one feature."""

    def learn(data: Data, seed: int) -> Trial:
        rows, start = federation(data, parties=parties, by=by, seed=seed), time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = make().set_params(random_state=seed, verbose=False).fit(rows)
        cpu, score = time.process_time() - start, 100 * model.score(data.Z, data.z) if len(data.Z) else 0.0
        return Trial(score, model.report_.seconds, cpu, model.report_.rounds, len(caught))

    return learn


def federation(data: Data, *, parties: int, by: int | None, seed: int) -> tacit.Federation:
    """Return the rows to learn from, dealt at random or by the value of one feature."""
    how = {"split": "random"} if by is None else {"split": "range", "by": by}
    return tacit.Federation.simulate(data.X, data.y, parties=parties, seed=seed, **how)


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
