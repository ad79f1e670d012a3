"""Alignment of records and inner products of sets as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import intersection_reference as intersection
from conformance.case import Case, Inputs
from tacit.choreo import Holder, Roster
from tacit.protocols.align.same_records import compare_records


def align_case(name: str, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"ids": (Holder, intersection.id_sets(roster[Holder]))}

    def accepts(result: Any, given: Inputs) -> None:
        intersection.check_align(result, given["ids"][1], **params)

    return Case(f"align{name}", inputs, partial(intersection.play_align, **params), accepts)


def same_records_case() -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"ids": (Holder, dict.fromkeys(roster[Holder], bytes(range(32))))}

    def accepts(result: Any, given: Inputs) -> None:
        assert result is None
        assert len(set(given["ids"][1].values())) == 1

    return Case("compare_records", inputs, compare_records, accepts)


CASES: tuple[Case, ...] = (
    same_records_case(),
    align_case(""),
    align_case("_count", count_only=True),
)
