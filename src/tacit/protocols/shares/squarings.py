"""Squares of a symmetric matrix in shares, one after the other, each of which comes out opened under a mask.

    D = X - A opened;      y = 2 X X = D B + B D + 2 A A,   B = D + 2 A                              A A dealt      (1)
    c = y + 2^(k-2) + r opened, without its lowest t bits;      rho = r >> s,  m = msb(r) dealt                      (2)
    y / 2^s = (c >> s) - 2^(k-2-s) - rho + 2^(k-s) w m,         w = 1 - msb(c)                       |y| < 2^(k-2)  (3)
    e = w m - u mod 2^s opened;      D' = (c >> s) - 2^(k-2-s) + 2^(k-s) e,     A' = 2^(k-s) u - rho                 (4)

(3) is the truncation of `gates`. All of its right side but the carry w m is public, or known to the dealer. So D' of
the next square needs no opening of whole words: e hides a bit under s bits, and the dealer knows the mask A'.

In (2) every holder sends its share without the lowest t bits: M holders lose less than M 2^t of y together, the mean of
which the first one adds before. t is `SPARE` less than s.

Roles, threat: as `shares.dealing`. r and u are drawn anew for each matrix and serve one opening each, so that c and e
are uniform; D' is made of them. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.ring_product import ring_both_ways, ring_square
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Kept, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import bits_of, open_masked, reduce, triangle_size
from tacit.protocols.shares.matrices import Opened

SPARE = 7  # bits of c below the point of y / 2^s


@dataclass(frozen=True)
class Masks(Correlation):
    """So many masks, of triangles of n rows."""

    n: int
    count: int

    @property
    def sizes(self) -> Sizes:
        """Masks, of which nothing is made."""
        return Sizes(masks=(triangle_size(self.n),) * self.count)

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return nothing."""
        del masks, bits, ring, kept
        return (), ()


@dataclass(frozen=True)
class Halved(Correlation):
    """r and rho of (2); of a mask A that was dealt before also A A. Of triangles of n rows."""

    n: int
    s: int
    squared: bool

    @property
    def sizes(self) -> Sizes:
        """A mask, and one or two values."""
        size = triangle_size(self.n)
        return Sizes(masks=(size,), made=(size,) * (1 + self.squared))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return rho, and A A."""
        del bits
        squares = tuple(reduce(ring_square(unpack([A], self.n)), ring) for A in kept)
        return (masks[0] >> np.uint64(self.s), *squares), ()


@dataclass(frozen=True)
class Carried(Correlation):
    """u of (4), and m of an r that was dealt before, in a ring of k bits."""

    size: int
    k: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and a bit."""
        return Sizes(masks=(self.size,), made=(self.size,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return m."""
        del masks, bits, ring
        return (kept[0] >> np.uint64(self.k - 1),), ()


@choreography(opens={Holder: UNIFORM})
def open_all(run: Run, dealing: Dealing, *matrices: At[U64], n: int) -> tuple[Opened, ...]:
    """Return symmetric matrices of n rows as they are opened under masks, all in one round."""
    dealt, A = deal(run, dealing, Masks(n, len(matrices)))
    masked = run.local(Holder, mask_all, dealt, dealing.ring, *matrices)
    D = open_masked(run, masked, ring=dealing.ring, size=len(matrices) * triangle_size(n))
    return tuple(
        Opened(
            run.local(Holder, take_triangle, D, i, n),
            run.local(Holder, take_mask, dealt, i),
            dealing.dealer.compute(run, keep_mask, A, i),
        )
        for i in range(len(matrices))
    )


@choreography(opens={Holder: UNIFORM})
def open_square(run: Run, dealing: Dealing, X: Opened, s: int, *, n: int) -> Opened:
    """Return 2 X X / 2^s as it is opened under a mask, for a symmetric X of n rows, (1) to (4)."""
    dealt, r = deal(run, dealing, Halved(n, s, squared=True), kept=X.A)
    y = run.local(Holder, square_share, X.D, X.own, dealt, dealing.first, n, dealing.ring)
    return _open_cut(run, dealing, y, dealt, r, s, size=triangle_size(n))


@choreography(opens={Holder: UNIFORM})
def open_quotient(run: Run, dealing: Dealing, y: At[U64], s: int, *, n: int) -> Opened:
    """Return y / 2^s as it is opened under a mask, for a triangle of n rows, (2) to (4)."""
    dealt, r = deal(run, dealing, Halved(n, s, squared=False))
    return _open_cut(run, dealing, y, dealt, r, s, size=triangle_size(n))


def _open_cut(run: Run, dealing: Dealing, y: At[U64], dealt: At[Share], r: Kept, s: int, *, size: int) -> Opened:
    """Return y / 2^s as it is opened under A', (2) to (4)."""
    ring, t = dealing.ring, max(0, s - SPARE)
    k, centre = bits_of(ring), len(run.roster[Holder]) << t >> 1
    masked = run.local(Holder, mask_high, y, dealt, t, centre, dealing.first, ring)
    c = open_masked(run, masked, ring=Ring(1 << (k - t)), size=size)
    low = replace(dealing, ring=Ring(1 << s))
    carried, u = deal(run, low, Carried(size, k), kept=r)
    e = open_masked(run, run.local(Holder, mask_carry, c, carried, k - t, low.ring), ring=low.ring, size=size)
    D = run.local(Holder, join_opened, c, e, s, t, ring)
    own = run.local(Holder, join_masks, carried, dealt, s, ring)
    return Opened(D, own, dealing.dealer.compute(run, join_known, r, u, s, ring))


# Steps at the holders


def mask_all(dealt: Share, ring: Ring, *matrices: U64) -> U64:
    """Return the shares of all matrices less their masks, one after the other."""
    return reduce(np.concatenate([X - mask for X, mask in zip(matrices, dealt.masks, strict=True)]), ring)


def take_triangle(D: U64, i: int, n: int) -> U64:
    """Return the triangle of that number."""
    size = triangle_size(n)
    return D[i * size : (i + 1) * size]


def take_mask(dealt: Share, i: int) -> U64:
    """Return the holder's part of the mask of that number."""
    return dealt.masks[i]


def square_share(D: U64, own: U64, dealt: Share, first: bool, n: int, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of 2 X X, (1)."""
    twice = np.uint64(2) * own
    S = ring_both_ways(unpack([D], n), unpack([twice + D if first else twice], n))
    return reduce(S + np.uint64(2) * dealt.made[1], ring)


def mask_high(y: U64, dealt: Share, t: int, centre: int, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of c of (2), without its lowest bits."""
    masked = y + dealt.masks[0]
    if first:
        masked += np.uint64((1 << (bits_of(ring) - 2)) + centre)
    return reduce(masked, ring) >> np.uint64(t)


def mask_carry(c: U64, carried: Share, bits: int, low: Ring) -> U64:
    """Return the share of e of (4); c has so many bits."""
    w = np.uint64(1) - (c >> np.uint64(bits - 1))
    return reduce(w * carried.made[0] - carried.masks[0], low)


def join_opened(c: U64, e: U64, s: int, t: int, ring: Ring) -> U64:
    """Return D' of (4)."""
    k = bits_of(ring)
    return reduce((c >> np.uint64(s - t)) - np.uint64(1 << (k - 2) >> s) + (e << np.uint64(k - s)), ring)


def join_masks(carried: Share, dealt: Share, s: int, ring: Ring) -> U64:
    """Return the holder's part of A' of (4)."""
    return reduce((carried.masks[0] << np.uint64(bits_of(ring) - s)) - dealt.made[0], ring)


# Steps at the dealer


def keep_mask(masks: Words, i: int) -> Words:
    """Return the mask of that number."""
    return (masks[i],)


def join_known(r: Words, u: Words, s: int, ring: Ring) -> Words:
    """Return A' of (4)."""
    return (reduce((u[0] << np.uint64(bits_of(ring) - s)) - (r[0] >> np.uint64(s)), ring),)
