"""`tacit.inspect.decision_plot`: what a public model decides over two chosen columns; nobody is asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgb
from matplotlib.figure import Figure
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.base.estimator import choose_classes
from tacit.errors import LocalError
from tacit.models.prepared import codes_of
from tacit.preprocessing import TableVectorizer
from tacit.report.canvas import ACCENT, INK, TYPES, Drawn, Picture, axes, short

EPOCH, DAY = np.datetime64("1970-01-01"), np.timedelta64(1, "D")
WIDE = 2.0  # deviations to either side of the mean that are drawn: beyond them few records lie, and impossible values
SHADES = LinearSegmentedColormap.from_list("sides", [TYPES[1], "#f5f8f8", ACCENT])
SOLID: dict[str, Any] = {
    "edgecolor": "face",
    "linewidth": 0.4,
}  # else white lines are between cells of a vector picture
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
    at: dict[str, float | str]

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
        mesh = ax.pcolormesh(self.x, self.y, self.values, cmap=SHADES, vmin=low, vmax=most, **SOLID)
        if self.classes and self.values.min() < 0 < self.values.max():
            ax.contour(self.x, self.y, self.values, levels=[0.0], colors=INK, linewidths=1.2)
        said = f"decision value of {self.classes[1]}" if self.classes else "answer"
        bar = figure.colorbar(mesh, ax=ax, label=said)
        if bar.solids is not None:
            bar.solids.set(**SOLID)

    def _paint_classes(self, ax: Axes) -> None:
        colours = [_lighten(TYPES[k % len(TYPES)]) for k in range(len(self.classes))]
        most = len(self.classes) - 0.5
        ax.pcolormesh(self.x, self.y, self.values, cmap=ListedColormap(colours), vmin=-0.5, vmax=most, **SOLID)
        for k in np.unique(self.values).astype(np.int64).tolist():  # a class without an area has no entry
            ax.plot([], [], "s", color=colours[k], label=short(str(self.classes[k])))
        ax.legend(loc="upper right")

    def __repr__(self) -> str:
        return f"<DecisionPlot: {self.names[0]} by {self.names[1]}, {len(self.x)} x {len(self.y)} points>"


def decision_plot(
    model: Any,
    columns: tuple[str | int, str | int],
    *,
    ranges: Mapping[str, Range] | None = None,
    at: Mapping[str, float | str] | None = None,
    points: int = 80,
) -> DecisionPlot:
    """Return what a public model decides for the values of two columns. It uses the model only, and no record.

    Args:
        model: a fitted model that is public (`SVC` with landmarks, an ELM), or a
            `Pipeline` or a search that ends in one.
        columns: the names, or numbers, of the two columns.
        ranges: {column: (low, high)}; by default two standard deviations around the mean, if a scaler of the
            pipeline or the landmarks of the model have made them public.
        at: {column: value} for all other columns: numbers, texts, or dates such as "2024-05-01"; by default their
            means, or what an imputer fills gaps with, and the category that most landmarks of the model are nearest to.
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
    centre = _fill(centre, names, at or {}, pair, first)
    sides = [_side(names[j], centre[j], width[j], ranges or {}, points) for j in pair]
    grid = np.tile(centre, (points * points, 1))
    grid[:, pair[0]], grid[:, pair[1]] = (side.ravel() for side in np.meshgrid(*sides))
    values = _decide(model, last, decide, grid).reshape(points, points)
    spare = getattr(first, "dropped_", {})
    kept = {name: _told(first, name, centre[j]) for j, name in enumerate(names) if j not in pair and name not in spare}
    classes = () if is_regressor(last) else tuple(last.classes_.tolist())
    return DecisionPlot((names[pair[0]], names[pair[1]]), sides[0], sides[1], values, classes, kept)


def _decide(model: Any, last: Any, decide: Callable[[F64], F64], grid: F64) -> F64:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # the points stand in the right order
        records = np.asarray(model.prepare(grid)) if hasattr(model, "prepare") else grid
    values = decide(records)
    wide = values.shape[1] > 1 and not is_regressor(last)
    return choose_classes(values).astype(np.float64) if wide else values[:, 0]


def _lighten(colour: str) -> tuple[float, ...]:
    """Return a colour with two fifths of white, on which a grid can be seen."""
    return tuple(0.6 * part + 0.4 for part in to_rgb(colour))


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
        if isinstance(step, TableVectorizer):
            return _known_values(step, last)
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


def _fill(centre: F64, names: list[str], at: Mapping[str, float | str], pair: list[int], first: Any) -> F64:
    filled = centre.copy()
    for name, value in at.items():
        filled[_find(name, names)] = _as_number(first, name, value)
    for j in pair:
        if _categories(first, names[j]):
            raise LocalError(
                f"decision_plot draws numbers, and column '{names[j]}' has categories: choose one with at="
            )
    spare = getattr(first, "dropped_", {})
    open_still = [
        name for j, name in enumerate(names) if not np.isfinite(filled[j]) and j not in pair and name not in spare
    ]
    if open_still:
        raise LocalError(
            f"decision_plot: the model does not contain the mean of column '{open_still[0]}': say at={{...}} for all"
            " columns that are not drawn"
        )
    return filled


def _known_values(step: TableVectorizer, last: Any) -> tuple[F64, F64]:
    """Return what a vectorizer knows of each column, as it carries it: means, deviations, the number of a category."""
    model, names = step.model_, step.federation_.features
    centre, width = np.full(len(names), np.nan), np.full(len(names), np.nan)
    landmarks = getattr(getattr(last.model_, "map", None), "centres", np.empty((0, 0)))
    near = landmarks.mean(axis=0) if landmarks.shape[1:] == model.center.shape else None
    of = np.array(model.made)
    for j in range(len(names)):
        own = np.flatnonzero((model.sources == j) & (of == "value"))
        shown = np.flatnonzero((model.sources == j) & (of == "category"))
        if len(own):
            centre[j], width[j] = model.fill[own[0]], model.scale[own[0]]
        elif len(shown) and near is not None:
            centre[j] = model.codes[shown[near[shown].argmax()]]
    return centre, width


def _categories(first: Any, name: str) -> tuple[Any, ...]:
    """Return the categories of a column, if the first step knows some."""
    return tuple(first.categories_.get(name, ())) if isinstance(first, TableVectorizer) else ()


def _as_number(first: Any, name: str, value: float | str) -> float:
    """Return the number that stands for a value of a column: of a category, a date or a number."""
    known = _categories(first, name)
    if known:
        if value not in known:
            told = ", ".join(map(str, known))
            raise LocalError(f"decision_plot: column '{name}' has no category {value!r}: name one of {told}")
        return float(codes_of(known)[known.index(value)])
    dated = isinstance(first, TableVectorizer) and first.kinds_.get(name) == "date"
    try:
        return float((np.datetime64(str(value)) - EPOCH) / DAY) if dated else float(value)
    except ValueError:
        kind = "a date, such as '2024-05-01'" if dated else "a number"
        raise LocalError(f"decision_plot: at= has {value!r} for column '{name}': give {kind}") from None


def _told(first: Any, name: str, number: float) -> float | str:
    """Return the value that a number of a column stands for."""
    known = _categories(first, name)
    return float(number) if not known else known[codes_of(known).index(float(number))]


def _side(name: str, mean: float, deviation: float, ranges: Mapping[str, Range], points: int) -> F64:
    """Return the values of a column that are drawn."""
    low, high = ranges.get(name, (mean - WIDE * deviation, mean + WIDE * deviation))
    if not -np.inf < low < high < np.inf:
        raise LocalError(
            f"decision_plot has no range of column '{name}': say ranges={{'{name}': (low, high)}}, the smaller first"
        )
    return np.linspace(float(low), float(high), points)
