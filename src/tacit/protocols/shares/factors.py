"""Products of factors of which each is known to one holder, entry by entry.

Owner k has x_k; a_k is drawn by k and by the dealer. For two owners, and for three:

    d = x - a, e = y - b opened;               x y = d e + d b + e a + a b                                          (1)
    d, e, f = z - c opened;                  x y z = d e f + d e c + d f b + e f a + d bc + e ac + f ab + abc       (2)

Terms with one mask are its owner's; shares of products of masks come from the dealer. So owners send one word an entry,
and nobody else sends any. Products of more factors are made of such groups, whose shares are multiplied.

Roles, threat: as `dealing`; a mask is uniform to all but its owner and the dealer.
Source: ours, after Beaver, CRYPTO 1991.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacit.arrays import U8, U64
from tacit.choreo import At, Holder, Message, Pads, Run, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.words import Ring, narrow, widen
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import DEALER, Dealing, Share, Words, deal
from tacit.protocols.shares.gates import bits_of, multiply, reduce, truncate
from tacit.protocols.shares.owned import Given

GROUP = 3


class MaskedFactor(Message, tells=UNIFORM, ragged=True):
    """x_k - a_k, in as few bytes as the ring needs; empty from who has no factor."""

    words: U64 | U8


@choreography(opens={Holder: UNIFORM})
def multiply_factors(
    run: Run, dealing: Dealing, x: At[U64], owners: Sequence[str], *, size: int, bits: int
) -> tuple[At[U64], int]:
    """Return shares of the product of all owners' factors, and how many bits it has after the point.

    x: each owner's factor, of size 1 at most, with so many bits; of the others nothing. Products of groups are cut to
    `bits` again before they are multiplied.
    """
    groups = [owners[i : i + GROUP] for i in range(0, len(owners), GROUP)]
    parts = [(multiply_group(run, dealing, x, group, size=size), bits * len(group)) for group in groups]
    found, after = parts[0]
    for part, own in parts[1:]:
        left = truncate(run, dealing, found, after - bits, size=size) if after > bits else found
        right = truncate(run, dealing, part, own - bits, size=size) if own > bits else part
        found, after = multiply(run, dealing, left, right, size=size), 2 * bits
    return found, after


@choreography(opens={Holder: UNIFORM})
def multiply_group(run: Run, dealing: Dealing, x: At[U64], owners: Sequence[str], *, size: int) -> At[U64]:
    """Return shares of the product of the factors of one, two or three owners, (1), (2)."""
    who, ring = run.who(Holder), dealing.ring
    if len(owners) == 1:
        return run.local(Holder, keep_own, x, who, owners[0], size)
    tag = run.tag()
    pads, known = dealing.dealer.draw(run, tag)
    made = dealing.dealer.compute(run, multiply_masks, known, owners, size, ring)
    dealt, _ = deal(run, dealing, Given((1 if len(owners) == 2 else 4) * size), kept=made)  # noqa: PLR2004 - (1), (2)
    mask = run.local(Holder, draw_mask, pads, who, owners, size, ring)
    masked = run.local(Holder, mask_factor, x, mask, who, owners, ring)
    received = run.send(MaskedFactor, Holder >> Holder, run.local(Holder, pack_factor, masked, ring))
    return run.local(Holder, combine_factors, received, masked, mask, dealt, who, owners, dealing.first, ring)


# Steps at the holders


def keep_own(x: U64, me: str, owner: str, size: int) -> U64:
    """Return the factor of a single owner as its share."""
    return x if me == owner else np.zeros(size, dtype=np.uint64)


def draw_mask(pads: Pads, me: str, owners: Sequence[str], size: int, ring: Ring) -> U64:
    """Return the mask of an owner; nothing for others."""
    if me not in owners:
        return np.empty(0, dtype=np.uint64)
    return draw_words(pads, DEALER, size, ring)


def draw_words(pads: Pads, name: str, size: int, ring: Ring) -> U64:
    """Return words that are drawn from one seed, no two of them alike but by chance."""
    drawn, at = np.empty(size, dtype=np.uint64), 0
    for chunk in pads.put_on(name, size):  # the next chunk overwrites it: a list of them would repeat the last one
        drawn[at : at + chunk.size] = chunk
        at += chunk.size
    return reduce(drawn, ring)


def mask_factor(x: U64, mask: U64, me: str, owners: Sequence[str], ring: Ring) -> U64:
    """Return an owner's factor under its mask."""
    return reduce(x - mask, ring) if me in owners else mask


def pack_factor(masked: U64, ring: Ring) -> MaskedFactor:
    """Return the message of a factor under its mask."""
    return MaskedFactor(narrow(masked, bits_of(ring)))


def combine_factors(
    received: Mapping[str, MaskedFactor],
    own: U64,
    mask: U64,
    dealt: Share,
    me: str,
    owners: Sequence[str],
    first: bool,  # noqa: FBT001 - a step
    ring: Ring,
) -> U64:
    """Return the share of the product, (1), (2)."""
    size = dealt.made[0].size // (1 if len(owners) == 2 else 4)  # noqa: PLR2004 - as above
    opened = [own if p == me else read_factor(received[p], p, size, ring) for p in owners]
    mine = owners.index(me) if me in owners else None
    if len(owners) == 2:  # noqa: PLR2004 - as above
        found = dealt.made[0].copy()
        if mine is not None:
            found += opened[1 - mine] * mask
        if first:
            found += opened[0] * opened[1]
        return reduce(found, ring)
    d, e, f = opened
    bc, ac, ab, abc = dealt.made[0].reshape(4, -1)
    found = abc + d * bc + e * ac + f * ab
    if mine is not None:
        one, other = (opened[i] for i in range(3) if i != mine)
        found += one * other * mask
    if first:
        found += d * e * f
    return reduce(found, ring)


def read_factor(message: MaskedFactor, party: str, size: int, ring: Ring) -> U64:
    """Return a factor under its mask; raise if it is of another size."""
    try:
        words = widen(message.words, bits_of(ring))
    except ValueError:
        words = np.empty(0, dtype=np.uint64)
    if words.size != size:
        raise PeerError(f"{party} sent other words than {size} entries take: stop and ask {party}")
    return words


# Steps at the dealer


def multiply_masks(pads: Pads, owners: Sequence[str], size: int, ring: Ring) -> Words:
    """Return the products of masks that (1) or (2) takes, one after the other."""
    a, b, *more = (draw_words(pads, party, size, ring) for party in owners)
    if not more:
        return (reduce(a * b, ring),)
    (c,) = more
    return (reduce(np.concatenate([b * c, a * c, a * b, a * b * c]), ring),)
