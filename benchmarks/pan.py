"""The tables of paper 004 with tacit.papers.pan, beside the core's SVC and LIBSVM: accuracy, seconds, selection.

Settings are the paper's: C and gamma of Tables 3.1, 4.1 and 5.1, columns scaled to [-1, 1] by all rows (the honest form
of a selection: by the training rows), five parties. The core's SVC is at its defaults.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean, stdev
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Data, Figure, Step, Table
from paper004 import (
    ADULT,
    ADULT_SECONDS,
    DISTRIBUTIONS,
    DNA,
    FOURCLASS,
    LEUKEMIA_3,
    LUNG,
    PAN_SECONDS,
    SELECTION,
    SMALL,
    TRADITIONAL,
    VOWEL,
    Task,
)
from tacit.papers.pan import FilterWrapperSelector, PanSVC, VotedWrapperSelector
from trial import Key, Learner, Results, Trial, across, central, cross_validated, measured, percent, repeated

OURS, LIBSVM = "core's SVC", "LIBSVM"
SHARES = {"PAN 15 %": 0.15, "PAN 25 %": 0.25}
SOURCES, SPLITS = (5, 10, 20), {"random": None, "by feature": 0}


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure accuracy (Tables 3.2, 3.3, 4.1), seconds (3.4 to 3.6) and selection, in the honest form."""
    seeds = 1 if quick else 3
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, and of parties with fewer landmarks than asked for
        yield from _small(SMALL[4:5] if quick else SMALL, seeds)
        yield from _fourclass(seeds)
        yield from _classes((LUNG,) if quick else (LEUKEMIA_3, LUNG, VOWEL, DNA))
        yield from _seconds((FOURCLASS, SMALL[2])[: 1 if quick else 2], repeats=2 if quick else 10)
        yield from _adult(rows=2000 if quick else None)
        yield from _selection(("DIA",) if quick else tuple(SELECTION), folds=2 if quick else 5)


def _pan(task: Task, share: float, **more: Any) -> Callable[[], PanSVC]:
    return lambda: PanSVC(landmarks=share, **task.svm, **more)


def _core(_: Task) -> Callable[[], tacit.SVC]:
    return tacit.SVC


def _spread(trials: list[Trial]) -> str:
    """Return the mean accuracy, and the standard deviation over folds and seeds."""
    return f"{percent(trials):.2f} ({stdev(t.percent for t in trials):.1f})"


def _small(tasks: tuple[Task, ...], seeds: int) -> Iterator[Figure | Step | Table]:
    def methods(task: Task) -> dict[str, Learner]:
        return {
            LIBSVM: central(lambda: SVC(**task.svm)),
            **{name: across(_pan(task, share)) for name, share in SHARES.items()},
            OURS: across(_core(task)),
        }

    found = yield from measured("Table 3.2", {
        (task.name, name): partial(cross_validated, learner, task.load(), seeds)
        for task in tasks for name, learner in methods(task).items()
    })  # fmt: skip
    names, printed = list(methods(tasks[0])), ("paper's LIBSVM", "paper's PAN 15 %", "paper's PAN 25 %")
    rows = [
        (task.name, *(_spread(found[task.name, name]) for name in names), *(f"{v:.2f}" for v in TRADITIONAL[task.name]))
        for task in tasks
    ]
    ours = (f"{np.mean([percent(found[task.name, name]) for task in tasks]):.2f}" for name in names)
    theirs = (f"{value:.2f}" for value in np.mean([TRADITIONAL[task.name] for task in tasks], axis=0))
    title = f"Table 3.2: accuracy in % (standard deviation), five folds, fold seeds: {seeds}, five parties"
    yield Table(title, ("", *names, *printed), (*rows, ("mean", *ours, *theirs)), printed)


def _fourclass(seeds: int) -> Iterator[Figure | Step | Table]:
    raw, makes = FOURCLASS.load(), {"PAN 35 %": _pan(FOURCLASS, 0.35), OURS: _core(FOURCLASS)}
    cells: dict[Key, Any] = {
        (name, split): partial(cross_validated, across(make, parties=3, by=by), raw, seeds)
        for name, make in makes.items()
        for split, by in SPLITS.items()
    }
    found = yield from measured("Table 3.3", cells)
    theirs = tuple(f"paper's, {split}" for split in SPLITS)
    rows = [
        (name, *(_spread(found[name, split]) for split in SPLITS),
         *(f"{DISTRIBUTIONS[split][1]:.2f}" if name != OURS else "" for split in SPLITS))
        for name in makes
    ]  # fmt: skip
    for k, name in ((0, "SVM-Ensemble, the paper's"), (2, "SVM-ADMM, the paper's")):
        rows.append((name, "", "", *(f"{DISTRIBUTIONS[split][k]:.2f}" for split in SPLITS)))
    title = f"Table 3.3: accuracy in % on fourclass, raw values, five folds, fold seeds: {seeds}, three parties"
    yield Table(title, ("", *SPLITS, *theirs), tuple(rows), theirs)


def _classes(tasks: tuple[Task, ...]) -> Iterator[Figure | Step | Table]:
    def methods(task: Task) -> dict[str, Learner]:
        return {
            LIBSVM: central(lambda: OneVsRestClassifier(SVC(**task.svm))),
            "PAN 15 %": across(_pan(task, 0.15, multi_class="ovr")),
            "PAN 60 %": across(_pan(task, 0.6, multi_class="ovr")),
            OURS: across(_core(task)),
        }

    found = yield from measured("Table 4.1", {
        (task.name, name): partial(cross_validated, learner, task.load(), 1)
        for task in tasks for name, learner in methods(task).items()
    })  # fmt: skip
    names = list(methods(tasks[0]))
    rows = tuple((task.name, *(_spread(found[task.name, name]) for name in names)) for task in tasks)
    yield Table("Fig. 4.5: accuracy in % on sets of Table 4.1, each class against the rest, five folds, five parties",
                ("", *names), rows)  # fmt: skip


def _seconds(tasks: tuple[Task, ...], repeats: int) -> Iterator[Figure | Step | Table]:
    makes: dict[str, Callable[[Task], Callable[[], Any]]] = {
        "PAN, all parties on this machine": lambda task: _pan(task, 0.15),
        f"{OURS}, the same": _core,
    }
    found = yield from measured("Tables 3.4, 3.5", {
        (task.name, name, str(n)): partial(repeated, across(make(task), parties=n), task.load(), repeats)
        for task in tasks for name, make in makes.items() for n in SOURCES
    })  # fmt: skip
    for number, task in zip(("3.4", "3.5"), tasks, strict=False):
        rows = [(name, *(_time(found, task, name, n) for n in SOURCES)) for name in makes]
        rows.append(("the paper's PAN-SVM", *PAN_SECONDS[task.name, "same"]))
        title = f"Table {number}: seconds to train on {task.name}, mean (standard deviation) of {repeats}"
        yield Table(title, ("", *(f"{n} sources" for n in SOURCES)), tuple(rows), ("the paper's PAN-SVM",))


def _time(found: Results, task: Task, name: str, sources: int) -> str:
    each = [trial.seconds for trial in found[task.name, name, str(sources)]]
    return f"{mean(each):.3f} ({stdev(each):.3f})"


def _adult(rows: int | None) -> Iterator[Figure | Step | Table]:
    data = ADULT.load().sample(rows)
    yield Step("Table 3.6: Adult", 0, 2)
    pan = across(lambda: PanSVC(**ADULT.svm))(data, 0)
    yield Step("Table 3.6: Adult", 1, 2)
    core = across(_core(ADULT))(data, 0)
    heads = tuple(f"paper's {name}" for name in ADULT_SECONDS)
    cells = (f"Adult, {len(data.X)} rows", f"{pan.seconds:.1f}", f"{core.seconds:.1f}",
             *(f"{seconds:g}" for seconds in ADULT_SECONDS.values()))  # fmt: skip
    yield Table("Table 3.6: seconds to train on Adult, five parties on this machine (the paper: 32561 rows)",
                ("", "PAN, landmarks='auto'", OURS, *heads), (cells,), heads)  # fmt: skip


# Chapters 5 and 6: the subset is chosen inside the training rows, and tested once


def _selection(names: tuple[str, ...], folds: int) -> Iterator[Figure | Step | Table]:
    selectors = {"PPFSVW": VotedWrapperSelector, "PPFSIFW": FilterWrapperSelector}
    rows, done = [], 0
    for name in names:
        task, told = SELECTION[name], []
        for kind in selectors.values():
            yield Step(f"selection: {name}", done, len(names) * len(selectors))
            told.append(_select(kind, task, folds))
            done += 1
        (whole, voted, first), (_, filtered, second) = told
        core = percent([across(_core(task), parties=3)(fold, 0) for fold in _folds(task, folds)])
        rows.append((name, f"{whole:.2f}", f"{voted:.2f} ({first:.0f})", f"{filtered:.2f} ({second:.0f})",
                     f"{core:.2f}"))  # fmt: skip
    title = f"Honest form: accuracy in % (features kept), {folds} folds, three parties, selectors at their defaults"
    yield Table(title, ("", "PAN, all features", *selectors, f"{OURS}, all features"), tuple(rows))


def _select(kind: Any, task: Task, folds: int) -> tuple[float, float, float]:
    """Return the accuracy with all features and with the chosen ones, and how many these are, as means over folds."""
    told = []
    for fold in _folds(task, folds):
        rows = tacit.Federation.simulate(fold.X, fold.y, parties=3, seed=0)
        make = _pan(task, 0.25, random_state=0, verbose=False)
        whole = make().fit(rows).score(fold.Z, fold.z)
        chosen = kind(make(), verbose=False).fit(rows)
        fitted = make().fit(chosen.transform(rows))
        told.append((100 * whole, 100 * fitted.score(chosen.transform(fold.Z), fold.z), chosen.get_support().sum()))
    return tuple(np.mean(told, axis=0))


def _folds(task: Task, folds: int) -> Iterator[Data]:
    data = task.raw()
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(data.X, data.y):
        scaler = MinMaxScaler((-1, 1)).fit(data.X[train])
        yield Data(scaler.transform(data.X[train]), data.y[train], scaler.transform(data.X[test]), data.y[test])
