"""A linear SVM of few features and an unregularised bias, by a primal-dual interior point.

    min_{a,b}  1/2 |a|^2 + sum_i C_i max(0, 1 - y_i (F_i.a + b))                                              (1)

With u, v >= 0 for what a row has beyond the margin or lacks of it, and its multiplier l, at the optimum

    a = F'Yl,   y'l = 0,   1 - Y(Fa + b) = v - u,   l_i u_i = 0,   (C_i - l_i) v_i = 0,   0 <= l <= C         (2)

Newton's steps go to the same with mu in place of the two zeros, and mu to 0 (Mehrotra's predictor and corrector). They
need one system in (a, b) only, so a step over n rows and t features costs n t^2:

    (diag(1,..,1,0) + G'D^-1 G) (da, db) = right,    G = Y [F, 1],    D = u / l + v / (C - l)                 (3)

l is feasible for the dual, so 1'l - 1/2 |F'Yl|^2 bounds (1) from below. Entries next to a bound are put on it: what is
left of mu there would tell the row's distance from the margin.

Source: Ferris and Munson, SIAM Journal on Optimization 13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tacit.arrays import F64

TIGHT = 1e-9  # of the objective: where the steps end
NEAR = 1e-6  # of C: next to a bound
EPS = 1e-12  # of C: rounding
SHORT = 0.995  # of the way to the nearest bound
STEPS = 100


@dataclass(frozen=True)
class Margin:
    """A solution: the multipliers, the model (1) with its objective, and the bound on it."""

    multipliers: F64
    weights: F64
    bias: float
    objective: float
    bound: float


@dataclass(frozen=True)
class _Point:
    x: F64  # (a, b)
    l: F64  # noqa: E741 - as in (2)
    room: F64  # C - l, which rounding would lose next to C
    u: F64
    v: F64

    def move(self, d: _Point, far: float) -> _Point:
        return _Point(*(mine + far * step for mine, step in zip(self._parts(), d._parts(), strict=True)))

    def reach(self, d: _Point) -> float:
        """Return how far all stay positive, at most 1."""
        return min(1.0, *(_longest(x, dx) for x, dx in zip(self._parts()[1:], d._parts()[1:], strict=True)))

    def _parts(self) -> tuple[F64, ...]:
        return self.x, self.l, self.room, self.u, self.v

    @property
    def mu(self) -> float:
        return float(self.l @ self.u + self.room @ self.v) / (2 * len(self.l))


def solve(F: F64, y: F64, C: F64) -> Margin:
    """Solve (1); both classes have a row with C_i > 0."""
    used = C > 0
    G, bound = np.column_stack([F[used], np.ones(used.sum())]) * y[used, None], C[used]
    start = balance_classes(y[used], bound) / 2
    at = _Point(np.zeros(G.shape[1]), start, bound - start, np.ones(len(bound)), np.ones(len(bound)))
    best = _margin(G, bound, at)
    for _ in range(STEPS):
        after = _step(G, at)
        if after is None:
            break
        at, found = after, _margin(G, bound, after)
        best = found if found.objective - found.bound < best.objective - best.bound else best
        if best.objective - best.bound <= TIGHT * best.objective:
            break
    whole = np.zeros(len(C))
    whole[used] = best.multipliers
    return Margin(whole, best.weights, best.bias, best.objective, best.bound)


def balance_classes(y: F64, C: F64) -> F64:
    """Return all rows at their bound, but the heavier class scaled down until y'l = 0."""
    total, other = np.sum(C[y > 0]), np.sum(C[y < 0])
    return C * np.where(y > 0, min(1.0, other / total), min(1.0, total / other))


def _margin(G: F64, C: F64, at: _Point) -> Margin:
    l, a = _on_bounds(at.l, G[:, -1], C), at.x[:-1]  # noqa: E741
    dual = G[:, :-1].T @ l
    objective = 0.5 * float(a @ a) + float(C @ np.maximum(0.0, 1.0 - G @ at.x))
    return Margin(l, a, float(at.x[-1]), objective, float(l.sum()) - 0.5 * float(dual @ dual))


def _step(G: F64, at: _Point) -> _Point | None:
    """Return the point after one predictor and corrector; None where rounding leaves no way to go."""
    D = at.u / at.l + at.v / at.room
    A = (G / D[:, None]).T @ G
    A[np.arange(len(A) - 1), np.arange(len(A) - 1)] += 1.0
    try:
        factor = cho_factor(A)
    except (LinAlgError, ValueError):
        return None
    lacking = G.T @ at.l - np.append(at.x[:-1], 0.0)
    apart = 1.0 - G @ at.x - at.v + at.u

    def newton(low: F64, high: F64) -> _Point:
        right = apart + low / at.l - high / at.room
        dx = cho_solve(factor, G.T @ (right / D) + lacking)  # (3)
        dl = (right - G @ dx) / D
        return _Point(dx, dl, -dl, (low - at.u * dl) / at.l, (high + at.v * dl) / at.room)

    with np.errstate(all="ignore"):  # a step that is not finite is not taken
        guess = newton(-at.u * at.l, -at.v * at.room)
        aim = (at.move(guess, at.reach(guess)).mu / at.mu) ** 3 * at.mu
        d = newton(aim - at.u * at.l - guess.u * guess.l, aim - at.v * at.room + guess.v * guess.l)
        after = at.move(d, SHORT * at.reach(d))
    inside = min(after.l.min(), after.room.min(), after.u.min(), after.v.min()) > 0
    return after if np.isfinite(after.mu) and inside else None


def _longest(x: F64, dx: F64) -> float:
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=np.inf))


def _on_bounds(l: F64, y: F64, C: F64) -> F64:  # noqa: E741
    """Return the multipliers with entries next to a bound put on it, and y'l = 0 by the others if they have room."""
    snapped = _snap(l, C, NEAR)
    room, over = np.minimum(snapped, C - snapped), float(y @ snapped)
    if over == 0:
        return snapped
    if abs(over) > room.sum():
        return l
    return _snap(snapped - y * over * room / room.sum(), C, EPS)


def _snap(l: F64, C: F64, near: float) -> F64:  # noqa: E741
    return np.where(l < near * C, 0.0, np.where(l > (1 - near) * C, C, l))
