"""Alignment of records and inner products of sets as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import intersection_reference as intersection
from conformance.case import Case, Inputs
from tacit.choreo import Holder, Roster


def align_case(name: str, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"ids": (Holder, intersection.id_sets(roster[Holder]))}

    def accepts(result: Any, given: Inputs) -> None:
        intersection.check_align(result, given["ids"][1], **params)

    return Case(f"align{name}", inputs, partial(intersection.play_align, **params), accepts)


def intersection_case(partition: str) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, intersection.binary(partition, roster[Holder]).parts)}

    def accepts(result: Any, given: Inputs) -> None:
        intersection.check_intersection(result, given["data"][1], partition=partition)

    return Case(f"gram_intersection_{partition}", inputs, partial(intersection.play_intersection, partition=partition), accepts)


CASES: tuple[Case, ...] = (
    align_case(""),
    align_case("_count", count_only=True),
    intersection_case("horizontal"),
    intersection_case("vertical"),
    intersection_case("arbitrary"),
)
