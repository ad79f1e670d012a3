"""Clipping: shares of v, taken to [0, 1] and cut to fewer bits, by two openings.

    c = v + 2^(k-2) + r        opened, and every holder looks up its part of some bits in the dealer's tables of r
    these bits, masked         opened, and shares of clip(v) follow (`numeric.shares.clipping`)

The same c gives v itself with fewer bits, by (3) of `gates`.

Roles, threat and source: as `dealing`; the tables ours, after the lookup tables of Ishai et al., TCC 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import U8, U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.clipping import BYTE, Window, clip_with, look_up, make_products, make_tables
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import (
    OPENED,
    OpenedBits,
    add_mask,
    cut_mask,
    open_masked,
    reduce,
    shift_with,
)

CUT = 2  # r >> s and msb(r), which come before the products


@dataclass(frozen=True)
class Clip(Correlation):
    """r, masks of the bits, what (3) of `gates` needs of r, products of the masks, and tables of r."""

    size: int
    window: Window

    @property
    def sizes(self) -> Sizes:
        """For each value a mask, a word of bits, made words, and tables."""
        made, tables = CUT + self.window.products, sum(self.window.widths)
        return Sizes((self.size,), (self.size,), (self.size * made,), (self.size * tables,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return what follows from r and the masks of the bits."""
        del kept
        products = tuple(reduce(each, ring) for each in make_products(masks[0], bits[0], self.window))
        return (*cut_mask(masks[0], self.window.s, ring), *products), make_tables(masks[0], self.window)


@choreography(opens={Holder: OPENED})
def clip(run: Run, dealing: Dealing, v: At[U64], window: Window, *, size: int) -> tuple[At[U64], At[U64]]:
    """Return shares of v clipped, and of v, both with q fraction bits."""
    dealt, _ = deal(run, dealing, Clip(size, window))
    first, ring = dealing.first, dealing.ring
    c = open_masked(run, run.local(Holder, add_mask, v, dealt, first, ring), ring=ring)
    own = run.local(Holder, look_up_masked, c, dealt, window, first)
    received = run.send(OpenedBits, Holder >> Holder, run.local(Holder, OpenedBits, own))
    bits = run.local(Holder, combine_bits, received, own)
    return (
        run.local(Holder, clip_share, c, bits, dealt, window, first, ring),
        run.local(Holder, cut_share, c, dealt, window, first, ring),
    )


# Steps at the holders


def look_up_masked(c: U64, dealt: Share, window: Window, first: bool) -> U8:  # noqa: FBT001 - a step
    """Return the holder's part of the bits, under its part of their masks: all first bytes, then all second ones."""
    words = look_up(c, dealt.tables[0], window, first=first) ^ dealt.bits[0]
    kept = words & np.uint64((1 << window.bits) - 1)
    return np.concatenate([(kept >> np.uint64(at)).astype(np.uint8) for at in range(0, window.bits, BYTE)])


def combine_bits(received: Mapping[str, OpenedBits], own: U8) -> U8:
    """Return the masked bits."""
    total = own.copy()
    for party, message in received.items():
        if message.bits.shape != own.shape:
            raise PeerError(f"{party} opened {message.bits.size} bytes where {own.size} belong: stop and ask {party}")
        total ^= message.bits
    return total


def clip_share(c: U64, bits: U8, dealt: Share, window: Window, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of clip(v)."""
    words = np.zeros(c.size, dtype=np.uint64)
    for j, part in enumerate(bits.reshape(-1, c.size)):
        words |= part.astype(np.uint64) << np.uint64(BYTE * j)
    return reduce(clip_with(c, words, _lines(dealt, c.size)[CUT:], window, first=first), ring)


def cut_share(c: U64, dealt: Share, window: Window, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of v with q fraction bits."""
    high, msb = _lines(dealt, c.size)[:CUT]
    return shift_with(c, high, msb, window.s, first, ring)


def _lines(dealt: Share, size: int) -> U64:
    return dealt.made[0].reshape(-1, size)
