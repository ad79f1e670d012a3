"""How good a model is: counts over the records of all parties, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.cards import list_warnings, make_card, make_table
from tacit.numeric.scores.metrics import (
    LEVEL,
    NONE,
    Interval,
    accuracy,
    f1_scores,
    interval_of_share,
    macro,
    recalls,
    specificities,
)
from tacit.numeric.scores.platt import classes_of
from tacit.protocols.noisy.noisy_scores import ErrorTally, Tally
from tacit.report.curves import Curve, Label, Residuals, curve_of
from tacit.report.words import area, figure

if TYPE_CHECKING:
    from tacit.report.canvas import Drawn

T = TypeVar("T")

SITE = "site"
TWO = 2


@dataclass(frozen=True)
class Figure:
    """How a figure of an `Evaluation` is called in a table; `of_class`: with two classes it is that of one of them.

    better: 1 if a better model has more of it, -1 if it has less; 0: neither, so that no search goes by it.
    """

    words: str
    of_class: bool = False
    better: int = 1


FIGURES: dict[str, Figure] = {}  # of a classifier, by the names of the properties of `Evaluation` that compute them
ERROR_FIGURES: dict[str, Figure] = {}  # of a regressor


def tells(kind: dict[str, Figure], words: str, *, of_class: bool = False, better: int = 1) -> Callable[[T], T]:
    """Let a property of `Evaluation` be one of its figures: what a search may score by, and every table shows."""

    def declare(compute: T) -> T:
        kind[compute.__name__] = Figure(words, of_class, better)  # type: ignore[attr-defined]
        return compute

    return declare


@dataclass(frozen=True)
class Beside:
    """A site's own model beside the joint one, both on the site's own held-out records; rounded.

    Attributes:
        site: whose records they are.
        joint, alone: figures by name; of the joint model, and of the one that the site trained on its own records.
        step: to which they are rounded.
        suppressed: whether the site, or all others, have a few records of a class, so that nothing is told.
    """

    site: str
    joint: dict[str, float] = field(default_factory=dict)
    alone: dict[str, float] = field(default_factory=dict)
    step: float = 0.0
    suppressed: bool = False


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What `tacit.evaluate` found. With two classes figures are those of `positive`; with more, means over the classes.

    For a regressor there are `errors` and no classes, and figures of classes are NaN; for a classifier, those of
    errors.

    Attributes:
        name: which records.
        classes: in sorted order.
        confusion: records by class and class chosen.
        curves: one for two classes, else one per class against the rest.
        how: who counted, and where the areas under curves come from.
        warnings: what was left out, and why.
        groups: the same for each group of records.
        errors: the errors of a regressor; None for a classifier.
        by: what groups are by: "site", or the name of a column.
        beside: each site's own model beside the joint one.
        positive: of two classes, the one that figures are of; None: the second.
        no_class: how many more records were judged that count as of no class: of one that the model does not know, or
            of one with too few records; they are in no figure.
        suppressed: whether nothing is told, since there are a few records of a class here, or among all others.
        least: how many records are few: fewer than so many.
    """

    name: str
    classes: list[Label]
    confusion: list[list[int]]
    curves: list[Curve]
    how: str = ""
    warnings: list[str] = field(default_factory=list)
    groups: dict[str, Evaluation] = field(default_factory=dict)
    errors: Residuals | None = None
    by: str = ""
    beside: list[Beside] = field(default_factory=list)
    positive: Label | None = None
    no_class: int = 0
    suppressed: bool = False
    least: int = 0

    @property
    def sites(self) -> dict[str, Evaluation]:
        """The same for each site that is shown."""
        return self.groups if self.by == SITE else {}

    @property
    @tells(ERROR_FIGURES, "R²")
    def r2(self) -> float:
        """The share of the targets' variance that the model explains."""
        return np.nan if self.errors is None else self.errors.r2

    @property
    @tells(ERROR_FIGURES, "mean absolute error", better=-1)
    def mean_absolute_error(self) -> float:
        """The mean absolute error of a regressor."""
        return np.nan if self.errors is None else self.errors.absolute

    @property
    @tells(ERROR_FIGURES, "mean squared error", better=-1)
    def mean_squared_error(self) -> float:
        """The mean squared error of a regressor."""
        return np.nan if self.errors is None else self.errors.squared

    @property
    @tells(ERROR_FIGURES, "mean error", better=0)
    def mean_error(self) -> float:
        """The mean of target minus answer."""
        return np.nan if self.errors is None or self.errors.mean is None else self.errors.mean

    @property
    def metric(self) -> str:
        """The name of the figure that `score` of the model is: accuracy, or R^2 of a regressor."""
        return "accuracy" if self.classes else "r2"

    @property
    def score(self) -> float:
        """The figure that `score` of the model is."""
        return float(getattr(self, self.metric))

    @property
    def confusion_matrix(self) -> I64:
        """Records by class (rows) and class chosen (columns)."""
        return np.array(self.confusion, dtype=np.int64).reshape(len(self.classes), len(self.classes))

    @property
    def n_records(self) -> int:
        """Records that were counted."""
        return int(self.confusion_matrix.sum()) if self.errors is None else self.errors.records

    @property
    @tells(FIGURES, "accuracy")
    def accuracy(self) -> float:
        """The share of all records that are given their own class."""
        return accuracy(self._n)

    @property
    @tells(FIGURES, "balanced accuracy")
    def balanced_accuracy(self) -> float:
        """Mean sensitivity of the classes; of more than two of those that have records."""
        each = recalls(self._n)
        return float(np.mean(each)) if len(each) == TWO else macro(each)

    @property
    @tells(FIGURES, "sensitivity", of_class=True)
    def sensitivity(self) -> float:
        """The share of the records of the class that are found (recall)."""
        return self._figure(recalls(self._n))

    @property
    @tells(FIGURES, "specificity", of_class=True)
    def specificity(self) -> float:
        """The share of the other records that are not taken for the class."""
        return self._figure(specificities(self._n))

    @property
    @tells(FIGURES, "F1", of_class=True)
    def f1(self) -> float:
        """Harmonic mean of precision and recall; of more than two classes macro."""
        return self._figure(np.where(np.isnan(recalls(self._n)), np.nan, f1_scores(self._n)))

    @property
    def intervals(self) -> dict[str, Interval]:
        """Between which values figures may lie because other records might have been judged: with 95 % probability."""
        n = self._n
        found = {"accuracy": interval_of_share(float(n.trace()), float(n.sum()))}
        if len(self.classes) == TWO:
            p = self.positive_index
            of = {"sensitivity": n[p], "specificity": n[1 - p]}
            found |= {name: interval_of_share(float(row[k]), float(row.sum())) for (name, row), k in
                      zip(of.items(), (p, 1 - p), strict=True)}  # fmt: skip
        if len(self.curves) == 1:
            low, high = (np.nan if x is None else x for x in self.curves[0].roc_auc_interval)
            found["roc_auc"] = low, high
        return {name: each for name, each in found.items() if np.isfinite(each).all()}

    @property
    def positive_index(self) -> int:
        """The number of the class that figures are of, with two classes."""
        return 1 if self.positive is None else self.classes.index(self.positive)

    @property
    @tells(FIGURES, "area under ROC", of_class=True)
    def roc_auc(self) -> float:
        """Area under the ROC curve; of more than two classes one against the rest, macro."""
        return macro(np.array([c.roc_auc for c in self.curves]))

    @property
    def roc_auc_bounds(self) -> tuple[float, float]:
        """The least and the most that the area under the ROC curve can be."""
        return _bounds([c.roc_auc_bounds for c in self.curves])

    @property
    @tells(FIGURES, "average precision", of_class=True)
    def average_precision(self) -> float:
        """Area under the precision-recall curve."""
        return macro(np.array([c.average_precision for c in self.curves]))

    @property
    def average_precision_bounds(self) -> tuple[float, float]:
        """The least and the most that the area under the precision-recall curve can be."""
        return _bounds([c.average_precision_bounds for c in self.curves])

    @property
    @tells(FIGURES, "Brier score", of_class=True, better=-1)
    def brier_score(self) -> float | None:
        """Mean squared error of the probabilities; of more than two classes the mean over the classes."""
        found = [c.brier_score for c in self.curves if c.brier_score is not None]
        return float(np.mean(found)) if found else None

    def figures(self) -> dict[str, float]:
        """Return all figures by name, without those that could not be computed."""
        names = FIGURES if self.classes else ERROR_FIGURES
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None and np.isfinite(value)}

    @property
    def _n(self) -> F64:
        return self.confusion_matrix.astype(np.float64)

    def _figure(self, each: F64) -> float:
        return float(each[self.positive_index]) if len(each) == TWO else macro(each)

    @property
    def of_class(self) -> str:
        """Of which of two classes figures are, in words; nothing with more classes, or none."""
        return f" of {self.classes[self.positive_index]}" if len(self.classes) == TWO else ""

    def plot(self, kind: str | None = None) -> Drawn:
        """Return a picture, which a notebook shows and `save` writes.

        Args:
            kind: "roc", "precision" (and recall), "calibration", "decision" (net benefit by threshold) or "confusion";
                None: all of them but "decision". Of a regressor there is one, the histogram of its errors. What is
                drawn of one kind is its `table`, too.
        """
        # looked up when it is needed: it stands on this module, and draws with a library that takes long to import
        made: Drawn = import_module("tacit.report.score_plots").plot_scores(self, kind)
        return made

    def __repr__(self) -> str:
        if self.suppressed:
            return f"<Evaluation of {self.name}: {write_suppressed(self.least)}>"
        known = {**FIGURES, **ERROR_FIGURES}
        each = self.figures().items()
        told = ", ".join(f"{name}{self.of_class * known[name].of_class} {value:.4f}" for name, value in each)
        return f"<Evaluation of {self.n_records} {self.name}: {told}>"

    def _repr_html_(self) -> str:
        return render_evaluation(self)


def evaluation_of(tally: Tally, classes: Array, *, name: str, how: str = "") -> Evaluation:
    """Return the evaluation that follows from the published counts."""
    labels: list[Label] = classes.tolist()
    curves = [curve_of(labels[k], each) for k, each in zip(classes_of(len(tally.curves)), tally.curves, strict=True)]
    return Evaluation(name, labels, tally.confusion.tolist(), curves, how, [], {}, by=SITE)


def evaluation_of_errors(tally: ErrorTally, *, name: str, how: str, warnings: Sequence[str] = ()) -> Evaluation:
    """Return the evaluation of a regressor that follows from the published sums."""
    mean, absolute, squared, variance = tally.means.tolist()
    bins = (tally.cuts.tolist(), tally.counts.tolist())
    errors = Residuals(tally.records, mean, absolute, squared, variance, *bins)
    return Evaluation(name, [], [], [], how, list(warnings), errors=errors)


def _bounds(each: list[tuple[float | None, float | None]]) -> tuple[float, float]:
    if not each:
        return np.nan, np.nan
    low, high = (macro(np.array([np.nan if b is None else b for b in side])) for side in zip(*each, strict=True))
    return low, high


def write_suppressed(least: int) -> str:
    """Return why nothing is told of some records."""
    return f"suppressed, since fewer than {least} records of a class are here, or among all others"


def figures_of(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Return the table of a report: a row for each figure, of all records and of each group."""
    each = (evaluation, *evaluation.groups.values())
    if not evaluation.classes:
        told = ((said.words, *(_told_error(e, name) for e in each)) for name, said in ERROR_FIGURES.items())
        return [_count_records(each), *(row for row in told if set(row[1:]) != {"-"})]
    of, table = evaluation.of_class or ", mean of classes", [_count_records(each)]
    if evaluation.no_class:
        table.append(("records of no class", f"{evaluation.no_class:,}", *("-" for _ in evaluation.groups)))
    for name, said in FIGURES.items():
        row = tuple(_with_interval(e, name, _told_figure(e, name)) for e in each)
        if set(row) != {"-"}:
            table.append((f"{said.words}{of * said.of_class}", *row))
    return table


def _told_figure(evaluation: Evaluation, name: str) -> str:
    """Return a figure in words: between its bounds where it has some."""
    bounds = getattr(evaluation, f"{name}_bounds", None)
    return _told(getattr(evaluation, name)) if bounds is None else area(bounds) if evaluation.curves else "-"


def render_evaluation(evaluation: Evaluation) -> str:
    """Return what a notebook shows: the figures, of all records and of each group, and the confusion matrix."""
    if evaluation.suppressed:
        return make_card(f"Evaluation of {evaluation.name}", write_suppressed(evaluation.least))
    chosen = zip(evaluation.classes, evaluation.confusion, strict=True)
    return make_card(
        f"Evaluation of {evaluation.n_records:,} {evaluation.name}",
        evaluation.how,
        make_table(("figure", "all", *evaluation.groups), figures_of(evaluation)),
        make_table(("records of class", *(f"taken for {each}" for each in evaluation.classes)),
                   [(label, *row) for label, row in chosen]),
        make_table(heads_beside(evaluation), figures_beside(evaluation)),
        list_warnings(evaluation.warnings),
    )  # fmt: skip


def figures_beside(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Return the table of sites: each one's own model beside the joint one, on its own held-out records."""
    names = list(dict.fromkeys(name for each in evaluation.beside for name in each.joint))
    rows = []
    for each in evaluation.beside:
        told = [(_told(each.alone.get(name)), _told(each.joint.get(name))) for name in names]
        cells = ("suppressed",) * (2 * len(names)) if each.suppressed else tuple(x for pair in told for x in pair)
        rows.append((each.site, *cells, "-" if each.suppressed else f"{each.step:g}"))
    return rows


def heads_beside(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the heads of that table."""
    names = list(dict.fromkeys(name for each in evaluation.beside for name in each.joint))
    heads = (f"{name.replace('_', ' ')}{of}" for name in names for of in (", alone", ", joint"))
    return ("site", *heads, "rounded to")


def _count_records(each: Iterable[Evaluation]) -> tuple[str, ...]:
    return ("records", *("suppressed" if e.suppressed else f"{e.n_records:,}" for e in each))


def _told_error(evaluation: Evaluation, name: str) -> str:
    value = getattr(evaluation, name)
    if not np.isfinite(value):
        return "-"
    if name != "r2":
        return figure(value)
    off = 0.0 if evaluation.errors is None else evaluation.errors.r2_off
    return f"{value:.4f}" if off < 5e-5 else f"{value:.4f} ± {off:.4f}"  # noqa: PLR2004 - half of the last digit


def _with_interval(evaluation: Evaluation, name: str, told: str) -> str:
    low, high = evaluation.intervals.get(name, NONE)
    return told if not np.isfinite(low + high) else f"{told} ({LEVEL}: {low:.4f} to {high:.4f})"


def _told(value: float | None) -> str:
    return "-" if value is None or not np.isfinite(value) else f"{value:.4f}"
