"""Draw the figures of paper 004: python benchmarks/drawings.py [--quick] [--folder FOLDER]."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import TypeVar

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

import drawing_data as data
import drawing_paint as paint
from figures import MissingDataError, Step
from tacit.report.canvas import STYLE

FOLDER = Path(__file__).parent.parent / "build" / "figures"
T = TypeVar("T")
Painter = Callable[[Drawing], None]
Drawings = dict[str, tuple[tuple[float, float], Painter]]


def main() -> int:
    """Measure and draw all of them; the files are listed as they are written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer points, from fewer rows")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pictures go")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    extent = data.QUICK if options.quick else data.Extent()
    try:
        with threadpool_limits(1):
            for part in (_chapter_3, _chapter_4):
                for name, (size, painter) in part(extent).items():
                    print(_written(options.folder / f"{name}.png", size, painter), flush=True)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _chapter_3(extent: data.Extent) -> Drawings:
    shares, times = _run(data.by_share(extent)), _run(data.by_size(extent))
    numbers, procedures, sizes = _run(data.by_number(extent)), _run(data.by_procedure(extent)), data.sizes(extent)
    return {
        "fig_3_05": ((8.0, 4.6), partial(paint.accuracy_by_share, found=shares)),
        "fig_3_10": ((9.0, 6.4), partial(paint.time_and_rounds, found=times, sizes=sizes)),
        "fig_3_11": ((7.2, 4.4), partial(paint.time_by_landmarks, found=numbers)),
        "fig_3_12": ((8.0, 4.4), partial(paint.time_by_procedure, found=procedures, sizes=sizes)),
    }


def _chapter_4(extent: data.Extent) -> Drawings:
    found = _run(data.of_classes(extent))
    return {
        "fig_4_05": ((9.0, 5.4), partial(paint.classes_by_landmarks, found=found)),
        "fig_4_06": ((8.0, 3.8), partial(paint.bars_of_validation, found=found, method=data.PAN, number="4.6")),
        "fig_4_07": ((8.0, 3.8), partial(paint.bars_of_validation, found=found, method=data.LIBSVM, number="4.7")),
        "fig_4_08": ((7.2, 4.2), partial(paint.curves_of_validation, found=found, cv="CV2", number="4.8")),
        "fig_4_09": ((7.2, 4.2), partial(paint.curves_of_validation, found=found, cv="CV1", number="4.9")),
    }


def _run(work: Generator[Step, None, T]) -> T:
    """What the generator returns; a bar of its steps on a terminal, elsewhere a line for each tenth."""
    err = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal, speed_estimate_period=600) as bar:
        task = bar.add_task("...", total=None)
        while True:
            try:
                step = next(work)
            except StopIteration as end:
                found: T = end.value
                return found
            bar.update(task, description=step.name, completed=step.done, total=step.total)
            if bar.disable and step.done * 10 % step.total < 10:
                err.print(f"{step.name}, {step.done} of {step.total}", soft_wrap=True)


def _written(path: Path, size: tuple[float, float], painter: Painter) -> Path:
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=size, layout="constrained")
        painter(drawing)
        drawing.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15, facecolor="white")
    return path


if __name__ == "__main__":
    sys.exit(main())
