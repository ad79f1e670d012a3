"""What a notebook shows of federations, reports, ledgers and searches."""

from __future__ import annotations

import re
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from sklearn.datasets import load_iris

import tacit

X, Y = load_iris(return_X_y=True, as_frame=True)
HOSTILE = '<script>alert("1")</script>'
FETCHES = re.compile(r"https?:|<script|<img|<link|@import|url\(|src=", re.IGNORECASE)


@pytest.fixture(scope="module")
def federation():
    return tacit.simulate(X, Y, parties=["north", "south", HOSTILE], partition="vertical")


@pytest.fixture(scope="module")
def search(federation):
    return tacit.FederatedGridSearch(tacit.SVC(), {"alpha": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]}).fit(federation)


def test_a_federation_shows_who_holds_what_and_no_value(federation):
    shown = federation._repr_html_()
    for words in ("vertical, 150 x 4", "north", "south", "petal length (cm)", "coordinator: coordinator"):
        assert words in shown
    assert not [value for value in np.unique(X) if f">{value}<" in shown]


def test_cells_are_counted_as_their_owners_have_them():
    shown = tacit.simulate(X, Y, parties=3, partition="arbitrary")._repr_html_()
    owned = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) cells of 4 columns", shown)]
    assert sum(owned) == X.size


def test_a_report_begins_with_who_knows_what_and_folds_the_rest_away(search):
    shown = search.best_estimator_.report_._repr_html_()
    known, folded = shown.index("the weights"), shown.index("<details>")
    assert known < folded < shown.index("Poisoned inputs")


def test_the_report_of_a_pipeline_tells_of_every_step(federation):
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC())]
    before_folds = tacit.Pipeline(steps).fit(federation).report_._repr_html_().partition("<details>")[0]
    assert "the weights" in before_folds


def test_a_warning_is_shown_and_not_folded_away():
    two = tacit.simulate(X, Y, parties=2, partition="vertical")
    shown = tacit.SVC().fit(two).report_._repr_html_()
    assert "only 2 parties hold data" in two._repr_html_()
    assert "only 2 parties hold data" in shown.partition("<details>")[0]


def test_a_search_shows_scikit_learns_drawing_then_the_best_candidate(search):
    shown = search._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in shown
    assert f"best: alpha={search.best_params_['alpha']!r}" in shown
    assert "1 more" in shown
    assert "tacit-card" not in tacit.FederatedGridSearch(tacit.SVC(), {"alpha": [1]})._repr_mimebundle_()["text/html"]


def test_a_ledger_shows_the_outermost_protocol_then_every_message(federation):
    ledger = federation.run(tacit.SVC().request(federation)).ledger
    shown = ledger._repr_html_()
    assert f"{len(ledger):,} messages in {ledger.rounds:,} rounds" in shown
    assert "train_svm" in shown.partition("<details>")[0]
    assert "Opening" in shown.partition("<details>")[2]


def test_names_are_escaped_and_nothing_is_fetched(federation, search):
    cards = [federation._repr_html_(), search.report_._repr_html_(), search.best_estimator_.report_._repr_html_()]
    assert HOSTILE not in "".join(cards)
    assert "&lt;script&gt;" in cards[0]
    assert not [FETCHES.findall(card) for card in cards if FETCHES.search(card)]


@pytest.mark.slow
def test_a_real_notebook_shows_all_of_them(tmp_path):
    """Cells are executed by a kernel; the page is what a reader of the notebook gets."""
    cells = [
        "import tacit\nfrom sklearn.datasets import load_iris\nX, y = load_iris(return_X_y=True, as_frame=True)",
        "fed = tacit.simulate(X, y, parties=['north', 'south', 'east'], partition='vertical')\nfed",
        "search = tacit.FederatedGridSearch(tacit.SVC(), {'alpha': [0.1, 1.0]}).fit(fed)\nsearch",
        "search.report_",
        "fed.run(tacit.SVC().request(fed)).ledger",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "look.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "look.ipynb"]
    # our own command
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=200)  # noqa: S603
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert page.count('class="tacit-card"') == 5  # the search has a report folded into its own
    for words in ("Federation: vertical, 150 x 4", "FederatedGridSearch: accuracy", "knows after the run", "Ledger"):
        assert words in page
