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
