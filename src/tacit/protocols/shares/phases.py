"""Cosines and sines of phases in shares: a phase is taken modulo a whole turn, and so are the words of a ring.

With a phase t in units of 2^-32 turns, and r of the dealer,

    c = t + r mod 2^32 opened;      cos t = cos c cos r + sin c sin r,      sin t = sin c cos r - cos c sin r       (1)

c is public, and shares of cos r and sin r come from the dealer: each holder multiplies its shares by public numbers. A
phase that several holders add up, each its part, takes one opened word, however many holders there are.

Roles, threat: as `dealing`; c is uniform as long as one holder's part of r is unknown. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.words import Ring
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import open_masked, reduce

TURN = Ring(1 << 32)
BITS = 32


@dataclass(frozen=True)
class Turned(Correlation):
    """r, cos r and sin r, with so many bits after the point."""

    size: int
    bits: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and two values of it."""
        return Sizes(masks=(self.size,), made=(self.size, self.size))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return cos r and sin r."""
        del bits, kept
        return tuple(reduce(each, ring) for each in turn(reduce(masks[0], TURN), self.bits)), ()


@choreography(opens={Holder: UNIFORM})
def turn_phases(run: Run, dealing: Dealing, phases: At[U64], *, size: int, bits: int) -> tuple[At[U64], At[U64]]:
    """Return shares of cosines and of sines, (1), with twice so many bits after the point."""
    dealt, _ = deal(run, dealing, Turned(size, bits))
    c = open_masked(run, run.local(Holder, hide_phases, phases, dealt), ring=TURN)
    return (
        run.local(Holder, turn_back, c, dealt, bits, dealing.ring, sine=False),
        run.local(Holder, turn_back, c, dealt, bits, dealing.ring, sine=True),
    )


def write_phases(angles: F64) -> U64:
    """Return angles as words modulo a turn."""
    turns = angles / (2.0 * np.pi)
    return np.rint(np.ldexp(turns - np.floor(turns), BITS)).astype(np.uint64) & np.uint64(TURN.modulus - 1)


def turn(words: U64, bits: int) -> tuple[U64, U64]:
    """Return cosines and sines of phases as words."""
    angles = words.astype(np.float64) * (2.0 * np.pi / TURN.modulus)
    return write_whole(np.cos(angles), bits), write_whole(np.sin(angles), bits)


def write_whole(x: F64, bits: int) -> U64:
    """Return numbers as words with so many bits after the point."""
    found: U64 = np.rint(np.ldexp(x, bits)).astype(np.int64).view(np.uint64)
    return found


# Steps at the holders


def hide_phases(phases: U64, dealt: Share) -> U64:
    """Return the share of c of (1)."""
    return reduce(phases + dealt.masks[0], TURN)


def turn_back(c: U64, dealt: Share, bits: int, ring: Ring, *, sine: bool) -> U64:
    """Return the share of the cosine, or of the sine, (1)."""
    cosine_c, sine_c = turn(c, bits)
    cosine_r, sine_r = dealt.made
    if sine:
        return reduce(sine_c * cosine_r - cosine_c * sine_r, ring)
    return reduce(cosine_c * cosine_r + sine_c * sine_r, ring)
