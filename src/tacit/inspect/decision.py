"""`tacit.inspect.decision_plot`: what a public model decides over two chosen columns; nobody is asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.base.estimator import choose_classes
from tacit.errors import LocalError
from tacit.report.canvas import ACCENT, INK, TYPES, Drawn, Picture, axes, short

WIDE = 3.0  # deviations to either side of the mean that are drawn
SHADES = LinearSegmentedColormap.from_list("sides", [TYPES[1], "#f5f8f8", ACCENT])
Range = tuple[float, float]


@dataclass(frozen=True, repr=False)
class DecisionPlot(Drawn):
    """What a model decides for the values of two columns, while each other column keeps one value.

    Attributes:
        names: names of the two columns.
        x, y: their values, along the sides.
        values: one row for each value of y: with two classes the decision values, with more classes the number of the
            class that is chosen, for a regressor its answers.
        classes: the classes of a classifier.
        at: the values at which all other columns are kept.
    """

    names: tuple[str, str]
    x: F64
    y: F64
    values: F64
    classes: tuple[Any, ...]
    at: dict[str, float]

    @property
    def picture(self) -> Picture:
        """The plane, coloured by what the model decides."""
        label = f"What the model decides by {self.names[0]} and {self.names[1]}"
        return Picture("decision", label, (5.4, 4.2), self._paint)

    def _paint(self, figure: Figure) -> None:
        ax = axes(figure, f"By {short(self.names[0])} and {short(self.names[1])}", *map(short, self.names))
        if len(self.classes) > 2:  # noqa: PLR2004 - two classes have one boundary
            self._paint_classes(ax)
            return
        most = (float(np.abs(self.values).max()) or 1.0) if self.classes else None
        low = None if most is None else -most
        mesh = ax.pcolormesh(self.x, self.y, self.values, cmap=SHADES, vmin=low, vmax=most)
        if self.classes and self.values.min() < 0 < self.values.max():
            ax.contour(self.x, self.y, self.values, levels=[0.0], colors=INK, linewidths=1.2)
        said = f"decision value of {self.classes[1]}" if self.classes else "answer"
        figure.colorbar(mesh, ax=ax, label=said)

    def _paint_classes(self, ax: Axes) -> None:
        colours = ListedColormap([TYPES[k % len(TYPES)] for k in range(len(self.classes))])
        ax.pcolormesh(self.x, self.y, self.values, cmap=colours, vmin=-0.5, vmax=len(self.classes) - 0.5, alpha=0.6)
        for k, name in enumerate(self.classes):
            ax.plot([], [], "s", color=TYPES[k % len(TYPES)], label=short(str(name)))
        ax.legend(loc="upper right")

    def __repr__(self) -> str:
        return f"<DecisionPlot: {self.names[0]} by {self.names[1]}, {len(self.x)} x {len(self.y)} points>"


def decision_plot(
    model: Any,
    columns: tuple[str | int, str | int],
    *,
    ranges: Mapping[str, Range] | None = None,
    at: Mapping[str, float] | None = None,
    points: int = 80,
) -> DecisionPlot:
    """Return what a public model decides for the values of two columns. It uses the model only, and no record.

    Args:
        model: a fitted model that is public (`SVC` with landmarks, an ELM), or a
            `Pipeline` or a search that ends in one.
        columns: the names, or numbers, of the two columns.
        ranges: {column: (low, high)}; by default three standard deviations around the mean, if a scaler of the
            pipeline or the landmarks of the model have made them public.
        at: {column: value} for all other columns; by default their means, or what an imputer fills gaps with.
        points: number of points along each side.
    """
    last = model[-1] if hasattr(model, "prepare") else model
    last = getattr(last, "best_estimator_", last)
    check_is_fitted(last)
    decide = last.public_decision() if hasattr(last, "public_decision") else None
    if decide is None:
        raise LocalError(
            f"decision_plot needs a model that is public, and this {type(last).__name__} is not: its parties would be"
            " asked about every point; use SVC with landmarks, or an ELM"
        )
    first = model[0] if hasattr(model, "prepare") else last
    names = _names(first)
    pair = [_find(column, names) for column in columns]
    centre, width = _known_means(model, last, names)
    centre = _fill(centre, names, at or {}, pair)
    sides = [_side(names[j], centre[j], width[j], ranges or {}, points) for j in pair]
    grid = np.tile(centre, (points * points, 1))
    grid[:, pair[0]], grid[:, pair[1]] = (side.ravel() for side in np.meshgrid(*sides))
    values = _decide(model, last, decide, grid).reshape(points, points)
    kept = {name: float(centre[j]) for j, name in enumerate(names) if j not in pair}
    classes = () if is_regressor(last) else tuple(last.classes_.tolist())
    return DecisionPlot((names[pair[0]], names[pair[1]]), sides[0], sides[1], values, classes, kept)


def _decide(model: Any, last: Any, decide: Callable[[F64], F64], grid: F64) -> F64:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # the points stand in the right order
        records = np.asarray(model.prepare(grid)) if hasattr(model, "prepare") else grid
    values = decide(records)
    wide = values.shape[1] > 1 and not is_regressor(last)
    return choose_classes(values).astype(np.float64) if wide else values[:, 0]


def _names(first: Any) -> list[str]:
    named: Array | None = getattr(first, "feature_names_in_", None)
    return [f"x{j}" for j in range(first.n_features_in_)] if named is None else [str(name) for name in named]


def _find(column: str | int, names: list[str]) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and -len(names) <= column < len(names):
        return int(column) % len(names)
    raise LocalError(f"decision_plot: the model has no column {column!r}: name two of {', '.join(names)}")


def _known_means(model: Any, last: Any, names: list[str]) -> tuple[F64, F64]:
    """Return means and deviations of the columns as far as they are public; NaN where nobody has told them."""
    centre, width = np.full(len(names), np.nan), np.full(len(names), np.nan)
    for step in [step for _, step in model.steps[:-1]] if hasattr(model, "prepare") else []:
        means = getattr(step, "mean_", getattr(step, "statistics_", None))  # of a scaler, or what fills gaps
        seen = list(step.federation_.features) if hasattr(step, "federation_") else []
        for at, name in enumerate(names):
            if means is not None and name in seen:
                centre[at] = float(means[seen.index(name)])
                width[at] = float(step.scale_[seen.index(name)]) if hasattr(step, "scale_") else width[at]
    centres = getattr(getattr(last.model_, "map", None), "centres", np.empty((0, 0)))
    if not hasattr(model, "prepare") and len(centres) > 1:
        return centres.mean(axis=0), centres.std(axis=0)
    return centre, width


def _fill(centre: F64, names: list[str], at: Mapping[str, float], pair: list[int]) -> F64:
    filled = centre.copy()
    for name, value in at.items():
        filled[_find(name, names)] = float(value)
    open_still = [names[j] for j in np.flatnonzero(~np.isfinite(filled)) if j not in pair]
    if open_still:
        raise LocalError(
            f"decision_plot: the model does not contain the mean of column '{open_still[0]}': say at={{...}} for all"
            " columns that are not drawn"
        )
    return filled


def _side(name: str, mean: float, deviation: float, ranges: Mapping[str, Range], points: int) -> F64:
    """Return the values of a column that are drawn."""
    low, high = ranges.get(name, (mean - WIDE * deviation, mean + WIDE * deviation))
    if not -np.inf < low < high < np.inf:
        raise LocalError(
            f"decision_plot has no range of column '{name}': say ranges={{'{name}': (low, high)}}, the smaller first"
        )
    return np.linspace(float(low), float(high), points)
