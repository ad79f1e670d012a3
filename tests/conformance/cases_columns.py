"""What is done to columns before training as cases: selecting, scaling and filling in."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import column_oracle as column
from conformance import selection_reference as selection
from conformance import table_oracle
from conformance.case import Case, Inputs
from tacit.choreo import Holder, Roster


def selection_case(
    name: str, play: Any, check: Any, *, classes: int = 2, columns: int = 4, long: bool = False, **params: Any
) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, selection.parts_for(roster[Holder], classes, columns))}

    def accepts(result: Any, given: Inputs) -> None:
        check(result, given["data"][1], **params)

    return Case(name, inputs, partial(play, **params), accepts, long=long)


def column_case(name: str, oracle: Any, cases: Any) -> Case:
    play, check, vertical = cases[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, oracle.parts_at(roster[Holder], vertical=vertical))}

    return Case(name, inputs, play, lambda result, _: check(result))


CASES: tuple[Case, ...] = (
    selection_case(
        "select_wrapper_rbf", selection.play_wrapper, selection.check_wrapper, columns=6, kernel="rbf", step=2
    ),
    selection_case(
        "select_wrapper_3_classes",
        selection.play_wrapper,
        selection.check_wrapper,
        classes=3,
        kernel="linear",
        step=1,
        long=True,
    ),
    selection_case(
        "select_wrapper_groups",
        selection.play_wrapper,
        selection.check_wrapper,
        kernel="linear",
        step=1,
        least=2,
        long=True,
    ),
    selection_case("select_filter_rbf", selection.play_filter, selection.check_filter, kernel="rbf"),
    selection_case(
        "select_filter_groups_rbf", selection.play_filter, selection.check_filter, kernel="rbf", least=2, long=True
    ),
    *(column_case(name, column, column.COLUMN_CASES) for name in column.COLUMN_CASES),
    *(column_case(name, table_oracle, table_oracle.TABLE_CASES) for name in table_oracle.TABLE_CASES),
)
