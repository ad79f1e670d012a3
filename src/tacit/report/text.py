"""The report in a terminal. Every name is wrapped in `Text`: rich would read markup in a plain string."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tacit.report import release
from tacit.report.decision import decide, say_line
from tacit.report.description import HEADS, Description, rows_of, say_rule
from tacit.report.disclosures import fold_ledger
from tacit.report.evaluation import Evaluation, figures_beside, figures_of, heads_beside
from tacit.report.words import (
    clean,
    count,
    figure,
    human_bytes,
    human_seconds,
    list_candidates,
    seen_bytes,
    summary,
)

if TYPE_CHECKING:
    from tacit.report.release import Release
    from tacit.report.report import Report

ACCENT = "cyan"
NO_SCORE = "No score was measured in this run."


def render(report: Report) -> Group:
    """Return the sections in the order of the HTML page: what is to be decided, results, cost, and the ledger last."""
    return Group(
        Text(clean(report.title), style="bold"),
        Text(summary(report)),
        *_section("To decide", _decision(report)),
        *_section("Warnings", _bullets(report.warnings, "None.")),
        *_section("Result", _result(report)),
        *(() if report.release is None else _section("Release", render_release(report.release))),
        *(() if report.description is None else _section("The table", render_table(report.description))),
        *_section("Not protected", _bullets(report.not_protected, "Nothing was named.")),
        *_section("What each brought", _parties(report)),
        *_section("Cost", _cost(report)),
        *_section("Every disclosure, from the ledger", _disclosures(report)),
        Text(f"\nfingerprint {report.fingerprint}", style="dim"),
    )


def _section(heading: str, body: RenderableType) -> tuple[RenderableType, RenderableType]:
    return Text(f"\n{heading}", style=f"bold {ACCENT}"), body


def _table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
        show_header=any(columns),
        header_style="dim",
    )
    for column in columns:
        number = column in numbers
        table.add_column(column, justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def _fill(table: Table, rows: Iterable[Iterable[Any]]) -> Table:
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    return table


def _decision(report: Report) -> RenderableType:
    rows = [("" if i else point.heading, line) for point in decide(report) for i, line in enumerate(point.lines)]
    return _fill(_table("", ""), rows)


def _parties(report: Report) -> RenderableType:
    return _fill(_table("site", "held before the run"), report.parties.items())


def _disclosures(report: Report) -> RenderableType:
    lines = fold_ledger(report.learnt, list(report.parties))
    if not lines:
        return Text("No message left any site.")
    table = _table("who", "learnt", "from whom", "how often", "bytes", numbers=("how often", "bytes"))
    return _fill(table, ((li.who, say_line(li, report), li.senders, li.times, seen_bytes(li.bytes)) for li in lines))


def _bullets(lines: list[str], nothing: str) -> RenderableType:
    if not lines:
        return Text(nothing)
    grid = Table.grid(padding=(0, 1))
    return _fill(grid, (("•", line) for line in lines))


def render_table(found: Description) -> RenderableType:
    """Return what a look at a table found: a line for each column."""
    table = _fill(_table(*HEADS, numbers=("present", "missing")), rows_of(found, page=False))
    return Group(
        table, *(Text(f"warning: {clean(line)}") for line in found.warnings), Text(say_rule(found), style="dim")
    )


def _result(report: Report) -> RenderableType:
    rows = [(label, f"{score:.4f}") for label, score in (report.scores or {}).items()]
    rows += [
        (label.replace("_", " "), figure(value))
        for part in (report.comparison, report.figures)
        for label, value in (part or {}).items()
    ]
    heads = (report.metric if report.scores else "figure", "value")
    tables = [_fill(_table(*heads, numbers=heads[1:]), rows)] if rows else []
    if report.candidates:
        heads = ("candidate", f"{report.metric} ± deviation")
        tables.append(_fill(_table(*heads, numbers=heads[1:]), list_candidates(report.candidates)))
    return (
        Group(*tables, *map(_evaluation, report.evaluations.values()))
        if tables or report.evaluations
        else Text(NO_SCORE)
    )


def _evaluation(evaluation: Evaluation) -> RenderableType:
    heads = (f"on {clean(evaluation.name)}", "all", *evaluation.groups)
    notes = [Text(clean(line)) for line in (f"{evaluation.how}.", *evaluation.warnings)]
    tables = [_fill(_table(*heads, numbers=heads[1:]), figures_of(evaluation))]
    if evaluation.beside:
        heads = tuple(head.replace(", ", "\n") for head in heads_beside(evaluation))
        tables.append(_fill(_table(*heads, numbers=heads[1:]), figures_beside(evaluation)))
    return Group(*tables, *notes)


def render_release(found: Release) -> RenderableType:
    """Return the table of the release gate."""
    table = _fill(_table(*release.HEADS, numbers=("figure", "allowed")), release.list_lines(found))
    return Group(table, *(Text(clean(line), style="dim") for line in (found.how, release.SEEN) if line))


def _cost(report: Report) -> RenderableType:
    rows = [
        ("communication", f"{count(report.rounds, 'round')}, {human_bytes(report.bytes)}"),
        ("time", human_seconds(report.seconds)),
        *((f"CPU of {name}", human_seconds(seconds)) for name, seconds in report.cpu.items()),
    ]
    return _fill(_table("", ""), rows)
