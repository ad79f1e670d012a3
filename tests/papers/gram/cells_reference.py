"""Gram SVMs over any cells as conformance cases: scikit-learn on the pooled table is the reference.

Values are multiples of 1/64, which fixed point holds exactly, so answers are those of the pooled table to the solver's
last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance.case import flat
from conformance.few_cells import parts, table
from tacit.choreo import At, Run
from tacit.federation.part import Part
from tacit.federation.table import Table
from tacit.papers.gram.arbitrary import gram_arbitrary, gram_arbitrary_predict

__all__ = ["CELL_CASES", "check", "parts", "play"]
SETTING: dict[str, Any] = {"gamma": "scale", "degree": 3, "coef0": 1.0, "C": 4.0, "tol": 1e-9}


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
        expected = [m.decision_function(given.X) for m in reference]
        np.testing.assert_allclose(values, np.transpose(expected), atol=1e-5)


def machines(target: str, kernel: str) -> list[Any]:
    given = table(target)
    problems = [given.y == k for k in range(3)] if target == "3" else [given.y]
    return [SVC(kernel=kernel, **SETTING).fit(given.X, y) for y in problems]


def _objective(machine: Any, given: Table) -> float:
    """From the decision values, without a kernel matrix: c'Kc = c'(f - b)."""
    coef, values = machine.dual_coef_[0], machine.decision_function(given.X)[machine.support_]
    return float(0.5 * coef @ (values - machine.intercept_[0]) - np.abs(coef).sum())


# name: partition, kernel, target, and what else the protocol is given
CELL_CASES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "horizontal_rbf_3_classes": ("horizontal", "rbf", "3", {}),
    "vertical_linear": ("vertical", "linear", "2", {}),
    "cells_rbf": ("arbitrary", "rbf", "2", {"feature_range": 4.0, "band": 40}),
    "cells_paillier": ("arbitrary", "linear", "2", {"engine": "paillier", "ask": False}),
    "algorithm1": ("arbitrary", "poly", "2", {"method": "algorithm1", "ask": False}),
    "intersection": ("horizontal", "rbf", "binary", {"method": "intersection", "ask": False}),
}
