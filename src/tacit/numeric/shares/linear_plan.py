"""The linear kernel in as many dimensions as there are columns: how many bits everything has.

X has centred columns, divided by 2^h, so that PKP = X X' has a diagonal whose mean is at most 1. Then

    Z = rho (PKP + rho I)^-1 = I - X N / rho,     N = R X',     R = rho (X'X + rho I)^-1, columns x columns         (1)
    f(x) = C (x . w + rho mean(q)),               w = N q                                                           (2)

(2) is exact for the Z that (1) makes of whatever R: an error of R is another regularisation of directions in which
records differ so much that there is hardly any. R comes from squares (`squares`), is off by some hundredths at most,
and is then improved by one step of Newton's, which squares its error:

    R (2 - delta - R - X'X R / rho)        delta so that rounding leaves no eigenvalue of Z below 0                 (3)

No value leaves its window. With cells of at most 2^e, centred ones of 2^(e+1), and b bits after their point:

    2 b + 2 (e + 1) + log2 n <= 61                                                                       of X'X     (4)
    |R X'| <= sqrt(columns) 2^(e+1),        |X N| <= rho,        |N q| <= |q| sqrt(rho) / 2              of N and w (5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import LocalError
from tacit.numeric.shares.dual_plan import K_BITS, Q_BITS, ROW_BITS, DualPlan

ROOM = 61  # bits that a product may have
MOST, LEAST = 26, 10  # bits after the point of a cell
MEAN = 30  # bits of 1 / n
CELL_BITS = 20  # of a cell of a new record
W_BITS = ROW_BITS + Q_BITS - CELL_BITS  # of w
EXACT = 14  # bits of 1 / rho
DELTA = 13  # bits of delta of (3)
LEAST_N = 12  # bits after the point of N


def choose_cell_bits(n: int, exponent: int) -> int:
    """Return b of (4) for cells of at most 2^exponent; refuse too few."""
    bits = min(MOST, (ROOM - math.ceil(math.log2(n)) - 2 * (exponent + 1)) // 2)
    if bits < LEAST:
        raise LocalError(f"cells of up to {2.0**exponent:g} in {n} records leave no room in 64 bits: scale the columns")
    return bits


@dataclass(frozen=True)
class Narrow:
    """Bits after the point: of cells of the table, of those of X, of X'X in (3), of R and of N.

    shift: of p_0 = I - X'X / 2^shift. over_rho: 1 / rho with k bits after the point.
    """

    cells: int
    centred: int
    S: int
    R: int
    N: int
    shift: int
    k: int
    over_rho: int


def plan_narrow(plan: DualPlan, columns: int, exponent: int, cells: int, halvings: int) -> Narrow:
    """Return the bits of (1) and (2); refuse what would not fit."""
    centred, rho = cells + halvings, plan.rho
    k = EXACT + math.frexp(rho)[1] - 1
    largest = plan.window.I - 2 + math.frexp(rho)[1] // 2 + 1  # bits of |N q|
    R = min(K_BITS, ROOM - 1 - (cells + exponent + 1) - math.ceil(math.log2(columns) / 2))
    N = min(K_BITS, ROOM - k - centred, ROOM - Q_BITS - largest, R + centred)
    if N < LEAST_N:
        raise LocalError(
            f"C={plan.C:g} with {plan.n} records of {columns} columns leaves no room in 64 bits: scale the columns, or"
            " use another C"
        )
    S = min(2 * centred, ROOM - K_BITS - k)
    return Narrow(cells, centred, S, R, N, plan.shift, k, round(2**k / rho))
