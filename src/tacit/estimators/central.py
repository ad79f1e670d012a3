"""The centralised learner that a simulated run is compared with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from tacit.choreo import F64, Array


@dataclass(frozen=True)
class Central:
    """Decision values of the training records, a column per problem; dual objectives; time taken."""

    values: F64
    objective: F64
    seconds: float


def central_svc(X: F64, y: Array, weight: F64 | None, params: Any) -> Central:
    """scikit-learn's SVC on whole records: one problem for two classes, else one per class against the rest."""
    start = time.perf_counter()
    classes, codes = np.unique(y, return_inverse=True)
    weights = compute_sample_weight(params.class_weight, y) * (1.0 if weight is None else weight)
    positives = [1] if len(classes) == 2 else range(len(classes))  # noqa: PLR2004 - two classes are one problem
    fitted = [_fitted(params).fit(X, codes == k, sample_weight=weights) for k in positives]
    values = np.column_stack([svc.decision_function(X) for svc in fitted])
    seconds = time.perf_counter() - start
    return Central(values, np.array([_objective(svc) for svc in fitted]), seconds)


def _fitted(params: Any) -> SVC:
    names = ("C", "kernel", "gamma", "degree", "coef0", "tol", "max_iter")
    return SVC(**{name: getattr(params, name) for name in names if hasattr(params, name)})


def _objective(svc: SVC) -> float:
    """1/2 a'Qa - e'a."""
    coef, support = svc.dual_coef_[0], svc.support_vectors_
    gamma = svc._gamma  # noqa: SLF001 - the number behind "scale"
    K = pairwise_kernels(support, metric=svc.kernel, filter_params=True, gamma=gamma, degree=svc.degree, coef0=svc.coef0)
    return float(0.5 * coef @ K @ coef - np.abs(coef).sum())
