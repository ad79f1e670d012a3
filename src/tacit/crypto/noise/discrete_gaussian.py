"""The discrete Gaussian: integers x with probability proportional to exp(-x^2 / 2v), from AES and without floats.

A draw is a sum of draws from alias tables whose probabilities are exact to 2^-128:

    x = g_0 a_0 + g_1 a_1 + ... + g_j a_j + k b,    g_0 = 1,  g_(i+1) = K_i g_i                                    (1)
    a_i with variance 32 K_i^2,  b with variance W = (v - L) / k^2,  L = the variance of all before it             (2)

Each sum is wide against the grid of the next term: where r is the ratio of the two, (1) has the probabilities of the
discrete Gaussian up to a factor of 1 +- 4 exp(-2 pi^2 r^2). Here r^2 >= 16, so no observer ever sees the difference.

An alias table has 2^m columns, each of which is one number up to a height and another above it. Of a uniform word the
low m bits choose the column; the others are compared with the height, whose lower bits decide where they are equal.

Source: Micciancio and Walter, CRYPTO 2017 (convolution); Walker, Electronics Letters 10, 1974 (alias);
Canonne, Kamath and Steinke, NeurIPS 2020 (why a sum of integers needs discrete noise).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.arrays import I64, U64
from tacit.crypto.pads.entropy import WORDS, prf, stream

PRECISION = 128  # bits of a probability
GUARD = 256  # bits of the numbers that probabilities are computed with
DIGITS = 100  # of the first of them
TAIL = 14  # standard deviations, beyond which less than 2^-128 lies
SMOOTH = 32  # the least variance of two terms in units of the grid: then r^2 >= 16
STEPS = (128, 8)  # K of (1): the larger one where it fits
LARGEST = 96**2  # W of (2)
MASK = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Numbers with exact probabilities: column c is `here[c]` below its height, and `there[c]` from there on."""

    bits: int  # m
    high: U64  # the upper 64 - m bits of the heights
    low: tuple[int, ...]  # the lower 64 bits
    here: I64
    there: I64

    def draw(self, words: U64, ties: Iterator[int]) -> I64:
        """Return a number per uniform word; `ties` yields the lower bits that are needed where the upper are equal."""
        column = (words & np.uint64(len(self.high) - 1)).view(np.int64)
        part, height = words >> np.uint64(self.bits), self.high.take(column)
        drawn = np.where(part < height, self.here.take(column), self.there.take(column))
        for i in np.flatnonzero(part == height):
            c = column[i]
            drawn[i] = self.here[c] if next(ties) < self.low[c] else self.there[c]
        return drawn


@dataclass(frozen=True)
class Sampler:
    """Draws by (1): tables, each with the step that it counts by."""

    terms: tuple[tuple[int, AliasTable], ...]

    def draw(self, key: bytes, count: int) -> I64:
        """Return the first numbers under a key of 32 bytes."""
        drawn, ties = np.zeros(count, dtype=np.int64), draw_ties(key)
        streams = [stream(prf(key, b"noise", bytes([i])), count) for i in range(len(self.terms))]
        for start in range(0, count, WORDS):
            part = drawn[start : start + WORDS]
            for (step, table), words in zip(self.terms, streams, strict=True):
                part += step * table.draw(next(words), ties)
        return drawn


def draw_noise(key: bytes, count: int, variance: int) -> I64:
    """Return so many integers of the discrete Gaussian with this variance; the same for the same key."""
    return sampler_of(variance).draw(key, count)


@lru_cache(maxsize=64)
def sampler_of(variance: int) -> Sampler:
    """Return the sampler of a variance, by (1) and (2)."""
    if variance <= 0:
        raise ValueError(f"a discrete Gaussian needs a positive variance, got {variance}")
    terms: list[tuple[int, AliasTable]] = []
    before, grid, most = 0, 1, 1  # L, the next grid, the largest k
    while variance > before + most**2 * LARGEST:
        wide, narrow = STEPS
        step = wide if variance - before > 2 * SMOOTH * (wide * grid) ** 2 else narrow
        terms.append((grid, alias_table(Fraction(SMOOTH * step**2))))
        before, grid = before + SMOOTH * (step * grid) ** 2, grid * step
        most = math.isqrt(before // SMOOTH)
    k = math.isqrt((variance - before - 1) // LARGEST) + 1
    return Sampler((*terms, (k, alias_table(Fraction(variance - before, k**2)))))


def draw_ties(key: bytes) -> Iterator[int]:
    """Yield the words that decide where the upper bits of a height are met exactly, about once in 2^50 draws."""
    for chunk in stream(prf(key, b"ties"), 1 << 40):
        yield from chunk.tolist()


@lru_cache(maxsize=64)
def alias_table(variance: Fraction) -> AliasTable:
    """Return the table of the discrete Gaussian with this variance."""
    weights = weigh(variance)
    tail, bits = len(weights) // 2, len(weights).bit_length()
    idle = (1 << bits) - len(weights)
    heights, other = level_columns([*weights, *[0] * idle], 1 << (PRECISION - bits))
    values = np.concatenate([np.arange(-tail, tail + 1), np.zeros(idle, dtype=np.int64)])
    high = np.array([height >> 64 for height in heights], dtype=np.uint64)
    return AliasTable(bits, high, tuple(height & MASK for height in heights), values, values[other])


def weigh(variance: Fraction) -> list[int]:
    """Return the probabilities of -tail .. tail in units of 2^-128; they add up to 1 exactly.

    p_(x+1) = p_x r_x and r_(x+1) = r_x q^2, with q = exp(-1 / 2v) and r_0 = q.
    """
    with localcontext(prec=DIGITS):
        q = int((-Decimal(variance.denominator) / (2 * variance.numerator)).exp() * (1 << GUARD))
    p, r, half = 1 << GUARD, q, []
    for _ in range(TAIL * (math.isqrt(math.ceil(variance)) + 1)):
        p, r = p * r >> GUARD, (r * q >> GUARD) * q >> GUARD
        half.append(p)
    total = (1 << GUARD) + 2 * sum(half)
    half = [(p << PRECISION) // total for p in half]
    return [*half[::-1], (1 << PRECISION) - 2 * sum(half), *half]


def level_columns(weights: list[int], column: int) -> tuple[list[int], list[int]]:
    """Return the heights of Walker's columns and the number that fills each up; the weights fill all exactly."""
    heights, other = list(weights), list(range(len(weights)))
    short = [c for c, weight in enumerate(weights) if weight < column]
    tall = [c for c, weight in enumerate(weights) if weight > column]
    while short:
        c, giver = short.pop(), tall[-1]
        other[c] = giver
        heights[giver] -= column - heights[c]
        if heights[giver] <= column:
            tall.pop()
            if heights[giver] < column:
                short.append(giver)
    return heights, other
