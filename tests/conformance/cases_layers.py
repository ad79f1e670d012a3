"""Extreme learning machines of the core as cases; least squares on the nodes of the pooled records is the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import machine_reference as reference
from conformance.case import Case, Inputs, flat
from conformance.cases_svm import COMMITTEE, weigh
from tacit.choreo import At, Holder, Roster, Run
from tacit.protocols.features.maps import PublicMap
from tacit.protocols.learners.answers import KnownModel, answer_svm
from tacit.protocols.learners.elm import train_elm

SETTING: dict[str, Any] = {"n_hidden": 8, "alpha": 0.3, "repeat": 5}
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rows": ("horizontal", "2", {}),
    "rows_tanh_3_classes": ("horizontal", "3", {"activation": "tanh", "alpha": "auto"}),
    "rows_probability": ("horizontal", "2", {"probability": True}),
    "rows_number": ("horizontal", "number", {"classify": False, "target_range": (-8.0, 8.0), "activation": "rbf"}),
    # with an alpha whose number of levels of squares is the same whatever noise makes of the weights
    "rows_coin_balanced": (
        "horizontal",
        "2",
        {"repeat": None, "balanced": True, "activation": "fourier", "alpha": 0.2},
    ),
    "rows_committee": ("horizontal", "3", {"activation": "tanh", "alpha": "auto"}),
    "columns": ("vertical", "2", {}),
    "columns_weighted": ("vertical", "2", {"class_prices": {0: 3.0}}),
    "cells": ("arbitrary", "3", {}),
}


def play(run: Run, data: At[Any], *, partition: str, **other: Any) -> Any:
    """Train; by rows learn the same rows once more, as new ones."""
    params = SETTING | other
    model = flat(train_elm)(run, data, partition=partition, **params)
    if partition == "horizontal" and params["repeat"] is not None:
        known = {"classes": model.classes} if model.classes else {}
        again = flat(train_elm)(run, data, model.own, partition=partition, **{**params, **known})
        run.note(twice=again.records)
    found = {
        name: getattr(model, name)
        for name in ("classes", "weights", "step", "middle", "reach", "alpha", "class_weights")
    }
    found["map"] = {name: getattr(model.map, name) for name in model.map.field_names()}
    if partition == "horizontal":
        return found
    known = run.local(Holder, KnownModel, model.map, model.weights)
    return {**found, "answers": answer_svm(run, data, known, partition=partition)}


def layer_case(name: str) -> Case:
    partition, target, other = KINDS[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, reference.parts(roster[Holder], partition, target))}

    def accepts(result: Any, brought: Inputs) -> None:
        held, result = brought["data"][1], {**result, "map": PublicMap(**result["map"])}
        given = result["class_weights"]
        weights = None if given is None else partial(weigh, class_weights=given)
        exact = 1e-3 if partition == "horizontal" else 2e-2  # features in shares have about ten bits
        reference.check_machine(result, held, partition=partition, weights=weights, atol=exact)
        if partition != "horizontal":
            reference.check_answers(result, held, partition=partition)

    least = COMMITTEE if "committee" in name else 2
    return Case(f"train_elm_{name}", inputs, partial(play, partition=partition, **other), accepts, least)


CASES = tuple(map(layer_case, KINDS))
