"""What a selection sends: masked sums to the coordinator, and to holders nothing but what is published."""

from __future__ import annotations

from typing import Any

from conformance.selection_reference import CRITERIA, SVM, parts_for
from tacit.choreo import Coordinator, Holder, Roster
from tacit.choreo.fact import prose_of
from tacit.registry import execute_together

NAMES = ("p1", "p2", "p3")


def selected(criteria: tuple[str, ...] = CRITERIA) -> Any:
    svm = {**SVM, "kernel": "linear", "tol": 1e-2, "min_count": 3, "accept_risk": True}
    parts = parts_for(NAMES, 2, 4)
    params = {**svm, "criteria": criteria, "keep": 1, "step": 1, "cv": 2}
    return execute_together(
        Roster({Holder: NAMES, Coordinator: ("coordinator",)}), "select_wrapper", {"data": (Holder, parts)}, params
    )


def test_holders_receive_nothing_but_what_is_published():
    ledger = selected().ledger
    assert {row.type for row in ledger if row.receiver_role == "holder"} == set()
    assert not any(row.type == "Masked" and row.receiver != "coordinator" for row in ledger)


def test_no_count_of_rows_by_which_two_sets_differ_is_told():
    ledger = selected(("t",)).ledger
    assert {"Within", "Step", "Direction"} <= {row.type for row in ledger}
    assert not any("differ" in prose_of(row.tells) for row in ledger)
