"""A small convex quadratic programme by a warm-started primal active set.

    min_x  1/2 x'Hx - c'x     subject to  E x = r,  x >= 0                        (1)

Only the variables that are not at zero are free. With those, (1) without x >= 0 is one linear system

    [H E'] [x]   [c]
    [E 0 ] [m] = [r]                                                              (2)

Go towards its solution until a variable would turn negative, and fix that one at zero; when none does, free the
variable whose price H x - c + E'm is most negative, until there is none. Started at the solution of almost the same
programme this takes a few steps. H may be singular (a ridge far below rounding of the result keeps (2) solvable).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, Flags

# in units in which |c|, |r| and the largest curvature are 1
RIDGE, FLOOR = 1e-11, 1e-13  # of a variable's own curvature; where it has none
SLACK = 1e-11
NOTHING = 1e-12
STEPS = 1000


@dataclass(frozen=True)
class Solved:
    """The solution x, which of its entries are free, and the multipliers m of E x = r."""

    x: F64
    free: Flags
    multipliers: F64


def solve(H: F64, c: F64, E: F64, r: F64, x: F64, free: Flags) -> Solved:
    """Solve (1) from a feasible x whose entries outside `free` are zero."""
    cost, size = _largest(c), _largest(r)
    unit = size / np.sqrt(np.maximum(H.diagonal() * (size / cost), 1.0))
    rows = np.array([_largest(row) for row in E * unit])
    scaled = H * (unit[:, None] * unit / (cost * size)), c * unit / (cost * size), E * unit / rows[:, None], r / rows
    found = _solve_scaled(*scaled, x / unit, free.copy())
    return Solved(found.x * unit, found.free, found.multipliers * (cost * size) / rows)


def _largest(values: F64) -> float:
    return float(np.abs(values).max()) or 1.0


def _solve_scaled(H: F64, c: F64, E: F64, r: F64, x: F64, free: Flags) -> Solved:
    ridge = RIDGE * H.diagonal() + FLOOR
    multipliers = np.zeros(len(r))
    for _ in range(STEPS):
        at = np.flatnonzero(free)
        before = x[at]
        target, multipliers = _equality(H[at[:, None], at], c[at] + ridge[at] * before, E[:, at], r, ridge[at])
        blocked = _towards(x, at, target)
        if blocked is not None:
            free[blocked] = False
            continue
        if np.any(ridge[at] * np.abs(x[at] - before) > SLACK):
            continue  # the ridge holds it back from afar, not from here
        price = H @ x - c + multipliers @ E
        price[at] = 0.0
        worst = int(np.argmin(price))
        if price[worst] > -SLACK:
            break
        free[worst] = True
    return Solved(x, free, multipliers)


def _towards(x: F64, at: NDArray[np.intp], target: F64) -> int | None:
    """Move x to the target as far as it stays non-negative, and return which variable stopped it."""
    step = target - x[at]
    falling = target < -NOTHING  # a variable that an equality holds at zero must stay free, or it is freed for ever
    reach = np.full(len(at), np.inf)
    reach[falling] = x[at][falling] / -step[falling]
    first = int(np.argmin(reach))
    if reach[first] >= 1.0:
        x[at] = np.maximum(target, 0.0)
        return None
    x[at] = np.maximum(x[at] + reach[first] * step, 0.0)
    x[at[first]] = 0.0
    return int(at[first])


def _equality(H: F64, c: F64, E: F64, r: F64, ridge: F64) -> tuple[F64, F64]:
    """Return x and m of the linear system (2)."""
    n, k = len(c), len(r)
    K = np.zeros((n + k, n + k))
    diagonal = K.reshape(-1)[:: n + k + 1]
    K[:n, :n], K[:n, n:], K[n:, :n] = H, E.T, E
    diagonal[:n] += ridge
    diagonal[n:] = ~E.any(axis=1)  # an equality of none of these variables costs nothing
    right = np.concatenate([c, r])
    try:
        found = np.linalg.solve(K, right)
        close = 1e-9 * max(1.0, np.abs(found).max())
        sound = bool(np.all(np.isfinite(found))) and np.abs(K @ found - right).max() <= close
    except np.linalg.LinAlgError:
        sound = False
    if not sound:  # as many free variables as equalities, or fewer: take the smallest solution
        found = np.linalg.lstsq(K, right, rcond=1e-13)[0]
    return found[:n], found[n:]
