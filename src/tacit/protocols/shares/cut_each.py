"""Truncation of values in different rings, each by its own number of bits, in one opening.

x is in shares modulo 2^k, |x| < 2^(k-2), and x / 2^s comes out modulo 2^64. That is (3) of `gates`, which holds for
whole numbers and so in any ring. A shift of 0 lifts a value into the larger ring:

    c = x + 2^(k-2) + r mod 2^k opened
    x / 2^s = (c >> s) - (r >> s) + msb(r) (1 - msb(c)) 2^(k-s) - 2^(k-2-s)                      modulo 2^64         (1)

The mask is a word of 64 bits in every ring: then x may be words whose upper bits mean nothing, and the opening is
uniform. Only the lower k bits of c and of r are used.

Roles, threat and source: as `gates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import open_masked

ONE = np.uint64(1)
WORD = 64


@dataclass(frozen=True)
class Part:
    """So many values modulo 2^k, which lose s bits."""

    size: int
    k: int
    s: int

    def __post_init__(self) -> None:
        if not 0 <= self.s <= self.k - 2 <= WORD - 2:
            raise ValueError(f"{self.k} bits cannot lose {self.s}")

    @property
    def mask(self) -> np.uint64:
        """The word whose lower k bits are set."""
        return np.uint64((1 << self.k) - 1)

    @property
    def top(self) -> np.uint64:
        """Where the highest bit is."""
        return np.uint64(self.k - 1)

    @property
    def shift(self) -> np.uint64:
        """The shift s as a word."""
        return np.uint64(self.s)


Parts = tuple[Part, ...]


@dataclass(frozen=True)
class CutEach(Correlation):
    """r, r >> s and its highest bit, for every value of every part."""

    parts: Parts

    @property
    def size(self) -> int:
        """How many values there are."""
        return sum(part.size for part in self.parts)

    @property
    def sizes(self) -> Sizes:
        """A mask, and two values of it."""
        return Sizes(masks=(self.size,), made=(self.size, self.size))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return r >> s and msb(r)."""
        del bits, ring, kept
        r = [(part, words & part.mask) for part, words in split_parts(masks[0], self.parts)]
        high = np.concatenate([words >> part.shift for part, words in r])
        return (high, np.concatenate([words >> part.top for part, words in r])), ()


@choreography(opens={Holder: UNIFORM})
def cut_each(run: Run, dealing: Dealing, x: At[U64], parts: Parts) -> At[U64]:
    """Return shares modulo 2^64 of x / 2^s, (1), of the values of all parts, one part after the other."""
    dealing = replace(dealing, ring=Z64)
    dealt, _ = deal(run, dealing, CutEach(parts))
    opened = open_masked(run, run.local(Holder, add_masks_each, x, dealt, parts, dealing.first), ring=Z64)
    return run.local(Holder, shift_each, opened, dealt, parts, dealing.first)


# Steps at the holders


def add_masks_each(x: U64, dealt: Share, parts: Parts, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of c."""
    c = x + dealt.masks[0]
    if first:
        for part, words in split_parts(c, parts):
            np.add(words, ONE << (part.top - ONE), out=words)
    return c


def shift_each(opened: U64, dealt: Share, parts: Parts, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of x / 2^s, (1)."""
    found = np.empty_like(opened)
    all_of = [split_parts(words, parts) for words in (found, opened, *dealt.made)]
    for (part, out), (_, words), (_, high), (_, msb) in zip(*all_of, strict=True):
        c = words & part.mask
        wrapped = (ONE - (c >> part.top)) << np.uint64(part.k - part.s)
        np.subtract(msb * wrapped, high, out=out)
        if first:
            np.add(out, (c >> part.shift) - np.uint64(1 << (part.k - 2 - part.s)), out=out)
    return found


def split_parts(words: U64, parts: Sequence[Part]) -> list[tuple[Part, U64]]:
    """Return every part with its words, which are a view."""
    found, start = [], 0
    for part in parts:
        found.append((part, words[start : start + part.size]))
        start += part.size
    return found
