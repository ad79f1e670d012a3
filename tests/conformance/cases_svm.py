"""Machines of the core over rows, columns and cells, as cases; least squares on the pooled records is the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import machine_reference as reference
from conformance.case import Case, Inputs, flat
from tacit.choreo import At, Holder, Roster, Run
from tacit.protocols.features.maps import PublicMap
from tacit.protocols.learners.answers import KnownModel, answer_svm
from tacit.protocols.learners.svm import train_svm

SETTING: dict[str, Any] = {
    "kernel": "rbf", "gamma": 0.2, "degree": 2, "coef0": 1.0, "features": 8, "alpha": 0.3, "repeat": 5,
}  # fmt: skip
COMMITTEE = 5  # parties, of which three compute for all
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rows": ("horizontal", "2", {}),
    "rows_3_classes": ("horizontal", "3", {"alpha": "auto"}),
    "rows_coin": ("horizontal", "2", {"repeat": None, "classes": (0, 1)}),
    "rows_linear": ("horizontal", "2", {"kernel": "linear"}),
    "rows_weighted": ("horizontal", "2", {"class_prices": {0: 3.0}}),
    "rows_balanced": ("horizontal", "2", {"balanced": True, "alpha": 0.2}),  # as many levels whatever the weights
    "rows_probability": ("horizontal", "3", {"probability": True}),
    "rows_hinge": ("horizontal", "3", {"loss": "hinge"}),
    "rows_hinge_auto_weighted": ("horizontal", "2", {"loss": "hinge", "choose_cost": True, "class_prices": {0: 3.0}}),
    "rows_number": ("horizontal", "number", {"classify": False, "target_range": (-8.0, 8.0)}),
    "rows_hinge_number": (
        "horizontal",
        "number",
        {"classify": False, "target_range": (-8.0, 8.0), "loss": "hinge", "C": 8.0, "tube": 0.5},
    ),
    "rows_committee": ("horizontal", "3", {"alpha": "auto", "repeat": None}),
    "rows_committee_number": ("horizontal", "number", {"classify": False, "committee": ("p2", "p3", "p5")}),
    "rows_committee_balanced_probability": ("horizontal", "2", {"balanced": True, "alpha": 0.2, "probability": True}),
    "rows_committee_hinge": ("horizontal", "3", {"loss": "hinge"}),
    "rows_committee_hinge_auto_weighted": (
        "horizontal",
        "2",
        {"loss": "hinge", "choose_cost": True, "class_prices": {0: 3.0}, "committee": ("p1", "p4", "p5")},
    ),
    "columns": ("vertical", "2", {}),
    "columns_3_classes_poly": ("vertical", "3", {"kernel": "poly", "gamma": 0.1}),
    "columns_linear_weighted": ("vertical", "2", {"kernel": "linear", "class_prices": {0: 3.0}}),
    "columns_weighted": ("vertical", "2", {"class_prices": {0: 3.0}}),
    "columns_hinge": ("vertical", "3", {"loss": "hinge"}),
    "columns_hinge_auto": ("vertical", "2", {"loss": "hinge", "choose_cost": True}),
    "cells": ("arbitrary", "2", {}),
    "cells_hinge_linear_weighted": ("arbitrary", "2", {"loss": "hinge", "kernel": "linear", "class_prices": {0: 3.0}}),
    "cells_hinge_poly": ("arbitrary", "2", {"loss": "hinge", "kernel": "poly", "gamma": 0.1}),
    "cells_number": ("arbitrary", "number", {"classify": False, "target_range": (-8.0, 8.0)}),
}


def play(run: Run, data: At[Any], *, partition: str, **other: Any) -> Any:
    model = flat(train_svm)(run, data, partition=partition, **SETTING | other)
    found = {
        name: getattr(model, name)
        for name in ("classes", "weights", "step", "middle", "reach", "alpha", "class_weights", "C")
    }
    found["map"] = {name: getattr(model.map, name) for name in model.map.field_names()}
    if partition == "horizontal":
        return found
    known = run.local(Holder, KnownModel, model.map, model.weights)
    return {**found, "answers": answer_svm(run, data, known, partition=partition)}


def weigh(y: Any, class_weights: Any) -> Any:
    """Return how much each record counts, by the weights of the classes that were published."""
    assert class_weights.max() <= 8.0 * class_weights.min()
    return class_weights[y]


def machine_case(name: str) -> Case:
    partition, target, other = KINDS[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, reference.parts(roster[Holder], partition, target))}

    def accepts(result: Any, brought: Inputs) -> None:
        held, result = brought["data"][1], {**result, "map": PublicMap(**result["map"])}
        given = result["class_weights"]
        weights = None if given is None else partial(weigh, class_weights=given)
        exact = 1e-3 if partition == "horizontal" else 2e-2  # features in shares have about ten bits
        if "tube" in other:
            reference.check_hinge_of_numbers(result, held, other["tube"])
        elif other.get("loss") == "hinge":
            reference.check_hinge(result, held, partition=partition, weights=weights)
        else:
            reference.check_machine(result, held, partition=partition, weights=weights, atol=exact)
        if partition != "horizontal":
            reference.check_answers(result, held, partition=partition)

    least = COMMITTEE if "committee" in name else 2
    return Case(f"train_svm_{name}", inputs, partial(play, partition=partition, **other), accepts, least)


CASES = tuple(map(machine_case, KINDS))
