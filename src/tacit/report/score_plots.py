"""The plots of an evaluation, as SVG text: ROC, precision and recall, calibration, confusion; errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tacit.arrays import F64
from tacit.choreo.declaration import write_among, wrong_value
from tacit.errors import LocalError
from tacit.report.canvas import ACCENT, ALONE, INK, TYPES, Drawn, Picture, axes, entitle, short
from tacit.report.evaluation import Curve, Evaluation, Residuals
from tacit.report.words import area

WIDTH = 7.2
SINGLE = (5.0, 4.2)  # inches
MANY = 12  # classes whose counts can still be read in the squares
SHADES = LinearSegmentedColormap.from_list("tacit", ["#f5f8f8", ACCENT])
Points = Callable[[Curve], tuple[F64, F64]]


@dataclass(frozen=True, repr=False)
class ScorePlot(Drawn):
    """A picture of how good a model is."""

    drawn: Picture

    @property
    def picture(self) -> Picture:
        """What is drawn."""
        return self.drawn


def plot_scores(evaluation: Evaluation, kind: str | None) -> ScorePlot:
    """Return one of the plots of an evaluation, or all of them."""
    if kind is not None and kind not in KINDS:
        raise wrong_value("kind", "plot", f"None or a str {write_among(tuple(KINDS))}", kind)
    if kind is None:
        whole = picture_of(evaluation, "all")
        if whole is None:
            raise LocalError(f"nothing of {evaluation.name} can be drawn: it is suppressed, or it has no histogram")
        return ScorePlot(whole)
    drawn, needs = KINDS[kind]
    if evaluation.errors is not None or evaluation.suppressed or not needs(evaluation):
        remedy = ": train with probability=True" if kind == "calibration" else ""
        raise LocalError(f"{evaluation.name} has nothing to draw as {kind!r}{remedy}")
    label = f"{kind} of {evaluation.n_records} {evaluation.name}"
    return ScorePlot(Picture(kind, label, SINGLE, lambda figure: drawn(figure.add_subplot(), evaluation)))


def panels(evaluation: Evaluation, key: str) -> str:
    """Return that picture as SVG text; nothing, if there is nothing to draw."""
    found = picture_of(evaluation, key)
    return "" if found is None else found.to_svg()


def picture_of(evaluation: Evaluation, key: str) -> Picture | None:
    """Draw two curves above; below, the confusion matrix and, with probabilities, the calibration.

    Of a regressor, the histogram of its errors, if there is one. Nothing of what is suppressed.
    """
    errors = evaluation.errors
    if errors is not None:
        label = f"Errors of {errors.records} {evaluation.name}: R² {errors.r2:.4f}, mean {errors.mean:.4g}"
        paint = partial(_histogram, evaluation=evaluation, errors=errors)
        return Picture(f"scores-{key}", label, (WIDTH, 3.0), paint) if errors.counts else None
    if evaluation.suppressed:
        return None
    label = f"Curves and confusion matrix of {evaluation.n_records} {evaluation.name}: " + ", ".join(
        f"{name.replace('_', ' ')} {value:.4f}" for name, value in evaluation.figures().items()
    )
    return Picture(f"scores-{key}", label, (WIDTH, 6.4), partial(_panels, evaluation=evaluation))


def _histogram(figure: Figure, evaluation: Evaluation, errors: Residuals) -> None:
    """Draw records by error, for each unit of error; the open bins at both ends are as wide as two deviations."""
    title = f"Target minus answer: {errors.records:,} {short(evaluation.name)}, R² {errors.r2:.3f}"
    ax = axes(figure, title, "error", "records for each unit")
    wide = 2.0 * float(np.sqrt(errors.squared)) or 1.0
    low, high = (min(errors.cuts, default=0.0) - wide, max(errors.cuts, default=0.0) + wide)
    edges = np.array([low, *errors.cuts, high])
    ax.stairs(np.array(errors.counts) / np.diff(edges), edges, fill=True, color=ACCENT, alpha=0.75)
    ax.axvline(0.0, color=INK, linewidth=1, linestyle=(0, (4, 3)))


def _panels(figure: Figure, evaluation: Evaluation) -> None:
    entitle(figure, f"How well the classes are told apart: {evaluation.n_records:,} {short(evaluation.name)}")
    if not evaluation.curves:
        _confusion(figure.add_subplot(), evaluation)
        return
    calibrated = any(curve.records for curve in evaluation.curves)
    grid = figure.add_gridspec(2, 2)
    _roc(figure.add_subplot(grid[0, 0]), evaluation)
    _precision(figure.add_subplot(grid[0, 1]), evaluation)
    _confusion(figure.add_subplot(grid[1, 0]), evaluation)
    if calibrated:
        _calibration(figure.add_subplot(grid[1, 1]), evaluation)


def _roc(ax: Axes, evaluation: Evaluation) -> None:
    ax.plot([0, 1], [0, 1], color=ALONE, linewidth=1, linestyle=(0, (4, 3)))
    _curves(ax, evaluation, lambda curve: curve.roc_curve)
    _entitle(ax, f"ROC: area {area(evaluation.roc_auc_bounds)}", "1 - specificity", "sensitivity")


def _precision(ax: Axes, evaluation: Evaluation) -> None:
    _curves(ax, evaluation, lambda curve: curve.precision_recall_curve[::-1])
    _entitle(ax, f"Precision and recall: {area(evaluation.average_precision_bounds)}", "recall", "precision")


def _calibration(ax: Axes, evaluation: Evaluation) -> None:
    ax.plot([0, 1], [0, 1], color=ALONE, linewidth=1, linestyle=(0, (4, 3)))
    for curve, colour in zip(evaluation.curves, _colours(evaluation), strict=True):
        share, predicted = curve.calibration_curve
        ax.plot(predicted, share, color=colour, linewidth=1.6, marker="o", markersize=4)
    brier = "" if evaluation.brier_score is None else f": Brier score {evaluation.brier_score:.3f}"
    _entitle(ax, f"Calibration{brier}", "probability said", "share found")


def _curves(ax: Axes, evaluation: Evaluation, points: Points) -> None:
    """Draw the curves of the sites in grey behind, and that of all records in front."""
    for site in evaluation.groups.values():
        for curve in site.curves:
            ax.plot(*points(curve), color=ALONE, linewidth=1)
    for curve, colour in zip(evaluation.curves, _colours(evaluation), strict=True):
        ax.plot(
            *points(curve),
            color=colour,
            linewidth=1.8,
            label=short(str(curve.label)) if len(evaluation.curves) > 1 else "all records",
        )
    handles, labels = ax.get_legend_handles_labels()
    if evaluation.groups:
        handles, labels = [*handles, Line2D([], [], color=ALONE, linewidth=1)], [*labels, "single sites"]
    if len(handles) > 1:
        ax.legend(handles, labels, loc="lower center", handlelength=1.2)


def _colours(evaluation: Evaluation) -> list[str]:
    count = len(evaluation.curves)
    return [ACCENT] if count == 1 else [TYPES[i % len(TYPES)] for i in range(count)]


def _entitle(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.04)


def _confusion(ax: Axes, evaluation: Evaluation) -> None:
    """Draw the confusion matrix, shaded by row, so that a rare class can be read as well as a frequent one."""
    counts = evaluation.confusion_matrix
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    places = np.arange(len(counts) + 1) - 0.5
    ax.pcolormesh(
        places, places, shares, cmap=SHADES, vmin=0, vmax=1, edgecolors="white", linewidth=2
    )  # no picture: a page fetches none
    ax.invert_yaxis()
    names = [short(str(label)) for label in evaluation.classes]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    if len(names) <= MANY:
        for (row, column), n in np.ndenumerate(counts):
            colour = "white" if shares[row, column] > 0.55 else INK  # noqa: PLR2004 - where ink would be hard to read
            # room
            ax.text(column, row, f"{n:,}", ha="center", va="center", color=colour, fontsize=11 if len(names) < 6 else 8)  # noqa: PLR2004
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(f"Confusion: accuracy {evaluation.accuracy:.3f}")
    ax.set_xlabel("class chosen")
    ax.set_ylabel("class")


# kind of plot -> who draws it, and whether an evaluation has what it takes
KINDS: dict[str, tuple[Callable[[Axes, Evaluation], None], Callable[[Evaluation], bool]]] = {
    "roc": (_roc, lambda evaluation: bool(evaluation.curves)),
    "precision": (_precision, lambda evaluation: bool(evaluation.curves)),
    "calibration": (_calibration, lambda evaluation: any(curve.records for curve in evaluation.curves)),
    "confusion": (_confusion, lambda _: True),
}
