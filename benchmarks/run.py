"""Print the figures: python benchmarks/run.py [--quick] [--only NAME]."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from figures import Figure, MissingDataError, Step, Table

SUITES = (
    "secure_sum",
    "secure_product",
    "gram",
    "gram_partitions",
    "align",
    "pan_tables",
    "pan_classes",
    "pan_speed",
    "pan_selection",
    "atoms",
    "combinations",
    "grid_search",
    "shift",
    "elm",
    "consensus",
    "network",
    "letters",
    "spark",
    "preparing",
    "metrics",
    "study",
)


def main() -> int:
    """Every suite, or one of them; exit code 1 if a figure was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, under five minutes")
    parser.add_argument("--only", choices=SUITES, help="one suite")
    options = parser.parse_args()
    console = Console(width=110)
    console.print(_machine())
    missed = 0
    for name in [options.only] if options.only else SUITES:
        missed += _suite(console, name, quick=options.quick)
    console.print(f"{missed} figures missed" if missed else "all figures met")
    return 1 if missed else 0


def _suite(console: Console, name: str, *, quick: bool) -> int:
    module = importlib.import_module(name)
    start, rows, tables = time.perf_counter(), [], []
    try:
        with _display(name) as show:
            for found in module.figures(quick):
                rows += [found] if isinstance(found, Figure) else []
                tables += [found] if isinstance(found, Table) else []
                show(found)
    except MissingDataError as error:
        console.print(f"{name} left out: {error}")
    finally:  # what was measured is shown, whatever comes after it
        for table in tables:
            console.print(_printed(table), "")
    console.print(_table(f"{name}: {module.__doc__.strip()} ({time.perf_counter() - start:.0f} s)", rows))
    return sum(figure.met is False for figure in rows)


@contextmanager
def _display(suite: str) -> Iterator[Callable[[Figure | Step | Table], None]]:
    """A bar with the time left on a terminal; elsewhere a line for every tenth of what takes long."""
    err = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal, speed_estimate_period=600)
    task = bar.add_task(f"{suite} ...", total=None)

    def show(found: Figure | Step | Table) -> None:
        if not isinstance(found, Step):
            bar.reset(task, description=f"{suite}, after: {found.title if isinstance(found, Table) else found.name}", total=None)
            return
        bar.update(task, description=f"{suite}: {found.name}, {found.done} of {found.total}", completed=found.done, total=found.total)
        if bar.disable and found.done * 10 % found.total < 10:
            left = bar.tasks[0].time_remaining
            err.print(bar.tasks[0].description, "" if left is None else f"(about {left / 60:.0f} min left)", soft_wrap=True)

    with bar:
        yield show


def _printed(table: Table) -> RichTable:
    printed = RichTable(title=table.title, title_justify="left", box=None, pad_edge=False)
    for i, column in enumerate(table.columns):
        printed.add_column(column, justify="right" if i else "left")
    for row in table.rows:
        printed.add_row(*row)
    return printed


def _table(title: str, rows: list[Figure]) -> RichTable:
    table = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("figure", "measured", "asked", ""):
        table.add_column(column, justify="right" if column == "measured" else "left")
    for figure in rows:
        table.add_row(figure.name, figure.measured, figure.asked, {None: "", True: "met", False: "MISSED"}[figure.met])
    return table


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "cryptography"))
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    sys.exit(main())
