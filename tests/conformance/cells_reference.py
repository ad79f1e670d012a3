"""Gram SVMs over any cells as conformance cases: scikit-learn on the pooled table is the reference.

Values are multiples of 1/64, which fixed point holds exactly, so answers are those of the pooled table to the solver's
last digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR

from conformance.case import flat
from tacit.choreo import At, Run
from tacit.federation.part import Part
from tacit.federation.plan import by_cells, by_columns, by_rows
from tacit.federation.table import Table, as_table
from tacit.protocols.gram.arbitrary import gram_arbitrary, gram_arbitrary_predict

RECORDS, COLUMNS = 12, 3
NAMES = tuple(f"x{j}" for j in range(COLUMNS))
SETTING: dict[str, Any] = {"gamma": "scale", "degree": 3, "coef0": 1.0, "C": 4.0, "tol": 1e-9}
EPSILON = 0.05


def table(target: str) -> Table:
    rng = np.random.default_rng(5)
    X = rng.integers(-200, 200, (RECORDS, COLUMNS)) / 64
    if target == "binary":
        X = (X > 0).astype(float)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * X[:, 0] ** 2
    if target == "number":
        return as_table(X, y=score)
    classes = 3 if target == "3" else 2
    return as_table(X, y=np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)))


def parts(parties: Sequence[str], partition: str, target: str) -> dict[str, Part]:
    given, names = table(target), list(parties)
    if partition == "horizontal":
        plan = by_rows(dict(zip(names, np.array_split(np.arange(RECORDS), len(names)), strict=True)), COLUMNS)
    elif partition == "vertical":
        plan = by_columns(dict(zip(names, np.array_split(np.arange(COLUMNS), len(names)), strict=True)), RECORDS)
    else:
        owner = np.random.default_rng(2).integers(0, len(names), (RECORDS, COLUMNS))
        plan = by_cells({p: owner == k for k, p in enumerate(names)})
    return plan.cut(given, None if partition == "horizontal" else names[0])


def play(run: Run, data: At[Any], *, partition: str, kernel: str, ask: bool = True, **how: Any) -> Any:
    model = flat(gram_arbitrary)(run, data, partition=partition, kernel=kernel, **SETTING, **how)
    found = {"dual": model.dual, "support": model.support, "classes": model.classes}
    if not ask:
        return found
    answer = flat(gram_arbitrary_predict)(
        run, data, model.dual, model.columns, partition=partition, squares=kernel == "rbf"
    )
    return {**found, "decision": answer}


def check(result: Any, held: Mapping[str, Part], *, partition: str, kernel: str, target: str) -> None:
    given, reference = table(target), machines(target, kernel)
    objective = result["dual"]["coordinator"].objective
    np.testing.assert_allclose(objective, [_objective(m, given) for m in reference], rtol=1e-6)
    if "decision" in result:
        found = result["decision"]
        values = np.concatenate([found[p] for p in held]) if partition == "horizontal" else found["p1"]
        expected = [m.predict(given.X) if target == "number" else m.decision_function(given.X) for m in reference]
        np.testing.assert_allclose(values, np.transpose(expected), atol=1e-5)


def machines(target: str, kernel: str) -> list[Any]:
    given = table(target)
    if target == "number":
        return [SVR(kernel=kernel, epsilon=EPSILON, **SETTING).fit(given.X, given.y)]
    problems = [given.y == k for k in range(3)] if target == "3" else [given.y]
    return [SVC(kernel=kernel, **SETTING).fit(given.X, y) for y in problems]


def _objective(machine: Any, given: Table) -> float:
    """From the decision values, without a kernel matrix: c'Kc = c'(f - b)."""
    coef, rows = machine.dual_coef_[0], machine.support_
    values = machine.predict(given.X) if isinstance(machine, SVR) else machine.decision_function(given.X)
    quadratic = 0.5 * coef @ (values[rows] - machine.intercept_[0])
    if isinstance(machine, SVR):
        return float(quadratic - given.y[rows] @ coef + EPSILON * np.abs(coef).sum())
    return float(quadratic - np.abs(coef).sum())


# name: partition, kernel, target, and what else the protocol is given
CELL_CASES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "horizontal_rbf_3_classes": ("horizontal", "rbf", "3", {}),
    "vertical_linear": ("vertical", "linear", "2", {}),
    "cells_rbf": ("arbitrary", "rbf", "2", {"feature_range": 4.0, "band": 40}),
    "cells_number_paillier": (
        "arbitrary",
        "linear",
        "number",
        {"engine": "paillier", "epsilon": EPSILON, "ask": False},
    ),
    "algorithm1": ("arbitrary", "poly", "2", {"how": "algorithm1", "ask": False}),
    "intersection": ("horizontal", "rbf", "binary", {"how": "intersection", "ask": False}),
}
