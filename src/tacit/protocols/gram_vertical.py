"""Gram SVM over columns: every party holds some columns of the same records; the result is the pooled SVM.

The problem. Party p holds A_p, its columns of m records; one party also holds the labels d. The dual SVM

    min_a  1/2 a'Qa - e'a,   0 <= a_i <= C,   d'a = 0,   Q_ij = d_i d_j K(x_i, x_j)                 (1)

needs only the kernel matrix, and the linear, RBF, polynomial and sigmoid kernels need only dot products, which add up:

    G = A A' = sum_p A_p A_p'                                                                     (2)

So every party computes its own gram matrix, the coordinator learns the sum (2) through `secure_sum`, lower triangle
only and in bands of rows, and solves (1). A new record z, whose parts stay where they are, is classified from

    x_i . z = sum_p x_ip . z_p        and for RBF        z . z = sum_p z_p . z_p                  (3)

Roles. Holder: columns. Labeller: the holder that has the labels. Coordinator: solves; holds no data unless it is one
of the holders. Asker: the holder that is told the decision values.

Threat. Semi-honest. The coordinator learns G, that is all records up to one unknown rotation: whoever knows as many
records as there are columns can work out the rest (001 section 3.2 claims otherwise; `attacks.gram_inversion` shows
it). Holders learn which records are support vectors, and nothing else that depends on each other's columns. Coalitions:
as `secure_sum`.

Not protected: the coordinator together with a holder that knows records of others; what decision values reveal.

Source: 001 section 3, eqs 3 to 6; testing as in section 3.3, with the model at the coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from tacit.choreo import F64, I64, Array, Asker, At, Coordinator, Everyone, Holder, Labeller, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel
from tacit.numeric.triangle import bands, pack
from tacit.protocols.gram_model import DualModel, Extent, Gram, Learner, SupportColumns, decided, learnt, numbers_of, numbers_to_coordinator
from tacit.protocols.secure_sum import Protection, protect, secure_sum

BAND = 1 << 22  # packed entries summed at once: 32 MiB


class Columns(Protocol):
    """What a holder brings along: its columns and, at the labeller, labels and weights."""

    X: F64
    y: Array | None
    weight: F64 | None


class Size(Message, tells="how many records and columns the sender holds"):
    """Public before anything else."""

    records: int
    columns: int


class Classes(Message, tells="the names of the classes"):
    """In sorted order; labels travel as indices into it."""

    names: tuple[bool | int | float | str, ...]


class Labels(Message, tells="the class and the weight of every record, in clear"):
    """d of (1)."""

    codes: I64
    weight: F64 | None


class Decision(Message, tells="the decision values of the records asked about"):
    """f(z), a column per problem."""

    values: F64


@choreography(
    opens={
        Coordinator: "the gram matrix, which is every record up to one unknown rotation; every label;"
        " with gamma='scale' the sum of all cells",
        Holder: "which records are support vectors; how many records and columns each party has; the names of the classes",
    }
)
def gram_vertical(
    run: Run,
    data: At[Any],
    *,
    kernel: str,
    gamma: float | str,
    degree: int,
    coef0: float,
    C: float,
    epsilon: float | None = None,
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    probability: bool = False,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    feature_range: float | None = None,
    band: int = BAND,
) -> dict[str, Any]:
    """Train; the coordinator ends with a `DualModel`, every holder with its `SupportColumns`. With `epsilon`, targets are numbers."""
    gram = summed_gram(
        run, data, class_weight=class_weight, cells=gamma == "scale" and kernel != "linear", method=method, segments=segments,
        fraction_bits=fraction_bits, feature_range=feature_range, band=band, numbers=epsilon is not None,
    )  # fmt: skip
    return learnt(
        run, gram, shape=Kernel(kernel, degree=degree, coef0=coef0), gamma=gamma, learner=Learner(C, tol, max_iter, epsilon),
        probability=probability, keep=lambda rows: run.local(Holder, keep, data, rows),
    )  # fmt: skip


def summed_gram(
    run: Run,
    data: At[Any],
    *,
    class_weight: dict[Any, float] | str | None,
    cells: bool,
    method: str,
    segments: int,
    fraction_bits: int,
    band: int,
    numbers: bool = False,
    feature_range: float | None = None,
) -> Gram:
    """What every training over a gram matrix begins with: labels and (2) at the coordinator; `cells`: the sum of all cells too."""
    # whatever can be refused is refused before anything is sent
    check_method(method)
    fixed = FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    found = run.local(Labeller, numbers_of, data, run.who(Labeller)) if numbers else run.local(Labeller, class_names, data)
    run.local(Holder, check_declared, data, feature_range, run.who(Holder))
    run.local(Holder, check_range, data, fixed, run.who(Holder))
    by = protect(run, to=Coordinator, method=method, segments=segments)
    classes = () if numbers else run.publish(Classes, found).names
    records, columns = sizes(run, data)
    labels = numbers_to_coordinator(run, data, by_rows=False) if numbers else labels_to_coordinator(run, data, classes, class_weight)
    total = cells_to_coordinator(run, data, by=by, fixed=fixed, wanted=cells)
    summed = run.carry(bands=run.local(Coordinator, tuple))
    cuts = bands(records, band)
    for t in run.rounds(len(cuts), summed):
        part = run.local(Holder, gram_band, data, *cuts[t])
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="gram matrix")
        summed.bands = run.local(Coordinator, append, summed.bands, opened)
        run.note(band=t + 1, records=cuts[t][1])
    return Gram(classes, Extent(records, columns, fixed.deviation), labels, total, summed.bands)


def check_method(method: str) -> None:
    """Refuse a sum that may lack holders."""
    if method == "threshold":
        raise LocalError("secure_sum='threshold' lets holders stay away, and a gram matrix without their columns is wrong: use 'pairwise'")


def labels_to_coordinator(run: Run, data: At[Any], classes: tuple[Any, ...], class_weight: dict[Any, float] | str | None) -> At[Labels]:
    """From the party that has them all."""
    return run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, classes, class_weight))


def cells_to_coordinator(run: Run, data: At[Any], *, by: Protection, fixed: FixedPoint, wanted: bool) -> At[Any]:
    """The sum of all cells, if it is wanted."""
    if not wanted:
        return run.local(Coordinator, float)
    return secure_sum(run, run.local(Holder, cell_sum, data), to=Coordinator, by=by, fixed=fixed, what="sum of all cells")


@choreography(
    opens={
        Coordinator: "dot products of each new record with every support vector, and with rbf its length,"
        " which is the record up to the same rotation",
        Asker: "the decision values",
    }
)
def gram_predict(
    run: Run,
    data: At[Any],
    dual: At[DualModel],
    columns: At[SupportColumns],
    *,
    squares: bool,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    feature_range: float | None = None,
    band: int = BAND,
    support: int,
) -> At[Any]:
    """Decision values of new records, at the asker. `squares`: whether the kernel needs z . z."""
    run.local(Holder, check_declared, data, feature_range, run.who(Holder))
    records, _ = sizes(run, data)
    by = protect(run, to=Coordinator, method=method, segments=segments)
    fixed = FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    step = max(1, band // (support + 1))
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, dots, data, columns, t * step, (t + 1) * step, squares)
        total = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="dot products")  # (3)
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, dual, total, squares))
        s.answers = run.local(Asker, append_values, s.answers, answer)
    return run.local(Asker, stack, s.answers)


@choreography(opens={Everyone: "how many records and columns each party has"})
def sizes(run: Run, data: At[Any]) -> tuple[int, int]:
    """The common number of records, and all columns together."""
    told = run.publish_all(Size, run.local(Holder, size, data))
    return same_records(told), sum(message.columns for message in told.values())


def same_records(told: Mapping[str, Size]) -> int:
    """How many records there are, if all parties say the same."""
    first = next(iter(told))
    for party, message in told.items():
        if message.records != told[first].records:
            raise LocalError(
                f"party {party!r} has {message.records} records, {first!r} has {told[first].records}:"
                " a vertical split needs the same records in the same order at every party"
            )
    return told[first].records


# Steps at the holders


def size(part: Columns) -> Size:
    """Rows and columns."""
    return Size(*part.X.shape)


def class_names(part: Columns) -> Classes:
    """The distinct labels."""
    names = tuple(np.unique(_labels(part)).tolist())
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"the labels hold one class only ({names[0]!r}): a classifier needs at least 2 classes")
    return Classes(names)


def check_range(part: Columns, fixed: FixedPoint, me: str) -> None:
    """No entry of A_p A_p' is larger than the longest record's square (Cauchy and Schwarz)."""
    squares = np.einsum("ij,ij->i", part.X, part.X)
    fixed.encode(np.append(squares.max(initial=0.0), part.X.sum()), f"gram matrix of {me}")


def check_declared(part: Columns, declared: float | None, me: str) -> None:
    """Refuse values that are no numbers, or larger than was declared."""
    largest = float(np.abs(part.X).max(initial=0.0))
    if not np.isfinite(largest):
        raise LocalError(f"a value of {me} is not a finite number: impute or remove it")
    if declared is not None and largest > declared:
        raise LocalError(f"a value of {me} has size {largest:.6g}, outside the declared range of {declared:.6g}: scale it, or declare more")


def labels_of(part: Columns, names: tuple[Any, ...], class_weight: dict[Any, float] | str | None) -> Labels:
    """Labels as indices; sample weights times class weights."""
    _, codes = np.unique(_labels(part), return_inverse=True)
    weight = part.weight
    if class_weight is not None:
        if class_weight == "balanced":
            each = len(codes) / (len(names) * np.bincount(codes))
        else:
            each = np.array([float(class_weight.get(name, 1.0)) for name in names])  # type: ignore[union-attr]
        weight = each[codes] if weight is None else each[codes] * weight
    return Labels(codes.astype(np.int64), weight)


def _labels(part: Columns) -> Array:
    if part.y is None:
        raise LocalError("the labeller holds no labels: name the party that does (labeller=...)")
    return part.y


def cell_sum(part: Columns) -> F64:
    """For gamma='scale'."""
    return np.array([part.X.sum()])


def gram_band(part: Columns, start: int, stop: int) -> F64:
    """Rows start..stop of A_p A_p', at or below the diagonal."""
    return pack(part.X[start:stop] @ part.X[:stop].T, start)


def keep(part: Columns, rows: I64) -> SupportColumns:
    """The holder's share of the model."""
    return SupportColumns(part.X[rows])


def dots(part: Columns, support: SupportColumns, start: int, stop: int, squares: bool) -> F64:  # noqa: FBT001 - a step
    """z_p . x_ip for every new record and support vector, and z_p . z_p in a last column."""
    z = part.X[start:stop]
    products = z @ support.X.T
    return np.column_stack([products, np.einsum("ij,ij->i", z, z)]) if squares else products


# Steps at the coordinator


def append(done: tuple[F64, ...], band: F64) -> tuple[F64, ...]:
    """Collect the bands of G."""
    return (*done, band)


def decide(model: DualModel, total: F64, squares: bool) -> Decision:  # noqa: FBT001 - a step
    """f(z) from (3)."""
    products, own = (total[:, :-1].copy(), total[:, -1]) if squares else (total.copy(), np.empty(0))
    return Decision(decided(model, products, own))


# Steps at the asker


def append_values(done: tuple[F64, ...], answer: Decision) -> tuple[F64, ...]:
    """Collect the answers."""
    return (*done, answer.values)


def stack(answers: tuple[F64, ...]) -> F64:
    """All answers, in the order asked."""
    return np.concatenate(answers)
