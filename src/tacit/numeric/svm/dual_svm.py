"""The SVM from its kernel matrix alone: the dual problem of two classes, those of several; and its regression.

    min_a  1/2 a'Qa - e'a     s.t.  0 <= a_i <= C_i,  d'a = 0,     Q_ij = d_i d_j K_ij         (001, eqs 3 and 4)
    f(x) = sum_i a_i d_i K(x_i, x) + b

    min_c  1/2 c'Kc - y'c + epsilon |c|_1     s.t.  |c_i| <= C_i,  e'c = 0                     (epsilon-insensitive)
    f(x) = sum_i c_i K(x_i, x) + b

Solved by LIBSVM through scikit-learn, so that the answer is the centralised learner's to the last step. Which problems
several classes are says `numeric.svm.problems`; all are on the one kernel matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.counted import counted
from tacit.errors import LocalError
from tacit.numeric.scores.folds import deal_folds
from tacit.numeric.svm.problems import Way, problems, signs_of, value_classes

CACHE_MB = 500
FOLDS = 5  # of `out_of_fold`, as LIBSVM has it


@dataclass(frozen=True)
class DualSolution:
    """A solution: row p of `coef` is a_i d_i of problem p, or c_i; `objective` is what is minimised."""

    coef: F64
    bias: F64
    objective: F64
    iterations: int


def solve(K: F64, codes: I64, weight: F64 | None, **way: Unpack[Way]) -> DualSolution:
    """Solve all problems of the classes on the one kernel matrix."""
    if weight is not None and not weight.all():
        return _without_weightless(K, codes, weight, way)
    names, codes = np.unique(codes, return_inverse=True)
    pairs = problems(len(names), way["multi_class"])
    # LIBSVM's steps depend on which class stands first: of a pair the first one, as in SVC; of the others the negative
    firsts = (1 if 0 <= positive < negative else -1 for positive, negative in pairs)
    sides = list(zip(signs_of(codes, pairs).T, firsts, strict=True))
    solved = [_binary(K, side, weight, first, way) for side, first in counted(sides)]
    coef, bias, objective, iterations = (np.array(column) for column in zip(*solved, strict=True))
    return DualSolution(coef, bias, objective, int(iterations.max()))


def solve_numbers(
    K: F64, y: F64, weight: F64 | None, *, C: float, epsilon: float, tol: float, max_iter: int
) -> DualSolution:
    """Solve the regression of numbers y."""
    kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    if not kept.size:
        raise LocalError("no record has a positive weight: give some weight to learn from")
    part, given = K[np.ix_(kept, kept)] if kept.size < len(y) else K, None if weight is None else weight[kept]
    from sklearn.svm import SVR  # noqa: PLC0415 - it takes a second to import: only who solves waits

    svr = SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=tol, max_iter=max_iter, cache_size=CACHE_MB)
    svr.fit(part, y[kept], sample_weight=given)
    coef = np.zeros(len(y))
    coef[kept[svr.support_]] = svr.dual_coef_[0]
    objective = dual_objective(K, coef) + np.abs(coef).sum() * (1 + epsilon) - y @ coef
    return DualSolution(coef[None], svr.intercept_.copy(), np.array([objective]), int(np.max(svr.n_iter_)))


def out_of_fold(
    K: F64, codes: I64, weight: F64 | None, *, fold: I64 | None = None, **way: Unpack[Way]
) -> tuple[F64, I64]:
    """Return decision values of every record that has weight, from a model that did not see it, and their codes.

    There is a column per class, or one for two classes.
    """
    kept = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    fewest = int(np.bincount(codes[kept]).min())
    if fewest < 2:  # noqa: PLR2004 - one to learn from and one to be judged
        raise LocalError(
            "a class has a single record, and probability=True leaves records out in turn: bring more, or say"
            " probability=False"
        )
    fold = deal_folds(codes[kept], min(FOLDS, fewest), 0) if fold is None else fold[kept]
    values = []
    for q in counted(range(fold.max() + 1)):
        out, rest = kept[fold == q], kept[fold != q]
        given = None if weight is None else weight[rest]
        found = solve(K[np.ix_(rest, rest)], codes[rest], given, **way)
        values.append(value_classes(K[np.ix_(out, rest)] @ found.coef.T + found.bias, way["multi_class"]))
    back = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    return np.concatenate(values)[back], codes[kept]


def _without_weightless(K: F64, codes: I64, weight: F64, way: Way) -> DualSolution:
    """Solve without records of weight 0.

    Scikit-learn numbers support vectors without them, and so would misplace all others.
    """
    kept = np.flatnonzero(weight)
    lost = np.setdiff1d(codes, codes[kept])
    if lost.size or not kept.size:
        raise LocalError(
            f"{max(lost.size, 1)} of the classes has no record of positive weight: give every class some weight"
        )
    solved = solve(K[np.ix_(kept, kept)], codes[kept], weight[kept], **way)
    coef = np.zeros((len(solved.coef), len(K)))
    coef[:, kept] = solved.coef
    return replace(solved, coef=coef)


def _binary(K: F64, side: I8, weight: F64 | None, first: int, way: Way) -> tuple[F64, float, float, int]:
    """Solve one problem, of the records whose side is not 0; those of side `first` stand first in LIBSVM."""
    used = np.flatnonzero(side)
    part, given = K if used.size == len(K) else K[np.ix_(used, used)], None if weight is None else weight[used]
    from sklearn.svm import SVC  # noqa: PLC0415 - it takes a second to import: only who solves waits

    svc = SVC(C=way["C"], kernel="precomputed", tol=way["tol"], max_iter=way["max_iter"], cache_size=CACHE_MB)
    svc.fit(part, side[used] != first, sample_weight=given)
    coef = np.zeros(len(K))
    coef[used[svc.support_]] = -first * svc.dual_coef_[0]
    return coef, -first * float(svc.intercept_[0]), dual_objective(K, coef), int(svc.n_iter_[0])


def dual_objective(K: F64, coef: F64) -> float:
    """Return 1/2 a'Qa - e'a, of coef = a d; a_i = |coef_i|."""
    used = np.flatnonzero(coef)
    c = coef[used]
    return float(0.5 * c @ (K[np.ix_(used, used)] @ c) - np.abs(c).sum())
