"""Cells as integers that can be multiplied exactly.

A cell x becomes round(x 2^f), at most 2^b in size. A dot product of n of them is less than n 2^2b, and exact modulo
2^k if

    n 2^2b < 2^(k-1)                                                                                    (1)

Where |x| <= 2^e the most exact choice is f = b - e. Dot products carry 2f fraction bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.errors import LocalError

EXPONENTS = range(-64, 64)  # of the powers of two that cells are compared with
DOUBLE = 53  # products below 2^53 are exact in doubles
LEAST, MOST = 48, 59  # bits of a ring: up to 48 the engine `bfv` replies with one prime, beyond with two
BITS = 20  # of an integer, or more where they fit


@dataclass(frozen=True)
class Cells:
    """Cells of up to 2^`exponent` as integers of up to 2^`bits`, for dot products of `terms`."""

    exponent: int
    bits: int
    terms: int

    def __post_init__(self) -> None:
        if self.ring_bits > MOST:
            raise LocalError(
                f"dot products of {self.terms} columns of {self.bits} bits need {self.ring_bits} bits and have {MOST}:"
                " lower feature_bits"
            )

    @property
    def bound(self) -> int:
        """The largest size of an integer."""
        return 1 << self.bits

    @property
    def ring_bits(self) -> int:
        """The number of bits k of (1)."""
        return max(LEAST, 2 * self.bits + self.terms.bit_length() + 1)

    def encode(self, X: F64, what: str) -> I64:
        """Return the cells as integers; `what` names the table in an error."""
        largest = float(np.abs(X).max(initial=0.0))
        if not largest <= 2.0**self.exponent:
            raise LocalError(
                f"{what}: a value of size {largest:.6g} is outside the declared range of {2.0**self.exponent:.6g}"
            )
        return np.rint(np.ldexp(X, self.bits - self.exponent)).astype(np.int64)

    def decode(self, dots: I64) -> F64:
        """Return dot products of integers as reals."""
        return np.ldexp(dots.astype(np.float64), 2 * (self.exponent - self.bits))

    def dots(self, A: I64, B: I64) -> I64:
        """Return A B', exactly; by doubles where they are wide enough, since these have a fast product."""
        if self.terms * self.bound**2 < 1 << DOUBLE:
            return np.asarray(A.astype(np.float64) @ B.astype(np.float64).T).astype(np.int64)
        return np.asarray(A @ B.T)


def widest(terms: int) -> int:
    """Return as many bits as (1) leaves room for in the largest ring."""
    return (MOST - 1 - terms.bit_length()) // 2


def mark_exceeded(X: F64) -> Flags:
    """Return which of the powers of two are smaller than some cell."""
    return np.array([float(np.abs(X).max(initial=0.0)) > 2.0**e for e in EXPONENTS])


def exponent_over(marks: Flags) -> int:
    """Return the exponent of the first power of two that no cell is larger than."""
    if marks[-1]:
        raise LocalError(f"a value is larger than 2^{EXPONENTS[-1]}: scale the features")
    return EXPONENTS[int(np.argmin(marks))]
