"""Selections between parties: what is held back, who abstains, how few rows still work, how many rounds it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.selection_reference import CRITERIA, SVM, parts_for
from tacit.choreo import Coordinator, Holder, Roster
from tacit.errors import LocalError
from tacit.federation.part import Part
from tacit.numeric.features.relevance import Expansion
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.margin_moments import MISSED, both_sides, find_within, keep_known
from tacit.protocols.planes.select_wrapper import voters
from tacit.protocols.scores.fold_accuracy import choose_fold_number
from tacit.protocols.sums.atoms import HoldBack, Told, begin
from tacit.registry import Outcome, execute_together

NAMES = ("p1", "p2", "p3")
SEARCH = {"keep": 2, "step": 1, "cv": 3, "best": False}


def played(protocol: str, parts: dict[str, Part], **params: Any) -> Outcome:
    svm = {**SVM, "kernel": "rbf", "tol": 1e-2, **params.pop("svm", {})}
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    return execute_together(roster, protocol, {"data": (Holder, parts)}, {**svm, **SEARCH, **params})


def cut(part: Part, rows: Any) -> Part:
    return Part(part.X[rows], part.y[rows], None, part.features, None)


# which rows are summed


def inside(n: int, least: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return every row's signed distance from the margin, the sets that stand for rows within it, and the new atoms."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    part = Part(X, y, None, ("a", "b"), None)
    e, slack = Expansion(Kernel("linear"), np.array([[1.0, 0.0]]), np.eye(1), np.zeros(1)), 0.1
    signs = np.where(y == 1, 1, -1).astype(np.int8)[:, None]
    atoms = begin(part, y, Told(()), HoldBack(least, accept_risk=True))
    found = find_within(part, atoms, signs, np.arange(2), e, slack)
    return 1.0 + slack - signs[:, 0] * X[:, 0], found.rows.astype(bool) & (signs == [1, -1]), found


def test_of_single_rows_those_within_the_margin_are_summed():
    h, sets, _ = inside(60, 1)
    np.testing.assert_array_equal(sets.any(axis=1), h > 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [2, 5])
def test_of_groups_unions_are_summed_that_miss_little_of_what_is_within_the_margin(least, seed):
    h, sets, found = inside(80, least, seed)
    group = found.atoms.group
    for rows in found.rows.T:
        assert not set(group[rows > 0]) & set(group[(rows == 0) & (group >= 0)]), "a union of groups"
    assert np.unique(group[group >= 0], return_counts=True)[1].min() >= least
    assert (1 - 2 * MISSED) * np.maximum(h, 0.0).sum() <= h[sets.any(axis=1)].sum() <= np.maximum(h, 0.0).sum()


def test_a_side_without_rows_within_the_margin_leaves_its_problem_out():
    opened = np.array([[4.0, 1.0, 2.0], [3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [9.0, 1.0, 2.0]])
    known = both_sides(opened).problems
    assert known.tolist() == [1, 0]
    np.testing.assert_array_equal(keep_known(opened, known), [opened[:2], np.zeros((2, 3))])


@pytest.mark.parametrize(
    ("counts", "sizes", "folds"),
    [
        ([10, 10, 10, 10, 7, 7, 6, 6, 7, 7], [20, 20], 3),
        ([10, 10, 10, 10, 7, 0, 6, 13, 7, 7], [20, 20], 2),  # a fold without a class
        ([10, 0, 10, 0, 7, 0, 6, 0, 7, 0], [20, 0], 3),  # of a class that takes no part there need be none
        ([10, 0, 10, 20, 7, 0, 6, 13, 7, 7], [20, 20], 0),
    ],
)
def test_there_are_as_many_folds_as_have_rows_of_every_class_each(counts, sizes, folds):
    assert choose_fold_number(np.array(counts, dtype=float), np.array(sizes, dtype=float), 3).folds == folds


# abstaining


def few_of_a_class() -> dict[str, Part]:
    """Three rows of class 1 in all."""
    parts = parts_for(NAMES, 2, 4)
    kept = {p: np.flatnonzero((part.y == 0) | (np.cumsum(part.y) == 1) & (part.y == 1)) for p, part in parts.items()}
    return {p: cut(part, kept[p]) for p, part in parts.items()}


def test_groups_that_are_outside_the_margin_on_average_are_in_no_set_and_t_abstains():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 8)
    part = Part(np.where(y == 1, 20.0, -20.0)[:, None] + rng.normal(size=(16, 1)), y, None, ("a",), None)
    atoms, signs = (
        begin(part, y, Told(()), HoldBack(8, accept_risk=True)),
        np.where(y == 1, 1, -1).astype(np.int8)[:, None],
    )
    e = Expansion(Kernel("linear"), np.ones((1, 1)), np.eye(1), np.zeros(1))
    found = find_within(part, atoms, signs, np.arange(1), e, 0.1)
    assert not found.rows.any()
    assert both_sides(np.zeros((2, 3))).problems.tolist() == [0]
    assert voters(CRITERIA, "sums", None) == ("rfe", "rsvm")
    assert voters(("t",), None, None) == voters(("rsvm", "t"), None, None) == ("rfe",), (
        "rfe needs nothing, and decides where all abstain"
    )
    assert voters(CRITERIA, "sums", "moments") == CRITERIA


def one_class_each(columns: int) -> dict[str, Part]:
    """The rows of one class at one party, those of the other at another, 24 of each."""
    whole = parts_for(("p1", "p2"), 2, columns)
    X, y = (np.concatenate([getattr(part, name) for part in whole.values()]) for name in ("X", "y"))
    names = whole["p1"].features
    return {p: Part(X[y == c], y[y == c], None, names, None) for c, p in enumerate(("p1", "p2"))}


@pytest.mark.slow
def test_without_folds_the_first_criterion_decides_and_the_best_subset_is_refused():
    parts, svm = one_class_each(6), {"min_count": 13, "landmarks": 3}
    outcome = played("select_wrapper", parts, criteria=CRITERIA, step=2, svm=svm)
    assert outcome.result.folds == 0
    assert len(outcome.result.gone) == 2
    assert len(played("select_filter", parts, filters={"welch": None}, svm=svm).result.gone) == 4
    for protocol, more in (("select_wrapper", {"criteria": CRITERIA}), ("select_filter", {"filters": {"welch": None}})):
        with pytest.raises(
            LocalError,
            match="to choose the best subset leaves rows out in turn, and there are too few groups of min_count rows",
        ):
            played(protocol, parts, best=True, svm=svm, **more)
    played("select_wrapper", parts, criteria=("rfe",), best=True, svm={**svm, "min_count": 12})


@pytest.mark.slow
def test_a_class_of_few_rows_is_left_out_and_one_class_alone_is_refused():
    words = "no party has enough rows of class 1 for a group of min_count=5, and a classifier needs two"
    for protocol, more in (("select_wrapper", {}), ("select_filter", {"filters": {}})):
        with pytest.raises(LocalError, match=words):
            played(protocol, few_of_a_class(), svm={"min_count": 5}, **more)
    parts = parts_for(NAMES, 3, 4)
    few = {p: cut(part, (part.y != 2) | (np.cumsum(part.y == 2) == 1)) for p, part in parts.items()}
    outcome = played("select_filter", few, filters={"welch": None}, svm={"min_count": 3})
    assert len(outcome.result.gone) == 2
    without = played(
        "select_filter",
        {p: cut(part, part.y != 2) for p, part in parts.items()},
        filters={"welch": None},
        svm={"min_count": 3},
    )
    assert [each.tolist() for each in outcome.result.gone] == [each.tolist() for each in without.result.gone]


# hard splits


@pytest.mark.slow
def test_a_party_with_one_class_and_a_party_with_no_rows_select_what_the_same_rows_select_elsewhere():
    whole = parts_for(("p1", "p2"), 2, 6)
    X, y = (np.concatenate([getattr(part, name) for part in whole.values()]) for name in ("X", "y"))
    order = np.argsort(y, kind="stable")  # p1 has class 0 only
    names = whole["p1"].features
    parts = {
        p: Part(X[rows], y[rows], None, names, None)
        for p, rows in zip(NAMES, (order[:20], order[20:], order[:0]), strict=True)
    }
    linear = {"kernel": "linear", "tol": 1e-4}
    hard, easy = (played("select_wrapper", each, criteria=("rsvm",), svm=linear) for each in (parts, whole))
    assert [each.tolist() for each in hard.result.gone] == [each.tolist() for each in easy.result.gone]
    assert len(played("select_wrapper", parts, criteria=CRITERIA, step=2, best=True).result.gone) == 2
    assert len(played("select_filter", parts, filters={"welch": None}, svm=linear).result.gone) == 4


def test_a_constant_feature_goes_first():
    parts = {p: Part(np.column_stack([part.X[:, :3], np.full(len(part.X), 2.0)]), part.y, None, part.features, None)
             for p, part in parts_for(NAMES, 2, 4).items()}  # fmt: skip
    for criteria in (("rfe",), ("t",)):
        assert played("select_wrapper", parts, criteria=criteria, keep=3).result.gone[0].tolist() == [3]
    assert 3 not in played("select_filter", parts, filters={}).result.features


def test_records_without_weight_do_not_count():
    parts = parts_for(NAMES, 2, 4)
    doubled = {
        p: Part(
            np.concatenate([part.X, -part.X]),
            np.concatenate([part.y, part.y]),
            np.repeat([1.0, 0.0], len(part.X)),
            part.features,
            None,
        )
        for p, part in parts.items()
    }
    found = [
        played("select_filter", each, filters={"welch": 0.6}, best=True, svm={"kernel": "linear"}).result
        for each in (parts, doubled)
    ]
    assert found[0].features.tolist() == found[1].features.tolist()
    assert found[0].rows == found[1].rows


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
    plain, witnessed = (
        played("select_wrapper", parts, criteria=("rfe",), svm={"kernel": "linear", "witness": w})
        for w in (False, True)
    )
    assert [each.tolist() for each in plain.result.gone] == [each.tolist() for each in witnessed.result.gone]
