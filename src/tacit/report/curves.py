"""What figures are computed from: the scores of a class in bins, and the errors of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.arrays import F64
from tacit.numeric.scores.metrics import net_benefits, precisions, rates
from tacit.protocols.noisy.noisy_scores import ScoreCurve

Label = bool | int | float | str


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
        roc_auc_interval: of the area, as other records might have been judged; NaN if it is not known.
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
    roc_auc_interval: tuple[float | None, float | None] = (None, None)

    def __repr__(self) -> str:
        return f"<Curve of {self.label}: {len(self.positives)} bins, area {self.roc_auc:.4f}>"

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
    def chances(self) -> F64:
        """The probabilities at the cuts between bins, in whose middles `predicted` lies; none without probabilities."""
        edges = [0.0]
        for middle in self.predicted:
            edges.append(2.0 * middle - edges[-1])
        return np.array(edges[1:-1], dtype=np.float64)

    @property
    def decision_curve(self) -> tuple[F64, F64, F64]:
        """Return threshold probabilities, and the net benefit at each of the model and of taking all for the class."""
        chances, (P, N) = self.chances, self._sides
        if not len(chances):
            return chances, chances, chances
        model, everyone = net_benefits(P, N, np.clip(chances, None, 1.0 - 1e-9))
        return chances, model, everyone

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
        cuts: errors between the bins of the histogram, from the lowest up; none if there is no histogram.
        counts: records by bin.
        off: by which share of themselves the other figures may be off, since they are rounded.
    """

    records: int
    mean: float | None
    absolute: float
    squared: float
    variance: float
    cuts: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    off: float = 0.0

    @property
    def r2(self) -> float:
        """The share of the targets' variance that the model explains, as scikit-learn's r2_score."""
        if self.variance > 0:
            return 1.0 - self.squared / self.variance
        return 1.0 if self.squared == 0 else 0.0

    @property
    def r2_off(self) -> float:
        """How far R^2 may be off, since sums are rounded."""
        return 2.0 * self.off * (1.0 - self.r2) if self.variance > 0 else 0.0


def curve_of(label: Label, curve: ScoreCurve) -> Curve:
    """Return the curve that published counts and bounds make."""
    scores = (curve.cuts.tolist(), curve.positives.tolist(), curve.negatives.tolist())
    return Curve(label, *scores, _pair(curve.roc_auc), _pair(curve.average_precision))


def _pair(bounds: F64) -> tuple[float | None, float | None]:
    low, high = (float(b) if np.isfinite(b) else None for b in bounds)
    return low, high


def _middle(bounds: tuple[float | None, float | None]) -> float:
    low, high = bounds
    return np.nan if low is None or high is None else (low + high) / 2.0
