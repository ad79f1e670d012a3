"""Gram SVM over any cells: by rows, by columns, or every cell with an owner of its own; the result is the pooled SVM.

The problem. Party p owns some cells of m records with n columns; A_p is the table with zeros in all others, A = sum_p A_p. The dual SVM
(`gram_vertical`, (1)) needs the gram matrix only:

    G = A A' = sum_p A_p A_p' + sum_{p < q} (C_pq + C_pq'),        C_pq = A_p A_q'                                      (1)

A_p A_p' is p's own work. C_pq is a product of two parties' cells, which ends in shares (`cell_products`): S_p. So G is a sum of one matrix
of each party, and the coordinator learns the sum alone, lower triangle only and in bands of rows:

    T_p = A_p A_p' + S_p + S_p',       G = sum_p T_p     (mod 2^k)                                                      (2)

By columns nothing is shared and (2) is `gram_vertical`; by rows C_pq is one block. Cells are integers of up to `feature_bits` bits, so G is
exactly the gram matrix of the rounded records, and positive semidefinite. Their range is declared, or the parties learn the smallest power
of two that no cell exceeds, and nothing else of it (`secure_or`).

A new record z, whose cells may have any owners too, is classified from Z A', by the same products, and z . z, which is everyone's own work.

Instead of (2), `how="algorithm1"` computes G as 001 prints it (`gram_algorithm1`), and `how="intersection"` for binary cells
(`gram_intersection`).

Roles. Holder: cells; by rows also the labels of its records. Labeller: else, the holder of the labels. Coordinator: solves; holds no data
unless it is one of the holders. Asker: is told the decision values; by rows every holder is, of its own records.

Threat. Semi-honest. The coordinator learns G, that is all records up to one unknown rotation. A coalition of the coordinator and holders
learns G and has its own cells, and nothing else: shares are uniform, and the sum of the others' T_p follows from G and its own. But G with
as many known records as there are columns gives all others (`attacks.gram_inversion`), and by rows every holder knows records: the
coordinator together with one holder of n independent records has everybody's. Holders learn who owns which cell, and which records are
support vectors.

Not protected: that; what decision values reveal; a malicious party (`secure_product`).

Source: 001 section 5, Algorithm 1 in the variant that resists collusion; sections 3 and 4 as special cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, U64, Array, Asker, At, Coordinator, Each, Everyone, Holder, Labeller, Message, Role, Run, choreography
from tacit.crypto import product
from tacit.errors import LocalError
from tacit.numeric.cells import Cells, exponent_over, most_bits, over
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel
from tacit.numeric.ownership import Owners, dots_crossing, gram_crossing, owners_of
from tacit.numeric.ring import Ring
from tacit.numeric.triangle import bands, pack
from tacit.protocols.cell_products import Scheme, cell_products
from tacit.protocols.gram_algorithm1 import check_size, gram_algorithm1, paillier
from tacit.protocols.gram_intersection import check_binary, gram_intersection
from tacit.protocols.gram_model import DualModel, Extent, Gram, Keep, Learner, SupportColumns, learnt, numbers_of, numbers_to_coordinator
from tacit.protocols.gram_vertical import (
    BAND,
    Classes,
    Decision,
    append,
    cell_sum,
    cells_to_coordinator,
    check_declared,
    check_method,
    class_names,
    decide,
    labels_to_coordinator,
)
from tacit.protocols.secure_or import secure_or
from tacit.protocols.secure_sum import Protection, protect, secure_sum
from tacit.protocols.shift_ring import OwnDecisions, check_labels, gather_labels, values_of

HOWS = ("product", "algorithm1", "intersection")
U8 = NDArray[np.uint8]


class Held(Protocol):
    """What a holder brings along, as in `data.part.Part`: X is zero where another party owns the cell; `owned` is None if none does."""

    X: F64
    y: Array | None
    weight: F64 | None
    owned: NDArray[np.bool_] | None


class Owned(Message, tells="how many records and columns the sender has, and which cells of them it owns"):
    """A bit for every cell; none if all are its own."""

    records: int
    columns: int
    bits: U8


class Range(Message, tells="the smallest power of two that no cell of any party exceeds"):
    """2^exponent."""

    exponent: int


@dataclass(frozen=True)
class Multiply:
    """How cells are multiplied: by which engine, as integers of how many bits, in which declared range."""

    engine: str = "bfv"
    key_bits: int = 2048
    feature_bits: int | None = None
    feature_range: float | None = None

    def bits(self, columns: int) -> int:
        """Without `feature_bits` as many as cost nothing, 20 or more."""
        return self.feature_bits or most_bits(columns)

    def cells(self, exponent: int, columns: int) -> Cells:
        """For tables of so many columns."""
        return Cells(exponent, self.bits(columns), max(1, columns))


@choreography(
    opens={
        Coordinator: "the gram matrix, which is every record up to one unknown rotation; every label;"
        " with gamma='scale' the sum of all cells",
        Holder: "who owns which cells; which records are support vectors; the names of the classes",
    }
)
def gram_arbitrary(
    run: Run,
    data: At[Any],
    *,
    partition: str,
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
    how: str = "product",
    engine: str = "bfv",
    key_bits: int = 2048,
    feature_bits: int | None = None,
    feature_range: float | None = None,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    band: int = BAND,
) -> dict[str, Any]:
    """Train; the coordinator ends with a `DualModel`, every holder with its `SupportColumns`. With `epsilon`, targets are numbers."""
    gram, kept = crossed_gram(
        run, data, partition=partition, class_weight=class_weight, cells=gamma == "scale" and kernel != "linear", how=how,
        multiply=Multiply(engine, key_bits, feature_bits, feature_range), method=method, segments=segments, fraction_bits=fraction_bits,
        band=band, numbers=epsilon is not None,
    )  # fmt: skip
    return learnt(
        run, gram, shape=Kernel(kernel, degree=degree, coef0=coef0), gamma=gamma, learner=Learner(C, tol, max_iter, epsilon),
        probability=probability, keep=kept,
    )  # fmt: skip


def crossed_gram(
    run: Run,
    data: At[Any],
    *,
    partition: str,
    class_weight: dict[Any, float] | str | None,
    cells: bool,
    how: str,
    multiply: Multiply,
    method: str,
    segments: int,
    fraction_bits: int,
    band: int,
    numbers: bool = False,
) -> tuple[Gram, Keep]:
    """What every training begins with: targets and G at the coordinator; `cells`: the sum of all cells too; what a holder keeps."""
    by_rows, fixed, me = partition == "horizontal", FixedPoint(fraction_bits, terms=len(run.roster[Holder])), run.who(Holder)
    check_method(method)
    run.local(Holder, check_way, data, how, multiply, me)
    run.local(Holder, check_cells, data, multiply.feature_range, fixed if cells else None, me)
    check_targets(run, data, by_rows=by_rows, numbers=numbers)
    owners = ownership(run, data, partition)
    check_fit(owners, how, multiply)
    by = protect(run, to=Coordinator, method=method, segments=segments)
    labels, classes = targets(run, data, class_weight, by_rows=by_rows, numbers=numbers)
    total = cells_to_coordinator(run, data, by=by, fixed=fixed, wanted=cells)
    packed = packed_gram(run, data, partition, owners=owners, how=how, multiply=multiply, by=by, band=band)
    extent = Extent(*owners.shape, bits=multiply.bits(owners.shape[1]), declared=multiply.feature_range or 0.0)
    gram = Gram(classes, extent, labels, total, packed)
    return gram, lambda rows: run.local(Holder, keep, data, rows, owners, me)


def packed_gram(
    run: Run, data: At[Any], partition: str, *, owners: Owners, how: str, multiply: Multiply, by: Protection, band: int
) -> At[tuple[F64, ...]]:
    """G in packed bands, by (2) or another way."""
    if how == "product":
        return gram_products(run, data, owners=owners, multiply=multiply, by=by, band=band)
    if how == "algorithm1":
        cells = multiply.cells(agreed_range(run, [data], multiply.feature_range, by), owners.shape[1])
        table = run.local(Holder, integers, data, cells, run.who(Holder))
        return gram_algorithm1(run, table, owners=owners, cells=cells, key_bits=multiply.key_bits)
    return run.local(Coordinator, packed_whole, gram_intersection(run, data, partition=partition))


@choreography(opens={Coordinator: "the gram matrix of all cells"})
def gram_products(run: Run, data: At[Any], *, owners: Owners, multiply: Multiply, by: Protection, band: int = BAND) -> At[tuple[F64, ...]]:
    """(2), in bands."""
    cells = multiply.cells(agreed_range(run, [data], multiply.feature_range, by), owners.shape[1])
    table = run.local(Holder, integers, data, cells, run.who(Holder))
    scheme = Scheme(multiply.engine, cells, multiply.key_bits)
    share = cell_products(run, table, table, crossing=gram_crossing(owners), scheme=scheme)
    return summed_bands(run, table, share, owners=owners, cells=cells, ring=Ring(1 << cells.ring_bits), by=by, band=band)


def summed_bands(
    run: Run, table: At[I64], share: At[U64], *, owners: Owners, cells: Cells, ring: Ring, by: Protection, band: int
) -> At[tuple[F64, ...]]:
    """The sum of all T_p, in bands."""
    cuts = bands(owners.shape[0], band)
    summed = run.carry(bands=run.local(Coordinator, tuple))
    for t in run.rounds(len(cuts), summed):
        part = run.local(Holder, gram_band, table, share, *cuts[t], owners, cells, ring, run.who(Holder))
        opened = secure_sum(run, part, to=Coordinator, by=by, what="gram matrix", ring=ring)
        summed.bands = run.local(Coordinator, append, summed.bands, run.local(Coordinator, reals, opened, cells, ring))
        run.note(band=t + 1, records=cuts[t][1])
    return summed.bands  # type: ignore[no-any-return]


@choreography(
    opens={
        Coordinator: "dot products of each new record with every support vector, and with rbf its length,"
        " which is the record up to the same rotation",
        Asker: "the decision values; by rows every holder those of its own records",
        Holder: "who owns which cells of new records and support vectors",
    }
)
def gram_arbitrary_predict(
    run: Run,
    data: At[Any],
    dual: At[DualModel],
    columns: At[SupportColumns],
    *,
    partition: str,
    squares: bool,
    engine: str = "bfv",
    key_bits: int = 2048,
    feature_bits: int | None = None,
    feature_range: float | None = None,
    method: str = "pairwise",
    segments: int = 1,
    records: int | None = None,
) -> At[Any]:
    """Decision values of new records, at the asker, or by rows at their holders. `squares`: whether the kernel needs z . z."""
    multiply, me = Multiply(engine, key_bits, feature_bits, feature_range), run.who(Holder)
    run.local(Holder, check_way, data, "product", multiply, me)
    run.local(Holder, check_cells, data, feature_range, None, me)
    new, support = ownership(run, data, partition), ownership(run, columns, partition)
    check_declared_records(new, records)
    by = protect(run, to=Coordinator, method=method, segments=segments)
    cells = multiply.cells(agreed_range(run, [data, columns], feature_range, by), new.shape[1])
    Z, A = (run.local(Holder, integers, held, cells, me) for held in (data, columns))
    share = cell_products(run, Z, A, crossing=dots_crossing(new, support), scheme=Scheme(engine, cells, key_bits))
    ring = Ring(1 << cells.ring_bits)
    part = run.local(Holder, dots, Z, A, share, new, support, cells, ring, squares, me)
    total = run.local(Coordinator, reals, secure_sum(run, part, to=Coordinator, by=by, what="dot products", ring=ring), cells, ring)
    if partition != "horizontal":
        return run.local(Asker, decision_of, run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, dual, total, squares)))
    answer = run.send(OwnDecisions, Coordinator >> Holder, run.local(Coordinator, decide_each, dual, total, squares, new))
    return run.local(Holder, values_of, answer)


@choreography(opens={Everyone: "who owns which cells"})
def ownership(run: Run, data: At[Any], partition: str) -> Owners:
    """The public map of owners; every cell has one."""
    told = run.publish_all(Owned, run.local(Holder, owned, data))
    return owners_of(partition, {party: mask_of(message) for party, message in told.items()})


@choreography(opens={Everyone: "the smallest power of two that no cell of any party exceeds, unless a range was declared"})
def agreed_range(run: Run, held: list[At[Any]], declared: float | None, by: Protection, *, to: Role = Coordinator) -> int:
    """The exponent of the power of two that no cell exceeds, whose ever it is."""
    if declared is not None:
        return int(np.ceil(np.log2(declared)))
    marks = secure_or(run, run.local(Holder, marks_of, *held), to=to, by=by, what="range of the cells")
    return run.publish(Range, run.local(to, range_of, marks)).exponent


def targets(
    run: Run, data: At[Any], class_weight: dict[Any, float] | str | None, *, by_rows: bool, numbers: bool
) -> tuple[At[Any], tuple[Any, ...]]:
    """Labels or numbers at the coordinator, and the names of the classes."""
    if numbers:
        return numbers_to_coordinator(run, data, by_rows=by_rows), ()
    if by_rows:
        return gather_labels(run, data, class_weight)
    classes = run.publish(Classes, run.local(Labeller, class_names, data)).names
    return labels_to_coordinator(run, data, classes, class_weight), classes


# Refused before anything is sent


def check_way(part: Held, how: str, multiply: Multiply, me: str) -> None:
    """A way that there is not, or not at this party, or not for its cells."""
    if how not in HOWS:
        raise LocalError(f"unknown method {how!r} of a gram matrix: use one of {', '.join(HOWS)}")
    if how == "product":
        product.engine(multiply.engine, 1, key_bits=multiply.key_bits)
    elif how == "algorithm1":
        paillier()
    else:
        check_binary(part, me)


def check_cells(part: Held, declared: float | None, fixed: FixedPoint | None, me: str) -> None:
    """Values that are no numbers, outside the declared range, or another's; `fixed`: of a sum of them all."""
    check_declared(part, declared, me)
    if part.owned is not None and (part.owned.shape != part.X.shape or part.X[~part.owned].any()):
        raise LocalError(f"{me} has a value in a cell that it does not own: give cells of others as missing")
    if fixed is not None:
        fixed.encode(cell_sum(part), f"sum of the cells of {me}")


def check_declared_records(new: Owners, declared: int | None) -> None:
    """Refuse more questions than the parties agreed to answer, before any answer is computed."""
    if declared is not None and new.shape[0] > declared:
        raise LocalError(f"the parties bring {new.shape[0]} new records, and the job declares {declared}: declare them all in [rows]")


def check_fit(owners: Owners, how: str, multiply: Multiply) -> None:
    """Tables that are too large for the way, once everybody knows their size."""
    if how == "algorithm1":
        check_size(owners)
    if how != "intersection":
        multiply.cells(0, owners.shape[1])


def check_targets(run: Run, data: At[Any], *, by_rows: bool, numbers: bool) -> None:
    """Targets that are missing."""
    if by_rows:
        run.local(Holder, check_labels, data, run.who(Holder))
    elif numbers:
        run.local(Labeller, numbers_of, data, run.who(Labeller))
    else:
        run.local(Labeller, class_names, data)


# Steps at the holders


def owned(part: Held) -> Owned:
    """Which cells are the holder's own."""
    records, columns = part.X.shape
    return Owned(records, columns, np.empty(0, np.uint8) if part.owned is None else np.packbits(np.asarray(part.owned)))


def mask_of(told: Owned) -> NDArray[np.bool_]:
    """The map that a party published."""
    shape = (told.records, told.columns)
    if not told.bits.size:
        return np.ones(shape, np.bool_)
    mask: NDArray[np.bool_] = np.unpackbits(told.bits, count=told.records * told.columns).reshape(shape) == 1
    return mask


def marks_of(*held: Any) -> NDArray[np.bool_]:
    """Which powers of two a cell of the holder exceeds."""
    return np.asarray(np.any([over(part.X) for part in held], axis=0), np.bool_)


def integers(part: Held, cells: Cells, me: str) -> I64:
    """The cells in fixed point."""
    return cells.encode(part.X, f"cells of {me}")


def gram_band(table: I64, share: U64, start: int, stop: int, owners: Owners, cells: Cells, ring: Ring, me: str) -> U64:
    """Rows start..stop of T_p, at or below the diagonal."""
    rows = owners.rows[me]
    first, last, end = np.searchsorted(rows, [start, stop, stop])
    band = np.zeros((stop - start, stop), np.int64)
    band[np.ix_(rows[first:last] - start, rows[:end])] = cells.dots(table[first:last], table[:end])
    crossed = share[start:stop, :stop] + share[:stop, start:stop].T
    return pack(residues(band, ring) + np.remainder(crossed, _modulus(ring)), start) % _modulus(ring)


def dots(Z: I64, A: I64, share: U64, new: Owners, support: Owners, cells: Cells, ring: Ring, squares: bool, me: str) -> U64:  # noqa: FBT001 - a step
    """A holder's part of Z A', and of z . z in a last column."""
    own = np.zeros((new.shape[0], support.shape[0] + squares), np.int64)
    own[np.ix_(new.rows[me], support.rows[me])] = cells.dots(Z, A)
    if squares:
        own[new.rows[me], -1] = np.einsum("ij,ij->i", Z, Z)
    words = residues(own, ring)
    words[:, : support.shape[0]] += np.remainder(share, _modulus(ring))
    return np.remainder(words, _modulus(ring))


def residues(values: I64, ring: Ring) -> U64:
    """Integers as elements of the ring."""
    return np.mod(values, np.int64(ring.modulus)).astype(np.uint64)


def _modulus(ring: Ring) -> np.uint64:
    return np.uint64(ring.modulus)


def keep(part: Held, rows: I64, owners: Owners, me: str) -> SupportColumns:
    """The holder's share of the model: its own cells of the support vectors."""
    mine = np.flatnonzero(np.isin(owners.rows[me], rows))
    return SupportColumns(part.X[mine], None if part.owned is None else part.owned[mine])


# Steps at the coordinator


def range_of(marks: NDArray[np.bool_]) -> Range:
    """Of what anybody marked."""
    return Range(exponent_over(marks))


def reals(opened: U64, cells: Cells, ring: Ring) -> F64:
    """Centred residues as dot products."""
    return cells.decode(ring.centred(opened))


def packed_whole(G: F64) -> tuple[F64, ...]:
    """In one band."""
    return (pack(G, 0),)


def decide_each(model: DualModel, total: F64, squares: bool, new: Owners) -> Each:  # noqa: FBT001 - a step
    """To each holder of rows the values of its own."""
    values = decide(model, total, squares).values
    return Each({party: OwnDecisions(np.ascontiguousarray(values[rows])) for party, rows in new.rows.items()})


# Steps at the asker


def decision_of(answer: Decision) -> F64:
    """The values."""
    return answer.values
