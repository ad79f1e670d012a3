"""Counts over all parties: what is refused or left out, and which sites may show their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import LocalError
from tacit.choreo import Coordinator, Holder, Roster
from tacit.numeric.scores.folds import choose_class
from tacit.protocols.scores.score_counts import Scored
from tacit.registry import execute_together

NAMES = ("a", "b", "c", "d")


def scored(sizes: Any, seed: int = 0) -> Scored:
    """So many records of each class."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    columns = 1 if len(sizes) == 2 else len(sizes)
    values = np.random.default_rng(seed).normal(size=(len(codes), columns))
    return Scored(values, np.empty((len(codes), 0)), codes, choose_class(values))


def counted(parts: dict[str, Scored], classes: int = 2, **params: Any) -> Any:
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    asked = {"n_classes": classes, **params}
    return execute_together(roster, "score_counts", {"scored": (Holder, parts)}, asked).result


def by_sizes(*sizes: Any) -> dict[str, Scored]:
    return {name: scored(each, i) for i, (name, each) in enumerate(zip(NAMES, sizes, strict=False))}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_score_that_is_no_number_is_refused_where_it_is_and_nothing_is_sent(value):
    parts = by_sizes((9, 9), (9, 9), (9, 9))
    values = parts["b"].values.copy()
    values[4] = value
    parts["b"] = Scored(values, parts["b"].probability, parts["b"].codes, parts["b"].chosen)
    with pytest.raises(
        LocalError, match=r"b: the model's score of 1 records is not a number, the first being number 5"
    ):
        counted(parts)


def test_too_few_records_are_refused_in_one_line():
    with pytest.raises(
        LocalError,
        match="the evaluation has 6 records over all parties, fewer than 5 of each class, and nothing is opened",
    ) as caught:
        counted(by_sizes((1, 1), (1, 1), (1, 1)))
    assert "\n" not in str(caught.value)


def test_a_class_of_few_records_is_left_out_of_everything():
    parts = by_sizes((9, 9, 1), (9, 9, 1), (9, 9, 2))
    tally = counted(parts, classes=3).tally
    assert tally.left_out == (2,)
    assert tally.confusion[2].sum() == 0
    assert all(curve.positives.sum() + curve.negatives.sum() == 54 for curve in tally.curves)


def test_a_class_that_nobody_has_and_a_site_of_one_class_are_no_trouble():
    tally = counted(by_sizes((9, 0, 0), (0, 9, 0), (9, 0, 0)), classes=3).tally
    assert tally.left_out == ()
    assert tally.confusion.sum() == 27
    assert np.isnan(tally.curves[2].roc_auc).all()


def test_sites_that_agree_show_their_own_and_the_rest_is_hidden_among_three():
    parts = {name: scored((9, 9), i) for i, name in enumerate("vwxyz")}
    found = counted(parts, per_site={"v": 5, "w": 5})
    assert set(found.sites) == {"v", "w"}
    rest = found.tally.confusion - sum(each.confusion for each in found.sites.values())
    assert rest.sum() == 54


@pytest.mark.parametrize("named", [("a", "b"), ("a", "b", "c")])
def test_naming_all_but_one_or_two_sites_is_refused_before_anything_is_sent(named):
    rest = " and ".join(name for name in NAMES if name not in named)
    with pytest.raises(
        LocalError, match=f"per_site leaves out {rest} only, whose own counts would follow by subtraction"
    ):
        counted(by_sizes(*[(9, 9)] * 4), per_site=dict.fromkeys(named, 5))


def test_a_name_of_nobody_is_refused():
    with pytest.raises(
        LocalError, match=r"per_site names 'z', which is not one of the parties \(a, b, c\): name some of them"
    ):
        counted(by_sizes(*[(9, 9)] * 3), per_site={"z": 5})


def test_a_site_of_few_records_hides_itself_and_so_all_others():
    found = counted(by_sizes((9, 9), (9, 9), (9, 9), (9, 2)), per_site=dict.fromkeys(NAMES, 5))
    assert found.unwilling == ("d",)
    assert found.sites == {}


def test_a_site_has_a_least_number_of_its_own():
    parts = {name: scored((9, 9), i) for i, name in enumerate("uvwxyz")}
    found = counted(parts, per_site={**dict.fromkeys("uvw", 5), **dict.fromkeys("xyz", 10)})
    assert found.unwilling == ("x", "y", "z")
    assert set(found.sites) == {"u", "v", "w"}
