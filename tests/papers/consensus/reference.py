"""Consensus SVMs written plainly: the updates of the paper, corrected, by inverses, bisection and a general solver."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

C = 4.0


def table(classes: int = 2, rows: int = 60) -> tuple[Any, Any]:
    X, y = make_blobs(rows, n_features=5, centers=classes, cluster_std=4.0, random_state=3)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def signs_of(y: Any, multi_class: str = "ovr") -> Any:
    """A column for each class against the rest, or one for two classes; or one for each pair of classes."""
    names = np.unique(y)
    if multi_class == "ovo" and len(names) > 2:
        return np.transpose([(y == i) * 1.0 - (y == j) for i, j in combinations(names, 2)])
    return np.where(y[:, None] == (names if len(names) > 2 else names[1:]), 1.0, -1.0)


def objective(F: Any, sign: Any, w: Any) -> float:
    """1/2 |w|^2 and the hinges, where a record without a sign counts nothing; b is the last weight."""
    values = F @ w[:-1] + w[-1]
    return float(0.5 * w[:-1] @ w[:-1] + C * np.maximum(0, 1 - sign * values)[sign != 0].sum())


def rows_by_admm(parts: list[tuple[Any, Any]], rho: float, rounds: int) -> Any:
    """The corrected (10) to (13), w and b by their own formulas; (w, b) after so many rounds."""
    M, d = len(parts), parts[0][0].shape[1]
    c = M / (1 + rho * M)
    z, s = np.zeros(d), 0.0
    gamma, beta = [np.zeros(d) for _ in parts], [0.0 for _ in parts]
    for _ in range(rounds):
        w, b = [], []
        for m, (X, y) in enumerate(parts):
            p, q = z - gamma[m], s - beta[m]
            A = c * np.outer(y, y) * (X @ X.T) + np.outer(y, y) / rho
            lam = box_qp(A, -1 + y * (c * rho * X @ p + q))
            w.append(c * (rho * p + X.T @ (y * lam)))
            b.append(q + y @ lam / rho)
        z, s = np.mean(np.add(w, gamma), axis=0), float(np.mean(np.add(b, beta)))
        gamma = [g + own - z for g, own in zip(gamma, w, strict=True)]
        beta = [g + own - s for g, own in zip(beta, b, strict=True)]
    return np.append(z, s)


def box_qp(A: Any, B: Any) -> Any:
    if not len(B):
        return B
    found = minimize(
        lambda x: (0.5 * x @ A @ x + B @ x, A @ x + B), np.full(len(B), C / 2), jac=True, bounds=[(0, C)] * len(B),
        method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    return found.x


def sum_kernel(blocks: list[Any], kernel: str) -> Any:
    """Of the parties' kernels, each with the gamma of its own columns."""
    if kernel == "linear":
        return np.sum([X @ X.T for X in blocks], axis=0)
    return np.sum([rbf_kernel(X, gamma=1.0 / (X.shape[1] * X.var())) for X in blocks], axis=0)


def columns_by_admm(blocks: list[Any], y: Any, kernel: str, rho: float, rounds: int) -> Any:
    """Eqs 26 to 29 with rho/M and a bias: the training values of one problem after so many rounds."""
    grams = [sum_kernel([X], kernel) for X in blocks]
    H = [K @ np.linalg.inv(K + np.eye(len(K)) / rho) for K in grams]
    M, n = len(H), len(y)
    parts = [np.zeros(n) for _ in H]
    z, b = margin(np.zeros(n), y, rho / M)
    r = z.copy()
    for _ in range(rounds):
        share = (z - sum(parts) + r) / M
        parts = [h @ (own + share) for h, own in zip(H, parts, strict=True)]
        S = sum(parts)
        z, b = margin(S - r, y, rho / M)
        r = r + z - S
    return S + b


def margin(d: Any, y: Any, k: float) -> tuple[Any, float]:
    low, high = -1e4, 1e4
    for _ in range(200):
        b = (low + high) / 2
        multipliers = np.clip(k * (1 - y * (d + b)), 0, C)
        low, high = (b, high) if y @ multipliers > 0 else (low, b)
    return d + y * multipliers / k, b
