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

from collections.abc import Mapping

from tacit.arrays import U64, Array
from tacit.choreo import At, Each, Everyone, Fact, Holder, Message, Pads, PeerError, Role, Run, choreography
from tacit.crypto.pads.entropy import prf
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.sums.dropouts import (
    ANSWERED,
    OF_SURVIVORS,
    SEED_SHARE,
    SURVIVORS,
    Confirmed,
    Dealt,
    Parties,
    Revealed,
    Seed,
    check_confirmed,
    check_dealers,
    check_sent_to,
    confirm_told,
    deal,
    open_box,
    recover,
    unveil,
)
from tacit.protocols.sums.secure_sum import Protection, mask


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


class Request(Message, tells=(SURVIVORS, SEED_SHARE)):
    """The request (5): confirmations by who made them, sealed shares by who dealt them."""

    survivors: tuple[str, ...]
    macs: dict[str, bytes]
    boxes: dict[str, bytes]


@choreography(opens={"to": OF_SURVIVORS, Everyone: ANSWERED})
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
    dealt = run.local(Holder, deal_all, pairs, seeds, run.random(Holder), tag, who, holders, t)
    veiled = run.local(Holder, veil, x, run.pads(seeds, tag), dealt, fixed, what, ring)
    arrived, present = run.gather(Veiled, Holder >> to, veiled, at_least=t)
    survivors = tuple(p for p in holders if p in present)
    votes, _ = run.gather(Confirmed, Holder >> to, run.local(Holder, confirm, dealt, survivors), at_least=t)
    request = run.send(Request, to >> Holder, run.local(to, ask, arrived, votes, survivors, holders))
    answers, _ = run.gather(Revealed, Holder >> to, run.local(Holder, reveal, dealt, survivors, request), at_least=t)
    found = run.local(to, recover, answers, dict.fromkeys(holders, list_needed(survivors, holders)), t)
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


def deal_all(
    pairs: dict[str, bytes], seeds: Mapping[str, bytes], dice: bytes, tag: bytes, me: str, holders: Parties, t: int
) -> Dealt:
    """Return the shares (3) of all seeds of this holder, its own in clear and those of others sealed."""
    return deal(pairs, {name: seeds[name] for name in holders}, dice, tag, me, holders, t)


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
    return confirm_told(mine, name_all(survivors))


def reveal(mine: Dealt, survivors: Parties, request: Request) -> Revealed:
    """Return the shares of (6), for the one set of survivors that this holder confirmed."""
    if request.survivors != survivors:
        raise PeerError(
            f"{mine.me} is asked to unmask the sum over {', '.join(request.survivors)}, but confirmed"
            f" {', '.join(survivors)}: a holder answers for one set of survivors in each sum; compare the audits"
        )
    check_confirmed(mine, name_all(survivors), request.macs)
    check_dealers(mine.me, request.boxes, survivors)
    held = {k: mine.kept if k == mine.me else open_box(mine, k, request.boxes[k]) for k in survivors}
    return Revealed({(k, name): held[k][name] for k, name in list_needed(survivors, mine.holders)})


def name_all(survivors: Parties) -> list[bytes]:
    """Return the survivors as they are confirmed."""
    return [p.encode() for p in survivors]


def list_needed(survivors: Parties, holders: Parties) -> list[Seed]:
    """Return the seeds that (6) and (7) need, by dealer and name."""
    return [(k, name) for k in survivors for name in holders if name == k or name not in survivors]


# Steps at `to`


def ask(arrived: Mapping[str, Veiled], votes: Mapping[str, Confirmed], survivors: Parties, holders: Parties) -> Each:
    """Return the request (5) for every holder."""
    for party, made in [*((p, v.macs) for p, v in votes.items()), *((p, v.boxes) for p, v in arrived.items())]:
        check_sent_to(party, made, set(holders) - {party}, "other holders")
    requests = {}
    for p in holders:
        macs = {voter: vote.macs[p] for voter, vote in votes.items() if voter != p}
        boxes = {dealer: arrived[dealer].boxes[p] for dealer in survivors if dealer != p}
        requests[p] = Request(survivors, macs, boxes)
    return Each(requests)
