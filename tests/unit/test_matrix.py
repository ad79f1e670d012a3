"""The page of what works where is what the code says when it is asked: it works, or a sentence refuses it."""

from __future__ import annotations

import re

import pytest
from sklearn.base import BaseEstimator

import tacit
from tacit.base.by_name import estimators
from tacit.errors import LocalError
from unit.test_docs import generator


@pytest.fixture(scope="module")
def made():
    return generator("make_matrix")


@pytest.fixture(scope="module")
def rows(made):
    """The cells of every line, the line's name first."""
    lines = made.PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| `")]


def test_every_estimator_of_the_front_door_has_a_line_for_every_split(rows):
    named = [row[0] for row in rows]
    offered = {name for name in estimators(BaseEstimator) if name in tacit.__all__ and name != "Pipeline"}
    for name in offered:
        assert sum(bool(re.match(rf"`{name}\b", each)) for each in named) >= 3, name


def test_every_cell_says_yes_or_why_not(rows):
    for cell in (cell for row in rows for cell in row[1:]):
        assert cell == "yes" or len(cell) > 30, cell
        assert "not yet" not in cell


def test_a_refusal_is_the_sentence_of_the_proposal_itself(made, rows):
    thing = next(each for each in made.things() if each.name.startswith("SVC(") and "epsilon" in each.name)
    with pytest.raises(LocalError) as refusal:
        made.connect(thing, "vertical")
    assert ["yes", "yes"] in [row[1:] for row in rows if row[0] == f"`{thing.name}`"]  # by rows
    assert str(refusal.value) in [row[2] for row in rows if row[0] == f"`{thing.name}`"]
