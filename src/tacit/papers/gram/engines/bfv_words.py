"""Ciphertexts of BFV as arrays of words, two polynomials modulo three primes: what the library has no calls for.

`bfv_loops` has the arithmetic, which takes a second to load: it is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.arrays import I32, U8, U64
from tacit.papers.gram.engines.bfv_layout import N, Terms

HIGH, LOW = 46, 60  # bits of the two words of a flood: 2^46 (2^60 - prime) + 2^60 stays within 2^64
WORD = 64


class Arithmetic:
    """Ciphertexts modulo these primes, of messages modulo 2^bits."""

    def __init__(self, primes: Sequence[int], bits: int) -> None:
        self.primes, self.bits, self.modulus = primes, bits, math.prod(primes)
        self._table = np.array([self._constants(q) for q in primes], np.uint64)

    def _constants(self, q: int) -> list[int]:
        """Return the row of a prime that the loops ask for."""
        x, z = pow(1 << self.bits, -1, q), pow(self.modulus // q, -1, q)
        return [q, (1 << LOW) - q, x, (x << WORD) // q, z, (z << WORD) // q]

    def add_multiples(self, words: U64, limbs: I32, terms: Sequence[Terms], bound: int) -> None:
        """Add multiples of ciphertexts, given by their limbs, by integers of at most `bound` in size."""
        from tacit.papers.gram.engines.bfv_loops import MOST, add_multiples  # noqa: PLC0415 - it takes a second to load

        columns = [(x.numbers.ravel(), x.shifts.ravel(), x.values.ravel()) for x in terms]
        numbers, shifts, values = (np.concatenate(column) for column in zip(*columns, strict=True))
        add_multiples(limbs, numbers, shifts, values, MOST // bound, self._table, words.reshape(-1, N))

    def add_protections(self, words: U64, zero: U64, mask: U64, flood: U64) -> None:
        """Add an encryption of zero, a mask, and the flood that is in the first bits of two rows of words."""
        from tacit.papers.gram.engines.bfv_loops import add_protections  # noqa: PLC0415 - it takes a second to load

        E = np.stack([flood[0] >> np.uint64(WORD - HIGH), flood[1] >> np.uint64(WORD - LOW)])
        last = np.uint64(self.modulus % (1 << WORD))
        add_protections(zero.reshape(-1, N), mask, E, last, self.bits, self._table, words.reshape(-1, N))

    def fractions(self, words: U64) -> U64:
        """Return c / Q modulo 1 of both polynomials: for each the words that stand for 2^-64 and for 2^-128."""
        from tacit.papers.gram.engines.bfv_loops import to_fractions  # noqa: PLC0415 - it takes a second to load

        found = np.empty((len(words), 2, N), np.uint64)
        for polynomial, into in zip(words, found, strict=True):
            to_fractions(polynomial, self._table, into)
        return found


def limbs_of(words: U64) -> I32:
    """Return both limbs of a ciphertext's words, each beside the other's row."""
    both = [words & np.uint64((1 << 30) - 1), words >> np.uint64(30)]
    return np.stack(both, axis=-2).astype(np.int32).reshape(-1, 2, N)


def pack(words: U64, width: int) -> bytes:
    """Return words of `width` bits, one after the other."""
    from tacit.papers.gram.engines.bfv_loops import pack_bits  # noqa: PLC0415 - it takes a second to load

    out = np.empty(packed_size(words.size, width) // 8, np.uint64)
    pack_bits(words.reshape(-1), width, out)
    return out.astype("<u8", copy=False).tobytes()


def unpack(packed: U8, width: int, count: int) -> U64:
    """Return the words that were packed."""
    from tacit.papers.gram.engines.bfv_loops import unpack_bits  # noqa: PLC0415 - it takes a second to load

    out = np.empty(count, np.uint64)
    unpack_bits(np.frombuffer(packed.tobytes(), "<u8").astype(np.uint64, copy=False), width, out)
    return out


def packed_size(count: int, width: int) -> int:
    """Return how many bytes so many packed words take: whole words of 64 bits."""
    return -(-count * width // WORD) * 8
