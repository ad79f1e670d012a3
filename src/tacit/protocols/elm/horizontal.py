"""Extreme learning machine over rows that many hold: two sums over rows, opened once, are all that it takes.

The problem. Holder m has records X_m with targets T_m. The hidden layer is drawn from a public seed, so that everyone
has its own

    H_m = g(X_m W + b)                                                                         (1)

and the output weights of the pooled rows need two sums only:

    A = sum_m H_m'H_m,   B = sum_m H_m'T_m,   beta = (A + r I)^-1 B                            (2)

One secure sum opens A's triangle and B to the coordinator, which solves and publishes beta. With ridge='gcv' the sum
has T'T too, and r is the one of a fixed list at which generalised cross-validation is least. New rows are one more sum,
added to those that the coordinator kept:

    A <- A + A_new,   B <- B + B_new                                                           (3)

Before that, one secure sum of how many records there are, so that (2) is refused where it would be about too few:

    rows >= min_rows,   each class none or >= min_rows,   rows >= L                            (4)

Rows >= L counts the nodes of all layers that were ever opened of these rows, of whatever seed and job: every holder
keeps count (`atoms`). Where an earlier run was on some of these rows and others, the difference of the two A is that of
the rows in which they differ, so L must not be more than these either: every holder checks a fair part of it,

    L <= M (rows of the holder in which two runs differ, at least)                             (4b)

Why L. With fewer rows than nodes A is singular, and h(x) is orthogonal to its null space exactly for those x that are
among the rows: who guesses a record can check it, and a search finds it. The same holds of A_new by itself. Records of
classes that are too small take no part. With accept_risk L is not looked at, and new rows of three holders or more may
be fewer than min_rows.

Why nodes that single out rows do not count. Where a node j is at rest for all rows but one, A_jk = h_j(x) h_k(x) for
all k, which is that row, and whoever chooses the public seed chooses such nodes. So a holder takes as zero, for all its
rows, every node whose distances d from their median are large for too few of them:

    h_j = 0   where fewer than m rows have  d_ij >= max_i d_ij / 10,   m = min(min_rows, rows of the holder / 10)    (5)

With accept_risk (5) is not looked at. What (4) and (5) say of all rows holds for every piece that the sums can be taken
apart into (`pieces`): each class with class_weight, each fold with probability.

Roles. Holder: records with targets. Coordinator: holds no data; opens the sums, keeps them for (3). Threat.
Semi-honest; coalitions as `secure_sum`: all holders but one, with the coordinator, have that one's own sums. Not
protected: A and B are L (L + 1) / 2 + L K numbers; where these are more than the numbers in the records, they determine
the records in principle, though no way to compute them is known for more than a few; combinations of nodes that single
out a row where no node does, as there are in one or two columns; targets, of who knows the other columns of as many
rows as nodes. What the model itself reveals. Source: 003, section 6, names it as future work (docs/methods/elm.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Array, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import COLUMNS, SMALL, TABLE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.counted import stretch
from tacit.errors import LocalError
from tacit.numeric.devices import CPU, Device, Held, device_of
from tacit.numeric.features.elm import (
    ACTIVATIONS,
    blockwise,
    hidden,
    lone_nodes,
    size_of,
    solve,
    targets_of,
)
from tacit.protocols import settings
from tacit.protocols.elm.pieces import MOST, Choices, Pieces, cut_rows, deal_rows, rows_in, weigh_classes
from tacit.protocols.elm.probability import AtLeast, Models, fit_sigmoids
from tacit.protocols.elm.shape import Layer, layer_weights, outputs_of
from tacit.protocols.invented import by_rows
from tacit.protocols.part import ClassWeight, Names, Records, Table
from tacit.protocols.planes.problems import codes_of, count_classes, describe_held, labelled, mark_counting
from tacit.protocols.sums.atoms import LAYER, Past, Summed, digest_of, fingerprint, past_of, rename_if_changed
from tacit.protocols.sums.secure_sum import secure_sum
from tacit.protocols.table_facts import CLASS_SIZES, CLASSES_OF_PARTY
from tacit.protocols.witness import Voice
from tacit.protocols.work import LONE, OUTPUT, layer_phases, mask_work
from tacit.scratch import distinct, fill, side_by_side

NODES = 200  # at most, where their number is left open
FINE = 20  # more fraction bits for the sums
FEW_ROWS = 10  # of so many rows at a holder, one may stand out by chance
FEWEST = 3  # new holders whose sum hides each one's own


class Width(
    Message, tells=Fact("elm.own_width", "holder", "size", "party", "how many columns the sender has"), ragged=True
):
    """How many columns the sender has; public before anything else."""

    columns: int


class Counts(
    Message,
    tells=(
        CLASS_SIZES,
        Fact("elm.row_count", "holders", "count", "all", "in a regression, how many records there are"),
    ),
):
    """How many records there are, which (4) looks at."""

    sizes: F64


class OutputWeights(
    Message, tells=Fact("elm.model", "holders", "model", "all", "the output weights and the ridge: the model")
):
    """The output weights beta of (2), and the ridge they were made with."""

    beta: F64
    ridge: float
    rank: int


class Sums(State):
    """The coordinator's share, for (3): all sums so far, and whether T'T is among them."""

    values: F64
    squares: bool


@dataclass(frozen=True, kw_only=True)
class Machine(Settings):
    """A machine that is to be trained: its hidden layer, and how small its output weights are kept."""

    activation: str
    n_hidden: int | None
    scale: float
    ridge: float | str
    class_weight: ClassWeight = None
    probability: bool = False
    device: str = "cpu"

    def choices(self, *, accept_risk: bool) -> Choices:
        """Return what the machine asks of the pieces that its sums can be taken apart into."""
        return Choices(1 if accept_risk else self.n_hidden or 1, self.class_weight is not None, self.probability)


class Trained(Result):
    """The model that everyone ends with, and the sums that the coordinator keeps for (3)."""

    classes: Names
    columns: int
    sizes: F64
    used: Array
    layer: Layer
    beta: F64
    ridge: float
    rank: int
    sigmoids: F64 | None
    folds: int
    sums: At[Sums]


@choreography(
    opens={
        Coordinator: (
            Fact(
                "elm.layer_sums",
                "holders",
                "aggregate",
                "all",
                "the sums H'H and H'T over all rows of all parties, once, where H is what the hidden layer makes of the"
                " records and T the targets",
            ),
            Fact("elm.target_squares", "holders", "aggregate", "all", "with ridge='gcv' also T'T"),
            Fact("elm.new_sums", "holders", "aggregate", "all", "for new rows the sums H'H and H'T over these rows"),
        ),
        Everyone: (
            CLASSES_OF_PARTY,
            Fact(
                "elm.class_or_row_count",
                "holders",
                "count",
                "class",
                "how many records each class has over all parties, or how many there are in a regression",
            ),
            Fact("elm.output_weights", "holders", "model", "all", "the output weights"),
        ),
    }
)
def elm_horizontal(
    run: Run,
    data: At[Records],
    kept: At[Sums] | None = None,
    *,
    classify: bool,
    machine: Machine,
    summing: settings.Sums,
    seed: int = 0,
    classes: Names | None = None,
    min_rows: int = 5,
    accept_risk: bool = False,
) -> Trained:
    """Train; everyone ends with the model.

    With `kept`, `classes` and `n_hidden` of an earlier run, learn from new rows.
    """
    check_machine(machine, classify=classify)
    fixed, ridge = summing.fixed_point(run), machine.ridge
    run.local(Holder, check_targets, data, classify, run.who(Holder), machine.device)
    by = summing.protect(run, to=Coordinator)
    classes, columns = labelled(run, data) if classify and classes is None else (classes or (), width(run, data))
    run.local(Holder, check_classes, data, classes, run.who(Holder))
    own = run.local(Holder, count, data, classes)
    counted = secure_sum(run, own, to=Coordinator, by=by, fixed=fixed, what="number of records")
    sizes = run.publish(Counts, run.local(Coordinator, round_counts, counted)).sizes
    lenient = accept_risk and kept is not None and len(run.roster[Holder]) >= FEWEST
    used = choose_classes(sizes, classes, 1 if lenient else min_rows, first=kept is None)
    weights = None
    if machine.class_weight is not None:
        here = np.where(used, sizes, 0.0)
        weights = weigh_classes(run, classes=classes, sizes=here, class_weight=machine.class_weight)
        used = choose_weighted(used, weights, first=kept is None)
    pieces = cut_rows(sizes[used], len(run.roster[Holder]), min_rows, machine.choices(accept_risk=accept_risk))
    nodes = nodes_of(machine.n_hidden, pieces.least, accept_risk=accept_risk, of=pieces.words)
    layer = Layer(machine.activation, columns, nodes, machine.scale, seed)
    shared, risk = (layer, pieces, len(run.roster[Holder])), {"accept_risk": accept_risk}
    past = run.local(Holder, count_nodes, data, *shared, run.who(Holder), **risk)
    run.keep(past)
    fold = run.local(Holder, deal_rows, data, classes, used, pieces.folds, seed, run.who(Holder))
    run.expect(*layer_phases(int(sizes[used].sum()), nodes, columns))
    least = 0 if accept_risk else min_rows
    shown = {"squares": ridge == "gcv", "device": machine.device}
    exact = run.local(Holder, sum_rows, data, fold, layer, classes, weights, pieces, least, **shown)
    held = run.local(Holder, split_sums, exact, summing.fraction_bits)
    opened = secure_sum(run, held, to=Coordinator, by=by, fixed=fixed, what="sums of the hidden layer")  # (2)
    run.phase(OUTPUT)
    joined = run.local(Coordinator, join_parts, opened)
    sums = run.local(Coordinator, add, joined, kept, ridge == "gcv")
    found = run.publish(OutputWeights, run.local(Coordinator, fit, sums, layer, outputs_of(classes), ridge))
    run.note(rows=int(sizes.sum()), nodes=layer.nodes, rank=found.rank, ridge=found.ridge)
    AB, voice = None, Voice(run, by, fixed)
    if machine.probability:
        models = Models(layer, classes, found.ridge, AtLeast(min_rows, accept_risk))
        AB = fit_sigmoids(run, data, past, fold, joined, models=models, voice=voice)
    return Trained(
        classes=classes,
        columns=columns,
        sizes=sizes,
        used=used,
        layer=layer,
        beta=found.beta,
        ridge=found.ridge,
        rank=found.rank,
        sigmoids=AB,
        folds=pieces.folds,
        sums=sums,
    )


@choreography(opens={Everyone: Fact("elm.widths", "holder", "size", "party", "how many columns each party has")})
def width(run: Run, data: At[Table]) -> int:
    """Return the common number of columns."""
    told = run.publish_all(Width, run.local(Holder, measure_width, data))
    widths = {party: message.columns for party, message in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(
            f"the parties hold different numbers of columns ({widths}): a horizontal split needs the same features"
            " everywhere"
        )
    return next(iter(widths.values()))


def check_machine(machine: Machine, *, classify: bool) -> None:
    """Refuse nodes that do not exist, and what only classes have where targets are numbers."""
    if machine.activation not in ACTIVATIONS:
        raise LocalError(f"unknown activation {machine.activation!r}: use one of {', '.join(ACTIVATIONS)}")
    if not classify and (machine.probability or machine.class_weight is not None):
        raise LocalError("class_weight and probability are of classes, and these targets are numbers: leave them out")


def choose_classes(sizes: F64, classes: Names, min_rows: int, *, first: bool) -> Array:
    """Return which classes take part by (4), or whether all records do; refuse what is too little."""
    used: Array = sizes >= min_rows
    if classes and first and used.sum() < 2:  # noqa: PLR2004 - a classifier separates two
        raise LocalError(
            f"of {len(sizes)} classes {int((~used).sum())} have fewer than min_rows={min_rows} records over all"
            " parties, and a classifier needs 2 that have more: sums of so few give them away; bring more records, or"
            " lower min_rows"
        )
    if not used.any():
        raise LocalError(
            f"{int(sizes.sum())} rows are too few: no class has min_rows={min_rows} of them, and their sums could be of"
            " one holder alone; wait for more rows"
        )
    return used


def choose_weighted(used: Array, weights: F64, *, first: bool) -> Array:
    """Return which classes take part once they are weighted: those of weight 0 do not."""
    left: Array = used & (weights > 0)
    if left.sum() < (2 if first else 1):
        raise LocalError(
            "class_weight leaves too few classes that count: give those of the records, two at least, a weight above 0"
        )
    return left


def nodes_of(n_hidden: int | None, rows: int, *, accept_risk: bool, of: str = "") -> int:
    """Return the number of nodes: as given, else half the rows, of the smallest piece, up to `NODES`."""
    nodes = max(1, min(NODES, rows // 2)) if n_hidden is None else n_hidden
    if nodes > rows and not accept_risk:
        raise LocalError(
            f"n_hidden={nodes} nodes are more than the {rows} rows{of}: whoever opens the sums could check for any"
            f" record whether it is among them; use at most {rows} nodes, bring more rows, or say accept_risk=True"
        )
    return nodes


# Steps at the holders


def check_targets(part: Records, classify: bool, me: str, device: str = "cpu") -> None:  # noqa: FBT001 - a step
    """Refuse a device that is not here, records without targets, and in a regression targets that are no numbers."""
    device_of(device)
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")
    numbers = part.y is None or (part.y.dtype.kind in "iufb" and bool(np.isfinite(part.y).all()))
    if not classify and not numbers:
        raise LocalError(
            f"the targets of {me} are not all finite numbers: a regression needs numbers, use SecureELMClassifier for"
            " classes"
        )


def check_classes(part: Records, classes: Names, me: str) -> None:
    """Refuse new rows of classes that the model does not know."""
    names = describe_held(part).classes if part.y is not None and classes else ()
    unknown = [name for name in names if name not in classes]
    if unknown:
        raise LocalError(
            f"{me} has records of {len(unknown)} classes unknown to the model, such as {unknown[0]!r}: fit again"
        )


def count_nodes(part: Summed, layer: Layer, pieces: Pieces, holders: int, me: str, *, accept_risk: bool) -> Past:
    """Return what is kept of the holder's rows, with this layer among those that were opened of them.

    Refuses more nodes than rows of the smallest piece; other folds count as another layer.
    """
    past, rows = rename_if_changed(part, past_of(part)), pieces.least
    if past.fewest:
        rows = min(rows, holders * past.fewest)  # (4b)
    known = dict(zip(past.maps, past.told, strict=True))
    name = f"{LAYER} {digest_of(layer)}{f' in {pieces.folds} folds' if pieces.folds > 1 else ''}"
    known[name] = max(known.get(name, 0.0), layer.nodes / max(1, rows))
    share = sum(told for other, told in known.items() if other.startswith(LAYER))
    if share > 1.0 and not accept_risk:
        before = round((share - known[name]) * rows)
        raise LocalError(
            f"{layer.nodes} nodes, with {before} of other hidden layers that were opened before, are more than the"
            f" {rows} rows of {me}: together they show for any record whether it is among them; use the earlier layer"
            " (the same random_state), fewer nodes, or accept_risk=True"
        )
    seen, told = fingerprint(part, past.label), np.array(list(known.values()))
    return dataclasses.replace(past, maps=tuple(known), told=told, seen=seen, layered=True)


def measure_width(part: Table) -> Width:
    """Return how many columns a holder has."""
    return Width(part.X.shape[1])


def count(part: Records, classes: Names) -> F64:
    """Return how many records each class has, or all; those without weight are none."""
    if not classes:
        return np.array([float(sum(int(use.sum()) for _, (use,) in side_by_side(mark_counting(part))))])
    return count_classes(part, classes).astype(np.float64)


def sum_rows(
    part: Records,
    fold: I64,
    layer: Layer,
    classes: Names,
    weights: F64 | None,
    pieces: Pieces,
    least: int,
    *,
    squares: bool,
    device: str = "cpu",
) -> F64:
    """Return this holder's part of (2), by (1) and (5); with folds a line for each."""
    on = device_of(device)
    X, codes = part.X, codes_of(part, classes)
    outputs, number = outputs_of(classes), max(1, len(classes))
    if classes:
        T = fill(lambda code: targets_of(code, number), codes, dtype=np.float64, width=outputs)
    else:
        T = numbers_of(part)
    weight = part.weight
    if weights is not None:
        weight = fill(lambda code: weights[code], codes, dtype=np.float64)
        weight = weight if part.weight is None else weight * part.weight
    piece = fold
    if pieces.by_class:
        piece = fill(lambda own, code: np.where(own < 0, -1, own * number + code), fold, codes, dtype=np.int64)
    W, b = layer_weights(layer)
    with stretch(0.0, LONE):
        counts = find_counting(X, weight, (W, b), layer.activation, piece, least, on)  # (5)
    there, use_nodes = (on.put(W), on.put(b)), on.put(counts.astype(np.float64))

    def nodes(block: Held) -> Held:
        return hidden(block, *there, layer.activation, on.xp) * use_nodes

    def add_up(q: int) -> F64:
        return blockwise(X, T, weight, nodes, layer.nodes, on, rows_in(fold, q))

    with stretch(LONE, 1.0):
        total = np.stack([add_up(q) for q in range(pieces.folds)]) if pieces.folds > 1 else add_up(0)
    if not squares:
        total[..., -1 - T.shape[1] : -1] = 0.0
    return total


def find_counting(
    X: F64, weight: F64 | None, layer: tuple[F64, F64], activation: str, piece: I64, least: int, device: Device = CPU
) -> Flags:
    """Return which nodes count: those that single out no few rows of any piece, by (5)."""
    counts = np.ones(layer[0].shape[1], bool)
    held = distinct(piece)
    for each in held[held >= 0]:
        use = rows_in(piece, each)
        rows = len(X) if use is None else len(use)
        counts &= ~lone_nodes(X, use, weight, *layer, activation, min(least, rows / FEW_ROWS), device)
    return counts


def split_sums(sums: F64, bits: int) -> F64:
    """Return the sums, and what fixed point rounds off them, enlarged.

    Least squares squares the effect of rounding, which this undoes.
    """
    coarse = np.ldexp(np.rint(np.ldexp(sums, bits)), -bits)
    return np.stack([sums, np.ldexp(sums - coarse, FINE)])


def numbers_of(part: Records) -> F64:
    """Return the targets of a regression, as one column."""
    if part.y is None:
        return np.zeros((len(part.X), 1))
    return fill(lambda y: y.astype(np.float64)[:, None], part.y, dtype=np.float64, width=1)


# Steps at the coordinator


def round_counts(total: F64) -> Counts:
    """Return the counts as whole numbers."""
    return Counts(np.rint(total))


def join_parts(opened: F64) -> F64:
    """Return the sums, of which fixed point left two parts."""
    joined: F64 = opened[0] + np.ldexp(opened[1], -FINE)
    return joined


def add(opened: F64, kept: Sums | None, squares: bool) -> Sums:  # noqa: FBT001 - a step
    """Return the sums of all rows so far, (3)."""
    values = opened if opened.ndim == 1 else opened.sum(axis=0)
    if kept is None:
        return Sums(values, squares)
    if kept.values.shape != values.shape or (squares and not kept.squares):
        raise LocalError(
            "the sums that were kept are of another layer or lack what ridge='gcv' needs: fit again with these"
            " parameters"
        )
    return Sums(kept.values + values, squares)


def fit(sums: Sums, layer: Layer, outputs: int, ridge: float | str) -> OutputWeights:
    """Return beta of (2)."""
    found = solve(sums.values, layer.nodes, outputs, ridge)
    return OutputWeights(found.beta, found.ridge, found.rank)


# As a job


def estimate(planned: Planned) -> Cost:
    """Estimate the cost of two classes, or of a number: each further class adds its output weights."""
    params, roster = planned.params, planned.roster
    nodes, folds = nodes_of(params["n_hidden"], planned.records, accept_risk=True), 1
    if params.get("probability"):
        folds = MOST
    each, site, holders = folds * (16 * size_of(nodes, 1) + 8 * nodes), roster[Coordinator][0], len(roster[Holder])
    # a vector passes a holder in and out on each of these
    rings = params.get("segments", 1) if params.get("method") == "ring" else 0
    sizes = {p: each * ((rings or holders) if p == site else 2 * rings or 1) for p in roster.parties}
    phases = (mask_work(each // 8, holders), *layer_phases(planned.records, nodes, COLUMNS))
    return Cost(rounds=planned.rehearse(SMALL).rounds, bytes=sizes, work=planned.share_work(phases))


def small(params: Params) -> Params:
    """Return parameters for a few invented rows."""
    weighted = None if params.get("class_weight") is None else "balanced"  # invented classes have names of their own
    few = {"n_hidden": 3, "min_rows": 1, "scale": 1.0, "class_weight": weighted}
    return {**few, "accept_risk": True} if params.get("probability") else few  # groups of single rows


ELM_HORIZONTAL = Declaration(
    elm_horizontal,
    TABLE,
    Rehearsal(by_rows, small, estimate),
    streams={"probability": False, "device": "cpu"},
)
