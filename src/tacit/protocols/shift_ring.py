"""Shared shift over rows: the coordinator trains on all rows moved by one vector; the result is the pooled SVM.

The problem. Holder P_i has rows A_i with labels, i = 1..q, and draws a vector r_i, which it keeps. P_0, the coordinator,
holds no data. It shall learn every row moved by r = r_1 + .. + r_q, and solve the SVM on them, which is the same SVM:

    linear   (w, b) and (w, b - w.r) have equal slacks, so x and x + r get equal values                                (1)
    rbf      |(x + r) - (z + r)| = |x - z|, so the kernel matrix is the same                                           (2)

Neither holds for polynomial and sigmoid kernels, which are refused. Two passes around the ring P_1, .., P_q:

    S_0 = {},   S_i = (S_{i-1} and A_i) + r_i                P_i to P_{i+1}, P_q to P_0                                (3)
    block 1 of S_q carries r, block i carries r_i + .. + r_q:   P_0 keeps block 1 and sends 2..q to P_1                (4)
    P_i adds r_i to all it holds, returns block i + 1, which is complete, to P_0, and passes i + 2..q to P_{i+1}       (5)

P_1 refuses a start that is not empty: who has a row of its own in (3) reads r off it. New records take the same two
passes under the same r_i; P_0 tells each holder the values of its own. P_0 centres what it has before it trains: (1)
and (2) allow it, and a gram matrix of far-away rows has no digits left.

Roles. Holder: P_1..P_q, rows with labels. Coordinator: P_0.

Threat. Semi-honest, and weak. P_0 sees blocks 2..q before (4) and after (5): the differences are r_1, r_1 + r_2, ..,
so of r only r_q is left to hide the rows. One known record, or a known minimum of the columns, or any one holder's help
opens everything. Each holder sees the rows of all others, in (3) or in (5), each block under one unknown vector: exact
differences between rows, and the rows themselves once one is known. Two holders P_j and P_l, l > j + 1, open A_{j+1}: P_l
has A_j + r_j + s and A_{j+1} + s with s = r_{j+1} + .. + r_{l-1}. 002 says that no data is disclosed to any entity.

Not protected: all of that. `accept_risk` must be said.

Source: 002, Algorithms 1 and 2, with the formulas that its text lacks (docs/methods/shift.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from tacit.choreo import F64, I64, U64, Array, At, Coordinator, Each, Everyone, Holder, Message, PeerError, Role, Run, State, choreography
from tacit.crypto.pads import stream
from tacit.errors import LocalError
from tacit.numeric.dual_svm import out_of_fold, solve
from tacit.numeric.kernels import Kernel, gamma_of
from tacit.numeric.shift import narrow, shift_of
from tacit.protocols.gram_vertical import Classes
from tacit.protocols.platt import Scores, own_platt

KERNELS = ("linear", "rbf")
Blocks = tuple[F64, ...]


class Records(Protocol):
    """What a holder brings along."""

    X: F64
    y: Array | None
    weight: F64 | None


class Start(Message, tells="nothing: an empty set"):
    """S_0 of (3)."""

    blocks: tuple[F64, ...]


class FirstPass(Message, tells="the rows of every holder before the receiver, each block under one unknown vector: exact row differences"):
    """S_i of (3)."""

    blocks: tuple[F64, ...]


class Collected(Message, tells="all rows, block i under r_i + .. + r_q: exact row differences of every holder"):
    """S_q of (3)."""

    blocks: tuple[F64, ...]


class Remaining(Message, tells="the rows of holders 2 to q, each block under one unknown vector: exact row differences"):
    """(4)."""

    blocks: tuple[F64, ...]


class SecondPass(Message, tells="the rows of every holder after the receiver, each block under one unknown vector: exact row differences"):
    """(5), to the next holder."""

    blocks: tuple[F64, ...]


class Completed(Message, tells="rows that the receiver has seen before, now under all shifts: what was added is r_1 + .. + r_i, exactly"):
    """(5), to P_0."""

    block: F64


class OwnLabels(Message, tells="the class and the weight of each of the sender's records, in clear", ragged=True):
    """Of the rows in their order."""

    names: tuple[bool | int | float | str, ...]
    codes: I64
    weight: F64 | None


class OwnDecisions(Message, tells="the decision values of the receiver's own records", ragged=True):
    """f(x), a column per problem."""

    values: F64


class Shift(State):
    """What a holder keeps for all later records: x -> x turn + r."""

    r: F64
    turn: F64 | None


class LabelledRows(State):
    """Codes and weights of all rows, in the order of the holders."""

    codes: I64
    weight: F64 | None


class ShiftedSVM(State):
    """The coordinator's share: support vectors, moved, and around `centre`; coefficients, biases, kernel."""

    support: F64
    centre: F64
    coef: F64
    bias: F64
    objective: F64
    iterations: int
    kernel: str
    gamma: float

    def decide(self, X: F64) -> F64:
        """Decision values of rows that are moved like the support vectors."""
        Z = X - self.centre
        norms, own = (np.einsum("ij,ij->i", A, A) for A in (self.support, Z))
        values: F64 = Kernel(self.kernel, self.gamma).from_dots(Z @ self.support.T, own, norms) @ self.coef.T + self.bias
        return values


@choreography(
    opens={
        Coordinator: "every row of every holder under r_1 + .. + r_q, of which it can undo all but r_q: exact row differences, and all"
        " rows in clear once one record or the minimum of the columns is known, or with any holder's help; every label",
        Holder: "the rows of every other holder, each holder's under one unknown vector: exact row differences, and that holder's rows in"
        " clear once one of them is known; two holders not next to each other: the rows of the one after the first; how many rows each has",
    }
)
def shift_ring(
    run: Run,
    data: At[Any],
    width: At[Any],
    *,
    kernel: str,
    gamma: float | str,
    C: float,
    distribution: str = "uniform",
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    probability: bool = False,
) -> dict[str, Any]:
    """Train; the coordinator ends with a `ShiftedSVM`, every holder with its `Shift`. `width`: of each column's shift."""
    check_kernel(kernel)
    run.local(Holder, check_labels, data, run.who(Holder))
    shifts = run.local(Holder, own_shift, run.random(Holder), width, distribution)
    blocks = two_passes(run, data, shifts)
    labels, names = gather_labels(run, data, class_weight)
    return {
        "classes": names,
        **train(run, run.local(Coordinator, np.concatenate, blocks), labels, kernel, gamma, C, tol, max_iter, probability=probability),
        "shifts": shifts,
        "narrow": run.local(Holder, narrow_columns, data, width, distribution),
    }


@choreography(
    opens={
        Coordinator: "the new records under r_1 + .. + r_q, as the training rows",
        Holder: "the new records of every other holder, each under that holder's unknown vector, the same as in training;"
        " the decision values of its own",
    }
)
def shift_ring_predict(run: Run, data: At[Any], model: At[ShiftedSVM], shifts: At[Shift]) -> At[Any]:
    """Decision values of every holder's own new records, at that holder."""
    return answers(run, model, two_passes(run, data, shifts))


@choreography(opens={Coordinator: "all rows under the sum of all shifts, and r_1, .., r_{q-1} by subtraction"})
def two_passes(run: Run, data: At[Any], shifts: At[Shift]) -> At[Blocks]:
    """Algorithm 1: P_0 ends with every block, moved by r."""
    ring = run.members(Holder)
    held = run.send(Start, Coordinator >> ring[0], run.local(Coordinator, nothing))
    run.local(ring[0], refuse_rows, held)
    for me, after in pairwise(ring):
        moved = run.local(me, joined, held, data, shifts)
        held = run.send(FirstPass, me >> after, run.local(me, FirstPass, moved))  # (3)
    last = run.local(ring[-1], joined, held, data, shifts)
    seen = run.send(Collected, ring[-1] >> Coordinator, run.local(ring[-1], Collected, last))
    if len(ring) == 1:
        return run.local(Coordinator, complete, seen, 1)
    held = run.send(Remaining, Coordinator >> ring[0], run.local(Coordinator, remaining, seen, len(ring)))  # (4)
    done = []
    for i, me in enumerate(ring[:-1]):
        moved = run.local(me, again, held, shifts)
        done.append(run.send(Completed, me >> Coordinator, run.local(me, first, moved)))  # (5)
        if i < len(ring) - 2:
            held = run.send(SecondPass, me >> ring[i + 1], run.local(me, rest, moved))
    return run.local(Coordinator, complete, seen, len(ring), *done)


@choreography(opens={Coordinator: "the class and the weight of every record", Everyone: "the names of the classes"})
def gather_labels(run: Run, data: At[Any], class_weight: dict[Any, float] | str | None) -> tuple[At[LabelledRows], tuple[Any, ...]]:
    """All labels at the coordinator, in the order of the holders; the classes for everyone."""
    told = run.send(OwnLabels, Holder >> Coordinator, run.local(Holder, own_labels, data))
    names = run.publish(Classes, run.local(Coordinator, all_classes, told)).names
    return run.local(Coordinator, all_labels, told, names, class_weight), names


@choreography(opens={Holder: "the decision values of its own records"})
def answers(run: Run, model: At[ShiftedSVM], blocks: At[Blocks]) -> At[Any]:
    """To each holder the values of its own block."""
    values = run.local(Coordinator, decided, model, blocks, run.roster[Holder])
    return run.local(Holder, values_of, run.send(OwnDecisions, Coordinator >> Holder, values))


def train(run: Run, table: At[F64], labels: At[Any], *dual: Any, probability: bool, to: Role = Coordinator) -> dict[str, Any]:
    """The model at `to`, and with `probability` what turns decision values into probabilities, for everyone."""
    model = run.local(to, fit, table, labels, *dual)
    return {"model": model, "sigmoids": own_platt(run, run.local(to, left_out, table, labels, *dual), at=to) if probability else None}


def check_kernel(kernel: str) -> None:
    """Only kernels that do not see a shift."""
    if kernel not in KERNELS:
        raise LocalError(f"kernel={kernel!r} changes when all records are shifted, so its answers would be wrong: use 'linear' or 'rbf'")


# Steps at the holders


def check_labels(part: Records, me: str) -> None:
    """Before anything is sent."""
    if part.y is None and len(part.X):
        raise LocalError(f"{me} has records without labels: in a horizontal split every party labels its own")


def words_of(key: bytes, count: int) -> U64:
    """Uniform words of a secret key that has no other use."""
    drawn = [chunk.copy() for chunk in stream(key, count)]
    return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.uint64)


def own_shift(seed: bytes, width: F64, distribution: str) -> Shift:
    """r_i."""
    return Shift(shift_of(words_of(seed, len(width)), width, distribution), None)


def move(X: F64, shift: Shift) -> F64:
    """The rows as they leave."""
    moved: F64 = (X if shift.turn is None else X @ shift.turn) + shift.r
    return moved


def narrow_columns(part: Records, width: F64, distribution: str) -> I64:
    """Which of its own columns a holder hides badly; nobody else is told."""
    return narrow(part.X, width, distribution)


def refuse_rows(start: Start) -> None:
    """P_1's check of the start: who contributes a row reads the shift off it."""
    if start.blocks:
        rows = sum(len(block) for block in start.blocks)
        raise PeerError(
            f"the coordinator starts the ring with {rows} rows of its own, from which it would learn every shift: stop and ask it"
        )


def joined(held: Start | FirstPass, part: Records, shift: Shift) -> Blocks:
    """(3)."""
    blocks = (*held.blocks, part.X)
    if any(block.ndim != 2 or block.shape[1] != len(shift.r) for block in blocks):  # noqa: PLR2004 - a table
        raise PeerError(f"rows that are not of {len(shift.r)} columns arrived: a horizontal split needs the same features everywhere")
    return tuple(move(block, shift) for block in blocks)


def again(held: Remaining | SecondPass, shift: Shift) -> Blocks:
    """The shift of (5), on all that is held."""
    return tuple(move(block, shift) for block in held.blocks)


def first(blocks: Blocks) -> Completed:
    """Block i + 1 of (5)."""
    return Completed(blocks[0])


def rest(blocks: Blocks) -> SecondPass:
    """Blocks i + 2..q of (5)."""
    return SecondPass(blocks[1:])


def own_labels(part: Records) -> OwnLabels:
    """Indices into the sender's own names."""
    if part.y is None:
        return OwnLabels((), np.empty(0, dtype=np.int64), part.weight)
    names, codes = np.unique(part.y, return_inverse=True)
    return OwnLabels(tuple(names.tolist()), codes.astype(np.int64), part.weight)


def values_of(message: OwnDecisions) -> F64:
    """What the holder asked for."""
    return message.values


# Steps at the coordinator


def nothing() -> Start:
    """S_0."""
    return Start(())


def remaining(seen: Collected, holders: int) -> Remaining:
    """(4)."""
    if len(seen.blocks) != holders:
        raise PeerError(f"{len(seen.blocks)} blocks came around a ring of {holders} holders: stop and ask the last one")
    return Remaining(seen.blocks[1:])


def complete(seen: Collected, holders: int, *done: Completed) -> Blocks:
    """Every block under r."""
    blocks = (*seen.blocks[:1], *(message.block for message in done))
    if len(blocks) != holders or [b.shape for b in blocks] != [b.shape for b in seen.blocks]:
        raise PeerError("the blocks of the second pass are not those of the first: stop and compare the audits")
    return blocks


def all_classes(told: Mapping[str, OwnLabels]) -> Classes:
    """Sorted names."""
    names = tuple(np.unique(np.array([name for message in told.values() for name in message.names])).tolist())
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"the labels of all parties hold one class only ({names}): a classifier needs at least 2 classes")
    return Classes(names)


def all_labels(told: Mapping[str, OwnLabels], names: tuple[Any, ...], class_weight: dict[Any, float] | str | None) -> LabelledRows:
    """Codes by the common names; sample weights times class weights."""
    known = [np.searchsorted(np.array(names), np.array(m.names))[m.codes] if m.names else m.codes for m in told.values()]
    codes = np.concatenate(known).astype(np.int64)
    given = [np.ones(len(m.codes)) if m.weight is None else m.weight for m in told.values()]
    if class_weight is None:
        return LabelledRows(codes, None if all(m.weight is None for m in told.values()) else np.concatenate(given))
    if class_weight == "balanced":
        each = len(codes) / (len(names) * np.bincount(codes, minlength=len(names)))
    else:
        each = np.array([float(class_weight.get(name, 1.0)) for name in names])  # type: ignore[union-attr]
    return LabelledRows(codes, each[codes] * np.concatenate(given))


def fit(X: F64, labels: Any, kernel: str, gamma: float | str, C: float, tol: float, max_iter: int) -> ShiftedSVM:
    """The SVM on rows that are all moved alike; `labels` has codes and weights."""
    if len(labels.codes) != len(X):
        raise LocalError(f"{len(labels.codes)} labels for {len(X)} records: there must be one label per record")
    centre = X.mean(axis=0)
    Z = X - centre
    K, number = _kernel_matrix(X, Z, kernel, gamma)
    found = solve(K, labels.codes, labels.weight, C=C, tol=tol, max_iter=max_iter)
    used = np.flatnonzero(np.any(found.coef, axis=0))
    coef = np.ascontiguousarray(found.coef[:, used])
    return ShiftedSVM(Z[used], centre, coef, found.bias, found.objective, found.iterations, kernel, number)


def left_out(X: F64, labels: Any, kernel: str, gamma: float | str, C: float, tol: float, max_iter: int) -> Scores:
    """Decision values of every record from a model that did not see it."""
    K, _ = _kernel_matrix(X, X - X.mean(axis=0), kernel, gamma)
    return Scores(*out_of_fold(K, labels.codes, labels.weight, C=C, tol=tol, max_iter=max_iter))


def _kernel_matrix(X: F64, Z: F64, kernel: str, gamma: float | str) -> tuple[F64, float]:
    """Of the centred rows; with gamma as a number."""
    norms = np.einsum("ij,ij->i", Z, Z)
    the_kernel = Kernel(kernel, spread_gamma(gamma, Z, norms, X))
    K = the_kernel.from_dots(Z @ Z.T, norms, norms)
    # LIBSVM keeps all but the diagonal in single precision: there too the last digits, which the shift spoils, must break no tie
    np.fill_diagonal(K, K.diagonal().astype(np.float32))
    return K, the_kernel.gamma


def spread_gamma(gamma: float | str, Z: F64, norms: F64, X: F64) -> float:
    """'scale' is 1 / sum of the columns' variances: scikit-learn's looks at the columns' means too, which the shift hides."""
    rounding = Z.size * (4 * np.finfo(np.float64).eps * np.abs(X).max(initial=0.0)) ** 2
    squares = float(norms.sum())
    return gamma_of(gamma, Z.shape[1], Z.size, 0.0, squares if squares > rounding else 0.0)


def decided(model: ShiftedSVM, blocks: Blocks, holders: Sequence[str]) -> Each:
    """The values of every block, for its holder."""
    return Each({party: OwnDecisions(model.decide(block)) for party, block in zip(holders, blocks, strict=True)})
