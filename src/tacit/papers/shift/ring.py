"""Shared shift over rows: the coordinator trains on all rows moved by one vector; the result is the pooled SVM.

The problem. Holder P_i has rows A_i with labels, i = 1..q, and draws a vector r_i, which it keeps. P_0, the
coordinator, holds no data. It shall learn every row moved by r = r_1 + .. + r_q, and solve the SVM on them, which is
the same SVM:

    linear   (w, b) and (w, b - w.r) have equal slacks, so x and x + r get equal values                              (1)
    rbf      |(x + r) - (z + r)| = |x - z|, so the kernel matrix is the same                                         (2)

Neither holds for polynomial and sigmoid kernels, which are refused. Two passes around the ring P_1, .., P_q:

    S_0 = {},   S_i = (S_{i-1} and A_i) + r_i                P_i to P_{i+1}, P_q to P_0                              (3)
    block 1 of S_q carries r, block i carries r_i + .. + r_q:   P_0 keeps block 1 and sends 2..q to P_1              (4)
    P_i adds r_i to all it holds, returns block i + 1, which is complete, to P_0, and passes i + 2..q to P_{i+1}     (5)

P_1 begins, where 002 has P_0 send an S_0: who has a row of its own in (3) reads r off it. New records take the same two
passes under the same r_i; P_0 tells each holder the values of its own. P_0 centres what it has before it trains: (1)
and (2) allow it, and a gram matrix of far-away rows has no digits left.

Roles. Holder: P_1..P_q, rows with labels. Coordinator: P_0.

Threat. Semi-honest, and weak. P_0 sees blocks 2..q before (4) and after (5): the differences are r_1, r_1 + r_2, .., so
of r only r_q is left to hide the rows. One known record, or a known minimum of the columns, or any one holder's help
opens everything. Each holder sees the rows of all others, in (3) or in (5), each block under one unknown vector: exact
differences between rows, and the rows themselves once one is known. Two holders P_j and P_l, l > j + 1, open A_{j+1}:
P_l has A_j + r_j + s and A_{j+1} + s with s = r_{j+1} + .. + r_{l-1}. 002 says that no data is disclosed to any entity.

Not protected: all of that. `accept_risk` must be said.

Source: 002, Algorithms 1 and 2, with the formulas that its text lacks (docs/methods/shift.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Each, Fact, Holder, Message, PeerError, Result, Run, State, choreography
from tacit.choreo.declaration import OneOf, Parameter
from tacit.choreo.protocol import Declaration
from tacit.crypto.pads.entropy import words_of
from tacit.errors import LocalError
from tacit.numeric.svm.kernels import OVR, Kernel
from tacit.papers.dual_svm import OF_SOLVER, Solver, solve
from tacit.papers.facts import EVERY_LABEL
from tacit.papers.labels import LabelledRows, Labels, OwnDecisions, check_labels, gather_labels, read_values
from tacit.papers.machine import gamma_of, value_classes
from tacit.papers.parameters import WEAK
from tacit.papers.shift.formulas import DISTRIBUTIONS, narrow, shift_of
from tacit.protocols.parameters import SWITCH, RadialKernel
from tacit.protocols.part import Names, Records, Table

OWN_ANSWERS = Fact("shift.answers_of_own", "reader", "answer", "record", "the decision values of its own records")

KERNELS = ("linear", "rbf")
Blocks = tuple[F64, ...]


OTHERS = Fact(
    "shift.rows_before_or_after",
    "holder",
    "record",
    "record",
    "the rows of every holder before or after the receiver, each block under one unknown vector: exact row differences",
)


class Around(Message, tells=OTHERS):
    """The set S_i of (3), or blocks i + 2 to q of (5), to the next holder; blocks 2 to q of (4), to the first."""

    blocks: tuple[F64, ...]


class Collected(
    Message,
    tells=Fact(
        "shift.collected",
        "holder",
        "record",
        "record",
        "all rows, block i under r_i + .. + r_q: exact row differences of every holder",
    ),
):
    """The set S_q of (3), to the coordinator."""

    blocks: tuple[F64, ...]


class Completed(
    Message,
    tells=Fact(
        "shift.completed",
        "holder",
        "record",
        "record",
        "rows that the receiver has seen before, now under all shifts: what was added is r_1 + .. + r_i, exactly",
    ),
):
    """Block i + 1 of (5), complete, to P_0."""

    block: F64


class Shift(State):
    """What a holder keeps for all later records: x -> x turn + r."""

    r: F64
    turn: F64 | None


class ShiftedSVM(State):
    """The coordinator's share: support vectors, moved, and around `centre`; coefficients, biases, kernel.

    `multi_class` says which problems several classes are.
    """

    support: F64
    centre: F64
    coef: F64
    bias: F64
    objective: F64
    iterations: int
    kernel: str
    gamma: float
    multi_class: str = OVR

    def decide(self, X: F64) -> F64:
        """Return the decision values of all classes for rows that are moved like the support vectors."""
        Z = X - self.centre
        norms, own = (np.einsum("ij,ij->i", A, A) for A in (self.support, Z))
        K = Kernel(self.kernel, self.gamma).from_dots(Z @ self.support.T, own, norms)
        return value_classes(K @ self.coef.T + self.bias, self.multi_class)


class Trained(Result):
    """What a training leaves; `narrow` are the columns that a holder hides badly."""

    classes: Names
    model: At[ShiftedSVM]
    shifts: At[Shift]
    narrow: At[I64]


@choreography(
    opens={
        Coordinator: (
            Fact(
                "shift.moved_table",
                "holder",
                "record",
                "record",
                "every row of every holder under r_1 + .. + r_q, of which it can undo all but r_q: exact row"
                " differences, and all rows in clear once one record or the minimum of the columns is known, or with"
                " any holder's help",
            ),
            EVERY_LABEL,
        ),
        Holder: (
            Fact(
                "shift.rows_of_others",
                "holder",
                "record",
                "record",
                "the rows of every other holder, each holder's under one unknown vector: exact row differences, and"
                " that holder's rows in clear once one of them is known",
            ),
            Fact(
                "shift.rows_of_next",
                "holder",
                "record",
                "record",
                "two holders not next to each other: the rows of the one after the first",
            ),
            Fact("shift.own_row_counts", "holder", "size", "party", "how many rows each has"),
        ),
    }
)
def shift_ring(
    run: Run,
    data: At[Records],
    width: At[F64],
    *,
    kernel: RadialKernel,
    solver: Solver,
    distribution: str = "uniform",
) -> Trained:
    """Train; the coordinator ends with a `ShiftedSVM`, every holder with its `Shift`.

    `width` says how wide each column's shift is.
    """
    check_kernel(kernel.name)
    run.local(Holder, check_labels, data, run.who(Holder))
    shifts = run.local(Holder, draw_shift, run.random(Holder), width, distribution)
    table = run.local(Coordinator, stack_blocks, two_passes(run, data, shifts))
    labels, names = gather_labels(run, data, solver.class_weight)
    return Trained(
        classes=names,
        model=run.local(Coordinator, fit, table, labels, kernel, solver),
        shifts=shifts,
        narrow=run.local(Holder, find_narrow, data, width, distribution),
    )


@choreography(
    opens={
        Coordinator: Fact(
            "shift.moved_new",
            "holder",
            "record",
            "record",
            "the new records under r_1 + .. + r_q, as the training rows",
        ),
        Holder: (
            Fact(
                "shift.new_of_others",
                "holder",
                "record",
                "record",
                "the new records of every other holder, each under that holder's unknown vector, the same as in"
                " training",
            ),
            Fact("shift.answers", "reader", "answer", "record", "the decision values of the records it asked about"),
        ),
    }
)
def shift_ring_predict(run: Run, data: At[Table], model: At[ShiftedSVM], shifts: At[Shift]) -> At[F64]:
    """Return decision values of every holder's own new records, at that holder."""
    return answers(run, model, two_passes(run, data, shifts))


@choreography(
    opens={
        Coordinator: Fact(
            "shift.all_rows",
            "holder",
            "record",
            "record",
            "all rows under the sum of all shifts, and r_1, .., r_{q-1} by subtraction",
        )
    }
)
def two_passes(run: Run, data: At[Table], shifts: At[Shift]) -> At[Blocks]:
    """Return every block, moved by r, at P_0, by Algorithm 1."""
    ring = run.members(Holder)
    held = run.local(ring[0], start_empty)
    for me, after in pairwise(ring):
        held = run.send(Around, me >> after, run.local(me, add_rows, held, data, shifts))  # (3)
    last = run.local(ring[-1], add_rows, held, data, shifts)
    seen = run.send(Collected, ring[-1] >> Coordinator, run.local(ring[-1], collect, last))
    if len(ring) == 1:
        return run.local(Coordinator, collect_blocks, seen, 1)
    held = run.send(Around, Coordinator >> ring[0], run.local(Coordinator, pass_remaining, seen, len(ring)))  # (4)
    done = []
    for i, me in enumerate(ring[:-1]):
        moved = run.local(me, shift_again, held, shifts)
        done.append(run.send(Completed, me >> Coordinator, run.local(me, take_first, moved)))  # (5)
        if i < len(ring) - 2:
            held = run.send(Around, me >> ring[i + 1], run.local(me, take_rest, moved))
    return run.local(Coordinator, collect_blocks, seen, len(ring), *done)


@choreography(opens={Holder: OWN_ANSWERS})
def answers(run: Run, model: At[ShiftedSVM], blocks: At[Blocks]) -> At[F64]:
    """Return to each holder the values of its own block."""
    values = run.local(Coordinator, decide_blocks, model, blocks, run.roster[Holder])
    return run.local(Holder, read_values, run.send(OwnDecisions, Coordinator >> Holder, values))


def check_kernel(kernel: str) -> None:
    """Refuse kernels that change when all records are shifted."""
    if kernel not in KERNELS:
        raise LocalError(
            f"kernel={kernel!r} changes when all records are shifted, so its answers would be wrong: use 'linear' or"
            " 'rbf'"
        )


# Steps at the holders


def draw_shift(seed: bytes, width: F64, distribution: str) -> Shift:
    """Return the holder's own vector r_i."""
    return Shift(shift_of(words_of(seed, len(width)), width, distribution), None)


def move(X: F64, shift: Shift) -> F64:
    """Return the rows as they leave."""
    moved: F64 = (X if shift.turn is None else X @ shift.turn) + shift.r
    return moved


def find_narrow(part: Table, width: F64, distribution: str) -> I64:
    """Return which of its own columns a holder hides badly; nobody else is told."""
    return narrow(part.X, width, distribution)


def start_empty() -> Around:
    """Return the empty set S_0."""
    return Around(())


def add_rows(held: Around, part: Table, shift: Shift) -> Around:
    """Return all blocks and the holder's own, moved by its vector, (3)."""
    blocks = (*held.blocks, part.X)
    if any(block.ndim != 2 or block.shape[1] != len(shift.r) for block in blocks):  # noqa: PLR2004 - a table
        raise PeerError(
            f"rows that are not of {len(shift.r)} columns arrived: a horizontal split needs the same features"
            " everywhere"
        )
    return Around(tuple(move(block, shift) for block in blocks))


def collect(last: Around) -> Collected:
    """Return S_q, for the coordinator."""
    return Collected(last.blocks)


def shift_again(held: Around, shift: Shift) -> Blocks:
    """Return all blocks that are held, moved by the holder's vector, (5)."""
    return tuple(move(block, shift) for block in held.blocks)


def take_first(blocks: Blocks) -> Completed:
    """Return block i + 1 of (5)."""
    return Completed(blocks[0])


def take_rest(blocks: Blocks) -> Around:
    """Return blocks i + 2..q of (5)."""
    return Around(blocks[1:])


# Steps at the coordinator


def stack_blocks(blocks: Blocks) -> F64:
    """Return the rows of all holders in one table."""
    return np.concatenate(blocks)


def pass_remaining(seen: Collected, holders: int) -> Around:
    """Return the blocks that are not complete, (4)."""
    if len(seen.blocks) != holders:
        raise PeerError(f"{len(seen.blocks)} blocks came around a ring of {holders} holders: stop and ask the last one")
    return Around(seen.blocks[1:])


def collect_blocks(seen: Collected, holders: int, *done: Completed) -> Blocks:
    """Return every block under r; refuse blocks that are not those of the first pass."""
    blocks = (*seen.blocks[:1], *(message.block for message in done))
    if len(blocks) != holders or [b.shape for b in blocks] != [b.shape for b in seen.blocks]:
        raise PeerError("the blocks of the second pass are not those of the first: stop and compare the audits")
    return blocks


def fit(X: F64, labels: LabelledRows | Labels, kernel: RadialKernel, solver: Solver) -> ShiftedSVM:
    """Return the SVM on rows that are all moved alike."""
    if len(labels.codes) != len(X):
        raise LocalError(f"{len(labels.codes)} labels for {len(X)} records: there must be one label per record")
    centre = X.mean(axis=0)
    Z = X - centre
    K, gamma = _kernel_matrix(X, Z, kernel)
    found = solve(K, labels.codes, labels.weight, **solver.way)
    used = np.flatnonzero(np.any(found.coef, axis=0))
    coef = np.ascontiguousarray(found.coef[:, used])
    figures = (found.bias, found.objective, found.iterations)
    return ShiftedSVM(Z[used], centre, coef, *figures, kernel.name, gamma, solver.multi_class)


def _kernel_matrix(X: F64, Z: F64, kernel: RadialKernel) -> tuple[F64, float]:
    """Return the kernel matrix of the centred rows Z, and gamma as a number."""
    norms = np.einsum("ij,ij->i", Z, Z)
    gamma = spread_gamma(kernel.gamma, Z, norms, X)
    K = Kernel(kernel.name, gamma).from_dots(Z @ Z.T, norms, norms)
    # LIBSVM keeps all but the diagonal in single precision: there too the last digits, which the shift spoils, must
    # break no tie
    np.fill_diagonal(K, K.diagonal().astype(np.float32))
    return K, gamma


def spread_gamma(gamma: float | str, Z: F64, norms: F64, X: F64) -> float:
    """Return gamma as a number; 'scale' is 1 / sum of the columns' variances.

    Scikit-learn's looks at the columns' means too, which the shift hides.
    """
    rounding = Z.size * (4 * np.finfo(np.float64).eps * np.abs(X).max(initial=0.0)) ** 2
    squares = float(norms.sum())
    return gamma_of(gamma, Z.shape[1], Z.size, 0.0, squares if squares > rounding else 0.0)


def decide_blocks(model: ShiftedSVM, blocks: Blocks, holders: Sequence[str]) -> Each:
    """Return the values of every block, for its holder."""
    return Each({party: OwnDecisions(model.decide(block)) for party, block in zip(holders, blocks, strict=True)})


DISTRIBUTION = Parameter("distribution", OneOf(DISTRIBUTIONS), "how a shift is drawn")
ROTATION = Parameter("rotation", SWITCH, "whether columns are rotated too")
OF_SHIFT = (*OF_SOLVER, DISTRIBUTION)

SHIFT_RING = Declaration(shift_ring, attacked=WEAK, parameters=OF_SHIFT)
SHIFT_RING_PREDICT = Declaration(shift_ring_predict, attacked=WEAK)
