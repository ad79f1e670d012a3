"""Selections between parties: what is held back, who abstains, how few rows still work, how many rounds it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.selection_reference import CRITERIA, SVM, parts_for
from tacit.choreo import Coordinator, Holder, Roster
from tacit.data.part import Part
from tacit.errors import LocalError
from tacit.protocols.fold_accuracy import largest
from tacit.protocols.margin_moments import take
from tacit.registry import Outcome, execute_together

NAMES = ("p1", "p2", "p3")
SEARCH = {"keep": 2, "step": 1, "cv": 3, "best": False}


def played(protocol: str, parts: dict[str, Part], **params: Any) -> Outcome:
    svm = {**SVM, "kernel": "rbf", "tol": 1e-2, **params.pop("svm", {})}
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    return execute_together(roster, protocol, {"data": (Holder, parts)}, {"svm": svm, **SEARCH, **params})


def cut(part: Part, rows: Any) -> Part:
    return Part(part.X[rows], part.y[rows], None, part.features, None)


def notes(outcome: Outcome) -> list[dict[str, Any]]:
    return [row for row in outcome.history if "features" in row]


# which rows may be summed


@pytest.mark.parametrize(
    ("inside", "known", "taken"),
    [
        (10, (30, 30), 2),  # enough rows, far from both sides as a whole
        (4, (36, 30), -1),  # too few
        (10, (3, 30), 0),  # all but three of the first side: the side stands for them
        (10, (0, 30), 0),
    ],
)
def test_rows_are_summed_only_if_they_are_many_and_differ_much_from_all_summed_before(inside, known, taken):
    row = [inside, *known, 0.0, 99.0]
    other = [20, 50, 20, 99.0, 0.0]
    assert take(np.array([row, other], dtype=float), (-1, -1), 5).sets[0] == taken


def test_a_side_that_is_too_small_to_be_summed_stands_for_nothing():
    counts = np.array([[6, 2, 40, 0.0, 99.0], [20, 50, 20, 99.0, 0.0]])
    assert take(counts, (-2, -1), 5).sets.tolist() == [2, 3]


def test_of_two_sides_that_differ_by_few_rows_one_is_summed():
    counts = np.array([[12, 40, 40, 0.0, 2.0], [14, 40, 40, 2.0, 0.0]])
    assert take(counts, (-1, -1), 5).sets.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("counts", "folds"),
    [
        ([10, 10, 10, 10, 7, 7, 6, 6, 7, 7], 3),
        ([10, 10, 10, 10, 7, 4, 6, 9, 7, 7], 2),  # four rows of a class in a fold
        ([10, 10, 10, 10, 20, 0, 0, 10, 0, 10], 3),  # none is fine
        ([10, 3, 10, 17, 7, 4, 6, 9, 7, 7], 0),
    ],
)
def test_there_are_as_many_folds_as_leave_none_with_a_few_rows_of_a_class(counts, folds):
    assert largest(np.array(counts, dtype=float), 2, 3, 5).folds == folds


# abstaining


def few_of_a_class() -> dict[str, Part]:
    """Three rows of class 1 in all."""
    parts = parts_for(NAMES, 2, 4)
    kept = {p: np.flatnonzero((part.y == 0) | (np.cumsum(part.y) == 1) & (part.y == 1)) for p, part in parts.items()}
    return {p: cut(part, kept[p]) for p, part in parts.items()}


def test_criteria_whose_sums_would_be_of_few_rows_abstain_and_rfe_decides():
    parts = few_of_a_class()
    assert sum(int(part.y.sum()) for part in parts.values()) == 3
    outcome = played("select_wrapper", parts, criteria=CRITERIA, svm={"min_count": 5})
    assert [row["abstaining"] for row in notes(outcome)] == [2, 2]
    alone = played("select_wrapper", parts, criteria=("t",), svm={"min_count": 5})
    assert [row["abstaining"] for row in notes(alone)] == [1, 1]
    assert [each.tolist() for each in outcome.result["gone"]] == [each.tolist() for each in alone.result["gone"]]


def test_without_folds_the_first_criterion_decides_and_the_best_subset_is_refused():
    parts = parts_for(NAMES, 2, 6)
    outcome = played("select_wrapper", parts, criteria=CRITERIA, step=2, svm={"min_count": 20})
    assert outcome.result["folds"] == 0
    assert len(outcome.result["gone"]) == 2
    with pytest.raises(LocalError, match=r"too few rows for folds.*min_count=20"):
        played("select_wrapper", parts, criteria=CRITERIA, best=True, svm={"min_count": 20})


def test_the_filters_leave_out_a_class_of_few_rows_and_refuse_one_class_alone():
    with pytest.raises(LocalError, match="two classes of at least min_count=5 rows"):
        played("select_filter", few_of_a_class(), filters={}, svm={"min_count": 5})
    parts = parts_for(NAMES, 3, 4)
    few = {p: cut(part, (part.y != 2) | (np.cumsum(part.y == 2) == 1)) for p, part in parts.items()}
    outcome = played("select_filter", few, filters={"welch": None}, svm={"min_count": 5})
    assert len(outcome.result["gone"]) == 2


# hard splits


def test_a_party_with_one_class_and_a_party_with_no_rows_select_what_the_same_rows_select_elsewhere():
    whole = parts_for(("p1", "p2"), 2, 6)
    X, y = (np.concatenate([getattr(part, name) for part in whole.values()]) for name in ("X", "y"))
    order = np.argsort(y, kind="stable")  # p1 has class 0 only
    names = whole["p1"].features
    parts = {p: Part(X[rows], y[rows], None, names, None) for p, rows in zip(NAMES, (order[:20], order[20:], order[:0]), strict=True)}
    linear = {"kernel": "linear", "tol": 1e-4}
    hard, easy = (played("select_wrapper", each, criteria=("rsvm",), svm=linear) for each in (parts, whole))
    assert [each.tolist() for each in hard.result["gone"]] == [each.tolist() for each in easy.result["gone"]]
    assert len(played("select_wrapper", parts, criteria=CRITERIA, step=2, best=True).result["gone"]) == 2
    assert len(played("select_filter", parts, filters={"welch": None}, svm=linear).result["gone"]) == 4


def test_a_constant_feature_goes_first():
    parts = {p: Part(np.column_stack([part.X[:, :3], np.full(len(part.X), 2.0)]), part.y, None, part.features, None)
             for p, part in parts_for(NAMES, 2, 4).items()}  # fmt: skip
    for criteria in (("rfe",), ("t",)):
        assert played("select_wrapper", parts, criteria=criteria, keep=3).result["gone"][0].tolist() == [3]
    assert 3 not in played("select_filter", parts, filters={}).result["features"]


def test_records_without_weight_do_not_count():
    parts = parts_for(NAMES, 2, 4)
    doubled = {
        p: Part(
            np.concatenate([part.X, -part.X]), np.concatenate([part.y, part.y]), np.repeat([1.0, 0.0], len(part.X)), part.features, None
        )
        for p, part in parts.items()
    }
    found = [played("select_filter", each, filters={"welch": 0.6}, best=True, svm={"kernel": "linear"}).result for each in (parts, doubled)]
    assert found[0]["features"].tolist() == found[1]["features"].tolist()
    assert found[0]["rows"] == found[1]["rows"]


# rounds, and refusals before anything is sent


@pytest.mark.parametrize(
    ("svm", "why"),
    [
        ({"landmark_source": "fourier"}, "no sum over landmarks"),
        ({"multi_class": "ovo"}, "one class against the rest"),
        ({"landmarks": 0.5, "min_cluster": 5}, "at most 20 % of the rows"),
    ],
)
@pytest.mark.parametrize("protocol", ["select_wrapper", "select_filter"])
def test_what_cannot_be_judged_is_refused(protocol, svm, why):
    more = {"filters": {}} if protocol == "select_filter" else {}
    with pytest.raises(LocalError, match=why):
        played(protocol, parts_for(NAMES, 2, 4), svm=svm, **more)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"criteria": ("rfe", "chi2")}, "one or more of rfe, rsvm, t"),
        ({"criteria": ("rfe", "rfe")}, "each once"),
        ({"criteria": ()}, "one or more"),
        ({"keep": 5}, "5 features cannot be selected of 4"),
    ],
)
def test_bad_questions_are_refused(params, why):
    with pytest.raises(LocalError, match=why):
        played("select_wrapper", parts_for(NAMES, 2, 4), **params)


def test_a_witnessed_selection_equals_one_that_is_not():
    parts = parts_for(NAMES, 2, 4)
    plain, witnessed = (played("select_wrapper", parts, criteria=("rfe",), svm={"kernel": "linear", "witness": w}) for w in (False, True))
    assert [each.tolist() for each in plain.result["gone"]] == [each.tolist() for each in witnessed.result["gone"]]
