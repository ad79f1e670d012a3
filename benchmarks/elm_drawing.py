"""003's Fig. 2: time to train by the number of parties, for its six datasets; a machine for each party."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from threadpoolctl import threadpool_limits

from elm import NODES, SETS, numbers_of_parties, prepared, times
from figures import Picture, Step
from tacit.report.canvas import TYPES, axes, draw

LABEL = f"Fig. 2: time to train an extreme learning machine of {NODES} nodes by the number of parties, for six datasets"


def figures(quick: bool) -> Iterator[Picture | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure the curves and draw them."""
    measured = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two parties; more nodes than rows
        for done, name in enumerate(SETS):
            yield Step("six datasets", done, len(SETS))
            measured[name] = _measure(name, quick=quick)
    image = draw("elm", LABEL, (7.0, 3.6), lambda figure: _paint(figure, measured))
    yield Picture("elm_time_by_parties.svg", LABEL, image.encode())


def _measure(name: str, *, quick: bool) -> dict[int, float]:
    data = prepared(name)
    return times(data, numbers_of_parties(data, quick=quick), repeats=1 if quick else 5)


def _paint(figure: Drawing, measured: dict[str, dict[int, float]]) -> None:
    ax = axes(
        figure, f"Training time by the number of parties, {NODES} nodes", "parties", "milliseconds, a machine each"
    )
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator([2, 4, 8, 16, 32, 64]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
    for colour, (name, spent) in zip(TYPES, measured.items(), strict=False):
        ax.plot(list(spent), [1e3 * s for s in spent.values()], marker="o", markersize=3, color=colour, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
