"""The centralised learner that a simulated run is compared with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR
from sklearn.utils.class_weight import compute_sample_weight

from tacit.choreo import F64, Array


@dataclass(frozen=True)
class Central:
    """Decision values of the training records, a column per problem; dual objectives; time taken."""

    values: F64
    objective: F64
    seconds: float
    name: str = "scikit-learn's SVC on the pooled records"


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


def central_svr(X: F64, y: F64, weight: F64 | None, params: Any) -> Central:
    """scikit-learn's SVR on whole records."""
    start = time.perf_counter()
    svr = SVR(**_named(params, "epsilon")).fit(X, y, sample_weight=weight)
    values = svr.predict(X)[:, None]
    seconds, coef = time.perf_counter() - start, svr.dual_coef_[0]
    objective = _quadratic(svr) - y[svr.support_] @ coef + svr.epsilon * np.abs(coef).sum()
    return Central(values, np.array([objective]), seconds, "scikit-learn's SVR on the pooled records")


def _fitted(params: Any) -> SVC:
    return SVC(**_named(params))


def _named(params: Any, *more: str) -> dict[str, Any]:
    names = ("C", "kernel", "gamma", "degree", "coef0", "tol", "max_iter", *more)
    return {name: getattr(params, name) for name in names if hasattr(params, name)}


def _objective(svc: SVC) -> float:
    """1/2 a'Qa - e'a."""
    return _quadratic(svc) - float(np.abs(svc.dual_coef_[0]).sum())


def _quadratic(machine: SVC | SVR) -> float:
    """1/2 c'Kc."""
    coef, support = machine.dual_coef_[0], machine.support_vectors_
    gamma = machine._gamma  # noqa: SLF001 - the number behind "scale"
    K = pairwise_kernels(support, metric=machine.kernel, filter_params=True, gamma=gamma, degree=machine.degree, coef0=machine.coef0)
    return float(0.5 * coef @ K @ coef)
