"""Top layer of PAN-SVM: linear SVMs over rows that many hold, by cutting planes whose cuts are secure sums.

The problem. Every holder has rows f_i (with a last entry 1, for the bias) with signs y_i and weights s_i. For each
problem, in the paper's letters

    min_{w,b}  J = 1/2 |w|^2 + C R(w,b),     R(w,b) = sum_i s_i max(0, 1 - y_i (f_i.w + b))                       (3.7)

1. w = 0, so every row violates the margin; 3 of each side by itself, which bounds b              Algorithm 2, line 1
2. c_i = 1 where y_i (f_i.w + b) < 1, else 0                                                                   line 5
3. m = sum_i c_i s_i,   a = sum_i c_i s_i y_i f_i,   d = sum_i c_i s_i y_i         by a secure sum             line 7
4. (w_a, b_a) = the minimum under all cuts  R >= m - a.w - d b                      (`pool`)                   line 10
5. J along the line w_b + k (w_a - w_b), at twelve steps k, by one secure sum of R:                       Algorithm 3

       J(k) = 1/2 |w_b + k (w_a - w_b)|^2 + C R(w_b + k (w_a - w_b), ...)                                         (3.8)

   The best step becomes w_b; the next cut, 2 and 3, is taken a little beyond it.
6. Again from 4, until (J_best - J_red) / J_best < tol.

Corrected: line 5 is printed without b; the loss of (3.8) is not that of (3.7), and (3.9) leaves out b; line 11 tests
the cut that was just added. Algorithm 3 opens a sum for each step of constant length until the slope (3.9)
turns positive; here the exact losses of all steps of a line are one sum, with steps halved towards w_b, which takes as
many cuts as a bisection does. All problems (pairs of classes, folds) advance together, and cost the rounds of one.

Roles. Holder: rows. Coordinator: opens the sums, solves 4, publishes every model on the way.

Threat. Semi-honest; coalitions as `secure_sum`. Not protected, although the paper says that sums protect each record:
near the optimum a round moves few rows over the margin, so that two sums differ by single rows, which their difference
is (`attacks.few_violators`); and a coordinator that publishes models of its own choice cuts any row off from all others
in about 20 rounds (`attacks.chosen_iterate`).

Source: 004 section 3.2.2.3, Algorithms 2 and 3; Franc and Sonnenburg, ICML 2008, for the line and the place of the cut.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.papers.pan.pool import STEPS, CutPool, add_cut, move, start_pool
from tacit.protocols.sums.secure_sum import Protection, secure_sum

USUAL = 40  # rounds

CUT_SUMS = Fact(
    "pan_svm.cut_sums", "holder", "record", "record",
    "the sum of all mapped records on each side of each problem, and in every round that of all within the margin of"
    " the model at hand, with the loss at twelve models: two sums that differ by one record give it away",
)  # fmt: skip
ITERATES = Fact(
    "pan_svm.iterates", "holders", "model", "all", "the model of every round of cutting planes, and the last one"
)
OBJECTIVES = Fact("pan_svm.objectives", "holders", "aggregate", "all", "objectives, with bounds from below")


class Minima(Message, tells=(ITERATES, OBJECTIVES)):
    """The minima (w_a, b_a) under the cuts so far, of the problems `live` that go on; J_best and J_red of all."""

    live: I64
    w: F64
    objective: F64
    bound: F64


class LineStep(
    Message,
    tells=Fact("pan_svm.steps", "holders", "model", "all", "how far each problem moves, and where its next cut is"),
):
    """How far every problem that goes on moves along its line, and at which step its next cut is taken."""

    length: F64
    at: F64


class Planes(Message, tells=(ITERATES, OBJECTIVES)):
    """The final models of all problems, a row each with b last; objectives and bounds; rounds."""

    w: F64
    objective: F64
    bound: F64
    rounds: int


class SignedRows(State):
    """A holder's rows f_i with a last entry 1, their sign in every problem (0: in none of its classes), and weights."""

    F: F64
    signs: I8
    weight: F64


class Standing(State):
    """f_i.w + b of a holder's rows: at the best model of every problem, and at w_a of those that go on."""

    best: F64
    ahead: F64


@dataclass(frozen=True)
class Solver:
    """How exactly problems are solved, and how the sums of the run are protected."""

    C: float
    tol: float
    max_rounds: int
    by: Protection
    fixed: FixedPoint


@choreography(opens={Coordinator: CUT_SUMS, Everyone: (ITERATES, OBJECTIVES)})
def cut_planes(run: Run, rows: At[SignedRows], *, how: Solver) -> Planes:
    """Solve (3.7) of every column of signs; everyone ends with the models."""
    first = add_rows(run, run.local(Holder, cut_at_origin, rows), how, "first cuts")
    s = run.carry(
        pools=run.local(Coordinator, start_pools, first, how.C),
        stand=run.local(Holder, stand_at_origin, rows),
        rounds=0,
    )
    for _ in run.rounds(how.max_rounds, s):
        go = run.publish(Minima, run.local(Coordinator, list_minima, s.pools, how.tol))
        run.note(objective=float(go.objective.sum()), bound=float(go.bound.sum()), gap=find_gap(go))
        if not len(go.live):
            break
        s.stand = run.local(Holder, look_ahead, rows, s.stand, go)
        losses = add_rows(run, run.local(Holder, lose_along, rows, s.stand, go.live), how, "losses")
        s.pools = run.local(Coordinator, move_pools, s.pools, losses, go.live)
        step = run.publish(LineStep, run.local(Coordinator, list_steps, s.pools, go.live))
        cuts = add_rows(run, run.local(Holder, cut_between, rows, s.stand, go.live, step), how, "cuts")
        s.stand = run.local(Holder, move_on, s.stand, go.live, step)
        s.pools = run.local(Coordinator, cut_pools, s.pools, cuts, go.live)
        s.rounds = s.rounds + 1
    return run.publish(Planes, run.local(Coordinator, list_planes, s.pools, s.rounds))


def add_rows(run: Run, parts: At[F64], how: Solver, what: str) -> At[F64]:
    """Return the sum of what all holders made of their rows, at the coordinator."""
    return secure_sum(run, parts, to=Coordinator, by=how.by, fixed=how.fixed, what=what)


def find_gap(told: Minima | Planes) -> float:
    """Return the largest relative gap of all problems."""
    return float(((told.objective - told.bound) / np.maximum(told.objective, 1e-300)).max())


# Steps at the holders


def cut_at_origin(rows: SignedRows) -> F64:
    """Return a, d and m of lines 5 to 7 at w = 0 for each side of every problem: all rows are within the margin."""
    sides = [np.where(side * rows.signs > 0, rows.signs, 0) for side in (1, -1)]
    return np.stack([sum_within(rows, side.astype(np.int8), np.zeros(side.shape)) for side in sides], axis=1)


def stand_at_origin(rows: SignedRows) -> Standing:
    """Return the values of all rows at w = 0."""
    return Standing(np.zeros(rows.signs.shape), np.empty((len(rows.F), 0)))


def look_ahead(rows: SignedRows, stand: Standing, go: Minima) -> Standing:
    """Return where the rows stand, with their values at w_a."""
    return dataclasses.replace(stand, ahead=rows.F @ go.w.T)


def lose_along(rows: SignedRows, stand: Standing, live: I64) -> F64:
    """Return a holder's part of R at every step of every line."""
    y, start = rows.signs[:, live], stand.best[:, live]
    weight, D = rows.weight[:, None] * (y != 0), stand.ahead - start
    return np.stack([(weight * np.maximum(0.0, 1.0 - y * (start + k * D))).sum(axis=0) for k in STEPS], axis=1)


def cut_between(rows: SignedRows, stand: Standing, live: I64, step: LineStep) -> F64:
    """Return a, d and m of lines 5 to 7 for every problem that goes on, at its place on the line."""
    start = stand.best[:, live]
    return sum_within(rows, rows.signs[:, live], start + step.at * (stand.ahead - start))


def sum_within(rows: SignedRows, y: I8, values: F64) -> F64:
    """Return a, d and m of the rows within the margin at these values, a line for each problem."""
    c = rows.weight[:, None] * ((y != 0) & (y * values < 1.0))  # line 5
    return np.column_stack([(c * y).T @ rows.F, c.sum(axis=0)])  # line 7


def move_on(stand: Standing, live: I64, step: LineStep) -> Standing:
    """Return where the rows stand once every problem has moved along its line."""
    best = stand.best.copy()
    best[:, live] += step.length * (stand.ahead - best[:, live])
    return dataclasses.replace(stand, best=best)


# Steps at the coordinator

Pools = tuple[CutPool, ...]


def start_pools(first: F64, C: float) -> Pools:
    """Return a pool for each problem, with its first cut."""
    return tuple(start_pool(cut, C) for cut in first)


def list_minima(pools: Pools, tol: float) -> Minima:
    """Return where the problems look next whose gap is not small yet."""
    live = [k for k, pool in enumerate(pools) if pool.gap > tol]
    w = np.array([pools[k].ahead for k in live]).reshape(len(live), len(pools[0].ahead))
    return Minima(np.array(live, dtype=np.int64), w, *list_figures(pools))


def move_pools(pools: Pools, losses: F64, live: I64) -> Pools:
    """Return the pools with those that go on at the best step of their line."""
    along = dict(zip(live.tolist(), losses, strict=True))
    return tuple(move(pool, along[k]) if k in along else pool for k, pool in enumerate(pools))


def list_steps(pools: Pools, live: I64) -> LineStep:
    """Return how far the problems moved that go on, and where they take their next cut."""
    return LineStep(np.array([pools[k].length for k in live]), np.array([pools[k].at for k in live]))


def cut_pools(pools: Pools, cuts: F64, live: I64) -> Pools:
    """Return the pools with a new cut and a new minimum, line 9 and 10, of those that go on."""
    new = dict(zip(live.tolist(), cuts, strict=True))
    return tuple(add_cut(pool, new[k]) if k in new else pool for k, pool in enumerate(pools))


def list_planes(pools: Pools, rounds: int) -> Planes:
    """Return the best models of all problems."""
    return Planes(np.array([pool.best for pool in pools]), *list_figures(pools), rounds)


def list_figures(pools: Pools) -> tuple[F64, F64]:
    """Return objectives and bounds of all problems."""
    return np.array([pool.objective for pool in pools]), np.array([pool.bound for pool in pools])
