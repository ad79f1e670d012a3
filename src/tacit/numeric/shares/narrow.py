"""Words of small rings in as few bytes as they need.

A word below 2^k takes ceil(k / 8) bytes. These are written in parts of 4, 2 and 1 bytes, the low part of all words
first, since NumPy converts whole arrays to such integers at the speed of memory. Words of eight bytes stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tacit.arrays import U8, U64, Array

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
