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
many nodes as columns it does not know (`attacks.layer_inversion`); under private W it needs as many known records as
there are columns, and one for b (`attacks.known_records`). Both start only with accept_risk. Holders learn nothing
of each other's columns; coalitions as `secure_sum`.

Not protected: the records, from a coordinator that looks; what decision values reveal. With two holders each has the
other's sums.

Source: 003, section 4, eqs 8 to 11 and the seven steps; step 6 there leaves out g, without which the model is linear,
and rbf nodes need the squares (2) (docs/methods/elm.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Asker, At, Coordinator, Each, Fact, Holder, Labeller, Message, Result, Run, State, choreography
from tacit.choreo.declaration import OneOf, Parameter, Settings
from tacit.choreo.protocol import Declaration, Params, Rehearsal
from tacit.crypto.pads.entropy import words_of
from tacit.errors import LocalError
from tacit.numeric.features.elm import (
    ACTIVATIONS,
    activate,
    layer_of,
    moments,
    reach,
    size_of,
    solve,
    targets_of,
    words_needed,
)
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.papers.columns import BAND, append, scale_bands, set_always, sizes, stack
from tacit.papers.facts import DECISION_VALUES
from tacit.papers.labels import Decision, Labels, read_values, send_labels
from tacit.papers.parameters import BAND as AT_ONCE
from tacit.papers.parameters import fixed_point
from tacit.protocols.classes import Classes, name_classes
from tacit.protocols.facts import CLASSES, SIZES
from tacit.protocols.parameters import number_or
from tacit.protocols.part import ClassWeight, Names, Records, Table, by_columns
from tacit.protocols.sums.secure_sum import protect, secure_sum

NODES = 200  # at most, where their number is left open
WEIGHTS = Parameter("weights", OneOf(("master", "private")), "who draws the weights of the hidden layer", opens=True)
RIDGE = Parameter("ridge", number_or("gcv", most=1e12, above=False), "how much output weights are kept small")


@dataclass(frozen=True, kw_only=True)
class Machine(Settings):
    """A machine that is to be trained: its hidden layer, and how small its output weights are kept."""

    activation: str
    n_hidden: int | None
    scale: float
    ridge: float | str
    class_weight: ClassWeight = None

    def nodes(self, records: int) -> int:
        """Return the number of nodes: as given, or else by the records."""
        return default_nodes(records) if self.n_hidden is None else self.n_hidden


def default_nodes(records: int) -> int:
    """Return half the records, up to `NODES`."""
    return max(1, min(NODES, records // 2))


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
        Holder: (SIZES, CLASSES),
    }
)
def elm_vertical(
    run: Run,
    data: At[Records],
    *,
    classify: bool,
    machine: Machine,
    weights: str = "master",
    band: int = BAND,
) -> Trained:
    """Train; the coordinator ends with a `Master`, every holder with its `NodeWeights`."""
    check_machine(machine, weights, classify=classify)
    fixed, activation = fixed_point(run), machine.activation
    run.local(Labeller, check_targets, data, classify, run.who(Labeller))
    found = run.local(Labeller, name_classes, data, machine.class_weight) if classify else None
    by = protect(run)
    classes = () if found is None else run.publish(Classes, found).names
    records, columns = sizes(run, data)
    nodes, total = machine.nodes(records), sum(columns.values())
    if classify:
        labels = send_labels(run, data, classes, machine.class_weight)
        targets = run.local(Coordinator, encode_classes, labels, len(classes))
    else:
        targets = run.send(Targets, Labeller >> Coordinator, run.local(Labeller, send_targets, data))
    if weights == "master":
        drawn = run.local(Coordinator, deal, run.random(Coordinator), columns, nodes, activation, machine.scale)
        own = run.local(Holder, keep_weights, run.send(Weights, Coordinator >> Holder, drawn), total)
    else:
        seed, me = run.random(Holder), run.who(Holder)
        own = run.local(Holder, draw, seed, me, columns, nodes, activation, machine.scale)
    run.local(Holder, check_range, data, own, activation, fixed, run.who(Holder))
    outputs, step = len(classes) if len(classes) > 2 else 1, max(1, band // nodes)  # noqa: PLR2004 - one separates two
    s = run.carry(sums=run.local(Coordinator, np.zeros, size_of(nodes, outputs)))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, reach_layer, data, own, activation, t * step, (t + 1) * step)
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="hidden layer")  # (1)
        s.sums = run.local(Coordinator, add_band, s.sums, opened, targets, activation, t * step)
    master = run.local(Coordinator, fit, s.sums, nodes, outputs, machine.ridge, activation)
    return Trained(classes=classes, columns=total, nodes=nodes, master=master, weights=own)


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
    band: int = BAND,
) -> At[F64]:
    """Return values of new records, whose parts stay where they are, at the asker."""
    records, _ = sizes(run, data)
    by, fixed, step = protect(run), fixed_point(run), max(1, band // nodes)
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, reach_layer, data, weights, activation, t * step, (t + 1) * step)
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="hidden layer")  # (1)
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, master, opened))
        s.answers = run.local(Asker, append, s.answers, run.local(Asker, read_values, answer))
    return run.local(Asker, stack, s.answers)


# Refused before anything is sent


def check_machine(machine: Machine, weights: str, *, classify: bool) -> None:
    """Refuse nodes and weights that do not exist, and what only classes have where targets are numbers."""
    for name, value, known in (
        ("activation", machine.activation, ACTIVATIONS),
        ("weights", weights, ("master", "private")),
    ):
        if value not in known:
            raise LocalError(f"unknown {name} {value!r}: use one of {', '.join(known)}")
    if not classify and machine.class_weight is not None:
        raise LocalError("class_weight is of classes, and these targets are numbers: leave it out")


def check_targets(part: Records, classify: bool, me: str) -> None:  # noqa: FBT001 - a step
    """Refuse targets of a regression that are no numbers."""
    numbers = part.y is None or (part.y.dtype.kind in "iufb" and bool(np.isfinite(part.y).all()))
    if not classify and not numbers:
        raise LocalError(
            f"the targets of {me} are not all finite numbers: a regression needs numbers, use SecureELMClassifier for"
            " classes"
        )


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
    return Targets(part.y.astype(np.float64)[:, None], part.weight)


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


def fit(sums: F64, nodes: int, outputs: int, ridge: float | str, activation: str) -> Master:
    """Return the coordinator's share with the output weights (3)."""
    found = solve(sums, nodes, outputs, ridge)
    return Master(activation, found.beta, found.ridge, found.rank)


def decide(master: Master, opened: F64) -> Decision:
    """Return the values h(z) beta."""
    return Decision(activate(opened, master.activation) @ master.beta)


# As a job

SMALL_LAYER: Params = {"n_hidden": 3, "scale": 1.0, "class_weight": None, "band": BAND}


def _nodes(records: int, params: Params) -> int:
    nodes: int = default_nodes(records) if params["n_hidden"] is None else params["n_hidden"]
    return nodes


def _inputs(records: int, params: Params) -> int:
    return records * _nodes(records, params)


def _bands(records: int, params: Params) -> int:
    step: int = max(1, params["band"] // _nodes(records, params))
    return -(-records // step)


ELM_VERTICAL = Declaration(
    elm_vertical,
    rehearsal=Rehearsal(by_columns, set_always(SMALL_LAYER), scale_bands(_inputs, _bands, SMALL_LAYER)),
    parameters=(WEIGHTS, RIDGE, AT_ONCE),
    attacked="an ELM over columns shows the coordinator the inputs of its hidden layer, from which the records follow",
)
ELM_PREDICT = Declaration(elm_predict, asks=True, parameters=(AT_ONCE,))
