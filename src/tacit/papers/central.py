"""The centralised learner that a simulated run is compared with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR
from sklearn.utils.class_weight import compute_sample_weight

from tacit.arrays import F64, Array
from tacit.base.estimator import Comparison, choose_classes
from tacit.federation import Federation
from tacit.numeric.svm.kernels import OVO


@dataclass(frozen=True)
class Central:
    """Decision values of the training records, a column per problem; dual objectives; time taken."""

    values: F64
    objective: F64
    seconds: float
    name: str

    def compare_labels(self, values: F64, classes: Array, y: Array) -> Comparison:
        """Return how the classes that decision values choose differ from the reference's, and from the labels."""
        mine, theirs = classes[choose_classes(values)], classes[choose_classes(self.values)]
        return {
            "training records labelled differently": int(np.sum(mine != theirs)),
            "accuracy on the training records": float(np.mean(mine == y)),
            "accuracy of the reference on them": float(np.mean(theirs == y)),
            "seconds of the reference": self.seconds,
        }

    def compare_duals(self, objective: F64, values: F64, answers: Comparison) -> Comparison:
        """Return how dual objectives and decision values differ from the reference's; `answers`: and how answers do."""
        gaps = np.abs(objective - self.objective) / np.abs(self.objective)
        return {
            "reference": self.name,
            "relative gap of the dual objective": float(np.max(gaps)),
            "largest difference of decision values": float(np.abs(values - self.values).max()),
            **answers,
            "seconds of the reference": self.seconds,
        }

    def count_differing(self, values: F64) -> Comparison:
        """Return how many records decision values label otherwise than the reference does."""
        differing = choose_classes(values) != choose_classes(self.values)
        return {"training records labelled differently": int(np.sum(differing))}


def central_svc(federation: Federation, params: Any) -> Central:
    """Train scikit-learn's SVC on whole records; of several classes one for each, or the one of all pairs."""
    X, y, weight = federation.pooled()
    start = time.perf_counter()
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    weights = compute_sample_weight(params.class_weight, y) * (1.0 if weight is None else weight)
    duels = len(classes) > 2 and params.multi_class == OVO  # noqa: PLR2004 - two classes are one problem
    svc = SVC(**_named(params), break_ties=duels)
    if duels:
        fitted = [svc.fit(X, codes, sample_weight=weights)]
    else:
        positives = range(1 if len(classes) == 2 else 0, len(classes))  # noqa: PLR2004 - the second class of two
        fitted = [clone(svc).fit(X, codes == k, sample_weight=weights) for k in positives]
    values = np.column_stack([each.decision_function(X) for each in fitted])
    seconds = time.perf_counter() - start
    objective = [_quadratic(each, coef) - np.abs(coef).sum() for each in fitted for coef in _problems(each)]
    name = _name(OneVsRestClassifier(svc) if len(fitted) > 1 else svc)
    weighed = "" if params.class_weight is None else ", each weighed by class_weight"
    return Central(values, np.array(objective), seconds, name + weighed)


def _problems(svc: SVC) -> Iterator[F64]:
    """Return the coefficients a_i d_i of the support vectors in every problem, for 1/2 a'Qa - e'a.

    Row j - 1 of LIBSVM's table has class i's in the pair (i, j), and row i class j's.
    """
    ends = np.concatenate([[0], np.cumsum(svc.n_support_)])
    table = svc.dual_coef_.toarray() if issparse(svc.dual_coef_) else svc.dual_coef_  # as the records are
    for i, j in combinations(range(len(svc.classes_)), 2):
        coef = np.zeros(len(svc.support_))
        coef[ends[i] : ends[i + 1]] = table[j - 1, ends[i] : ends[i + 1]]
        coef[ends[j] : ends[j + 1]] = table[i, ends[j] : ends[j + 1]]
        yield coef


def _name(reference: Any) -> str:
    """Return what the reference is called in Python: scikit-learn writes the parameters that are not its defaults."""
    with config_context(print_changed_only=True):
        return f"scikit-learn's {' '.join(repr(reference).split())} on the pooled records"


def _named(params: Any, *more: str) -> dict[str, Any]:
    names = ("C", "kernel", "gamma", "degree", "coef0", "tol", "max_iter", *more)
    return {name: getattr(params, name) for name in names if hasattr(params, name)}


def _quadratic(machine: SVC | SVR, coef: F64) -> float:
    """Return 1/2 c'Kc, the quadratic term of the dual objective, for the coefficients c of the support vectors."""
    support = machine.support_vectors_
    gamma = machine._gamma  # noqa: SLF001 - the number behind "scale"
    K = pairwise_kernels(
        support, metric=machine.kernel, filter_params=True, gamma=gamma, degree=machine.degree, coef0=machine.coef0
    )
    return float(0.5 * coef @ K @ coef)
