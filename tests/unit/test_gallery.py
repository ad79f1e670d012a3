"""The notebooks of the gallery: each runs as it stands, and shows what it prints without being run."""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "gallery").glob("*.ipynb"))


@pytest.fixture
def gallery(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import gallery  # noqa: PLC0415 - a tool, which is no package

    yield gallery
    del sys.modules["gallery"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_its_output_without_being_run(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) - 1
    assert [each for cell in cells for each in cell.outputs if each.output_type == "error"] == []


def test_the_page_lists_every_notebook(gallery):
    assert len(NOTEBOOKS) >= 4
    assert (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8") == gallery.list_all()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_listed_with_its_first_plot_or_with_how_its_table_is_split(path, gallery):
    card = gallery.list_all().partition(f"({path.name})")[2].partition("\n:::\n")[0]
    picture = path.parent / re.search(r":img-top: (.*)", card)[1]
    plots = [each for data in contents(path) for kind, each in data.items() if kind == "image/png"]
    if plots:
        assert picture.read_bytes() == base64.b64decode(plots[0])
    else:
        assert picture.name == {"first_steps": "rows.svg", "bank_and_insurers": "columns.svg"}[path.stem]
        assert picture.exists()


def contents(path):
    """Return what a notebook shows, by media type."""
    cells = nbformat.read(path, as_version=4).cells
    return [output.data for cell in cells for output in cell.get("outputs", []) if "data" in output]


def test_a_notebook_that_shows_nothing_to_draw_is_named(gallery, tmp_path):
    words = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Words")], metadata={"seconds": 1})
    nbformat.write(words, tmp_path / "words.ipynb")
    gallery.GALLERY = tmp_path
    with pytest.raises(SystemExit, match=r"words\.ipynb shows neither a plot nor a federation"):
        gallery.list_all()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path, gallery):
    ran = gallery.execute(path)
    kept = nbformat.read(path, as_version=4)
    assert [cell.source for cell in ran.cells] == [cell.source for cell in kept.cells]
    assert [each for cell in ran.cells for each in cell.get("outputs", []) if each.output_type == "error"] == []
