"""The pairwise rule: what a coordinator sees of a cutting-plane solver that opens counts, losses and sums over sets.

This is the solver and the hold-back rule of release 0.1.0, on rows in one place, for attacks to be measured against.
For two classes, with rows f_i, signs y_i and weights s_i, it solves

    min_{w,b}  J = 1/2 |w|^2 + C R(w,b),     R(w,b) = sum_i s_i max(0, 1 - y_i (f_i.w + b))                     (1)

by cuts. A set V of rows gives one, and its sum is opened:

    R(w,b) >= c - a.w - d b,      c = sum_V s_i,   a = sum_V s_i y_i f_i,   d = sum_V s_i y_i                   (2)

The dual under the cuts gives the model w_a, b_a. Along the line from the best model so far, w_b, b_b, to w_a, b_a these
are opened:

    n(k) = #{i: m_i(k) < 1},      R(k) = sum_i s_i max(0, 1 - m_i(k)),      m_i(k) = margin of row i at step k  (3)

The rule is about pairs: a set is summed only if it differs by `min_count` rows from each set that was summed before;
the empty set, the set of all rows and the two classes are among these. Losses are held back where 0 < n(k) <
`min_count`. To keep the rule, the coordinator learns by how many rows the sets differ, which is the Gram matrix of the
sets:

    |V_s & V_t| = (|V_s| + |V_t| - |V_s ^ V_t|) / 2                                                             (4)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, Flags
from tacit.numeric.svm.active_set import solve

STEPS: F64 = np.concatenate([[0.0], 2.0 ** (np.arange(-30, 1) / 3), [1.25, 1.5, 2.0, 3.0]])
CUTS: NDArray[np.intp] = np.flatnonzero(STEPS >= 1 / 16)[::2]  # the steps at which a cut may be taken
BEYOND = 0.1  # how far beyond the best step a cut is taken
BIAS = 1e3  # bounds b where a class is too small for its cut to be opened
UNIT = 2.0**-32  # opened sums are whole multiples of it
TINY = 1e-300


@dataclass(frozen=True)
class Line:
    """What is opened along one line (3): its two ends, and at every step the count and the loss.

    Nan where the loss is held back.
    """

    w_b: F64
    b_b: float
    w_a: F64
    b_a: float
    steps: F64
    counts: F64
    losses: F64


@dataclass(frozen=True)
class View:
    """What a coordinator saw in one training.

    A line (a, d, c) of (2) for each sum, the Gram matrix (4) of the sets if it is known, and the lines (3).
    """

    sums: F64
    gram: F64 | None = None
    lines: tuple[Line, ...] = ()
    rounds: int = 0


@dataclass(frozen=True)
class Pool:
    """The rows of all parties, which no party has."""

    F: F64
    y: F64
    weight: F64

    def margins(self, w: F64, b: float) -> F64:
        """Return the margin of every row under a model."""
        return self.y * (self.F @ w + b)

    def sum_over(self, V: Flags) -> F64:
        """Return (a, d, c) of (2), rounded as a secure sum rounds it."""
        signed = np.where(V, self.weight * self.y, 0.0)
        total = np.concatenate([signed @ self.F, [signed.sum(), self.weight[V].sum()]])
        return np.asarray(np.rint(total / UNIT) * UNIT)


@dataclass(frozen=True)
class Cuts:
    """The dual of (1) under its cuts.

    A line (a, d, c) for each, whether it counts against C, and where the dual was solved last.
    """

    sums: F64
    counts: F64
    x: F64
    free: Flags

    def with_cut(self, total: F64, counts: float = 1.0) -> Cuts:
        """Return the dual with one more variable."""
        return Cuts(
            sums=np.vstack([self.sums, total]),
            counts=np.append(self.counts, counts),
            x=np.append(self.x, 0.0),
            free=np.append(self.free, [False]),
        )

    def minimum(self, C: float) -> tuple[Cuts, F64, float, float]:
        """Return the dual at its solution, the model w_a, b_a there, and the bound from below on J."""
        a, d, c = self.sums[:, :-2], self.sums[:, -2], self.sums[:, -1]
        found = solve(a @ a.T, c, np.stack([self.counts, d]), np.array([C, 0.0]), self.x.copy(), self.free)
        w = found.x @ a
        bias, value = float(found.multipliers[1]), float(c @ found.x - 0.5 * w @ w)
        return replace(self, x=found.x, free=found.free), w, bias, value


@dataclass
class State:
    """Where the solver is in a training.

    Its cuts, the best model with its margins, the sets that were summed, and what was opened.
    """

    cuts: Cuts
    w: F64
    margin: F64
    objective: float
    sets: list[Flags]
    unopened: int  # of the first sets: the empty one, and that of all rows where its sum follows from the classes
    b: float = 0.0
    bound: float = 0.0
    stuck: bool = False
    lines: list[Line] = field(default_factory=list)

    def settled(self, tol: float) -> bool:
        """Return whether the best model is near enough to the optimum, or no step can be taken any more."""
        return self.stuck or (self.objective - self.bound) / max(self.objective, TINY) <= tol


def pairwise_rule(
    F: F64,
    y: F64,
    *,
    C: float = 1.0,
    tol: float = 1e-3,
    max_rounds: int = 500,
    min_count: int = 5,
    weight: F64 | Mapping[int, float] | None = None,
) -> View:
    """Return what the coordinator sees of one training.

    `y` is -1 or +1, `weight` is of every row, or of each of the two classes.
    """
    pool = Pool(np.asarray(F, np.float64), np.asarray(y, np.float64), _weights(y, weight))
    state = _first(pool, C, min_count)
    rounds = 0
    for t in range(max_rounds):
        rounds = t + 1
        if not state.settled(tol):
            state.cuts, w_a, b_a, bound = state.cuts.minimum(C)
            state.bound = max(state.bound, bound)
        if state.settled(tol) or rounds == max_rounds:
            break
        _advance(pool, state, w_a, b_a, C, max(1, min_count))
    opened = state.sets[state.unopened :]
    sets = np.array(opened, np.float64)
    return View(np.array([pool.sum_over(V) for V in opened]), sets @ sets.T, tuple(state.lines), rounds)


def _weights(y: F64, weight: F64 | Mapping[int, float] | None) -> F64:
    if weight is None:
        return np.ones(len(y))
    if isinstance(weight, Mapping):
        return np.where(np.asarray(y) > 0, float(weight[1]), float(weight[-1]))
    return np.asarray(weight, np.float64)


def _first(pool: Pool, C: float, min_count: int) -> State:
    """Return where the solver starts: w = 0, with the cuts of both classes and of all rows.

    There is the cut of all rows only where a class is small.
    """
    n, size = pool.F.shape
    plus, minus, every = pool.y > 0, pool.y < 0, np.ones(n, bool)
    both = min(plus.sum(), minus.sum()) >= max(1, min_count)
    cuts = Cuts(np.zeros((1, size + 2)), np.ones(1), np.full(1, C), np.ones(1, bool))
    if both:
        first = [pool.sum_over(plus), pool.sum_over(minus)]
        first.append(first[0] + first[1])
    else:
        first = [pool.sum_over(every)]
        for sign in (1.0, -1.0):
            cuts = cuts.with_cut(np.concatenate([np.zeros(size), [sign, -BIAS]]), 0.0)
    for total in first:
        cuts = cuts.with_cut(total)
    sets = [~every, every, *([plus, minus] if both else [])]
    return State(cuts, np.zeros(size), np.zeros(n), C * float(first[-1][-1]), sets, unopened=1 + int(both))


def _advance(pool: Pool, state: State, w_a: F64, b_a: float, C: float, least: int) -> None:
    """Play one round: look along the line, go to its best step, and take the next cut where the rule allows it."""
    ahead = pool.margins(w_a, b_a)
    counts, losses = along(state.margin, ahead, pool.weight)
    losses = np.where((counts == 0) | (counts >= least), losses, np.nan)
    state.lines.append(Line(state.w, state.b, w_a, b_a, STEPS, counts, losses))
    best, wanted = _best_steps(_objectives(state, w_a, losses, C))
    sets = (state.margin + STEPS[k] * (ahead - state.margin) < 1.0 for k in wanted)
    V = next((each for each in sets if _allowed(each, state.sets, least)), None)
    length, state.stuck = float(STEPS[best[0]]), V is None and best[0] == 0
    state.w = state.w + length * (w_a - state.w)
    state.b += length * (b_a - state.b)
    state.margin = state.margin + length * (ahead - state.margin)
    state.objective = best[1]
    if V is not None:
        state.sets.append(V)
        state.cuts = state.cuts.with_cut(pool.sum_over(V))


def _allowed(V: Flags, sets: list[Flags], least: int) -> bool:
    """Return whether a set differs enough from every set that was summed: the pairwise rule."""
    return all(int(np.sum(V ^ other)) >= least for other in sets)


def _objectives(state: State, w_a: F64, losses: F64, C: float) -> F64:
    w, D = state.w, w_a - state.w
    J = 0.5 * (w @ w + 2 * STEPS * (w @ D) + STEPS**2 * (D @ D)) + C * losses
    J[0] = state.objective
    return np.where(np.isnan(losses), np.inf, J)


def _best_steps(objective: F64) -> tuple[tuple[int, float], NDArray[np.intp]]:
    """Return the number of the best step with its objective, and the steps for a cut, most wanted first."""
    best = int(np.argmin(objective))
    wanted = STEPS[best] + BEYOND * (1.0 - STEPS[best])
    return (best, float(objective[best])), CUTS[np.argsort(np.abs(STEPS[CUTS] - wanted), kind="stable")]


def along(margin: F64, ahead: F64, weight: F64, steps: F64 = STEPS) -> tuple[F64, F64]:
    """Return n(k) and R(k) of (3) at every step between the two models."""
    short = 1.0 - (margin + steps[:, None] * (ahead - margin))
    losses = np.maximum(short, 0.0) @ weight
    return np.sum(short > 0.0, axis=1).astype(np.float64), np.asarray(np.rint(losses / UNIT) * UNIT)
