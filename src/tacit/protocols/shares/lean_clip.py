"""Clipping and comparing values in shares: bits of a comparison are looked up, and multiplied as bits.

    c = x + r                      opened; every holder looks up its part of some bits in the dealer's tables of r
    these bits, masked             opened, and products of bits follow; again for products of these, or not (`joined`)
    the results, masked            opened, and shares of them as words follow (`numeric.shares.lean`)

The gates work in the ring of their window, 2^(F+I), whatever the ring of the dealing is. x may also have a part that
only the dealer knows: words `absorbed` that it takes off the mask, so that nothing is dealt for them,

    x = sum_p x_p + absorbed,      c = sum_p (x_p + t_p),      r = t - absorbed                                      (1)

Roles, threat: as `dealing`. What is opened is under masks of which every holder has a part, and its size follows from
public sizes. Source: ours; the tables after the lookup tables of Ishai et al., TCC 2013.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.lean import (
    Circuit,
    Lean,
    clip_with,
    count_words,
    design,
    fill_clip_words,
    fill_words,
    read_with,
)
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Kept, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import cut_mask, open_bits, open_masked, reduce, shift_with

CLIP, CUT = 4, 2  # words of a clip, and of a truncation after them


@dataclass(frozen=True)
class Looked(Correlation):
    """r, masks of bits, words of r and of masks, tables of r, and products of masks.

    clips: for a clip, otherwise for a comparison. cuts: for a truncation too.
    """

    size: int
    window: Lean
    clips: bool
    cuts: bool = False

    @property
    def circuit(self) -> Circuit:
        """How the bits follow."""
        return design(self.window, clips=self.clips)

    @property
    def words(self) -> int:
        """How many words are made for each value."""
        return (CLIP if self.clips else 1) + CUT * self.cuts

    @property
    def openings(self) -> int:
        """How many openings there are: c, those of stages, and the results."""
        return 2 + sum(bool(stage.opened) for stage in self.circuit.stages)

    @property
    def sizes(self) -> Sizes:
        """For each value a mask and words, and bits in planes."""
        plane, circuit = count_words(self.size), self.circuit
        tables = plane * sum(circuit.planes)
        return Sizes((self.size,), (plane * sum(circuit.masks),), (self.words * self.size,), (tables,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return what follows from r, which is the mask less what is absorbed, and from masks of bits."""
        r = reduce(masks[0] - kept[0], ring) if kept else masks[0]
        planes = bits[0].reshape(sum(self.circuit.masks), -1)
        made = np.empty((self.words, self.size), dtype=np.uint64)
        if self.clips:
            fill_clip_words(r, planes[-2:], self.window, made)
        else:
            fill_words(planes[-1], made[0])
        if self.cuts:
            made[CLIP:] = cut_mask(r, self.window.s, ring)
        return (made.ravel(),), (self.circuit.make_planes(r, planes).ravel(),)

    def read_bits(self, dealt: Share, stage: int) -> U64:
        """Return a holder's masks of the bits that an opening shows; the results come after all stages."""
        masks = self.circuit.masks
        start = sum(masks[:stage])
        return dealt.bits[0].reshape(sum(masks), -1)[start : start + masks[stage]]

    def read_planes(self, dealt: Share, part: int) -> U64:
        """Return a holder's planes of the tables, part 0, or of the products of an opening."""
        planes = self.circuit.planes
        start = sum(planes[:part])
        return dealt.tables[0].reshape(sum(planes), -1)[start : start + planes[part]]

    def read_words(self, dealt: Share) -> U64:
        """Return a holder's words, a line for each kind."""
        return dealt.made[0].reshape(self.words, -1)


@choreography(opens={Holder: UNIFORM})
def lean_clip(
    run: Run, dealing: Dealing, x: At[U64], window: Lean, *, size: int, absorbed: Kept | None = None
) -> At[U64]:
    """Return shares of clip(x, 0, 1) with q bits after the point, in the ring 2^(F+I), for |x| < 2^(I-1) - 1."""
    dealing, looked = replace(dealing, ring=Ring(1 << window.k)), Looked(size, window, clips=True)
    c, bits, dealt = _open_results(run, dealing, x, looked, absorbed)
    return run.local(Holder, clip_share, c, bits, dealt, looked, dealing.first, dealing.ring)


@choreography(opens={Holder: UNIFORM})
def clip_and_cut(run: Run, dealing: Dealing, x: At[U64], window: Lean, *, size: int) -> tuple[At[U64], At[U64]]:
    """Return shares of clip(x, 0, 1), and of x, both with q bits after the point, for |x| < 2^(I-2).

    x is rounded as `gates.truncate` does it, from the same opening.
    """
    dealing, looked = replace(dealing, ring=Ring(1 << window.k)), Looked(size, window, clips=True, cuts=True)
    c, bits, dealt = _open_results(run, dealing, x, looked, None)
    return (
        run.local(Holder, clip_share, c, bits, dealt, looked, dealing.first, dealing.ring),
        run.local(Holder, cut_share, c, dealt, looked, dealing.first, dealing.ring),
    )


@choreography(opens={Holder: UNIFORM})
def reaches_one(
    run: Run, dealing: Dealing, x: At[U64], window: Lean, *, size: int, absorbed: Kept | None = None
) -> At[U64]:
    """Return shares, in the ring 2^(F+I), of the bit [x >= 1], for |x| < 2^(I-1) - 1; all digits are compared."""
    dealing = replace(dealing, ring=Ring(1 << window.k))
    looked = Looked(size, window, clips=False)
    c, bits, dealt = _open_results(run, dealing, x, looked, absorbed)
    del c
    return run.local(Holder, read_share, bits, dealt, looked, dealing.first, dealing.ring)


def _open_results(
    run: Run, dealing: Dealing, x: At[U64], looked: Looked, absorbed: Kept | None
) -> tuple[At[U64], At[U64], At[Share]]:
    """Open c, bits to be multiplied, and the results; return c, the masked results, and what was dealt."""
    kept = None if absorbed is None else dealing.dealer.compute(run, keep_words, absorbed)
    dealt, _ = deal(run, dealing, looked, kept=kept)
    c = open_masked(run, run.local(Holder, mask_value, x, dealt, dealing.ring), ring=dealing.ring)
    bits = run.local(Holder, look_up, c, dealt, looked, dealing.first)
    for j, stage in enumerate(looked.circuit.stages):
        opened = run.local(Holder, mask_factors, bits, dealt, looked, j)
        if stage.opened:
            opened = open_bits(run, opened)
        bits = run.local(Holder, multiply_bits, bits, opened, dealt, looked, j, dealing.first)
    return c, open_bits(run, run.local(Holder, mask_results, bits, dealt, looked)), dealt


# Steps at the dealer


def keep_words(absorbed: U64) -> Words:
    """Return the words that the dealer takes off its mask."""
    return (absorbed,)


# Steps at the holders


def mask_value(x: U64, dealt: Share, ring: Ring) -> U64:
    """Return the share of c."""
    return reduce(x + dealt.masks[0], ring)


def look_up(c: U64, dealt: Share, looked: Looked, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the holder's part of the bits that are looked up, in planes."""
    return looked.circuit.look_up(c, looked.read_planes(dealt, 0), first=first)


def mask_factors(bits: U64, dealt: Share, looked: Looked, stage: int) -> U64:
    """Return the holder's part of the bits that an opening shows, under its part of their masks."""
    found: U64 = bits[looked.circuit.stages[stage].at] ^ looked.read_bits(dealt, stage)
    return found


def multiply_bits(bits: U64, opened: U64, dealt: Share, looked: Looked, stage: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the holder's part of what follows from an opening."""
    masks, products = looked.read_bits(dealt, stage), looked.read_planes(dealt, stage + 1)
    return looked.circuit.stages[stage].combine(bits, opened, masks, products, first=first)


def mask_results(bits: U64, dealt: Share, looked: Looked) -> U64:
    """Return the holder's part of the results under masks that the dealer shares as words."""
    return bits ^ looked.read_bits(dealt, len(looked.circuit.stages))


def clip_share(c: U64, bits: U64, dealt: Share, looked: Looked, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of clip(x)."""
    return reduce(clip_with(c, bits, looked.read_words(dealt)[:CLIP], looked.window, first=first), ring)


def cut_share(c: U64, dealt: Share, looked: Looked, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of x with q bits after the point."""
    high, msb = looked.read_words(dealt)[CLIP:]
    raised = reduce(c + np.uint64(1 << (looked.window.k - 2)), ring)  # as in (3) of `gates`
    return shift_with(raised, high, msb, looked.window.s, first, ring)


def read_share(bits: U64, dealt: Share, looked: Looked, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of a bit as a word."""
    return reduce(read_with(bits, looked.read_words(dealt)[0], first=first), ring)
