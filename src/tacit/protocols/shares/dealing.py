"""Correlated randomness from a dealer: the coordinator's site, which holds no data and never sees an opening.

The problem. Holders need masks a, and values m(a) that fit together, in shares, without any of them knowing a:

    a = sum_p a_p,        m(a) = sum_p m_p        (mod 2^k; tables: exclusive or)                                   (1)

Every holder shares a seed with the dealer, so a_p, and m_p of all holders but one, are drawn on both sides and cost no
message. The dealer computes a and m(a), and sends that one what is missing; holders take turns:

    dealer >> whose turn it is      m_p = m(a) - sum of the others' m_p                                             (2)

What is dealt depends on public sizes alone. So the dealer waits for nobody, and is ahead of the holders all the time.

A gate asks a `Dealer` for three things and nothing else: shares of a correlation, pads that it draws too, and to
compute on what it keeps. What it keeps is `Kept`, which a gate hands back and never looks into. `OneDealer` is the
dealer above. Three dealers of whom one may collude would keep their words in shares of their own, and compute on them
together; no gate would change.

Roles. Holder: has shares. Coordinator: the dealer.
Threat. Semi-honest. The dealer learns nothing: it receives public keys only. Holders see uniform words. The dealer
together with one holder knows everything that is opened under a mask, and so every value in shares: NOT protected.
Source: Beaver, CRYPTO 1991; a dealer of correlated randomness as in Ishai et al., TCC 2013.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import U8, U64
from tacit.choreo import At, Coordinator, Each, Everyone, Holder, Message, Pads, Run, State, choreography
from tacit.crypto.pads.agreement import pair_seed
from tacit.errors import LocalError, PeerError
from tacit.numeric.ring.words import Z64, Ring, narrow, widen
from tacit.protocols.facts import DEALT, PUBLIC_KEY, UNIFORM
from tacit.protocols.sums.secure_sum import PublicKey, own_key

DEALER = "dealer"  # under which name a holder keeps the seed that it shares with the dealer

NOTHING = np.empty(0, dtype=np.uint64)

Words = tuple[U64, ...]


class Dealt(
    Message,
    tells=DEALT,
    ragged=True,
):
    """What the holder whose turn it is misses, (2), one value after the other; nothing for the others.

    words: of values that are added up, in as few bytes as the ring needs (`numeric.ring.words`). tables: of those
    that are combined by exclusive or.
    """

    words: U64 | U8
    tables: U64


@dataclass(frozen=True)
class Sizes:
    """How many words of each value are dealt for one gate.

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
        """Return what follows from the masks and bits of all holders together: `made` and `tables`.

        Each is a new array, which the dealer overwrites.
        """


class Share(State):
    """A holder's part of what was dealt, in the order of the correlation."""

    masks: Words
    bits: Words
    made: Words
    tables: Words


Kept = At[Any]  # what a dealer keeps: of one dealer the words themselves


class Dealer(ABC):
    """What a gate asks of whoever deals."""

    @abstractmethod
    def deal(self, run: Run, correlation: Correlation, ring: Ring, kept: Kept | None) -> tuple[At[Share], Kept]:
        """Return every holder's share of a correlation, and what the dealer keeps: its masks.

        kept: words that the correlation is made of, beside its masks.
        """

    @abstractmethod
    def draw(self, run: Run, tag: At[bytes]) -> tuple[At[Pads], Kept]:
        """Return pads of every holder, under the name `DEALER`, and those of all holders at the dealer, by name."""

    @abstractmethod
    def compute(self, run: Run, step: Callable[..., Any], *args: Any) -> Kept:
        """Return what a step makes of public values and of what the dealer keeps, which keeps that too."""


@dataclass(frozen=True)
class OneDealer(Dealer):
    """The coordinator, which deals alone, by (1) and (2). Seeds are at both ends."""

    seeds: At[dict[str, bytes]]
    known: At[dict[str, bytes]]

    def deal(self, run: Run, correlation: Correlation, ring: Ring, kept: Kept | None) -> tuple[At[Share], Kept]:
        """Let the holders and the dealer draw, and send the holder whose turn it is what is missing."""
        own, known = self.draw(run, run.tag())
        holders = take_turns(run.roster[Holder], run.place)
        drawn = self.compute(run, draw_all, correlation, known, holders, ring)
        masks = self.compute(run, add_masks, drawn, ring)
        missing = self.compute(run, complete, correlation, drawn, masks, () if kept is None else kept, holders, ring)
        dealt = run.send(Dealt, Coordinator >> Holder, missing)
        return run.local(Holder, draw_own, correlation, own, dealt, run.who(Holder), holders[-1], ring), masks

    def draw(self, run: Run, tag: At[bytes]) -> tuple[At[Pads], Kept]:
        """Return pads under the seeds at both ends."""
        return run.pads(self.seeds, tag), run.pads(self.known, tag)

    def compute(self, run: Run, step: Callable[..., Any], *args: Any) -> Kept:
        """Return what the coordinator computes."""
        return run.local(Coordinator, step, *args)


@dataclass(frozen=True)
class Dealing:
    """What a gate takes: the dealer, and the ring.

    first: at each site, whether it is the one that adds public values to its shares. giving: at each site, the seeds
    that it shares with those who compute for it, or for whom it computes (`deposits`).
    """

    dealer: Dealer
    first: At[bool]
    giving: At[dict[str, bytes]]
    ring: Ring = Z64


@choreography(opens={Everyone: PUBLIC_KEY})
def agree_with_dealer(run: Run, *, ring: Ring = Z64, committee: Sequence[str] = ()) -> Dealing:
    """Let each holder and the dealer agree on a seed that nobody else knows; also each giver and member of a committee.

    committee: the holders that compute for all, if not all do.
    """
    mine, theirs = run.random(Holder), run.random(Coordinator)
    keys = {p: m.key for p, m in run.publish_all(PublicKey, run.local(Holder, own_key, mine)).items()}
    dealer = run.publish(PublicKey, run.local(Coordinator, own_key, theirs)).key
    seeds = run.local(Holder, seeds_with, mine, {DEALER: dealer}, run.who(Holder))
    known = run.local(Coordinator, seeds_with, theirs, keys, run.who(Coordinator))
    members = tuple(committee) or run.roster[Holder]
    first = run.local(Holder, are_same, run.who(Holder), members[0])
    giving = run.local(Holder, seeds_of_givers, mine, keys, run.who(Holder), members)
    return Dealing(OneDealer(seeds, known), first, giving, ring)


@choreography(opens={Holder: UNIFORM})
def deal(run: Run, dealing: Dealing, correlation: Correlation, *, kept: Kept | None = None) -> tuple[At[Share], Kept]:
    """Return every holder's share of a correlation, and what the dealer keeps for a later one that needs it."""
    return dealing.dealer.deal(run, correlation, dealing.ring, kept)


def check_dealer(run: Run) -> None:
    """Refuse a dealer that holds data: with what it deals it would know all records."""
    if run.roster[Coordinator][0] in run.roster[Holder]:
        raise LocalError(
            f"{run.roster[Coordinator][0]} holds data and would deal the randomness that hides all other data: choose a"
            " coordinator without data"
        )


def take_turns(holders: Sequence[str], place: str) -> tuple[str, ...]:
    """Return the holders in an order whose last one is sent words: another one at the next place of the same name."""
    at = sum(map(int, re.findall(r"\d+", place))) % len(holders)
    return (*holders[at:], *holders[:at])


# Steps at both ends


def are_same(me: str, other: str) -> bool:
    """Return whether both names are of one party."""
    return me == other


def seeds_of_givers(private: bytes, keys: Mapping[str, bytes], me: str, members: Sequence[str]) -> dict[str, bytes]:
    """Return the seeds that a giver shares with every member of the committee, and a member with every giver."""
    mine = me in members
    return seeds_with(private, {p: key for p, key in keys.items() if (p in members) != mine}, me, b"giving")


def seeds_with(private: bytes, keys: Mapping[str, bytes], me: str, purpose: bytes = b"dealing") -> dict[str, bytes]:
    """Return a seed for each of the keys."""
    try:
        return {name: pair_seed(private, key, purpose) for name, key in keys.items()}
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
            if kind in (0, 2):
                _reduce(part, ring)
            values.append(part)
            start += size
        cut.append(tuple(values))
    return Share(*cut)


def _reduce(words: U64, ring: Ring) -> U64:
    """Take words modulo 2^k, in place."""
    return words if ring.modulus == 1 << 64 else np.bitwise_and(words, np.uint64(ring.modulus - 1), out=words)


def _bits_of(ring: Ring) -> int:
    return ring.modulus.bit_length() - 1


# Steps at the dealer


def draw_all(correlation: Correlation, pads: Pads, holders: Sequence[str], ring: Ring) -> tuple[Share, ...]:
    """Return what every holder draws."""
    last = holders[-1]
    return tuple(draw(correlation, pads, p, ring, last=p == last) for p in holders)


def add_masks(drawn: tuple[Share, ...], ring: Ring) -> Words:
    """Return the masks of all holders together."""
    return tuple(
        _reduce(_fold(np.add, each[0].copy(), each[1:]), ring)
        for each in zip(*(share.masks for share in drawn), strict=True)
    )


def _fold(combine: np.ufunc, value: U64, others: Sequence[U64]) -> U64:
    """Return a value with all others added to it, or taken off; it is overwritten, unless it is read-only."""
    total = value if value.flags.writeable else value.copy()  # new memory takes longer than the arithmetic
    for part in others:
        combine(total, part, out=total)
    return total


def complete(
    correlation: Correlation, drawn: tuple[Share, ...], masks: Words, kept: Words, holders: Sequence[str], ring: Ring
) -> Each:
    """Return what the dealer sends: made values and tables less what holders drew, (2)."""
    bits = tuple(
        _fold(np.bitwise_xor, each[0].copy(), each[1:]) for each in zip(*(share.bits for share in drawn), strict=True)
    )
    made, tables = correlation.make(masks, bits, ring, kept)
    others, k = drawn[:-1], _bits_of(ring)
    left = [_fold(np.subtract, each[0], each[1:]) for each in zip(made, *(share.made for share in others), strict=True)]
    mixed = [
        _fold(np.bitwise_xor, each[0], each[1:])
        for each in zip(tables, *(share.tables for share in others), strict=True)
    ]
    dealt = Dealt(narrow(_reduce(_join(left), ring), k), _join(mixed))
    nothing = Dealt(narrow(NOTHING, k), NOTHING)
    return Each({p: dealt if p == holders[-1] else nothing for p in holders})


def _join(parts: Sequence[U64]) -> U64:
    return parts[0] if len(parts) == 1 else np.concatenate([NOTHING, *parts])


# Steps at the holders


def draw_own(correlation: Correlation, pads: Pads, dealt: Dealt, me: str, last: str, ring: Ring) -> Share:
    """Return the holder's own share: drawn, and at the last holder what it was sent."""
    drawn = draw(correlation, pads, DEALER, ring, last=me == last)
    if me != last:
        return drawn
    sizes = correlation.sizes
    try:
        words = widen(dealt.words, _bits_of(ring))
    except ValueError as error:
        raise PeerError(f"the dealer sent other words than belong here, {error}: is it of the same version?") from None
    for what, sent, whole in (("words", words, sizes.made), ("words of tables", dealt.tables, sizes.tables)):
        if sent.shape != (sum(whole),):
            raise PeerError(f"the dealer sent {sent.size} {what} of {sum(whole)}: is it of the same version?")
    return Share(drawn.masks, drawn.bits, cut_up(words, sizes.made), cut_up(dealt.tables, sizes.tables))


def cut_up(words: U64, sizes: Sequence[int]) -> Words:
    """Return values that lie one after the other."""
    return tuple(np.split(words, np.cumsum(sizes)[:-1])) if sizes else ()
