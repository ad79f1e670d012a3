"""Selections of columns over rows, columns and cells, as cases; weights of the pooled records are the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance import machine_reference
from conformance.case import Case, Inputs, flat
from tacit.choreo import At, Holder, Roster, Run
from tacit.protocols.learners.rounding import FINE
from tacit.protocols.learners.selection import COARSER, select_columns
from tacit.protocols.learners.targets import signs_of

ALPHA, ROOM = 0.1, 6.0  # deviations of noise
COMMON: dict[str, Any] = {"alpha": ALPHA, "repeat": 5, "least_class": 1}
NUMBER = {"classify": False, "target_range": (-8.0, 8.0), "n_features_to_select": 2}
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rows": ("horizontal", "2", {"n_features_to_select": "auto"}),
    "rows_3_classes": ("horizontal", "3", {"n_features_to_select": 1}),
    "columns_number": ("vertical", "number", NUMBER),
    "cells": ("arbitrary", "2", {"n_features_to_select": "auto"}),
}


def weigh(X: Any, y: Any, kept: Any, *, number: bool) -> Any:
    """Return the weights of least squares on some columns, which all have one scale."""
    T = y[:, None] / 8.0 if number else signs_of(y.astype(np.int64), len(np.unique(y)))
    Z = np.column_stack([X[:, kept], np.ones(len(X))])
    W = np.linalg.lstsq(Z, T, rcond=None)[0][:-1]
    return np.sqrt(np.square(W).sum(axis=1))


def check(result: Any, brought: Inputs, partition: str, target: str, wanted: int | str) -> None:
    X, y = machine_reference.pool(brought["data"][1], partition)
    d, sizes, rounds = X.shape[1], result["sizes"], result["rounds"]
    assert sizes == {"auto": (d, 3, 2, 1), 2: (d, 3, 2), 1: (d, 3, 2, 1)}[wanted]
    assert [int((rounds > k).sum()) for k in range(len(sizes))] == list(sizes)
    assert result["best"] == len(sizes) - 1 or wanted == "auto"
    for k in range(len(sizes) - 1):
        left = np.flatnonzero(rounds > k)
        w = weigh(X, y, left, number=target == "number")
        kept = rounds[left] > k + 1
        noise = 2.0 ** (COARSER - FINE) * np.sqrt(np.square(w).mean())  # of a step: (1)
        assert w[kept].min() > w[~kept].max() - ROOM * noise


def play(run: Run, data: At[Any], **asked: Any) -> Any:
    found = flat(select_columns)(run, data, **asked)
    return {"sizes": found.sizes, "rounds": found.rounds, "best": found.best}


def selection_case(name: str) -> Case:
    partition, target, other = KINDS[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, machine_reference.parts(roster[Holder], partition, target))}

    def accepts(result: Any, brought: Inputs) -> None:
        check(result, brought, partition, target, other["n_features_to_select"])

    return Case(f"select_columns_{name}", inputs, partial(play, partition=partition, **COMMON | other), accepts)


CASES = tuple(map(selection_case, KINDS))
