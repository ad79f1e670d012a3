"""A PAN-SVM as an ONNX graph in double precision; needs the extra `export`.

    values = K(X, L) (B w') + b         B: the basis of the map, multiplied out      fourier: cos(X W + o) instead of K(X, L)
    scores = values, or the votes of one-versus-one
    label  = classes[scores > 0], or classes[argmax scores]
    probabilities = 1 / (1 + exp(A scores + B)), made to add up to 1; with probability=True only

Opset 15 and IR version 8 are of 2021, and every later runtime reads them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tacit.choreo import F64, Array
from tacit.errors import LocalError
from tacit.models.prepared import Encoded, Filled, Scaled
from tacit.numeric.feature_map import fourier_weights

if TYPE_CHECKING:
    from tacit.models.export import Names
    from tacit.models.pan import PanModel
    from tacit.protocols.feature_map import FeatureMap
    from tacit.protocols.row_problems import Pairs

OPSET, IR_VERSION = 15, 8
IN, LABEL, SCORES, PROBABILITIES = "X", "label", "scores", "probabilities"


class Graph:
    """Nodes and constants, in the order they are asked for; values go by name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def __call__(self, op: str, *inputs: str | float | Array, name: str | None = None, **attributes: Any) -> str:
        """The value of an operation on values, numbers and arrays."""
        names = [i if isinstance(i, str) else self._constant(np.asarray(i)) for i in inputs]
        name = name or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name], **attributes))
        return name

    def _constant(self, array: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name


def graph_of(model: PanModel, classes: Array, n_features: int, names: Names, before: Sequence[Any] = ()) -> bytes:
    """The file's bytes."""
    do, labels = Graph(), np.array(classes)
    labels = labels.astype(object) if labels.dtype.kind == "U" else labels
    wide, start, columns = len(model.pairs) > 1, IN, n_features
    for prepared in before:
        start, columns = _prepared(do, start, prepared), len(prepared.sources)
    values = _values(do, model, columns, start)
    scores = _scores(do, values, model)
    _label(do, scores, labels, wide=wide)
    kind = TensorProto.STRING if labels.dtype == object else helper.np_dtype_to_tensor_dtype(labels.dtype)
    told = [
        helper.make_tensor_value_info(LABEL, kind, ["n"]),
        helper.make_tensor_value_info(SCORES, TensorProto.DOUBLE, ["n", len(labels)] if wide else ["n"]),
    ]
    if model.sigmoids is not None:
        _probabilities(do, scores, np.asarray(model.sigmoids))
        told.append(helper.make_tensor_value_info(PROBABILITIES, TensorProto.DOUBLE, ["n", len(labels)]))
    given = [helper.make_tensor_value_info(IN, TensorProto.DOUBLE, ["n", n_features])]
    content: bytes = _whole(helper.make_graph(do.nodes, "PanSVC", given, told, do.constants), names).SerializeToString()
    return content


def _whole(graph: Any, names: Names) -> ModelProto:
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="tacit", producer_version=version("tacit"))
    if names is not None:
        helper.set_model_props(model, {"features": json.dumps([str(name) for name in names])})
    return model


def _prepared(do: Graph, start: str, prepared: Any) -> str:
    """As `apply` of `models.prepared` has it, on all columns."""
    if isinstance(prepared, Scaled):
        return do("Div", do("Sub", start, prepared.center), prepared.scale)
    if isinstance(prepared, Encoded) and any(isinstance(value, str) for values in prepared.labels for value in values):
        raise LocalError("an encoder of texts has no ONNX form here: export to .skops, or declare numbers as categories")
    columns = do("Gather", start, np.asarray(prepared.sources), axis=1)
    if isinstance(prepared, Encoded):
        return do("Where", np.isnan(prepared.codes), columns, do("Cast", do("Equal", columns, prepared.codes), to=TensorProto.DOUBLE))
    if isinstance(prepared, Filled):
        missing, own = do("IsNaN", columns), np.arange(len(prepared.sources)) < len(prepared.values)
        filled = do("Where", missing, prepared.values[prepared.sources], columns)
        return do("Where", own, filled, do("Cast", missing, to=TensorProto.DOUBLE))
    return columns


def _values(do: Graph, model: PanModel, n_features: int, start: str) -> str:
    the_map = model.map
    if the_map.source == "identity":
        return do("Add", do("MatMul", start, model.w.T), model.b)
    if the_map.source == "fourier":
        weights, offsets = fourier_weights(the_map.seed, n_features, the_map.size, the_map.gamma)
        # older versions of onnxruntime have no Cos in double precision
        turned = do("Sin", do("Add", do("MatMul", start, weights), offsets + np.pi / 2.0))
        return do("Add", do("MatMul", turned, np.sqrt(2.0 / the_map.size) * model.w.T), model.b)
    return do("Add", do("MatMul", _kernel(do, the_map, start), the_map.basis @ model.w.T), model.b)


def _kernel(do: Graph, the_map: FeatureMap, start: str) -> str:
    """K(X, L) as `numeric.kernels` has it; factors are in L, since onnxruntime fuses one behind a MatMul as a single-precision number."""
    L: F64 = the_map.centres
    if the_map.kernel == "rbf":
        squares = do("ReduceSum", do("Mul", start, start), np.array([1]), keepdims=1)
        less = do("Sub", do("Sub", do("MatMul", start, 2.0 * L.T), squares), np.einsum("ij,ij->i", L, L))
        return do("Exp", do("Mul", do("Min", less, 0.0), the_map.gamma))
    moved = do("Add", do("MatMul", start, the_map.gamma * L.T), the_map.coef0)
    return do("Pow", moved, float(the_map.degree)) if the_map.kernel == "poly" else do("Tanh", moved)


def _scores(do: Graph, values: str, model: PanModel) -> str:
    if len(model.pairs) == 1:
        return do("Squeeze", values, np.array([1]), name=SCORES)
    if model.pairs[0][1] < 0:
        return do("Identity", values, name=SCORES)
    return _votes(do, values, model.pairs, model.classes)


def _votes(do: Graph, values: str, pairs: Pairs, classes: int) -> str:
    """As `numeric.folds.votes`, with a row of +1 and -1 for every duel."""
    first, second = np.eye(classes)[[i for i, _ in pairs]], np.eye(classes)[[j for _, j in pairs]]
    # a value of 0 is the first's, as in scikit-learn
    lost = do("Cast", do("Less", values, 0.0), to=TensorProto.DOUBLE)
    won = do("Add", do("MatMul", lost, second - first), first.sum(axis=0))
    sure = do("MatMul", values, first - second)
    return do("Add", won, do("Div", sure, do("Mul", do("Add", do("Abs", sure), 1.0), 3.0)), name=SCORES)


def _probabilities(do: Graph, scores: str, AB: F64) -> str:
    """As `numeric.platt.probabilities`; 1 / (1 + exp z) by operations that every runtime has in double precision."""
    if len(AB) == 1:
        scores = do("Unsqueeze", scores, np.array([1]))
    p = do("Div", 1.0, do("Add", do("Exp", do("Add", do("Mul", scores, AB[:, 0]), AB[:, 1])), 1.0))
    if len(AB) == 1:
        return do("Concat", do("Sub", 1.0, p), p, axis=1, name=PROBABILITIES)
    total = do("ReduceSum", p, np.array([1]), keepdims=1)
    return do("Where", do("Greater", total, 0.0), do("Div", p, total), 1.0 / len(AB), name=PROBABILITIES)


def _label(do: Graph, scores: str, labels: Array, *, wide: bool) -> str:
    best = do("ArgMax", scores, axis=1, keepdims=0) if wide else do("Cast", do("Greater", scores, 0.0), to=TensorProto.INT64)
    return do("Gather", labels, best, name=LABEL)
