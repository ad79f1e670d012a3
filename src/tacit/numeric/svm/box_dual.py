"""A support vector machine's dual with box constraints only, by coordinate descent in random order from a warm start.

    min_lambda  1/2 lambda'A lambda + B'lambda,    0 <= lambda_i <= cap_i                                    (1)
    A = Y (U Q U' + E) Y,    Q = diag(q),    B = -1 + Y U Q c

U are features, E is what a kernel has beyond them (or nothing), Y = diag(signs). With V = Y U Q^1/2 this is A = VV' +
YEY, and what is kept from step to step is u = V'lambda, here as the weights it stands for:

    theta = Q (c + U'Y lambda),    own = E Y lambda,    gradient_i = y_i (U_i.theta + own_i) - 1              (2)

so that looking at a coordinate costs a row of U, and changing it another (and a row of E).

A coordinate at an end of its box, whose gradient points out of it by more than any other's pointed in during the sweep
before, is left out of the sweeps that follow (Hsieh et al., ICML 2008, section 3.2). When the others are done, all are
looked at again. From a warm start few are left after the first sweep.

Rows beyond one block are visited block by block, so that U may lie on disk (Yu et al., KDD 2010): each block is swept a
few times before the next, and all is done once no block needs a second sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.scratch import blocks, release, rows_at_once

NOTHING = np.empty((0, 0))
SWEEPS = 200  # at most, of one call: the next one goes on from there
BLOCK, FEW_SWEEPS = 1 << 18, 10  # rows of a block, and of how many sweeps it has at a time
FLAT = 1e-12  # a curvature that is none


def descend(U: F64, E: F64, y: F64, cap: F64, q: F64, theta: F64, own: F64, lam: F64, *, tol: float, seed: int) -> int:
    """Solve (1) in place: lam, theta and own, which must satisfy (2); return the number of sweeps.

    Ends when no gradient points into the box by more than `tol`. The order is drawn from `seed`, which is no secret. A
    row whose y is 0 has a box of 0.
    """
    if len(U) <= rows_at_once(U, BLOCK) or E.size:
        return int(_compiled()(U, E, y, cap * np.abs(y), q, theta, own, lam, tol, SWEEPS, np.uint64(seed)))
    for turn in range(SWEEPS):
        most = 1
        for at, rows in blocks(U, BLOCK):
            price = cap[at] * np.abs(y[at])
            given = rows, E, y[at], price, q, theta, own, lam[at], tol, FEW_SWEEPS, np.uint64(seed + turn)
            most = max(most, int(_compiled()(*given)))
            release((y[at], cap[at], lam[at]))
        if most == 1:
            return turn + 1
    return SWEEPS


def _descend(  # noqa: C901, PLR0912 - one loop, which numba compiles whole
    U: Any, E: Any, y: Any, cap: Any, q: Any, theta: Any, own: Any, lam: Any, tol: float, sweeps: int, seed: Any
) -> int:  # pragma: no cover - compiled
    n, p = U.shape
    order, size, beyond = np.arange(n), n, np.inf
    state = seed * np.uint64(2) + np.uint64(0x9E3779B97F4A7C15)
    for sweep in range(sweeps):
        for t in range(size - 1, 0, -1):  # Fisher and Yates, by xorshift64
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            k = int(state % np.uint64(t + 1))
            order[t], order[k] = order[k], order[t]
        worst, left = 0.0, 0
        for s in range(size):
            i = order[s]
            value = own[i] if E.size else 0.0
            for j in range(p):
                value += U[i, j] * theta[j]
            gradient = y[i] * value - 1.0
            outward = (gradient >= 0.0 and lam[i] <= 0.0) or (gradient <= 0.0 and lam[i] >= cap[i])
            if outward and abs(gradient) > beyond:
                continue
            order[left], order[s] = i, order[left]
            left += 1
            if outward:
                continue
            worst = max(worst, abs(gradient))
            curvature = E[i, i] if E.size else 0.0
            for j in range(p):
                curvature += q[j] * U[i, j] * U[i, j]
            # an indefinite kernel may have none: then the box ends the step
            goal = lam[i] - gradient / curvature if curvature > FLAT else (cap[i] if gradient < 0.0 else 0.0)
            step = y[i] * (min(max(goal, 0.0), cap[i]) - lam[i])
            lam[i] += y[i] * step
            for j in range(p):
                theta[j] += step * q[j] * U[i, j]
            if E.size:
                for k in range(n):
                    own[k] += step * E[i, k]
        if worst > tol:
            size, beyond = left, worst
        elif size == n:
            return sweep + 1
        else:
            size, beyond = n, np.inf
    return sweeps


@cache
def _compiled() -> Callable[..., int]:
    """Return the loop as machine code; numba takes a second to import, which nobody pays who does not train."""
    from numba import njit, types  # noqa: PLC0415 - see above

    given = [types.Array(types.float64, d, "C", readonly=True) for d in (2, 2, 1, 1, 1)]
    kept = [types.Array(types.float64, 1, "C")] * 3
    signature = types.int64(*given, *kept, types.float64, types.int64, types.uint64)
    try:
        loop: Callable[..., int] = njit(signature, nogil=True, cache=True)(_descend)
    except RuntimeError:  # nowhere to keep it: compile in every process
        loop = njit(signature, nogil=True)(_descend)
    return loop
