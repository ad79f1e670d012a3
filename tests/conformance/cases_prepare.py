"""Preparing and describing columns over rows, columns and cells, as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import prepare_reference as reference
from conformance.case import Case, Inputs, by_name, flat
from tacit.choreo import Holder, Roster, Run
from tacit.protocols.prepare.columns import prepare_columns
from tacit.protocols.prepare.describe import describe_table

PREPARED: dict[str, Any] = {
    "names": reference.MEASURED,
    "ids": ("patient", "age"),
    "percents": reference.PERCENTS,
    "texts": reference.TEXTS,
    "categories": {"grade": reference.GRADES},
    "most_frequent": ("grade",),
}
LOOKED: dict[str, Any] = {
    "names": reference.MEASURED,
    "texts": reference.TEXTS,
    "categories": {"grade": reference.GRADES},
    "labels": True,
}
PARTITIONS = {"": "horizontal", "_columns": "vertical", "_cells": "arbitrary"}


def play(protocol: Any, run: Run, data: Any, **given: Any) -> dict[str, Any]:
    """Play it; each column comes back by field."""
    found = by_name(flat(protocol)(run, data, **given))
    columns = {name: {f: getattr(told, f) for f in told.field_names()} for name, told in found["columns"].items()}
    return {**found, "columns": columns}


def prepare_case(name: str, protocol: Any, check: Any, asked: dict[str, Any], partition: str, *, labels: bool) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, reference.parts_at(roster[Holder], partition, labels=labels))}

    return Case(name, inputs, partial(play, protocol, partition=partition, **asked), lambda result, _: check(result))


CASES = tuple(
    prepare_case(f"{protocol.__name__}{suffix}", protocol, check, asked, partition, labels=protocol is describe_table)
    for suffix, partition in PARTITIONS.items()
    for protocol, check, asked in (
        (prepare_columns, reference.check_prepared, PREPARED),
        (describe_table, reference.check_overview, LOOKED),
    )
)
