"""Extreme learning machine over columns: every party holds some columns of the same records; the coordinator learns the hidden layer.

The problem. Party p holds X_p, its columns of n records; one party also holds the targets T. The inputs of the hidden layer add up:

    S = X W + b = sum_p T_p,    T_p = X_p W_p + b_p,    b = sum_p b_p,    H = g(S)                      (1)
    for rbf nodes               T_p = |x_p - w_p|^2 / d                                                 (2)

The coordinator (the paper's master) learns S by secure sums, in bands of rows, and solves for the output weights:

    beta = (H'H + r I)^-1 H'T                                                                           (3)

weights='master': it draws W and b itself and sends each party its part. weights='private': every party draws and keeps its own W_p
and b_p. A new record is classified by the same sum (1) over its parts; the asker is told h(z) beta.

Roles. Holder: columns. Labeller: the holder that has the targets. Coordinator: solves; holds no data. Asker: is told the values.

Threat. Semi-honest, and weak: the coordinator sees S = XW + b. If it made W it solves for X as soon as there are as many nodes as
columns it does not know (`attacks.elm_inversion`); under private W it needs as many known records as there are columns, and one for b
(`attacks.elm_known_records`). Both start only with accept_risk. Holders learn nothing of each other's columns; coalitions as `secure_sum`.

Not protected: the records, from a coordinator that looks; what decision values reveal. With two holders each has the other's sums.

Source: 003, section 4, eqs 8 to 11 and the seven steps; step 6 there leaves out g, without which the model is linear, and rbf nodes
need the squares (2) (docs/methods/elm.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, U64, Asker, At, Coordinator, Each, Holder, Labeller, Message, Run, State, choreography
from tacit.crypto.pads import stream
from tacit.errors import LocalError
from tacit.numeric.elm import activate, layer_of, moments, reach, size_of, solve, targets_of, words_needed
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.elm_horizontal import check_layer, check_targets, nodes_of, numbers_of, outputs_of
from tacit.protocols.gram_vertical import (
    BAND,
    Classes,
    Columns,
    Decision,
    Labels,
    Size,
    append_values,
    class_names,
    labels_of,
    same_records,
    size,
    stack,
)
from tacit.protocols.secure_sum import protect, secure_sum

WEIGHTS = ("master", "private")


class Weights(Message, tells="the receiver's own part of the hidden layer's weights, drawn by the coordinator"):
    """W_p and b_p of (1)."""

    W: F64
    b: F64


class Targets(Message, tells="the target and the weight of every record, in clear"):
    """T of a regression."""

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


@choreography(
    opens={
        Coordinator: "the inputs of the hidden layer of every record, that is XW + b: with weights='master' every record, if there are as"
        " many nodes as columns; with weights='private' every record to whoever knows as many as there are columns; every target",
        Holder: "how many records and columns each party has; the names of the classes",
    }
)
def elm_vertical(
    run: Run,
    data: At[Any],
    *,
    classify: bool,
    activation: str,
    n_hidden: int | None,
    scale: float,
    ridge: float | str,
    weights: str = "master",
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    band: int = BAND,
) -> dict[str, Any]:
    """Train; the coordinator ends with a `Master`, every holder with its `NodeWeights`."""
    check_layer(activation)
    if weights not in WEIGHTS:
        raise LocalError(f"unknown weights {weights!r}: use one of {', '.join(WEIGHTS)}")
    fixed = FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    run.local(Labeller, check_targets, data, classify, run.who(Labeller))
    found = run.local(Labeller, class_names, data) if classify else None
    by = protect(run, to=Coordinator, method=method, segments=segments)
    classes = () if found is None else run.publish(Classes, found).names
    told = run.publish_all(Size, run.local(Holder, size, data))
    records, columns = same_records(told), {p: m.columns for p, m in told.items()}
    nodes = nodes_of(n_hidden, records, accept_risk=True)
    if classify:
        labels = run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, classes, None))
        targets = run.local(Coordinator, signs, labels, len(classes))
    else:
        targets = run.send(Targets, Labeller >> Coordinator, run.local(Labeller, targets_at, data))
    if weights == "master":
        drawn = run.local(Coordinator, deal, run.random(Coordinator), columns, nodes, activation, scale)
        own = run.local(Holder, kept, run.send(Weights, Coordinator >> Holder, drawn), sum(columns.values()))
    else:
        own = run.local(Holder, draw, run.random(Holder), run.who(Holder), columns, nodes, activation, scale)
    run.local(Holder, check_range, data, own, activation, fixed, run.who(Holder))
    outputs, step = outputs_of(classes), max(1, band // nodes)
    s = run.carry(sums=run.local(Coordinator, np.zeros, size_of(nodes, outputs)))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, part_of_layer, data, own, activation, t * step, (t + 1) * step)
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="hidden layer")  # (1)
        s.sums = run.local(Coordinator, add_band, s.sums, opened, targets, activation, t * step)
    return {
        "classes": classes,
        "columns": sum(columns.values()),
        "nodes": nodes,
        "master": run.local(Coordinator, fit, s.sums, nodes, outputs, ridge, activation),
        "weights": own,
    }


@choreography(
    opens={
        Coordinator: "the inputs of the hidden layer of every new record, as in training, and its decision values",
        Asker: "the decision values",
    }
)
def elm_predict(
    run: Run,
    data: At[Any],
    master: At[Master],
    weights: At[NodeWeights],
    *,
    activation: str,
    nodes: int,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    band: int = BAND,
) -> At[Any]:
    """Values of new records, whose parts stay where they are, at the asker."""
    records = same_records(run.publish_all(Size, run.local(Holder, size, data)))
    by = protect(run, to=Coordinator, method=method, segments=segments)
    fixed, step = FixedPoint(fraction_bits, terms=len(run.roster[Holder])), max(1, band // nodes)
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, part_of_layer, data, weights, activation, t * step, (t + 1) * step)
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="hidden layer")  # (1)
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, master, opened))
        s.answers = run.local(Asker, append_values, s.answers, answer)
    return run.local(Asker, stack, s.answers)


# Steps at the holders


def draw(seed: bytes, me: str, columns: dict[str, int], nodes: int, activation: str, scale: float) -> NodeWeights:
    """W_p and b_p, which nobody else ever has; the biases of all add up to one of the usual size."""
    total = sum(columns.values())
    W, b = layer_of(words(seed, words_needed(columns[me], nodes)), nodes, activation, scale, total)
    return NodeWeights(W, b / np.sqrt(len(columns)), total)


def kept(dealt: Weights, columns: int) -> NodeWeights:
    """As the coordinator dealt them."""
    return NodeWeights(dealt.W, dealt.b, columns)


def targets_at(part: Columns) -> Targets:
    """Numbers, in clear."""
    if part.y is None:
        raise LocalError("the labeller holds no targets: name the party that does (labeller=...)")
    return Targets(numbers_of(part), part.weight)


def check_range(part: Columns, own: NodeWeights, activation: str, fixed: FixedPoint, me: str) -> None:
    """Refuse what cannot be summed before anything of it is sent."""
    largest = np.abs(part.X).max(axis=0, initial=0.0)[None]
    away = -1.0 if activation == "rbf" else 1.0  # where a node is farthest, or reached most
    fixed.encode(reach(largest, away * np.abs(own.W), np.abs(own.b), activation, own.columns), f"hidden layer of {me}")


def part_of_layer(part: Columns, own: NodeWeights, activation: str, start: int, stop: int) -> F64:
    """T_p of (1) or (2)."""
    if part.X.shape[1] != len(own.W):
        raise LocalError(f"a new record has {part.X.shape[1]} values here, the model {len(own.W)} weights: bring every column of the fit")
    return reach(part.X[start:stop], own.W, own.b, activation, own.columns)


def words(seed: bytes, size: int) -> U64:
    """The words of a secret seed."""
    return np.concatenate([chunk.copy() for chunk in stream(seed, size)])


# Steps at the coordinator


def deal(seed: bytes, columns: dict[str, int], nodes: int, activation: str, scale: float) -> Each:
    """W and b, cut by columns; everyone's biases add up to b."""
    total = sum(columns.values())
    W, b = layer_of(words(seed, words_needed(total, nodes)), nodes, activation, scale, total)
    cuts = np.split(W, np.cumsum(list(columns.values()))[:-1])
    return Each({p: Weights(np.ascontiguousarray(part), b / len(columns)) for p, part in zip(columns, cuts, strict=True)})


def signs(labels: Labels, classes: int) -> Targets:
    """T of classes."""
    return Targets(targets_of(labels.codes, classes), labels.weight)


def add_band(sums: F64, opened: F64, targets: Targets, activation: str, start: int) -> F64:
    """H'H and H'T, band by band."""
    rows = slice(start, start + len(opened))
    if len(targets.values) < start + len(opened):
        raise LocalError(f"{len(targets.values)} targets, and more records: the labeller must hold one target per record")
    weight = None if targets.weight is None else targets.weight[rows]
    return sums + moments(activate(opened, activation), targets.values[rows], weight)


def fit(sums: F64, nodes: int, outputs: int, ridge: float | str, activation: str) -> Master:
    """(3)."""
    found = solve(sums, nodes, outputs, ridge)
    return Master(activation, found.beta, found.ridge, found.rank)


def decide(master: Master, opened: F64) -> Decision:
    """h(z) beta."""
    return Decision(activate(opened, master.activation) @ master.beta)
