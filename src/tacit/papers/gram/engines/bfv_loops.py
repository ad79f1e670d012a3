"""Arithmetic of ciphertexts as loops, which numba compiles: words modulo primes q that are a little below 2^60.

A word is two limbs of 30 bits, c = c_0 + 2^30 c_1. A sum of multiples of words by integers b is one for each limb:

    S_l = sum b c_l,      |S_l| <= sum |b| (2^30 - 1) < 2^63           as long as sum |b| <= 2^33                    (1)
    S_0 + 2^30 S_1 = h 2^60 + r = h d + r   (mod q)                    d = 2^60 - q < 2^18, |h| < 2^34, r < 2^61     (2)

so nothing is longer than a word of 64 bits. Where (1) would not hold, a sum is taken in parts.

A ciphertext is a table of six rows: two polynomials modulo three primes. `primes` has a row for each prime, with the
columns q, d, x, floor(2^64 x / q) and z, floor(2^64 z / q), where x = 2^-k and z = (q_1 q_2 q_3 / q)^-1 modulo q.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tacit.arrays import I32, I64, U64
from tacit.compiled import NEW_WORD_LIST, NEW_WORD_TABLE, NUMBERS, WORD_LIST, WORD_TABLE, Word, compiled, inlined

MOST = 1 << 33  # the largest sum of |b| in (1)
WIDE = 1024  # coefficients whose sums stay in the nearest cache
LOW30, LOW60 = (1 << 30) - 1, (1 << 60) - 1
LOW32, WORD60, HALF = np.uint64(0xFFFFFFFF), np.uint64(LOW60), np.uint64(32)
LIMBS = types.Array(types.int32, 4, "C", readonly=True)
SUMS = types.Array(types.int64, 1, "C")
COUNT = types.int64
WORD = 64  # bits


@inlined
def reduce_word(x: Word, q: Word, d: Word) -> Word:  # pragma: no cover
    """Return a word modulo q."""
    x = (x >> np.uint64(60)) * d + (x & WORD60)
    return x - q if x >= q else x


@inlined
def upper_half(a: Word, b: Word) -> Word:  # pragma: no cover
    """Return floor(a b / 2^64)."""
    a0, a1, b0, b1 = a & LOW32, a >> HALF, b & LOW32, b >> HALF
    middle = a1 * b0 + (a0 * b0 >> HALF)
    return a1 * b1 + (middle >> HALF) + ((middle & LOW32) + a0 * b1 >> HALF)


@inlined
def multiply_word(a: Word, x: Word, ratio: Word, q: Word) -> Word:  # pragma: no cover
    """Return a x modulo q, for ratio = floor(2^64 x / q)."""
    product = a * x - upper_half(a, ratio) * q
    return product - q if product >= q else product


@inlined
def add_term(c: I32, b: int, out: I64) -> None:  # pragma: no cover
    """Add a multiple of some limbs."""
    for k in range(len(out)):
        out[k] += b * np.int64(c[k])


@compiled(types.void, LIMBS, COUNT, COUNT, NUMBERS, NUMBERS, NUMBERS, COUNT, COUNT, COUNT, COUNT, SUMS)
def sum_terms(
    limbs: I32,
    row: int,
    limb: int,
    numbers: I64,
    shifts: I64,
    factors: I64,
    first: int,
    last: int,
    start: int,
    size: int,
    out: I64,
) -> None:  # pragma: no cover
    """Write (1) for the terms from first to last, and the coefficients from `start` on: four terms at a time.

    A term that goes around within these coefficients is added by itself.
    """
    n = limbs.shape[3]
    out[:size] = 0
    i = first
    while i < last:
        b0, at0 = factors[i], start - shifts[i]
        around = -size < at0 < 0
        for j in range(i + 1, min(i + 4, last)):
            around |= -size < start - shifts[j] < 0
        if around or i + 4 > last:
            c0, turned = limbs[numbers[i], row, limb], min(max(0, -at0), size)
            add_term(c0[n + at0 : n + at0 + turned], -b0, out[:turned])  # X^N = -1
            add_term(c0[at0 + turned : at0 + size], b0, out[turned:size])
            i += 1
            continue
        b1, at1 = factors[i + 1], start - shifts[i + 1]
        b2, at2 = factors[i + 2], start - shifts[i + 2]
        b3, at3 = factors[i + 3], start - shifts[i + 3]
        if at0 < 0:
            b0, at0 = -b0, at0 + n
        if at1 < 0:
            b1, at1 = -b1, at1 + n
        if at2 < 0:
            b2, at2 = -b2, at2 + n
        if at3 < 0:
            b3, at3 = -b3, at3 + n
        c0 = limbs[numbers[i], row, limb, at0 : at0 + size]
        c1 = limbs[numbers[i + 1], row, limb, at1 : at1 + size]
        c2 = limbs[numbers[i + 2], row, limb, at2 : at2 + size]
        c3 = limbs[numbers[i + 3], row, limb, at3 : at3 + size]
        for k in range(size):
            out[k] += b0 * np.int64(c0[k]) + b1 * np.int64(c1[k]) + b2 * np.int64(c2[k]) + b3 * np.int64(c3[k])
        i += 4


@compiled(types.void, LIMBS, NUMBERS, NUMBERS, NUMBERS, COUNT, WORD_TABLE, NEW_WORD_TABLE)
def add_multiples(
    limbs: I32, numbers: I64, shifts: I64, factors: I64, most: int, primes: U64, out: U64
) -> None:  # pragma: no cover
    """Add sum_i factors_i X^(shifts_i) c_(numbers_i) to a ciphertext, `most` terms at a time."""
    low, high = np.empty(WIDE, np.int64), np.empty(WIDE, np.int64)
    for row in range(out.shape[0]):
        q, d = primes[row % len(primes), 0], primes[row % len(primes), 1]
        for start in range(0, out.shape[1], WIDE):
            size = min(WIDE, out.shape[1] - start)
            into = out[row, start : start + size]
            for first in range(0, len(factors), most):
                last = min(len(factors), first + most)
                sum_terms(limbs, row, 0, numbers, shifts, factors, first, last, start, size, low)
                sum_terms(limbs, row, 1, numbers, shifts, factors, first, last, start, size, high)
                for k in range(size):  # (2)
                    h = (low[k] >> 60) + (high[k] >> 30)
                    rest = (low[k] & LOW60) + ((high[k] & LOW30) << 30)
                    into[k] = reduce_word(into[k] + np.uint64(h * np.int64(d) + rest + np.int64(q)), q, d)


@compiled(types.void, WORD_TABLE, WORD_LIST, WORD_TABLE, types.uint64, COUNT, WORD_TABLE, NEW_WORD_TABLE)
def add_protections(
    zero: U64, mask: U64, flood: U64, modulus: int, bits: int, primes: U64, out: U64
) -> None:  # pragma: no cover
    """Add an encryption of zero, the mask r as round(r Q / t), and the flood h 2^60 + l, to a ciphertext.

    t is 2^bits. Q, of which `modulus` is the last word, is 0 modulo each q, so that round(r Q / t) is
    (t/2 - (r Q + t/2 mod t)) / t there.
    """
    half = np.uint64(1) << np.uint64(bits - 1)
    for i in range(len(primes)):
        q, d, x, ratio = primes[i, 0], primes[i, 1], primes[i, 2], primes[i, 3]
        for k in range(out.shape[1]):
            rest = (mask[k] * modulus + half) & (half + half - np.uint64(1))
            scaled = multiply_word(half - rest if rest <= half else half - rest + q, x, ratio, q)
            noise = reduce_word(flood[0, k] * d + flood[1, k], q, d)
            out[i, k] = reduce_word(out[i, k] + zero[i, k] + scaled + noise, q, d)
        for k in range(out.shape[1]):
            row = len(primes) + i
            out[row, k] = reduce_word(out[row, k] + zero[row, k], q, d)


@compiled(types.void, WORD_TABLE, WORD_TABLE, NEW_WORD_TABLE)
def to_fractions(words: U64, primes: U64, out: U64) -> None:  # pragma: no cover
    """Write c / Q modulo 1, as words that stand for 2^-64 and 2^-128: the sum of (z c modulo q) / q.

    1 / q is 2^-60 + 2^-120 d, up to less than 2^-144, which makes an error of less than 2^-82 in all.
    """
    for k in range(words.shape[1]):
        high, low = np.uint64(0), np.uint64(0)
        for i in range(len(primes)):
            q, d, z, ratio = primes[i, 0], primes[i, 1] << np.uint64(8), primes[i, 4], primes[i, 5]
            y = multiply_word(words[i, k], z, ratio, q)
            part = y * d
            low += part
            high += (y << np.uint64(4)) + upper_half(y, d)
            if low < part:
                high += np.uint64(1)
        out[0, k], out[1, k] = high, low


@compiled(types.void, WORD_LIST, COUNT, NEW_WORD_LIST)
def pack_bits(words: U64, width: int, out: U64) -> None:  # pragma: no cover
    """Write words of so many bits one after the other."""
    free, at, wide = WORD, 0, np.uint64(0)
    for k in range(len(words)):
        wide |= words[k] << np.uint64(WORD - free)
        if width >= free:
            out[at] = wide
            at += 1
            wide = words[k] >> np.uint64(free) if free < WORD else np.uint64(0)
            free += WORD
        free -= width
    if free < WORD:
        out[at] = wide


@compiled(types.void, WORD_LIST, COUNT, NEW_WORD_LIST)
def unpack_bits(packed: U64, width: int, out: U64) -> None:  # pragma: no cover
    """Write the words that were packed."""
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(WORD - width)
    for k in range(len(out)):
        at, skip = k * width // WORD, k * width % WORD
        word = packed[at] >> np.uint64(skip)
        if skip + width > WORD:
            word |= packed[at + 1] << np.uint64(WORD - skip)
        out[k] = word & mask
