"""Gates: opening, multiplying and truncating values that the holders have in shares.

    opened     every holder tells every other its share of x + a; the dealer, and the broker between them, see nothing

    product    d = x - a, e = y - b opened;      x y = d e + d b + e a + a b                    share by share       (1)
    square     d = x - a opened;                 x^2 = d^2 + 2 d a + a^2                                             (2)
    truncated  c = x + 2^(k-2) + r opened;
               x / 2^s = (c >> s) - (r >> s) + msb(r) (1 - msb(c)) 2^(k-s) - 2^(k-2-s)          |x| < 2^(k-2)        (3)

Many words are opened in parts, of which M holders have one each: holder i is told part i of all shares, adds it up and
tells the sum. So a holder sends 2 (M - 1) / M shares instead of M - 1, in two rounds instead of one; what it hears of
shares is a part of what it heard else, and sums of shares are what is opened to it anyway.

(3) never fails by a wrap, and rounds at random: its error is below one and has mean zero, whatever x is. Nobody
learns anything from an opening without the dealer: a mask is uniform as long as one holder's part of it is unknown.

Roles, threat and source: as `dealing`; (3) ours, after Escudero et al., CRYPTO 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import U8, U64
from tacit.choreo import At, Each, Holder, Message, Run, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.words import Ring, narrow, widen
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal


class Opening(Message, tells=UNIFORM):
    """A holder's share of a masked value, in as few bytes as words of the ring need (`numeric.ring.words`)."""

    words: U64 | U8


class OpenedBits(Message, tells=UNIFORM):
    """A holder's share of masked bits, eight in a byte."""

    bits: U8


@choreography(opens={Holder: UNIFORM})
def open_masked(run: Run, x: At[U64], *, ring: Ring, size: int = 0) -> At[U64]:
    """Tell all holders a value that is under a mask; of so many words, where they may be many."""
    holders = run.roster[Holder]
    if count_sent(size, len(holders))[1] == 1:
        received = run.send(Opening, Holder >> Holder, run.local(Holder, pack_words, x, ring))
        return run.local(Holder, add_openings, received, x, ring)
    parts = run.local(Holder, cut_parts, x, holders)
    told = run.send(Opening, Holder >> Holder, run.local(Holder, pack_parts, parts, ring))
    own = run.local(Holder, add_part, told, parts, run.who(Holder), ring)
    sums = run.send(Opening, Holder >> Holder, run.local(Holder, pack_words, own, ring))
    return run.local(Holder, join_parts, sums, own, holders, size, ring)


def count_sent(size: int, holders: int) -> tuple[float, int]:
    """Return how many shares a holder sends so that all know so many words, and in how many rounds."""
    return (holders - 1, 1) if holders == PAIR or size < MANY else (2 * (1 - 1 / holders), 2)


@choreography(opens={Holder: UNIFORM})
def open_bits(run: Run, x: At[U64]) -> At[U64]:
    """Tell all holders bits that are under masks, as planes."""
    received = run.send(OpenedBits, Holder >> Holder, run.local(Holder, pack_bits, x))
    return run.local(Holder, add_bits, received, x)


PAIR = 2  # holders, each of whom would be told half of a share, and then half of the sum
MANY = 1 << 13  # words from which parts are sent: bytes take longer than a round then, on a line of 10 Mbit/s


# Products


@dataclass(frozen=True)
class Triple(Correlation):
    """a, b and a b, entry by entry."""

    size: int

    @property
    def sizes(self) -> Sizes:
        """Two masks, and their product."""
        return Sizes(masks=(self.size, self.size), made=(self.size,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return a b."""
        del bits, kept
        return (reduce(masks[0] * masks[1], ring),), ()


@choreography(opens={Holder: UNIFORM})
def multiply(run: Run, dealing: Dealing, x: At[U64], y: At[U64], *, size: int) -> At[U64]:
    """Return shares of x y, entry by entry, (1)."""
    dealt, _ = deal(run, dealing, Triple(size))
    opened = open_masked(run, run.local(Holder, mask_factors, x, y, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, combine_factors, opened, dealt, dealing.first, dealing.ring)


@dataclass(frozen=True)
class SquareEach(Correlation):
    """a and a^2, entry by entry."""

    size: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and its squares."""
        return Sizes(masks=(self.size,), made=(self.size,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return the square of every mask, a^2."""
        del bits, kept
        return (reduce(masks[0] * masks[0], ring),), ()


@choreography(opens={Holder: UNIFORM})
def square_each(run: Run, dealing: Dealing, x: At[U64], *, size: int) -> At[U64]:
    """Return shares of x^2, entry by entry, (2)."""
    dealt, _ = deal(run, dealing, SquareEach(size))
    opened = open_masked(run, run.local(Holder, subtract_mask, x, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, combine_each, opened, dealt, dealing.first, dealing.ring)


# Shares anew


@dataclass(frozen=True)
class Zeros(Correlation):
    """Shares of zero."""

    size: int

    @property
    def sizes(self) -> Sizes:
        """Return the size of what is dealt: one value per entry."""
        return Sizes(made=(self.size,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return zeros, of which every holder gets a random share."""
        del masks, bits, ring, kept
        return (np.zeros(self.size, dtype=np.uint64),), ()


def share_anew(run: Run, dealing: Dealing, x: At[U64], *, size: int) -> At[U64]:
    """Return other shares of the same x, uniform: what is told of them tells x and no holder's own part."""
    dealt, _ = deal(run, dealing, Zeros(size))
    return run.local(Holder, add_made, x, dealt, dealing.ring)


# Truncation


@dataclass(frozen=True)
class Cut(Correlation):
    """r, r >> s and its highest bit."""

    size: int
    s: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and two values of it."""
        return Sizes(masks=(self.size,), made=(self.size, self.size))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return r >> s and msb(r)."""
        del bits, kept
        return cut_mask(masks[0], self.s, ring), ()


@choreography(opens={Holder: UNIFORM})
def truncate(run: Run, dealing: Dealing, x: At[U64], s: int, *, size: int) -> At[U64]:
    """Return shares of x / 2^s, (3)."""
    dealt, _ = deal(run, dealing, Cut(size, s))
    masked = run.local(Holder, add_mask, x, dealt, dealing.first, dealing.ring)
    opened = open_masked(run, masked, ring=dealing.ring)
    return run.local(Holder, shift_down, opened, dealt, s, dealing.first, dealing.ring)


# Arithmetic in the ring


def reduce(words: U64, ring: Ring) -> U64:
    """Return words modulo 2^k."""
    return words if ring.modulus == 1 << 64 else words & np.uint64(ring.modulus - 1)


def bits_of(ring: Ring) -> int:
    """Return k of a ring modulo 2^k."""
    return ring.modulus.bit_length() - 1


def triangle_size(n: int) -> int:
    """Return how many entries a symmetric matrix of n rows has at or below its diagonal."""
    return n * (n + 1) // 2


# Steps of an opening


def pack_words(x: U64, ring: Ring) -> Opening:
    """Return the message of a holder's share."""
    return Opening(narrow(x, bits_of(ring)))


def add_openings(received: Mapping[str, Opening], own: U64, ring: Ring) -> U64:
    """Return the masked value: the sum of all shares."""
    total = own.copy()
    for party, message in received.items():
        total += read_words(message, party, own.size, ring).reshape(own.shape)
    return reduce(total, ring)


def read_words(message: Opening, party: str, size: int, ring: Ring) -> U64:
    """Return the words of an opening, which are as many as belong there."""
    try:
        words = widen(message.words, bits_of(ring))
    except ValueError as error:
        raise PeerError(f"{party} opened other words than belong here, {error}: stop and ask {party}") from None
    if words.shape != (size,):
        raise PeerError(f"{party} opened {words.size} words where {size} belong: stop and ask {party}")
    return words


def cut_parts(x: U64, holders: Sequence[str]) -> dict[str, U64]:
    """Return a part of a share for every holder; the last ones are filled up with zeros."""
    each = -(-x.size // len(holders))
    cut = [x[each * i : each * (i + 1)] for i in range(len(holders))]
    return {
        p: np.pad(part, (0, each - part.size)) if part.size < each else part
        for p, part in zip(holders, cut, strict=True)
    }


def pack_parts(parts: Mapping[str, U64], ring: Ring) -> Each:
    """Return each holder's part of a share as its message."""
    return Each({party: pack_words(part, ring) for party, part in parts.items()})


def add_part(told: Mapping[str, Opening], parts: Mapping[str, U64], me: str, ring: Ring) -> U64:
    """Return the sum of a holder's part of all shares."""
    return add_openings(told, parts[me], ring)


def join_parts(sums: Mapping[str, Opening], own: U64, holders: Sequence[str], size: int, ring: Ring) -> U64:
    """Return the masked value from the sums of its parts."""
    found = [read_words(sums[p], p, own.size, ring) if p in sums else own for p in holders]
    return np.concatenate(found)[:size]


def pack_bits(x: U64) -> OpenedBits:
    """Return the message of a holder's part of bits."""
    return OpenedBits(x.astype("<u8", copy=False).reshape(-1).view(np.uint8))


def add_bits(received: Mapping[str, OpenedBits], own: U64) -> U64:
    """Return the masked bits: the exclusive or of all parts."""
    total = own.copy()
    for party, message in received.items():
        if message.bits.shape != (own.nbytes,):
            raise PeerError(f"{party} opened {message.bits.size} bytes where {own.nbytes} belong: stop and ask {party}")
        total ^= message.bits.view("<u8").reshape(own.shape)
    return total


# Steps of shares anew


def add_made(x: U64, dealt: Share, ring: Ring) -> U64:
    """Return the share of x with a share of zero."""
    return reduce(x + dealt.made[0], ring)


# Steps of a product


def mask_factors(x: U64, y: U64, dealt: Share, ring: Ring) -> U64:
    """Return the shares of d and e of (1), one after the other."""
    return reduce(np.concatenate([x - dealt.masks[0], y - dealt.masks[1]]), ring)


def combine_factors(opened: U64, dealt: Share, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of x y, (1)."""
    d, e = np.split(opened, 2)
    found = d * dealt.masks[1] + e * dealt.masks[0] + dealt.made[0]
    return reduce(found + d * e if first else found, ring)


# Steps of a square


def subtract_mask(x: U64, dealt: Share, ring: Ring) -> U64:
    """Return the share of x - a."""
    return reduce(x - dealt.masks[0], ring)


def combine_each(opened: U64, dealt: Share, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of x^2 = d^2 + 2 d a + a^2."""
    found = np.uint64(2) * opened * dealt.masks[0] + dealt.made[0]
    return reduce(found + opened * opened if first else found, ring)


# Steps of a truncation


def cut_mask(r: U64, s: int, ring: Ring) -> Words:
    """Return r >> s and msb(r)."""
    return r >> np.uint64(s), r >> np.uint64(bits_of(ring) - 1)


def add_mask(x: U64, dealt: Share, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of c of (3)."""
    offset = np.uint64(1 << (bits_of(ring) - 2))
    return reduce(x + dealt.masks[0] + offset if first else x + dealt.masks[0], ring)


def shift_down(c: U64, dealt: Share, s: int, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of x / 2^s, (3)."""
    return shift_with(c, dealt.made[0], dealt.made[1], s, first, ring)


def shift_with(c: U64, high: U64, msb: U64, s: int, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - of a step
    """Return the share of (3), from shares of r >> s and msb(r)."""
    k = bits_of(ring)
    wrapped = (np.uint64(1) - (c >> np.uint64(k - 1))) << np.uint64(k - s)
    found = msb * wrapped - high
    if first:
        found = found + (c >> np.uint64(s)) - np.uint64(1 << (k - 2 - s))
    return reduce(found, ring)
