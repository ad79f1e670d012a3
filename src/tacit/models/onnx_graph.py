"""A public model as an ONNX graph in double precision; needs the extra `export`.

    values = K(X, L) (B w') + b         B: the basis of the map, multiplied out
    values = g(X W + b) beta            of an extreme learning machine; fourier: cosines and sines of X W
    scores = values; in a regression `value`, and nothing else
    label  = classes[scores > 0], or classes[argmax scores]
    probabilities = 1 / (1 + exp(A scores + B)), made to add up to 1; with probability=True only

Opset 15 and IR version 8 are of 2021, and every later runtime reads them.

Where all columns hold numbers, X is one table. Where some hold texts or dates, every column that is used is an input of
its own, by its name and of one column: texts as strings, "" for none, dates as days since 1970-01-01.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tacit.arrays import F64, Array
from tacit.models.mapped import MappedModel
from tacit.models.prepared import CYCLES, Encoded, Filled, Scaled, Vectorized, is_text
from tacit.protocols.features.maps import FOURIER, LAYER, LINEAR, PublicMap

if TYPE_CHECKING:
    from tacit.models.export import Names

OPSET, ML_OPSET, IR_VERSION = 15, 2, 8
ML = "ai.onnx.ml"
IN, LABEL, SCORES, PROBABILITIES, VALUE = "X", "label", "scores", "probabilities", "value"


class Graph:
    """Nodes and constants, in the order they are asked for; values go by name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def __call__(self, op: str, *inputs: str | float | Array, name: str | None = None, **attributes: Any) -> str:
        """Add an operation on values, numbers and arrays, and return the name of its value."""
        names = [i if isinstance(i, str) else self._constant(np.asarray(i)) for i in inputs]
        name = name or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name], **attributes))
        return name

    def _constant(self, array: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name


def graph_of(
    model: MappedModel, classes: Array | None, n_features: int, names: Names, before: Sequence[Any] = ()
) -> bytes:
    """Return the bytes of the file; without classes it is a regression's."""
    do, start = Graph(), IN
    given = _inputs(do, n_features, names, before)
    for prepared in before:
        start = _prepared(do, start, prepared)
    values = _mapped_values(do, model, start)
    told = _number(do, values) if classes is None else _answers(do, values, model, np.array(classes))
    content: bytes = _whole(helper.make_graph(do.nodes, "tacit", given, told, do.constants), names).SerializeToString()
    return content


def _mapped_values(do: Graph, model: MappedModel, start: str) -> str:
    """Add the raw features of a model of the core, and what its weights make of them."""
    the_map, w = model.map, model.raw_weights
    if the_map.activation == FOURIER:
        phases = do("MatMul", start, the_map.centres.T)
        raw = do("Concat", do("Sin", do("Add", phases, np.pi / 2.0)), do("Sin", phases), axis=1)
    elif the_map.kernel == LAYER:
        w, raw = model.node_weights, _nodes(do, start, the_map.centres.T, the_map.shift, the_map.activation)
    else:
        moved = do("Mul", do("Sub", start, the_map.centres), the_map.shift) if the_map.kernel == LINEAR else ""
        raw = moved or _kernel(do, the_map, start)
    return do("Add", do("MatMul", raw, w[:-1]), w[-1])


def _number(do: Graph, values: str) -> list[Any]:
    """Add the answer of a regression, and say what it is."""
    do("Squeeze", values, np.array([1]), name=VALUE)
    return [helper.make_tensor_value_info(VALUE, TensorProto.DOUBLE, ["n"])]


def _answers(do: Graph, values: str, model: MappedModel, labels: Array) -> list[Any]:
    """Add label, scores and probabilities of a classifier, and say what they are."""
    labels, wide = labels.astype(object) if labels.dtype.kind == "U" else labels, len(labels) > 2  # noqa: PLR2004 - one score separates two
    one = model.weights.shape[1] == 1
    scores = do("Squeeze", values, np.array([1]), name=SCORES) if one else do("Identity", values, name=SCORES)
    _label(do, scores, labels, wide=wide)
    kind = TensorProto.STRING if labels.dtype == object else helper.np_dtype_to_tensor_dtype(labels.dtype)
    told = [
        helper.make_tensor_value_info(LABEL, kind, ["n"]),
        helper.make_tensor_value_info(SCORES, TensorProto.DOUBLE, ["n", len(labels)] if wide else ["n"]),
    ]
    if model.sigmoids is not None:
        _probabilities(do, scores, np.asarray(model.sigmoids))
        told.append(helper.make_tensor_value_info(PROBABILITIES, TensorProto.DOUBLE, ["n", len(labels)]))
    return told


def _whole(graph: Any, names: Names) -> ModelProto:
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    model = helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tacit", producer_version=version("tacit")
    )
    if names is not None:
        helper.set_model_props(model, {"features": json.dumps([str(name) for name in names])})
    return model


def _inputs(do: Graph, n_features: int, names: Names, before: Sequence[Any]) -> list[Any]:
    """Return what the graph is given: the table X, or each of the columns that are used, which make up X."""
    texts, plain, used = _find_texts(before, n_features)
    if plain:
        return [helper.make_tensor_value_info(IN, TensorProto.DOUBLE, ["n", n_features])]
    labels = [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]
    labels = [f"{name}_" if name in (IN, LABEL, SCORES, PROBABILITIES) else name for name in labels]
    kinds = {j: TensorProto.STRING if j in texts else TensorProto.DOUBLE for j in used}
    columns = {j: _numbers(do, labels[j], texts[j]) if j in texts else labels[j] for j in used}
    do("Concat", *(columns.get(j, columns[used[0]]) for j in range(n_features)), axis=1, name=IN)  # unused: any other
    return [helper.make_tensor_value_info(labels[j], kind, ["n", 1]) for j, kind in kinds.items()]


def _find_texts(before: Sequence[Any], n_features: int) -> tuple[dict[int, tuple[str, ...]], bool, list[int]]:
    """Return the categories of columns of texts, whether X is a plain table of numbers, and which columns are used."""
    texts: dict[int, tuple[str, ...]] = {}
    origin, dates = np.arange(n_features), False
    for prepared in before:
        if isinstance(prepared, Encoded):
            known = dict(zip(prepared.encoded.tolist(), prepared.labels, strict=True))
        else:
            known = dict(enumerate(prepared.labels)) if isinstance(prepared, Vectorized) else {}
        for j, values in known.items():
            if is_text(values):
                texts[int(origin[j])] = tuple(map(str, values))
        dates = dates or (isinstance(prepared, Vectorized) and "date" in prepared.kinds)
        origin = origin[prepared.sources]
    return texts, not texts and not dates, np.unique(origin).tolist()


def _numbers(do: Graph, column: str, texts: Sequence[str]) -> str:
    """Add the numbers of texts, -1 for any other and NaN for none."""
    codes = {"": np.nan, **{text: float(k) for k, text in enumerate(texts)}}
    known: dict[str, Any] = {"keys_strings": list(codes), "values_floats": list(codes.values()), "default_float": -1.0}
    return do("Cast", do("LabelEncoder", column, domain=ML, **known), to=TensorProto.DOUBLE)


def _prepared(do: Graph, start: str, prepared: Any) -> str:
    """Add what `apply` of `models.prepared` computes, on all columns."""
    if isinstance(prepared, Scaled):
        return do("Div", do("Sub", start, prepared.center), prepared.scale)
    columns = do("Gather", start, np.asarray(prepared.sources), axis=1)
    if isinstance(prepared, Vectorized):
        return _vectorized(do, columns, prepared)
    if isinstance(prepared, Encoded):
        return do(
            "Where",
            np.isnan(prepared.codes),
            columns,
            do("Cast", do("Equal", columns, prepared.codes), to=TensorProto.DOUBLE),
        )
    if isinstance(prepared, Filled):
        missing, own = do("IsNaN", columns), np.arange(len(prepared.sources)) < len(prepared.values)
        filled = do("Where", missing, prepared.values[prepared.sources], columns)
        return do("Where", own, filled, do("Cast", missing, to=TensorProto.DOUBLE))
    return columns


def _vectorized(do: Graph, columns: str, prepared: Vectorized) -> str:
    """Add what a vectorizer makes of columns."""
    made = np.array(prepared.made)
    f, p = np.array([CYCLES.get(what, (0.0, 0.0)) for what in prepared.made]).T
    turned = do("Sin", do("Add", do("Mul", columns, f), p))
    gaps = do("Cast", do("IsNaN", columns), to=TensorProto.DOUBLE)
    categories = do("Cast", do("Equal", columns, prepared.codes), to=TensorProto.DOUBLE)
    marks = do("Where", made == "gap", gaps, categories)
    values = do("Where", made == "value", columns, do("Where", np.isin(made, list(CYCLES)), turned, marks))
    filled = do("Where", do("IsNaN", values), prepared.fill, values)
    return do("Div", do("Sub", filled, prepared.center), prepared.scale)


def _nodes(do: Graph, start: str, W: F64, b: F64, activation: str) -> str:
    """Add a hidden layer as `numeric.features.elm` has it."""
    if activation == "rbf":
        return do("Exp", _less_distance(do, start, W.T, 1.0 / len(W)))
    reached = do("Add", do("MatMul", start, W), b)
    if activation == "sigmoid":
        return do("Div", 1.0, do("Add", do("Exp", do("Neg", reached)), 1.0))
    if activation == "sign":
        return do("Where", do("Less", reached, 0.0), -1.0, 1.0)
    return do("Tanh", reached) if activation == "tanh" else do("Max", reached, 0.0)


def _less_distance(do: Graph, start: str, points: F64, factor: float | F64) -> str:
    """Add -factor |x - p|^2 for every point p."""
    squares = do("ReduceSum", do("Mul", start, start), np.array([1]), keepdims=1)
    less = do("Sub", do("Sub", do("MatMul", start, 2.0 * points.T), squares), np.einsum("ij,ij->i", points, points))
    return do("Mul", do("Min", less, 0.0), factor)


def _kernel(do: Graph, the_map: PublicMap, start: str) -> str:
    """Add K(X, L) as `numeric.svm.kernels` has it.

    Factors are in L, since onnxruntime fuses one behind a MatMul as a single-precision number.
    """
    L: F64 = the_map.centres
    if the_map.kernel == "rbf":
        return do("Exp", _less_distance(do, start, L, the_map.gammas))
    moved = do("Add", do("MatMul", start, the_map.gamma * L.T), the_map.coef0)
    return do("Pow", moved, float(the_map.degree)) if the_map.kernel == "poly" else do("Tanh", moved)


def _probabilities(do: Graph, scores: str, AB: F64) -> str:
    """Add `numeric.scores.platt.probabilities`: 1 / (1 + exp z) by operations that all runtimes have."""
    if len(AB) == 1:
        scores = do("Unsqueeze", scores, np.array([1]))
    p = do("Div", 1.0, do("Add", do("Exp", do("Add", do("Mul", scores, AB[:, 0]), AB[:, 1])), 1.0))
    if len(AB) == 1:
        return do("Concat", do("Sub", 1.0, p), p, axis=1, name=PROBABILITIES)
    total = do("ReduceSum", p, np.array([1]), keepdims=1)
    return do("Where", do("Greater", total, 0.0), do("Div", p, total), 1.0 / len(AB), name=PROBABILITIES)


def _label(do: Graph, scores: str, labels: Array, *, wide: bool) -> str:
    best = (
        do("ArgMax", scores, axis=1, keepdims=0)
        if wide
        else do("Cast", do("Greater", scores, 0.0), to=TensorProto.INT64)
    )
    return do("Gather", labels, best, name=LABEL)
