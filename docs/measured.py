"""The directive `measured`: what `make results` wrote, as tables on a page.

    ```{measured} gram
    accuracy
    Table 1
    ```

draws docs/results/gram.json: the figures, tables and pictures whose names begin with one of the lines, or all of them
if there are no lines.

python docs/measured.py prints which results the pages draw.
"""  # noqa: INP001 - Sphinx and `make results` read it by its path

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
DRAWN = re.compile(r"^`{3,}\{measured\} (\S+)\n(.*?)^`{3,}$", re.MULTILINE | re.DOTALL)
WIDE = 7  # columns that fit on a page
MET = {None: "", True: "met", False: "missed"}


class ResultError(Exception):
    """A page asks for what was not measured."""


@dataclass(frozen=True)
class Drawn:
    """A table: its title, the heads of its columns, its rows, and which columns or rows hold what the paper prints."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    paper: tuple[str, ...]

    def is_papers(self, row: tuple[str, ...], column: int) -> bool:
        """Return whether a cell holds what the paper prints."""
        return self.heads[column] in self.paper or (row != self.heads and any(each in self.paper for each in row[:2]))

    def printed(self) -> int:
        """Return how many cells hold what the paper prints; a row of its own counts as one."""
        columns = sum(bool(row[k]) for row in self.rows for k, head in enumerate(self.heads) if head in self.paper)
        return columns + sum(any(label in self.paper for label in row[:2]) for row in self.rows)

    def fit(self) -> Drawn:
        """Return the table such that a page shows all of it: of many columns and few rows, turned."""
        if len(self.heads) <= max(WIDE, len(self.rows)):
            return self
        heads, *rows = zip(self.heads, *self.rows, strict=True)
        return Drawn(self.title, heads, tuple(rows), self.paper)


def read(suite: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Return what a suite measured."""
    path = folder / f"{suite}.json"
    if not path.exists():
        raise ResultError(
            f"docs/results/{path.name} is missing: python benchmarks/run.py --only {suite} --results docs/results"
        )
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def draw(found: dict[str, Any], wanted: list[str]) -> list[Drawn]:
    """Return the figures in one table, and the tables, whose names begin with what is wanted."""
    _check(found, wanted)
    figures = [figure for figure in found["figures"] if _is_wanted(figure["name"], wanted)]
    told = [_draw_table(**table) for table in found["tables"] if _is_wanted(table["title"], wanted)]
    return [_draw_figures(figures), *told] if figures else told


def show(found: dict[str, Any], wanted: list[str]) -> list[dict[str, str]]:
    """Return file and title of the pictures whose titles begin with what is wanted."""
    _check(found, wanted)
    return [picture for picture in found["pictures"] if _is_wanted(picture["title"], wanted)]


def _check(found: dict[str, Any], wanted: list[str]) -> None:
    """Raise if a wanted line is the beginning of nothing."""
    names = [figure["name"] for figure in found["figures"]]
    names += [each["title"] for kind in ("tables", "pictures") for each in found[kind]]
    for start in wanted:
        if not any(name.startswith(start) for name in names):
            raise ResultError(f"docs/results/{found['suite']}.json has nothing that begins with: {start}")


def _is_wanted(name: str, wanted: list[str]) -> bool:
    return not wanted or any(name.startswith(start) for start in wanted)


def _draw_table(title: str, columns: list[str], rows: list[list[str]], paper: list[str]) -> Drawn:
    return Drawn(title, tuple(columns), tuple(map(tuple, rows)), tuple(paper))


def _draw_figures(figures: list[dict[str, Any]]) -> Drawn:
    """Return the table of figures, without columns that are empty."""
    heads = ("", "paper", "here", "asked", "")
    rows = [(f["name"], f["paper"], f["measured"], f["asked"], MET[f["met"]]) for f in figures]
    kept = [k for k in range(len(heads)) if any(row[k] for row in rows)]
    return Drawn("", tuple(heads[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in rows), ("paper",))


def describe(found: dict[str, Any]) -> str:
    """Return when, where and with which version it was measured."""
    extent = (
        "in a quick run, with less data and fewer repetitions than a full one" if found["quick"] else "in a full run"
    )
    since = "" if found["version"] == version("tacit") else ", an earlier version"
    return f"Measured on {found['date']} with tacit {found['version']}{since} ({found['machine']}), {extent}:"


def asked_for(page: Path) -> list[tuple[str, list[str]]]:
    """Return the results that a page draws, and which lines of them."""
    return [(suite, lines.split("\n")[:-1]) for suite, lines in DRAWN.findall(page.read_text(encoding="utf-8"))]


class Measured(SphinxDirective):
    """Draw tables and pictures from a file of results."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return tables and pictures, and below them how they were measured."""
        suite, wanted = self.arguments[0], list(self.content)
        for path in (RESULTS / f"{suite}.json", Path(__file__)):
            self.env.note_dependency(str(path))
        try:
            found = read(suite)
            drawn = [node for table in draw(found, wanted) for node in _nodes_of(table.fit())]
            drawn += [_picture_of(**each) for each in show(found, wanted)]
        except ResultError as error:
            raise self.error(str(error)) from error
        note = nodes.paragraph("", f"{describe(found)} ", nodes.literal(text=found["command"]), classes=["measured"])
        return [*drawn, note]


def _picture_of(file: str, title: str) -> nodes.figure:
    return nodes.figure("", nodes.image(uri=f"/{RESULTS.name}/{file}", alt=title), nodes.caption(text=title))


def _nodes_of(drawn: Drawn) -> list[nodes.Node]:
    title = nodes.paragraph("", "", nodes.strong(text=drawn.title), classes=["measured-title"])
    return [title, _table_of(drawn)] if drawn.title else [_table_of(drawn)]


def _table_of(drawn: Drawn) -> nodes.table:
    group = nodes.tgroup(cols=len(drawn.heads))
    group += [nodes.colspec(colwidth=1) for _ in drawn.heads]
    group += nodes.thead("", _row_of(drawn, drawn.heads))
    group += nodes.tbody("", *(_row_of(drawn, row) for row in drawn.rows))
    return nodes.table("", group, classes=["measured"])


def _row_of(drawn: Drawn, cells: tuple[str, ...]) -> nodes.row:
    return nodes.row("", *(_cell_of(cell, papers=drawn.is_papers(cells, k)) for k, cell in enumerate(cells)))


def _cell_of(text: str, *, papers: bool) -> nodes.entry:
    return nodes.entry("", nodes.paragraph(text=text.replace("\n", " ")), classes=["paper"] * papers)


def setup(app: Any) -> dict[str, Any]:
    """Make the directive known to Sphinx."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    print(*sorted({suite for page in DOCS.rglob("*.md") for suite, _ in asked_for(page)}))  # noqa: T201 - `make results` reads it
