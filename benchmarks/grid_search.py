"""Parameters found across parties.

A 5 x 5 grid of C and gamma over 5 folds, beside the same search on pooled records.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step, Table, dataset
from paper004 import SINGLE
from tacit.numeric.features.feature_map import basis_of, nystroem
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.pool import STEPS, add_cut, cut_step, first_planes, minimise, move_along
from tacit.protocols.planes.rows import Rows, class_sums, margins, origin, sums_of

PARTIES, FOLDS, SEEDS, TOL = 4, 5, 5, 1e-4
GRID = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [2.0**-9, 2.0**-7, 2.0**-5, 2.0**-3, 2.0**-1]}
POINTS = [{"C": C, "gamma": gamma} for C, gamma in product(GRID["C"], GRID["gamma"])]
MESSAGES = 4  # rounds of messages of a round of cutting planes: two sums, two announcements


@dataclass(frozen=True)
class Pooled:
    """A search on pooled records: mean score of every point, CPU seconds, rounds of cutting planes."""

    scores: np.ndarray
    seconds: float
    rounds: int = 0

    @property
    def best(self) -> dict[str, float]:
        """The first of the best points."""
        return POINTS[int(np.argmax(self.scores))]


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Search on wdbc, scaled to [-1, 1], between four parties."""
    data = dataset("wdbc")
    X, y = MinMaxScaler((-1, 1)).fit_transform(data.X), data.y
    with threadpool_limits(1):
        yield from _gram(X, y)
        yield from _pan(X, y, 1 if quick else SEEDS)


def _pan(X: np.ndarray, y: np.ndarray, seeds: int) -> Iterator[Figure | Step | Table]:
    found = []
    for seed in range(seeds):
        yield Step("PanSVC, splits", seed, seeds)
        search, seconds = _search(
            tacit.PanSVC(tol=TOL, random_state=seed, landmarks=0.15, **SINGLE), X, y, seed, "horizontal"
        )
        tables = _map_records(X, search.best_estimator_.model_.map.centres)
        found.append((search, seconds, _same_solver(tables, y, search.folds_), _libsvm(tables, y, search.folds_)))
    yield _table(found[0][0], found[0][3])
    same = [search.best_params_ == exact.best for search, _, _, exact in found]
    times = np.median(
        [
            [seconds, own.seconds, exact.seconds, _time_svc(X, y, search.folds_)]
            for search, seconds, own, exact in found
        ],
        axis=0,
    )
    rounds = [search.report_.rounds / (MESSAGES * own.rounds) for search, _, own, _ in found]
    early = [np.count_nonzero(search.cv_results_["ended_early"]) for search, _, _, _ in found]
    bytes_ = np.median([search.report_.bytes for search, _, _, _ in found]) / 1e6
    yield Figure(
        "PanSVC: same best parameters as pooled LIBSVM on the same folds and map",
        f"{sum(same)} of {seeds} splits",
        "all",
        all(same),
    )
    yield _ratio("PanSVC: CPU seconds, of a pooled loop with the same solver", times[0], times[1], 1.3, "1.9 to 2.3")
    yield _ratio("PanSVC: CPU seconds, of GridSearchCV(SVC()) on the records", times[0], times[3], 4.0, "9")
    yield Figure(
        "PanSVC: rounds, of those of 125 fits one by one",
        f"{100 * max(rounds):.1f} %",
        "at most 10 %",
        max(rounds) <= 0.1,
    )
    yield Figure("PanSVC: CPU seconds of GridSearchCV with LIBSVM on the mapped records", f"{times[2]:.1f}")
    yield Figure("PanSVC: rounds of messages, MB sent by all", f"{found[0][0].report_.rounds}, {bytes_:.0f}")
    yield Figure(
        "PanSVC: candidates with a fold that ended before tol, by split",
        f"{', '.join(map(str, early))} of {len(POINTS)}",
    )
    grouped = _search(tacit.PanSVC(tol=TOL, random_state=0), X, y, 0, "horizontal")[0]
    exact = {(p["C"], p["gamma"]): score for p, score in zip(POINTS, found[0][3].scores, strict=True)}
    best = exact[grouped.best_params_["C"], grouped.best_params_["gamma"]]
    told = f"{grouped.best_params_}, for which pooled LIBSVM has {best:.2%}, at most {max(exact.values()):.2%}"
    yield Figure("PanSVC with all defaults, that is groups of rows: best parameters", told)


def _gram(X: np.ndarray, y: np.ndarray) -> Iterator[Figure]:
    search, seconds = _search(tacit.GramSVC(), X, y, 0, "vertical")
    start, scores = time.process_time(), {}
    for gamma in GRID["gamma"]:
        scores |= _grid_search(SVC(kernel="precomputed"), rbf_kernel(X, gamma=gamma), y, search.folds_, gamma)
    exact = Pooled(np.array([scores[p["C"], p["gamma"]] for p in POINTS]), time.process_time() - start)
    off = np.abs(exact.scores - search.cv_results_["mean_test_score"]).max()
    same = search.best_params_ == exact.best and off <= 1e-12
    yield Figure(
        "GramSVC: same best parameters, largest difference of a score",
        f"{search.best_params_ == exact.best}, {off:.1g}",
        "same, 0",
        same,
    )
    met = seconds <= 2 * exact.seconds
    yield Figure(
        "GramSVC: CPU seconds, of GridSearchCV on the kernels",
        f"{seconds:.1f}, {exact.seconds:.1f}",
        "at most 2 times",
        met,
    )
    yield Figure("GramSVC: rounds of messages", f"{search.report_.rounds}")


def _search(
    model: Any, X: np.ndarray, y: np.ndarray, seed: int, partition: Any
) -> tuple[tacit.FederatedGridSearch, float]:
    """Return the search over all points, and its CPU seconds, of all parties together."""
    rows = tacit.Federation.simulate(X, y, parties=PARTIES, partition=partition, seed=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # folds that ended early are counted instead
        search = tacit.FederatedGridSearch(model, GRID, cv=FOLDS).fit(rows)
    return search, time.process_time() - start


def _map_records(X: np.ndarray, centres: np.ndarray) -> dict[float, np.ndarray]:
    """Return the records under the map of every gamma."""
    kernels = {gamma: Kernel("rbf", gamma) for gamma in GRID["gamma"]}
    return {
        gamma: nystroem(X, centres, basis_of(centres, kernel), kernel, "float64") for gamma, kernel in kernels.items()
    }


def _libsvm(tables: dict[float, np.ndarray], y: np.ndarray, fold: np.ndarray) -> Pooled:
    """Run GridSearchCV on the mapped records."""
    start, scores = time.process_time(), {}
    for gamma, F in tables.items():
        scores |= _grid_search(SVC(kernel="linear"), F, y, fold, gamma)
    return Pooled(np.array([scores[p["C"], p["gamma"]] for p in POINTS]), time.process_time() - start)


def _grid_search(
    svc: SVC, F: np.ndarray, y: np.ndarray, fold: np.ndarray, gamma: float
) -> dict[tuple[float, float], float]:
    found = GridSearchCV(svc, {"C": GRID["C"]}, cv=PredefinedSplit(fold), refit=False).fit(F, y).cv_results_
    return {(C, gamma): score for C, score in zip(GRID["C"], found["mean_test_score"], strict=True)}


def _time_svc(X: np.ndarray, y: np.ndarray, fold: np.ndarray) -> float:
    """Return the CPU seconds of the search that one has who holds all records, its last model included."""
    start = time.process_time()
    GridSearchCV(SVC(), GRID, cv=PredefinedSplit(fold)).fit(X, y)
    return time.process_time() - start


def _ratio(name: str, mine: float, theirs: float, most: float, before: str) -> Figure:
    told, asked = f"{mine:.2f}, {theirs:.2f}, {mine / theirs:.2f} times", f"at most {most:g} times"
    return Figure(name, told, asked, bool(mine <= most * theirs), before=f"{before} times")


def _same_solver(tables: dict[float, np.ndarray], y: np.ndarray, fold: np.ndarray) -> Pooled:
    """Fit point after point by cutting planes in one place: no masks, no hold-back, nothing shared but the map."""
    start, sign, rounds, scores = time.process_time(), np.where(y == np.unique(y)[1], 1, -1), 0, []
    for point in POINTS:
        F, right = tables[point["gamma"]], []
        for q in range(FOLDS):
            w, b, took = _fit(F, np.where(fold == q, 0, sign), point["C"])
            right.append(np.mean(np.where(F[fold == q] @ w + b > 0, 1, -1) == sign[fold == q]))
            rounds += took
        scores.append(np.mean(right))
    return Pooled(np.array(scores), time.process_time() - start, rounds)


def _fit(F: np.ndarray, signs: np.ndarray, C: float) -> tuple[np.ndarray, float, int]:
    use, problem = signs != 0, np.zeros(1, dtype=np.int64)
    rows = Rows(F[use], signs[use, None].astype(np.int8), np.ones(int(use.sum())))
    pool, margin, rounds = minimise(first_planes(class_sums(rows), (C,), exact=True)), origin(rows, 1)[:, 0], 0
    while not pool.done:
        rounds += 1
        ahead = margins(rows, problem, pool.minimum[None, :-1], pool.minimum[-1:])[:, 0]
        losses = np.array([np.maximum(0.0, 1.0 - margin - k * (ahead - margin)).sum() for k in STEPS])
        pool, best = move_along(pool, losses, TOL, 500)
        cut = margin + cut_step(best) * (ahead - margin) < 1.0
        pool = minimise(add_cut(pool, sums_of(rows, problem, cut[:, None])[0]))
        margin = margin + STEPS[best] * (ahead - margin)
    return pool.w_at[0], float(pool.figures[0, 0]), rounds


def _table(search: tacit.FederatedGridSearch, exact: Pooled) -> Table:
    """Return the accuracy of every point, together and pooled."""
    own = dict(
        zip(
            ((p["C"], p["gamma"]) for p in search.cv_results_["params"]),
            search.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    pooled = {(p["C"], p["gamma"]): score for p, score in zip(POINTS, exact.scores, strict=True)}
    cells = [[f"{100 * own[C, g]:.2f} {100 * pooled[C, g]:.2f}" for C in GRID["C"]] for g in GRID["gamma"]]
    rows = tuple((f"2^{np.log2(g):.0f}", *row) for g, row in zip(GRID["gamma"], cells, strict=True))
    return Table(
        "Accuracy over the folds, together and by pooled LIBSVM: gamma by C, split 0",
        ("gamma", *(f"{C:g}" for C in GRID["C"])),
        rows,
    )
