"""Public models for programs that do not know tacit: linear ones on a public map, and extreme learning machines.

to_sklearn    a fitted pipeline of scikit-learn's own classes
.skops        that pipeline, for `skops.io.load`; no pickle
.onnx         a graph (`onnx_graph`): X in double precision -> label, and scores as decision_function has them; of a
              regression, the value
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, LabelBinarizer, MinMaxScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from tacit.arrays import F64, Array
from tacit.errors import LocalError, MissingExtraError
from tacit.files import write_whole
from tacit.models.mapped import MappedModel
from tacit.protocols.features.maps import FOURIER, LAYER, LINEAR, PublicMap

Names = Sequence[str] | Array | None
SUFFIXES = (".onnx", ".skops")


def to_sklearn(model: MappedModel, classes: Array | None, names: Names = None) -> Pipeline:
    """Return a fitted pipeline that equals the model; with `names` it expects frames with these columns."""
    steps = _steps_of(model, classes)
    if names is not None:
        steps[0][1].feature_names_in_ = np.array(names, dtype=object)
    return Pipeline(steps)


def _steps_of(model: MappedModel, classes: Array | None) -> list[tuple[str, Any]]:
    """Return a map to raw features, if there is one, and a linear machine on them."""
    the_map, w = model.map, model.raw_weights
    if the_map.activation == FOURIER:
        before = fourier_steps(the_map.centres.T)
    elif the_map.kernel == LAYER:
        w, before = model.node_weights, hidden_steps(the_map.activation, the_map.centres.T, the_map.shift)
        if the_map.activation == "sign":  # whose step is 0 or 1, and a node -1 or 1
            w = np.concatenate([2.0 * w[:-1], w[-1:] - w[:-1].sum(axis=0)])
    elif the_map.kernel == LINEAR:
        used = the_map.shift[:, None] * w[:-1]
        before, w = [], np.concatenate([used, w[-1:] - the_map.centres @ used])
    else:
        before = [("map", _kernel_step(the_map))]
    return [*before, ("svm", machine_of(w[:-1], w[-1], 1.0, classes))]


def export(
    model: MappedModel,
    classes: Array | None,
    n_features: int,
    path: str | Path,
    names: Names = None,
    *,
    before: Sequence[Any] = (),
    pipeline: Pipeline | None = None,
) -> Path:
    """Write a file that other programs read.

    `.onnx`, with the prepared columns `before` it, or `.skops`, of the `pipeline` if given.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise LocalError(
            f"{path} has the unknown suffix {suffix!r}: export to a file that ends in one of {', '.join(SUFFIXES)}"
        )
    if suffix == ".onnx":
        content = _onnx(model, classes, n_features, names, before)
    else:
        content = _skops(pipeline or to_sklearn(model, classes, names))
    return write_whole(path, content, "the exported model")


def _onnx(model: MappedModel, classes: Array | None, n_features: int, names: Names, before: Sequence[Any]) -> bytes:
    try:
        from tacit.models.onnx_graph import graph_of  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("an .onnx file", "export") from None
    return graph_of(model, classes, n_features, names, before)


def _skops(pipeline: Pipeline) -> bytes:
    try:
        from skops.io import dumps  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("a .skops file", "export") from None
    written: bytes = dumps(pipeline)
    return written


def _kernel_step(the_map: PublicMap) -> Any:
    """Return what makes kernel values with all landmarks: one map, or one for each width side by side."""
    gammas = the_map.gammas
    starts = [0, *(np.flatnonzero(np.diff(gammas)) + 1)]
    parts = [
        _landmarks(the_map, float(gamma), L)
        for gamma, L in zip(gammas[starts], np.split(the_map.centres, starts[1:]), strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    return FeatureUnion([(f"width_{i}", part) for i, part in enumerate(parts)])


def _landmarks(the_map: PublicMap, gamma: float, L: F64) -> Any:
    """Return what makes kernel values with some landmarks."""
    kernel = Nystroem(the_map.kernel, **_numbers(the_map, gamma), n_components=len(L))
    held = {"components_": np.array(L), "normalization_": np.eye(len(L)), "component_indices_": np.arange(len(L))}
    return fitted(kernel, **held, n_features_in_=the_map.columns, _n_features_out=len(L))


def _numbers(the_map: PublicMap, gamma: float) -> dict[str, float]:
    if the_map.kernel == "rbf":
        return {"gamma": gamma}
    if the_map.degree == 0:  # scikit-learn's polynomials start at degree 1: the constant 1 is 0 x.z + 1
        return {"gamma": 0.0, "coef0": 1.0, "degree": 1}
    return {"gamma": gamma, "coef0": the_map.coef0, "degree": the_map.degree}


# A public extreme learning machine as steps of scikit-learn's own classes.
#
# nodes        X W, a random projection; for rbf nodes a kernel with the nodes as landmarks
# offset       + b
# activation   g
# output       ridge regression of the hidden layer


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
