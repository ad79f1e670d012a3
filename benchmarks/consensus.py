"""Consensus SVM of paper 000: accuracy beside the pooled SVM and the core's, rounds, and what more parties cost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Data, Figure, Step, Table, dataset
from tacit.papers.consensus import ConsensusSVC

C, PARTIES, RHO = 50.0, 4, 100.0  # section VI
SETS = ("wdbc", "breast-cancer", "digits 3v8", "digits even/odd", "higgs")
PAPER = {"wdbc": "95", "breast-cancer": "95", "digits 3v8": "98", "digits even/odd": "98", "higgs": "70"}
SPLITS, ROWS = 5, 1000
AS_PAPER: dict[str, Any] = {"rho": RHO, "over_relaxation": 1.0}
COLUMNS: dict[str, Any] = {"partition": "vertical"}
AFTER = (1, 2, 5, 10, 20, 50, 100)  # rounds
F64 = NDArray[np.float64]


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure what section VI does, and what the corrected method does."""
    splits = 1 if quick else SPLITS
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs that are cut short
        yield from _accuracies(splits)
        yield from _rounds()
        yield from _after()
        yield _by_parties()


def halves(name: str, seed: int) -> Data:
    """Return at most 1,000 records to learn from and as many to judge by; columns of mean 0 and variance 1."""
    X, y = _read(name)
    if len(X) > 2 * ROWS:
        kept = np.random.default_rng(seed).permutation(len(X))[: 2 * ROWS]
        X, y = X[kept], y[kept]
    X, Z, y, z = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X)
    return Data(scaler.transform(X), y, scaler.transform(Z), z)


def _read(name: str) -> tuple[F64, NDArray[np.str_]]:
    if not name.startswith("digits"):
        found = dataset(name)
        return (found.X[:, 1:] if name == "breast-cancer" else found.X), found.y  # its first column is a number
    found = dataset("optdigits")
    if name == "digits even/odd":
        return found.X, np.where(found.y.astype(int) % 2, "odd", "even")
    kept = np.isin(found.y, ["3", "8"])
    return found.X[kept], found.y[kept]


def _fit(data: Data, **how: Any) -> ConsensusSVC:
    made = ConsensusSVC(**{"C": C, "n_parties": PARTIES, "random_state": 0, "accept_risk": True, **how})
    return made.fit(data.X, data.y)


def _accuracies(splits: int) -> Iterator[Step | Table]:
    learners = {
        "by rows, linear": _fit,
        "by rows, RBF": lambda data: _fit(data, kernel="rbf"),
        "by columns, linear": lambda data: _fit(data, **COLUMNS),
        "by columns, RBF": lambda data: _fit(data, kernel="rbf", **COLUMNS),
        "pooled, linear": lambda data: SVC(C=C, kernel="linear").fit(data.X, data.y),
        "pooled, RBF": lambda data: SVC(C=C).fit(data.X, data.y),
        "tacit.SVC, RBF": lambda data: tacit.SVC(C=C, n_parties=PARTIES, random_state=0).fit(data.X, data.y),
    }
    rows = []
    for done, name in enumerate(SETS):
        yield Step(f"accuracy of {name}", done, len(SETS))
        sets = [halves(name, seed) for seed in range(splits)]
        found = [[100 * learn(data).score(data.Z, data.z) for data in sets] for learn in learners.values()]
        rows.append((name, PAPER[name], *(f"{mean(each):.1f} ({min(each):.1f}-{max(each):.1f})" for each in found)))
    yield Table(
        f"test accuracy in %, C={C:g}, {PARTIES} parties: mean of {splits} splits (least-most)",
        ("", "printed", *learners),
        tuple(rows),
        ("printed",),
    )


def _rounds() -> Iterator[Step | Table]:
    """Rounds until the method itself knows that it is within 1 % of the optimum."""
    variants: dict[str, dict[str, Any]] = {
        "by rows, linear": {},
        f"by rows, linear, rho={RHO:g} (the paper's)": AS_PAPER,
        "by rows, RBF": {"kernel": "rbf"},
        "by columns, linear": COLUMNS,
        "by columns, RBF": {"kernel": "rbf", **COLUMNS},
    }
    rows = []
    for done, name in enumerate(SETS):
        yield Step(f"rounds of {name}", done, len(SETS))
        counts = []
        for how in variants.values():
            model = _fit(halves(name, 0), tol=1e-2, max_rounds=2000, **how)
            far = model.report_.figures["relative gap to the optimum, at most"]
            counts.append(str(model.n_iter_) if far <= 1e-2 else f"> 2000 ({far:.2g})")
        rows.append((name, *counts))
    yield Table(f"rounds until the relative gap is surely below 1e-2 (C={C:g})", ("", *variants), tuple(rows))


def _after() -> Iterator[Step | Table]:
    """Return the accuracy of runs that are cut short, in place of Fig. 4."""
    rows = []
    for done, name in enumerate(SETS):
        yield Step(f"accuracy by rounds of {name}", done, len(SETS))
        data = halves(name, 0)
        for scheme, how in {"default": {}, f"rho={RHO:g} (the paper's)": AS_PAPER}.items():
            models = [_fit(data, max_rounds=rounds, tol=1e-6, **how) for rounds in AFTER]
            rows.append((f"{name}, {scheme}", *(f"{100 * each.score(data.Z, data.z):.1f}" for each in models)))
    heads = ("rounds", *map(str, AFTER))
    yield Table("Fig. 4: test accuracy in % by rounds, by rows, linear", heads, tuple(rows))


def _by_parties() -> Table:
    rows = []
    for name in ("wdbc", "digits 3v8"):
        data = halves(name, 0)
        for parties in (2, 4, 8, 16):
            start = time.process_time()
            model = _fit(data, n_parties=parties, C=1.0, tol=1e-2)
            spent = time.process_time() - start
            rows.append((name, str(parties), str(model.n_iter_), f"{spent:.2f}", f"{model.report_.bytes / 1e6:.2f}"))
    heads = ("", "parties", "rounds", "CPU seconds", "MB sent")
    return Table("by the number of parties, C=1, until tol=1e-2", heads, tuple(rows))
