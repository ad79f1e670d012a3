"""Features in shares: how many bits they have, so that their sums over all records fit into a small ring.

A feature is a product of g factors, each of size 1 at most and with f bits after the point; in groups of three, which
are cut to f bits and multiplied. It is opened once under a mask r in the ring 2^k, and loses s bits there:

    V = C - R,    C = (x + r) >> s,    R = r >> s                                modulo 2^(k-s), off by about 1 (1)

So V has v bits after the point, v = (bits of x) - s, and no carry has to be repaired, for all that follows is modulo
2^(k-s). Each of M holders sends its share of x + r without the lowest s - 7 bits: together they lose less than M / 128
of a unit of V, and the mean of that is added before. There the sums over n records of products of two features need

    2 v + log2 n + 2 <= k - s                                                                                      (2)

k is 64, or 56 where there are so many records that a byte less of each word counts for more than bits.

The hinge takes features themselves: x times the basis B of the map, with b bits, is cut to the bits of a row of Z,

    |x B| < 2^(61 - bits of x - b)                                              in words of 64 bits                 (3)
    |dz| <= |B| sqrt(width) g 2^-f + sqrt(width columns) 2^-b + sqrt(columns) 2^-13                                 (4)

where g counts factors, of which each is off by 2^-f at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.errors import LocalError
from tacit.numeric.shares.hinge_plan import Z_BITS as ROW_BITS

WIDE, NARROW, MANY = 64, 56, 20_000  # bits of the ring, and records from which it is the narrow one
GROUP = 3
MOST, LEAST = 16, 8  # bits of a factor
FINEST = 24  # of one whose product is cut, and of a basis
WORDS = 1 << 20  # entries of a block
SPARE = 7  # bits below those that are kept, which are sent


@dataclass(frozen=True)
class SharedPlan:
    """The public plan: bits of the ring, rows, raw features with the constant one, bits of a factor and of a product.

    s: how many bits a product loses.
    """

    ring: int
    rows: int
    width: int
    factor: int
    after: int
    s: int

    @property
    def bits(self) -> int:
        """v: bits of a feature after the point."""
        return self.after - self.s

    @property
    def k(self) -> int:
        """The bits of the ring in which (1) is."""
        return self.ring - self.s

    @property
    def dropped(self) -> int:
        """How many bits a holder does not send."""
        return max(0, self.s - SPARE)

    @property
    def block(self) -> int:
        """How many rows are taken at a time."""
        return max(1, WORDS // self.width)

    @property
    def blocks(self) -> int:
        """How many blocks of rows there are."""
        return -(-self.rows // self.block)


@dataclass(frozen=True)
class RowsPlan(SharedPlan):
    """The plan of features that are wanted themselves. basis: b, bits of B after the point. off: |dz| of (4)."""

    basis: int = 0
    off: float = 0.0


def plan_rows(rows: int, columns: int, factors: int, B: F64, largest: float) -> RowsPlan:
    """Return the plan for features that are products with B, of size `largest` at most; refuse what does not fit."""
    width = len(B)
    whole = min(factors, GROUP) if factors <= GROUP else 2
    room = 61 - math.ceil(math.log2(max(largest, 1.0) + 1.0))
    for f in range(FINEST, LEAST - 1, -1):
        after = whole * f
        basis = min(FINEST, room - after)
        if basis >= f:
            off = math.sqrt(width) * (
                float(np.linalg.norm(B, 2)) * factors * 2.0**-f + math.sqrt(columns) * 2.0**-basis
            )
            off += math.sqrt(columns) * 2.0**-ROW_BITS
            if off > largest + 1.0:
                break  # more bits than these there are none
            return RowsPlan(WIDE, rows, width, f, after, after + basis - ROW_BITS, basis, off)
    raise LocalError(f"features in shares of size {largest:.3g} do not fit 64 bits: scale the columns, or take 'rbf'")


def plan_shared(rows: int, width: int, factors: int) -> SharedPlan:
    """Return the plan for features of so many factors; refuse what does not fit."""
    needed = math.ceil(math.log2(max(rows, 2))) + 2
    ring = WIDE if rows <= MANY else NARROW
    whole = min(factors, GROUP) if factors <= GROUP else 2  # factors in the bits of the last product
    for f in range(MOST, LEAST - 1, -1):
        after = whole * f
        v = min(f + 1, after)
        s = after - v
        if 2 * v + needed <= ring - s:
            return SharedPlan(ring, rows, width, f, after, s)
    raise LocalError(f"{rows} records of features in shares do not fit {ring} bits: train on a sample")
