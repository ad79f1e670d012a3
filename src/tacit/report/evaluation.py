"""How good a model is: counts over the records of all parties, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.numeric.scores.metrics import accuracy, f1_scores, macro, precisions, rates, recalls, specificities
from tacit.numeric.scores.platt import classes_of
from tacit.protocols.scores.error_sums import ErrorTally
from tacit.protocols.scores.score_counts import Reliability, ScoreCurve, Tally
from tacit.report.words import area, figure

Label = bool | int | float | str

FIGURES = (
    "accuracy",
    "balanced_accuracy",
    "sensitivity",
    "specificity",
    "f1",
    "roc_auc",
    "average_precision",
    "brier_score",
)
ERROR_FIGURES = ("r2", "mean_absolute_error", "mean_squared_error", "mean_error")


@dataclass(frozen=True, repr=False)
class Curve:
    """The scores of one class against the rest, in bins from the lowest up, and its probabilities in ten.

    Attributes:
        label: the class.
        cuts: decision values between the bins.
        positives, negatives: records of the class, and others, by bin.
        roc_auc_bounds, average_precision_bounds: the least and the most that the area can be; equal where it is exact.
        records, hits, predicted: the records of every bin of probability, those of the class, and their mean
            probability; 0 if not shown.
        brier_score: mean squared error of the probabilities; None without any.
    """

    label: Label
    cuts: list[float]
    positives: list[int]
    negatives: list[int]
    roc_auc_bounds: tuple[float | None, float | None]
    average_precision_bounds: tuple[float | None, float | None]
    records: list[int] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)
    brier_score: float | None = None

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve: the middle of its bounds."""
        return _middle(self.roc_auc_bounds)

    @property
    def average_precision(self) -> float:
        """Area under the precision-recall curve, as scikit-learn's average_precision_score.

        The middle of its bounds.
        """
        return _middle(self.average_precision_bounds)

    @property
    def roc_curve(self) -> tuple[F64, F64]:
        """Return false and true positive rates at the cuts between bins."""
        return rates(*self._sides)

    @property
    def precision_recall_curve(self) -> tuple[F64, F64]:
        """Return precision and recall at the cuts between bins."""
        return precisions(*self._sides)

    @property
    def calibration_curve(self) -> tuple[F64, F64]:
        """Return the share of the class and the mean probability in every bin of probability that is shown."""
        seen = np.flatnonzero(self.records)
        hits, records = np.array(self.hits, dtype=np.float64), np.array(self.records, dtype=np.float64)
        return hits[seen] / records[seen], np.array(self.predicted, dtype=np.float64)[seen]

    @property
    def _sides(self) -> tuple[F64, F64]:
        return np.array(self.positives, dtype=np.float64), np.array(self.negatives, dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Residuals:
    """The errors of a regressor: target minus answer.

    Attributes:
        records: how many were judged.
        mean: the mean error: above 0 if answers are too small.
        absolute, squared: the mean absolute and the mean squared error.
        variance: of the targets.
        cuts: errors between the bins of the histogram, from the lowest up.
        counts: records by bin.
    """

    records: int
    mean: float
    absolute: float
    squared: float
    variance: float
    cuts: list[float]
    counts: list[int]

    @property
    def r2(self) -> float:
        """The share of the targets' variance that the model explains, as scikit-learn's r2_score."""
        if self.variance > 0:
            return 1.0 - self.squared / self.variance
        return 1.0 if self.squared == 0 else 0.0


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What `tacit.evaluate` found. With two classes figures are those of the second; with more, means over the classes.

    For a regressor there are `errors` and no classes, and figures of classes are NaN; for a classifier, those of
    errors.

    Attributes:
        name: which records.
        classes: in sorted order.
        confusion: records by class and class chosen.
        curves: one for two classes, else one per class against the rest.
        how: who counted, and where the areas under curves come from.
        warnings: what was left out, and why.
        sites: the same for each site that agreed to show its own.
        errors: the errors of a regressor; None for a classifier.
    """

    name: str
    classes: list[Label]
    confusion: list[list[int]]
    curves: list[Curve]
    how: str = ""
    warnings: list[str] = field(default_factory=list)
    sites: dict[str, Evaluation] = field(default_factory=dict)
    errors: Residuals | None = None

    @property
    def r2(self) -> float:
        """The share of the targets' variance that the model explains."""
        return np.nan if self.errors is None else self.errors.r2

    @property
    def mean_squared_error(self) -> float:
        """The mean squared error of a regressor."""
        return np.nan if self.errors is None else self.errors.squared

    @property
    def mean_absolute_error(self) -> float:
        """The mean absolute error of a regressor."""
        return np.nan if self.errors is None else self.errors.absolute

    @property
    def mean_error(self) -> float:
        """The mean of target minus answer."""
        return np.nan if self.errors is None else self.errors.mean

    @property
    def metric(self) -> str:
        """The name of the figure that `score` of the model is: accuracy, or R^2 of a regressor."""
        return FIGURES[0] if self.errors is None else ERROR_FIGURES[0]

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
    def accuracy(self) -> float:
        """The share of all records that are given their own class."""
        return accuracy(self._n)

    @property
    def balanced_accuracy(self) -> float:
        """Mean sensitivity of the classes."""
        return macro(recalls(self._n))

    @property
    def sensitivity(self) -> float:
        """The share of the records of the class that are found (recall)."""
        return self._figure(recalls(self._n))

    @property
    def specificity(self) -> float:
        """The share of the other records that are not taken for the class."""
        return self._figure(specificities(self._n))

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; of more than two classes macro."""
        return self._figure(f1_scores(self._n))

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve; of more than two classes one against the rest, macro."""
        return macro(np.array([c.roc_auc for c in self.curves]))

    @property
    def roc_auc_bounds(self) -> tuple[float, float]:
        """The least and the most that the area under the ROC curve can be."""
        return _bounds([c.roc_auc_bounds for c in self.curves])

    @property
    def average_precision(self) -> float:
        """Area under the precision-recall curve."""
        return macro(np.array([c.average_precision for c in self.curves]))

    @property
    def average_precision_bounds(self) -> tuple[float, float]:
        """The least and the most that the area under the precision-recall curve can be."""
        return _bounds([c.average_precision_bounds for c in self.curves])

    @property
    def brier_score(self) -> float | None:
        """Mean squared error of the probabilities; of more than two classes the mean over the classes."""
        found = [c.brier_score for c in self.curves if c.brier_score is not None]
        return float(np.mean(found)) if found else None

    def figures(self) -> dict[str, float]:
        """Return all figures by name, without those that could not be computed."""
        names = FIGURES if self.errors is None else ERROR_FIGURES
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None and np.isfinite(value)}

    @property
    def _n(self) -> F64:
        return self.confusion_matrix.astype(np.float64)

    def _figure(self, each: F64) -> float:
        # the second of two is the positive one
        return float(each[1]) if len(each) == 2 else macro(each)  # noqa: PLR2004

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {value:.4f}" for name, value in self.figures().items())
        return f"<Evaluation of {self.n_records} {self.name}: {told}>"


def evaluation_of(
    tally: Tally,
    classes: Array,
    *,
    name: str,
    how: str = "",
    warnings: Sequence[str] = (),
    sites: dict[str, Evaluation] | None = None,
) -> Evaluation:
    """Return the evaluation that follows from the published counts."""
    labels: list[Label] = classes.tolist()
    positive = [labels[k] for k in classes_of(len(tally.curves))]
    empty: tuple[Reliability | None, ...] = tally.reliability or (None,) * len(positive)
    curves = [_curve(*each) for each in zip(positive, tally.curves, empty, strict=True)]
    return Evaluation(name, labels, tally.confusion.tolist(), curves, how, list(warnings), sites or {})


def evaluation_of_errors(tally: ErrorTally, *, name: str, how: str, warnings: Sequence[str] = ()) -> Evaluation:
    """Return the evaluation of a regressor that follows from the published sums."""
    mean, absolute, squared, variance = tally.means.tolist()
    bins = (tally.cuts.tolist(), tally.counts.tolist())
    errors = Residuals(tally.records, mean, absolute, squared, variance, *bins)
    return Evaluation(name, [], [], [], how, list(warnings), errors=errors)


def _curve(label: Label, curve: ScoreCurve, bins: Reliability | None) -> Curve:
    scores = (curve.cuts.tolist(), curve.positives.tolist(), curve.negatives.tolist())
    areas = (_pair(curve.roc_auc), _pair(curve.average_precision))
    if bins is None:
        return Curve(label, *scores, *areas)
    calibration = (bins.records.tolist(), bins.positives.tolist(), bins.predicted.tolist())
    return Curve(label, *scores, *areas, *calibration, bins.brier)


def _pair(bounds: F64) -> tuple[float | None, float | None]:
    low, high = (float(b) if np.isfinite(b) else None for b in bounds)
    return low, high


def _middle(bounds: tuple[float | None, float | None]) -> float:
    low, high = bounds
    return np.nan if low is None or high is None else (low + high) / 2.0


def _bounds(each: list[tuple[float | None, float | None]]) -> tuple[float, float]:
    low, high = (macro(np.array([np.nan if b is None else b for b in side])) for side in zip(*each, strict=True))
    return low, high


def figures_of(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Return the table of a report: a row for each figure, of all records and of each site."""
    each = (evaluation, *evaluation.sites.values())
    if evaluation.errors is not None:
        means = ((name.replace("_", " "), figure(getattr(evaluation, name))) for name in ERROR_FIGURES[1:])
        return [("records", f"{evaluation.n_records:,}"), ("R²", _told(evaluation.r2)), *means]
    of = f" of {evaluation.classes[1]}" if len(evaluation.curves) == 1 else ", mean of classes"
    names = {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy"}
    names |= {f"{name}{of}": name.lower() for name in ("sensitivity", "specificity", "F1")}
    areas = {f"area under ROC{of}": "roc_auc_bounds", f"average precision{of}": "average_precision_bounds"}
    rows = [("records", *(f"{e.n_records:,}" for e in each))]
    rows += [(what, *(_told(getattr(e, name)) for e in each)) for what, name in names.items()]
    rows += [(what, *(area(getattr(e, name)) for e in each)) for what, name in areas.items()]
    return (
        rows if evaluation.brier_score is None else [*rows, (f"Brier score{of}", *(_told(e.brier_score) for e in each))]
    )


def _told(value: float | None) -> str:
    return "-" if value is None or not np.isfinite(value) else f"{value:.4f}"
