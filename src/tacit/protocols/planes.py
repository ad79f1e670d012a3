"""One linear SVM under its cuts, at the coordinator: (3) of `cutting_plane`, and the best model so far."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, State
from tacit.numeric.active_set import solve
from tacit.numeric.line_search import STEPS

TINY = 1e-300
BIAS = 1e3  # bounds b where a class is too small for its cut to be opened


class Planes(State):
    """One problem: its cuts (e: whether a variable counts in the sum of (3)), the last x of (3), the best model so far."""

    a: F64
    c: F64
    d: F64
    e: F64
    H: F64
    x: F64
    free: NDArray[np.bool_]
    minimum: F64
    w: F64
    b: float
    objective: float
    bound: float
    stuck: bool

    @property
    def gap(self) -> float:
        """How far the best model can be from the optimum, relative to it."""
        return float(relative_gap(self.objective, self.bound))


def first_planes(sums: F64, both: I64, C: float) -> tuple[Planes, ...]:
    """The slack of (3) and the first cuts of every problem."""
    return tuple(_first(sums[2 * k : 2 * k + 2], bool(two), C) for k, two in enumerate(both))


def _first(sums: F64, both: bool, C: float) -> Planes:  # noqa: FBT001 - a class too small to be summed, or none
    size = sums.shape[1] - 2
    planes = Planes(
        a=np.zeros((1, size)), c=np.zeros(1), d=np.zeros(1), e=np.ones(1), H=np.zeros((1, 1)), x=np.full(1, C), free=np.ones(1, bool),
        minimum=np.zeros(size + 1), w=np.zeros(size), b=0.0, objective=C * float(sums[:, -1].sum()), bound=0.0, stuck=False,
    )  # fmt: skip
    if not both:  # |b| <= BIAS, since no cut bounds it
        for sign in (1.0, -1.0):
            planes = _with(planes, np.zeros(size), sign, -BIAS, 0.0)
        return _cut(planes, sums[0])
    return _cut(_cut(_cut(planes, sums[0]), sums[1]), sums.sum(axis=0))  # of all rows too, which follows from both


def _cut(planes: Planes, sums: F64) -> Planes:
    return _with(planes, sums[:-2], float(sums[-2]), float(sums[-1]), 1.0)


def _with(planes: Planes, a: F64, d: float, c: float, e: float) -> Planes:
    """One more variable of (3)."""
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
        free=np.append(planes.free, False),
    )


def minimum(planes: Planes, C: float) -> Planes:
    """(3) of one problem."""
    found = solve(planes.H, planes.c, np.stack([planes.e, planes.d]), np.array([C, 0.0]), planes.x, planes.free)
    w = found.x @ planes.a
    bound = max(planes.bound, float(planes.c @ found.x - 0.5 * w @ w))
    return dataclasses.replace(planes, x=found.x, free=found.free, minimum=np.append(w, found.multipliers[1]), bound=bound)


def objectives(planes: Planes, ahead: F64, losses: F64, C: float) -> F64:
    """J of (1) at every step towards `ahead`; at step 0 it is known."""
    w, D = planes.w, ahead - planes.w
    J = 0.5 * (w @ w + 2 * STEPS * (w @ D) + STEPS**2 * (D @ D)) + C * losses
    J[0] = planes.objective
    return J


def advanced(planes: Planes, w: F64, b: float, J: F64, best: int, cut: F64 | None) -> Planes:
    """One problem, on its way to w, b."""
    length = float(STEPS[best])
    at, bias = planes.w + length * (w - planes.w), planes.b + length * (b - planes.b)
    moved = dataclasses.replace(planes, w=at, b=bias, objective=float(J[best]), stuck=bool(best == 0 and cut is None))
    return moved if cut is None else _cut(moved, cut)


def relative_gap(objective: Any, bound: Any) -> Any:
    """0 where nothing is left to lose: no row of one class has weight, say."""
    return (objective - bound) / np.maximum(objective, TINY)
