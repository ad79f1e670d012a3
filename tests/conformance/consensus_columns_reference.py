"""Consensus over columns: how the cases are played, and their references: scikit-learn's SVC, and ADMM written plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from conformance.score_reference import check_sigmoids
from tacit.choreo import At, Run
from tacit.numeric.folds import dealt
from tacit.protocols.consensus_vertical import consensus_vertical, consensus_vertical_predict

C, RHO, ROUNDS = 4.0, 0.5, 15


def play(run: Run, data: At[Any], *, problems: int, kernel: str, protection: dict[str, Any], **how: Any) -> Any:
    model = consensus_vertical(run, data, C=C, kernel=kernel, accept_risk=True, **how, **protection)
    answer = consensus_vertical_predict(run, data, model["head"], model["shares"], problems=problems, band=17 * problems, **protection)
    found = {"decision": answer, "rounds": model["rounds"], "classes": model["classes"], "objective": model["objective"]}
    return found if model["sigmoids"] is None else {**found, "sigmoids": model["sigmoids"]}


def sum_kernel(parts: dict[str, Any], kernel: str) -> Any:
    """Of the parties' kernels, each with the gamma of its own columns."""
    if kernel == "linear":
        return np.sum([p.X @ p.X.T for p in parts.values()], axis=0)
    return np.sum([rbf_kernel(p.X, gamma=1.0 / (p.X.shape[1] * p.X.var())) for p in parts.values()], axis=0)


def signs_of(y: Any) -> Any:
    """A column for each class against the rest, or one for two classes."""
    return np.where(y[:, None] == (np.unique(y) if len(np.unique(y)) > 2 else [1]), 1.0, -1.0)


def check(result: Any, parts: dict[str, Any], *, kernel: str) -> None:
    """The SVM of the sum kernel."""
    K, signs = sum_kernel(parts, kernel), signs_of(parts["p1"].y)
    reference = [SVC(kernel="precomputed", C=C, tol=1e-8, cache_size=10).fit(K, s).decision_function(K) for s in signs.T]
    np.testing.assert_allclose(result["decision"]["p1"], np.transpose(reference), atol=1e-4)
    if kernel == "linear":
        assert result["rounds"] <= 7 // signs.shape[1] + 2  # no more than it takes to span the columns, and one to see it
    if "sigmoids" in result:
        check_sigmoids(result["sigmoids"], unseen(K, parts["p1"].y), parts["p1"].y, atol=1e-4)


def unseen(K: Any, y: Any) -> Any:
    """Decision values of SVMs that did not see the record."""
    fold, values = dealt(y, 5, 0), np.empty(signs_of(y).shape)
    for k, signs in enumerate(signs_of(y).T):
        for q in range(5):
            rest = fold != q
            machine = SVC(kernel="precomputed", C=C, tol=1e-8, cache_size=10).fit(K[np.ix_(rest, rest)], signs[rest])
            values[~rest, k] = machine.decision_function(K[np.ix_(~rest, rest)])
    return values


def check_admm(result: Any, parts: dict[str, Any], *, kernel: str) -> None:
    """The same iterates as plain ADMM."""
    y = parts["p1"].y
    np.testing.assert_allclose(result["decision"]["p1"], plain_admm(parts, kernel, np.full(len(y), C)), atol=1e-6)
    assert result["rounds"] == ROUNDS
    if "sigmoids" in result:
        without = {q: plain_admm(parts, kernel, np.where(dealt(y, 5, 0) == q, 0.0, C)) for q in range(5)}
        check_sigmoids(result["sigmoids"], np.array([without[q][i] for i, q in enumerate(dealt(y, 5, 0))]), y, atol=1e-6)


def plain_admm(parts: dict[str, Any], kernel: str, prices: Any) -> Any:
    """Eqs 26 to 29 with rho/M and a bias, one problem after the other, by inverses and bisection."""
    grams = [sum_kernel({p: part}, kernel) for p, part in parts.items()]
    H = [K @ np.linalg.inv(K + np.eye(len(K)) / RHO) for K in grams]
    columns = []
    for y in signs_of(parts["p1"].y).T:
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
    return np.transpose(columns)


def margin(d: Any, y: Any, M: int, prices: Any) -> tuple[Any, float]:
    """The margin step by bisection."""
    low, high = -1e4, 1e4
    for _ in range(200):
        b = (low + high) / 2
        multipliers = np.clip(RHO / M * (1 - y * (d + b)), 0, prices)
        low, high = (b, high) if y @ multipliers > 0 else (low, b)
    return d + M / RHO * y * multipliers, b
