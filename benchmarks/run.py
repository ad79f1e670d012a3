"""Print the figures: python benchmarks/run.py [--quick] [--only NAME ...] [--results FOLDER]."""

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
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from figures import Figure, Found, MissingDataError, Picture, Step, Table
from results import Measured

SUITES = (
    "light",
    "gram",
    "gram_partitions",
    "blind",
    "blind_network",
    "align",
    "svc",
    "svc_accuracy",
    "svc_network",
    "svc_epsilon",
    "selection",
    "pan",
    "streaming",
    "gpu",
    "chosen_studies",
    "poisoning",
    "shift",
    "elm",
    "consensus",
    "network",
    "network_study",
    "chaos",
    "twenty",
    "letters",
    "spark",
    "preparing",
    "study",
    "performance",
    "defaults",
    "gate",
    "membership",
)
DRAWINGS = ("elm_drawing",)


def main() -> int:
    """Run every suite, or some of them; exit code 1 if a figure was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, under five minutes")
    parser.add_argument(
        "--only",
        choices=(*SUITES, *DRAWINGS),
        nargs="+",
        default=SUITES,
        metavar="NAME",
        help="these suites or drawings",
    )
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="write NAME.json and pictures of each into it")
    options = parser.parse_args()
    if not options.results and {*options.only} & {*DRAWINGS}:
        parser.error("drawings are files: say where to write them, --results FOLDER")
    console = Console(width=110)
    console.print(_machine())
    found: list[Figure] = []
    for name in options.only:
        found += run_suite(console, name, quick=options.quick, results=options.results)
    if earlier := [figure for figure in found if figure.before]:
        console.print(_table("What 0.1.0 had, and what there is now", earlier))
    missed = count_missed(found)
    console.print(f"{missed} figures missed" if missed else "all figures met")
    return 1 if missed else 0


def count_missed(figures: list[Figure]) -> int:
    """Return how many figures are not what is asked for."""
    return sum(figure.met is not None and not figure.met for figure in figures)


def run_suite(console: Console, name: str, *, quick: bool, results: Path | None) -> list[Figure]:
    """Run a suite, print what it finds and write it into the folder if there is one; return its figures."""
    module = importlib.import_module(name)
    start, rows, tables, pictures = time.perf_counter(), [], [], []
    try:
        with _display(name) as show:
            for found in module.figures(quick):
                rows += [found] if isinstance(found, Figure) else []
                tables += [found] if isinstance(found, Table) else []
                pictures += [found] if isinstance(found, Picture) else []
                show(found)
    except MissingDataError as error:
        console.print(f"{name} left out: {error}")
        results = None  # half a suite is no result
    finally:  # what was measured is shown, whatever comes after it
        for table in tables:
            console.print(_lay_out(table), "")
    seconds, about = time.perf_counter() - start, module.__doc__.strip()
    console.print(_table(f"{name}: {about} ({seconds:.0f} s)", rows) if rows else f"{name}: {about} ({seconds:.0f} s)")
    if results:
        run = {"suite": name, "about": about, "machine": _machine(), "quick": quick, "seconds": seconds}
        console.print(Measured(**run, figures=rows, tables=tables, pictures=pictures).write(results))
    return rows


@contextmanager
def _display(suite: str) -> Iterator[Callable[[Found], None]]:
    """Show a bar with the time left on a terminal; elsewhere a line for every tenth of what takes long."""
    err = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal, speed_estimate_period=600)
    task = bar.add_task(f"{suite} ...", total=None)

    def show(found: Found) -> None:
        if not isinstance(found, Step):
            name = found.name if isinstance(found, Figure) else found.title
            bar.reset(task, description=f"{suite}, after: {name}", total=None)
            return
        bar.update(
            task,
            description=f"{suite}: {found.name}, {found.done} of {found.total}",
            completed=found.done,
            total=found.total,
        )
        if bar.disable and found.done * 10 % found.total < 10:
            left = bar.tasks[0].time_remaining
            err.print(
                bar.tasks[0].description, "" if left is None else f"(about {left / 60:.0f} min left)", soft_wrap=True
            )

    with bar:
        yield show


def _lay_out(table: Table) -> RichTable:
    printed = RichTable(title=table.title, title_justify="left", box=None, pad_edge=False)
    for i, column in enumerate(table.columns):
        printed.add_column(column, justify="right" if i else "left")
    for row in table.rows:
        printed.add_row(*row)
    return printed


def _table(title: str, rows: list[Figure]) -> RichTable:
    table = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    cells = {
        "figure": [figure.name for figure in rows],
        "0.1.0": [figure.before for figure in rows],
        "measured": [figure.measured for figure in rows],
        "asked": [figure.asked for figure in rows],
        "": [{None: "", True: "met", False: "MISSED"}[figure.met] for figure in rows],
        "paper": [figure.paper for figure in rows],
    }
    told = {head: column for head, column in cells.items() if any(column)}
    for head in told:
        table.add_column(head, justify="right" if head == "measured" else "left")
    for row in zip(*told.values(), strict=True):
        table.add_row(*row)
    return table


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "cryptography"))
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f}"
    return f"{platform.machine()}, {load}, Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    sys.exit(main())
