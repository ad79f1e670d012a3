"""Powers of dot products in fixed point: how many bits they have, so that none leaves its window.

The linear and the polynomial kernel are powers of one number. No cell is larger than 2^e, so that

    g = gamma x.z + coef0,      |g| <= gamma columns 4^e + coef0 <= 2^m,      K(x, z) = g^degree                     (1)

With f bits after the point a product of two powers is below 2^62 as long as m degree + 2 f <= 61. A kernel is divided
by 2^E, which is at least the mean of its diagonal: its trace, and so every eigenvalue, is then at most n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import LocalError

ROOM = 61  # bits that a product may have
MOST = 30  # bits after the point: those of a kernel
LEAST = 16  # bits that a kernel needs, counted from the mean of its diagonal


@dataclass(frozen=True)
class Powers:
    """A kernel of (1), and the f bits after the point of its powers."""

    gamma: float
    coef0: float
    degree: int
    m: int

    @property
    def bits(self) -> int:
        """How many bits are after the point: f of (1)."""
        return min(MOST, (ROOM - self.degree * self.m) // 2)

    @property
    def cell_bits(self) -> int:
        """How many bits a cell has after the point where cells are multiplied in shares."""
        return (ROOM - self.m) // 2

    @property
    def largest(self) -> float:
        """The size that no entry of the kernel exceeds."""
        return 2.0 ** (self.degree * self.m)


def plan_powers(gamma: float, coef0: float, degree: int, columns: int, exponent: int) -> Powers:
    """Return the bits for cells of at most 2^exponent; refuse powers that would not fit."""
    if coef0 < 0 or degree < 1:
        raise LocalError(
            f"coef0={coef0:g} and degree={degree} make no kernel: features='exact' needs coef0 of 0 or more and degree"
            " of 1 or more"
        )
    bound = gamma * columns * 4.0**exponent + coef0
    powers = Powers(gamma, coef0, degree, max(0, math.ceil(math.log2(max(bound, 1.0)))))
    if powers.bits < LEAST:
        raise LocalError(
            f"cells of up to {2.0**exponent:g} make powers of {powers.largest:.3g}, which leaves no room in 64 bits:"
            " scale the columns, or lower gamma or degree"
        )
    return powers


def choose_exponent(mean: float, bits: int) -> int:
    """Return E, where 2^E is at least the mean of a kernel's diagonal; refuse one whose bits are rounded away."""
    found = math.ceil(math.log2(mean)) if mean > 0 else -bits
    if found + bits < LEAST:
        raise LocalError(
            f"the kernel's diagonal has a mean of {mean:.3g}, too little beside its largest possible value: scale the"
            " columns to one size, or declare a smaller feature_range"
        )
    return found
