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
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from tacit.arrays import F64, Array
from tacit.errors import LocalError, MissingExtraError
from tacit.files import write_whole
from tacit.models.elm import ElmModel
from tacit.models.elm_steps import elm_steps, fitted
from tacit.models.pan import PanModel
from tacit.numeric.features.feature_map import fourier_weights
from tacit.protocols.planes.feature_map import FeatureMap

Names = Sequence[str] | Array | None
PublicModel = PanModel | ElmModel
SUFFIXES = (".onnx", ".skops")


def to_sklearn(model: PublicModel, classes: Array | None, n_features: int, names: Names = None) -> Pipeline:
    """Return a fitted pipeline that equals the model; with `names` it expects frames with these columns."""
    steps = (
        elm_steps(model, classes) if isinstance(model, ElmModel) else _svm_steps(model, np.array(classes), n_features)
    )
    if names is not None:
        steps[0][1].feature_names_in_ = np.array(names, dtype=object)
    return Pipeline(steps)


def export(
    model: PublicModel,
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
        content = _skops(pipeline or to_sklearn(model, classes, n_features, names))
    return write_whole(path, content, "the exported model")


def _onnx(model: PublicModel, classes: Array | None, n_features: int, names: Names, before: Sequence[Any]) -> bytes:
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


# The steps of an SVM


def _svm_steps(model: PanModel, classes: Array, n_features: int) -> list[tuple[str, Any]]:
    mapped = _mapping(model.map, n_features)
    return [*([("map", mapped)] if mapped is not None else []), ("svm", _machine(model, classes))]


def _mapping(the_map: FeatureMap, n_features: int) -> Any:
    if the_map.source == "identity":
        return None
    if the_map.source == "fourier":
        weights, offsets = fourier_weights(the_map.seed, n_features, the_map.size, the_map.gamma)
        return fitted(
            RBFSampler(gamma=the_map.gamma, n_components=the_map.size),
            random_weights_=weights, random_offset_=offsets, n_features_in_=n_features, _n_features_out=the_map.size,
        )  # fmt: skip
    centres, basis = np.array(the_map.centres), _wide(the_map.basis.T)
    return fitted(
        Nystroem(the_map.kernel, **_numbers(the_map), n_components=len(centres)),
        components_=centres,
        normalization_=basis,
        component_indices_=np.arange(len(centres)),
        n_features_in_=n_features,
        _n_features_out=len(basis),
    )


def _numbers(the_map: FeatureMap) -> dict[str, float]:
    if the_map.kernel == "rbf":
        return {"gamma": the_map.gamma}
    if the_map.kernel == "sigmoid":
        return {"gamma": the_map.gamma, "coef0": the_map.coef0}
    if the_map.degree == 0:  # scikit-learn's polynomials start at degree 1: the constant 1 is 0 x.z + 1
        return {"gamma": 0.0, "coef0": 1.0, "degree": 1}
    return {"gamma": the_map.gamma, "coef0": the_map.coef0, "degree": the_map.degree}


def _wide(rows: F64) -> F64:
    """Return an array with one column at least: scikit-learn knows no records without columns.

    A kernel matrix of zeros leaves none, and a column of zeros does no harm.
    """
    return np.array(rows) if len(rows) else np.zeros((1, rows.shape[1]))


def _machine(model: PanModel, classes: Array) -> Any:
    if len(model.pairs) == 1 or model.pairs[0][1] < 0:
        return _linear(model.w, model.b, classes)
    # tacit's positive class of a pair is the first, scikit-learn's the second
    duels = [_linear(-w[None], -b[None], np.arange(2)) for w, b in zip(model.w, model.b, strict=True)]
    return fitted(
        OneVsOneClassifier(LinearSVC(loss="hinge")),
        estimators_=duels, classes_=classes, pairwise_indices_=None, n_features_in_=duels[0].n_features_in_,
    )  # fmt: skip


def _linear(w: F64, b: F64, classes: Array) -> LinearSVC:
    coef = _wide(w.T).T
    return fitted(
        LinearSVC(loss="hinge"), coef_=coef, intercept_=np.array(b), classes_=classes, n_features_in_=coef.shape[1]
    )
