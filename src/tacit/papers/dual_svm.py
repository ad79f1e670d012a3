"""The SVM from its kernel matrix alone: the dual problem of two classes, and those of several.

    min_a  1/2 a'Qa - e'a     s.t.  0 <= a_i <= C_i,  d'a = 0,     Q_ij = d_i d_j K_ij         (001, eqs 3 and 4)
    f(x) = sum_i a_i d_i K(x_i, x) + b

Solved by LIBSVM through scikit-learn, so that the answer is the centralised learner's to the last step. Which problems
several classes are says `numeric.svm.kernels`; all are on the one kernel matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo.declaration import Settings
from tacit.counted import counted
from tacit.errors import LocalError
from tacit.numeric.svm.kernels import OVR, problems, signs_of
from tacit.papers.parameters import MAX_ITER, MULTI_CLASS, TOL
from tacit.protocols.part import ClassWeight


class Way(TypedDict):
    """How classes are told apart: what an error costs, which problems they are, and when LIBSVM stops."""

    C: float
    multi_class: str
    tol: float
    max_iter: int


CACHE_MB = 500
OF_SOLVER = (MULTI_CLASS, TOL, MAX_ITER)


@dataclass(frozen=True, kw_only=True)
class Solver(Settings):
    """How a dual SVM is solved: what errors cost, which problems several classes are, and when the solver stops."""

    C: float
    multi_class: str = OVR
    class_weight: ClassWeight = None
    tol: float = 1e-3
    max_iter: int = -1

    @property
    def way(self) -> Way:
        """How classes are told apart, as `solve` takes it."""
        return Way(C=self.C, multi_class=self.multi_class, tol=self.tol, max_iter=self.max_iter)


@dataclass(frozen=True)
class DualSolution:
    """A solution: row p of `coef` is a_i d_i of problem p; `objective` is what is minimised."""

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
