"""Consensus over rows: how the cases are played, and their references.

Pooled SVMs, and the corrected updates of paper 000 as printed.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from conformance import atoms_reference as grouped
from conformance.case import flat
from conformance.pan_oracle import labelled, parts_at, unseen
from conformance.score_reference import check_sigmoids
from tacit.choreo import At, Run
from tacit.federation.part import Part
from tacit.protocols.consensus.horizontal import consensus_horizontal
from tacit.protocols.consensus.rest import consensus_predict
from tacit.protocols.settings import Sums

C, GAMMA, RHO, ROUNDS = 0.5, 0.4, 20.0, 4
PAPER = {"rho": RHO, "over_relaxation": 1.0, "disclose": "least", "max_rounds": ROUNDS, "tol": 1e-9}
PAIRS = {"multi_class": "ovo", "accept_risk": True}
PLAIN = {"gamma": GAMMA, "min_cluster": 3, "landmark_range": (-1.5, 1.5), "landmarks": 5}


def play(run: Run, data: At[Any], *, kernel: str, watched: bool = False, **how: Any) -> Any:
    X, y = labelled(2)
    watch = {"watch": (X[:20], y[:20])} if watched else {}
    model = flat(consensus_horizontal)(run, data, C=C, kernel=kernel, **PLAIN, **watch, **how)
    found = {"w": model.w, "b": model.b, "centres": model.map.centres, "basis": model.map.basis}
    if model.sigmoids is not None:
        found["sigmoids"] = model.sigmoids
    if kernel != "linear":
        sums = Sums(method=how.get("method", "pairwise"))
        found["rest"] = consensus_predict(run, data, model.rest, the_map=model.map, sums=sums)
    return found


def signs_of(y: Any, multi_class: str = "ovr") -> Any:
    """A row for each class against the rest, or one for two classes; or one for each pair of classes."""
    if multi_class == "ovo":
        return np.array([(y == i) * 1.0 - (y == j) for i, j in combinations(np.unique(y), 2)])
    return np.where(np.unique(y)[:, None] == y if len(np.unique(y)) > 2 else (y == 1)[None], 1.0, -1.0)


def values(result: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """What each party is told about its own rows, a row per problem: the average classifier."""
    maps = {
        p: rbf_kernel(part.X, result["centres"], GAMMA) @ result["basis"] if "rest" in result else part.X
        for p, part in parts.items()
    }
    rests = {p: result["rest"][p].T if "rest" in result else 0.0 for p in parts}
    return {p: result["w"] @ maps[p].T + result["b"][:, None] + rests[p] for p in parts}


def check_linear(result: Any, parts: dict[str, Any], multi_class: str = "ovr") -> None:
    """The SVM of all rows, or of those of two classes."""
    X, y = np.concatenate([p.X for p in parts.values()]), np.concatenate([p.y for p in parts.values()])
    signs = signs_of(y, multi_class)
    machines = [SVC(kernel="linear", C=C, tol=1e-5, cache_size=10).fit(X[s != 0], s[s != 0]) for s in signs]
    reference = np.array([m.decision_function(X) for m in machines])
    np.testing.assert_allclose(np.hstack(list(values(result, parts).values())), reference, rtol=5e-3, atol=5e-3)


def check_probability(result: Any, parts: dict[str, Any], least: int = 1) -> None:
    """And the sigmoid of what pooled SVMs without a fold say of its rows.

    With groups of several rows, of what `atoms_reference` says.
    """
    check_linear(result, parts)
    X, y = np.concatenate([p.X for p in parts.values()]), np.concatenate([p.y for p in parts.values()])
    holders = dict(
        zip(parts, np.split(np.arange(len(y)), np.cumsum([len(p.X) for p in parts.values()])[:-1]), strict=True)
    )
    groups = grouped.by_class(holders, y, least)
    if least > 1:
        _, _, values, use = unseen(X, y, signs_of(y).T, groups, least, whole=False, price=C, tol=1e-5)
        return check_sigmoids(result["sigmoids"], values, y[use], atol=1e-5)
    number, folds = grouped.most_folds(groups, y, 5, 1, 0)
    fold, unheard = np.array([folds[i] for i in range(len(y))]), np.empty((len(y), len(signs_of(y))))
    assert number == 5
    for k, signs in enumerate(signs_of(y)):
        for q in range(5):
            machine = SVC(kernel="linear", C=C, tol=1e-5, cache_size=10).fit(X[fold != q], signs[fold != q])
            unheard[fold == q, k] = machine.decision_function(X[fold == q])
    return check_sigmoids(result["sigmoids"], unheard, y, atol=2e-3)


def check_kernel(result: Any, parts: dict[str, Any], multi_class: str = "ovr") -> None:
    """The optimum of (15), whose dual is an SVM.

    Common features, and at every party M times the rest of its own kernel.
    """
    M, maps = len(parts), [rbf_kernel(p.X, result["centres"], GAMMA) @ result["basis"] for p in parts.values()]
    F, y = np.concatenate(maps), np.concatenate([p.y for p in parts.values()])
    K, rest, at = F @ F.T, np.zeros((len(F), len(F))), 0
    for part, own in zip(parts.values(), maps, strict=True):
        block = slice(at, at + len(own))
        rest[block, block] = rbf_kernel(part.X, part.X, GAMMA) - own @ own.T
        at += len(own)
    found = []
    everybody = rbf_kernel(np.concatenate([p.X for p in parts.values()]), gamma=GAMMA) - K
    for signs in signs_of(y, multi_class):
        used = np.flatnonzero(signs)
        own = (K + M * rest)[np.ix_(used, used)]
        machine = SVC(kernel="precomputed", C=C, tol=1e-9, cache_size=10).fit(own, signs[used])
        alpha = np.zeros(len(y))
        alpha[used[machine.support_]] = machine.dual_coef_[0]
        found.append(
            (K + everybody) @ alpha + machine.intercept_[0]
        )  # the mean over the parties of M times each one's rest
    np.testing.assert_allclose(np.hstack(list(values(result, parts).values())), found, atol=5e-3)


def check_paper(result: Any, parts: dict[str, Any]) -> None:
    """The corrected (10) to (13), w and b by their own formulas."""
    M, d = len(parts), 3
    c = M / (1 + RHO * M)
    z, s = np.zeros(d), 0.0
    gamma, beta = {p: np.zeros(d) for p in parts}, dict.fromkeys(parts, 0.0)
    for _ in range(ROUNDS):
        w, b = {}, {}
        for name, part in parts.items():
            X, y = part.X, np.where(part.y == 1, 1.0, -1.0)
            p, q = z - gamma[name], s - beta[name]
            A = c * np.outer(y, y) * (X @ X.T) + np.outer(y, y) / RHO
            lam = box_qp(A, -1 + y * (c * RHO * X @ p + q))
            w[name], b[name] = c * (RHO * p + X.T @ (y * lam)), q + y @ lam / RHO
        z, s = np.mean([w[m] + gamma[m] for m in parts], axis=0), np.mean([b[m] + beta[m] for m in parts])
        gamma, beta = {m: gamma[m] + w[m] - z for m in parts}, {m: beta[m] + b[m] - s for m in parts}
    np.testing.assert_allclose(np.append(result["w"], result["b"]), np.append(z, s), atol=1e-5)


def check_paper_kernel(result: Any, parts: dict[str, Any]) -> None:
    """The corrected (19) to (25), in the landmarks' own values G w_m; the average of all f_m."""
    M, Xg = len(parts), result["centres"]
    Kgg = rbf_kernel(Xg, gamma=GAMMA)
    Kg = np.linalg.inv(np.eye(len(Xg)) + RHO * M * Kgg)
    z, s = np.zeros(len(Xg)), 0.0
    r, beta, f = {p: np.zeros(len(Xg)) for p in parts}, dict.fromkeys(parts, 0.0), {}
    everyone = np.concatenate([p.X for p in parts.values()])
    for _ in range(ROUNDS):
        Gw, b = {}, {}
        for name, part in parts.items():
            X, y = part.X, np.where(part.y == 1, 1.0, -1.0)
            Kmg, q = rbf_kernel(X, Xg, GAMMA), z - r[name]
            A = np.outer(y, y) * (M * rbf_kernel(X, gamma=GAMMA) - RHO * M**2 * Kmg @ Kg @ Kmg.T + 1 / RHO)
            lam = box_qp(A, -1 + RHO * M * y * (Kmg @ Kg @ q) + y * (s - beta[name]))
            Gw[name] = M * Kg @ Kmg.T @ (y * lam) + RHO * M * Kgg @ Kg @ q
            b[name] = s - beta[name] + y @ lam / RHO
            f[name] = X, y * lam
        z, s = np.mean([Gw[m] + r[m] for m in parts], axis=0), np.mean([b[m] + beta[m] for m in parts])
        r, beta = {m: r[m] + Gw[m] - z for m in parts}, {m: beta[m] + b[m] - s for m in parts}
    common, rests = rbf_kernel(everyone, Xg, GAMMA) @ np.linalg.inv(Kgg), 0.0
    for X, alpha in f.values():  # the rest: what is orthogonal to the landmarks
        rests = rests + (rbf_kernel(everyone, X, GAMMA) - common @ rbf_kernel(Xg, X, GAMMA)) @ alpha
    np.testing.assert_allclose(np.hstack(list(values(result, parts).values()))[0], common @ z + s + rests, atol=1e-4)


def box_qp(A: Any, B: Any) -> Any:
    """By another method than ours."""
    found = minimize(
        lambda x: (0.5 * x @ A @ x + B @ x, A @ x + B), np.full(len(B), C / 2), jac=True, bounds=[(0, C)] * len(B),
        method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000},
    )  # fmt: skip
    return found.x


CHECKS = {
    "linear": check_linear,
    "probability": check_probability,
    "groups": partial(check_probability, least=2),
    "kernel": check_kernel,
    "ovo": partial(check_linear, multi_class="ovo"),
    "kernel_ovo": partial(check_kernel, multi_class="ovo"),
    "paper": check_paper,
    "paper_kernel": check_paper_kernel,
}
ROW_CASES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "linear": (2, "linear", {"kernel": "linear", "tol": 1e-5, "watched": True}),
    "3_classes_ring": (3, "linear", {"kernel": "linear", "tol": 1e-5, "method": "ring"}),
    "ovo": (3, "ovo", {"kernel": "linear", "tol": 1e-5, **PAIRS}),
    "rbf_ovo": (3, "kernel_ovo", {"kernel": "rbf", "tol": 1e-5, "landmark_source": "ranges", **PAIRS}),
    "least": (2, "linear", {"kernel": "linear", "tol": 1e-5, "disclose": "least"}),
    "paper": (2, "paper", {"kernel": "linear", **PAPER}),
    "probability": (
        2,
        "probability",
        {"kernel": "linear", "tol": 1e-5, "probability": True, "min_count": 1, "accept_risk": True},
    ),
    "probability_groups": (
        2,
        "groups",
        {"kernel": "linear", "tol": 1e-5, "probability": True, "min_count": 2, "accept_risk": True},
    ),
    "rbf": (2, "kernel", {"kernel": "rbf", "tol": 1e-5, "watched": True}),
    "rbf_3_classes": (3, "kernel", {"kernel": "rbf", "tol": 1e-5, "landmark_source": "ranges", "disclose": "least"}),
    "rbf_paper": (2, "paper_kernel", {"kernel": "rbf", "landmark_source": "ranges", **PAPER}),
}


def inputs_for(name: str, parties: Any) -> dict[str, Any]:
    """Unequal shares; of pairs equal ones, since every party must have rows of every two classes."""
    classes, check, _ = ROW_CASES[name]
    if not check.endswith("ovo"):
        return parts_at(parties, classes)
    X, y = labelled(classes)
    shares = zip(parties, np.array_split(np.arange(len(y)), len(parties)), strict=True)
    return {p: Part(X[i], y[i], None, ("a", "b", "c"), None) for p, i in shares}
