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

from functools import partial

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import Asker, At, Coordinator, Holder, Labeller, Run, choreography
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.triangle import pack
from tacit.papers.columns import BAND, append, bands, sizes, stack
from tacit.papers.dual_svm import Solver
from tacit.papers.facts import DECISION_VALUES, EVERY_LABEL
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
    decide,
    train_model,
)
from tacit.papers.labels import Decision, read_values, send_labels
from tacit.papers.parameters import fixed_point
from tacit.protocols.blind.owners import check_declared
from tacit.protocols.classes import Classes, name_classes
from tacit.protocols.facts import CLASSES, SIZES
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import Records, Table
from tacit.protocols.sums.secure_sum import Protection, protect, secure_sum


@choreography(
    opens={
        Coordinator: (GRAM_MATRIX, EVERY_LABEL, CELL_SUM),
        Holder: (SUPPORT, SIZES, CLASSES),
    }
)
def gram_vertical(
    run: Run,
    data: At[Records],
    *,
    kernel: AnyKernel,
    solver: Solver,
    feature_range: float | None = None,
    band: int = BAND,
) -> Trained:
    """Train; the coordinator ends with a `DualModel`, every holder with its `SupportColumns`."""
    fixed = fixed_point(run)  # whatever can be refused is refused before anything is sent
    named = run.local(Labeller, name_classes, data, solver.class_weight)
    run.local(Holder, check_declared, data, feature_range, run.who(Holder))
    run.local(Holder, check_range, data, fixed, run.who(Holder))
    by = protect(run)
    classes = run.publish(Classes, named).names
    records, columns = sizes(run, data)
    labels = send_labels(run, data, classes, solver.class_weight)
    total = sum_cells(run, data, by=by, fixed=fixed, wanted=kernel.is_scaled)
    summed, cuts = run.carry(bands=run.local(Coordinator, tuple)), bands(records, band)
    for t in run.rounds(len(cuts), summed):
        part = run.local(Holder, multiply_band, data, *cuts[t])
        opened = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="gram matrix")
        summed.bands = run.local(Coordinator, append, summed.bands, opened)
        run.note(band=t + 1, records=cuts[t][1])
    gram = Gram(classes, Extent(records, sum(columns.values()), fixed.deviation), labels, total, summed.bands)
    keep = partial(run.local, Holder, keep_columns, data)
    return train_model(run, gram, shape=kernel.shape, gamma=kernel.gamma, solver=solver, keep=keep)


def sum_cells(run: Run, data: At[Table], *, by: Protection, fixed: FixedPoint, wanted: bool) -> At[F64 | float]:
    """Give the coordinator the sum of all cells, or zero if it is not wanted."""
    if not wanted:
        return run.local(Coordinator, float)
    own = run.local(Holder, cell_sum, data)
    return secure_sum(run, own, to=Coordinator, by=by, fixed=fixed, what="sum of all cells")


@choreography(
    opens={
        Coordinator: NEW_PRODUCTS,
        Asker: DECISION_VALUES,
    }
)
def gram_predict(
    run: Run,
    data: At[Table],
    dual: At[DualModel],
    columns: At[SupportColumns],
    *,
    squares: bool,
    support: int,
    feature_range: float | None = None,
    band: int = BAND,
) -> At[F64]:
    """Return decision values of new records, at the asker. `squares` says whether the kernel needs z . z."""
    run.local(Holder, check_declared, data, feature_range, run.who(Holder))
    records, _ = sizes(run, data)
    by, fixed = protect(run), fixed_point(run)
    step = max(1, band // (support + 1))
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, multiply_new, data, columns, t * step, (t + 1) * step, squares)
        total = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="dot products")  # (3)
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide_values, dual, total, squares))
        s.answers = run.local(Asker, append, s.answers, run.local(Asker, read_values, answer))
    return run.local(Asker, stack, s.answers)


# Steps at the holders


def check_range(part: Table, fixed: FixedPoint, me: str) -> None:
    """Refuse cells whose sums would not fit.

    No entry of A_p A_p' is larger than the longest record's square (Cauchy and Schwarz).
    """
    squares = np.einsum("ij,ij->i", part.X, part.X)
    fixed.encode(np.append(squares.max(initial=0.0), part.X.sum()), f"gram matrix of {me}")


def cell_sum(part: Table) -> F64:
    """Return the sum of a holder's cells, which gamma='scale' needs."""
    return np.array([part.X.sum()])


def multiply_band(part: Table, start: int, stop: int) -> F64:
    """Return rows start..stop of A_p A_p', at or below the diagonal."""
    return pack(part.X[start:stop] @ part.X[:stop].T, start)


def keep_columns(part: Table, rows: I64) -> SupportColumns:
    """Return the holder's share of the model: its columns of the support vectors."""
    return SupportColumns(part.X[rows])


def multiply_new(part: Table, support: SupportColumns, start: int, stop: int, squares: bool) -> F64:  # noqa: FBT001 - a step
    """Return z_p . x_ip for every new record and support vector, and with `squares` z_p . z_p in a last column."""
    z = part.X[start:stop]
    products = z @ support.X.T
    return np.column_stack([products, np.einsum("ij,ij->i", z, z)]) if squares else products


# Steps at the coordinator


def decide_values(model: DualModel, total: F64, squares: bool) -> Decision:  # noqa: FBT001 - a step
    """Return f(z) from (3)."""
    products, own = (total[:, :-1].copy(), total[:, -1]) if squares else (total.copy(), np.empty(0))
    return Decision(decide(model, products, own))
