"""One pool of cuts at the coordinator.

A linear SVM under its cuts, (3) of `cutting_plane`, at one price after the other.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64, Flags
from tacit.choreo import State
from tacit.numeric.svm.active_set import solve

TINY = 1e-300
BIAS = 1e3  # bounds b where one class has no rows, and so no cut
STEPS: F64 = np.array([0.0, *2.0 ** np.arange(-8.0, 1.0), 1.5, 2.0])  # along the line from w_b to w_a
BEYOND = 0.1  # how far beyond the best step towards the new model a cut is taken (Franc and Sonnenburg's mu)
FIRST, GROWTH = 0.01, 1.3  # the price rises from this share of the first one, by this factor a round
# pools of groups end where objective and bound have come no closer, by this factor, in so many rounds
SHRINK, PATIENCE = 0.98, 15
SLACK = 0.2  # the share of the gap that rounding may miss
LEVEL = 1e-10  # biases are as good as each other within this share of the largest cut
FLAT = 1e-7  # a cut with d below this share of c says nothing about b


class Planes(State):
    """A pool: its cuts, the last x of (3), the best model so far, and where it stands.

    `e` says whether a variable counts in the sum of (3). `now` is the price at which directions are sought, which
    rises to the price `prices[at]` that is asked for; `objective` and `bound` are of the latter. `w_at` and `figures`
    hold a row for every price that is done: the model; b, objective, bound, and whether it ended before `tol`.
    """

    a: F64
    c: F64
    d: F64
    e: F64
    H: F64
    x: F64
    free: Flags
    minimum: F64
    w: F64
    b: float
    objective: float
    bound: float
    prices: tuple[float, ...]
    at: int
    now: float
    growth: float
    age: int
    w_at: F64
    figures: F64

    @property
    def price(self) -> float:
        """The price C at hand."""
        return self.prices[min(self.at, len(self.prices) - 1)]

    @property
    def done(self) -> bool:
        """Whether every price is solved."""
        return self.at >= len(self.prices)

    @property
    def gap(self) -> float:
        """How far the best model can be from the optimum, relative to it."""
        return float(relative_gap(self.objective, self.bound))


def first_planes(sums: F64, prices: tuple[float, ...], *, exact: bool) -> Planes:
    """Return a pool with the slack of (3) and its first cuts: the two classes, and all rows, which follow from both."""
    size, start, growth = sums.shape[1] - 2, *((prices[0], np.inf) if exact else (FIRST * prices[0], GROWTH))
    planes = Planes(
        a=np.zeros((1, size)),
        c=np.zeros(1),
        d=np.zeros(1),
        e=np.ones(1),
        H=np.zeros((1, 1)),
        x=np.full(1, start),
        free=np.ones(1, bool),
        minimum=np.zeros(size + 1),
        w=np.zeros(size),
        b=0.0,
        objective=prices[0] * float(sums[:, -1].sum()),
        bound=0.0,
        prices=prices,
        at=0,
        now=start,
        growth=growth,
        age=0,
        w_at=np.empty((0, size)),
        figures=np.empty((0, 4)),
    )
    if sums[:, -1].min() <= 0:  # |b| <= BIAS, since no cut bounds it
        for sign in (1.0, -1.0):
            planes = _add_variable(planes, np.zeros(size), sign, -BIAS, 0.0)
    for cut in (*sums, sums.sum(axis=0)):
        planes = add_cut(planes, cut)
    return planes


def add_cut(planes: Planes, sums: F64) -> Planes:
    """Return the pool with one more cut (2)."""
    return _add_variable(planes, sums[:-2], float(sums[-2]), float(sums[-1]), 1.0)


def _add_variable(planes: Planes, a: F64, d: float, c: float, e: float) -> Planes:
    """Return the pool with one more variable of (3)."""
    n, H = len(planes.c), np.empty((len(planes.c) + 1,) * 2)
    H[:n, :n], H[n, n] = planes.H, a @ a
    H[:n, n] = H[n, :n] = planes.a @ a
    return dataclasses.replace(
        planes,
        a=np.concatenate([planes.a, a[None]]),
        c=np.append(planes.c, c),
        d=np.append(planes.d, d),
        e=np.append(planes.e, e),
        H=H,
        x=np.append(planes.x, 0.0),
        free=np.append(planes.free, e > 0),  # a cut is made where it counts, and is fixed again if it does not
    )


def minimise(planes: Planes) -> Planes:
    """Return the pool with (3) solved from where it was solved last.

    The direction is sought at the price `now`, the bound at the price asked for.
    """
    x, free, w, b, value = _solve(planes, planes.x, planes.free, planes.now)
    if planes.now < planes.price:
        value = _solve(planes, x * (planes.price / planes.now), free, planes.price)[-1]
    return dataclasses.replace(
        planes, x=x, free=free, minimum=np.append(w, _nearest(planes, w, b)), bound=max(planes.bound, value)
    )


def _nearest(planes: Planes, w: F64, b: float) -> float:
    """Return the bias nearest to the best model's among all that are as good as b.

    Without this the last bits would decide which of them a solver finds.
    """
    rest, counts = planes.c - planes.a @ w, planes.e > 0
    level = np.where(counts, max(0.0, (rest - planes.d * b)[counts].max()), 0.0) + LEVEL * planes.c.max()
    steep = np.abs(planes.d) > FLAT * np.abs(planes.c)
    ends, rises = ((rest - level)[steep] / planes.d[steep]), planes.d[steep] > 0
    return float(np.clip(planes.b, ends[rises].max(initial=-np.inf), ends[~rises].min(initial=np.inf)))


def _solve(planes: Planes, x: F64, free: Flags, C: float) -> tuple[F64, Flags, F64, float, float]:
    found = solve(planes.H, planes.c, np.stack([planes.e, planes.d]), np.array([C, 0.0]), x, free)
    w = found.x @ planes.a
    return found.x, found.free, w, float(found.multipliers[1]), float(planes.c @ found.x - 0.5 * w @ w)


def line(planes: Planes, losses: F64) -> F64:
    """Return an upper bound of J of (1) at every step towards the new minimum."""
    w, D = planes.w, planes.minimum[:-1] - planes.w
    return 0.5 * (w @ w + 2 * STEPS * (w @ D) + STEPS**2 * (D @ D)) + planes.price * losses


def cut_step(best: int) -> float:
    """Return the step of the next cut.

    It is a little beyond the best one, or the new minimum where the line leads nowhere.
    """
    return float(STEPS[best] + BEYOND * (1.0 - STEPS[best])) if best else 1.0


def move_along(planes: Planes, losses: F64, tol: float, max_rounds: int) -> tuple[Planes, int]:
    """Return the pool at the best step of its line, and which one that is.

    A pool that is through with a price goes on to its next.
    """
    J = line(planes, losses)
    best = int(np.argmin(J))
    length = float(STEPS[best])
    after = dataclasses.replace(
        planes,
        w=planes.w + length * (planes.minimum[:-1] - planes.w),
        b=planes.b + length * (planes.minimum[-1] - planes.b),
        objective=float(J[best]),
        age=planes.age + 1,
    )
    if after.gap <= tol or after.age >= max_rounds:
        after = next_price(after, tol)
    return raise_price(after), best


def raise_price(planes: Planes) -> Planes:
    """Return the pool at a higher price `now`, for which x is stretched."""
    now = min(planes.price, planes.now * planes.growth)
    if now == planes.now:
        return planes
    return dataclasses.replace(planes, now=now, x=planes.x * (now / planes.now))


def next_price(planes: Planes, tol: float) -> Planes:
    """Return the pool at its next price: R at the best model is known, and so is J at any price."""
    row = [planes.b, planes.objective, planes.bound, float(planes.gap > tol)]
    after = dataclasses.replace(
        planes,
        at=planes.at + 1,
        age=0,
        w_at=np.vstack([planes.w_at, planes.w]),
        figures=np.vstack([planes.figures, row]),
    )
    square = 0.5 * float(planes.w @ planes.w)
    return dataclasses.replace(after, objective=square + after.price / planes.price * (planes.objective - square))


def relative_gap(objective: F64 | float, bound: F64 | float) -> F64:
    """Return the gap as a share of the objective; 0 where nothing is left to lose.

    That is so where no row of one class has weight.
    """
    found: F64 = (objective - bound) / np.maximum(objective, TINY)
    return found
