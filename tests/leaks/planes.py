"""Linear problems over rows of two classes, and references for their answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from leaks.views import Tapped
from tacit.protocols.planes.rows import Rows

__all__ = ["Tapped", "blobs", "bracket", "objective", "rows_of", "shared"]


def rows_of(F: Any, y: Any, weight: Any = None) -> Rows:
    """A holder's rows; y of one column or several."""
    signs = np.asarray(y, dtype=np.int8).reshape(len(F), -1)
    return Rows(np.asarray(F), signs, np.ones(len(F)) if weight is None else np.asarray(weight, dtype=float))


def shared(rows: Rows, parties: int) -> list[Rows]:
    """The rows of several holders, dealt round."""
    return [rows_of(rows.F[i::parties], rows.signs[i::parties], rows.weight[i::parties]) for i in range(parties)]


def objective(rows: Rows, w: Any, b: float, C: float, problem: int = 0) -> float:
    """(1) of `cutting_plane`."""
    y = rows.signs[:, problem]
    hinge = np.where(y == 0, 0.0, np.maximum(0.0, 1.0 - y * (rows.F @ w + b)))
    return float(0.5 * w @ w + C * rows.weight @ hinge)


def bracket(rows: Rows, C: float, problem: int = 0, tol: float = 1e-6) -> tuple[float, float]:
    """The optimum is between scikit-learn's dual and primal objectives."""
    use = rows.signs[:, problem] != 0
    y = rows.signs[use, problem]
    svc = SVC(kernel="linear", C=C, tol=tol, cache_size=50).fit(rows.F[use], y, sample_weight=rows.weight[use])
    w, b = svc.coef_[0], float(svc.intercept_[0])
    flip = 1.0 if svc.classes_[1] > 0 else -1.0
    dual = np.abs(svc.dual_coef_).sum() - 0.5 * w @ w
    return float(dual), objective(rows, flip * w, flip * b, C, problem)


def blobs(n: int = 150, columns: int = 5, seed: int = 0, noise: float = 1.0) -> Rows:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, columns))
    return rows_of(F, np.where(F[:, 0] + 0.5 * F[:, 1] + noise * rng.normal(size=n) > 0, 1, -1))
