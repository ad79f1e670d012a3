"""A public extreme learning machine as steps of scikit-learn's own classes.

nodes        X W, a random projection; for rbf nodes a kernel with the nodes as landmarks
offset       + b
activation   g
output       ridge regression of the hidden layer
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.preprocessing import Binarizer, FunctionTransformer, LabelBinarizer, MinMaxScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from tacit.arrays import F64, Array
from tacit.models.elm import ElmModel
from tacit.protocols.elm.shape import layer_weights

BELOW_ZERO = float(np.nextafter(0.0, -1.0))  # a node that is reached by exactly 0 is on


def elm_steps(model: ElmModel, classes: Array | None) -> list[tuple[str, Any]]:
    """Return the steps, fitted; classes are those of a classifier."""
    W, b = layer_weights(model.layer)
    beta, offset = _output(model)
    return [*_hidden(model.layer.activation, W, b), ("output", _machine(beta, offset, model.ridge, classes))]


def fitted(estimator: Any, **attributes: Any) -> Any:
    """Return an estimator as if `fit` had found these attributes."""
    vars(estimator).update(attributes)
    return estimator


def _hidden(activation: str, W: F64, b: F64) -> list[tuple[str, Any]]:
    columns, nodes = W.shape
    if activation == "rbf":
        drawn = {"components_": W.T.copy(), "normalization_": np.eye(nodes), "component_indices_": np.arange(nodes)}
        kernel = Nystroem("rbf", gamma=1.0 / columns, n_components=nodes)
        return [("nodes", fitted(kernel, **drawn, n_features_in_=columns, _n_features_out=nodes))]
    drawn = {"components_": W.T.copy(), "n_components_": nodes, "n_features_in_": columns, "_n_features_out": nodes}
    step = {"n_features_in_": nodes}
    moved = fitted(StandardScaler(with_std=False), mean_=-b, scale_=None, var_=None, n_samples_seen_=1, **step)
    return [
        ("nodes", fitted(GaussianRandomProjection(nodes), **drawn)),
        ("offset", moved),
        ("activation", fitted(_activation(activation, nodes), **step)),
    ]


def _activation(name: str, nodes: int) -> Any:
    if name == "relu":  # the only one of scikit-learn's that cuts off below
        kept = {"scale_": np.ones(nodes), "min_": np.zeros(nodes), "data_min_": np.zeros(nodes)}
        return fitted(MinMaxScaler(feature_range=(0.0, np.inf), clip=True), **kept)
    if name == "sign":
        return Binarizer(threshold=BELOW_ZERO)
    return FunctionTransformer(expit if name == "sigmoid" else np.tanh)


def _output(model: ElmModel) -> tuple[F64, F64]:
    """Return weights and intercepts on what the steps before make of a record: nodes that are 0 and 1 for sign.

    A class that was not learnt is never chosen.
    """
    beta = np.array(model.beta)
    offset = np.zeros(beta.shape[1])
    if model.layer.activation == "sign":  # H = 2 (0 or 1) - 1
        beta, offset = 2.0 * beta, -beta.sum(axis=0)
    beta[:, list(model.absent)], offset[list(model.absent)] = 0.0, -np.inf
    return beta, offset


def _machine(beta: F64, offset: F64, ridge: float, classes: Array | None) -> Any:
    found = {"coef_": beta.T.copy(), "intercept_": offset, "n_features_in_": len(beta)}
    if classes is None:
        found = {**found, "coef_": beta[:, 0], "intercept_": float(offset[0])}
        return fitted(Ridge(alpha=ridge), **found)
    names = np.array(classes)
    known = LabelBinarizer(pos_label=1, neg_label=-1).fit(names)
    return fitted(RidgeClassifier(alpha=ridge), **found, classes_=names, _label_binarizer=known)
