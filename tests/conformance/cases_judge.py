"""Judging a public model over rows, columns and cells, as cases; counts of the pooled records are the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance import judge_reference as reference
from conformance import machine_reference
from conformance.case import Case, Inputs, flat
from tacit.choreo import Holder, Roster, Run
from tacit.protocols.judge.model import judge_model
from tacit.protocols.judge.shared import HeldOut

NUMBERS: dict[str, Any] = {"middle": 0.5, "reach": 6.0}
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rows": ("horizontal", "2", {}),
    "rows_groups_probability": ("horizontal", "2", {"n_groups": 3, "sigmoid": (-3.0, 0.2)}),
    "rows_3_classes_sites": ("horizontal", "3", {"by_site": True}),
    "rows_beside": ("horizontal", "2", {"beside": True, "least_shown": 3}),
    "rows_number_groups": ("horizontal", "number", {"n_groups": 3}),
    "columns": ("vertical", "2", {}),
    "columns_3_classes_groups": ("vertical", "3", {"n_groups": 3}),
    "columns_number": ("vertical", "number", {}),
    "cells_groups": ("arbitrary", "2", {"n_groups": 3}),
    "cells_number_groups": ("arbitrary", "number", {"n_groups": 3}),
}


def play(run: Run, *held: Any, **given: Any) -> dict[str, Any]:
    """Play it; bins and figures of sites come back as plain values."""
    names = ("data", "own", "model", "alone")
    found = flat(judge_model)(run, **dict(zip(names, held, strict=False)), **given)
    told = {name: getattr(found, name) for name in ("records", "classes", "groups", "cells", "errors", "brier")}
    if found.bins is not None:
        told |= {"cuts": found.bins.cuts, "bins": found.bins.counts, "middle": found.bins.middle}
    if found.sites is not None:
        told["sites"] = {site: np.concatenate([each.joint, each.alone]) for site, each in found.sites.items()}
    return told


def judge_case(name: str) -> Case:
    partition, target, other = KINDS[name]
    classes = {"2": 2, "3": 3, "number": 0}[target]
    asked = {"n_classes": classes, "bins": reference.BINS, "least_shown": reference.LEAST} | other
    asked |= {} if classes else NUMBERS

    def inputs(roster: Roster) -> Inputs:
        holders = roster[Holder]
        brought: Inputs = {
            "data": (Holder, machine_reference.parts(holders, partition, target)),
            "own": (Holder, reference.own_of(holders, partition, target)),
        }
        if partition != "horizontal":
            brought["model"] = (Holder, dict.fromkeys(holders, reference.model_of(target)))
        if other.get("beside"):
            own = brought["own"][1]
            turned = {p: HeldOut(-o.values, o.codes, o.targets, o.groups) for p, o in own.items()}
            brought["alone"] = (Holder, turned)
        return brought

    def accepts(result: Any, brought: Inputs) -> None:
        if target == "number":
            reference.check_numbers(result, partition=partition, **NUMBERS)
            return
        groups = "site" if other.get("by_site") or other.get("beside") else "given"
        if other.get("beside"):
            reference.check_sites(result, brought)
        else:
            how: Any = {"partition": partition, "target": target, "groups": groups, "least": reference.LEAST}
            reference.check_classes(result, brought, **how)
            reference.check_brier(result, target, other.get("sigmoid"))

    def played(run: Run, **held: Any) -> Any:
        return play(run, held["data"], held["own"], held.get("model"), held.get("alone"), partition=partition, **asked)

    return Case(f"judge_model_{name}", inputs, partial(played), accepts)


CASES = tuple(map(judge_case, KINDS))
