"""What benchmarks measured stands on the pages of the papers: files are complete, and pages draw what they name."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAPERS = sorted((DOCS / "papers").glob("*.md"))
FILES = sorted((DOCS / "results").glob("*.json"))
LEAST = 25  # numbers of the papers beside ours


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        import measured  # noqa: PLC0415 - it lies beside the pages

        yield measured
        sys.modules.pop("measured")


@pytest.fixture
def written():
    """A result as a suite leaves it."""
    figures = [
        {"name": "accuracy, rows", "measured": "99.2 %", "asked": "", "met": None, "paper": "99 % (Table 1)"},
        {"name": "time", "measured": "2 s", "asked": "under 1 s", "met": False, "paper": ""},
    ]
    table = {"title": "Table 3", "columns": ["", "here", "the paper's"], "rows": [["a", "1", "2"], ["b", "3", ""]]}
    table["paper"] = ["the paper's"]
    pictures = [{"file": "some.svg", "title": "Fig. 2: time"}]
    return {"suite": "some", "figures": figures, "tables": [table], "pictures": pictures}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_result_says_where_when_and_how_it_was_measured(path):
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["suite"] == path.stem
    assert f"--only {path.stem}" in told["command"]
    assert ("--quick" in told["command"]) is told["quick"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", told["date"])
    assert re.fullmatch(r"\d+\.\d+\S*", told["version"])
    assert "Python" in told["machine"]
    assert "cores" in told["machine"]
    assert told["about"]
    assert told["figures"] or told["tables"] or told["pictures"]
    assert all((path.parent / picture["file"]).exists() for picture in told["pictures"])


def test_every_suite_that_a_page_draws_was_measured_and_none_in_vain(measured):
    drawn = {suite for page in DOCS.rglob("*.md") for suite, _ in measured.asked_for(page)}
    assert drawn == {path.stem for path in FILES}


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.stem)
def test_a_page_draws_only_lines_that_were_measured(page, measured):
    for suite, wanted in measured.asked_for(page):
        found = measured.read(suite)
        assert measured.draw(found, wanted) or measured.show(found, wanted)


def test_enough_numbers_of_the_papers_stand_beside_ours(measured):
    asked = [each for page in PAPERS for each in measured.asked_for(page)]
    tables = [table for suite, wanted in asked for table in measured.draw(measured.read(suite), wanted)]
    assert sum(table.printed() for table in tables) >= LEAST


def test_every_page_of_a_paper_has_a_number_of_the_paper(measured):
    for page in PAPERS:
        found = [measured.draw(measured.read(suite), wanted) for suite, wanted in measured.asked_for(page)]
        assert page.stem == "index" or any(table.printed() for tables in found for table in tables), page.name


def test_a_missing_result_names_the_command_that_makes_it(measured, tmp_path):
    with pytest.raises(measured.ResultError, match=r"other\.json is missing: .*run\.py --only other --results"):
        measured.read("other", tmp_path)


def test_a_line_that_nothing_begins_with_is_an_error(measured, written):
    with pytest.raises(measured.ResultError, match=r"some\.json has nothing that begins with: speed"):
        measured.draw(written, ["time", "speed"])


def test_figures_are_drawn_without_empty_columns_and_selected_by_their_beginning(measured, written):
    (figures,) = measured.draw(written, ["time"])
    assert figures.heads == ("", "here", "asked", "")
    assert figures.rows == (("time", "2 s", "under 1 s", "missed"),)
    everything = measured.draw(written, [])
    assert [table.title for table in everything] == ["", "Table 3"]
    assert [table.printed() for table in everything] == [1, 1]


def test_a_wide_table_of_few_rows_is_turned(measured):
    heads = ("", *(f"method {k}" for k in range(6)), "printed")
    wide = measured.Drawn("Table 2", heads, (("heart", *"123456", "9"),), ("printed",))
    turned = wide.fit()
    assert turned.heads == ("", "heart")
    assert turned.rows[-1] == ("printed", "9")
    assert turned.is_papers(turned.rows[-1], 1)
    assert not turned.is_papers(turned.heads, 1)
    assert turned.printed() == wide.printed() == 1
    assert turned.fit() == turned


def test_a_quick_run_and_an_earlier_version_are_said_below_a_table(measured, written):
    written |= {"date": "2026-11-16", "version": "0.0.1", "machine": "x86_64", "quick": True}
    assert measured.describe(written) == (
        "Measured on 2026-11-16 with tacit 0.0.1, an earlier version (x86_64),"
        " in a quick run, with less data and fewer repetitions than a full one:"
    )
    now = measured.describe(written | {"version": version("tacit"), "quick": False})
    assert now.endswith("(x86_64), in a full run:")


def test_pictures_are_shown_by_the_beginning_of_their_title(measured, written):
    assert [picture["file"] for picture in measured.show(written, ["Fig. 2"])] == ["some.svg"]
    assert measured.show(written, ["time"]) == []


@pytest.fixture
def benchmarks(monkeypatch):
    """The modules of the benchmarks that pass figures on."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return SimpleNamespace(figures=import_module("figures"), run=import_module("run"))


def run_suite(benchmarks, folder, monkeypatch, *found, missing=False):
    """Run a suite that finds these things, and return how many figures it missed."""

    def find(quick):
        assert quick
        yield from found
        if missing:
            raise benchmarks.figures.MissingDataError("no such table")

    monkeypatch.setitem(sys.modules, "some", SimpleNamespace(__doc__="What it is.", figures=find))
    return benchmarks.run.count_missed(
        benchmarks.run.run_suite(Console(quiet=True), "some", quick=True, results=folder)
    )


def test_what_a_suite_finds_is_written_as_the_pages_read_it(benchmarks, measured, tmp_path, monkeypatch):
    made = benchmarks.figures
    figure = made.Figure("accuracy", "98 %", "all", np.False_, paper="99 %")
    table = made.Table("Table 1", ("", "here"), (("a", "1"), ("printed", "2")), paper=("printed",))
    picture = made.Picture("some.svg", "Fig. 1", b"<svg/>")
    assert run_suite(benchmarks, tmp_path, monkeypatch, figure, made.Step("half", 1, 2), table, picture) == 1
    told = measured.read("some", tmp_path)
    assert told["about"] == "What it is."
    assert told["command"] == "python benchmarks/run.py --only some --quick --results docs/results"
    assert told["figures"][0]["met"] is False
    assert [each.printed() for each in measured.draw(told, [])] == [1, 1]
    assert measured.show(told, []) == [{"file": "some.svg", "title": "Fig. 1"}]
    assert (tmp_path / "some.svg").read_bytes() == b"<svg/>"


def test_a_suite_whose_data_is_missing_leaves_no_result(benchmarks, tmp_path, monkeypatch):
    figure = benchmarks.figures.Figure("accuracy", "98 %")
    assert run_suite(benchmarks, tmp_path, monkeypatch, figure, missing=True) == 0
    assert list(tmp_path.iterdir()) == []


def test_drawings_ask_where_to_be_written(benchmarks, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", "--only", "elm_drawing"])
    with pytest.raises(SystemExit):
        benchmarks.run.main()
    assert "say where to write them, --results FOLDER" in capsys.readouterr().err
