"""ShiftSVC beside scikit-learn on three datasets, 2 to 10 entities, as in paper 002, Tables 2 to 4.

What known records open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Data, Figure, Step, Table, dataset
from tacit.papers.shift import ShiftSVC
from tacit.papers.shift.attacks.column_minimum import shift_column_minimum
from tacit.papers.shift.attacks.ica import ica
from tacit.papers.shift.attacks.one_record import shift_one_record

NAMES = ("wdbc", "ionosphere", "australian")  # each has ten columns or more
SPLITS = ("horizontal", "vertical")
SETTING: dict[str, Any] = {"kernel": "rbf", "C": 1.0, "tol": 1e-6}


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure that it equals the centralised SVM, beats one entity alone, and costs no more when hardened."""
    entities = (2, 6, 10) if quick else tuple(range(2, 11))
    with threadpool_limits(1):  # every party has one core of its own
        yield from _tables({name: _halves(name) for name in NAMES}, entities)
        yield from _price(_halves("wdbc"), (2, 5, 10), repeats=7 if quick else 15)
        yield _attacks()


def _halves(name: str) -> Data:
    """Return two thirds to train on and one third to judge by, standardised."""
    data = dataset(name)
    X, Z, y, z = train_test_split(data.X, data.y, test_size=1 / 3, random_state=0, stratify=data.y)
    scaler = StandardScaler().fit(X)
    return Data(scaler.transform(X), y, scaler.transform(Z), z)


def _tables(sets: dict[str, Data], entities: tuple[int, ...]) -> Iterator[Figure | Step | Table]:
    rows: dict[str, list[tuple[str, ...]]] = {"centralised": [], **{split: [] for split in SPLITS}}
    differ = 0
    for done, (name, data) in enumerate(sets.items()):
        yield Step("Tables 2 to 4", done, len(sets))
        gamma = 1.0 / float(data.X.var(axis=0).sum())
        central = SVC(gamma=gamma, **SETTING).fit(data.X, data.y).predict(data.Z)
        for q in entities:
            accuracy = [f"{np.mean(central == data.z):.2%}"]
            for split in SPLITS:
                found, alone, wrong = _one(data, q, split, gamma, central)
                differ += wrong
                accuracy.append(f"{found:.2%}")
                rows[split].append((name, str(q), f"{found:.2%}", f"{alone:.2%}"))
            rows["centralised"].append((name, str(q), *accuracy))
    told = ("dataset", "entities", "centralised", "rows", "columns")
    yield Table("Table 2: accuracy on records held out", told, tuple(rows["centralised"]))
    alone_too = ("dataset", "entities", "together", "one entity alone")
    yield Table("Table 3: horizontal; alone is the mean over the entities", alone_too, tuple(rows["horizontal"]))
    yield Table("Table 4: vertical; alone is the mean over the entities", alone_too, tuple(rows["vertical"]))
    cases = f"{len(rows['centralised']) * len(SPLITS)} cases, plain and secret"
    yield Figure(
        f"records labelled other than by the centralised SVM, {cases}",
        str(differ),
        "0",
        differ == 0,
        paper="the same accuracy (Table 2)",
    )
    for number, split in zip((3, 4), SPLITS, strict=True):
        better = sum(float(together[:-1]) > float(alone[:-1]) for *_, together, alone in rows[split])
        yield Figure(
            f"{split}: cases in which one entity alone is worse",
            f"{better} of {len(rows[split])}",
            paper=f"in most cases (Table {number})",
        )


def _one(data: Data, q: int, split: str, gamma: float, central: Any) -> tuple[float, float, int]:
    fed = tacit.Federation.simulate(data.X, data.y, parties=q, partition=split, seed=q)
    wrong, found = 0, central
    for shift, rotation in (("plain", False), ("secret", True)):
        model = ShiftSVC(partition=split, shift=shift, rotation=rotation, gamma=gamma, accept_risk=True, **SETTING).fit(
            fed
        )
        found = model.predict(data.Z)
        wrong += int(np.sum(found != central))
    alone = [_alone(data, fed.rows[p], fed.columns[p]) for p in fed.parts]
    return float(np.mean(found == data.z)), float(np.nanmean(alone)), wrong


def _alone(data: Data, rows: Any, columns: Any) -> float:
    """Train an SVM on what one entity holds."""
    X, y = data.X[np.ix_(rows, columns)], data.y[rows]
    if len(np.unique(y)) < 2:
        return float(np.mean(data.z == y[0]))
    return float(np.mean(SVC(gamma="scale", **SETTING).fit(X, y).predict(data.Z[:, columns]) == data.z))


def _price(data: Data, entities: tuple[int, ...], repeats: int) -> Iterator[Figure]:
    """Measure CPU time of all parties together: on a shared machine the clock measures its other users."""
    worst = 0.0
    for split in SPLITS:
        for q in entities:
            each = [[_seconds(data, q, split, shift) for shift in ("plain", "secret")] for _ in range(repeats)]
            plain, hard = (median(column) for column in zip(*each, strict=True))
            worst = max(worst, hard / plain)
            yield Figure(
                f"CPU to train and predict, {split}, {q} entities: plain, secret",
                f"{plain * 1e3:.0f}, {hard * 1e3:.0f} ms",
            )
    yield Figure("secret over plain, the dearest of these", f"{worst:.2f}", "at most 1.5", worst <= 1.5)


def _seconds(data: Data, q: int, split: str, shift: str) -> float:
    fed = tacit.Federation.simulate(data.X, data.y, parties=q, partition=split, seed=q)
    model = ShiftSVC(partition=split, shift=shift, accept_risk=True, **SETTING)
    start = time.process_time()
    model.fit(fed).predict(data.Z)
    return time.process_time() - start


def _attacks() -> Table:
    """Measure what the coordinator of wdbc's rows, scaled to [0, 1], could do."""
    data = dataset("wdbc")
    X = MinMaxScaler().fit_transform(data.X)
    rng, d = np.random.default_rng(0), X.shape[1]
    drawn = rng.exponential(size=(2000, d))
    rows = []
    for shift, rotation in (("plain", False), ("secret", False), ("secret", True)):
        model = ShiftSVC(shift=shift, rotation=rotation, accept_risk=True, **SETTING).fit(X, data.y).model_
        kept = list(model.shifts.values())
        r = sum(s.r for s in kept) if shift == "plain" else kept[0].r
        turn = np.eye(d) if kept[0].turn is None else kept[0].turn
        moved = X @ turn + r
        errors = [
            shift_one_record(moved, X, np.array([0])).error,
            shift_one_record(moved, X, np.arange(d + 1), rotated=rotation).error,
            shift_column_minimum(moved, X).error,
            ica(moved, X).error,
            ica(drawn @ turn + r, drawn).error,
        ]
        rows.append((f"{shift}{', rotation' * rotation}", *(f"{error:.0e}" for error in errors)))
    heads = (
        "relative error of all records",
        "one known",
        f"{d + 1} known",
        "minima known",
        "none (ICA)",
        "none (ICA), columns drawn independently",
    )
    return Table("Attacks on wdbc by rows; 1 is a guess of the mean", heads, tuple(rows))
