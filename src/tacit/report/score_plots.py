"""The plots of an evaluation: ROC, precision and recall, calibration, decision, confusion; errors. And their tables."""

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
from tacit.report.curves import Curve, Residuals
from tacit.report.evaluation import Evaluation, figures_of
from tacit.report.sheet import Cell, Sheet
from tacit.report.words import area

WIDTH = 7.2
SINGLE = (5.0, 4.2)  # inches
MANY = 12  # classes whose counts can still be read in the squares
SHADES = LinearSegmentedColormap.from_list("tacit", ["#f5f8f8", ACCENT])
Points = Callable[[Curve], tuple[F64, F64]]


@dataclass(frozen=True, repr=False)
class ScorePlot(Drawn):
    """A picture of how good a model is, and the numbers that it shows.

    Attributes:
        table: the numbers.
    """

    drawn: Picture
    table: Sheet

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
        return ScorePlot(whole, _tell_figures(evaluation))
    drawn, needs, tell = KINDS[kind]
    if evaluation.errors is not None or evaluation.suppressed or not needs(evaluation):
        remedy = ": train with probability=True" if kind in OF_CHANCES else ""
        raise LocalError(f"{evaluation.name} has nothing to draw as {kind!r}{remedy}")
    label = f"{kind} of {evaluation.n_records} {evaluation.name}"
    picture = Picture(kind, label, SINGLE, lambda figure: drawn(figure.add_subplot(), evaluation))
    return ScorePlot(picture, tell(evaluation))


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


def _decision(ax: Axes, evaluation: Evaluation) -> None:
    """Draw the net benefit of the model, of taking all records for the class, and of taking none."""
    ax.axhline(0.0, color=ALONE, linewidth=1, label="take none")
    for curve, colour in zip(evaluation.curves, _colours(evaluation), strict=True):
        chances, model, everyone = curve.decision_curve
        ax.plot(chances, everyone, color=ALONE, linewidth=1, linestyle=(0, (4, 3)), label="take all")
        ax.plot(chances, model, color=colour, linewidth=1.8, marker="o", markersize=3, label="model")
    _entitle(ax, f"Net benefit{evaluation.of_class}", "threshold probability", "net benefit")
    most = max(float(curve.decision_curve[1].max()) for curve in evaluation.curves)
    ax.set_ylim(-0.3 * most, 1.15 * most if most > 0 else 1.0)
    ax.legend(loc="upper right")


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


# Tables


def list_thresholds(evaluation: Evaluation) -> Sheet:
    """Return what becomes of the records if those above a cut between bins are taken for the class, cut by cut."""
    rows: list[tuple[Cell, ...]] = []
    for curve in evaluation.curves:
        (fp, tp), (precision, _) = curve.roc_curve, curve.precision_recall_curve
        chances = curve.chances.tolist() or [""] * len(curve.cuts)
        positives, negatives = (np.array(side).sum() for side in (curve.positives, curve.negatives))
        for cut, chance, at in zip(curve.cuts, chances, range(len(curve.cuts), 0, -1), strict=True):
            below = (1.0 - fp[at]) * negatives + (1.0 - tp[at]) * positives
            other = (1.0 - fp[at]) * negatives / below if below else np.nan
            figures = (tp[at], 1.0 - fp[at], precision[at], other)
            taken = round(float(tp[at] * positives + fp[at] * negatives))
            rows.append((str(curve.label), cut + 0.0, chance, taken, *map(float, figures)))
    heads = ("class", "cut", "probability", "taken", "sensitivity", "specificity", "precision", "negative precision")
    note = "Records whose decision value is above the cut are taken for the class."
    return Sheet(f"Thresholds: {evaluation.n_records:,} {evaluation.name}", heads, tuple(rows), note)


def _tell_decision(evaluation: Evaluation) -> Sheet:
    rows = [line for curve in evaluation.curves for line in np.transpose(curve.decision_curve).tolist()]
    heads = ("threshold probability", "net benefit of the model", "of taking all", "of taking none")
    title = f"Net benefit{evaluation.of_class}: {evaluation.n_records:,} {evaluation.name}"
    return Sheet(title, heads, tuple((*row, 0.0) for row in rows))


def _tell_calibration(evaluation: Evaluation) -> Sheet:
    rows = []
    for curve in evaluation.curves:
        share, predicted = curve.calibration_curve
        records = [n for n in curve.records if n]
        rows += [(str(curve.label), *line) for line in zip(predicted.tolist(), share.tolist(), records, strict=True)]
    heads = ("class", "probability said", "share found", "records")
    return Sheet(f"Calibration: {evaluation.n_records:,} {evaluation.name}", heads, tuple(rows))


def _tell_confusion(evaluation: Evaluation) -> Sheet:
    heads = ("records of class", *(f"taken for {each}" for each in evaluation.classes))
    each = zip(map(str, evaluation.classes), evaluation.confusion, strict=True)
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *line) for name, line in each)
    return Sheet(f"Confusion: {evaluation.n_records:,} {evaluation.name}", heads, rows)


def _tell_figures(evaluation: Evaluation) -> Sheet:
    title = f"Evaluation of {evaluation.n_records:,} {evaluation.name}"
    return Sheet(title, ("figure", "all", *evaluation.groups), tuple(figures_of(evaluation)))


# kind of plot -> who draws it, whether an evaluation has what it takes, and its table
KINDS: dict[
    str, tuple[Callable[[Axes, Evaluation], None], Callable[[Evaluation], bool], Callable[[Evaluation], Sheet]]
] = {
    "roc": (_roc, lambda evaluation: bool(evaluation.curves), list_thresholds),
    "precision": (_precision, lambda evaluation: bool(evaluation.curves), list_thresholds),
    "calibration": (
        _calibration,
        lambda evaluation: any(curve.records for curve in evaluation.curves),
        _tell_calibration,
    ),
    "decision": (_decision, lambda evaluation: any(len(curve.chances) for curve in evaluation.curves), _tell_decision),
    "confusion": (_confusion, lambda _: True, _tell_confusion),
}
OF_CHANCES = ("calibration", "decision")
