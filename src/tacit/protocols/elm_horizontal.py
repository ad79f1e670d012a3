"""Extreme learning machine over rows that many hold: two sums over rows, opened once, are all that it takes.

The problem. Holder m has records X_m with targets T_m. The hidden layer is drawn from a public seed, so that everyone has its own

    H_m = g(X_m W + b)                                                                         (1)

and the output weights of the pooled rows need two sums only:

    A = sum_m H_m'H_m,   B = sum_m H_m'T_m,   beta = (A + r I)^-1 B                            (2)

One secure sum opens A's triangle and B to the coordinator, which solves and publishes beta. With ridge='gcv' the sum has T'T too, and
r is the one of a fixed list at which generalised cross-validation is least. New rows are one more sum, added to those that the
coordinator kept:

    A <- A + A_new,   B <- B + B_new                                                           (3)

Before that, one secure sum of how many records there are, so that (2) is refused where it would be about too few:

    rows >= min_rows,   each class none or >= min_rows,   rows >= L                            (4)

Rows >= L counts the nodes of all layers that were ever opened of these rows, of whatever seed and job: every holder keeps count (`atoms`).

Why L. With fewer rows than nodes A is singular, and h(x) is orthogonal to its null space exactly for those x that are among the rows:
who guesses a record can check it, and a search finds it. The same holds of A_new by itself. Records of classes that are too small take
no part. With accept_risk L is not looked at, and new rows of three holders or more may be fewer than min_rows.

Why nodes that single out rows do not count. Where a node j is at rest for all rows but one, A_jk = h_j(x) h_k(x) for all k, which is that
row, and whoever chooses the public seed chooses such nodes. So a holder takes as zero, for all its rows, every node whose distances d from
their median are large for too few of them:

    h_j = 0   where fewer than m rows have  d_ij >= max_i d_ij / 10,   m = min(min_rows, rows of the holder / 10)    (5)

With accept_risk (5) is not looked at.

Roles. Holder: records with targets. Coordinator: holds no data; opens the sums, keeps them for (3).
Threat. Semi-honest; coalitions as `secure_sum`: all holders but one, with the coordinator, have that one's own sums.
Not protected: A and B are L (L + 1) / 2 + L K numbers; where these are more than the numbers in the records, they determine the records
in principle, though no way to compute them is known for more than a few; combinations of nodes that single out a row where no node does, as
there are in one or two columns; targets, of who knows the other columns of as many rows as nodes. What the model itself reveals.
Source: 003, section 6, names it as future work (docs/methods/elm.md).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tacit.choreo import F64, Array, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.draws import public_words
from tacit.numeric.elm import ACTIVATIONS, blockwise, hidden, layer_of, lone_nodes, solve, targets_of, words_needed
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.atoms import LAYER, Past, digest_of, past_of
from tacit.protocols.feature_map import Records
from tacit.protocols.row_problems import codes_of, counting, labelled
from tacit.protocols.secure_sum import protect, secure_sum

NODES = 200  # at most, where their number is left open
FINE = 20  # more fraction bits for the sums
SMALL = 10  # of so many rows at a holder, one may stand out by chance
FEWEST = 3  # new holders whose sum hides each one's own


class Width(Message, tells="how many columns the sender has", ragged=True):
    """Public before anything else."""

    columns: int


class Counts(Message, tells="how many records each class has over all parties; in a regression, how many there are"):
    """What (4) looks at."""

    sizes: F64


class OutputWeights(Message, tells="the output weights and the ridge: the model"):
    """Beta of (2)."""

    beta: F64
    ridge: float
    rank: int


class Layer(State):
    """The hidden layer, as anybody draws it from the public seed."""

    activation: str
    columns: int
    nodes: int
    scale: float
    seed: int


class Sums(State):
    """The coordinator's share, for (3): all sums so far, and whether T'T is among them."""

    values: F64
    squares: bool


@choreography(
    opens={
        Coordinator: "the sums H'H and H'T over all rows of all parties, once, where H is what the hidden layer makes of the records and"
        " T the targets; with ridge='gcv' also T'T; for new rows the same sums over these",
        Everyone: "which classes each party has; how many records each class has over all parties, or how many there are in a regression;"
        " the output weights",
    }
)
def elm_horizontal(
    run: Run,
    data: At[Any],
    kept: At[Sums] | None = None,
    *,
    classify: bool,
    activation: str,
    n_hidden: int | None,
    scale: float,
    ridge: float | str,
    seed: int = 0,
    classes: tuple[Any, ...] | None = None,
    min_rows: int = 5,
    accept_risk: bool = False,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
) -> dict[str, Any]:
    """Train, or with `kept`, `classes` and `n_hidden` of an earlier run learn from new rows; everyone ends with the model."""
    check_layer(activation)
    fixed = FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    run.local(Holder, check_targets, data, classify, run.who(Holder))
    by = protect(run, to=Coordinator, method=method, segments=segments)
    classes, columns = labelled(run, data) if classify and classes is None else (classes or (), width(run, data))
    run.local(Holder, check_classes, data, classes, run.who(Holder))
    counted = secure_sum(run, run.local(Holder, count, data, classes), to=Coordinator, by=by, fixed=fixed, what="number of records")
    sizes = run.publish(Counts, run.local(Coordinator, counts, counted)).sizes
    lenient = accept_risk and kept is not None and len(run.roster[Holder]) >= FEWEST
    used = enough(sizes, classes, 1 if lenient else min_rows, first=kept is None)
    layer = Layer(activation, columns, nodes_of(n_hidden, int(sizes[used].sum()), accept_risk=accept_risk), scale, seed)
    run.keep(run.local(Holder, count_nodes, data, layer, int(sizes[used].sum()), accept_risk, run.who(Holder)))
    least = 0 if accept_risk else min_rows
    held = run.local(Holder, in_two, run.local(Holder, sums_of, data, layer, classes, used, ridge == "gcv", least), fraction_bits)
    opened = secure_sum(run, held, to=Coordinator, by=by, fixed=fixed, what="sums of the hidden layer")  # (2)
    sums = run.local(Coordinator, add, opened, kept, ridge == "gcv")
    found = run.publish(OutputWeights, run.local(Coordinator, fit, sums, layer, outputs_of(classes), ridge))
    run.note(rows=int(sizes.sum()), nodes=layer.nodes, rank=found.rank, ridge=found.ridge)
    return {
        "classes": classes,
        "columns": columns,
        "sizes": sizes,
        "used": used,
        "layer": layer,
        "beta": found.beta,
        "ridge": found.ridge,
        "rank": found.rank,
        "sums": sums,
    }


@choreography(opens={Everyone: "how many columns each party has"})
def width(run: Run, data: At[Any]) -> int:
    """The common number of columns."""
    told = run.publish_all(Width, run.local(Holder, width_of, data))
    widths = {party: message.columns for party, message in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(f"the parties hold different numbers of columns ({widths}): a horizontal split needs the same features everywhere")
    return next(iter(widths.values()))


def check_layer(activation: str) -> None:
    """Refuse nodes that do not exist."""
    if activation not in ACTIVATIONS:
        raise LocalError(f"unknown activation {activation!r}: use one of {', '.join(ACTIVATIONS)}")


def outputs_of(classes: tuple[Any, ...]) -> int:
    """Columns of T: one for two classes or numbers, else one per class."""
    return len(classes) if len(classes) > 2 else 1  # noqa: PLR2004 - one column separates two


def enough(sizes: F64, classes: tuple[Any, ...], min_rows: int, *, first: bool) -> Array:
    """Which classes take part by (4), of all records where there are no classes; refuses what is too little."""
    used: Array = sizes >= min_rows
    if classes and first and used.sum() < 2:  # noqa: PLR2004 - a classifier separates two
        raise LocalError(
            f"of {len(sizes)} classes {int((~used).sum())} have fewer than min_rows={min_rows} records over all parties, and a classifier"
            " needs 2 that have more: sums of so few give them away; bring more records, or lower min_rows"
        )
    if not used.any():
        raise LocalError(
            f"{int(sizes.sum())} rows and no class with min_rows={min_rows} of them: their sums would open one holder's own; wait for more"
        )
    return used


def nodes_of(n_hidden: int | None, rows: int, *, accept_risk: bool) -> int:
    """The number of nodes: as given, else half the rows up to `NODES`."""
    nodes = max(1, min(NODES, rows // 2)) if n_hidden is None else n_hidden
    if nodes > rows and not accept_risk:
        raise LocalError(
            f"n_hidden={nodes} nodes are more than the {rows} rows: whoever opens the sums could check of any record whether it is among"
            f" them; use at most {rows} nodes, bring more rows, or say accept_risk=True"
        )
    return nodes


def layer_weights(layer: Layer) -> tuple[F64, F64]:
    """W and b."""
    words = public_words(layer.seed, words_needed(layer.columns, layer.nodes))
    return layer_of(words, layer.nodes, layer.activation, layer.scale, layer.columns)


# Steps at the holders


def check_targets(part: Records, classify: bool, me: str) -> None:  # noqa: FBT001 - a step
    """Every record has a target, in a regression a finite number."""
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")
    numbers = part.y is None or (part.y.dtype.kind in "iufb" and bool(np.isfinite(part.y).all()))
    if not classify and not numbers:
        raise LocalError(f"the targets of {me} are not all finite numbers: a regression needs numbers, use SecureELMClassifier for classes")


def check_classes(part: Records, classes: tuple[Any, ...], me: str) -> None:
    """New rows are of the classes that the model knows."""
    names = np.unique(part.y[counting(part)]).tolist() if part.y is not None and classes else []
    unknown = [name for name in names if name not in classes]
    if unknown:
        raise LocalError(f"{me} has records of {len(unknown)} classes that the model does not know, such as {unknown[0]!r}: fit anew")


def count_nodes(part: Any, layer: Layer, rows: int, accept_risk: bool, me: str) -> Past:  # noqa: FBT001 - a step
    """What is kept of the holder's rows, with this layer among those that were opened of them; refuses more nodes than rows."""
    past = past_of(part)
    known = dict(zip(past.maps, past.told, strict=True))
    name = f"{LAYER} {digest_of(layer)}"
    known[name] = max(known.get(name, 0.0), layer.nodes / max(1, rows))
    share = sum(told for other, told in known.items() if other.startswith(LAYER))
    if share > 1.0 and not accept_risk:
        before = round((share - known[name]) * rows)
        raise LocalError(
            f"{layer.nodes} nodes, after {before} of other hidden layers that were opened of the rows of {me}, are more than {rows} rows:"
            " together they say of any record whether it is among them; use the layer of before (the same random_state), fewer nodes, or"
            " accept_risk=True"
        )
    return dataclasses.replace(past, maps=tuple(known), told=np.array(list(known.values())))


def width_of(part: Records) -> Width:
    """Columns."""
    return Width(part.X.shape[1])


def count(part: Records, classes: tuple[Any, ...]) -> F64:
    """Records of each class, or all; those without weight are none."""
    use = counting(part)
    if not classes:
        return np.array([float(use.sum())])
    return np.bincount(codes_of(part, classes)[use], minlength=len(classes)).astype(np.float64)


def sums_of(part: Records, layer: Layer, classes: tuple[Any, ...], used: Array, squares: bool, least: int) -> F64:  # noqa: FBT001 - a step
    """(1), (5) and this holder's part of (2)."""
    rows, codes = counting(part), codes_of(part, classes)
    T = targets_of(codes, len(classes)) if classes else numbers_of(part)
    rows = rows & used[codes] if classes else rows
    W, b = layer_weights(layer)
    X, weight = (part.X, part.weight) if rows.all() else (part.X[rows], None if part.weight is None else part.weight[rows])
    counts = ~lone_nodes(X, weight, W, b, layer.activation, min(least, len(X) / SMALL))  # (5)
    total = blockwise(X, T[rows], weight, lambda block: hidden(block, W, b, layer.activation) * counts, layer.nodes)
    if not squares:
        total[-1 - T.shape[1] : -1] = 0.0
    return total


def in_two(sums: F64, bits: int) -> F64:
    """The sums, and what fixed point rounds off them, enlarged: least squares squares the rounding's effect, which this undoes."""
    coarse = np.ldexp(np.rint(np.ldexp(sums, bits)), -bits)
    return np.stack([sums, np.ldexp(sums - coarse, FINE)])


def numbers_of(part: Records) -> F64:
    """Targets of a regression, as one column."""
    return np.zeros((len(part.X), 1)) if part.y is None else part.y.astype(np.float64)[:, None]


# Steps at the coordinator


def counts(total: F64) -> Counts:
    """Whole numbers."""
    return Counts(np.rint(total))


def add(opened: F64, kept: Sums | None, squares: bool) -> Sums:  # noqa: FBT001 - a step
    """(3)."""
    values = opened[0] + np.ldexp(opened[1], -FINE)
    if kept is None:
        return Sums(values, squares)
    if kept.values.shape != values.shape or (squares and not kept.squares):
        raise LocalError("the sums that were kept are of another layer or lack what ridge='gcv' needs: fit anew with these parameters")
    return Sums(kept.values + values, squares)


def fit(sums: Sums, layer: Layer, outputs: int, ridge: float | str) -> OutputWeights:
    """Beta of (2)."""
    found = solve(sums.values, layer.nodes, outputs, ridge)
    return OutputWeights(found.beta, found.ridge, found.rank)
