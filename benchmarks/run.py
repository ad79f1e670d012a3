"""Print the figures: python benchmarks/run.py [--quick] [--only NAME]."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

from figures import Figure, MissingDataError

SUITES = ("secure_sum", "gram", "network")


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
    start, rows = time.perf_counter(), []
    try:
        with console.status(f"{name} ...") as status:
            for figure in module.figures(quick):
                rows.append(figure)
                status.update(f"{name}: {len(rows)} figures, the last: {figure.name}")
    except MissingDataError as error:
        console.print(f"{name} left out: {error}")
    console.print(_table(f"{name}: {module.__doc__.strip()} ({time.perf_counter() - start:.0f} s)", rows))
    return sum(figure.met is False for figure in rows)


def _table(title: str, rows: list[Figure]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
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
