"""What sites bring, opened once under masks: all that is computed later is bound to it, and each site's part is known.

x_p is what holder p brings with what givers deposited with it, and A_p a mask that p and the dealer draw. For every
public linear map F,

    D_p = x_p - A_p       in parts: holder i is told part i of D_p, adds up, and tells everybody part i of D        (1)
    x = D + sum_p A_p                                                                                               (2)
    F x_p = F D_p + F A_p - sum_g F x_gp         F A_p dealt in shares; g are givers, whose F x_g = sum_p F x_gp    (3)

Of F D_p each holder has what it was told. Part p of D_p is told to nobody, so it is what the sum leaves:

    F D_p^p = F D^p - sum_(q != p) F D_q^p                each q takes its own term off, the first one adds F D^p    (4)

So p itself has no say in F x_p: whatever it told the others is what it brought. The shares of (3) are used by gates.
F may depend on a coin that is tossed after (1); nobody could choose what it brings by it.

Roles, threat: as `gates`; (1) is an opening in parts. A holder can say that a giver gave it something else, in (3) and
in (2) alike. Source: ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Giver, Holder, Pads, Run, choreography
from tacit.numeric.ring.words import Z64
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import DEALER, Correlation, Dealing, Kept, Share, Sizes, Words, deal
from tacit.protocols.shares.deposits import Deposits, add_given, deposit
from tacit.protocols.shares.factors import draw_words
from tacit.protocols.shares.gates import Opening, add_part, cut_parts, join_parts, pack_parts, pack_words, read_words
from tacit.protocols.shares.matrices import Opened

Parts = dict[str, U64]


class LinearMap(ABC):
    """A public linear map of what a site brings."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many words it gives."""

    @abstractmethod
    def apply(self, words: U64, start: int) -> U64:
        """Return what it gives of words that begin at `start`, where all others are zero; those beyond the end are."""


@dataclass(frozen=True)
class Mapped(Correlation):
    """F of the mask of each holder, (3)."""

    of: LinearMap
    holders: int

    @property
    def sizes(self) -> Sizes:
        """Return the size of what is dealt: F of every mask, one after the other."""
        return Sizes(made=(self.holders * self.of.size,))

    def make(self, masks: Words, bits: Words, ring: object, kept: Words) -> tuple[Words, Words]:
        """Return F A_p for every holder."""
        del masks, bits, ring
        return (np.concatenate([self.of.apply(A, 0) for A in kept]),), ()


@dataclass(frozen=True)
class Brought:
    """What all sites brought, (1).

    D: public to holders. own: each holder's mask. mine, told: parts of its own D_p, and what others told it. given: by
    givers. A: every holder's mask, at the dealer.
    """

    size: int
    D: At[U64]
    own: At[U64]
    mine: At[Parts]
    told: At[Parts]
    given: At[Deposits]
    A: Kept


@choreography(opens={Holder: UNIFORM})
def bring(run: Run, dealing: Dealing, x: At[U64], *, size: int) -> Brought:
    """Return so many words that every site brings as they are opened, (1)."""
    holders, givers = run.roster[Holder], run.roster[Giver]
    given = deposit(run, dealing, x, dict.fromkeys(givers, size)) if givers else run.local(Holder, give_nothing, x)
    pads, known = dealing.dealer.draw(run, run.tag())
    own = run.local(Holder, draw_words, pads, DEALER, size, Z64)
    mine = run.local(Holder, cut_parts, run.local(Holder, mask_brought, x, given, own), holders)
    sent = run.send(Opening, Holder >> Holder, run.local(Holder, pack_parts, mine, Z64))
    part = run.local(Holder, add_part, sent, mine, run.who(Holder), Z64)
    sums = run.send(Opening, Holder >> Holder, run.local(Holder, pack_words, part, Z64))
    D = run.local(Holder, join_parts, sums, part, holders, size, Z64)
    told = run.local(Holder, read_told, sent, part)
    return Brought(size, D, own, mine, told, given, dealing.dealer.compute(run, draw_each, known, holders, size))


@choreography(opens={Holder: UNIFORM})
def map_brought(run: Run, dealing: Dealing, brought: Brought, of: LinearMap) -> At[U64]:
    """Return shares of F x for every site, (3): for holders first, then for givers."""
    holders, givers = run.roster[Holder], run.roster[Giver]
    dealt, _ = deal(run, replace(dealing, ring=Z64), Mapped(of, len(holders)), kept=brought.A)
    each = brought.D, brought.mine, brought.told, brought.given
    return run.local(Holder, map_share, dealt, *each, run.who(Holder), dealing.first, holders, givers, of)


def share_brought(run: Run, dealing: Dealing, brought: Brought) -> At[U64]:
    """Return shares of x, (2)."""
    return run.local(Holder, join_share, brought.D, brought.own, dealing.first)


def take_opened(run: Run, dealing: Dealing, brought: Brought, start: int, stop: int) -> Opened:
    """Return some of the words as they are opened under a mask."""
    return Opened(
        run.local(Holder, take_words, brought.D, start, stop),
        run.local(Holder, take_words, brought.own, start, stop),
        dealing.dealer.compute(run, add_slices, brought.A, start, stop),
    )


# Steps at the holders


def give_nothing(x: U64) -> Deposits:
    """Return what a holder is given where there are no givers."""
    del x
    return {}


def mask_brought(x: U64, given: Deposits, own: U64) -> U64:
    """Return D_p."""
    return add_given(x, given) - own


def read_told(sent: Mapping[str, Opening], part: U64) -> Parts:
    """Return what others told of their own, as words; its sizes were checked when they were added up."""
    return {party: read_words(message, party, part.size, Z64) for party, message in sent.items()}


def map_share(
    dealt: Share,
    D: U64,
    mine: Parts,
    told: Parts,
    given: Deposits,
    me: str,
    first: bool,  # noqa: FBT001 - a step
    holders: Sequence[str],
    givers: Sequence[str],
    of: LinearMap,
) -> U64:
    """Return the share of (3) and (4), a line for each site."""
    lines = {site: np.zeros(of.size, dtype=np.uint64) for site in (*holders, *givers)}
    each = mine[me].size
    start = {holder: i * each for i, holder in enumerate(holders)}
    for holder, own in zip(holders, dealt.made[0].reshape(len(holders), -1), strict=True):
        lines[holder] += own
        if holder != me:
            lines[holder] += of.apply(told[holder], start[me]) - of.apply(mine[holder], start[holder])
        if first:
            lines[holder] += of.apply(D[start[holder] : start[holder] + each], start[holder])
    for giver in givers:
        found = of.apply(given[giver], 0)
        lines[giver] += found
        lines[me] -= found
    return np.concatenate(list(lines.values()))


def join_share(D: U64, own: U64, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of x, (2)."""
    return D + own if first else own


def take_words(words: U64, start: int, stop: int) -> U64:
    """Return some of the words."""
    return words[start:stop]


# Steps at the dealer


def draw_each(known: Pads, holders: Sequence[str], size: int) -> Words:
    """Return the mask of every holder."""
    return tuple(draw_words(known, holder, size, Z64) for holder in holders)


def add_slices(A: Words, start: int, stop: int) -> Words:
    """Return some of the words of all masks together."""
    return (np.sum([each[start:stop] for each in A], axis=0, dtype=np.uint64),)
