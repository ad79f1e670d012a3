"""Products with the rows of an owner as loops, which numba compiles.

    rows of A times rows of B'    found[c, i] += A_i . B_c             four of B at a time: a row of A is read once  (1)
    sum of outer products         found[c]    += sum_i C[c, i] A_i     four rows of A at a time                      (2)

A is of words, or of the owner's own whole numbers of 16 bits. Sums wrap modulo 2^64. Rows of A are a part of a larger
matrix, and `start` says where it begins.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tacit.arrays import I64, U64, Array
from tacit.compiled import NEW_WORD_TABLE, WORD_TABLE, compiled

SMALL_TABLE = types.Array(types.int16, 2, "C", readonly=True)
NUMBER_TABLE = types.Array(types.int64, 2, "C", readonly=True)
NEW_NUMBER_TABLE = types.Array(types.int64, 2, "C")


@compiled(types.void, WORD_TABLE, WORD_TABLE, NEW_WORD_TABLE, types.int64)
def add_dots(A: U64, B: U64, found: U64, start: int) -> None:  # pragma: no cover
    """Add (1)."""
    fours = B.shape[0] // 4 * 4
    for i in range(A.shape[0]):
        a = A[i]
        for c in range(0, fours, 4):
            b0, b1, b2, b3 = B[c], B[c + 1], B[c + 2], B[c + 3]
            t0, t1, t2, t3 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            for k in range(A.shape[1]):
                t0 += a[k] * b0[k]
                t1 += a[k] * b1[k]
                t2 += a[k] * b2[k]
                t3 += a[k] * b3[k]
            found[c, start + i] += t0
            found[c + 1, start + i] += t1
            found[c + 2, start + i] += t2
            found[c + 3, start + i] += t3
        for c in range(fours, B.shape[0]):
            b, t = B[c], np.uint64(0)
            for k in range(A.shape[1]):
                t += a[k] * b[k]
            found[c, start + i] += t


@compiled(types.void, WORD_TABLE, WORD_TABLE, NEW_WORD_TABLE, types.int64)
def add_outer(A: U64, C: U64, found: U64, start: int) -> None:  # pragma: no cover
    """Add (2)."""
    fours = A.shape[0] // 4 * 4
    for i in range(0, fours, 4):
        a0, a1, a2, a3 = A[i], A[i + 1], A[i + 2], A[i + 3]
        for c in range(C.shape[0]):
            out, at = found[c], start + i
            c0, c1, c2, c3 = C[c, at], C[c, at + 1], C[c, at + 2], C[c, at + 3]
            for k in range(A.shape[1]):
                out[k] += c0 * a0[k] + c1 * a1[k] + c2 * a2[k] + c3 * a3[k]
    for i in range(fours, A.shape[0]):
        a = A[i]
        for c in range(C.shape[0]):
            out, own = found[c], C[c, start + i]
            for k in range(A.shape[1]):
                out[k] += own * a[k]


@compiled(types.void, SMALL_TABLE, NUMBER_TABLE, NEW_NUMBER_TABLE, types.int64)
def add_own_dots(Z: Array, V: I64, found: I64, start: int) -> None:  # pragma: no cover
    """Add (1) for the owner's own rows, four rows at a time: V is small and stays in the cache."""
    fours = Z.shape[0] // 4 * 4
    for i in range(0, fours, 4):
        z0, z1, z2, z3 = Z[i], Z[i + 1], Z[i + 2], Z[i + 3]
        for c in range(V.shape[0]):
            v = V[c]
            t0, t1, t2, t3 = 0, 0, 0, 0
            for k in range(Z.shape[1]):
                t0 += v[k] * z0[k]
                t1 += v[k] * z1[k]
                t2 += v[k] * z2[k]
                t3 += v[k] * z3[k]
            found[c, start + i] += t0
            found[c, start + i + 1] += t1
            found[c, start + i + 2] += t2
            found[c, start + i + 3] += t3
    for i in range(fours, Z.shape[0]):
        z = Z[i]
        for c in range(V.shape[0]):
            v, t = V[c], 0
            for k in range(Z.shape[1]):
                t += v[k] * z[k]
            found[c, start + i] += t


@compiled(types.void, SMALL_TABLE, NUMBER_TABLE, NEW_NUMBER_TABLE, types.int64)
def add_own_outer(Z: Array, C: I64, found: I64, start: int) -> None:  # pragma: no cover
    """Add (2) for the owner's own rows."""
    fours = Z.shape[0] // 4 * 4
    for i in range(0, fours, 4):
        z0, z1, z2, z3 = Z[i], Z[i + 1], Z[i + 2], Z[i + 3]
        for c in range(C.shape[0]):
            out, at = found[c], start + i
            c0, c1, c2, c3 = C[c, at], C[c, at + 1], C[c, at + 2], C[c, at + 3]
            for k in range(Z.shape[1]):
                out[k] += c0 * z0[k] + c1 * z1[k] + c2 * z2[k] + c3 * z3[k]
    for i in range(fours, Z.shape[0]):
        z = Z[i]
        for c in range(C.shape[0]):
            out, own = found[c], C[c, start + i]
            for k in range(Z.shape[1]):
                out[k] += own * z[k]
