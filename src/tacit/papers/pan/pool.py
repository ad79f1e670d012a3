"""The coordinator's side of cutting planes: a pool of cuts for each problem, and the small dual under them.

    min_{w,b,R}  1/2 |w|^2 + C R,     R >= m_t - a_t.w - d_t b  for every cut t,   R >= 0                           (1)

Its dual has one variable for each cut, which is all that grows:

    max_x  sum_t x_t m_t - 1/2 |sum_t x_t a_t|^2,    x >= 0,   sum_t x_t <= C,   sum_t x_t d_t = 0                  (2)

with w_a = sum_t x_t a_t and b_a the multiplier of the last equation. The value of (2) is J_red, a bound from below on
the objective J of every model. The best model so far is w_b, whose objective J_best is known exactly, so that training
ends when (J_best - J_red) / J_best is small. (The paper's line 11 tests the cut that was just added, and so stops at
the second iteration, at 4.7 times the optimum.)
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64, Flags
from tacit.choreo import State
from tacit.papers.pan.active_set import solve

STEPS: F64 = np.array([0.0, *2.0 ** np.arange(-8.0, 1.0), 1.5, 2.0])  # k along the line from w_b to w_a
BEYOND = 0.1  # how far beyond the best step, towards w_a, a cut is taken (Franc and Sonnenburg's mu)
LARGEST_BIAS = 1e3  # where one class has no records, and so no cut bounds b
LEVEL = 1e-10  # biases are as good as each other within this share of the largest cut
FLAT = 1e-7  # a cut whose d is below this share of m says nothing about b
TINY = 1e-300


class CutPool(State):
    """A problem's cuts, one a row: a_t and d_t in `a`, m_t in `m`; x of (2) and which of it is free.

    `counts` says which variables are in the sum of (2). `best` is (w_b, b_b) and `ahead` (w_a, b_a). `length` is the
    last step along the line, and `at` the step where the next cut is taken.
    """

    C: float
    a: F64
    m: F64
    counts: F64
    x: F64
    free: Flags
    best: F64
    ahead: F64
    objective: float
    bound: float
    length: float
    at: float

    @property
    def gap(self) -> float:
        """How far the best model can be from the optimum, relative to it."""
        return (self.objective - self.bound) / max(self.objective, TINY)


def start_pool(sides: F64, C: float) -> CutPool:
    """Return the pool with the slack variable of (2) and its first cuts: all records of each of the two sides."""
    size, total = sides.shape[1] - 1, float(sides[:, -1].sum())
    zero, one = np.zeros(size), np.ones(1)
    pool = CutPool(C, zero[None], np.zeros(1), one, C * one, np.ones(1, bool), zero, zero, C * total, 0.0, 0.0, 0.0)
    if sides[:, -1].min() <= 0:
        for sign in (1.0, -1.0):
            pool = add_variable(pool, np.append(zero[:-1], sign), -LARGEST_BIAS, 0.0)
    for cut in sides:
        pool = add_variable(pool, cut[:-1], float(cut[-1]), 1.0)
    return add_cut(pool, sides.sum(axis=0))


def add_cut(pool: CutPool, cut: F64) -> CutPool:
    """Return the pool with one more cut, and (2) solved anew."""
    return minimise(add_variable(pool, cut[:-1], float(cut[-1]), 1.0))


def add_variable(pool: CutPool, a: F64, m: float, counts: float) -> CutPool:
    """Return the pool with one more variable of (2)."""
    return dataclasses.replace(
        pool,
        a=np.vstack([pool.a, a]),
        m=np.append(pool.m, m),
        counts=np.append(pool.counts, counts),
        x=np.append(pool.x, 0.0),
        free=np.append(pool.free, counts > 0),
    )


def minimise(pool: CutPool) -> CutPool:
    """Return the pool at the minimum (w_a, b_a) under its cuts, (2), solved from where it was solved last."""
    A, d = pool.a[:, :-1], pool.a[:, -1]
    found = solve(A @ A.T, pool.m, np.stack([pool.counts, d]), np.array([pool.C, 0.0]), pool.x, pool.free)
    w = found.x @ A
    bound = max(pool.bound, float(pool.m @ found.x - 0.5 * w @ w))
    ahead = np.append(w, find_bias(pool, pool.m - A @ w, float(found.multipliers[1])))
    return dataclasses.replace(pool, x=found.x, free=found.free, ahead=ahead, bound=bound)


def find_bias(pool: CutPool, rest: F64, b: float) -> float:
    """Return the bias nearest to b_b of all that are as good as b under the cuts R >= rest - d b.

    Without this the last bits of the sums would decide which of them the solver finds.
    """
    d, cuts = pool.a[:, -1], pool.counts > 0
    level = max(0.0, float((rest - d * b)[cuts].max())) + LEVEL * float(pool.m.max())
    steep = cuts & (np.abs(d) > FLAT * np.abs(pool.m))
    ends, rises = (rest - level)[steep] / d[steep], d[steep] > 0
    return float(np.clip(pool.best[-1], ends[rises].max(initial=-np.inf), ends[~rises].min(initial=np.inf)))


def move(pool: CutPool, losses: F64) -> CutPool:
    """Return the pool at the best step of its line, from the loss R at every step."""
    w, D = pool.best[:-1], (pool.ahead - pool.best)[:-1]
    J = 0.5 * (w @ w + 2.0 * STEPS * (w @ D) + STEPS**2 * (D @ D)) + pool.C * losses  # (3.8)
    k = float(STEPS[int(J.argmin())])
    return dataclasses.replace(
        pool,
        best=pool.best + k * (pool.ahead - pool.best),
        objective=float(J.min()),
        length=k,
        at=k + BEYOND * (1.0 - k) if k else 1.0,  # a line that leads nowhere is cut at its end
    )
