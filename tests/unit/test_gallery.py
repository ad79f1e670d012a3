"""The notebooks of the gallery: each runs as it stands, and shows what it prints without being run."""

from __future__ import annotations

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


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path, gallery):
    ran = gallery.execute(path)
    kept = nbformat.read(path, as_version=4)
    assert [cell.source for cell in ran.cells] == [cell.source for cell in kept.cells]
    assert [each for cell in ran.cells for each in cell.get("outputs", []) if each.output_type == "error"] == []
