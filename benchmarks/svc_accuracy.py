"""SVC() with all defaults: accuracy beside pooled SVC() and lone sites, over rows, columns and cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import tacit
from defaults import BY_ROWS
from figures import Data, Figure, Step, Table, dataset
from svc import at_most, fit, pooled, score, score_exactly, standardise
from trial import Results, Trial, folds, measured, percent

SETS = (*BY_ROWS, "breast-cancer", "tic-tac-toe", "higgs", "cod-rna", "letter")
QUICK_SETS = ("heart", "wdbc", "vowel")
MOST_ROWS, FOLDS, SEED = 4000, 5, 0
POOLED, LONE, ROWS, COLUMNS, CELLS = "SVC", "lone site, mean", "rows", "columns", "cells"
SPLITS = {ROWS: ("horizontal", 4), COLUMNS: ("vertical", 3), CELLS: ("arbitrary", 3)}
BARS = {ROWS: (0.3, 2.0), COLUMNS: (0.7, 3.0), CELLS: (0.7, 3.0)}  # points below SVC: mean, and on one set


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure accuracy on held-out records."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a fold or a site has few rows is what is measured
        yield from _accuracy(QUICK_SETS if quick else SETS, 1 if quick else FOLDS)


def _accuracy(names: tuple[str, ...], number: int) -> Iterator[Figure | Step | Table]:
    data = {name: dataset(name).sample(MOST_ROWS) for name in names}
    ways: dict[str, Callable[[Data], float]] = {POOLED: pooled, LONE: _lone}
    ways |= {way: partial(_in_shares, partition=split, parties=parties) for way, (split, parties) in SPLITS.items()}
    found = yield from measured("SVC", {
        (name, way): partial(_trials, data[name], learn, number) for name in names for way, learn in ways.items()
    })  # fmt: skip
    rows = tuple(
        (
            name,
            _shape(data[name]),
            str(len(np.unique(data[name].y))),
            *(f"{percent(found[name, way]):.1f}" for way in ways),
        )
        for name in names
    )
    title = (
        f"Accuracy in % of SVC() with all defaults, {number} of {FOLDS} folds, at most {MOST_ROWS} rows; four parties"
        " by rows, three by columns and cells (two where there are two columns); columns standardised"
    )
    yield Table(title, ("dataset", "rows x columns", "classes", *ways), rows)
    judged = names == SETS
    for way, (mean, worst) in BARS.items():
        lost = {name: percent(found[name, POOLED]) - percent(found[name, way]) for name in names}
        name, average = max(lost, key=lambda each: lost[each]), float(np.mean([*lost.values()]))
        yield at_most(f"SVC() by {way}: points below pooled SVC(), mean", average, mean, "{:.2f}", judged=judged)
        told = f"{{:.1f}} ({name})"
        yield at_most(f"SVC() by {way}: points below pooled SVC(), most", lost[name], worst, told, judged=judged)
    rounded = np.mean([_trials(each, _round_off, 1)[0].percent for each in data.values()])
    name = f"SVC() by {ROWS}: points that shares, rounding and noise cost, mean of a fold of each set"
    yield Figure(name, f"{rounded:.2f}")
    yield from _beside_sites(found, names, judged=judged)


def _beside_sites(found: Results, names: Iterable[str], *, judged: bool) -> Iterator[Figure]:
    more = {name: percent(found[name, ROWS]) - percent(found[name, LONE]) for name in names}
    behind = sum(points <= 0 for points in more.values())
    told = f"{len(more) - behind} of {len(more)}, {min(more.values()):.1f} points at least"
    asked = "all" if judged else ""
    name = f"SVC() by {ROWS}: sets on which it is above the mean lone site"
    yield Figure(name, told, asked, not behind if judged else None)


def _shape(data: Data) -> str:
    return f"{data.X.shape[0]} x {data.X.shape[1]}"


def _trials(data: Data, learn: Callable[[Data], float], number: int) -> list[Trial]:
    return [Trial(learn(standardise(fold))) for fold, _ in zip(folds(data, SEED, FOLDS), range(number), strict=False)]


def _lone(data: Data) -> float:
    """Return how SVC does on the rows of one party, on average over the parties."""
    parties = tacit.Federation.simulate(data.X, data.y, parties=SPLITS[ROWS][1], seed=SEED).parts.values()
    return float(np.mean([_alone(part.X, part.y, data) for part in parties]))


def _alone(X: np.ndarray, y: np.ndarray, data: Data) -> float:
    several = len(np.unique(y)) > 1
    return 100 * float(np.mean((SVC().fit(X, y).predict(data.Z) if several else y[0]) == data.z))


def _in_shares(data: Data, *, partition: str, parties: int) -> float:
    model = tacit.SVC(partition=partition, random_state=SEED, verbose=False)
    owners = parties if partition == "horizontal" else min(parties, data.X.shape[1])
    fit(model, data.X, data.y, owners)
    return score(model, data.Z, data.z)


def _round_off(data: Data) -> float:
    """Return how many points the machine loses beside weights of double precision on the same map, with its alpha."""
    model = tacit.SVC(partition="horizontal", random_state=SEED, verbose=False)
    fit(model, data.X, data.y, SPLITS[ROWS][1])
    return score_exactly(model, data) - score(model, data.Z, data.z)
