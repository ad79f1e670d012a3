"""The page of what works where is what the code says when it is asked, and every yes has a case that shows it."""

from __future__ import annotations

import re

import pytest
from sklearn.base import BaseEstimator

from conformance.cases import CASES, ON_SPARK
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


def test_every_estimator_of_the_front_door_has_a_line(rows):
    named = " ".join(row[0] for row in rows)
    offered = {name for name in estimators(BaseEstimator) if name != "Pipeline"}
    assert {name for name in offered if not re.search(rf"\b{name}\b", named)} == set()


def test_every_yes_names_conformance_cases_that_exist(rows):
    shown = [cell for row in rows for cell in row[1:] if cell.startswith("yes")]
    assert shown
    for cell in shown:
        names = re.findall(r"`([a-z0-9_]+)`", cell)
        assert names
        assert set(names) <= set(CASES)


def test_no_cell_puts_anything_off(rows):
    for cell in (cell for row in rows for cell in row[1:]):
        assert cell.startswith("yes: ") or len(cell) > 30, cell
        assert "not yet" not in cell


def test_what_simulates_is_known_to_the_matrix_as_the_estimators_say(made):
    thing = next(each for each in made.things() if each.name == "PanSVC")
    assert made.meet(thing, "horizontal")[1] == ["pan_svm"]
    assert made.meet(thing, "vertical") is None


def test_a_refusal_is_the_sentence_of_the_proposal_itself(made):
    thing = next(each for each in made.things() if each.name == "ConsensusSVC(kernel='rbf')")
    with pytest.raises(LocalError) as refusal:
        made.connect(thing, "horizontal")
    assert made.cell(made.connect, thing, "horizontal", CASES) == str(refusal.value)


def test_a_yes_that_no_case_shows_is_an_error(made):
    thing = next(each for each in made.things() if each.name == "PanSVC")
    with pytest.raises(made.UnshownError, match="no conformance case plays pan_svm: add one"):
        made.cell(made.connect, thing, "horizontal", {})


def test_the_lines_of_a_search_are_those_learners_that_can_be_searched(made):
    names = {each.name for each in made.things()}
    assert {"FederatedGridSearch of PanSVC", "FederatedGridSearch of GramSVC"} <= names
    assert "FederatedGridSearch of ConsensusSVC" not in names


@pytest.mark.slow
def test_the_page_is_what_the_code_says(made):
    assert made.PAGE.read_text(encoding="utf-8") == made.page(CASES, ON_SPARK), "run: make generated"
