"""Least squares in shares: every number that is public before a run begins.

    W = (S + a I)^-1 H,      S = Z'QZ,  H = Z'QT,      |z_i|^2 <= 2,  |t_i| <= 1,  0 <= q_i <= 1                     (1)

Of N rows S has eigenvalues of 2N at most, which 2^K reaches. The resolvent comes from squares (`squares`):

    a (S + a I)^-1 = 1 / (1 + x) ~ c_0 + sum_j c_(j+1) p_j,    x = S / a,   p_0 = I - S / 2^K,   p_(j+1) = p_j^2   (2)

It is off by 15 %, and less where a is larger than the least one that is tried. What it leaves is found from S itself
and solved for again, so that the solution is exact whatever the squares are off by:

    R_0 = H,    W_(i+1) = W_i + Q R_i,    R_i = H - S W_i - a W_i,    Q = (1/a) (c_0 I + sum_j c_(j+1) p_j)          (3)

Every pass makes what is left four times smaller or more (`SHRINK`). Bits after the point, so that 64 suffice:

    p    `P_BITS` = 30        entries are 1 at most: a square has 60 bits and one more for its factor 2
    Q    30, times 2^d <= a   |2^d Q| <= 1.25: with 61 bits before it is cut, below 2^62
    R_i  r_i = 31 - K + 2 i   |R_0| = |H| <= sqrt(2) N <= 2^K / sqrt(2), and SHRINK = 2^-2 a pass: p R, Q R < 2^61
    W, S f = (61 - K) / 2     |S W| <= 1.25 |H| < 2^(K + 1): S W < 2^62

p is rounded by one unit of 2^-30 at random in each level, which moves S by about 2^K 2^-30 sqrt(D): so a may not be
below 2^K / `STEEPEST`. That is how the least a grows with the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import I64
from tacit.errors import LocalError
from tacit.numeric.ring.words import public_words
from tacit.numeric.shares.squares import choose_relative

P_BITS = 30
STEEPEST = 2.0**21  # 2^K / a at most: rounded squares are then off by a tenth in the steepest direction
RELATIVE = 0.15  # error of (2) in every direction, of the least a; of larger ones it is smaller
SHRINK = 2  # bits that a pass of (3) gains at least
PASSES = 3  # of (3): W is exact to 2^-6 at the worst, and to 2^-13 where it was measured
MOST_BITS = 20  # of W and S
MOST_FEATURES = 2000
MOST_ROWS = 2**29
PROBES = 4  # random sums of columns that stand for all of them in a score
SIGNS = 20  # the public seed of their signs
CLASS_DIGITS, NUMBER_DIGITS = 24, 30  # targets of a regression are smaller than 1
MENU = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of a, for "auto"


@dataclass(frozen=True)
class Resolvent:
    """Weights of (2), as whole numbers with `BITS` after the point: c times 2^down / a, which is 1/2 to 1, and c."""

    alpha: float
    weights: tuple[int, ...]
    down: int
    plain: tuple[int, ...]

    @property
    def levels(self) -> int:
        """How often p is squared."""
        return len(self.weights) - 2


@dataclass(frozen=True)
class RidgePlan:
    """The public plan of a solution: sizes, bits, and the resolvent of every a that is tried.

    rows: N. size: D, the features with the constant one. columns: of T. K: of (2). bits: f. digits: binary ones of a
    score.
    """

    rows: int
    size: int
    columns: int
    K: int
    bits: int
    resolvents: tuple[Resolvent, ...]
    digits: int = CLASS_DIGITS

    @property
    def levels(self) -> int:
        """How often p is squared, whatever a is."""
        return self.resolvents[0].levels

    def rest_bits(self, i: int) -> int:
        """Return r_i, the bits after the point of what is left before pass i."""
        return min(self.bits + MOST_BITS // 2, 61 - P_BITS - self.K + SHRINK * i)

    @property
    def probes(self) -> int:
        """How many random sums of columns stand for all of them in a score; all do by themselves if they are few."""
        return min(self.columns, PROBES)

    @property
    def signs(self) -> I64:
        """Return the signs of these sums, which everybody knows: a column for each."""
        if self.columns <= PROBES:
            return np.eye(self.columns, dtype=np.int64)
        order = np.argsort(public_words(SIGNS, self.columns * PROBES).reshape(PROBES, -1), axis=1, kind="stable")
        return np.ascontiguousarray((1 - 2 * (order.argsort(axis=1) % 2)).T)  # half of each are 1, half -1

    @property
    def halvings(self) -> int:
        """How often these sums are halved: of targets 1 and -1, of which one is 1, they are 3 at most."""
        return 0 if self.columns <= PROBES else 2

    @property
    def fit_cut(self) -> int:
        """How many bits of S W - 2 H are cut, so that |W| |S W - 2 H| < 2^(K + 11) fits: |W| is below 2^9."""
        return 2 * self.bits - min(MOST_BITS, 50 - self.K - self.bits)

    @property
    def error_bits(self) -> int:
        """How many bits after the point E has before it is cut."""
        return self.bits + 2 * self.bits - self.fit_cut

    @property
    def score_bits(self) -> int:
        """How many bits after the point E has when it is compared: `digits` below the number of records, or fewer."""
        return min(self.digits - self.K, self.error_bits - 1)

    @property
    def error_cut(self) -> int:
        """How many bits of E are cut."""
        return self.error_bits - self.score_bits

    @property
    def alphas(self) -> tuple[float, ...]:
        """Every a that is tried."""
        return tuple(each.alpha for each in self.resolvents)


def plan_ridge(
    rows: int, size: int, columns: int, alphas: tuple[float, ...], digits: int = CLASS_DIGITS, *, longer: int = 0
) -> RidgePlan:
    """Return the plan for these values of a, each raised to the least that the number of rows allows.

    longer: how many bits the trace of S is above that of rows of length 1.
    """
    if size > MOST_FEATURES + 1:
        raise LocalError(f"{size - 1} features are too many to solve in shares: take at most {MOST_FEATURES}")
    if rows > MOST_ROWS:
        raise LocalError(f"{rows} records do not fit 64 bits: train on at most {MOST_ROWS} of them")
    K = bound_trace(rows) + longer
    bits = min(MOST_BITS, (61 - K) // 2)
    raised = dict.fromkeys(_representable(max(alpha, 2.0**K / STEEPEST), bits) for alpha in alphas)
    levels = _resolve(min(raised), K).levels
    return RidgePlan(rows, size, columns, K, bits, tuple(_resolve(alpha, K, levels) for alpha in raised), digits)


def bound_trace(rows: int) -> int:
    """Return K of (2) for rows of length 1 beside the constant."""
    return max(3, math.ceil(math.log2(2 * max(rows, 1))))


def _representable(alpha: float, bits: int) -> float:
    """Return the nearest number that products with `bits` after the point use exactly."""
    return math.ldexp(max(1, round(math.ldexp(alpha, bits))), -bits)


def _resolve(alpha: float, K: int, levels: int = 1) -> Resolvent:
    """Return the weights of (2) for so many levels or more."""
    squares = choose_relative(max(2.0**K / alpha, 1.0), RELATIVE, levels)
    down = math.floor(math.log2(alpha))  # so that weights have as many bits whatever a is
    over = math.ldexp(1.0, down) / alpha
    return Resolvent(alpha, tuple(round(c * over) for c in squares.weights), down, squares.weights)
