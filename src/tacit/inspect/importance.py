"""`tacit.inspect.permutation_importance`: by how much a model is worse when a column is shuffled, over all parties."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.base import is_regressor
from sklearn.metrics import r2_score

from tacit.arrays import F64, Array
from tacit.base.estimator import choose_classes
from tacit.base.parameters import draw_seed
from tacit.choreo import Ledger
from tacit.choreo.declaration import Number, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.part import Part, freeze
from tacit.metrics import check_model
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.canvas import ACCENT, INK, Drawn, Picture, axes, short
from tacit.report.outcome import add_outcome, report_on
from tacit.report.sheet import Sheet

REPEATS = Number(1, whole=True)


@dataclass(frozen=True, repr=False)
class Importances(Drawn):
    """How much the score falls when a column is shuffled.

    Attributes:
        features: names of the columns.
        importances: how much the score falls, by column and repeat.
        score: the score on the records as they are: accuracy, or R^2 of a regressor.
        metric: which of the two it is.
        report: what the runs opened and cost.
    """

    features: tuple[str, ...]
    importances: F64
    score: float
    metric: str
    report: Report

    @property
    def importances_mean(self) -> F64:
        """The mean over the repeats, by column."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def importances_std(self) -> F64:
        """The standard deviation over the repeats, by column."""
        return np.asarray(self.importances.std(axis=1))

    @property
    def table(self) -> Sheet:
        """The columns, the most important first."""
        order = np.argsort(-self.importances_mean, kind="stable").tolist()
        rows = tuple((self.features[j], float(self.importances_mean[j]), float(self.importances_std[j])) for j in order)
        return Sheet("Importance of columns", ("column", f"{self.metric} lost", "deviation"), rows)

    @property
    def picture(self) -> Picture:
        """A bar chart, with the most important column at the top."""
        order = np.argsort(-self.importances_mean, kind="stable")
        told = ", ".join(f"{self.features[j]} {self.importances_mean[j]:.4f}" for j in order)
        size = (7.2, 1.2 + 0.3 * len(order))
        return Picture("importance", f"Bars of how much {self.metric} falls: {told}", size, self._paint)

    def _paint(self, figure: Figure) -> None:
        order = np.argsort(-self.importances_mean, kind="stable")
        ax = axes(figure, f"By how much {self.metric} falls when a column is shuffled", f"{self.metric} lost", "")
        rows, mean, error = range(len(order)), self.importances_mean[order], self.importances_std[order]
        ax.barh(rows, mean, xerr=error, height=0.62, color=ACCENT, ecolor=INK)
        ax.set_yticks(rows, [short(self.features[j]) for j in order], color=INK)
        ax.invert_yaxis()

    def __repr__(self) -> str:
        best = np.argsort(-self.importances_mean, kind="stable")[:3]
        told = ", ".join(f"{self.features[j]} {self.importances_mean[j]:.4f}" for j in best)
        return f"<Importances: {self.metric} {self.score:.4f}; most lost without {told}>"


def permutation_importance(
    model: Any, federation: Federation, *, n_repeats: int = 5, random_state: Any = None
) -> Importances:
    """Return how much worse a fitted model gets when a column is shuffled, over the records of all parties.

    It needs all records in this process, and asks no party. Every party's own cells of the column are shuffled among
    its own records; so over rows a column that only tells parties apart has no importance.

    Args:
        model: a fitted classifier or regressor, a search, or a `Pipeline`, whose input columns are then shuffled.
        federation: labelled records, best those that the model was not trained on.
        n_repeats: how often each column is shuffled.
        random_state: an int gives the same shuffles every time.
    """
    last = check_model(model, federation, "permutation_importance", 1)
    if not REPEATS.allows(n_repeats):
        raise wrong_value("n_repeats", "permutation_importance", REPEATS.words, n_repeats)
    if not federation.holds_records:
        raise LocalError("permutation_importance shuffles records, which stay at their sites: use it in a simulation")
    columns, seed = list(range(federation.n_features)), draw_seed(random_state)
    variants = [federation, *(shuffle(federation, j, seed, r) for j in columns for r in range(n_repeats))]
    asked = [last.ask(model.prepare(each) if hasattr(model, "prepare") else each) for each in variants]
    y = federation.targets()[0]
    if y is None:
        raise LocalError("permutation_importance compares answers with labels, and the federation has none: give y=")
    scores = np.array([_score(last, y, each.values) for each in asked])
    lost = scores[0] - scores[1:].reshape(len(columns), n_repeats)
    metric = "r2" if is_regressor(last) else "accuracy"
    runs = [run for each in asked for run in each.outcomes]
    report = _report(last, federation, runs, dict(zip(federation.features, lost.mean(axis=1).tolist(), strict=True)))
    return Importances(federation.features, lost, float(scores[0]), metric, report)


def shuffle(federation: Federation, column: int, seed: int, repeat: int) -> Federation:
    """Return the federation with one column shuffled: by each party its own cells, among its own records."""
    federation.check_dense("permutation_importance")

    def shuffled(party: str, part: Part) -> Part:
        at = np.flatnonzero(federation.columns[party] == column)
        if not len(at):
            return part
        X, draw_from = part.X.copy(), np.random.default_rng((seed, column, repeat, *party.encode()))
        rows = np.arange(len(X)) if part.owned is None else np.flatnonzero(part.owned[:, at[0]])
        X[rows, at[0]] = X[draw_from.permutation(rows), at[0]]
        return dataclasses.replace(part, X=freeze(X))

    parts = {party: shuffled(party, part) for party, part in federation.parts.items()}
    return dataclasses.replace(federation, parts=parts)


def _score(model: Any, y: Array, values: F64) -> float:
    """Return accuracy, or R^2 of a regressor."""
    if is_regressor(model):
        return float(r2_score(y, values[:, 0]))
    return float(np.mean(model.classes_[choose_classes(values)] == y))


def _report(model: Any, federation: Federation, runs: list[Outcome], figures: dict[str, float]) -> Report:
    first, *others = runs or [Outcome(None, Ledger(), [], 0.0, {})]
    report = report_on(model, federation, first, protection=model.report_.protection)
    for run in others:
        add_outcome(report, run)
    report.title = f"Importance of columns: {report.title}"
    report.figures = {f"lost without {name}": value for name, value in figures.items()}
    return report
