"""Extreme learning machine over columns of the same records; the coordinator learns the inputs of the hidden layer.

The problem. Party p holds X_p, its columns of n records; one party also holds the targets T. The inputs of the hidden
layer add up:

    S = X W + b = sum_p T_p,    T_p = X_p W_p + b_p,    b = sum_p b_p,    H = g(S)                      (1)
    for rbf nodes               T_p = |x_p - w_p|^2 / d                                                 (2)

The coordinator (the paper's master) learns S by secure sums, in bands of rows, and solves for the output weights:

    beta = (H'H + r I)^-1 H'T                                                                           (3)

weights='master': it draws W and b itself and sends each party its part. weights='private': every party draws and keeps
its own W_p and b_p. A new record is classified by the same sum (1) over its parts; the asker is told h(z) beta.

Roles. Holder: columns. Labeller: the holder that has the targets. Coordinator: solves; holds no data. Asker: is told
the values.

Threat. Semi-honest, and weak: the coordinator sees S = XW + b. If it made W it solves for X as soon as there are as
many nodes as columns it does not know (`attacks.elm_inversion`); under private W it needs as many known records as
there are columns, and one for b (`attacks.elm_known_records`). Both start only with accept_risk. Holders learn nothing
of each other's columns; coalitions as `secure_sum`.

Not protected: the records, from a coordinator that looks; what decision values reveal. With two holders each has the
other's sums.

Source: 003, section 4, eqs 8 to 11 and the seven steps; step 6 there leaves out g, without which the model is linear,
and rbf nodes need the squares (2) (docs/methods/elm.md).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Asker, At, Coordinator, Each, Fact, Holder, Labeller, Message, Result, Run, State, choreography
from tacit.choreo.declaration import OneOf, Parameter
from tacit.choreo.protocol import TABLE, Declaration, Params, Rehearsal
from tacit.crypto.pads.stream import words_of
from tacit.errors import LocalError
from tacit.numeric.features.elm import (
    activate,
    layer_of,
    moments,
    out_of_fold,
    reach,
    size_of,
    solve,
    targets_of,
    words_needed,
)
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.elm.horizontal import Machine, check_machine, check_targets, nodes_of, numbers_of
from tacit.protocols.elm.shape import outputs_of
from tacit.protocols.gram.cost import scale_bands
from tacit.protocols.gram.vertical import BAND, Size, append_values, measure, same_records, stack_answers
from tacit.protocols.invented import by_columns
from tacit.protocols.labels import Classes, Decision, Labels, name_classes, send_labels
from tacit.protocols.part import Names, Records, Table
from tacit.protocols.scores.platt import Scores, own_platt
from tacit.protocols.settings import Sums
from tacit.protocols.sums.secure_sum import secure_sum
from tacit.protocols.table_facts import CLASS_NAMES, DECISION_VALUES, TABLE_SIZES

WEIGHTS = ("master", "private")


class Weights(
    Message,
    tells=Fact(
        "elm.drawn_weights",
        "nobody",
        "model",
        "party",
        "the receiver's own part of the hidden layer's weights, drawn by the coordinator",
    ),
):
    """The receiver's part W_p and b_p of the hidden layer of (1)."""

    W: F64
    b: F64


class Targets(
    Message,
    tells=Fact(
        "elm.targets_in_clear", "labeller", "label", "record", "the target and the weight of every record, in clear"
    ),
):
    """The targets T, with the weight of every record."""

    values: F64
    weight: F64 | None


class NodeWeights(State):
    """A holder's share: its part of the hidden layer, and of how many columns in all it is a part."""

    W: F64
    b: F64
    columns: int


class Master(State):
    """The coordinator's share: the output weights and what they were made with."""

    activation: str
    beta: F64
    ridge: float
    rank: int


class Trained(Result):
    """What a training leaves: the coordinator's share and every holder's."""

    classes: Names
    columns: int
    nodes: int
    master: At[Master]
    weights: At[NodeWeights]
    sigmoids: F64 | None


@choreography(
    opens={
        Coordinator: (
            Fact(
                "elm.layer",
                "holders",
                "record",
                "record",
                "the inputs of the hidden layer of every record, that is XW + b: with weights='master' every record, if"
                " there are as many nodes as columns",
            ),
            Fact(
                "elm.layer_if_known",
                "holders",
                "record",
                "record",
                "with weights='private' every record, to somebody who knows as many records as there are columns",
            ),
            Fact("elm.every_target", "labeller", "label", "record", "every target"),
        ),
        Holder: (TABLE_SIZES, CLASS_NAMES),
    }
)
def elm_vertical(
    run: Run,
    data: At[Records],
    *,
    classify: bool,
    machine: Machine,
    sums: Sums,
    weights: str = "master",
    band: int = BAND,
) -> Trained:
    """Train; the coordinator ends with a `Master`, every holder with its `NodeWeights`."""
    activation = machine.activation
    check_machine(machine, classify=classify)
    if weights not in WEIGHTS:
        raise LocalError(f"unknown weights {weights!r}: use one of {', '.join(WEIGHTS)}")
    fixed = sums.fixed_point(run)
    run.local(Labeller, check_targets, data, classify, run.who(Labeller))
    found = run.local(Labeller, name_classes, data) if classify else None
    by = sums.protect(run, to=Coordinator)
    classes = () if found is None else run.publish(Classes, found).names
    told = run.publish_all(Size, run.local(Holder, measure, data))
    records, columns = same_records(told), {p: m.columns for p, m in told.items()}
    nodes = nodes_of(machine.n_hidden, records, accept_risk=True)
    if classify:
        labels = send_labels(run, data, classes, machine.class_weight)
        targets = run.local(Coordinator, encode_classes, labels, len(classes))
    else:
        targets = run.send(Targets, Labeller >> Coordinator, run.local(Labeller, send_targets, data))
    if weights == "master":
        drawn = run.local(Coordinator, deal, run.random(Coordinator), columns, nodes, activation, machine.scale)
        own = run.local(Holder, keep_weights, run.send(Weights, Coordinator >> Holder, drawn), sum(columns.values()))
    else:
        seed, me = run.random(Holder), run.who(Holder)
        own = run.local(Holder, draw, seed, me, columns, nodes, activation, machine.scale)
    run.local(Holder, check_range, data, own, activation, fixed, run.who(Holder))
    outputs, step = outputs_of(classes), max(1, band // nodes)
    kept = {"bands": run.local(Coordinator, tuple)} if machine.probability else {}
    s = run.carry(sums=run.local(Coordinator, np.zeros, size_of(nodes, outputs)), **kept)
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, reach_layer, data, own, activation, t * step, (t + 1) * step)
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="hidden layer")  # (1)
        s.sums = run.local(Coordinator, add_band, s.sums, opened, targets, activation, t * step)
        if machine.probability:
            s.bands = run.local(Coordinator, append_band, s.bands, opened)
    master = run.local(Coordinator, fit, s.sums, nodes, outputs, machine.ridge, activation)
    AB = None
    if machine.probability:
        AB = own_platt(run, run.local(Coordinator, score_left_out, s.bands, targets, labels, master), at=Coordinator)
    return Trained(classes=classes, columns=sum(columns.values()), nodes=nodes, master=master, weights=own, sigmoids=AB)


@choreography(
    opens={
        Coordinator: (
            Fact(
                "elm.new_layer",
                "holders",
                "record",
                "record",
                "the inputs of the hidden layer of every new record, as in training",
            ),
            Fact("elm.new_values", "holders", "answer", "record", "the decision values of its new records"),
        ),
        Asker: DECISION_VALUES,
    }
)
def elm_predict(
    run: Run,
    data: At[Table],
    master: At[Master],
    weights: At[NodeWeights],
    *,
    activation: str,
    nodes: int,
    sums: Sums,
    band: int = BAND,
) -> At[F64]:
    """Return values of new records, whose parts stay where they are, at the asker."""
    records = same_records(run.publish_all(Size, run.local(Holder, measure, data)))
    by, fixed, step = sums.protect(run, to=Coordinator), sums.fixed_point(run), max(1, band // nodes)
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, reach_layer, data, weights, activation, t * step, (t + 1) * step)
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="hidden layer")  # (1)
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, master, opened))
        s.answers = run.local(Asker, append_values, s.answers, answer)
    return run.local(Asker, stack_answers, s.answers)


# Steps at the holders


def draw(seed: bytes, me: str, columns: dict[str, int], nodes: int, activation: str, scale: float) -> NodeWeights:
    """Return W_p and b_p, which nobody else ever has; the biases of all add up to one of the usual size."""
    total = sum(columns.values())
    W, b = layer_of(words_of(seed, words_needed(columns[me], nodes)), nodes, activation, scale, total)
    return NodeWeights(W, b / np.sqrt(len(columns)), total)


def keep_weights(dealt: Weights, columns: int) -> NodeWeights:
    """Return the holder's share, as the coordinator dealt it."""
    return NodeWeights(dealt.W, dealt.b, columns)


def send_targets(part: Records) -> Targets:
    """Return the labeller's targets in clear."""
    if part.y is None:
        raise LocalError("the labeller holds no targets: name the party that does (labeller=...)")
    return Targets(numbers_of(part), part.weight)


def check_range(part: Table, own: NodeWeights, activation: str, fixed: FixedPoint, me: str) -> None:
    """Refuse what cannot be summed before anything of it is sent."""
    largest = np.abs(part.X).max(axis=0, initial=0.0)[None]
    away = -1.0 if activation == "rbf" else 1.0  # where a node is farthest, or reached most
    fixed.encode(reach(largest, away * np.abs(own.W), np.abs(own.b), activation, own.columns), f"hidden layer of {me}")


def reach_layer(part: Table, own: NodeWeights, activation: str, start: int, stop: int) -> F64:
    """Return the holder's part T_p of the hidden layer's inputs, (1) or (2)."""
    if part.X.shape[1] != len(own.W):
        raise LocalError(
            f"a new record has {part.X.shape[1]} values here, the model {len(own.W)} weights: bring every column of"
            " the fit"
        )
    found: F64 = reach(part.X[start:stop], own.W, own.b, activation, own.columns)
    return found


# Steps at the coordinator


def deal(seed: bytes, columns: dict[str, int], nodes: int, activation: str, scale: float) -> Each:
    """Return W and b, cut by columns; everyone's biases add up to b."""
    total = sum(columns.values())
    W, b = layer_of(words_of(seed, words_needed(total, nodes)), nodes, activation, scale, total)
    cuts = np.split(W, np.cumsum(list(columns.values()))[:-1])
    return Each(
        {p: Weights(np.ascontiguousarray(part), b / len(columns)) for p, part in zip(columns, cuts, strict=True)}
    )


def encode_classes(labels: Labels, classes: int) -> Targets:
    """Return the targets T of classes."""
    return Targets(targets_of(labels.codes, classes), labels.weight)


def add_band(sums: F64, opened: F64, targets: Targets, activation: str, start: int) -> F64:
    """Return H'H and H'T with one more band of rows."""
    rows = slice(start, start + len(opened))
    if len(targets.values) < start + len(opened):
        raise LocalError(
            f"{len(targets.values)} targets, and more records: the labeller must hold one target per record"
        )
    weight = None if targets.weight is None else targets.weight[rows]
    return sums + moments(activate(opened, activation), targets.values[rows], weight)


def append_band(bands: tuple[F64, ...], opened: F64) -> tuple[F64, ...]:
    """Return what the coordinator has seen of the hidden layer's inputs, with one more band of rows."""
    return (*bands, opened)


def score_left_out(bands: tuple[F64, ...], targets: Targets, labels: Labels, master: Master) -> Scores:
    """Return values of every record that has weight by a model that did not see it, with the same ridge."""
    H = activate(np.concatenate(bands), master.activation)
    return Scores(*out_of_fold(H, targets.values, targets.weight, labels.codes, master.ridge))


def fit(sums: F64, nodes: int, outputs: int, ridge: float | str, activation: str) -> Master:
    """Return the coordinator's share with the output weights (3)."""
    found = solve(sums, nodes, outputs, ridge)
    return Master(activation, found.beta, found.ridge, found.rank)


def decide(master: Master, opened: F64) -> Decision:
    """Return the values h(z) beta."""
    return Decision(activate(opened, master.activation) @ master.beta)


# As a job

SMALL_LAYER: Params = {"n_hidden": 3, "scale": 1.0, "class_weight": None, "band": BAND}


def _inputs(records: int, params: Params) -> int:
    return records * nodes_of(params["n_hidden"], records, accept_risk=True)


def _bands(records: int, params: Params) -> int:
    step: int = max(1, params["band"] // nodes_of(params["n_hidden"], records, accept_risk=True))
    return -(-records // step)


ELM_VERTICAL = Declaration(
    elm_vertical,
    TABLE,
    Rehearsal(by_columns, lambda _: SMALL_LAYER, scale_bands(_inputs, _bands, SMALL_LAYER)),
    leaves=("an ELM over columns",),
    columns_only=True,
    parameters=(Parameter("weights", OneOf(WEIGHTS), "who draws the weights of the hidden layer", opens=True),),
    attacked="an ELM over columns shows the coordinator the inputs of its hidden layer, from which the records follow",
)
ELM_PREDICT = Declaration(elm_predict, asks=True)
