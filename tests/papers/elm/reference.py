"""Extreme learning machines beside the plain one on pooled records, with the same W and NumPy's own least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from conformance.case import flat
from tacit.choreo import At, Holder, Roster, Run
from tacit.federation.part import Part
from tacit.papers.elm.vertical import elm_predict, elm_vertical

NAMES = ("a", "b", "c", "d", "e", "f")


def pooled(task: str) -> tuple[Any, Any]:
    """90 records, in order, and their targets: 2 or 3 classes, or a number."""
    rng = np.random.default_rng(23)
    X = rng.normal(size=(90, 6))
    score = X[:, 0] + X[:, 1] * X[:, 2]
    return X, score if task == "number" else np.digitize(score, np.quantile(score, np.arange(1, int(task)) / int(task)))


def columns(roster: Roster, task: str) -> Any:
    X, y = pooled(task)
    cut = np.array_split(np.arange(X.shape[1]), len(roster[Holder]))
    parts = {
        p: Part(np.ascontiguousarray(X[:, c]), y if p == "p1" else None, None, tuple(NAMES[j] for j in c), None)
        for p, c in zip(roster[Holder], cut, strict=True)
    }
    return {"data": (Holder, parts)}


def play(run: Run, data: At[Any], *, task: str, activation: str, **params: Any) -> Any:
    asked = {"classify": task != "number", "activation": activation, "n_hidden": 12, "scale": 1.0, "band": 500}
    model = flat(elm_vertical)(run, data, **asked, **params)
    shares = (model.master, model.weights)
    said = elm_predict(run, data, *shares, activation=activation, nodes=model.nodes, band=400)
    return {"weights": model.weights, "master": model.master, "decision": said}


def check(result: Any, inputs: Any, *, task: str, activation: str, class_weight: Any = None) -> None:
    X, y = pooled(task)
    own = result["weights"]
    W, b = np.concatenate([own[p].W for p in inputs["data"][1]]), np.sum([share.b for share in own.values()], axis=0)
    H = plain_hidden(X, W, b, activation)
    weight = None if class_weight is None else compute_sample_weight(class_weight, y)
    beta = plain_beta(H, plain_targets(y, task), result["master"]["coordinator"].ridge, weight)
    np.testing.assert_allclose(result["decision"]["p1"], H @ beta, atol=1e-7)


def plain_hidden(X: Any, W: Any, b: Any, activation: str) -> Any:
    """H, node by node."""
    if activation == "rbf":
        return np.exp(-np.square(X[:, :, None] - W).sum(axis=1) / X.shape[1])
    S = X @ W + b
    return {"sigmoid": 1 / (1 + np.exp(-S)), "tanh": np.tanh(S), "sign": np.sign(S), "relu": S * (S > 0)}[activation]


def plain_targets(y: Any, task: str) -> Any:
    if task == "number":
        return y[:, None]
    return (
        np.where(y[:, None] == 1, 1.0, -1.0) if task == "2" else np.where(y[:, None] == np.arange(int(task)), 1.0, -1.0)
    )


def plain_beta(H: Any, T: Any, ridge: float, weight: Any = None) -> Any:
    """The ridge as rows of its own."""
    nodes = H.shape[1]
    if weight is not None:
        H, T = H * np.sqrt(weight)[:, None], T * np.sqrt(weight)[:, None]
    return np.linalg.lstsq(
        np.concatenate([H, np.sqrt(ridge) * np.eye(nodes)]), np.concatenate([T, np.zeros((nodes, T.shape[1]))])
    )[0]
