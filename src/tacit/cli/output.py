"""What commands write: to the terminal, to files that can be written, and while one waits."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.errors import LocalError
from tacit.report.words import clean

if TYPE_CHECKING:
    from tacit.progress import Watch

from collections.abc import Sequence
from typing import NamedTuple

from tacit.choreo.fact import Facts
from tacit.choreo.ledger import Learnt, Opened
from tacit.report import Report
from tacit.report.disclosures import BESIDES, list_known
from tacit.report.words import cost_of, figure, listing, often


def console() -> Console:
    """Return stdout, without colours and control characters where it is no terminal."""
    return Console(highlight=False)


def print_json(**values: Any) -> None:
    """Print exactly one JSON object on stdout."""
    typer.echo(json.dumps(values, indent=2))


def csv_of(lines: Iterable[Iterable[Any]]) -> str:
    """Return the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def table(*columns: str, rows: Iterable[Iterable[str]], numbers: tuple[str, ...] = ()) -> Table:
    """Return a table that reads well at 80 columns; cells are `Text`, since rich would read markup in names."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(columns), header_style="dim")
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    return made


def check_targets(targets: Mapping[str, Path | None], sources: Iterable[Path]) -> None:
    """Refuse, before any work, files that could not be written at its end, or that would replace an input."""
    inputs = {source.resolve() for source in sources}
    for option, target in targets.items():
        if target is None:
            continue
        if target.is_dir() or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            hint = "name a file in a directory that exists and is yours to write"
            raise LocalError(f"{option} {target} cannot be written: {hint}")
        if target.resolve() in inputs:
            raise LocalError(f"{option} {target} is given twice, and one would replace the other: name another file")
        inputs.add(target.resolve())


@dataclass
class Steps:
    """A bar of whole steps; within a step the work of a run moves it on."""

    watch: Watch

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show a step while it is done."""
        from tacit.progress import watching  # noqa: PLC0415 - NumPy is for those who wait

        with watching(what):
            yield
        self.watch.end_step()

    def name(self, what: str) -> None:
        """Say what is going on, instead of the step's own name."""
        self.watch.names[-1] = what


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Show a bar with the time left on stderr; it goes when done, and never comes without a terminal."""
    from tacit.progress import watching  # noqa: PLC0415 - NumPy is for those who wait

    with watching("", steps=total, delay=0.0) as watch:
        yield Steps(watch)


# A report short enough for a terminal: its figures, and who learnt what, alike parties sharing a line


class Line(NamedTuple):
    """Who learnt what, from whom, how often."""

    who: str
    learnt: str
    senders: str
    times: str


def figures(report: Report) -> list[tuple[str, str]]:
    """Return the cost, the gap to the centralised learner and the warnings, a line each."""
    gap = [(name, figure(value)) for name, value in (report.comparison or {}).items()]
    return [
        ("cost", cost_of(report.rounds, report.bytes, report.seconds)),
        *gap,
        *(("warning", text) for text in report.warnings),
    ]


def summarise_known(opens: Sequence[Opened]) -> list[tuple[str, str]]:
    """Return what each role knows as the outermost protocol sums it up, with what that cannot say itself."""
    return list_known(opened for opened in opens if opened.protocol in {opens[0].protocol, *BESIDES})


def list_disclosures(learnt: Iterable[Learnt], sites: Sequence[str]) -> list[Line]:
    """Return the ledger's folded rows with equal ones merged, whoever sent or received them."""
    groups: dict[tuple[str, Facts, int], list[Learnt]] = {}
    for row in learnt:
        groups.setdefault((row.message, row.facts, row.times), []).append(row)
    return [line for rows in groups.values() for line in _lines(rows, sites)]


def print_disclosures(screen: Console, report: Report) -> None:
    """Print who knows what, and who learnt it from whom."""
    screen.print("\nWho knows what after training", style="bold")
    screen.print(table("who", "knows", rows=list_known(report.opens)))
    screen.print("\nWho learnt what, from the ledger of every message", style="bold")
    rows = list_disclosures(report.learnt, list(report.parties))
    screen.print(table("who", "learnt", "from whom", "how often", rows=rows))


def _lines(rows: list[Learnt], sites: Sequence[str]) -> list[Line]:
    receivers, senders = tuple(dict.fromkeys(r.who for r in rows)), tuple(dict.fromkeys(r.from_whom for r in rows))
    alike = {(r, s) for r in receivers for s in senders if r != s} == {(r.who, r.from_whom) for r in rows}
    if alike:
        return [_line(_receivers(receivers, senders, sites), rows[0], senders)]
    return [_line(who, rows[0], tuple(r.from_whom for r in rows if r.who == who)) for who in receivers]


def _line(who: str, row: Learnt, senders: tuple[str, ...]) -> Line:
    return Line(who, row.learnt, listing(senders), often(row.times) + (" each" if len(senders) > 1 else ""))


def _receivers(receivers: tuple[str, ...], senders: tuple[str, ...], sites: Sequence[str]) -> str:
    if set(receivers) == set(sites):
        return "everyone"
    if len(senders) == 1 and {*receivers, *senders} == set(sites):
        return "everyone else"
    return listing(receivers)
