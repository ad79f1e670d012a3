"""What sums share from which holders may stay away: sealed shares, confirmations and what survivors open.

In every sum each dealer k masks its vector by pads and by a self-mask, and deals t-of-n shares of seeds to n holders,
itself among them. `to` publishes the survivors U. Then

    holder j confirms what it was told, once:  MAC_jl(tag, what it was told) for each l that it shares a seed with  (1)
    j answers if at least t of its n, itself among them, confirmed the same                                         (2)
    for every dealer it answers with shares of what U says of it: of a survivor's self-mask, or of the pads that a
    missing holder left behind, never of both                                                                      (3)

Which seeds these are, and who the n holders are, is said by `threshold_sum` and `graph_threshold_sum`.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tacit.arrays import U64, Array
from tacit.choreo import Fact, Message, PeerError, State
from tacit.crypto.pads import sharing
from tacit.crypto.pads.entropy import prf
from tacit.crypto.pads.sealing import seal, unseal
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums.secure_sum import open_total

Parties = tuple[str, ...]
Seed = tuple[str, str]  # the dealer, and the name of the seed

SURVIVORS = Fact("sums.survivors", "holder", "membership", "party", "who survived and who confirmed it")
SEED_SHARE = Fact("sums.seed_share", "nobody", "key", "party", "one of the t shares that open a seed of this sum")
OF_SURVIVORS = Fact(
    "sums.of_survivors", "holders", "aggregate", "all", "the sum over the holders that answered in time"
)
ANSWERED = Fact("sums.answered", "holder", "membership", "party", "who answered in time, at each step of a sum")


class Confirmed(
    Message,
    tells=Fact("sums.told_survivors", "holder", "membership", "party", "which survivors the sender was told of"),
):
    """The confirmations (1) of one holder, by receiver."""

    macs: dict[str, bytes]


class Revealed(
    Message,
    tells=Fact(
        "sums.seed_shares",
        "nobody",
        "key",
        "party",
        "shares that, t together, open the survivors' self-masks and their pads towards the missing",
    ),
):
    """The revealed shares (3), by the dealer and the name of the seed."""

    shares: dict[tuple[str, str], bytes]


class Dealt(State):
    """What a holder keeps through one sum: its pair seeds, its own shares and the sealed ones."""

    me: str
    holders: tuple[str, ...]  # who gets shares, itself among them
    t: int
    tag: bytes
    pairs: dict[str, bytes]
    kept: dict[str, bytes]
    boxes: dict[str, bytes]


# Steps at the holders


def deal(
    pairs: dict[str, bytes],
    seeds: Mapping[str, bytes],
    dice: bytes,
    tag: bytes,
    me: str,
    holders: Parties,
    t: int,
    key: bytes = b"",
) -> Dealt:
    """Return shares of the seeds for these holders, the own ones in clear and those of others sealed.

    `key`, if there is one, is public and bound to the boxes: they do not open with another.
    """
    shares = {name: sharing.deal(seed, t, len(holders), prf(dice, tag, name.encode())) for name, seed in seeds.items()}
    parcels = {receiver: [shares[name][i] for name in seeds] for i, receiver in enumerate(holders)}
    boxes = {
        p: seal(prf(pair, b"seal", tag, me.encode()), b"".join(parcels[p]), _route(me, p) + key)
        for p, pair in pairs.items()
    }
    return Dealt(me, holders, t, tag, pairs, dict(zip(seeds, parcels[me], strict=True)), boxes)


def open_box(mine: Dealt, dealer: str, box: bytes, key: bytes = b"") -> dict[str, bytes]:
    """Return the shares that the dealer sealed for this holder, by the names of the seeds."""
    try:
        content = unseal(
            prf(mine.pairs[dealer], b"seal", mine.tag, dealer.encode()), box, _route(dealer, mine.me) + key
        )
    except ValueError:
        raise PeerError(
            f"the shares that {dealer} sealed for {mine.me} do not open: they were altered, or told different things"
        ) from None
    shares = [content[i : i + sharing.SHARE] for i in range(0, len(content), sharing.SHARE)]
    if len(shares) != len(mine.kept):
        raise PeerError(f"{dealer} dealt {mine.me} {len(shares)} shares, expected {len(mine.kept)}")
    return dict(zip(mine.kept, shares, strict=True))


def confirm_told(mine: Dealt, told: Sequence[bytes]) -> Confirmed:
    """Return the confirmations (1) of what this holder was told."""
    return Confirmed({other: _mac(mine, mine.me, other, told) for other in mine.pairs})


def check_confirmed(mine: Dealt, told: Sequence[bytes], macs: Mapping[str, bytes]) -> None:
    """Raise unless at least t holders, this one among them, confirmed the same, (2)."""
    for other, mac in macs.items():
        if other not in mine.pairs or not hmac.compare_digest(mac, _mac(mine, other, mine.me, told)):
            raise PeerError(
                f"{other} did not confirm the survivors that {mine.me} was told of: they were told different things"
            )
    if len(macs) + 1 < mine.t:
        raise PeerError(
            f"{len(macs) + 1} holders confirmed the survivors, {mine.t} are needed before {mine.me} unmasks anything"
        )


def check_dealers(me: str, found: Collection[str], expected: Collection[str]) -> None:
    """Raise unless sealed shares are there of all other dealers that a holder answers for, and of nobody else."""
    others = {p for p in expected if p != me}
    if others != set(found):
        raise PeerError(
            f"{me} got shares of {', '.join(found) or 'nobody'}, expected those of {', '.join(sorted(others))}"
        )


def _mac(mine: Dealt, sender: str, receiver: str, told: Sequence[bytes]) -> bytes:
    pair = mine.pairs[receiver if sender == mine.me else sender]
    return prf(pair, b"confirm", mine.tag, sender.encode(), *told)


def _route(sender: str, receiver: str) -> bytes:
    return f"{sender} > {receiver}".encode()


# Steps at `to`


def check_sent_to(party: str, found: Collection[str], expected: Collection[str], whom: str) -> None:
    """Raise unless a holder sent confirmations or shares for all those that it has to."""
    if set(found) != set(expected):
        raise PeerError(f"{party} sent confirmations or shares for {', '.join(found) or 'nobody'}, expected all {whom}")


def recover(answers: Mapping[str, Revealed], wanted: Mapping[str, Collection[Seed]], t: int) -> dict[Seed, bytes]:
    """Return all seeds that were asked of somebody, each put together from its shares."""
    shares: dict[Seed, list[bytes]] = {seed: [] for asked in wanted.values() for seed in asked}
    for party, answer in answers.items():
        if set(answer.shares) != set(wanted[party]):
            raise PeerError(f"{party} revealed other shares than it was asked for")
        for seed, share in answer.shares.items():
            shares[seed].append(share)
    try:
        return {seed: sharing.reconstruct(found, t) for seed, found in shares.items()}
    except ValueError as error:
        raise PeerError(f"the shares of {', '.join(answers)} do not open the sum: {error}") from None


def unveil(arrived: Mapping[str, Any], pads: Any, fixed: FixedPoint | None, ring: Ring) -> Array:
    """Return the sum over the survivors, from their vectors and the pads that are left in their sum."""
    total: U64 = ring.total(m.words for m in arrived.values())
    for k, name in pads.seeds:
        ring.add(total, pads.take_off((k, name), total.size), sign=-1 if name > k else 1)
    return open_total(total, {m.shape for m in arrived.values()}, fixed)
