"""Products of matrices in shares, by one opening of both under masks.

    D = X - A, E = Y - B opened;      X Y' = D E' + D B' + A E' + A B'          A B' from the dealer                (1)

Roles, threat and source: as `dealing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.triangle import pack
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.ring_product import ring_product, ring_symmetric
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Kept, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import open_masked, reduce, subtract_mask, triangle_size


@dataclass(frozen=True)
class Crossed(Correlation):
    """A of rows x columns, B of others x columns, and A B', or its triangle where `lower` says that it is symmetric."""

    rows: int
    others: int
    columns: int
    lower: bool = False

    @property
    def sizes(self) -> Sizes:
        """Two masks, and their product."""
        masks = (self.rows * self.columns, self.others * self.columns)
        return Sizes(masks=masks, made=(triangle_size(self.rows) if self.lower else self.rows * self.others,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return A B'."""
        del bits, kept
        A, B = masks[0].reshape(-1, self.columns), masks[1].reshape(-1, self.columns)
        return (self.flatten(reduce(ring_product(A, B.T), ring)),), ()

    def flatten(self, product: U64) -> U64:
        """Return a product row by row, or its triangle."""
        found: U64 = pack(product, 0) if self.lower else product.ravel()
        return found


@choreography(opens={Holder: UNIFORM})
def multiply_matrices(run: Run, dealing: Dealing, X: At[U64], Y: At[U64], of: Crossed) -> At[U64]:
    """Return shares of X Y', (1), row by row, or as a triangle."""
    dealt, _ = deal(run, dealing, of)
    opened = open_masked(run, run.local(Holder, mask_both, X, Y, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, combine_matrices, opened, dealt, of, dealing.first, dealing.ring)


# Steps at the holders


def mask_both(X: U64, Y: U64, dealt: Share, ring: Ring) -> U64:
    """Return the shares of both matrices under their masks."""
    return reduce(np.concatenate([X - dealt.masks[0], Y - dealt.masks[1]]), ring)


def combine_matrices(opened: U64, dealt: Share, of: Crossed, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of (1)."""
    cut = of.rows * of.columns
    D, E = opened[:cut].reshape(of.rows, -1), opened[cut:].reshape(of.others, -1)
    A, B = dealt.masks[0].reshape(D.shape), dealt.masks[1].reshape(E.shape)
    products = ring_product(D, (B + E if first else B).T) + ring_product(A, E.T)
    return reduce(of.flatten(products) + dealt.made[0], ring)


# Symmetric matrices that are opened once under a mask, for all products with them.
#
#     D = Z - A opened once;      e = q - b opened;      Z q = D q + A e + A b          A b from the dealer          (1)


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
    D = open_masked(run, run.local(Holder, subtract_mask, Z, dealt, dealing.ring), ring=dealing.ring, size=n)
    return Opened(D, run.local(Holder, own_mask, dealt), A)


# Steps at the holders


def own_mask(dealt: Share) -> U64:
    """Return the holder's part of A."""
    return dealt.masks[0]
