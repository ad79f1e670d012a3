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
from scipy.linalg.lapack import dgesv

from tacit.arrays import F64, Flags

# in units in which |c|, |r| and the largest curvature are 1
RIDGE, FLOOR = 1e-11, 1e-13  # of a variable's own curvature; where it has none
SLACK = 1e-11
NOTHING = 1e-12
CLOSE = 1e-9  # how far (2) may be from solved
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
    rows = np.abs(E * unit).max(axis=1)
    rows[rows == 0.0] = 1.0
    scaled = H * (unit[:, None] * unit / (cost * size)), c * unit / (cost * size), E * unit / rows[:, None], r / rows
    found = _solve_scaled(*scaled, x / unit, free.copy())
    return Solved(found.x * unit, found.free, found.multipliers * (cost * size) / rows)


def _largest(values: F64) -> float:
    return float(np.abs(values).max()) or 1.0


def _solve_scaled(H: F64, c: F64, E: F64, r: F64, x: F64, free: Flags) -> Solved:
    n, ridge = len(c), RIDGE * H.diagonal() + FLOOR
    K, right = _lay_out(H, E, ridge), np.concatenate([c, r])
    equalities = np.arange(n, len(right))
    multipliers = np.zeros(len(r))
    for _ in range(STEPS):
        at = free.nonzero()[0]
        before, held = x[at], ridge[at]
        both = np.concatenate([at, equalities])
        asked = right[both]
        asked[: len(at)] += held * before
        found = _equality(K[both[:, None], both], asked, len(at))
        target, multipliers = found[: len(at)], found[len(at) :]
        blocked = _towards(x, at, before, target)
        if blocked is not None:
            free[blocked] = False
            continue
        if (held * np.abs(x[at] - before)).max(initial=0.0) > SLACK:
            continue  # the ridge holds it back from afar, not from here
        price = H @ x - c + multipliers @ E
        price[at] = 0.0
        worst = int(price.argmin())
        if price[worst] > -SLACK:
            break
        free[worst] = True
    return Solved(x, free, multipliers)


def _lay_out(H: F64, E: F64, ridge: F64) -> F64:
    """Return the matrix of (2) with all variables free."""
    n = len(H)
    K = np.zeros((n + len(E), n + len(E)))
    K[:n, :n], K[:n, n:], K[n:, :n] = H, E.T, E
    K.reshape(-1)[: n * (n + len(E)) : n + len(E) + 1] += ridge
    return K


def _towards(x: F64, at: NDArray[np.intp], before: F64, target: F64) -> int | None:
    """Move x to the target as far as it stays non-negative, and return which variable stopped it."""
    falling = (target < -NOTHING).nonzero()[
        0
    ]  # one that an equality holds at zero must stay free, or it is freed for ever
    if len(falling):
        reach = before[falling] / (before[falling] - target[falling])
        first = int(reach.argmin())
        if reach[first] < 1.0:
            x[at] = np.maximum(before + reach[first] * (target - before), 0.0)
            x[at[falling[first]]] = 0.0
            return int(at[falling[first]])
    x[at] = np.maximum(target, 0.0)
    return None


def _equality(K: F64, right: F64, n: int) -> F64:
    """Return x and m of the linear system (2) of n variables."""
    lone = ~K[n:, :n].any(axis=1)
    if lone.any():  # an equality of none of these variables costs nothing
        K[n:, n:] += np.diag(lone)
    found: F64
    *_, found, singular = dgesv(K.T, right)  # K is symmetric, and LAPACK reads columns
    if singular or not np.abs(K @ found - right).max() <= CLOSE * max(1.0, np.abs(found).max()):
        # as many free variables as equalities, or fewer: take the smallest solution
        found = np.asarray(np.linalg.lstsq(K, right, rcond=1e-13)[0], dtype=np.float64)
    return found
