"""`tacit.inspect.learning_curve`: how good a model is, trained on more and more of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.base import clone

from tacit.arrays import F64, I64
from tacit.base.parameters import draw_seed
from tacit.choreo.declaration import Number, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.metrics import evaluate
from tacit.model_selection.validation import deal_out, seed_model, train_test_split
from tacit.report import Report
from tacit.report.canvas import ACCENT, Drawn, Picture, axes
from tacit.report.report import combine
from tacit.report.sheet import Sheet

SPLITS = Number(1, whole=True)


@dataclass(frozen=True, repr=False)
class LearningCurve(Drawn):
    """How good a model is on records that it has not seen, by the number of records that it was trained on.

    Attributes:
        sizes: how many records each model was trained on.
        scores: the score of each model, a row for each size and a column for each split; NaN where there were too few
            records.
        metric: accuracy, or R^2 of a regressor.
        report: what all runs opened and cost; its warnings say why a model is missing.
    """

    sizes: I64
    scores: F64
    metric: str
    report: Report

    @property
    def scores_mean(self) -> F64:
        """The mean over the splits, by size."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def scores_std(self) -> F64:
        """The standard deviation over the splits, by size."""
        return np.asarray(self.scores.std(axis=1))

    @property
    def table(self) -> Sheet:
        """Mean and deviation by size."""
        each = zip(self.sizes.tolist(), self.scores_mean.tolist(), self.scores_std.tolist(), strict=True)
        return Sheet("Learning curve", ("records", f"mean {self.metric}", "deviation"), tuple(each))

    @property
    def picture(self) -> Picture:
        """The learning curve."""
        told = ", ".join(f"{n} {score:.4f}" for n, score in zip(self.sizes, self.scores_mean, strict=True))
        return Picture("learning", f"Curve of {self.metric} by records: {told}", (5.4, 3.2), self._paint)

    def _paint(self, figure: Figure) -> None:
        ax = axes(figure, "Trained on more and more records", "records trained on", f"{self.metric} on others")
        low, high = self.scores_mean - self.scores_std, self.scores_mean + self.scores_std
        ax.fill_between(self.sizes, low, high, color=ACCENT, alpha=0.15, linewidth=0)
        ax.plot(self.sizes, self.scores_mean, color=ACCENT, marker="o")

    def __repr__(self) -> str:
        each = zip(self.sizes, self.scores_mean, self.scores_std, strict=True)
        told = ", ".join(f"{n}: {score:.4f} ± {spread:.4f}" for n, score, spread in each)
        return f"<LearningCurve: {self.metric} by records, {told}>"


def learning_curve(
    model: Any,
    federation: Federation,
    *,
    train_sizes: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
    test_size: float = 0.25,
    n_splits: int = 3,
    random_state: Any = None,
) -> LearningCurve:
    """Return how good a model is, trained on more and more of the records and judged on the same held-out ones.

    All of it is repeated with other held-out records, since one curve falls or rises by chance.

    Args:
        model: a classifier or regressor, or a `Pipeline` that ends in one; it is cloned, and stays as it is.
        federation: labelled records.
        train_sizes: shares of the records that are not held out, rising to 1 at most.
        test_size: the share that is held out.
        n_splits: how often all is repeated with other held-out records.
        random_state: an int gives the same split every time.
    """
    ends = np.asarray(train_sizes, dtype=np.float64)
    if ends.ndim != 1 or not len(ends) or not np.all(np.diff([0.0, *ends]) > 0) or ends[-1] > 1:
        raise wrong_value("train_sizes", "learning_curve", "rising numbers in the range (0.0, 1.0]", train_sizes)
    if not SPLITS.allows(n_splits):
        raise wrong_value("n_splits", "learning_curve", SPLITS.words, n_splits)
    seed = draw_seed(random_state)
    scores, reports, missing = np.full((len(ends), n_splits), np.nan), {}, []
    sizes, metric = [0] * len(ends), "accuracy"
    for split in range(n_splits):
        judge, steps = _cut(federation, ends, test_size, seed + split)
        for k, taken in enumerate(steps):
            sizes[k] = taken.n_rows
            trained = seed_model(clone(model), seed)
            try:
                trained.fit(taken)
                found = evaluate(trained, judge, name="held-out records", min_count=1)
            except LocalError as error:
                missing.append(f"no model of {taken.n_rows} records: {error}")
                continue
            scores[k, split], metric = found.score, found.metric
            reports[f"{taken.n_rows} records, split {split + 1}"] = trained.report_
    if not reports:
        raise LocalError(f"learning_curve could train no model at all; {missing[-1]}")
    report = combine(type(model).__name__, reports)
    report.warnings += missing
    return LearningCurve(np.array(sizes), scores, metric, report)


def _cut(federation: Federation, ends: F64, test_size: float, seed: int) -> tuple[Federation, list[Federation]]:
    """Return the records to judge by, and more and more of the others."""
    learn, judge = train_test_split(federation, test_size=test_size, random_state=seed)
    shares = tuple(float(share) for share in np.diff([0.0, *ends]))
    rest = () if ends[-1] == 1 else (1.0 - float(ends[-1]),)
    dealt = deal_out(learn, (*shares, *rest), "learning_curve", None, seed)
    return judge, [dealt.take(*range(k + 1)) for k in range(len(ends))]
