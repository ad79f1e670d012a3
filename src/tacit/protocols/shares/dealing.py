"""Correlated randomness from a dealer: the coordinator's site, which holds no data and never sees an opening.

The problem. Holders need masks a, and values m(a) that fit together, in shares, without any of them knowing a:

    a = sum_p a_p,        m(a) = sum_p m_p        (mod 2^k; tables: exclusive or)                                   (1)

Every holder shares a seed with the dealer, so a_p, and m_p of all holders but the last, are drawn on both sides and
cost no message. The dealer computes a and m(a), and sends the last holder what is missing:

    dealer >> last holder      m_last = m(a) - sum of the others' m_p                                               (2)

What is dealt depends on public sizes alone. So the dealer waits for nobody, and is ahead of the holders all the time.

Roles. Holder: has shares. Coordinator: the dealer.
Threat. Semi-honest. The dealer learns nothing: it receives public keys only. Holders see uniform words. The dealer
together with one holder knows everything that is opened under a mask, and so every value in shares: NOT protected.
Source: Beaver, CRYPTO 1991; a dealer of correlated randomness as in Ishai et al., TCC 2013.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Coordinator, Each, Everyone, Fact, Holder, Message, Pads, Run, State, choreography
from tacit.crypto.pads.agreement import pair_seed
from tacit.errors import PeerError
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.sums.secure_sum import PublicKey, own_key

DEALER = "dealer"  # under which name a holder keeps the seed that it shares with the dealer

Words = tuple[U64, ...]


class Dealt(
    Message,
    tells=Fact("shares.dealt", "nobody", "nothing", "none", "nothing: uniform words that complete the others' shares"),
    ragged=True,
):
    """What the last holder misses, (2), one value after the other; nothing for the others."""

    words: U64


@dataclass(frozen=True)
class Sizes:
    """How many words of each kind are dealt for one gate, for each value.

    masks, made: values that are added up. bits, tables: those that are combined by exclusive or.
    """

    masks: tuple[int, ...] = ()
    bits: tuple[int, ...] = ()
    made: tuple[int, ...] = ()
    tables: tuple[int, ...] = ()


class Correlation(ABC):
    """What is dealt for one gate: its sizes, and how the made values follow from the drawn ones."""

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """How many words of each kind are dealt."""

    @abstractmethod
    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return what follows from the masks and bits of all holders together: `made` and `tables`."""


@dataclass(frozen=True)
class Dealing:
    """What the holders and the dealer agreed on: seeds at both ends, who is last, and the ring.

    first: at each holder, whether it is the one that adds public values to its shares.
    """

    seeds: At[dict[str, bytes]]
    known: At[dict[str, bytes]]
    first: At[bool]
    last: str
    ring: Ring = Z64


class Share(State):
    """A holder's part of what was dealt, in the order of the correlation."""

    masks: Words
    bits: Words
    made: Words
    tables: Words


@choreography(opens={Everyone: Fact("shares.keys", "nobody", "key", "party", "public keys of holders and dealer")})
def agree_with_dealer(run: Run, *, ring: Ring = Z64) -> Dealing:
    """Let each holder and the dealer agree on a seed that nobody else knows."""
    mine, theirs = run.random(Holder), run.random(Coordinator)
    keys = {p: m.key for p, m in run.publish_all(PublicKey, run.local(Holder, own_key, mine)).items()}
    dealer = run.publish(PublicKey, run.local(Coordinator, own_key, theirs)).key
    seeds = run.local(Holder, seeds_with, mine, {DEALER: dealer}, run.who(Holder))
    known = run.local(Coordinator, seeds_with, theirs, keys, run.who(Coordinator))
    holders = run.roster[Holder]
    first = run.local(Holder, are_same, run.who(Holder), holders[0])
    return Dealing(seeds, known, first, holders[-1], ring)


@choreography(opens={Holder: Fact("shares.uniform", "nobody", "nothing", "none", "uniform words, which fit together")})
def deal(
    run: Run, dealing: Dealing, correlation: Correlation, *, kept: At[Words] | None = None
) -> tuple[At[Share], At[Words]]:
    """Return every holder's share of a correlation, and at the dealer its masks, for a later one that needs them.

    kept: masks of an earlier one, at the dealer.
    """
    tag, holders, ring = run.tag(), run.roster[Holder], dealing.ring
    drawn = run.local(Coordinator, draw_all, correlation, run.pads(dealing.known, tag), holders, ring)
    masks = run.local(Coordinator, add_masks, drawn, ring)
    missing = run.local(Coordinator, complete, correlation, drawn, masks, () if kept is None else kept, holders, ring)
    dealt = run.send(Dealt, Coordinator >> Holder, missing)
    pads = run.pads(dealing.seeds, tag)
    return run.local(Holder, draw_own, correlation, pads, dealt, run.who(Holder), dealing.last, ring), masks


# Steps at both ends


def are_same(me: str, other: str) -> bool:
    """Return whether both names are of one party."""
    return me == other


def seeds_with(private: bytes, keys: Mapping[str, bytes], me: str) -> dict[str, bytes]:
    """Return a seed for each of the keys."""
    try:
        return {name: pair_seed(private, key, b"dealing") for name, key in keys.items()}
    except ValueError:
        raise PeerError(f"a public key that {me} received is not an X25519 key") from None


def draw(correlation: Correlation, pads: Pads, name: str, ring: Ring, *, last: bool) -> Share:
    """Return what is drawn from one seed; the last holder draws nothing that is made."""
    c = correlation.sizes
    sizes = [c.masks, c.bits, *(((), ()) if last else (c.made, c.tables))]
    words = sum(map(sum, sizes))
    drawn = np.empty(words, dtype=np.uint64)
    at = 0
    for chunk in pads.put_on(name, words):
        drawn[at : at + chunk.size] = chunk
        at += chunk.size
    cut, start = [], 0
    for kind, each in enumerate(sizes):
        values = []
        for size in each:
            part = drawn[start : start + size]
            values.append(_reduce(part, ring) if kind in (0, 2) else part)
            start += size
        cut.append(tuple(values))
    return Share(*cut)


def _reduce(words: U64, ring: Ring) -> U64:
    return words if ring.modulus == 1 << 64 else np.remainder(words, np.uint64(ring.modulus))


# Steps at the dealer


def draw_all(correlation: Correlation, pads: Pads, holders: Sequence[str], ring: Ring) -> tuple[Share, ...]:
    """Return what every holder draws."""
    last = holders[-1]
    return tuple(draw(correlation, pads, p, ring, last=p == last) for p in holders)


def add_masks(drawn: tuple[Share, ...], ring: Ring) -> Words:
    """Return the masks of all holders together."""
    return tuple(ring.total(each) for each in zip(*(share.masks for share in drawn), strict=True))


def complete(
    correlation: Correlation, drawn: tuple[Share, ...], masks: Words, kept: Words, holders: Sequence[str], ring: Ring
) -> Each:
    """Return what the dealer sends: made values and tables less what holders drew, (2)."""
    bits = tuple(np.bitwise_xor.reduce(each) for each in zip(*(share.bits for share in drawn), strict=True))
    made, tables = correlation.make(masks, bits, ring, kept)
    words = np.concatenate([*made, *tables, np.empty(0, dtype=np.uint64)])
    added, mixed = cut_up(words, correlation.sizes)
    for share in drawn[:-1]:
        for part, own in zip(added, share.made, strict=True):
            ring.add(part, [own], sign=-1)
        for part, own in zip(mixed, share.tables, strict=True):
            np.bitwise_xor(part, own, out=part)
    nothing = Dealt(np.empty(0, dtype=np.uint64))
    return Each({p: Dealt(words) if p == holders[-1] else nothing for p in holders})


# Steps at the holders


def draw_own(correlation: Correlation, pads: Pads, dealt: Dealt, me: str, last: str, ring: Ring) -> Share:
    """Return the holder's own share: drawn, and at the last holder what it was sent."""
    drawn = draw(correlation, pads, DEALER, ring, last=me == last)
    if me != last:
        return drawn
    sizes = correlation.sizes
    whole = sum(sizes.made) + sum(sizes.tables)
    if dealt.words.size != whole:
        raise PeerError(f"the dealer sent {dealt.words.size} words of {whole}: is it of the same version?")
    return Share(drawn.masks, drawn.bits, *cut_up(dealt.words, sizes))


def cut_up(words: U64, sizes: Sizes) -> tuple[Words, Words]:
    """Return what is made of what was drawn, and the tables, that lie one after the other."""
    parts = tuple(np.split(words, np.cumsum([*sizes.made, *sizes.tables])[:-1])) if words.size else ()
    return parts[: len(sizes.made)], parts[len(sizes.made) :]
