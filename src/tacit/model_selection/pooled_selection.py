"""The same selection on one table with scikit-learn's SVC: its support vectors are the landmarks, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from tacit.arrays import F64, I64, Array
from tacit.numeric.features import elimination
from tacit.numeric.features.elimination import schedule, without
from tacit.numeric.features.filters import Filters, candidates, vote_features
from tacit.numeric.features.relevance import (
    Expansion,
    Vote,
    class_sums,
    margin_sums,
    margin_t,
    order,
    rfe,
    rsvm,
    rsvm_sums,
    vote,
)
from tacit.numeric.scores.folds import choose_class, deal_folds
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import problems, signs_of

Propose = Callable[[I64, int], list[I64]]  # the features left, and how many go -> sets that may go
Judge = Callable[[list[I64]], bool]  # whether the accuracy without each of these sets decides


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
        """Return the table with labels as numbers and class weights as weights."""
        classes, codes = np.unique(y, return_inverse=True)
        weights = compute_sample_weight(svc.class_weight, y)
        use = weights > 0
        X, codes = X[use], codes[use]
        signs = signs_of(codes, problems(len(classes), "ovr"))
        return cls(
            clone(svc).set_params(class_weight=None), X, codes, signs, weights[use], deal_folds(codes, folds, seed)
        )

    def accuracy(self, features: I64) -> float:
        """Return the accuracy over the folds."""
        right = 0
        for q in range(int(self.fold.max()) + 1):
            test = self.fold == q
            values = [self._decide(features, k, ~test, test) for k in range(self.signs.shape[1])]
            right += int(np.sum(choose_class(np.transpose(values)) == self.codes[test]))
        return right / len(self.codes)

    def _decide(self, features: I64, k: int, train: NDArray[np.bool_], test: NDArray[np.bool_]) -> F64:
        if len(set(self.signs[train, k])) == 1:  # all rows of one side are in this fold
            return np.full(int(test.sum()), float(self.signs[train, k][0]))
        return np.asarray(self._fit(features, k, train).decision_function(self.X[np.ix_(test, features)]))

    def _fit(self, features: I64, k: int, rows: NDArray[np.bool_]) -> SVC:
        return clone(self.svc).fit(self.X[np.ix_(rows, features)], self.signs[rows, k], self.weight[rows])

    def expansion(self, features: I64) -> Expansion:
        """Return all problems over the support vectors of all."""
        models = [self._fit(features, k, np.ones(len(self.X), bool)) for k in range(self.signs.shape[1])]
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
        """Return who goes, by position among `features`."""
        e, X = self.expansion(features), self.X[:, features]
        scores = {
            "rfe": lambda: rfe(e),
            "rsvm": lambda: rsvm(rsvm_sums(e, X, self.signs)),
            # a free vector is at 1 up to tol
            "t": lambda: margin_t(margin_sums(e, X, self.signs, X.mean(axis=0), slack=self.svc.tol)),
        }
        return vote([order(scores[name]()) for name in criteria], number)


@dataclass(frozen=True)
class Eliminated:
    """The features that took part, those that went round by round, the subset that is taken, and accuracies."""

    features: I64
    gone: tuple[I64, ...]
    chosen: int
    scores: F64


def select_by_wrapper(table: Pooled, *, criteria: tuple[str, ...], **sizes: Any) -> Eliminated:
    """Select as `protocols.planes.select_wrapper` does, with nothing to hold back."""

    def propose(left: I64, number: int) -> list[I64]:
        ballot = table.ballot(left, criteria, number)
        return [left[np.array(ballot.gone + each, dtype=np.int64)] for each in ballot.contested or ((),)]

    return _eliminate(table, np.arange(table.X.shape[1]), propose, judge=lambda sets: len(sets) > 1, **sizes)


def select_by_filters(table: Pooled, *, filters: dict[str, Any], trials: int, **sizes: Any) -> Eliminated:
    """Select as `protocols.planes.select_filter` does; the table is centred first."""
    sums = class_sums(table.X, table.codes, int(table.codes.max()) + 1, table.X.mean(axis=0))
    passing = vote_features(sums, Filters(**filters))

    def propose(left: I64, number: int) -> list[I64]:
        return list(candidates(passing[np.isin(passing, left)], number, trials))

    features = np.sort(passing)
    return _eliminate(table, features, propose, judge=lambda _: True, **sizes)


def _eliminate(
    table: Pooled, features: I64, propose: Propose, *, judge: Judge, keep: int, step: float, best: bool, at_most: int
) -> Eliminated:
    """Drop in every round the proposed set without which the accuracy is best, if it is judged; choose a subset."""
    left, gone, scores = features, [], [np.nan]
    for number in schedule(len(features), min(keep, len(features)), step):
        sets = propose(left, number)
        found = [table.accuracy(without(left, each)) for each in sets] if judge(sets) else [np.nan]
        gone.append(np.sort(sets[int(np.argmax(found))]))
        left = without(left, gone[-1])
        scores.append(max(found))
    return _choose(table, features, gone, scores, best=best, at_most=at_most)


def _choose(
    table: Pooled, features: I64, gone: list[I64], known: list[float], *, best: bool, at_most: int
) -> Eliminated:
    """Return the features that went, and the subset that is taken; compute accuracies that are needed for that."""
    left, scores = features, np.full(len(known), np.nan)
    if not best:
        return Eliminated(features, tuple(gone), len(gone), scores)
    for t, accuracy in enumerate(known):
        left = left if t == 0 else without(left, gone[t - 1])
        if len(left) <= at_most:
            scores[t] = table.accuracy(left) if np.isnan(accuracy) else accuracy
    return Eliminated(features, tuple(gone), elimination.best(scores, len(table.codes)), scores)
