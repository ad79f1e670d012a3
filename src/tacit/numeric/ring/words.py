"""The ring Z_q in which sums are masked: q = 2^64, where uint64 wraps by itself; small q for exact leak tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64


@dataclass(frozen=True)
class Ring:
    """Integers modulo `modulus`, as uint64 arrays."""

    modulus: int = 1 << 64

    def __post_init__(self) -> None:
        if not (2 <= self.modulus <= 1 << 63 or self.modulus == 1 << 64):  # noqa: PLR2004 - one element is no ring
            raise ValueError(f"a ring needs a modulus of 2..2^63 or 2^64, got {self.modulus}")

    def add(self, into: U64, chunks: Iterable[U64], sign: int = 1) -> U64:
        """Add `sign` times the chunks to `into`, in place, chunk by chunk."""
        start = 0
        for chunk in chunks:
            part = into[start : start + chunk.size]
            (np.add if sign > 0 else np.subtract)(part, chunk if sign > 0 else self._lift(chunk), out=part)
            if self.modulus != 1 << 64:
                np.remainder(part, np.uint64(self.modulus), out=part)
            start += chunk.size
        if start != into.size:
            raise ValueError(f"chunks cover {start} of {into.size} words")
        return into

    def _lift(self, chunk: U64) -> U64:
        """Return a - q instead of a, which keeps a small ring's difference from wrapping at 2^64."""
        return chunk if self.modulus == 1 << 64 else chunk - np.uint64(self.modulus)

    def total(self, parts: Iterable[U64]) -> U64:
        """Return the sum of whole vectors, as a new one."""
        first, *rest = parts
        out = first.copy()
        for part in rest:
            self.add(out, [part])
        return out

    def centred(self, words: U64) -> I64:
        """Return the integers of least size: what a sum is, if it is smaller than half the modulus."""
        if self.modulus == 1 << 64:
            return words.view(np.int64)
        large = words >= np.uint64(self.modulus + 1 >> 1)
        return np.where(large, words - np.uint64(self.modulus), words).view(np.int64)


Z64 = Ring()


# Words as uniform numbers, and the words of a public seed.
#
# Numbers are made from a raw stream, which NumPy keeps from version to version; its distributions may change.


def public_words(seed: int, size: int) -> U64:
    """Return the words that anybody draws from the public seed."""
    return np.asarray(np.random.PCG64(seed).random_raw(size))


def uniform(words: U64) -> F64:
    """Return numbers within (0, 1), one per word."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
