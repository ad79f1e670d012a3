"""Consensus over columns: how the cases are played, and their references.

Scikit-learn's SVC, and ADMM written plainly.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from conformance.score_reference import check_sigmoids
from tacit.choreo import At, Run
from tacit.numeric.scores.folds import deal_folds
from tacit.protocols.consensus.settings import ColumnSvm
from tacit.protocols.consensus.vertical import consensus_vertical, consensus_vertical_predict
from tacit.protocols.settings import Sums

C, RHO, ROUNDS = 4.0, 0.5, 15


def play(run: Run, data: At[Any], *, problems: int, kernel: str, sums: Sums, **how: Any) -> Any:
    svm = ColumnSvm(C=C, kernel=kernel, accept_risk=True, **how)
    model = consensus_vertical(run, data, svm=svm, sums=sums)
    answer = consensus_vertical_predict(
        run, data, model.head, model.shares, problems=problems, band=17 * problems, sums=sums
    )
    found = {
        "decision": answer,
        "rounds": model.rounds,
        "classes": model.classes,
        "objective": model.objective,
    }
    return found if model.sigmoids is None else {**found, "sigmoids": model.sigmoids}


def sum_kernel(parts: dict[str, Any], kernel: str) -> Any:
    """Of the parties' kernels, each with the gamma of its own columns."""
    if kernel == "linear":
        return np.sum([p.X @ p.X.T for p in parts.values()], axis=0)
    return np.sum([rbf_kernel(p.X, gamma=1.0 / (p.X.shape[1] * p.X.var())) for p in parts.values()], axis=0)


def signs_of(y: Any, multi_class: str = "ovr") -> Any:
    """A column for each class against the rest, or one for two classes; or one for each pair of classes."""
    if multi_class == "ovo":
        return np.transpose([(y == i) * 1.0 - (y == j) for i, j in combinations(np.unique(y), 2)])
    return np.where(y[:, None] == (np.unique(y) if len(np.unique(y)) > 2 else [1]), 1.0, -1.0)


def check(result: Any, parts: dict[str, Any], *, kernel: str, multi_class: str) -> None:
    """The SVM of the sum kernel."""
    K, y = sum_kernel(parts, kernel), parts["p1"].y
    signs = signs_of(y, multi_class)
    np.testing.assert_allclose(result["decision"]["p1"], values_of(K, K, y, multi_class), atol=1e-4)
    if kernel == "linear":
        assert (
            result["rounds"] <= 7 // signs.shape[1] + 2
        )  # no more than it takes to span the columns, and one to see it
    if "sigmoids" in result:
        check_sigmoids(result["sigmoids"], unseen(K, y, multi_class), y, atol=1e-4)


def values_of(K: Any, new: Any, y: Any, multi_class: str) -> Any:
    """Decision values of the SVMs of these kernel values: of SVC itself, or one for each class against the rest."""
    svc = SVC(kernel="precomputed", C=C, tol=1e-8, cache_size=10)
    if multi_class == "ovo":
        return svc.fit(K, y).decision_function(new)
    return np.transpose([svc.fit(K, s).decision_function(new) for s in signs_of(y).T])


def unseen(K: Any, y: Any, multi_class: str) -> Any:
    """Decision values of SVMs that did not see the record."""
    fold = deal_folds(y, 5, 0)
    back = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    each = [
        values_of(K[np.ix_(fold != q, fold != q)], K[np.ix_(fold == q, fold != q)], y[fold != q], multi_class)
        for q in range(5)
    ]
    return np.concatenate(each)[back]


def check_admm(result: Any, parts: dict[str, Any], *, kernel: str, multi_class: str) -> None:
    """The same iterates as plain ADMM."""
    y = parts["p1"].y
    plain = plain_admm(parts, kernel, np.full(len(y), C), multi_class)
    np.testing.assert_allclose(result["decision"]["p1"], plain, atol=1e-6)
    assert result["rounds"] == ROUNDS
    if "sigmoids" in result:
        without = {q: plain_admm(parts, kernel, np.where(deal_folds(y, 5, 0) == q, 0.0, C)) for q in range(5)}
        check_sigmoids(
            result["sigmoids"], np.array([without[q][i] for i, q in enumerate(deal_folds(y, 5, 0))]), y, atol=1e-6
        )


def plain_admm(parts: dict[str, Any], kernel: str, prices: Any, multi_class: str = "ovr") -> Any:
    """Eqs 26 to 29 with rho/M and a bias, one problem after the other, by inverses and bisection."""
    grams = [sum_kernel({p: part}, kernel) for p, part in parts.items()]
    H = [K @ np.linalg.inv(K + np.eye(len(K)) / RHO) for K in grams]
    columns = []
    for y in signs_of(parts["p1"].y, multi_class).T:
        c, z, r, M = [np.zeros(len(y)) for _ in H], np.zeros(len(y)), np.zeros(len(y)), len(H)
        z, b = margin(-r, y, M, prices)
        r = z.copy()
        for _ in range(ROUNDS):
            share = (z - sum(c) + r) / M
            c = [h @ (own + share) for h, own in zip(H, c, strict=True)]
            S = sum(c)
            z, b = margin(S - r, y, M, prices)
            r = r + z - S
        columns.append(S + b)
    found = np.transpose(columns)
    if multi_class == "ovo":  # scikit-learn's positive class of a pair is the second
        return _ovr_decision_function(found < 0, -found, len(np.unique(parts["p1"].y)))
    return found


def margin(d: Any, y: Any, M: int, prices: Any) -> tuple[Any, float]:
    """The margin step by bisection."""
    low, high = -1e4, 1e4
    for _ in range(200):
        b = (low + high) / 2
        multipliers = np.clip(RHO / M * (1 - y * (d + b)), 0, prices)
        low, high = (b, high) if y @ multipliers > 0 else (low, b)
    return d + M / RHO * y * multipliers, b
