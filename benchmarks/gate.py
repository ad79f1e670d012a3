"""The release gate: how many models that give records away it refuses, and how many plain ones it lets pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from figures import Figure, Step, Table
from tacit import SVC, ELMClassifier
from tacit.papers.pan import PanSVC
from tacit.report.release import Release

PRIVATE: dict[str, Any] = {"delta": 1e-4, "classes": (0, 1)}
LEAKY: dict[str, tuple[Any, int, int]] = {  # estimator, records, columns
    "PanSVC(), landmarks that are records": (PanSVC(), 160, 10),
    "SVC(alpha=1e-6, gamma=1, features=400), overfitted": (SVC(alpha=1e-6, gamma=1.0, features=400), 120, 10),
}
PLAIN: dict[str, tuple[Any, int, int]] = {
    "SVC(kernel='linear')": (SVC(kernel="linear"), 400, 10),
    "SVC()": (SVC(), 400, 10),
    "SVC(loss='hinge')": (SVC(loss="hinge"), 400, 10),
    "ELMClassifier(n_hidden=20)": (ELMClassifier(n_hidden=20), 400, 10),
}
NOISY: dict[str, tuple[Any, int, int]] = {
    "SVC(kernel='linear', epsilon=2)": (SVC(kernel="linear", epsilon=2.0, **PRIVATE), 400, 10),
    "SVC(epsilon=1)": (SVC(epsilon=1.0, **PRIVATE), 400, 10),
    "ELMClassifier(epsilon=2)": (ELMClassifier(epsilon=2.0, **PRIVATE), 400, 10),
}


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure how many of 20 leaky models the gate refuses, and how many of 20 plain ones, with epsilon and without."""
    many = 4 if quick else 20
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, of which plain models are warned
        for name, models, asked in (("planted leaky", LEAKY, many), ("private", NOISY, 0), ("plain", PLAIN, 0)):
            yield from _count_refused(name, models, many, asked)


def _count_refused(name: str, models: dict[str, tuple[Any, int, int]], many: int, asked: int) -> Iterator[Any]:
    kinds, rows, refused = list(models), [], 0
    for number in range(many):
        kind = kinds[number % len(kinds)]
        found = _check(*models[kind], seed=number)
        refused += bool(found.refused)
        rows.append((kind, *_tell(found)))
        yield Step(name, number + 1, many)
    yield Table(f"{name} models at the gate", ("model", "refused for", "area", "at 1 %", "attribute"), tuple(rows))
    said = f"{refused} of {many}"
    yield Figure(f"refused of {many} {name} models", said, f"{asked} of {many}", refused == asked)


def _check(estimator: Any, rows: int, columns: int, seed: int) -> Release:
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(X))[:rows]
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[chosen, :columns]
    model = estimator.set_params(random_state=seed).fit(X, y[chosen])
    found: Release = model.release_check(X, y[chosen])
    return found


def _tell(found: Release) -> tuple[str, ...]:
    figures = {line.limit: line.figure for line in found.lines}
    shown = (figures.get(name) for name in ("membership_auc", "true_positives", "attribute_advantage"))
    return (
        ", ".join(line.limit for line in found.refused) or "-",
        *("" if each is None else f"{each:.3f}" for each in shown),
    )


if __name__ == "__main__":
    for each in figures(quick=False):
        print(each, flush=True)
