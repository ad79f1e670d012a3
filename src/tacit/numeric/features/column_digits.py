"""A coarse centre and a scale for every column, digit by digit, from counts that are compared with public numbers.

The problem. Nothing is known of the units of a column. Its centre is found as a median: a number of p + 8 bits in order
of size, a sign, 7 bits of exponent and p of mantissa, written in digits to a base b.

    i = |z|, e = i >> p, m = i mod 2^p:      x(z) = sign(z) 2^(e - 64) (1 + m / 2^p),  linear below e = 1          (1)
    next digit of z = how many of the thresholds t_1 .. t_(b-1) within the bracket have  |{x < t}| < n / 2         (2)

The scale B is where few records are outside, of whichever shape the column is:

    S(B) = sum_i min(((x_i - c) / B)^2, 1),      S(B) >= crowd                                                     (3)
    s    = B sqrt(crowd / n)    at the largest B of (3), to 2^(1/4): the standard deviation, if nobody is outside  (4)

No digit more is asked for of a centre whose bracket, before the last one, was smaller than s, which is (3) with c in
the middle of it. Values within a bracket add to (3) too, n / 4 (gap / B)^2 at most. So a column is constant if (3) is
true of no B; if its scale is below half of the bracket for which (3) was true before; or, down to the last digit, below
twice the last one: what differs beyond the mantissa.

A record adds 1 at most to each count and each sum. They are in units of 1/16, rounded for each party.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import F64, I64, Flags

LOWEST = -64  # of (1)
EXPONENT = 7  # bits of (1)
UNIT = 16  # of a count


@dataclass(frozen=True)
class Grid:
    """The numbers of (1): p bits of mantissa, and how many digits to which base; B are from 2^-widest to 2^widest."""

    mantissa: int
    base: int
    digits: int
    widest: int = 40

    @property
    def half(self) -> int:
        """Where the sign changes."""
        return 1 << (self.mantissa + EXPONENT)

    @property
    def exponents(self) -> F64:
        """The exponents of B, in halves."""
        return np.arange(-2 * self.widest, 2 * self.widest) / 2.0

    def value_of(self, z: I64) -> F64:
        """Return the numbers x(z) of (1)."""
        i, p = np.abs(z), self.mantissa
        e, m = i >> p, (i & ((1 << p) - 1)) / (1 << p)
        found: F64 = np.sign(z) * np.where(e > 0, np.ldexp(1.0 + m, e + LOWEST), np.ldexp(m, LOWEST + 1))
        return found


COARSE = Grid(mantissa=10, base=64, digits=3)


@dataclass(frozen=True, eq=False)
class Brackets:
    """What is known of the centres: z lies in low .. low + width - 1; no digit more is asked for where `done`."""

    low: I64
    width: I64
    done: Flags
    grid: Grid = COARSE

    @property
    def middle(self) -> F64:
        """The middle of the brackets, which is the centre."""
        return 0.5 * self.grid.value_of(self.low) + 0.5 * self.grid.value_of(self.low + self.width)

    @property
    def gap(self) -> F64:
        """How wide the brackets are."""
        return self.grid.value_of(self.low + self.width) - self.grid.value_of(self.low)

    @property
    def gap_before(self) -> F64:
        """How wide the brackets one digit before are, which decided that no more are asked for where `done`."""
        width = self.width * self.grid.base
        low = (self.low + self.grid.half) // width * width - self.grid.half
        return self.grid.value_of(low + width) - self.grid.value_of(low)


@dataclass(frozen=True)
class Crowd:
    """How many rows there are, and how many of them together are not few."""

    rows: int
    least: float

    @property
    def share(self) -> float:
        """The scale in units of B, as in (4)."""
        return float(np.sqrt(self.least / max(self.rows, 1)))


Counts = Callable[[list[F64], Brackets, Crowd], I64]
Ask = Callable[[Counts, Brackets, I64], I64]


def search_scales(ask: Ask, columns: int, crowd: Crowd, grid: Grid = COARSE) -> tuple[Brackets, I64]:
    """Return the bracket of every column's centre, and of how many B (3) is true.

    ask: returns for each column which counts reach their targets, from the counts of one party, brackets and targets.
    """
    brackets = start_brackets(columns, grid)
    targets = np.full((columns, grid.base), round(UNIT * crowd.least), dtype=np.int64)
    targets[:, :-1] = UNIT * crowd.rows // 2
    for _ in range(grid.digits):
        brackets = next_brackets(brackets, ask(count_for_centres, brackets, targets).astype(np.bool_))
    targets = np.full((columns, grid.exponents.size), round(UNIT * crowd.least), dtype=np.int64)
    return brackets, ask(count_for_scales, brackets, targets).astype(np.bool_).sum(axis=1)


def start_brackets(columns: int, grid: Grid = COARSE) -> Brackets:
    """Return brackets that hold every number."""
    return Brackets(np.full(columns, -grid.half), np.full(columns, 2 * grid.half), np.zeros(columns, np.bool_), grid)


def next_brackets(brackets: Brackets, reached: Flags) -> Brackets:
    """Return the brackets after one more digit.

    reached: for each column whether counts below the thresholds reach n / 2, and whether (3) is true of the bracket.
    """
    done, digit = brackets.done, (~reached[:, :-1]).sum(axis=1)
    width = np.where(done, brackets.width, brackets.width // brackets.grid.base)
    low = np.where(done, brackets.low, brackets.low + digit * width)
    return replace(brackets, low=low, width=width, done=done | reached[:, -1])


def scales_of(times: I64, brackets: Brackets, crowd: Crowd) -> F64:
    """Return s of (4) from the number of B that (3) is true of; 0 for a constant column.

    Where the largest B is reached, noise alone did that: such a column is taken to be constant as well.
    """
    exponents = brackets.grid.exponents
    scale = np.exp2(exponents[0] + 0.5 * (times - 0.5)) * crowd.share
    least = np.where(brackets.done, brackets.gap_before / 2.0, 2.0 * brackets.gap)
    varies = scale > least
    return np.where((times > 0) & (times < exponents.size) & varies, scale, 0.0)


# Counts of one party, a line for each column


def count_for_centres(values: list[F64], brackets: Brackets, crowd: Crowd) -> I64:
    """Return counts below the thresholds of (2), and S of the bracket; zeros for a column that is done."""
    grid = brackets.grid
    steps = np.outer(brackets.width // grid.base, np.arange(1, grid.base))
    t, middle, wide = grid.value_of(brackets.low[:, None] + steps), brackets.middle, brackets.gap / crowd.share
    found = np.zeros((len(values), grid.base), dtype=np.int64)
    for j in np.flatnonzero(~brackets.done):
        found[j, :-1] = UNIT * count_below(values[j], t[j])
        found[j, -1:] = sum_within(values[j], middle[j], wide[j : j + 1], crowd)
    return found


def count_for_scales(values: list[F64], brackets: Brackets, crowd: Crowd) -> I64:
    """Return S of (3) for all B."""
    middle, widths = brackets.middle, np.exp2(brackets.grid.exponents)
    found = [sum_within(x, c, widths, crowd) for x, c in zip(values, middle, strict=True)]
    return np.array(found, dtype=np.int64).reshape(len(values), widths.size)


def count_below(x: F64, t: F64) -> I64:
    """Return how many values lie below each of the ascending thresholds."""
    place = np.searchsorted(t, x, side="right")  # of a value, how many thresholds are not above it
    found: I64 = np.cumsum(np.bincount(place, minlength=len(t) + 1))[:-1]
    return found


def sum_within(x: F64, centre: float, widths: F64, crowd: Crowd) -> I64:
    """Return S for each of the ascending B, in units; more than twice the crowd is as much."""
    away = np.minimum(np.abs(x - centre), 2.0 * widths[-1])
    place = np.searchsorted(widths, away)  # of a value, the first B that it is within
    within = np.cumsum(np.bincount(place, np.square(away), widths.size + 1))[:-1] / np.square(widths)
    outside = x.size - np.cumsum(np.bincount(place, minlength=widths.size + 1))[:-1]
    found: I64 = np.rint(UNIT * np.minimum(within + outside, 2.0 * crowd.least)).astype(np.int64)
    return found
