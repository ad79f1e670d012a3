"""The SVM from its kernel matrix alone: one dual problem, or one per class against the rest; and its regression.

    min_a  1/2 a'Qa - e'a     s.t.  0 <= a_i <= C_i,  d'a = 0,     Q_ij = d_i d_j K_ij         (001, eqs 3 and 4)
    f(x) = sum_i a_i d_i K(x_i, x) + b

    min_c  1/2 c'Kc - y'c + epsilon |c|_1     s.t.  |c_i| <= C_i,  e'c = 0                     (epsilon-insensitive)
    f(x) = sum_i c_i K(x_i, x) + b

Solved by LIBSVM through scikit-learn, so that the answer is the centralised learner's to the last step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, SVR

from tacit.errors import LocalError
from tacit.numeric.folds import dealt

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

CACHE_MB = 500
FOLDS = 5  # of `out_of_fold`, as LIBSVM has it


@dataclass(frozen=True)
class DualSolution:
    """Row p of `coef` is a_i d_i of problem p, or c_i; `objective` is what is minimised."""

    coef: F64
    bias: F64
    objective: F64
    iterations: int


def solve(K: F64, codes: I64, weight: F64 | None, *, C: float, tol: float, max_iter: int) -> DualSolution:
    """All problems on the one kernel matrix: code 1 against 0 if there are two, else each code against the rest."""
    if weight is not None and not weight.all():
        return _without_weightless(K, codes, weight, C=C, tol=tol, max_iter=max_iter)
    found = np.unique(codes)
    positives = found[1:] if found.size == 2 else found  # noqa: PLR2004 - two classes are one problem
    solved = [_binary(K, codes == p, weight, C, tol, max_iter) for p in positives]
    coef, bias, objective, iterations = (np.array(column) for column in zip(*solved, strict=True))
    return DualSolution(coef, bias, objective, int(iterations.max()))


def solve_numbers(K: F64, y: F64, weight: F64 | None, *, C: float, epsilon: float, tol: float, max_iter: int) -> DualSolution:
    """The regression of numbers y."""
    kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    if not kept.size:
        raise LocalError("no record has a positive weight: give some weight to learn from")
    part, given = K[np.ix_(kept, kept)] if kept.size < len(y) else K, None if weight is None else weight[kept]
    svr = SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=tol, max_iter=max_iter, cache_size=CACHE_MB)
    svr.fit(part, y[kept], sample_weight=given)
    coef = np.zeros(len(y))
    coef[kept[svr.support_]] = svr.dual_coef_[0]
    objective = dual_objective(K, coef) + np.abs(coef).sum() * (1 + epsilon) - y @ coef
    return DualSolution(coef[None], svr.intercept_.copy(), np.array([objective]), int(np.max(svr.n_iter_)))


def out_of_fold(K: F64, codes: I64, weight: F64 | None, *, C: float, tol: float, max_iter: int, fold: I64 | None = None) -> tuple[F64, I64]:
    """Decision values of every record that has weight, from a model that did not see it, a column per problem; and their codes."""
    kept = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    fewest = int(np.bincount(codes[kept]).min())
    if fewest < 2:  # noqa: PLR2004 - one to learn from and one to be judged
        raise LocalError("a class has a single record, and probability=True leaves records out in turn: bring more, or leave it off")
    fold = dealt(codes[kept], min(FOLDS, fewest), 0) if fold is None else fold[kept]
    values = []
    for q in range(fold.max() + 1):
        out, rest = kept[fold == q], kept[fold != q]
        found = solve(K[np.ix_(rest, rest)], codes[rest], None if weight is None else weight[rest], C=C, tol=tol, max_iter=max_iter)
        values.append(K[np.ix_(out, rest)] @ found.coef.T + found.bias)
    back = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    return np.concatenate(values)[back], codes[kept]


def _without_weightless(K: F64, codes: I64, weight: F64, **settings: Any) -> DualSolution:
    """Records of weight 0 are left out here: scikit-learn numbers support vectors without them, and so misplaces all others."""
    kept = np.flatnonzero(weight)
    lost = np.setdiff1d(codes, codes[kept])
    if lost.size or not kept.size:
        raise LocalError(f"{max(lost.size, 1)} of the classes has no record of positive weight: give every class some weight")
    solved = solve(K[np.ix_(kept, kept)], codes[kept], weight[kept], **settings)
    coef = np.zeros((len(solved.coef), len(K)))
    coef[:, kept] = solved.coef
    return replace(solved, coef=coef)


def _binary(K: F64, positive: NDArray[np.bool_], weight: F64 | None, C: float, tol: float, max_iter: int) -> tuple[F64, float, float, int]:
    svc = SVC(C=C, kernel="precomputed", tol=tol, max_iter=max_iter, cache_size=CACHE_MB)
    svc.fit(K, positive, sample_weight=weight)
    coef = np.zeros(len(K))
    coef[svc.support_] = svc.dual_coef_[0]
    return coef, float(svc.intercept_[0]), dual_objective(K, coef), int(svc.n_iter_[0])


def dual_objective(K: F64, coef: F64) -> float:
    """1/2 a'Qa - e'a, of coef = a d; a_i = |coef_i|."""
    used = np.flatnonzero(coef)
    c = coef[used]
    return float(0.5 * c @ (K[np.ix_(used, used)] @ c) - np.abs(c).sum())
