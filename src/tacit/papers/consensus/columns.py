"""Consensus over columns: every party has some columns of the same records; the sums of their parts are opened.

    min_{w,b}  1/2 sum_m |w_m|^2 + sum_i C_i max(0, 1 - y_i (z_i + b)),     z = sum_m X_m w_m                      (1)

With c_m = X_m w_m, S = sum_m c_m, S^ = alpha S + (1 - alpha) z and d = S^ - r, every round is

    w_m = (I/rho + X_m'X_m)^-1 X_m' [c_m + (z - S + r)/M]           kernel: c_m = K_m (K_m + I/rho)^-1 [...]       (2)
    l_i(b) = clip((rho/M)(1 - y_i (d_i + b)), 0, C_i),   b such that y'l(b) = 0                                    (3)
    z = d + (M/rho) Y l,    r = (M/rho) Y l                                                                        (4)

which are (26) to (29) of the paper with what is missing there: the M, by which parties would take the residual twice,
and b. A kernel is the sum of the parties' kernels, which over columns is not the RBF kernel of all columns.

l satisfies the constraints of the dual, so with |X_m'Yl|^2, or l'Y K_m Y l, summed with the c_m,

    optimum >= sum_i l_i - 1/2 (rho/M)^2 sum_m r'K_m r                                                              (5)

and with sum_m |w_m|^2 the objective of (1) at S is known. A training ends when they are within `tol`. It takes many
rounds: 100 to 2,000.

A new record's value is sum_m x_m.w_m + b, a sum that is opened at who asks.

Roles. Holder: columns. Labeller: the holder with the labels. Coordinator: opens the sums. Asker: is told the values.

Threat. Semi-honest; coalitions as `secure_sum`, and weak: from as many sums as there are columns and as many known
records all records follow, and with many rounds a party's columns without any (`attacks`). It runs in simulation only.

Source: 000 section IV.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky

from tacit.arrays import F64
from tacit.choreo import (
    Asker,
    At,
    Coordinator,
    Everyone,
    Fact,
    Holder,
    Labeller,
    Message,
    Result,
    Run,
    State,
    choreography,
)
from tacit.choreo.protocol import Declaration
from tacit.numeric.svm.kernels import OVR, Kernel, problems, signs_of
from tacit.papers.columns import sizes
from tacit.papers.consensus.rows import OF_CONSENSUS
from tacit.papers.facts import DECISION_VALUES, EVERY_LABEL
from tacit.papers.labels import Labels, send_labels
from tacit.papers.machine import gamma_of, value_classes
from tacit.papers.parameters import WEAK, fixed_point
from tacit.protocols.classes import Classes, name_classes
from tacit.protocols.facts import CLASSES, SIZES
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import ClassWeight, Names, Records, Table
from tacit.protocols.sums.secure_sum import protect, secure_sum

AUTO = 0.1  # rho="auto", times M

PARTS = Fact(
    "consensus.column_sums",
    "holders",
    "record",
    "record",
    "in every round the sum of all parties' parts of every record's value: as many of them as columns span these",
)
SQUARES = Fact(
    "consensus.column_squares", "holders", "aggregate", "all", "in every round the squares of weights, over all parties"
)
BIAS = Fact("consensus.bias", "holders", "model", "all", "the biases of the model, and how far it is from the optimum")


@dataclass(frozen=True, kw_only=True)
class ColumnSettings(AnyKernel):
    """The parameters of a consensus over columns; `ConsensusSVC` says what they mean."""

    C: float
    rho: float | str = "auto"
    over_relaxation: float = 1.6
    multi_class: str = OVR
    class_weight: ClassWeight = None
    tol: float = 1e-3
    max_rounds: int = 1000


class Target(Message, tells=PARTS):
    """(z - S + r)/M and r, a column for each problem."""

    share: F64
    r: F64


class Biases(Message, tells=BIAS):
    """b of every problem, objective and bound."""

    bias: F64
    objective: F64
    bound: F64


class ColumnShare(State):
    """A party's part of the model: weights of its columns, or of the training records by its own kernel."""

    kernel: str
    gamma: float
    degree: int
    coef0: float
    X: F64
    weights: F64

    def values(self, X: F64) -> F64:
        """Return the party's part of the values of some records."""
        if self.kernel == "linear":
            return X @ self.weights
        own = Kernel(self.kernel, self.gamma, self.degree, self.coef0)
        return kernel_values(own, X, self.X) @ self.weights


class Ground(State):
    """What a party computes once: its columns or its kernel, and the factor of (2)."""

    A: F64
    factor: F64
    linear: bool


class Parts(State):
    """A party's weights, its c_m, and its parts of the squares in (1) and (5)."""

    weights: F64
    c: F64
    squares: F64


class Side(State):
    """What the coordinator knows: signs, prices, and z, S, r, b of every problem; objective, best bound."""

    signs: F64
    price: F64
    z: F64
    S: F64
    r: F64
    bias: F64
    objective: F64
    bound: F64


class TrainedColumns(Result):
    """What a training leaves: every holder keeps its share; classes, biases and figures are public."""

    classes: Names
    bias: F64
    objective: F64
    bound: F64
    rounds: int
    shares: At[ColumnShare]


@dataclass(frozen=True)
class Step:
    """rho, alpha and M."""

    rho: float
    alpha: float
    holders: int

    @property
    def k(self) -> float:
        """Rho / M of (3)."""
        return self.rho / self.holders


@choreography(
    opens={
        Coordinator: (PARTS, SQUARES, EVERY_LABEL),
        Holder: PARTS,
        Everyone: (SIZES, CLASSES, BIAS),
    }
)
def consensus_columns(run: Run, data: At[Records], *, svm: ColumnSettings) -> TrainedColumns:
    """Train; every holder ends with its `ColumnShare`, and everyone with the biases."""
    named = run.local(Labeller, name_classes, data, svm.class_weight)
    by, fixed = protect(run), fixed_point(run)
    classes = run.publish(Classes, named).names
    sizes(run, data)
    labels = send_labels(run, data, classes, svm.class_weight)
    M = len(run.members(Holder))
    step = Step(AUTO * M if isinstance(svm.rho, str) else float(svm.rho), svm.over_relaxation, M)
    ground = run.local(Holder, factor, data, svm, step.rho)
    count = len(problems(len(classes), svm.multi_class))
    s = run.carry(
        side=run.local(Coordinator, begin, labels, len(classes), svm, step),
        parts=run.local(Holder, no_parts, ground, count),
        rounds=0,
        last=(np.zeros(count), np.full(count, np.inf), np.full(count, -np.inf)),
    )
    for t in run.rounds(svm.max_rounds, s):
        told = run.send(Target, Coordinator >> Holder, run.local(Coordinator, aim, s.side, M))
        s.parts = run.local(Holder, follow, ground, s.parts, told)
        total = secure_sum(run, run.local(Holder, list_part, s.parts), to=Coordinator, by=by, fixed=fixed, what="parts")
        s.side = run.local(Coordinator, meet, s.side, total, step)
        now = run.publish(Biases, run.local(Coordinator, tell_biases, s.side))
        run.note(objective=float(now.objective.sum()), bound=float(now.bound.sum()))
        s.rounds, s.last = t + 1, (now.bias, now.objective, now.bound)
        if bool(np.all(now.objective - now.bound <= svm.tol * np.abs(now.objective))):
            break
    bias, objective, bound = s.last
    return TrainedColumns(
        classes=classes,
        bias=bias,
        objective=objective,
        bound=bound,
        rounds=s.rounds,
        shares=run.local(Holder, keep_share, data, ground, s.parts, svm),
    )


@choreography(opens={Asker: DECISION_VALUES, Everyone: SIZES})
def consensus_columns_predict(
    run: Run, data: At[Table], shares: At[ColumnShare], *, bias: F64, multi_class: str
) -> At[F64]:
    """Return decision values of new records, at the asker."""
    sizes(run, data)
    own = run.local(Holder, value_records, data, shares)
    total = secure_sum(run, own, to=Asker, by=protect(run), fixed=fixed_point(run), what="values")
    return run.local(Asker, add_biases, total, bias, multi_class)


# Steps at the holders


def kernel_values(kernel: Kernel, A: F64, B: F64) -> F64:
    """Return K(A, B)."""
    return kernel.from_dots(A @ B.T, np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B))


def own_kernel(part: Table, svm: ColumnSettings) -> Kernel:
    """Return a party's kernel: 'scale' and 'auto' are of its own columns, so that nothing has to be told."""
    X = part.X
    moments = float(X.sum()), float(np.einsum("ij,ij->", X, X))
    gamma = gamma_of(svm.gamma, X.shape[1], X.size, *moments) if X.size else 1.0
    return Kernel(svm.name, gamma, svm.degree, svm.coef0)


def factor(part: Records, svm: ColumnSettings, rho: float) -> Ground:
    """Return the factor of (2), made once for all rounds; A is X_m, or K_m, which a party without columns has not."""
    linear = svm.name == "linear" or not part.X.shape[1]
    A = part.X if linear else kernel_values(own_kernel(part, svm), part.X, part.X)
    G = A.T @ A if linear else A.copy()
    G[np.diag_indices(len(G))] += 1.0 / rho
    return Ground(A, cholesky(G, lower=True) if len(G) else G, linear)


def no_parts(ground: Ground, problems: int) -> Parts:
    """Return the parts of the first round: nothing."""
    return Parts(np.zeros((ground.A.shape[1], problems)), np.zeros((len(ground.A), problems)), np.zeros((2, problems)))


def follow(ground: Ground, parts: Parts, told: Target) -> Parts:
    """Return a party's weights and c_m by (2), and its squares."""
    A, target = ground.A, parts.c + told.share
    if not A.shape[1]:
        return parts
    weights = cho_solve((ground.factor, True), A.T @ target if ground.linear else target)
    c = A @ weights
    pulled = A.T @ told.r
    own, pull = (weights**2, pulled**2) if ground.linear else (weights * c, told.r * pulled)
    return Parts(weights, c, np.stack([own.sum(axis=0), pull.sum(axis=0)]))


def list_part(parts: Parts) -> F64:
    """Return what is summed: c_m, and the squares in the last two rows."""
    return np.concatenate([parts.c, parts.squares])


def keep_share(part: Records, ground: Ground, parts: Parts, svm: ColumnSettings) -> ColumnShare:
    """Return the party's part of the model."""
    kernel = own_kernel(part, svm)
    X = np.empty((0, part.X.shape[1])) if ground.linear else part.X
    name = "linear" if ground.linear else kernel.name
    return ColumnShare(name, kernel.gamma, kernel.degree, kernel.coef0, X, parts.weights)


def value_records(part: Table, share: ColumnShare) -> F64:
    """Return a party's part of the values of new records."""
    return share.values(part.X)


# Steps at the coordinator, and at who asks


def begin(labels: Labels, classes: int, svm: ColumnSettings, step: Step) -> Side:
    """Return what the coordinator knows before anything was summed."""
    signs = signs_of(labels.codes, problems(classes, svm.multi_class)).astype(np.float64)
    weight = np.ones(len(signs)) if labels.weight is None else labels.weight
    nothing, none = np.zeros(signs.shape), np.full(signs.shape[1], np.inf)
    side = Side(signs, svm.C * weight[:, None] * np.abs(signs), nothing, nothing, nothing, none, none, -none)
    return take_margins(side, nothing, step)


def aim(side: Side, holders: int) -> Target:
    """Return what the parties go for in (2)."""
    return Target((side.z - side.S + side.r) / holders, side.r)


def meet(side: Side, total: F64, step: Step) -> Side:
    """Return the coordinator's side after a round: (3), (4), and how far it is from the optimum."""
    S, (squares, pulled) = total[:-2], total[-2:]
    own = step.k * side.signs * side.r
    bound = np.maximum(side.bound, own.sum(axis=0) - 0.5 * step.k**2 * pulled)
    after = take_margins(dataclasses.replace(side, bound=bound), S, step)
    lost = side.price * np.maximum(0.0, 1.0 - side.signs * (S + after.bias))
    return dataclasses.replace(after, objective=0.5 * squares + lost.sum(axis=0))


def take_margins(side: Side, S: F64, step: Step) -> Side:
    """Return the side after (3) and (4)."""
    d = step.alpha * S + (1.0 - step.alpha) * side.z - side.r
    multipliers, b = hinge(d, side.signs, side.price, step.k)
    r = side.signs * multipliers / step.k
    return dataclasses.replace(side, z=d + r, S=S, r=r, bias=b)


def hinge(d: F64, y: F64, price: F64, k: float) -> tuple[F64, F64]:
    """Return l and b of (3) for every column of d, with k = rho/M.

    y'l(b) falls in straight pieces, so b is found between two sorted ends of them.
    """
    ends = np.concatenate([y - d, y - d - y * price / k])
    order = np.argsort(ends, axis=0)
    at = np.take_along_axis(ends, order, axis=0)
    # y'l falls by k more after the lower end of a row's piece, by k less after the upper one
    turn = np.take_along_axis(np.concatenate([k * y, -k * y]), order, axis=0)
    slope = np.cumsum(turn, axis=0)[:-1]
    top = np.where(y > 0, price, 0.0).sum(axis=0)
    value = np.vstack([top, top + np.cumsum(slope * np.diff(at, axis=0), axis=0)])
    last = len(at) - 1 - np.argmax(value[::-1] >= 0, axis=0)  # the last end at which it is not below 0
    last = np.minimum(last, len(at) - 2)
    each = np.arange(d.shape[1])
    fall = slope[last, each]
    b = at[last, each] - np.divide(value[last, each], fall, out=np.zeros_like(fall), where=fall < 0)
    return np.clip(k * (1.0 - y * (d + b)), 0.0, price), b


def tell_biases(side: Side) -> Biases:
    """Return b, objective and bound."""
    return Biases(side.bias, side.objective, side.bound)


def add_biases(total: F64, bias: F64, multi_class: str) -> F64:
    """Return the decision values of all classes."""
    return value_classes(total + bias, multi_class)


CONSENSUS_COLUMNS = Declaration(consensus_columns, attacked=WEAK, parameters=OF_CONSENSUS)
CONSENSUS_COLUMNS_PREDICT = Declaration(consensus_columns_predict, attacked=WEAK)
