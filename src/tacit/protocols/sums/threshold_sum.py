"""Threshold sum: as the pairwise secure sum, but up to M - t of the M holders may stay away at any step of it.

The problem. Every holder k has x_k; `to` shall learn the sum over the survivors U, the holders whose vector arrived in
time, though pads of a survivor and a missing holder do not cancel. All equations are modulo 2^64. In every sum anew:

    s_kl = PRF(pair seed of k and l, tag),  k != l;      s_kk = PRF(fresh 32 bytes of k, tag), its self-mask      (1)
    m_k  = x_k + sum_{l > k} pad(s_kl) - sum_{l <= k} pad(s_kl)                                                   (2)
    k deals t-of-M shares of every s_kl and of s_kk, sealed for each holder, and sends them with m_k               (3)

`tag` binds a sum to its place and to all that was published before. `to` gathers (2) and (3), at least t, and
publishes U. Then

    every holder j confirms ONE set U with |U| >= t: MAC_jl(tag, U) for every other holder l, through `to`          (4)
    `to` asks for U with at least t confirmations, and hands on the sealed shares that the members of U dealt       (5)
    j checks (4), that U is the set it confirmed itself, and reveals its shares of
        s_kk for k in U,      s_kl for k in U and l not in U,      and of nothing else                             (6)
    sum_{k in U} x_k = sum_{k in U} m_k - sum_{k in U, l > k, l not in U} pad(s_kl)
                                        + sum_{k in U, l <= k, l = k or l not in U} pad(s_kl)                      (7)

Any t answers give every seed that (7) needs, all of which were dealt by survivors. A holder that missed one step
takes part in the next one. Who missed (2) is left out of all that follows (`secure_sum`), so that a count and the sum
that is divided by it are of the same rows; a protocol that calls `threshold_sum` itself decides by itself. Later sums
have no fewer than t survivors either: t is of all holders that the run began with. The last word of every x_k is 0, so
the last word of (7) must be 0: parties that were told different things, or an altered share, end in an error instead of
a sum.

Why (6) is safe. m_k of a holder outside U may arrive later, and its pads towards U are open by then; its self-mask,
which (6) never opens, still covers it. m_k of a survivor has lost its self-mask; its pads towards the other survivors,
which (6) never opens either, still cover it. So no holder may ever answer for two sets. Let c holders collude with
`to`. If U and U' were both answered by others, each was confirmed by t holders, so at least 2t - M holders confirmed
both; only colluders do that. With t > 2M/3, which `protect` insists on, 2t - M > M/3: below a third nobody can.
Seeds are of one sum, never the pair's own: what a drop opens is worth nothing in the next sum.

Roles. Holder: has x_k. `to`: a role of one party, which may itself be a holder; it cannot stay away.

Threat. What a coalition knows afterwards, beside its own values (`to` counts as a holder where it is one):
  without `to`                      nothing, whatever its size: vectors go to `to` alone.
  with `to`, semi-honest, and fewer than t holders
                                    U, and the sum over the members of U outside the coalition; nothing else, though
                                    vectors that came too late are in its hands.
  with `to` lying about who survived, and fewer than 2t - M holders
                                    the same, for one U of its choice with at least t members, in each sum.
  with `to` and t holders           every vector that was sent.

Not protected: a holder that lies about x_k; the difference of two sums. If k is in one sum and out of another of
nearly the same values, their difference is nearly x_k, and it is `to` that says who was late. A holder whose
messages are bad can stop the run, and is named.

With M < 4 the smallest t > 2M/3 is M, so nobody may stay away.

Source: beyond the papers; after [Bonawitz2017] (double masking, consistency check) and [Shamir1979], see
docs/methods/threshold_sum.md. Unlike there the shares travel with the vector, which saves a round: pair seeds exist
before the sum, so a holder need not know first who else is there.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from tacit.arrays import U64, Array
from tacit.choreo import At, Each, Everyone, Fact, Holder, Message, Pads, PeerError, Role, Run, State, choreography
from tacit.crypto.pads import sharing
from tacit.crypto.pads.entropy import prf
from tacit.crypto.pads.sealing import seal, unseal
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.sums.secure_sum import Protection, mask, open_total

Parties = tuple[str, ...]


class Veiled(
    Message,
    tells=Fact(
        "sums.veiled",
        "nobody",
        "nothing",
        "none",
        "nothing alone: a vector under a self-mask and pads, and shares of their seeds that only other holders can"
        " open",
    ),
):
    """m_k, its last word being the check, and the sealed shares (3) by receiver."""

    words: U64
    shape: tuple[int, ...]
    boxes: dict[str, bytes]


class Confirmed(
    Message,
    tells=Fact("sums.told_survivors", "holder", "membership", "party", "which survivors the sender was told of"),
):
    """The confirmations (4) of one holder, by receiver."""

    macs: dict[str, bytes]


class Request(
    Message,
    tells=(
        Fact("sums.survivors", "holder", "membership", "party", "who survived and who confirmed it"),
        Fact("sums.seed_share", "nobody", "key", "party", "of the t shares that open a seed of this sum, one"),
    ),
):
    """The request (5): confirmations by who made them, sealed shares by who dealt them."""

    survivors: tuple[str, ...]
    macs: dict[str, bytes]
    boxes: dict[str, bytes]


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
    """The revealed shares (6), by the dealer k and the name l of s_kl."""

    shares: dict[tuple[str, str], bytes]


class Dealt(State):
    """What a holder keeps through one sum: its pair seeds, its own shares and the sealed ones."""

    me: str
    holders: tuple[str, ...]
    t: int
    tag: bytes
    pairs: dict[str, bytes]
    kept: dict[str, bytes]
    boxes: dict[str, bytes]


@choreography(
    opens={
        "to": Fact(
            "sums.of_survivors", "holders", "aggregate", "all", "the sum over the holders that answered in time"
        ),
        Everyone: Fact("sums.answered", "holder", "membership", "party", "who answered in time, at each step of a sum"),
    }
)
def threshold_sum(
    run: Run,
    x: At[Array],
    *,
    to: Role,
    by: Protection,
    fixed: FixedPoint | None = None,
    what: str = "array",
    ring: Ring = Z64,
) -> tuple[At[Array], Parties]:
    """Give role `to` the sum of x_k over the survivors, and return who they are."""
    holders, t = run.roster[Holder], by.threshold
    tag, who = run.tag(), run.who(Holder)
    pairs = run.local(Holder, pairs_with, by.seeds, holders)
    seeds = run.local(Holder, round_seeds, pairs, run.random(Holder), tag, who)
    dealt = run.local(Holder, deal, pairs, seeds, run.random(Holder), tag, who, holders, t)
    veiled = run.local(Holder, veil, x, run.pads(seeds, tag), dealt, fixed, what, ring)
    arrived, present = run.gather(Veiled, Holder >> to, veiled, at_least=t)
    survivors = tuple(p for p in holders if p in present)
    votes, _ = run.gather(Confirmed, Holder >> to, run.local(Holder, confirm, dealt, survivors), at_least=t)
    request = run.send(Request, to >> Holder, run.local(to, ask, arrived, votes, survivors, holders))
    answers, _ = run.gather(Revealed, Holder >> to, run.local(Holder, reveal, dealt, survivors, request), at_least=t)
    found = run.local(to, recover, answers, survivors, holders, t)
    if survivors != holders:
        run.note(missing=", ".join(p for p in holders if p not in survivors))
    return run.local(to, unveil, arrived, run.pads(found, tag), fixed, ring), survivors


# Steps at the holders


def pairs_with(pairs: Mapping[str, bytes], holders: Parties) -> dict[str, bytes]:
    """Return the pair seeds with holders that were not left out since the seeds were agreed."""
    return {name: seed for name, seed in pairs.items() if name in holders}


def round_seeds(pairs: Mapping[str, bytes], fresh: bytes, tag: bytes, me: str) -> dict[str, bytes]:
    """Return the seeds of this sum by name, (1); the self-mask stands under the holder's own name."""
    return {name: prf(secret, b"round", tag) for name, secret in {**pairs, me: fresh}.items()}


def deal(
    pairs: dict[str, bytes], seeds: Mapping[str, bytes], dice: bytes, tag: bytes, me: str, holders: Parties, t: int
) -> Dealt:
    """Return the shares (3) of all seeds of this holder, its own in clear and those of others sealed."""
    shares = {name: sharing.deal(seeds[name], t, len(holders), prf(dice, tag, name.encode())) for name in holders}
    parcels = {receiver: [shares[name][i] for name in holders] for i, receiver in enumerate(holders)}
    boxes = {
        p: seal(prf(pair, b"seal", tag, me.encode()), b"".join(parcels[p]), _route(me, p)) for p, pair in pairs.items()
    }
    return Dealt(me, holders, t, tag, pairs, dict(zip(holders, parcels[me], strict=True)), boxes)


def veil(x: Array, pads: Pads, dealt: Dealt, fixed: FixedPoint | None, what: str, ring: Ring) -> Veiled:
    """Return the masked vector (2) with the sealed shares.

    `mask` adds the pads of later names and subtracts the others, the holder's own among them.
    """
    masked = mask(x, pads, dealt.me, fixed, what, ring)
    return Veiled(masked.words, masked.shape, dealt.boxes)


def confirm(mine: Dealt, survivors: Parties) -> Confirmed:
    """Return the confirmation (4) of the survivors that this holder was told of."""
    if len(survivors) < mine.t:
        raise PeerError(f"{mine.me} was told of {len(survivors)} survivors, {mine.t} are needed: compare the audits")
    return Confirmed({other: _mac(mine, mine.me, other, survivors) for other in mine.pairs})


def reveal(mine: Dealt, survivors: Parties, request: Request) -> Revealed:
    """Return the shares of (6), for the one set of survivors that this holder confirmed."""
    if request.survivors != survivors:
        raise PeerError(
            f"{mine.me} is asked to unmask the sum over {', '.join(request.survivors)}, but confirmed"
            f" {', '.join(survivors)}: a holder answers for one set of survivors in each sum; compare the audits"
        )
    check_confirmed(mine, survivors, request.macs)
    dealers = {p for p in survivors if p != mine.me}
    if dealers != set(request.boxes):
        raise PeerError(
            f"{mine.me} got shares of {', '.join(request.boxes) or 'nobody'}, expected those of"
            f" {', '.join(sorted(dealers))}"
        )
    held = {k: mine.kept if k == mine.me else open_box(mine, k, request.boxes[k]) for k in survivors}
    return Revealed({(k, name): held[k][name] for k, name in list_needed(survivors, mine.holders)})


def check_confirmed(mine: Dealt, survivors: Parties, macs: Mapping[str, bytes]) -> None:
    """Raise unless at least t holders, this one among them, confirmed the same set."""
    for other, mac in macs.items():
        if other not in mine.pairs or not hmac.compare_digest(mac, _mac(mine, other, mine.me, survivors)):
            raise PeerError(
                f"{other} did not confirm the survivors that {mine.me} was told of: they were told different things"
            )
    if len(macs) + 1 < mine.t:
        raise PeerError(
            f"{len(macs) + 1} holders confirmed the survivors, {mine.t} are needed before {mine.me} unmasks anything"
        )


def open_box(mine: Dealt, dealer: str, box: bytes) -> dict[str, bytes]:
    """Return the shares that the dealer sealed for this holder, by name."""
    try:
        content = unseal(prf(mine.pairs[dealer], b"seal", mine.tag, dealer.encode()), box, _route(dealer, mine.me))
    except ValueError:
        raise PeerError(
            f"the shares that {dealer} sealed for {mine.me} do not open: they were altered, or told different things"
        ) from None
    shares = [content[i : i + sharing.SHARE] for i in range(0, len(content), sharing.SHARE)]
    if len(shares) != len(mine.holders):
        raise PeerError(f"{dealer} dealt {mine.me} {len(shares)} shares, expected {len(mine.holders)}")
    return dict(zip(mine.holders, shares, strict=True))


def list_needed(survivors: Parties, holders: Parties) -> list[tuple[str, str]]:
    """Return the seeds that (6) and (7) need, by dealer and name."""
    return [(k, name) for k in survivors for name in holders if name == k or name not in survivors]


def _mac(mine: Dealt, sender: str, receiver: str, survivors: Parties) -> bytes:
    pair = mine.pairs[receiver if sender == mine.me else sender]
    return prf(pair, b"confirm", mine.tag, sender.encode(), *(p.encode() for p in survivors))


def _route(sender: str, receiver: str) -> bytes:
    return f"{sender} > {receiver}".encode()


# Steps at `to`


def ask(arrived: Mapping[str, Veiled], votes: Mapping[str, Confirmed], survivors: Parties, holders: Parties) -> Each:
    """Return the request (5) for every holder."""
    for party, made in [*((p, v.macs) for p, v in votes.items()), *((p, v.boxes) for p, v in arrived.items())]:
        if set(made) != set(holders) - {party}:
            raise PeerError(
                f"{party} sent confirmations or shares for {', '.join(made) or 'nobody'}, expected all other holders"
            )
    requests = {}
    for p in holders:
        macs = {voter: vote.macs[p] for voter, vote in votes.items() if voter != p}
        boxes = {dealer: arrived[dealer].boxes[p] for dealer in survivors if dealer != p}
        requests[p] = Request(survivors, macs, boxes)
    return Each(requests)


def recover(
    answers: Mapping[str, Revealed], survivors: Parties, holders: Parties, t: int
) -> dict[tuple[str, str], bytes]:
    """Return the seeds of (7), each put together from its shares."""
    wanted = list_needed(survivors, holders)
    for party, answer in answers.items():
        if set(answer.shares) != set(wanted):
            raise PeerError(f"{party} revealed other shares than it was asked for")
    try:
        return {seed: sharing.reconstruct([a.shares[seed] for a in answers.values()], t) for seed in wanted}
    except ValueError as error:
        raise PeerError(f"the shares of {', '.join(answers)} do not open the sum: {error}") from None


def unveil(arrived: Mapping[str, Veiled], pads: Any, fixed: FixedPoint | None, ring: Ring) -> Array:
    """Return the sum (7) over the survivors."""
    total = ring.total(m.words for m in arrived.values())
    for k, name in pads.seeds:
        ring.add(total, pads.take_off((k, name), total.size), sign=-1 if name > k else 1)
    return open_total(total, {m.shape for m in arrived.values()}, fixed)
