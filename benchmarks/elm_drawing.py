"""003's Fig. 2: time to train by the number of parties, for its six datasets; a machine for each party.

python benchmarks/elm_drawing.py [FOLDER] [--quick] writes elm_time_by_parties.svg.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from threadpoolctl import threadpool_limits

from elm import NODES, SETS, numbers_of_parties, prepared, times
from tacit.report.canvas import TYPES, axes, draw

NAME = "elm_time_by_parties.svg"


def drawing(folder: Path, *, quick: bool = False) -> Path:
    """Measure and draw."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two parties; more nodes than rows
        measured = {name: _measured(name, quick=quick) for name in SETS}
    label = f"Time to train an extreme learning machine of {NODES} nodes by the number of parties, for six datasets"
    path = folder / NAME
    path.write_text(draw("elm", label, (7.0, 3.6), lambda figure: _paint(figure, measured)), encoding="utf-8")
    return path


def _measured(name: str, *, quick: bool) -> dict[int, float]:
    data = prepared(name)
    return times(data, numbers_of_parties(data, quick=quick), repeats=1 if quick else 5)


def _paint(figure: Drawing, measured: dict[str, dict[int, float]]) -> None:
    ax = axes(figure, f"Training time by the number of parties, {NODES} nodes", "parties", "milliseconds, a machine each")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator([2, 4, 8, 16, 32, 64]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
    for colour, (name, spent) in zip(TYPES, measured.items(), strict=False):
        ax.plot(list(spent), [1e3 * s for s in spent.values()], marker="o", markersize=3, color=colour, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--quick", action="store_true", help="fewer parties, once each")
    asked = parser.parse_args()
    print(drawing(asked.folder, quick=asked.quick))
