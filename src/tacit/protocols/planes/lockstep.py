"""All pools of a training in step: one number a round says whether they move.

With groups of more than one row the loss is known between bounds only. The upper bound (1) of `numeric.groups.atoms` is
a function of the sums of squares of h over groups, and so of second moments of their rows: as many bounds as there are
unknowns would determine the rows (`attacks.bound_moments`). So bounds are few, and counted. In every round one number
is opened for all pools p together, or two where rows are many, at the steps k and 0.3 k:

    loss(k) = sum_p R_p(w_p + k D_p) / n_p,       D_p = the way from the best model w_p to the minimum under cuts   (1)

n_p being the weight of all rows. With J_p / (C_p n_p) added up over all pools,

    J(k) = sum_p |w_p + k D_p|^2 / (2 C_p n_p) + loss(k)                                                             (2)

all pools move by the best of these steps if J there is less than J of the best models so far, and the next k is longer
than that step; else none moves, and k is halved. The bounds from below, added up in the same way, give the gap. All
pools go on to their next price together; one that has no further price stays at its last.

A stage, that is a price, ends where the gap is `tol`, where J and its bound have come no closer by 2 % in fifteen
rounds at the price asked for, or after its share of the rounds that the holders allow.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64
from tacit.choreo import State
from tacit.protocols.planes.pool import BEYOND, GROWTH, PATIENCE, SHRINK, SLACK, TINY, Planes, next_price, raise_price

Pools = tuple[Planes, ...]

FASTER, SLOWER, SHORTEST = 2.0, 0.5, 1 / 64  # how the step changes, and the least
TRIES: F64 = np.array([1.0, 0.3])  # of the step, where as many bounds are allowed
STILL = 5  # rounds without a move after which cuts are rounded as closely as they can be


class Pace(State):
    """Where all pools are: at which price, the step tried next, (1) at the best models, and how the gap has come on.

    `rounds` is how many rounds a stage may take, `tries` how many bounds are opened in each.
    """

    stage: int
    step: float
    loss: float
    still: int
    age: int
    narrowest: float
    waited: int
    rounds: int
    tries: int

    @property
    def steps(self) -> F64:
        """The steps of the line at which bounds are opened next."""
        return self.step * TRIES[: self.tries]


def first_pace(pools: Pools, rounds: int, tries: int) -> Pace:
    """Return the pace before the first round: all losses are 1 for each row."""
    return Pace(0, 1.0, float(sum(pool.c.max() > 0 for pool in pools)), 0, 0, np.inf, 0, rounds, tries)


def scale(pool: Planes) -> float:
    """Return C_p n_p, by which the objective of a pool is divided."""
    return pool.price * weight_of(pool)


def weight_of(pool: Planes) -> float:
    """Return n_p: the cut of all rows has the largest count; 1 where a problem has no rows, and so no loss."""
    return float(pool.c.max()) or 1.0


def settle_growth(pools: Pools, rounds: int) -> Pools:
    """Return the pools with prices that rise fast enough to be reached in half of the rounds of a stage."""
    half = max(1.0, rounds / 2.0)
    return tuple(dataclasses.replace(p, growth=max(GROWTH, (p.price / p.now) ** (1.0 / half))) for p in pools)


def objective(pools: Pools, loss: float, step: float) -> float:
    """Return the objective (2) of all pools together at this step."""
    ahead = (p.w + step * (p.minimum[:-1] - p.w) for p in pools)
    return loss + sum(float(w @ w) / (2.0 * scale(p)) for p, w in zip(pools, ahead, strict=True))


def move_together(pools: Pools, pace: Pace, losses: F64, tol: float) -> tuple[Pools, Pace, float, float]:
    """Return the pools and the pace after a round, how far they moved, and at which step they cut next."""
    J = [objective(pools, float(loss), float(step)) for loss, step in zip(losses, pace.steps, strict=True)]
    best = int(np.argmin(J))
    step, loss, moves = float(pace.steps[best]), float(losses[best]), J[best] < objective(pools, pace.loss, 0.0)
    length = step if moves else 0.0
    at = step + BEYOND * (1.0 - step) if moves else step
    after = tuple(
        dataclasses.replace(
            p, w=p.w + length * (p.minimum[:-1] - p.w), b=p.b + length * (p.minimum[-1] - p.b), age=p.age + 1
        )
        for p in pools
    )
    pace = dataclasses.replace(
        pace,
        step=min(1.0, FASTER * step) if moves else max(SHORTEST, SLOWER * pace.step),
        loss=loss if moves else pace.loss,
        still=0 if moves else pace.still + 1,
        age=pace.age + 1,
    )
    after = with_objectives(after, pace.loss)
    pace, over = _watch_gap(after, pace, tol)
    if over:
        after, pace = _next_stage(after, pace, tol)
    return tuple(raise_price(p) for p in after), pace, length, at


def width(pools: Pools, loss: float) -> float:
    """Return how far J of (2) is above its bound."""
    return max(0.0, objective(pools, loss, 0.0) - sum(p.bound / scale(p) for p in pools))


def with_objectives(pools: Pools, loss: float) -> Pools:
    """Return the pools with objectives that share the gap of all equally: single ones are not known."""
    each = width(pools, loss) / len(pools)
    return tuple(dataclasses.replace(p, objective=p.bound + each * scale(p)) for p in pools)


def _watch_gap(pools: Pools, pace: Pace, tol: float) -> tuple[Pace, bool]:
    """Return the pace with how the gap has come on, and whether the stage is over."""
    apart = width(pools, pace.loss)
    if all(p.now >= p.price for p in pools):
        narrower = apart < SHRINK * pace.narrowest
        pace = dataclasses.replace(
            pace, narrowest=min(apart, pace.narrowest), waited=0 if narrower else pace.waited + 1
        )
    close = apart <= tol * max(objective(pools, pace.loss, 0.0), TINY)
    return pace, close or pace.waited >= PATIENCE or pace.age >= pace.rounds


def _next_stage(pools: Pools, pace: Pace, tol: float) -> tuple[Pools, Pace]:
    """Return the pools at their next prices; those that have none stay, and all are done after the last stage."""
    last = pace.stage + 1 == max(len(p.prices) for p in pools)
    after = tuple(next_price(p, tol) if last or pace.stage + 1 < len(p.prices) else p for p in pools)
    pace = dataclasses.replace(pace, stage=pace.stage + 1, age=0, narrowest=np.inf, waited=0)
    return settle_growth(after, pace.rounds), pace


def slacks(pools: Pools, pace: Pace, holders: int) -> list[float]:
    """Return by how much of the loss each holder may miss in the next cut of each pool."""
    share = 0.0 if pace.still > STILL else SLACK * width(pools, pace.loss) / (len(pools) * holders)
    return [share * float(p.c.max()) for p in pools]
