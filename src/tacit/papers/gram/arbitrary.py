"""Gram SVM over any cells: by rows, by columns, or every cell with an owner of its own; the result is the pooled SVM.

The problem. Party p owns some cells of m records with n columns; A_p is the table with zeros in all others, A = sum_p
A_p. The dual SVM (`gram_vertical`, (1)) needs the gram matrix only:

    G = A A' = sum_p A_p A_p' + sum_{p < q} (C_pq + C_pq'),        C_pq = A_p A_q'                                   (1)

A_p A_p' is p's own work. C_pq is a product of two parties' cells, which ends in shares (`cell_products`): S_p. So G is
a sum of one matrix of each party, and the coordinator learns the sum alone, lower triangle only and in bands of rows:

    T_p = A_p A_p' + S_p + S_p',       G = sum_p T_p     (mod 2^k)                                                   (2)

By columns nothing is shared and (2) is `gram_vertical`; by rows C_pq is one block. Cells are integers of up to
`feature_bits` bits, so G is exactly the gram matrix of the rounded records, and positive semidefinite. Their range is
declared, or the parties learn the smallest power of two that no cell exceeds, and nothing else of it (`secure_or`).

A new record z, whose cells may have any owners too, is classified from Z A', by the same products, and z . z, which is
everyone's own work.

Instead of (2), `method="algorithm1"` computes G as 001 prints it (`gram_algorithm1`), and `method="intersection"` for
binary cells (`gram_intersection`).

Roles. Holder: cells; by rows also the labels of its records. Labeller: else, the holder of the labels. Coordinator:
solves; holds no data unless it is one of the holders. Asker: is told the decision values; by rows every holder is, of
its own records.

Threat. Semi-honest. The coordinator learns G, that is all records up to one unknown rotation. A coalition of the
coordinator and holders learns G and has its own cells, and nothing else: shares are uniform, and the sum of the others'
T_p follows from G and its own. But G with as many known records as there are columns gives all others
(`attacks.gram_inversion`), and by rows every holder knows records: the coordinator together with one holder of n
independent records has everybody's. Holders learn who owns which cell, and which records are support vectors.

Not protected: that; what decision values reveal; a malicious party (`secure_product`).

Source: 001 section 5, Algorithm 1 in the variant that resists collusion; sections 3 and 4 as special cases.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import Asker, At, Coordinator, Each, Fact, Holder, Labeller, Run, choreography
from tacit.numeric.cells.integers import Cells
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.triangle import pack
from tacit.numeric.ring.words import Ring
from tacit.papers.columns import BAND, append, bands
from tacit.papers.dual_svm import Solver
from tacit.papers.facts import DECISION_VALUES, EVERY_LABEL
from tacit.papers.gram.algorithm1 import GRAM_OF_CELLS, check_size, gram_algorithm1
from tacit.papers.gram.cell_products import Scheme, cell_products
from tacit.papers.gram.cells import ANSWERS_OF_OWN, Multiply, check_cells, check_declared_records, check_way, integers
from tacit.papers.gram.crossing import dots_crossing, gram_crossing
from tacit.papers.gram.intersection import gram_intersection
from tacit.papers.gram.train import (
    CELL_SUM,
    GRAM_MATRIX,
    NEW_PRODUCTS,
    SUPPORT,
    DualModel,
    Extent,
    Gram,
    SupportColumns,
    Trained,
    train_model,
)
from tacit.papers.gram.vertical import decide_values, sum_cells
from tacit.papers.labels import (
    Decision,
    LabelledRows,
    Labels,
    OwnDecisions,
    check_labels,
    gather_labels,
    read_values,
    send_labels,
)
from tacit.papers.parameters import fixed_point
from tacit.protocols.blind.owners import agreed_range, ownership
from tacit.protocols.classes import Classes, name_classes
from tacit.protocols.facts import CLASSES, OWNERS
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import ClassWeight, Held, Names, OwnCells, Records, Table
from tacit.protocols.sums.secure_sum import Protection, protect, secure_sum


@choreography(
    opens={
        Coordinator: (GRAM_MATRIX, EVERY_LABEL, CELL_SUM),
        Holder: (OWNERS, SUPPORT, CLASSES),
    }
)
def gram_arbitrary(
    run: Run,
    data: At[Held],
    *,
    partition: str,
    kernel: AnyKernel,
    solver: Solver,
    multiply: Multiply,
    method: str = "product",
    band: int = BAND,
) -> Trained:
    """Train; the coordinator ends with a `DualModel`, every holder with its `SupportColumns`."""
    by_rows, fixed, me = partition == "horizontal", fixed_point(run), run.who(Holder)
    run.local(Holder, check_way, data, method, multiply, me)
    run.local(Holder, check_cells, data, multiply.feature_range, fixed if kernel.is_scaled else None, me)
    if by_rows:
        run.local(Holder, check_labels, data, me)
    else:
        run.local(Labeller, name_classes, data, solver.class_weight)
    owners = ownership(run, data, partition)
    check_fit(owners, method, multiply)
    by = protect(run)
    labels, classes = gather_targets(run, data, solver.class_weight, by_rows=by_rows)
    total = sum_cells(run, data, by=by, fixed=fixed, wanted=kernel.is_scaled)
    packed = pack_gram(run, data, partition, owners=owners, method=method, multiply=multiply, by=by, band=band)
    records, columns = owners.shape
    extent = Extent(records, columns, bits=multiply.bits(columns), declared=multiply.feature_range or 0.0)
    gram = Gram(classes, extent, labels, total, packed)

    def keep(rows: I64) -> At[SupportColumns]:
        return run.local(Holder, keep_cells, data, rows, owners, me)

    return train_model(run, gram, shape=kernel.shape, gamma=kernel.gamma, solver=solver, keep=keep)


def pack_gram(
    run: Run,
    data: At[Held],
    partition: str,
    *,
    owners: Owners,
    method: str,
    multiply: Multiply,
    by: Protection,
    band: int,
) -> At[tuple[F64, ...]]:
    """Return G in packed bands, by (2) or another way."""
    if method == "product":
        return gram_products(run, data, owners=owners, multiply=multiply, by=by, band=band)
    if method == "algorithm1":
        cells = multiply.cells(agreed_range(run, [data], multiply.feature_range, by), owners.shape[1])
        table = run.local(Holder, integers, data, cells, run.who(Holder))
        return gram_algorithm1(run, table, owners=owners, cells=cells, key_bits=multiply.key_bits)
    return run.local(Coordinator, pack_whole, gram_intersection(run, data, partition=partition))


@choreography(opens={Coordinator: GRAM_OF_CELLS})
def gram_products(
    run: Run, data: At[Table], *, owners: Owners, multiply: Multiply, by: Protection, band: int = BAND
) -> At[tuple[F64, ...]]:
    """Return the sum (2) at the coordinator, in bands."""
    cells = multiply.cells(agreed_range(run, [data], multiply.feature_range, by), owners.shape[1])
    table = run.local(Holder, integers, data, cells, run.who(Holder))
    scheme = Scheme(multiply.engine, cells, multiply.key_bits)
    share = cell_products(run, table, table, crossing=gram_crossing(owners), scheme=scheme)
    return sum_bands(run, table, share, owners=owners, cells=cells, ring=Ring(1 << cells.ring_bits), by=by, band=band)


def sum_bands(
    run: Run, table: At[I64], share: At[U64], *, owners: Owners, cells: Cells, ring: Ring, by: Protection, band: int
) -> At[tuple[F64, ...]]:
    """Return the sum of all T_p at the coordinator, in bands."""
    cuts = bands(owners.shape[0], band)
    summed = run.carry(bands=run.local(Coordinator, tuple))
    for t in run.rounds(len(cuts), summed):
        part = run.local(Holder, multiply_band, table, share, *cuts[t], owners, cells, ring, run.who(Holder))
        opened = secure_sum(run, part, to=Coordinator, by=by, what="gram matrix", ring=ring)
        summed.bands = run.local(Coordinator, append, summed.bands, run.local(Coordinator, reals, opened, cells, ring))
        run.note(band=t + 1, records=cuts[t][1])
    packed: At[tuple[F64, ...]] = summed.bands
    return packed


@choreography(
    opens={
        Coordinator: NEW_PRODUCTS,
        Asker: (DECISION_VALUES, ANSWERS_OF_OWN),
        Holder: Fact(
            "gram.new_ownership",
            "holder",
            "membership",
            "cell",
            "who owns which cells of new records and support vectors",
        ),
    }
)
def gram_arbitrary_predict(
    run: Run,
    data: At[Held],
    dual: At[DualModel],
    columns: At[SupportColumns],
    *,
    partition: str,
    squares: bool,
    multiply: Multiply,
    records: int | None = None,
) -> At[F64]:
    """Return decision values of new records, at the asker, or by rows at their holders.

    `squares` says whether the kernel needs z . z.
    """
    me, declared = run.who(Holder), multiply.feature_range
    run.local(Holder, check_way, data, "product", multiply, me)
    run.local(Holder, check_cells, data, declared, None, me)
    new, support = ownership(run, data, partition), ownership(run, columns, partition)
    check_declared_records(new, records)
    by = protect(run)
    cells = multiply.cells(agreed_range(run, [data, columns], declared, by), new.shape[1])
    Z, A = (run.local(Holder, integers, held, cells, me) for held in (data, columns))
    scheme = Scheme(multiply.engine, cells, multiply.key_bits)
    share = cell_products(run, Z, A, crossing=dots_crossing(new, support), scheme=scheme)
    ring = Ring(1 << cells.ring_bits)
    part = run.local(Holder, multiply_new, Z, A, share, new, support, cells, ring, squares, me)
    opened = secure_sum(run, part, to=Coordinator, by=by, what="dot products", ring=ring)
    total = run.local(Coordinator, reals, opened, cells, ring)
    if partition != "horizontal":
        values = run.local(Coordinator, decide_values, dual, total, squares)
        return run.local(Asker, read_values, run.send(Decision, Coordinator >> Asker, values))
    each = run.local(Coordinator, decide_each, dual, total, squares, new)
    return run.local(Holder, read_values, run.send(OwnDecisions, Coordinator >> Holder, each))


def gather_targets(
    run: Run, data: At[Records], class_weight: ClassWeight, *, by_rows: bool
) -> tuple[At[LabelledRows] | At[Labels], Names]:
    """Return the labels at the coordinator, and the names of the classes."""
    if by_rows:
        return gather_labels(run, data, class_weight)
    classes = run.publish(Classes, run.local(Labeller, name_classes, data, class_weight)).names
    return send_labels(run, data, classes, class_weight), classes


# Refused before anything is sent


def check_fit(owners: Owners, method: str, multiply: Multiply) -> None:
    """Refuse tables that are too large for the way, once everybody knows their size."""
    if method == "algorithm1":
        check_size(owners)
    if method != "intersection":
        multiply.cells(0, owners.shape[1])


# Steps at the holders


def multiply_band(
    table: I64, share: U64, start: int, stop: int, owners: Owners, cells: Cells, ring: Ring, me: str
) -> U64:
    """Return rows start..stop of T_p, at or below the diagonal."""
    rows = owners.rows[me]
    first, last, end = np.searchsorted(rows, [start, stop, stop])
    band = np.zeros((stop - start, stop), np.int64)
    band[np.ix_(rows[first:last] - start, rows[:end])] = cells.dots(table[first:last], table[:end])
    crossed = share[start:stop, :stop] + share[:stop, start:stop].T
    return pack(residues(band, ring) + np.remainder(crossed, _modulus(ring)), start) % _modulus(ring)


def multiply_new(
    Z: I64,
    A: I64,
    share: U64,
    new: Owners,
    support: Owners,
    cells: Cells,
    ring: Ring,
    squares: bool,  # noqa: FBT001
    me: str,
) -> U64:
    """Return a holder's part of Z A', and with `squares` of z . z in a last column."""
    own = np.zeros((new.shape[0], support.shape[0] + squares), np.int64)
    own[np.ix_(new.rows[me], support.rows[me])] = cells.dots(Z, A)
    if squares:
        own[new.rows[me], -1] = np.einsum("ij,ij->i", Z, Z)
    words = residues(own, ring)
    words[:, : support.shape[0]] += np.remainder(share, _modulus(ring))
    return np.remainder(words, _modulus(ring))


def residues(values: I64, ring: Ring) -> U64:
    """Return integers as elements of the ring."""
    return np.mod(values, np.int64(ring.modulus)).astype(np.uint64)


def _modulus(ring: Ring) -> np.uint64:
    return np.uint64(ring.modulus)


def keep_cells(part: OwnCells, rows: I64, owners: Owners, me: str) -> SupportColumns:
    """Return the holder's share of the model: its own cells of the support vectors."""
    mine = np.flatnonzero(np.isin(owners.rows[me], rows))
    return SupportColumns(part.X[mine], None if part.owned is None else part.owned[mine])


# Steps at the coordinator


def reals(opened: U64, cells: Cells, ring: Ring) -> F64:
    """Return dot products from centred residues."""
    return cells.decode(ring.centred(opened))


def pack_whole(G: F64) -> tuple[F64, ...]:
    """Return G in one band."""
    return (pack(G, 0),)


def decide_each(model: DualModel, total: F64, squares: bool, new: Owners) -> Each:  # noqa: FBT001 - a step
    """Return for each holder of rows the values of its own."""
    values = decide_values(model, total, squares).values
    return Each({party: OwnDecisions(np.ascontiguousarray(values[rows])) for party, rows in new.rows.items()})
