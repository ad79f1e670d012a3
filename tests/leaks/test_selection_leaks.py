"""What a selection opens of rows: never the moments of a few, never two sums that differ by a few, and nothing of a small class."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from conformance.selection_reference import CRITERIA, SVM, parts_for
from tacit.choreo import Coordinator, Holder, Roster
from tacit.data.part import Part
from tacit.protocols import margin_moments, select_wrapper
from tacit.protocols.margin_moments import Taken
from tacit.registry import execute_together

LEAST = 4
NAMES = ("p1", "p2", "p3")


def selected(parts: dict[str, Part], criteria: tuple[str, ...] = CRITERIA) -> Any:
    svm = {**SVM, "kernel": "rbf", "tol": 1e-2, "min_count": LEAST}
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    params = {"svm": svm, "criteria": criteria, "keep": 1, "step": 1, "cv": 2}
    return execute_together(roster, "select_wrapper", {"data": (Holder, parts)}, params)


def summed_sets(monkeypatch: pytest.MonkeyPatch, parts: dict[str, Part], criteria: tuple[str, ...]) -> list[frozenset[Any]]:
    """The rows of every set whose moments were opened, over all parties."""
    opened: defaultdict[int, dict[int, Any]] = defaultdict(dict)
    real = margin_moments.moments_of

    def spied(part: Part, sets: Any, numbers: Any, *rest: Any) -> Any:
        rows = np.unpackbits(sets[list(numbers)], axis=1, count=len(part.X)).astype(bool)
        for number, each in zip(numbers, rows, strict=True):
            opened[number][id(part)] = frozenset((id(part), i) for i in np.flatnonzero(each))
        return real(part, sets, numbers, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(margin_moments, "moments_of", spied)
        selected(parts, criteria)
    return [frozenset().union(*holders.values()) for holders in opened.values()]


def harmless(sets: list[frozenset[Any]]) -> bool:
    """No set is of a few rows, and no two differ by a few."""
    return all(len(V) >= LEAST for V in sets) and all(len(V ^ W) >= LEAST for V, W in combinations(sets, 2))


@pytest.mark.parametrize("classes", [2, 3])
def test_no_two_sets_whose_moments_are_opened_in_a_whole_selection_differ_by_a_few_rows(monkeypatch, classes):
    sets = summed_sets(monkeypatch, parts_for(NAMES, classes, 6), ("t",))
    assert len(sets) > 2
    assert harmless(sets)


def test_a_coordinator_that_lets_every_set_be_summed_is_caught_by_this_test(monkeypatch):
    def lax(counts: Any, where: Any, min_count: int) -> Taken:
        del min_count
        return Taken(np.arange(len(where), len(where) + len(counts)))

    monkeypatch.setattr(margin_moments, "take", lax)
    assert not harmless(summed_sets(monkeypatch, parts_for(NAMES, 2, 6), ("t",)))


def test_nothing_is_summed_over_a_class_of_few_rows(monkeypatch):
    parts = parts_for(NAMES, 2, 4)
    few = {p: Part(part.X[k], part.y[k], None, part.features, None) for p, part in parts.items()
           if len(k := np.flatnonzero((part.y == 0) | (np.cumsum(part.y) == 1)))}  # fmt: skip

    def refused(*_: Any) -> Any:
        raise AssertionError("the sums of a class of three rows were asked for")

    monkeypatch.setattr(margin_moments, "moments_of", refused)
    monkeypatch.setattr(select_wrapper, "pulled", refused)
    assert len(selected(few).result["gone"]) == 3


def test_holders_receive_nothing_but_what_is_published():
    ledger = selected(parts_for(NAMES, 2, 4)).ledger
    assert {row.type for row in ledger if row.receiver_role == "holder"} == set()
    assert not any(row.type == "Masked" and row.receiver != "coordinator" for row in ledger)
