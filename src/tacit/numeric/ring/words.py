"""The ring Z_q in which sums are masked: q = 2^64, where uint64 wraps by itself; small q for exact leak tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U8, U64, Array


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


# Words of small rings in as few bytes as they need.
#
# A word below 2^k takes ceil(k / 8) bytes. These are written in parts of 4, 2 and 1 bytes, the low part of all words
# first, since NumPy converts whole arrays to such integers at the speed of memory. Words of eight bytes stay as they
# are.


WORD = 8  # bytes
PARTS = (4, 2, 1)


def narrow(words: U64, k: int) -> U64 | U8:
    """Return words below 2^k in ceil(k / 8) bytes each; the same array where that is eight."""
    if _bytes_of(k) == WORD:
        return words
    found = np.empty(words.size * _bytes_of(k), dtype=np.uint8)
    for at, part in _parts(found, words.size, k):
        part[:] = words >> np.uint64(at) if at else words
    return found


def widen(content: U64 | U8, k: int) -> U64:
    """Return the words that `narrow` wrote; raise ValueError if these bytes are not of words below 2^k."""
    if _bytes_of(k) == WORD:
        if content.dtype != np.uint64 or content.ndim != 1:
            raise ValueError("words of eight bytes belong here")
        return content.view(np.uint64)
    size, left = divmod(content.size, _bytes_of(k))
    if content.dtype != np.uint8 or content.ndim != 1 or left:
        raise ValueError(f"whole words of {_bytes_of(k)} bytes belong here")
    (_, high), *rest = reversed(list(_parts(content.view(np.uint8), size, k)))
    words = high.astype(np.uint64)
    for _, part in rest:  # in place: new memory takes longer than the arithmetic
        words <<= np.uint64(8 * part.itemsize)
        words |= part
    return words


def _bytes_of(k: int) -> int:
    return -(-k // 8)


def _parts(content: U8, size: int, k: int) -> Iterator[tuple[int, Array]]:
    """Yield at which bit of the words each part begins, and the part itself, as a view."""
    at = 0
    for part in PARTS:
        if _bytes_of(k) & part:
            yield 8 * at, content[at * size : (at + part) * size].view(f"<u{part}")
            at += part
