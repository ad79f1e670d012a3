"""Gram SVMs as jobs name them: what trainings leave, what may ask it, how both are rehearsed and what they cost.

A training leaves a model in shares: its dual at the coordinator, and at each holder what it has of the support vectors.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Coordinator, Holder, Role, Roster
from tacit.choreo.declaration import Either, Number, OneOf, Parameter
from tacit.choreo.protocol import Declaration, Inputs, Params, Rehearsal, Stage
from tacit.numeric.svm.kernels import OVR
from tacit.papers.columns import BAND, count_bands, scale_bands, set_always
from tacit.papers.dual_svm import OF_SOLVER
from tacit.papers.gram.arbitrary import gram_arbitrary, gram_arbitrary_predict
from tacit.papers.gram.cells import HOWS, KEY_LENGTHS
from tacit.papers.gram.cost import count_products, dots_traffic, gram_traffic, linear_traffic, weights_traffic
from tacit.papers.gram.engines.engines import ENGINES
from tacit.papers.gram.linear import gram_linear_predict
from tacit.papers.gram.train import DualModel, SupportColumns
from tacit.papers.gram.vertical import gram_predict, gram_vertical
from tacit.papers.gram.weights import WeightShare, gram_weights
from tacit.papers.parameters import BAND as AT_ONCE
from tacit.papers.parameters import MULTI_CLASS
from tacit.protocols.parameters import NOTHING, ROWS, SWITCH
from tacit.protocols.part import by_cells, by_columns

SUPPORT = 31  # vectors: enough to make the answers small beside the sums they come from
FEW = 8  # vectors of a model over cells, whose answers are ciphertexts whatever their number

SOLVED: Params = {"C": 1.0, "tol": 1e-3, "max_iter": -1, "class_weight": None, "band": BAND}
METHOD = Parameter("method", OneOf(HOWS), "how products of cells are made", opens=True)
ENGINE = Parameter("engine", OneOf(ENGINES), "the cryptosystem of the products")
KEY_LENGTH = Parameter("key_bits", OneOf(KEY_LENGTHS), "the length of Paillier's keys")
FEATURE_BITS = Parameter(
    "feature_bits", Either((NOTHING, Number(1, 28, whole=True))), "the precision of a cell in products", opens=True
)
SQUARES = Parameter("squares", SWITCH, "whether the kernel needs the records' lengths", opens=True, follows=True)
VECTORS = Parameter("support", Number(0, ROWS, whole=True), "how many support vectors the model has", follows=True)
OF_PRODUCTS = (ENGINE, KEY_LENGTH, FEATURE_BITS)
ASKED: Params = {"support": SUPPORT, "band": BAND}


# Invented models


def new_columns(stage: Stage) -> Inputs:
    """Return new records over columns, and a model to ask about them."""
    support = np.linspace(-1.0, 1.0, SUPPORT)
    held = {p: SupportColumns(support[:, None]) for p in stage.roster[Holder]}
    return {**by_columns(stage), "dual": _dual(stage.roster, support, stage.params), "columns": (Holder, held)}


def new_cells(stage: Stage) -> Inputs:
    """Return new records of any split, and a model to ask about them."""
    return {**by_cells(stage), **_model_over_cells(stage, stage.params)}


def linear_model(stage: Stage) -> Inputs:
    """Return a linear model whose weights are to be shared."""
    return _model_over_cells(stage, {**stage.params, "squares": False})


def new_linear(stage: Stage) -> Inputs:
    """Return new records of any split, and shares of weights, all zero."""
    holders, range_ = stage.roster[Holder], stage.params.get("feature_range")
    words = np.zeros((stage.params["problems"], len(holders) + 1), np.uint64)
    share = WeightShare(words, 0, 0 if range_ is None else int(np.ceil(np.log2(range_))))
    return {**by_cells(stage), "weights": (Holder, dict.fromkeys(holders, share))}


def _model_over_cells(stage: Stage, params: Params) -> Inputs:
    parts = by_cells(Stage(stage.roster, FEW, stage.params, stage.part))["data"][1]
    held = {p: SupportColumns(part.X, part.owned) for p, part in parts.items()}
    support = np.linspace(-1.0, 1.0, FEW * (len(held) if params["partition"] == "horizontal" else 1))
    return {"dual": _dual(stage.roster, support, params), "columns": (Holder, held)}


def _dual(roster: Roster, support: F64, params: Params) -> tuple[Role, dict[str, DualModel]]:
    kernel = "rbf" if params["squares"] else "linear"
    problems = params.get("problems", 1)
    coef, zeros = np.tile(support, (problems, 1)), np.zeros(problems)
    way = params.get("multi_class", OVR)
    dual = DualModel(coef, zeros, support**2, zeros, 1, kernel, 1.0, 3, 0.0, multi_class=way)
    return Coordinator, {roster[Coordinator][0]: dual}


# Costs


def _triangle(records: int, _: Params) -> int:
    return records * (records + 1) // 2


def _triangle_loops(records: int, params: Params) -> int:
    return count_bands(records, params["band"])


def _answers(records: int, params: Params) -> int:
    return int(records * (params["support"] + 1))


def _answer_loops(records: int, params: Params) -> int:
    step: int = max(1, params["band"] // (params["support"] + 1))
    return -(-records // step)


# The declarations

GRAM_VERTICAL = Declaration(
    gram_vertical,
    rehearsal=Rehearsal(by_columns, set_always(SOLVED), scale_bands(_triangle, _triangle_loops, SOLVED)),
    shows_gram=True,
    parameters=(*OF_SOLVER, AT_ONCE),
)
GRAM_PREDICT = Declaration(
    gram_predict,
    rehearsal=Rehearsal(new_columns, set_always(ASKED), scale_bands(_answers, _answer_loops, ASKED)),
    asks=True,
    parameters=(SQUARES, VECTORS, AT_ONCE),
)
GRAM_ARBITRARY = Declaration(
    gram_arbitrary,
    rehearsal=Rehearsal(by_cells, set_always(SOLVED), count_products(gram_traffic, 2)),
    shows_gram=True,
    parameters=(*OF_SOLVER, *OF_PRODUCTS, METHOD, AT_ONCE),
)
GRAM_ARBITRARY_PREDICT = Declaration(
    gram_arbitrary_predict,
    rehearsal=Rehearsal(new_cells, set_always({"records": None}), count_products(dots_traffic, 1)),
    asks=True,
    parameters=(SQUARES, *OF_PRODUCTS),
)
GRAM_WEIGHTS = Declaration(
    gram_weights,
    rehearsal=Rehearsal(linear_model, set_always({"problems": 2}), count_products(weights_traffic, 1)),
    asks=True,
    parameters=(MULTI_CLASS, KEY_LENGTH),
)
GRAM_LINEAR_PREDICT = Declaration(
    gram_linear_predict,
    rehearsal=Rehearsal(new_linear, set_always({"problems": 2, "records": None}), count_products(linear_traffic, 1)),
    asks=True,
    parameters=(MULTI_CLASS, ENGINE, KEY_LENGTH),
)
