"""Sums over groups of rows: what attacks find, what hold-back costs in accuracy and time, and over many jobs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step, Table, dataset

F64 = NDArray[np.float64]
LARGE = {  # 3,000 rows or more; which classes stand against the others, where there are more than two
    "splice": None,
    "dna": ("3",),
    "optdigits": tuple("02468"),
    "higgs": None,
    "letter": tuple(str(i) for i in range(1, 14)),
    "a9a": None,
    "cod-rna": None,
}
SMALL = (
    "heart",
    "liver-disorders",
    "ionosphere",
    "wdbc",
    "breast-cancer",
    "australian",
    "diabetes",
    "fourclass",
    "tic-tac-toe",
    "german",
)
MOST = 10_000  # records of a table
PARTIES, FOLDS = 4, 3
COUNTS: tuple[int | str, ...] = (1, 5, 10, 20, "auto")
BARS = {
    **{("linear", count): bar for count, bar in ((5, 1.1), (10, 1.1), ("auto", 1.5))},
    **{("Fourier", count): bar for count, bar in ((5, 0.3), (10, 0.3), ("auto", 1.5))},
    ("landmarks", "auto"): 1.5,
}


@dataclass(frozen=True)
class Task:
    """A table of two classes."""

    name: str
    X: F64
    y: NDArray[np.int64] | NDArray[np.str_]


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure accuracy by min_count beside the exact solver, many jobs on the same rows, and cost."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _prices(("splice",) if quick else tuple(LARGE), large=True, judged=not quick)
        yield from _prices(("wdbc",) if quick else SMALL, large=False, judged=False)
        yield from _several(("wdbc",) if quick else ("wdbc", "german", "splice", "optdigits"))
        yield from _classes(("vowel",) if quick else ("vowel", "dna", "optdigits", "letter"))
        yield from _many_jobs(20_000 if quick else 100_000, 10 if quick else 100)


def task(name: str) -> Task:
    """Return a dataset, standardised, with no more than `MOST` records."""
    found = dataset(name)
    rows = np.random.default_rng(0).permutation(len(found.X))[:MOST]
    X, y = np.nan_to_num(found.X[rows]), found.y[rows]
    positive = LARGE.get(name) or (np.unique(y)[-1],)
    return Task(name, StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), np.isin(y, positive).astype(np.int64))


def kinds(columns: int) -> dict[str, dict[str, object]]:
    """Return what is trained; landmarks with min_count=1 are as many as 0.1.0 took."""
    return {
        "linear": {"kernel": "linear", "C": 1.0},
        "Fourier": {"C": 10.0, "gamma": 1.0 / columns, "landmark_source": "fourier", "landmarks": 400},
        "landmarks": {"C": 10.0, "gamma": 1.0 / columns},
    }


def accuracy(given: Task, **params: object) -> tuple[float, tacit.PanSVC]:
    """Return the accuracy over the folds, and the last model."""
    scores = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(given.X, given.y):
        fed = tacit.Federation.simulate(given.X[train], given.y[train], parties=PARTIES, partition="horizontal", seed=0)
        model = tacit.PanSVC(accept_risk=True, random_state=0, **params).fit(fed)
        scores.append(model.score(given.X[test], given.y[test]))
    return 100.0 * float(np.mean(scores)), model


def _prices(names: tuple[str, ...], *, large: bool, judged: bool) -> Iterator[Figure | Step | Table]:
    """Return a table for each kind of map: a row for each dataset, a column for each min_count."""
    tasks = [task(name) for name in names]
    size = "3,000 records or more" if large else "fewer than 3,000 records"
    for kind in kinds(1):
        rows, lost = [], {count: [] for count in COUNTS[1:]}
        for i, given in enumerate(tasks):
            yield Step(f"{kind}: {given.name}", i, len(tasks))
            settings = kinds(given.X.shape[1])[kind]
            exact, _ = accuracy(
                given, min_count=1, **({**settings, "landmarks": 0.15} if kind == "landmarks" else settings)
            )
            cells = [f"{exact:.1f}"]
            for count in COUNTS[1:]:
                auto = {"landmarks": "auto"} if kind == "Fourier" and count == "auto" else {}
                try:
                    found, model = accuracy(given, min_count=count, **{**settings, **auto})
                except tacit.LocalError:
                    cells.append("too few")
                    continue
                lost[count].append(exact - found)
                least = next(iter(model.report_.figures.values())).split(",")[0]
                cells.append(
                    f"{found:.1f}" + (f" ({least} rows, {model.model_.map.size} features)" if count == "auto" else "")
                )
            rows.append((f"{given.name}, {given.X.shape[0]} x {given.X.shape[1]}", *cells))
        yield Table(
            f"{kind}, {size}, {PARTIES} parties: accuracy in % by min_count",
            ("dataset", *map(str, COUNTS)),
            tuple(rows),
        )
        for count, each in lost.items():
            bar = BARS.get((kind, count)) if large else None
            mean = float(np.mean(each)) if each else float("nan")
            told = f"{mean:.2f} points on {len(each)} of {len(tasks)} tables"
            asked = f"at most {bar}" if bar is not None and judged else ""
            yield Figure(
                f"{kind}, {size}: lost with min_count={count}, mean",
                told,
                asked,
                mean <= bar if asked and bar is not None else None,
            )


def _several(names: tuple[str, ...]) -> Iterator[Figure | Step]:
    """Measure a search, a selection and many classes, each with groups and beside the exact solver."""
    for i, name in enumerate(names):
        yield Step(f"searches and selections: {name}", i, len(names))
        given = task(name)
        half = len(given.X) // 2
        ways = (("search over C and gamma", _search), ("selection of half the columns, linear", _selection))
        for what, made in ways:
            scores = []
            for count in (1, 5, "auto"):
                fed = tacit.Federation.simulate(
                    given.X[:half], given.y[:half], parties=PARTIES, partition="horizontal", seed=0
                )
                try:
                    model = made(count, given.X.shape[1]).fit(fed)
                    scores.append(f"{100 * _judge(model, given, half):.1f}")
                except tacit.LocalError:
                    scores.append("too few")
            yield Figure(f"{name}, {what}: accuracy in % with min_count 1, 5, auto", ", ".join(scores))


def _classes(names: tuple[str, ...]) -> Iterator[Figure]:
    """Train many classes, one against the rest: all problems share the groups of one run."""
    for name in names:
        found = dataset(name)
        rows = np.random.default_rng(0).permutation(len(found.X))[:MOST]
        X, y = StandardScaler().fit_transform(found.X[rows] + 0.0), found.y[rows]
        scores = []
        for count in (1, 5, "auto"):
            settings = {
                "C": 10.0,
                "gamma": 1.0 / X.shape[1],
                "landmarks": 0.15 if count == 1 else "auto",
                "min_count": count,
            }
            try:
                scores.append(f"{accuracy(Task(name, X, y), **settings)[0]:.1f}")
            except tacit.LocalError:
                scores.append("too few")
        yield Figure(f"{name}, {len(np.unique(y))} classes: accuracy in % with min_count 1, 5, auto", ", ".join(scores))


def _search(count: int | str, columns: int) -> tacit.FederatedGridSearch:
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.3 / columns, 1.0 / columns]}
    return tacit.FederatedGridSearch(tacit.PanSVC(min_count=count, accept_risk=True, random_state=0), grid, cv=3)


def _selection(count: int | str, columns: int) -> tacit.VotedWrapperSelector:
    learner = tacit.PanSVC(kernel="linear", min_count=count, accept_risk=True)
    return tacit.VotedWrapperSelector(learner, n_features_to_select=max(1, columns // 2), step=0.25, cv=3)


def _judge(model: object, given: Task, half: int) -> float:
    """Return the accuracy on the other half; of a selection, that of a linear SVM on what it selects."""
    if hasattr(model, "score"):
        return float(model.score(given.X[half:], given.y[half:]))
    kept = model.get_support()
    fed = tacit.Federation.simulate(
        given.X[:half, kept], given.y[:half], parties=PARTIES, partition="horizontal", seed=0
    )
    return float(tacit.PanSVC(kernel="linear").fit(fed).score(given.X[half:, kept], given.y[half:]))


def _many_jobs(rows: int, jobs: int) -> Iterator[Figure | Step]:
    """Measure a fit after many others on the same rows, and what groups and masks cost beside pooled rows."""
    X, y = make_classification(rows, 28, n_informative=12, flip_y=0.1, random_state=0)
    setting = {"landmark_source": "fourier", "landmarks": 200, "gamma": 0.02, "dtype": "float32", "random_state": 0}
    fed = tacit.Federation.simulate(X, y, parties=5, partition="horizontal", seed=0)
    taken = []
    for i in range(jobs + 1):
        yield Step("jobs on the same rows", i, jobs + 1)
        taken.append(_cpu(fed, C=1.0 + 0.002 * i, **setting))
    fresh = min(_cpu(fed.forget(), C=1.0, **setting) for _ in range(3))
    told = f"{taken[-1] / fresh:.2f} ({taken[-1]:.1f} s, {fresh:.1f} s)"
    yield Figure(f"CPU of a fit on {rows} rows after {jobs} jobs, over one after none", told,
                 "at most 1.1", taken[-1] <= 1.1 * fresh)  # fmt: skip
    pooled = tacit.Federation.simulate(X, y, parties=1, partition="horizontal", seed=0)
    exact = min(_cpu(pooled.forget(), C=1.0, min_count=1, accept_risk=True, **setting) for _ in range(3))
    what = f"CPU of five parties with masks and groups, over pooled data without either ({rows} rows)"
    yield Figure(what, f"{fresh / exact:.2f}", "at most 1.2", fresh <= 1.2 * exact)


def _cpu(fed: tacit.Federation, **params: object) -> float:
    start = time.process_time()
    tacit.PanSVC(**params).fit(fed)
    return time.process_time() - start
