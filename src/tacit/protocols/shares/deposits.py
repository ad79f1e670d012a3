"""Shares of what sites bring, for a committee of holders that computes for all of them.

    x_k = sum_p x_kp, p in the committee        all x_kp but one are drawn from seeds that k shares with p          (1)
    k >> one member     x_k less what the others draw; members take turns                                           (2)
    sum_k x_k = sum_p (x_p + sum_k x_kp)        a member adds what it is given to what it brings itself             (3)

Gates are played by whoever has the role of a holder. With a committee (`Run.seat`) these are its members, and the other
sites are givers: they give by (2), one word for each of x, and take no part in any gate. Without one all sites are
holders, and nothing is given.

Roles. Site: brings x. Giver: a site that is not in the committee. Holder: a member of the committee.
Threat. Semi-honest. x_kp is uniform to all but k and p. So what k brings is hidden from all other sites together, as
long as one member of the committee is not among them. NOT protected: all members together know what each giver brings.
Source: ours; additive shares among a few servers as in SecureML, Mohassel and Zhang, S&P 2017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, TypeVar

import numpy as np

from tacit.arrays import I64, U64
from tacit.choreo import At, Giver, Holder, Message, Pads, Run, choreography
from tacit.choreo.declaration import Either, Items, OneOf, Text
from tacit.errors import LocalError, PeerError
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.factors import draw_words
from tacit.protocols.shares.gates import reduce

AUTO, ALL, THREE = "auto", "all", "three"
MEMBERS = 3
MOST = 4  # holders that compute all together by default
COMMITTEE = Either((OneOf((AUTO, ALL, THREE)), Items(Text(200), MEMBERS, MEMBERS)))

Deposits = dict[str, U64]
W = TypeVar("W", U64, I64)


class Deposit(Message, tells=UNIFORM, ragged=True):
    """What a giver sends to one member, (2)."""

    words: U64


def choose_committee(asked: str | Sequence[str], holders: Sequence[str], partition: str) -> tuple[str, ...]:
    """Return who computes: all holders, or three of them."""
    if not isinstance(asked, str):
        return name_committee(asked, holders, partition)
    if partition != "horizontal":
        if asked == THREE:
            raise LocalError("a committee computes over rows only: leave committee out")
        return tuple(holders)
    few = asked == THREE or (asked == AUTO and len(holders) > MOST)
    return tuple(holders[:MEMBERS] if few else holders)


def name_committee(names: Sequence[str], holders: Sequence[str], partition: str) -> tuple[str, ...]:
    """Return the named members, in the order of the holders; refuse names of others."""
    if partition != "horizontal":
        raise LocalError("a committee computes over rows only: leave committee out")
    if len(set(names)) != MEMBERS or not set(names) <= set(holders):
        raise LocalError(
            f"the committee is {', '.join(names)}, and the parties are {', '.join(holders)}: name three of them, each"
            " once"
        )
    return tuple(party for party in holders if party in names)


def gather(run: Run, dealing: Dealing, x: At[W], *, size: int) -> At[W]:
    """Return shares of the sum of what all sites bring, (3); without givers what each site brings is its share."""
    givers = run.roster[Giver]
    if not givers:
        return x
    given = deposit(run, dealing, x, dict.fromkeys(givers, size))
    return run.local(Holder, add_given, x, given)


def collect(run: Run, dealing: Dealing, x: At[U64], sizes: Mapping[str, int]) -> At[U64]:
    """Return shares of what all sites bring, one after the other; `sizes` has the words of each site."""
    givers = run.roster[Giver]
    given = deposit(run, dealing, x, {party: sizes[party] for party in givers})
    return run.local(Holder, place_given, x, given, run.who(Holder), tuple(sizes.items()))


@choreography(opens={Holder: UNIFORM})
def deposit(run: Run, dealing: Dealing, x: At[Any], sizes: Mapping[str, int]) -> At[Deposits]:
    """Return each member's share of what every giver brings, by giver; `sizes` has the words of each."""
    members = run.roster[Holder]
    turns = dict(zip(sizes, cycle(members), strict=False))  # the member to whom each giver sends
    tag = run.tag()
    pads = run.pads(dealing.giving, tag)
    rest = run.local(Giver, subtract_drawn, x, pads, run.who(Giver), turns, members, Z64)
    along = {giver: (member,) for giver, member in turns.items()}
    sent = run.send(Deposit, Giver >> Holder, rest, along=along)
    return run.local(Holder, read_given, sent, pads, run.who(Holder), turns, tuple(sizes.items()), Z64)


# Steps at the givers


def subtract_drawn(
    x: U64 | I64, pads: Pads, me: str, turns: Mapping[str, str], members: Sequence[str], ring: Ring
) -> Deposit:
    """Return x less what all members but one draw, (2)."""
    left = x.ravel().view(np.uint64).copy()
    for member in members:
        if member != turns[me]:
            left -= draw_words(pads, member, left.size, ring)
    return Deposit(reduce(left, ring))


# Steps at the members


def read_given(
    sent: Mapping[str, Deposit],
    pads: Pads,
    me: str,
    turns: Mapping[str, str],
    sizes: Sequence[tuple[str, int]],
    ring: Ring,
) -> Deposits:
    """Return a member's share of what every giver brings: drawn, or sent."""
    found: Deposits = {}
    for giver, size in sizes:
        found[giver] = sent[giver].words if turns[giver] == me else draw_words(pads, giver, size, ring)
        if found[giver].shape != (size,):
            raise PeerError(f"{giver} gave {found[giver].size} words where {size} belong: stop and ask {giver}")
    return found


def add_given(x: W, given: Deposits) -> W:
    """Return the share of the sum, (3)."""
    total = x.copy()
    for words in given.values():
        total += words.view(x.dtype).reshape(x.shape)
    return total


def place_given(x: U64, given: Deposits, me: str, sizes: Sequence[tuple[str, int]]) -> U64:
    """Return the share of all that sites bring, one after the other: zeros where another member brings it."""
    own = {**given, me: x.ravel()}
    return np.concatenate([own[p] if p in own else np.zeros(size, dtype=np.uint64) for p, size in sizes])
