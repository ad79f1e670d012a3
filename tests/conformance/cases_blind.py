"""Blind gram SVMs over columns, rows and cells, as cases; SVC or SVR on the pooled table is the reference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR

from conformance import few_cells as cells
from conformance.case import Case, Inputs, flat
from tacit.choreo import At, Holder, Roster, Run
from tacit.federation.part import Part
from tacit.protocols.blind.training import blind_predict, gram_blind

SETTING = {"kernel": "rbf", "gamma": 0.2, "degree": 3, "coef0": 0.0, "C": 2.0}
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "columns": ("vertical", "2", {}),
    "rows": ("horizontal", "3", {}),
    "cells": ("arbitrary", "2", {}),
    "weighted_columns": ("vertical", "2", {"class_weight": "balanced"}),
    "weighted_rows": ("horizontal", "2", {"class_weight": {0: 3.0}}),
    "linear_columns": ("vertical", "2", {"kernel": "linear", "C": 0.5}),
    "linear_rows": ("horizontal", "2", {"kernel": "linear", "C": 0.5}),
    "poly_columns": ("vertical", "3", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    "poly_cells": ("arbitrary", "2", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    "number_columns": ("vertical", "number", {"tube": 0.05}),
    "number_rows": ("horizontal", "number", {"tube": 0.05, "kernel": "linear", "target_range": (-16.0, 24.0)}),
    "number_cells": ("arbitrary", "number", {"tube": 0.5}),
}


def play(run: Run, data: At[Any], *, partition: str, target: str, **other: Any) -> Any:
    model = flat(gram_blind)(run, data, partition=partition, **SETTING | other)
    problems = int(target) if target == "3" else 1
    for name in ("class_weight", "tube"):
        other.pop(name, None)  # which is in the model
    known = {"problems": problems, "trained_on": model.records, "divisor": model.divisor}
    known["target_range"] = model.target_range
    answers = flat(blind_predict)(run, data, model.share, partition=partition, **SETTING | other | known)
    return {
        "classes": model.classes,
        "iterations": model.iterations,
        "target_range": model.target_range,
        "decision": answers,
    }


def check(result: Any, held: Mapping[str, Part], *, partition: str, target: str, **other: Any) -> None:
    given = cells.table(target)
    found = result["decision"]
    values = np.concatenate([found[p] for p in held]) if partition == "horizontal" else found["p1"]
    if target == "number":
        span = other.pop("target_range", None)
        other["epsilon"] = other.pop("tube")  # scikit-learn's name
        theirs = SVR(**SETTING | other, tol=1e-8).fit(given.X, given.y).predict(given.X)
        np.testing.assert_allclose(values[:, 0], theirs, atol=0.02)
        assert result["target_range"] == (span or (-8.0, 8.0))
        return
    labels = [given.y == name for name in result["classes"][-values.shape[1] :]]
    for own, label in zip(values.T, labels, strict=True):
        theirs = SVC(**SETTING | other, tol=1e-8).fit(given.X, label).decision_function(given.X)
        np.testing.assert_allclose(own, theirs, atol=0.02)


def blind_case(name: str) -> Case:
    partition, target, other = KINDS[name]
    asked = {"partition": partition, "target": target, **other}

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, cells.parts(roster[Holder], partition, target))}

    def accepts(result: Any, brought: Inputs) -> None:
        check(result, brought["data"][1], **asked)

    return Case(f"gram_blind_{name}", inputs, partial(play, **asked), accepts, long=True)


CASES = tuple(map(blind_case, KINDS))
