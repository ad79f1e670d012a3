"""Weak seed: pads drawn from a seed of 32 bits are found by trying all of them.

A coordinator that colludes with all holders but two has, of either one, m = x + pad (mod 2^64): one pad, of the seed
that the two share. x is fixed point, so |x| is far below 2^63, and a wrong pad leaves a word that is not:

    seed is right   if every word of m - pad(seed) is within the bound; a wrong one is so with 2 bound / 2^64       (1)

each word. A well-known system for secure aggregation derives its pads from 32 bits of a key and NumPy's generator: one
core goes through these in a day or two, in plain Python. tacit's pair seeds have 256 bits, of X25519.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import U64

Draw = Callable[[int, int], U64]
SYSTEM = 1 << 32  # seeds of the system
DECIDES = 2  # words that are looked at first


@dataclass(frozen=True)
class Search:
    """The seed, if one was found, and what was under its pad.

    How many were tried in how long, and what all 2^32 would take.
    """

    seed: int | None
    words: U64 | None
    tried: int
    seconds: float

    @property
    def hours(self) -> float:
        """How long a search of all seeds of the system takes on this core."""
        return self.seconds / max(1, self.tried) * SYSTEM / 3600.0


def numpy_pad(seed: int, words: int) -> U64:
    """Return a pad of NumPy's generator under a seed of 32 bits, a stand-in for the system."""
    return np.random.default_rng(seed & 0xFFFFFFFF).integers(0, 1 << 64, size=words, dtype=np.uint64)


def weak_seed(masked: U64, *, bound: int, seeds: range, draw: Draw = numpy_pad) -> Search:
    """Try the seeds, and return the right one; `masked` may carry the pad with either sign."""
    start = time.process_time()
    for seed in seeds:
        for sign in (1, -1):
            if small(take_off_pad(masked[:DECIDES], draw(seed, DECIDES), sign), bound):
                words = take_off_pad(masked, draw(seed, masked.size), sign)
                if small(words, bound):
                    return Search(seed, words, seed - seeds.start + 1, time.process_time() - start)
    return Search(None, None, len(seeds), time.process_time() - start)


def take_off_pad(masked: U64, pad: U64, sign: int) -> U64:
    """Return the words under the pad."""
    return masked - pad if sign > 0 else masked + pad


def small(words: U64, bound: int) -> bool:
    """Return whether all words are within the bound, (1), as centred residues."""
    return bool(np.all(words + np.uint64(bound) < np.uint64(2 * bound)))
