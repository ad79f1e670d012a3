"""Matrix products in Z_2^64: words wrap by themselves, so that every product is exact.

There is no BLAS for words of 64 bits, and NumPy's own product takes some ten times as long as one of doubles; a loop
that is compiled (`ring_loops`) takes about as long.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import U64
from tacit.numeric.ring.triangle import pack

ROWS = 4  # of a block of the loop
FEW = 8  # columns, of which the loop makes no vectors


def ring_product(A: U64, B: U64) -> U64:
    """Return A B modulo 2^64; of few columns NumPy's own is as fast."""
    if B.shape[1] < FEW:
        return A @ B
    found = _add_products((A, B))
    return found[: A.shape[0]]


def ring_square(A: U64) -> U64:
    """Return the triangle of A A modulo 2^64, for a symmetric A, in half the work."""
    return pack(_add_products((A, A), lower=True)[: len(A)], 0)


def ring_both_ways(A: U64, B: U64) -> U64:
    """Return the triangle of A B + B A modulo 2^64, for symmetric A and B, in the work of one product."""
    return pack(_add_products((A, B), (B, A), lower=True)[: len(A)], 0)


def ring_symmetric(triangle: U64, Q: U64) -> U64:
    """Return A Q modulo 2^64, for a symmetric A of which the triangle is given: half of it to read."""
    from tacit.numeric.shares.ring_loops import add_symmetric  # noqa: PLC0415 - it takes a second to load

    found = np.zeros(Q.shape[::-1], dtype=np.uint64)
    add_symmetric(triangle, np.ascontiguousarray(Q.T), found)
    return found.T


def _add_products(*factors: tuple[U64, U64], lower: bool = False) -> U64:
    """Return the sum of some products, with rows that fill the last block."""
    from tacit.numeric.shares.ring_loops import add_product  # noqa: PLC0415 - it takes a second to load

    A, B = factors[0]
    found = np.zeros((_fill(A.shape[0]), B.shape[1]), dtype=np.uint64)
    for left, right in factors:
        add_product(_pad(left, _fill(left.shape[1])), _pad(right, right.shape[1]), found, lower)
    return found


def _fill(size: int) -> int:
    return -(-size // ROWS) * ROWS


def _pad(words: U64, columns: int) -> U64:
    """Return the matrix with zeros below, and on its right: whole blocks, one row after the other."""
    padded = np.zeros((_fill(words.shape[0]), columns), dtype=np.uint64)
    padded[: words.shape[0], : words.shape[1]] = words
    return padded
