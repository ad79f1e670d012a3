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
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.preprocessing import Binarizer, FunctionTransformer, LabelBinarizer, MinMaxScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from tacit.arrays import F64, Array

BELOW_ZERO = float(np.nextafter(0.0, -1.0))  # a node that is reached by exactly 0 is on


def fitted(estimator: Any, **attributes: Any) -> Any:
    """Return an estimator as if `fit` had found these attributes."""
    vars(estimator).update(attributes)
    return estimator


def hidden_steps(activation: str, W: F64, b: F64) -> list[tuple[str, Any]]:
    """Return the steps of a hidden layer."""
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


def fourier_steps(W: F64) -> list[tuple[str, Any]]:
    """Return the steps of cosines, then sines, of phases: cosines of offset 0 and -pi / 2 without a scale."""
    columns, nodes = W.shape
    both, offsets = np.concatenate([W, W], axis=1), np.repeat([0.0, -np.pi / 2.0], nodes)
    held = {"random_weights_": both, "random_offset_": offsets, "n_features_in_": columns, "_n_features_out": 2 * nodes}
    whole = {"scale_": np.full(2 * nodes, nodes**-0.5), "mean_": None, "var_": None, "n_samples_seen_": 1}
    return [
        ("nodes", fitted(RBFSampler(n_components=2 * nodes), **held)),  # which multiplies by sqrt(2 / 2 nodes)
        ("scale", fitted(StandardScaler(with_mean=False), **whole, n_features_in_=2 * nodes)),
    ]


def _activation(name: str, nodes: int) -> Any:
    if name == "relu":  # the only one of scikit-learn's that cuts off below
        kept = {"scale_": np.ones(nodes), "min_": np.zeros(nodes), "data_min_": np.zeros(nodes)}
        return fitted(MinMaxScaler(feature_range=(0.0, np.inf), clip=True), **kept)
    if name == "sign":
        return Binarizer(threshold=BELOW_ZERO)
    return FunctionTransformer(expit if name == "sigmoid" else np.tanh)


def machine_of(beta: F64, offset: F64, ridge: float, classes: Array | None) -> Any:
    """Return a fitted linear machine with these weights."""
    found = {"coef_": beta.T.copy(), "intercept_": offset, "n_features_in_": len(beta)}
    if classes is None:
        found = {**found, "coef_": beta[:, 0], "intercept_": float(offset[0])}
        return fitted(Ridge(alpha=ridge), **found)
    names = np.array(classes)
    known = LabelBinarizer(pos_label=1, neg_label=-1).fit(names)
    return fitted(RidgeClassifier(alpha=ridge), **found, classes_=names, _label_binarizer=known)
