"""The same selection on one table with scikit-learn's SVC: its support vectors are the landmarks, nobody sends anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from tacit.choreo import F64, I64, Array
from tacit.numeric import elimination
from tacit.numeric.elimination import schedule, without
from tacit.numeric.filters import Filters, candidates, voted
from tacit.numeric.folds import chosen, dealt
from tacit.numeric.kernels import Kernel
from tacit.numeric.relevance import Expansion, Vote, class_sums, margin_sums, margin_t, order, rfe, rsvm, rsvm_sums, vote
from tacit.protocols.row_problems import problems, signs_of


@dataclass(frozen=True)
class Pooled:
    """A table, the classifier to be trained on columns of it, and the fold of every row."""

    svc: SVC
    X: F64
    codes: I64
    signs: NDArray[np.int8]
    weight: F64
    fold: I64

    @classmethod
    def of(cls, svc: SVC, X: F64, y: Array, folds: int, seed: int) -> Pooled:
        """Labels as numbers, class weights as weights."""
        classes, codes = np.unique(y, return_inverse=True)
        weights = compute_sample_weight(svc.class_weight, y)
        use = weights > 0
        X, codes = X[use], codes[use]
        signs = signs_of(codes, problems(len(classes), "ovr"))
        return cls(clone(svc).set_params(class_weight=None), X, codes, signs, weights[use], dealt(codes, folds, seed))

    def accuracy(self, features: I64) -> float:
        """Over the folds."""
        right = 0
        for q in range(int(self.fold.max()) + 1):
            test = self.fold == q
            values = [self._decided(features, k, ~test, test) for k in range(self.signs.shape[1])]
            right += int(np.sum(chosen(np.transpose(values)) == self.codes[test]))
        return right / len(self.codes)

    def _decided(self, features: I64, k: int, train: NDArray[np.bool_], test: NDArray[np.bool_]) -> F64:
        if len(set(self.signs[train, k])) == 1:  # all rows of one side are in this fold
            return np.full(int(test.sum()), float(self.signs[train, k][0]))
        return np.asarray(self._fitted(features, k, train).decision_function(self.X[np.ix_(test, features)]))

    def _fitted(self, features: I64, k: int, rows: NDArray[np.bool_]) -> SVC:
        return clone(self.svc).fit(self.X[np.ix_(rows, features)], self.signs[rows, k], self.weight[rows])

    def expansion(self, features: I64) -> Expansion:
        """All problems over the support vectors of all."""
        models = [self._fitted(features, k, np.ones(len(self.X), bool)) for k in range(self.signs.shape[1])]
        b = np.array([float(m.intercept_[0]) for m in models])
        if self.svc.kernel == "linear":
            return Expansion(Kernel("linear"), np.concatenate([m.coef_ for m in models]), np.eye(len(models)), b)
        v = np.zeros((len(models), len(self.X)))
        for k, m in enumerate(models):
            v[k, m.support_] = m.dual_coef_[0]
        used = np.flatnonzero(np.any(v != 0, axis=0))
        gamma = float(models[0]._gamma)  # noqa: SLF001 - the number behind "scale"
        kernel = Kernel(self.svc.kernel, gamma, self.svc.degree, self.svc.coef0)
        return Expansion(kernel, self.X[np.ix_(used, features)], v[:, used], b)

    def ballot(self, features: I64, criteria: tuple[str, ...], number: int) -> Vote:
        """Who goes, by position among `features`."""
        e, X = self.expansion(features), self.X[:, features]
        scores = {
            "rfe": lambda: rfe(e),
            "rsvm": lambda: rsvm(rsvm_sums(e, X, self.signs)),
            "t": lambda: margin_t(margin_sums(e, X, self.signs, X.mean(axis=0), slack=self.svc.tol)),  # a free vector is at 1 up to tol
        }
        return vote([order(scores[name]()) for name in criteria], number)


def wrapper(
    table: Pooled, *, criteria: tuple[str, ...], keep: int, step: float, best: bool, at_most: int | None
) -> dict[str, Any]:  # fmt: skip
    """As `protocols.select_wrapper`, with nothing to hold back."""
    left = np.arange(table.X.shape[1])
    gone, scores = [], [np.nan]
    for number in schedule(len(left), keep, step):
        ballot = table.ballot(left, criteria, number)
        sets = [np.array(ballot.gone + each, dtype=np.int64) for each in ballot.contested or ((),)]
        found = [table.accuracy(without(left, left[each])) for each in sets] if len(sets) > 1 else [np.nan]
        gone.append(np.sort(left[sets[int(np.argmax(found))]]))
        left = without(left, gone[-1])
        scores.append(max(found))
    return {"gone": tuple(gone), **_chosen(table, np.arange(table.X.shape[1]), gone, scores, best=best, at_most=at_most)}


def filter_wrapper(
    table: Pooled, *, filters: dict[str, Any], keep: int, step: float, best: bool, at_most: int, trials: int
) -> dict[str, Any]:
    """As `protocols.select_filter`; the table is centred first."""
    sums = class_sums(table.X, table.codes, int(table.codes.max()) + 1, table.X.mean(axis=0))
    passing = voted(sums, Filters(**filters))
    features = left = np.sort(passing)
    gone, scores = [], [np.nan]
    for number in schedule(len(features), min(keep, len(features)), step):
        tried = candidates(passing[np.isin(passing, left)], number, trials)
        found = [table.accuracy(without(left, each)) for each in tried]
        gone.append(np.sort(tried[int(np.argmax(found))]))
        left = without(left, gone[-1])
        scores.append(max(found))
    return {"features": features, "gone": tuple(gone), **_chosen(table, features, gone, scores, best=best, at_most=at_most)}


def _chosen(table: Pooled, left: I64, gone: list[I64], known: list[float], *, best: bool, at_most: int | None) -> dict[str, Any]:
    """Which subset on the way is taken; accuracies that are not known yet are computed, if they are needed."""
    scores = np.full(len(known), np.nan)
    if not best:
        return {"chosen": len(gone), "scores": scores}
    for t, accuracy in enumerate(known):
        left = left if t == 0 else without(left, gone[t - 1])
        if at_most is None or len(left) <= at_most:
            scores[t] = table.accuracy(left) if np.isnan(accuracy) else accuracy
    return {"chosen": elimination.best(scores, len(table.codes)), "scores": scores}
