"""What training costs: CPU time against rows, columns, parties and landmarks, beside scikit-learn on pooled records."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, NullLocator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Picture, Step, Table
from gpu import generate
from tacit.report.canvas import TYPES, draw, entitle

LABEL = "CPU seconds to train, by rows, columns, parties and landmarks; all parties together"
LEAST = 0.001  # seconds that a logarithmic axis shows


@dataclass(frozen=True)
class Size:
    """What a training is of."""

    rows: int
    columns: int = 28
    parties: int = 5
    landmarks: int = 200

    def others(self, axis: str) -> str:
        """Return what stays as it is along an axis, in words."""
        return ", ".join(f"{value} {name}" for name, value in dataclasses.asdict(self).items() if name != axis)


FULL = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "columns": (10, 30, 100, 300),
    "parties": (2, 5, 10, 20, 50),
    "landmarks": (50, 100, 200, 500, 1000),
}
QUICK = {
    "rows": (5_000, 10_000, 20_000, 50_000),
    "columns": (10, 30, 100),
    "parties": (2, 5, 10, 20),
    "landmarks": (50, 100, 200, 400),
}


def figures(quick: bool) -> Iterator[Picture | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure a curve along every axis for every learner, and draw them."""
    base, axes = Size(20_000 if quick else 100_000), QUICK if quick else FULL
    measured = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(Size(1_000, landmarks=20))  # compiled, and imported
        for done, (axis, values) in enumerate(axes.items()):
            yield Step("axes", done, len(axes))
            measured[axis] = {value: measure(dataclasses.replace(base, **{axis: value})) for value in values}
            yield tabulate(axis, base, measured[axis])
    image = draw("performance", LABEL, (7.5, 5.6), lambda figure: paint(figure, base, measured))
    yield Picture("performance.svg", LABEL, image.encode())


def measure(size: Size) -> dict[str, float]:
    """Return the CPU seconds of every learner."""
    X, y = generate(size.rows, size.columns)
    federation, spent = tacit.Federation.simulate(X, y, parties=size.parties), {}
    for name, (learner, pooled) in LEARNERS.items():
        records = (X, y) if pooled else (federation.forget(),)
        model, start = learner(size), time.process_time()
        model.fit(*records)
        spent[name] = time.process_time() - start
    return spent


def tabulate(axis: str, base: Size, found: dict[int, dict[str, float]]) -> Table:
    """Return the seconds along an axis as a table."""
    rows = ((str(value), *(f"{seconds:.2f}" for seconds in spent.values())) for value, spent in found.items())
    return Table(f"CPU seconds by {axis}: {base.others(axis)}", (axis, *LEARNERS), tuple(rows))


def paint(figure: Drawing, base: Size, measured: dict[str, dict[int, dict[str, float]]]) -> None:
    """Draw a plot for every axis, all with the same scale of seconds."""
    entitle(figure, "CPU seconds to train, all parties together")
    plots = figure.subplots(2, 2, sharey=True).flat
    for ax, (axis, found) in zip(plots, measured.items(), strict=True):
        _paint_axis(ax, axis, base, found)
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(LEARNERS))


def _paint_axis(ax: Axes, axis: str, base: Size, found: dict[int, dict[str, float]]) -> None:
    ax.set(xscale="log", yscale="log", xlabel=axis)
    ax.set_title(base.others(axis), fontsize=8)
    ax.set_xticks(list(found), [f"{value:,}" for value in found])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    for colour, name in zip(TYPES, LEARNERS, strict=False):
        ax.plot(list(found), [max(spent[name], LEAST) for spent in found.values()], color=colour, label=name,
                marker="o", markersize=3, linestyle="--" if LEARNERS[name][1] else "-")  # fmt: skip


def _nystroem(size: Size) -> Any:
    mapped = Nystroem(gamma=0.5 / size.columns, n_components=size.landmarks, random_state=0)
    return make_pipeline(mapped, SGDClassifier(random_state=0))


def _machine(size: Size) -> Any:
    return tacit.SVC(gamma=0.5 / size.columns, features=size.landmarks, alpha=0.1, random_state=0)


def _straight(_: Size) -> Any:
    return tacit.SVC(kernel="linear", alpha=0.1, random_state=0)


def _linear(_: Size) -> Any:
    return LinearSVC(C=1.0)


LEARNERS: dict[str, tuple[Callable[[Size], Any], bool]] = {  # and whether it learns from pooled records
    "SVC": (_machine, False),
    "Nystroem + SGD": (_nystroem, True),
    "SVC, linear": (_straight, False),
    "LinearSVC": (_linear, True),
}
