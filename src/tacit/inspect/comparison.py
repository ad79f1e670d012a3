"""`tacit.inspect.compare`: whether one model is better than another on the same records, or only by chance.

    b, c      records that only the first model is right about, and only the second
    p         2 P[Binomial(b + c, 1/2) <= min(b, c)]                                             (McNemar, exact)    (1)

Confusion counts tell b - c, and of each class a between which numbers b_a lies: with d_a = r_a - s_a

    max(0, d_a) <= b_a <= min(r_a, n_a - s_a)                                                                     (2)

where r_a and s_a of its n_a records are given their class by the first and the second model. For one b - c, (1) grows
with b + c, so two evaluations tell between which numbers p lies. That they are of the same records they do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr
from sklearn.base import is_regressor

from tacit.arrays import F64
from tacit.base.estimator import choose_classes
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.metrics import check_model
from tacit.report.evaluation import Evaluation
from tacit.report.sheet import Sheet

Range = tuple[int, int]
Bounds = tuple[float, float]
WIDE = 1.959964  # of a normal distribution, 95 % are within so many deviations
BY_COUNTS = "by confusion counts: p lies between these numbers, and records on which both differ are not told"
BY_RECORDS = "record by record, in simulation"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two models on the same records.

    Attributes:
        metric: accuracy, or for numbers the mean absolute error.
        records: how many there are.
        first, second: the figure of each model.
        only_first, only_second: the least and the most records that only this model is right about; for numbers, about
            which it is nearer.
        interval: between which numbers the difference of the figures lies with 95 % probability, at most.
        p_value: the least and the most that the p-value of a two-sided test of no difference can be.
        how: what was compared.
    """

    metric: str
    records: int
    first: float
    second: float
    only_first: Range
    only_second: Range
    interval: Bounds
    p_value: Bounds
    how: str

    @property
    def difference(self) -> float:
        """The figure of the first model less that of the second."""
        return self.first - self.second

    @property
    def table(self) -> Sheet:
        """The same as a table."""
        low, high = self.interval
        rows = [
            (f"{self.metric} of the first", self.first, ""),
            (f"{self.metric} of the second", self.second, ""),
            ("difference, 95 % interval", self.difference, f"{low:.4f} to {high:.4f}"),
            ("only the first is right", *_told(self.only_first)),
            ("only the second is right", *_told(self.only_second)),
            ("p-value", *_told(self.p_value)),
        ]
        return Sheet(f"Two models on {self.records:,} records", ("", "", ""), tuple(rows), self.how)

    def __repr__(self) -> str:
        low, high = self.p_value
        told = f"p = {low:.3g}" if low == high else f"p between {low:.3g} and {high:.3g}"
        return f"<Comparison: {self.metric} {self.first:.4f} and {self.second:.4f} of {self.records} records, {told}>"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def compare(first: Any, second: Any, federation: Federation | None = None) -> Comparison:
    """Return whether one of two models is better on the same records: a paired test, exact for classes.

    Args:
        first: a fitted model, which is asked about every record in a simulation; or what `tacit.evaluate` told of it,
            from which bounds of the test follow, and for which nobody is asked.
        second: another one.
        federation: with models, labelled records in this process that neither was trained on.
    """
    if isinstance(first, Evaluation) and isinstance(second, Evaluation):
        return _compare_counts(first, second)
    if federation is None or not getattr(federation, "holds_records", False):
        raise LocalError(
            "compare needs every record's answers, which stay at the sites: use it in a simulation, or compare two"
            " evaluations of the same records"
        )
    models = [check_model(model, federation, "compare", 1) for model in (first, second)]
    y = federation.targets()[0]
    if y is None:
        raise LocalError("compare needs labels to compare answers with, and the federation has none: give y=")
    if is_regressor(models[0]) != is_regressor(models[1]):
        raise LocalError("compare takes two classifiers or two regressors: give two of a kind")
    asked = [each.prepare(federation) if hasattr(each, "prepare") else federation for each in (first, second)]
    values = [model.ask(records).values for model, records in zip(models, asked, strict=True)]
    if is_regressor(models[0]):
        return _compare_errors(*(np.abs(y.astype(np.float64) - each[:, 0]) for each in values))
    right = [model.classes_[choose_classes(v)] == y for model, v in zip(models, values, strict=True)]
    b, c = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    return _test(float(right[0].mean()), float(right[1].mean()), len(y), (b, b), (c, c), BY_RECORDS)


def _compare_counts(first: Evaluation, second: Evaluation) -> Comparison:
    """Return what two confusion matrices of the same records tell."""
    if not first.classes or not second.classes:
        raise LocalError("two evaluations of numbers tell no paired test: compare the models, in a simulation")
    n, m = first.confusion_matrix, second.confusion_matrix
    if first.classes != second.classes or (n.sum(axis=1) != m.sum(axis=1)).any() or not n.sum():
        raise LocalError("compare needs evaluations of the same records, and these have other numbers of each class")
    r, s = n.diagonal(), m.diagonal()
    least, most = np.maximum(0, r - s), np.minimum(r, n.sum(axis=1) - s)  # (2)
    b, d = (int(least.sum()), int(most.sum())), int((r - s).sum())
    return _test(first.accuracy, second.accuracy, first.n_records, b, (b[0] - d, b[1] - d), BY_COUNTS)


def _test(first: float, second: float, n: int, b: Range, c: Range, how: str) -> Comparison:
    """Return the comparison of two accuracies, (1), where b and c lie between these numbers."""
    p = tuple(float(min(1.0, 2.0 * bdtr(min(x, y), x + y, 0.5))) if x + y else 1.0 for x, y in zip(b, c, strict=True))
    difference, apart = first - second, b[1] + c[1]
    half = WIDE * float(np.sqrt(max(0.0, apart / n - difference**2) / n))
    return Comparison("accuracy", n, first, second, b, c, (difference - half, difference + half), (p[0], p[1]), how)


def _compare_errors(first: F64, second: F64) -> Comparison:
    """Return the comparison of two regressors by their absolute errors, by Wilcoxon's signed ranks."""
    from scipy.stats import wilcoxon  # noqa: PLC0415 - it takes long to import

    gain, n = first - second, len(first)
    half = WIDE * float(gain.std(ddof=1)) / float(np.sqrt(n))
    p = float(wilcoxon(first, second).pvalue) if gain.any() else 1.0
    b, c = int((gain < 0).sum()), int((gain > 0).sum())
    mean = float(gain.mean())
    figures = "mean absolute error", n, float(first.mean()), float(second.mean())
    return Comparison(*figures, (b, b), (c, c), (mean - half, mean + half), (p, p), f"{BY_RECORDS}: Wilcoxon's test")


def _told(bounds: tuple[float, float]) -> tuple[float | str, str]:
    low, high = bounds
    return (low, "") if low == high else (f"{low:.4g} to {high:.4g}", "")
