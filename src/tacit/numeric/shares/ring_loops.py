"""Products of matrices of words as loops, which numba compiles.

Four rows of A and four of B are taken at a time, so that four words of B make sixteen products, and the compiler makes
vectors of them. Blocks of B stay in the cache.
"""

from __future__ import annotations

from numba import types

from tacit.arrays import U64
from tacit.compiled import NEW_WORD_TABLE, WORD_LIST, WORD_TABLE, compiled
from tacit.numeric.shares.ring_product import ROWS

WIDE, DEEP = 512, 128  # columns and rows of a block of B


@compiled(types.void, WORD_TABLE, WORD_TABLE, NEW_WORD_TABLE, types.boolean)
def add_product(A: U64, B: U64, found: U64, lower: bool) -> None:  # noqa: FBT001 - numba's  # pragma: no cover
    """Add A B to what was found, or only what is at or below the diagonal; rows of A and B are whole fours."""
    for left in range(0, B.shape[1], WIDE):
        for top in range(0, B.shape[0], DEEP):
            bottom = min(top + DEEP, B.shape[0])
            for i in range(left // ROWS * ROWS if lower else 0, A.shape[0], ROWS):
                right = min(left + WIDE, B.shape[1], i + ROWS if lower else B.shape[1])
                c0, c1 = found[i, left:right], found[i + 1, left:right]
                c2, c3 = found[i + 2, left:right], found[i + 3, left:right]
                for k in range(top, bottom, ROWS):
                    b0, b1 = B[k, left:right], B[k + 1, left:right]
                    b2, b3 = B[k + 2, left:right], B[k + 3, left:right]
                    p0, p1, p2, p3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
                    q0, q1, q2, q3 = A[i + 1, k], A[i + 1, k + 1], A[i + 1, k + 2], A[i + 1, k + 3]
                    r0, r1, r2, r3 = A[i + 2, k], A[i + 2, k + 1], A[i + 2, k + 2], A[i + 2, k + 3]
                    s0, s1, s2, s3 = A[i + 3, k], A[i + 3, k + 1], A[i + 3, k + 2], A[i + 3, k + 3]
                    for j in range(right - left):
                        w0, w1, w2, w3 = b0[j], b1[j], b2[j], b3[j]
                        c0[j] += p0 * w0 + p1 * w1 + p2 * w2 + p3 * w3
                        c1[j] += q0 * w0 + q1 * w1 + q2 * w2 + q3 * w3
                        c2[j] += r0 * w0 + r1 * w1 + r2 * w2 + r3 * w3
                        c3[j] += s0 * w0 + s1 * w1 + s2 * w2 + s3 * w3


@compiled(types.void, WORD_LIST, WORD_TABLE, NEW_WORD_TABLE)
def add_symmetric(triangle: U64, Q: U64, found: U64) -> None:  # pragma: no cover
    """Add A q to what was found, for every row q of Q, where A is symmetric and its triangle is read once."""
    for k in range(Q.shape[0]):
        q, out = Q[k], found[k]
        start = 0
        for i in range(Q.shape[1]):
            row, own, total = triangle[start : start + i], q[i], triangle[start + i] * q[i]
            for j in range(i):
                total += row[j] * q[j]
                out[j] += row[j] * own
            out[i] += total
            start += i + 1
