"""Extreme learning machines beside the plain one on pooled records, with the same W and NumPy's own least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from conformance.case import flat
from tacit.choreo import At, Holder, Roster, Run
from tacit.federation.part import Part
from tacit.numeric.scores.folds import deal_folds
from tacit.numeric.scores.platt import sigmoids
from tacit.protocols.elm.horizontal import elm_horizontal
from tacit.protocols.elm.shape import Layer, layer_weights
from tacit.protocols.elm.vertical import elm_predict, elm_vertical

NAMES = ("a", "b", "c", "d", "e", "f")


def pooled(task: str) -> tuple[Any, Any]:
    """90 records, in order, and their targets: 2 or 3 classes, or a number."""
    rng = np.random.default_rng(23)
    X = rng.normal(size=(90, 6))
    score = X[:, 0] + X[:, 1] * X[:, 2]
    return X, score if task == "number" else np.digitize(score, np.quantile(score, np.arange(1, int(task)) / int(task)))


def rows(roster: Roster, task: str) -> Any:
    X, y = pooled(task)
    cut = np.array_split(np.arange(len(X)), len(roster[Holder]))
    return {
        "data": (Holder, {p: Part(X[i], y[i], None, NAMES, None) for p, i in zip(roster[Holder], cut, strict=True)})
    }


def columns(roster: Roster, task: str) -> Any:
    X, y = pooled(task)
    cut = np.array_split(np.arange(X.shape[1]), len(roster[Holder]))
    parts = {
        p: Part(np.ascontiguousarray(X[:, c]), y if p == "p1" else None, None, tuple(NAMES[j] for j in c), None)
        for p, c in zip(roster[Holder], cut, strict=True)
    }
    return {"data": (Holder, parts)}


def play_rows(run: Run, data: At[Any], *, task: str, **params: Any) -> Any:
    """Train, and learn the same rows once more as new ones."""
    params = {"classify": task != "number", "n_hidden": 12, "scale": 1.0, "seed": 3, **params}
    first = flat(elm_horizontal)(run, data, **params)
    again = flat(elm_horizontal)(run, data, first.sums, **{**params, "classes": first.classes or None})
    return {name: {"beta": found.beta, "ridge": found.ridge} for name, found in (("first", first), ("again", again))}


def play_calibrated(run: Run, data: At[Any], *, task: str, **params: Any) -> Any:
    """Train with probabilities, every row a group of its own."""
    del task
    params = {"n_hidden": 8, "scale": 1.0, "seed": 3, "min_rows": 1, "accept_risk": True, **params}
    found = flat(elm_horizontal)(run, data, classify=True, probability=True, **params)
    return {"beta": found.beta, "ridge": found.ridge, "sigmoids": found.sigmoids, "folds": found.folds}


def play_columns(run: Run, data: At[Any], *, task: str, protection: Any, **params: Any) -> Any:
    model = flat(elm_vertical)(
        run, data, classify=task != "number", n_hidden=12, scale=1.0, band=500, **params, **protection
    )
    said = flat(elm_predict)(
        run,
        data,
        model.master,
        model.weights,
        activation=params["activation"],
        nodes=model.nodes,
        band=400,
        **protection,
    )
    return {"weights": model.weights, "master": model.master, "decision": said, "sigmoids": model.sigmoids}


def check_rows(result: Any, inputs: Any, *, task: str, activation: str, class_weight: Any = None) -> None:
    del inputs
    X, y = pooled(task)
    weight = None if class_weight is None else compute_sample_weight(class_weight, y)
    doubled = None if weight is None else np.concatenate([weight, weight])
    W, b = layer_weights(Layer(activation, 6, 12, 1.0, 3))
    H, T = plain_hidden(X, W, b, activation), plain_targets(y, task)
    first, again = result["first"], result["again"]
    np.testing.assert_allclose(H @ first["beta"], H @ plain_beta(H, T, first["ridge"], weight), atol=1e-8)
    twice = plain_beta(np.concatenate([H, H]), np.concatenate([T, T]), again["ridge"], doubled)
    np.testing.assert_allclose(H @ again["beta"], H @ twice, atol=1e-8)


def check_calibrated(result: Any, inputs: Any, *, task: str, activation: str, class_weight: Any = None) -> None:
    """The weighted model, and sigmoids on what models without each fold say of it."""
    X, y = pooled(task)
    H, T = plain_hidden(X, *layer_weights(Layer(activation, 6, 8, 1.0, 3)), activation), plain_targets(y, task)
    weight = compute_sample_weight(class_weight, y)
    np.testing.assert_allclose(H @ result["beta"], H @ plain_beta(H, T, result["ridge"], weight), atol=1e-8)
    parts = inputs["data"][1]
    dealt = [deal_folds(part.y, result["folds"], (3, *name.encode())) for name, part in parts.items()]
    fold, values = np.concatenate(dealt), np.empty(T.shape)
    for q in range(result["folds"]):
        rest = fold != q
        values[~rest] = H[~rest] @ plain_beta(H[rest], T[rest], result["ridge"], weight[rest])
    np.testing.assert_allclose(result["sigmoids"], sigmoids(values, y), atol=1e-5)


def check_columns(result: Any, inputs: Any, *, task: str, activation: str, class_weight: Any = None) -> None:
    X, y = pooled(task)
    own = result["weights"]
    W, b = np.concatenate([own[p].W for p in inputs["data"][1]]), np.sum([share.b for share in own.values()], axis=0)
    H = plain_hidden(X, W, b, activation)
    ridge, T = result["master"]["coordinator"].ridge, plain_targets(y, task)
    weight = None if class_weight is None else compute_sample_weight(class_weight, y)
    np.testing.assert_allclose(result["decision"]["p1"], H @ plain_beta(H, T, ridge, weight), atol=1e-7)
    if result["sigmoids"] is not None:
        fold, values = deal_folds(y, 5, 0), np.empty(T.shape)
        for q in range(5):
            rest = fold != q
            values[~rest] = H[~rest] @ plain_beta(H[rest], T[rest], ridge, None if weight is None else weight[rest])
        np.testing.assert_allclose(result["sigmoids"], sigmoids(values, y), atol=1e-5)


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
