"""A support vector machine's dual with box constraints only, by coordinate descent in random order from a warm start.

    min_lambda  1/2 lambda'A lambda + B'lambda,    0 <= lambda_i <= cap_i                                    (1)
    A = Y U Q U' Y,    Q = diag(q),    B = -1 + Y U Q c

U are features, Y = diag(signs). What is kept from step to step is the weights that lambda stands for,

    theta = Q (c + U'Y lambda),    gradient_i = y_i U_i.theta - 1                                            (2)

so that looking at a coordinate, or changing it, costs a row of U.

A coordinate at an end of its box, whose gradient points out of it by more than any other's pointed in during the sweep
before, is left out of the sweeps that follow (Hsieh et al., ICML 2008, section 3.2). When the others are done, all are
looked at again. From a warm start few are left after the first sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from tacit.compiled import compiled

FLAT = 1e-12  # a curvature that is none
TABLE = types.Array(types.float64, 2, "C", readonly=True)
LIST, KEPT = types.Array(types.float64, 1, "C", readonly=True), types.Array(types.float64, 1, "C")


@compiled(types.int64, TABLE, LIST, LIST, LIST, KEPT, KEPT, types.float64, types.int64, types.uint64)
def descend(
    U: Any, y: Any, cap: Any, q: Any, theta: Any, lam: Any, tol: float, sweeps: int, seed: Any
) -> Any:  # pragma: no cover - compiled
    """Solve (1) in place: theta and lam, which must satisfy (2); return the number of sweeps.

    Ends when no gradient points into the box by more than `tol`, or after so many sweeps. The order is drawn from
    `seed`, which is no secret.
    """
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
            value, curvature = 0.0, 0.0
            for j in range(p):
                value += U[i, j] * theta[j]
                curvature += q[j] * U[i, j] * U[i, j]
            gradient = y[i] * value - 1.0
            outward = (gradient >= 0.0 and lam[i] <= 0.0) or (gradient <= 0.0 and lam[i] >= cap[i])
            if outward and abs(gradient) > beyond:
                continue
            order[left], order[s] = i, order[left]
            left += 1
            if outward:
                continue
            worst = max(worst, abs(gradient))
            goal = lam[i] - gradient / curvature if curvature > FLAT else (cap[i] if gradient < 0.0 else 0.0)
            step = y[i] * (min(max(goal, 0.0), cap[i]) - lam[i])
            lam[i] += y[i] * step
            for j in range(p):
                theta[j] += step * q[j] * U[i, j]
        if worst > tol:
            size, beyond = left, worst
        elif size == n:
            return sweep + 1
        else:
            size, beyond = n, np.inf
    return sweeps
