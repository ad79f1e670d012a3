"""BLAKE2b (RFC 7693) of many short rows at once: LANES rows go through its rounds side by side, as vectors."""

from __future__ import annotations

import numpy as np
from numba import types

from tacit.arrays import U64
from tacit.compiled import NEW_WORD_TABLE, WORD_LIST, WORD_TABLE, Word, compiled, inlined

LANES = 8
IV = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
I0, I1, I2, I3, I4, I5, I6, I7 = (np.uint64(word) for word in IV)
C32, C24, C16, C63, C40, C48, C1 = (np.uint64(bits) for bits in (32, 24, 16, 63, 40, 48, 1))
State = tuple[Word, ...]


@inlined
def mix(a: Word, b: Word, c: Word, d: Word, x: Word, y: Word) -> State:
    """Return four words of the state after the function G."""
    a = a + b + x
    d ^= a
    d = (d >> C32) | (d << C32)
    c += d
    b ^= c
    b = (b >> C24) | (b << C40)
    a = a + b + y
    d ^= a
    d = (d >> C16) | (d << C48)
    c += d
    b ^= c
    return a, (b >> C63) | (b << C1), c, d


@inlined
def turn(v: State, m: State) -> State:
    """Return the state after one round, of the words of the block in the order of this round."""
    v0, v4, v8, v12 = mix(v[0], v[4], v[8], v[12], m[0], m[1])
    v1, v5, v9, v13 = mix(v[1], v[5], v[9], v[13], m[2], m[3])
    v2, v6, v10, v14 = mix(v[2], v[6], v[10], v[14], m[4], m[5])
    v3, v7, v11, v15 = mix(v[3], v[7], v[11], v[15], m[6], m[7])
    v0, v5, v10, v15 = mix(v0, v5, v10, v15, m[8], m[9])
    v1, v6, v11, v12 = mix(v1, v6, v11, v12, m[10], m[11])
    v2, v7, v8, v13 = mix(v2, v7, v8, v13, m[12], m[13])
    v3, v4, v9, v14 = mix(v3, v4, v9, v14, m[14], m[15])
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15


@compiled(types.void, WORD_LIST, types.uint64, types.uint64, WORD_TABLE, NEW_WORD_TABLE)
def compress_rows(h: U64, read: Word, last: Word, rows: U64, out: U64) -> None:
    """Write the state after each row, a block of at most sixteen words, to `out`, or as many words of it as fit there.

    h: the state before it, of all rows. read: bytes that were read, this block among them. last: all ones if no block
    follows, else zero.
    """
    n, width = rows.shape
    h0, h1, h2, h3, h4, h5, h6, h7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    t, f = I4 ^ read, I6 ^ last
    m = np.zeros((24, LANES), np.uint64)  # one array: of two, no compiler knows that they do not overlap
    for start in range(0, n, LANES):
        for i in range(min(LANES, n - start)):
            for w in range(width):
                m[w, i] = rows[start + i, w]
        for i in range(LANES):
            m0, m1, m2, m3, m4, m5, m6, m7 = m[0, i], m[1, i], m[2, i], m[3, i], m[4, i], m[5, i], m[6, i], m[7, i]
            m8, m9, m10, m11 = m[8, i], m[9, i], m[10, i], m[11, i]
            m12, m13, m14, m15 = m[12, i], m[13, i], m[14, i], m[15, i]
            v = (h0, h1, h2, h3, h4, h5, h6, h7, I0, I1, I2, I3, t, I5, f, I7)
            v = turn(v, (m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15))
            v = turn(v, (m14, m10, m4, m8, m9, m15, m13, m6, m1, m12, m0, m2, m11, m7, m5, m3))
            v = turn(v, (m11, m8, m12, m0, m5, m2, m15, m13, m10, m14, m3, m6, m7, m1, m9, m4))
            v = turn(v, (m7, m9, m3, m1, m13, m12, m11, m14, m2, m6, m5, m10, m4, m0, m15, m8))
            v = turn(v, (m9, m0, m5, m7, m2, m4, m10, m15, m14, m1, m11, m12, m6, m8, m3, m13))
            v = turn(v, (m2, m12, m6, m10, m0, m11, m8, m3, m4, m13, m7, m5, m15, m14, m1, m9))
            v = turn(v, (m12, m5, m1, m15, m14, m13, m4, m10, m0, m7, m6, m3, m9, m2, m8, m11))
            v = turn(v, (m13, m11, m7, m14, m12, m1, m3, m9, m5, m0, m15, m4, m8, m6, m2, m10))
            v = turn(v, (m6, m15, m14, m9, m11, m3, m0, m8, m12, m2, m13, m7, m1, m4, m10, m5))
            v = turn(v, (m10, m2, m8, m4, m7, m6, m1, m5, m15, m11, m9, m14, m3, m12, m13, m0))
            v = turn(v, (m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15))
            v = turn(v, (m14, m10, m4, m8, m9, m15, m13, m6, m1, m12, m0, m2, m11, m7, m5, m3))
            m[16, i], m[17, i], m[18, i] = h0 ^ v[0] ^ v[8], h1 ^ v[1] ^ v[9], h2 ^ v[2] ^ v[10]
            m[19, i], m[20, i], m[21, i] = h3 ^ v[3] ^ v[11], h4 ^ v[4] ^ v[12], h5 ^ v[5] ^ v[13]
            m[22, i], m[23, i] = h6 ^ v[6] ^ v[14], h7 ^ v[7] ^ v[15]
        for i in range(min(LANES, n - start)):
            for w in range(min(8, out.shape[1])):
                out[start + i, w] = m[16 + w, i]
