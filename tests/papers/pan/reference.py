"""The plain centralised methods that PAN-SVM and its selections must equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_ind
from sklearn.feature_selection import RFE
from sklearn.svm import SVC

from tacit.numeric.scores.folds import deal_folds
from tacit.numeric.svm.kernels import problems, signs_of

N, COLUMNS = 60, 4


def table(classes: int = 2) -> tuple[Any, Any]:
    """Records that a plane separates not quite."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(N, COLUMNS))
    score = X @ np.array([1.0, 0.6, 0.0, 0.3]) + 0.5 * rng.normal(size=N)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def deal(parties: Sequence[str], n: int) -> dict[str, Any]:
    """Unequal shares of the records."""
    cuts = np.cumsum(np.arange(1, len(parties)) * n // (len(parties) * (len(parties) + 1) // 2))
    return dict(zip(parties, np.split(np.arange(n), cuts), strict=True))


def signs_of_pairs(y: Any, classes: int, multi_class: str) -> Any:
    return signs_of(y, problems(classes, multi_class))


def objective(F: Any, sign: Any, w: Any, C: float, weight: Any = 1.0) -> float:
    """(3.7) of a model, of which b is the last entry; rows without a sign are not in the problem."""
    hinge = np.where(sign == 0, 0.0, np.maximum(0.0, 1.0 - sign * (F @ w)))
    return float(0.5 * w[:-1] @ w[:-1] + C * np.sum(weight * hinge))


def optimum(F: Any, sign: Any, C: float, weight: Any = None) -> float:
    """The optimum of (3.7), by LIBSVM."""
    use = sign != 0
    svc = SVC(kernel="linear", C=C, tol=1e-7).fit(F[use], sign[use], None if weight is None else weight[use])
    w = np.append(svc.coef_[0], svc.intercept_[0])
    return objective(np.column_stack([F, np.ones(len(F))]), sign, w, C, 1.0 if weight is None else weight)


def drop_by_rfe(X: Any, y: Any, C: float) -> list[int]:
    """The order in which SVM-RFE drops the features, all but the last."""
    ranks = RFE(SVC(kernel="linear", C=C, tol=1e-7), n_features_to_select=1).fit(X, y).ranking_
    return [int(j) for j in np.argsort(-ranks)][:-1]


def filters(X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Fisher's score, Welch's t with p, and the ratio of scatter, of two classes."""
    a, b = X[y == 1], X[y == 0]
    fisher = (a.mean(axis=0) - b.mean(axis=0)) ** 2 / (a.var(axis=0) + b.var(axis=0))
    t, p = ttest_ind(a, b, equal_var=False)
    between = sum(len(c) * (c.mean(axis=0) - X.mean(axis=0)) ** 2 for c in (a, b))
    return fisher, np.abs(t), p, between / sum(len(c) * c.var(axis=0) for c in (a, b))


def accuracy(X: Any, y: Any, rows: Sequence[Any], C: float, folds: int) -> float:
    """The accuracy over folds that every party deals of its own rows."""
    fold, right = np.zeros(len(y), dtype=int), 0
    for own in rows:
        fold[own] = deal_folds(y[own], folds, 0)
    for q in range(folds):
        svc = SVC(kernel="linear", C=C, tol=1e-7).fit(X[fold != q], y[fold != q])
        right += int(np.sum(svc.predict(X[fold == q]) == y[fold == q]))
    return right / len(y)


def select_by_filters(
    X: Any, y: Any, rows: Sequence[Any], *, C: float, folds: int, most: float = 0.9
) -> tuple[list[int], list[int], list[float]]:
    """PPFSIFW: the voted set weakest first, who goes in which order, and all accuracies."""
    fisher, t, p, scatter = filters(X, y)
    rank = sum(np.argsort(np.argsort(score)) for score in (fisher, t, scatter))
    passing = [int(j) for j in np.argsort(rank, kind="stable") if p[j] <= most]
    left, gone, found = list(passing), [], [accuracy(X[:, sorted(passing)], y, rows, C, folds)]
    while len(left) > 1:
        tried = [accuracy(X[:, sorted(set(left) - {j})], y, rows, C, folds) for j in left]
        gone.append(left.pop(int(np.argmax(tried))))
        found.append(max(tried))
    return passing, gone, found
