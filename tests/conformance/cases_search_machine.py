"""Searches in shares over rows, columns and cells, as cases; scores of the pooled records are the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import machine_reference
from conformance import search_machine_reference as reference
from conformance.case import Case, Inputs, flat
from tacit.choreo import At, Holder, Roster, Run
from tacit.protocols.learners.search import search_machine

LAYER: dict[str, Any] = {
    "kernel": "linear", "gamma": 1.0, "degree": 1, "coef0": 0.0, "repeat": reference.SEED, "layered": True,
    "n_hidden": reference.NODES, "least_class": 1,
}  # fmt: skip
COSTS = (0.1, 1.0, 10.0)
HINGED: dict[str, Any] = {
    "kernel": "rbf", "gamma": 0.2, "degree": 2, "coef0": 1.0, "features": 30, "repeat": reference.SEED,
    "loss": "hinge", "least_class": 1, "settings": tuple({"C": C} for C in COSTS),
}  # fmt: skip
ALPHAS = (0.03, 0.5, 3.0, "auto")
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rows": ("horizontal", "2", {}),
    "rows_3_classes": ("horizontal", "3", {}),
    "rows_number": ("horizontal", "number", {"classify": False, "target_range": (-8.0, 8.0)}),
    "rows_hinge": ("horizontal", "2", HINGED),
    "columns": ("vertical", "2", {}),
    "columns_number": ("vertical", "number", {"classify": False, "target_range": (-8.0, 8.0)}),
    "columns_hinge": ("vertical", "2", HINGED),
    "cells_3_classes": ("arbitrary", "3", {}),
}


def play(run: Run, data: At[Any], **asked: Any) -> Any:
    found = flat(search_machine)(run, data, **asked)
    return {"scores": found.scores, "step": found.step}


def search_case(name: str) -> Case:
    partition, target, other = KINDS[name]
    layered = "settings" not in other
    base = {**LAYER, "settings": tuple({"alpha": a} for a in ALPHAS)} if layered else {}

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, machine_reference.parts(roster[Holder], partition, target))}

    def accepts(result: Any, brought: Inputs) -> None:
        held = brought["data"][1]
        how: Any = {"partition": partition, "parties": len(held)}
        if layered:
            reference.check_layers(result, held, alphas=ALPHAS, target_range=other.get("target_range"), **how)
        else:
            reference.check_costs(result, held, costs=COSTS, **how)

    return Case(f"search_machine_{name}", inputs, partial(play, partition=partition, **base | other), accepts)


CASES = tuple(map(search_case, KINDS))
