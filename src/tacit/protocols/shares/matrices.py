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
from tacit.numeric.shares.ring_product import ring_product
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import open_masked, reduce, triangle_size


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
