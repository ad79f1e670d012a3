"""The reply of engine `bfv` on the wire: both polynomials with the bits that decryption needs, and no others.

Let (c0, c1) be a protected reply modulo Q, the product of three primes, s the secret key, m the message in Z_t^N, t =
2^k. What is sent is

    C0 = round(2^(k+2) c0 / Q)       of the coefficients that hold a result, and of 128 at least                     (1)
    C1 = round(2^(k+10) c1 / Q)      of all N                                                                        (2)
    2^-(k+2) C0 + 2^-(k+10) C1 s = m / t + e   modulo 1                                                              (3)

It decrypts to m as long as |e| < 2^-(k+1), the room. Of the room e takes

    1/4            C0 is rounded by at most 2^-(k+3)
    2^-12          the noise of the reply itself, with the flood of at most 2^106, over Q
    x              C1 is rounded by N numbers that are uniform up to 2^-(k+11) in size, as c1 is (RLWE), each of which
                   s adds, subtracts or leaves out: their sum has a standard deviation of at most
                   (N / 12)^(1/2) 2^-(k+10), 0.051 of the room, and a uniform number has no heavier tail than a
                   Gaussian one: P(|x| > u) <= 2 exp(-(u / 0.051)^2 / 2)
    1/32           (3) is computed in units of 2^-64, and k is at most 59

so that a coefficient is wrong with a probability of 2^-140, for any key. A reply to another key has an e that is
uniform. One with an e over 3/4 of the room is refused: with a probability of 2^-58 a right one, of (3/4)^128 = 2^-53 a
wrong one.

C1 s is computed by Fourier transforms in floats, on limbs of 24 bits: with X^N = -1 a polynomial of N real coefficients
is one of N/2 complex ones, x_j + i x_(j + N/2), taken at X^(N/2) = i. An error is at most about 40 * 2^-53 |limb| |s| <
2^-10, so that rounding gives the integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import I64, U8, U64
from tacit.papers.gram.engines.bfv_layout import N
from tacit.papers.gram.engines.bfv_words import WORD, pack, packed_size, unpack

FIRST, SECOND = 2, 10  # bits of C0 and C1 beyond k
ROOM = 0.75  # how much of the room may be used
Spectrum = NDArray[np.complex128]

HALF = N // 2
TWIST = np.exp(1j * np.pi * np.arange(HALF) / N)


def reply_size(count: int, bits: int) -> int:
    """Return how many bytes a reply has that holds so many coefficients of C0."""
    return packed_size(count, bits + FIRST) + _second_size(bits)


def write_reply(fractions: U64, kept: I64, bits: int) -> U8:
    """Return (1) and (2), of c / Q modulo 1 in words for 2^-64 and 2^-128."""
    first, second = (_round(words, bits + more) for words, more in zip(fractions, (FIRST, SECOND), strict=True))
    content = pack(first[0][kept] >> np.uint64(WORD - bits - FIRST), bits + FIRST)
    return np.frombuffer(content + _pack_long(second, bits + SECOND), np.uint8)


def read_reply(content: U8, kept: I64, bits: int, secret: Spectrum) -> tuple[U64, float]:
    """Return the message at the coefficients that were sent, 0 elsewhere, and how much of the room is used."""
    first, second = content[: packed_size(len(kept), bits + FIRST)], content[-_second_size(bits) :]
    phase = _times_secret(_unpack_long(second, bits + SECOND), secret)[kept]  # (3)
    phase += unpack(first, bits + FIRST, len(kept)) << np.uint64(WORD - bits - FIRST)
    half = np.uint64(1 << (WORD - 1 - bits))
    found = (phase + half) >> np.uint64(WORD - bits)
    rest = (phase - (found << np.uint64(WORD - bits))).view(np.int64)
    message = np.zeros(N, np.uint64)
    message[kept] = found
    return message, float(np.abs(rest).max() / float(half))


def spectrum(secret: I64) -> Spectrum:
    """Return the transform of a polynomial with small coefficients."""
    x = secret.astype(np.float64)
    return np.fft.fft((x[..., :HALF] + 1j * x[..., HALF:]) * TWIST)


def _times_secret(words: U64, secret: Spectrum) -> U64:
    """Return C1 s in units of 2^-64, modulo 1."""
    high, low = words
    limbs = np.stack([
        high.view(np.int64) >> 40,
        (high >> np.uint64(16) & np.uint64(0xFFFFFF)).astype(np.int64),
        ((high & np.uint64(0xFFFF)) << np.uint64(8) | low >> np.uint64(56)).astype(np.int64),
    ])  # fmt: skip
    found = np.fft.ifft(spectrum(limbs) * secret) / TWIST
    a, b, c = np.rint(np.concatenate([found.real, found.imag], axis=1)).astype(np.int64)
    total: I64 = (a << 40) + (b << 16) + ((c + 128) >> 8)
    return total.view(np.uint64)


def _round(words: U64, width: int) -> U64:
    """Return fractions of which the first bits, so many, are the nearest."""
    high, low = words
    if width < WORD:
        return np.stack([high + np.uint64(1 << (WORD - 1 - width)), low])
    rounded = low + np.uint64(1 << (2 * WORD - 1 - width))
    return np.stack([high + (rounded < low), rounded])


def _pack_long(words: U64, width: int) -> bytes:
    """Return the first bits of fractions: 64 of them at most, then the others."""
    more = max(0, width - WORD)
    first = pack(words[0] >> np.uint64(WORD - width + more), width - more)
    return first + (pack(words[1] >> np.uint64(WORD - more), more) if more else b"")


def _unpack_long(content: U8, width: int) -> U64:
    more = max(0, width - WORD)
    end = packed_size(N, width - more)
    high = unpack(content[:end], width - more, N) << np.uint64(WORD - width + more)
    low = unpack(content[end:], more, N) << np.uint64(WORD - more) if more else np.zeros(N, np.uint64)
    return np.stack([high, low])


def _second_size(bits: int) -> int:
    return packed_size(N, bits + SECOND)
