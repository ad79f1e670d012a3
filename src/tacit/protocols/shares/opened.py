"""Symmetric matrices that are opened once under a mask, for all products with them.

    D = Z - A opened once;      e = q - b opened;      Z q = D q + A e + A b          A b from the dealer           (1)

Roles, threat and source: as `dealing`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.ring_product import ring_symmetric
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Kept, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import open_masked, subtract_mask, triangle_size


@dataclass(frozen=True)
class FixedMask(Correlation):
    """A symmetric A of n rows, as a triangle."""

    n: int

    @property
    def sizes(self) -> Sizes:
        """Return the size of the one mask A; nothing is made from it."""
        return Sizes(masks=(triangle_size(self.n),))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return nothing: the mask is all."""
        del masks, bits, ring, kept
        return (), ()


@dataclass(frozen=True)
class Applied(Correlation):
    """b and A b, for an A that was dealt before, n x m."""

    n: int
    m: int

    @property
    def sizes(self) -> Sizes:
        """Return the sizes of a mask b, and of A b."""
        return Sizes(masks=(self.n * self.m,), made=(self.n * self.m,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return A b."""
        del bits, ring
        return (ring_symmetric(kept[0], masks[0].reshape(self.n, self.m)).ravel(),), ()


@dataclass(frozen=True)
class Opened:
    """A matrix that was opened under a mask, (1), as triangles: D and parts of A at the holders, A at the dealer."""

    D: At[U64]
    own: At[U64]
    A: Kept


@choreography(opens={Holder: UNIFORM})
def open_once(run: Run, dealing: Dealing, Z: At[U64], n: int) -> Opened:
    """Open Z - A, once for all products with Z."""
    dealt, A = deal(run, dealing, FixedMask(n))
    D = open_masked(run, run.local(Holder, subtract_mask, Z, dealt, dealing.ring), ring=dealing.ring)
    return Opened(D, run.local(Holder, own_mask, dealt), A)


# Steps at the holders


def own_mask(dealt: Share) -> U64:
    """Return the holder's part of A."""
    return dealt.masks[0]
