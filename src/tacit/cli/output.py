"""What commands write: to the terminal, to files that can be written, and while one waits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tacit.errors import LocalError
from tacit.report.words import clean


def console() -> Console:
    """stdout; without colours and control characters where it is no terminal."""
    return Console(highlight=False)


def print_json(values: Mapping[str, Any]) -> None:
    """Exactly one JSON object on stdout."""
    typer.echo(json.dumps(values, indent=2))


def table(*columns: str, rows: Iterable[Iterable[str]], numbers: tuple[str, ...] = ()) -> Table:
    """A table that reads well at 80 columns; cells are wrapped in `Text`, since rich would read markup in names."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), show_header=any(columns), header_style="dim")
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
            raise LocalError(f"{option} {target} cannot be written: name a file in a directory that exists and is yours to write")
        if target.resolve() in inputs:
            raise LocalError(f"{option} {target} is given twice, and one would replace the other: name another file")
        inputs.add(target.resolve())


@dataclass
class Steps:
    """A bar of whole steps; within a step the rounds of a run move it on."""

    bar: Progress
    task: TaskID
    done: int = 0

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """One step."""
        self.bar.update(self.task, description=what)
        yield
        self.done += 1
        self.bar.update(self.task, completed=self.done)

    def rounds(self, place: str, done: int, total: int) -> None:
        """What `Federation.progress` calls."""
        del place
        # one step may hold several loops, and work after the last round: never backwards, never quite full
        reached = max(self.bar.tasks[self.task].completed, self.done + done / (total + 1))
        self.bar.update(self.task, completed=reached)


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """A progress bar with the time left, on stderr; gone when done, and never there without a terminal."""
    err = Console(stderr=True)
    columns = (TextColumn("{task.description:<16}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        yield Steps(bar, bar.add_task("", total=total))
