"""Threshold sum along a graph: of thousands of holders some may stay away, and each pays for its neighbours alone.

The problem is that of `threshold_sum`: `to` shall learn the sum over the survivors U. There every holder deals shares
of M seeds to M holders. Here it deals shares of two seeds to the n holders around it on the ring of `graph_sum`, itself
and its n - 1 neighbours: N[k]. Its equations (1) to (4) agree on it. All others are modulo 2^64. In every sum anew:

    a_k, b_k fresh 32 bytes of k; A_k is the X25519 key of a_k                                                    (8)
    k deals t-of-n shares of a_k and of b_k, sealed for each of N[k], and sends them with A_k to `to`,
        which publishes who did, V, and hands on keys and shares to the neighbours                                (9)
    m_k = x_k + sum_{l ~ k, l > k} pad(s_kl) - sum_{l ~ k, l < k} pad(s_kl) - pad(b_k)                           (10)
        over neighbours l in V, s_kl = DH(a_k, A_l)

`to` gathers (10) and publishes U, those of V whose vector came. Everybody goes on only if

    every N[k] holds at least t members of U;   of V as well, after (9)                                          (11)

Then, as in `dropouts`,

    every holder j confirms to its neighbours, through `to`, all that was published so far, V and U among it      (12)
    j answers if t of N[j], itself among them, confirmed the same. For each k of N[j] that is in V it reveals its
        share of b_k if k is in U, of a_k if not: never of both, in no sum                                       (13)
    sum_{k in U} x_k = sum_{k in U} m_k + sum_{k in U} pad(b_k) - pads towards l of V - U, from a_l and A_k       (14)

The last word of every x_k is 0, so the last word of (14) must be 0. Who missed (9) or (10) is left out of all that
follows (`secure_sum`), and (11) counts it as missing. n and t follow from the number of holders
(`numeric.cells.thinned_ring`): of up to 100 holders all and more than two thirds, of 1,000 97 and 77, of 10,000 125 and
99.

Roles. Holder: has x_k. `to`: a role of one party, which may itself be a holder; it cannot stay away.

Threat. Let a share g of the holders collude, fixed before the ring was drawn. All of this holds except with the
probability (3) of `thinned_ring`, at most 2^-40 for g = 1/5. What a coalition knows afterwards, beside its own values:
  without `to`                     nothing, whatever its size.
  with `to`, which tells everybody the same
                                   V, U, and the sum over the members of U outside the coalition; nothing else, though
                                   vectors that came too late are in its hands, and though `to` chose U within (11).
  with `to` that tells holders of different U
                                   never both a_k and b_k of an honest k: that takes 2t - n colluders in N[k]. It gets
                                   an error, or the same for one U, while no n places that follow each other hold
                                   t - (2n + 1)/3 colluders or more.

Not protected: as in `threshold_sum`, a holder that lies about x_k and the difference of two sums. Who goes between the
commitment to the ring and the exchange of keys stops the run. A sum that fails (11) stops: with a share 1/20 away at
random this has probability 2^-20 at most.

Source: beyond the papers; after [Bell2020] and [Bonawitz2017], see docs/methods/graph_sum.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from tacit.arrays import U64, Array
from tacit.choreo import At, Each, Everyone, Fact, Holder, Message, Pads, PeerError, Role, Run, State, choreography
from tacit.crypto.pads import agreement
from tacit.numeric.cells.ring_graph import RingGraph
from tacit.numeric.cells.thinned_ring import Thresholds, choose_thresholds, count_least, weigh
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
from tacit.protocols.sums.graph_sum import check_degree, open_ring
from tacit.protocols.sums.secure_sum import (
    PUBLIC_KEY,
    Commitment,
    Protection,
    commit,
    go_on_with,
    mask,
    note_missing,
    pair_seeds,
    threshold_of,
)

M = TypeVar("M", bound=Message)
COLLUDING, AWAY = 0.2, 0.05  # the shares of the holders for which the bounds are to hold
FAILURE, STOP = 2.0**-40, 2.0**-20
SELF, PAIR = "self-mask", "pads"  # the two seeds of a holder


class Offered(
    Message,
    tells=(
        PUBLIC_KEY,
        Fact("sums.sealed_shares", "nobody", "nothing", "none", "nothing: shares that only neighbours can open"),
    ),
    of_records=False,
):
    """The key A_k of one sum, and the sealed shares (9) by receiver."""

    key: bytes
    boxes: dict[str, bytes]


class Handed(Message, tells=(PUBLIC_KEY, SEED_SHARE), of_records=False):
    """What the neighbours of a holder offered it: their keys and sealed shares, by who dealt them."""

    keys: dict[str, bytes]
    boxes: dict[str, bytes]


class Covered(
    Message,
    tells=Fact("sums.covered", "nobody", "nothing", "none", "nothing alone: a vector under a self-mask and pads"),
):
    """m_k of (10), its last word being the check."""

    words: U64
    shape: tuple[int, ...]


class Confirmations(Message, tells=SURVIVORS):
    """What neighbours confirmed (12), by who made it."""

    macs: dict[str, bytes]


class Taken(State):
    """What a holder has for one sum once shares are dealt: the keys of its neighbours, and a share of each seed."""

    keys: dict[str, bytes]
    shares: dict[tuple[str, str], bytes]


def agree_with_absence(run: Run, to: Role, degree: int | None, threshold: int | None) -> Protection:
    """Agree on the ring and on pair seeds along it with the holders that are there."""
    began = len(run.roster[Holder]) + len(run.roster.absent)
    chosen = set_thresholds(began, degree, threshold)
    share = run.random(Holder)
    committed, present = run.gather(
        Commitment, Holder >> to, run.local(Holder, commit, share), at_least=count_least(began, chosen.n, chosen.t)
    )
    go_on_with(run, present)
    note_missing(run)
    seeds, ring = open_ring(run, share, committed, to, chosen.k)
    bounds = weigh(len(ring), chosen.n, chosen.t, COLLUDING, AWAY)
    run.note(neighbours=chosen.k, threshold=chosen.t, failure=bounds.failure, stop=bounds.stop)
    return Protection("graph_threshold", seeds, (ring,), chosen.t, chosen.k)


def set_thresholds(holders: int, degree: int | None, threshold: int | None) -> Thresholds:
    """Return n and t for so many holders: chosen by what they protect from, or as given."""
    if degree is None and threshold is None:
        return choose_thresholds(holders, COLLUDING, AWAY, FAILURE, STOP)
    chosen = choose_thresholds(holders, COLLUDING, AWAY, FAILURE, STOP).n
    n = chosen if degree is None else min(check_degree(degree) + 1, holders)
    return weigh(holders, n, threshold_of(threshold, n, "graph_threshold"), COLLUDING, AWAY)


@choreography(opens={"to": OF_SURVIVORS, Everyone: ANSWERED})
def graph_threshold_sum(
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
    holders, graph, who = run.roster[Holder], RingGraph(by.rings[0], by.neighbours), run.who(Holder)
    near = run.local(Holder, find_near, graph, who, frozenset(holders))
    tag, secret, self_mask = run.tag(), run.random(Holder), run.random(Holder)
    dealt = run.local(Holder, deal_two, by.seeds, secret, self_mask, run.random(Holder), tag, who, near, by.threshold)
    offers, there = hear(run, Offered, run.local(Holder, offer, dealt, secret), to, by)  # V
    handed = run.send(Handed, to >> Holder, run.local(to, hand_on, offers, graph, holders))
    taken = run.local(Holder, take, dealt, handed, there)

    tag = run.tag()  # binds pads to V
    pads = run.pads(run.local(Holder, round_seeds, secret, self_mask, taken, who), tag)
    covered = run.local(Holder, cover, x, pads, who, fixed, what, ring)
    arrived, present = hear(run, Covered, covered, to, by)
    survivors = there & present  # U
    check_dense(graph, survivors, by.threshold, Covered.__name__)

    told = run.tag()  # binds confirmations to V and U
    votes, _ = hear(run, Confirmed, run.local(Holder, confirm, dealt, told), to, by)
    macs = run.send(Confirmations, to >> Holder, run.local(to, pass_on, votes, graph, holders))
    answers, _ = hear(run, Revealed, run.local(Holder, reveal, dealt, taken, survivors, told, macs), to, by)
    found = run.local(to, open_pads, answers, offers, survivors, graph, by.threshold)
    if len(survivors) < len(holders):
        run.note(missing=", ".join(p for p in holders if p not in survivors))
    vectors = run.local(to, keep_survivors, arrived, survivors)
    total = run.local(to, unveil, vectors, run.pads(found, tag), fixed, ring)
    return total, tuple(p for p in holders if p in survivors)


def hear(run: Run, kind: type[M], value: At[Any], to: Role, by: Protection) -> tuple[At[dict[str, M]], frozenset[str]]:
    """Gather at `to` what holders send, as many around every place as (11) asks for; return who they are, too."""
    graph = RingGraph(by.rings[0], by.neighbours)
    places = min(graph.k + 1, len(graph.order))
    received, present = run.gather(
        kind, Holder >> to, value, at_least=count_least(len(graph.order), places, by.threshold)
    )
    heard = frozenset(present)
    check_dense(graph, heard, by.threshold, kind.__name__)
    return received, heard


def check_dense(graph: RingGraph, present: frozenset[str], t: int, kind: str) -> None:
    """Raise unless every place has t of these around it, (11)."""
    place, found = graph.find_sparsest(present)
    if found < t:
        missing = [p for p in graph.around(place) if p not in present]
        raise PeerError(
            f"{', '.join(missing)} did not answer with {kind}: {found} of the {found + len(missing)} holders around"
            f" {place} are left, {t} are needed"
        )


# Steps at the holders


def find_near(graph: RingGraph, me: str, holders: frozenset[str]) -> Parties:
    """Return N[k] without those that were left out."""
    return tuple(p for p in graph.around(me) if p in holders)


def deal_two(
    seeds: Mapping[str, bytes], secret: bytes, self_mask: bytes, dice: bytes, tag: bytes, me: str, near: Parties, t: int
) -> Dealt:
    """Return the shares (9) of both seeds of this holder, its own in clear and those of others sealed."""
    pairs = {p: seeds[p] for p in near if p != me}
    return deal(pairs, {PAIR: secret, SELF: self_mask}, dice, tag, me, near, t, agreement.public_key(secret))


def offer(mine: Dealt, secret: bytes) -> Offered:
    """Return the message (9)."""
    return Offered(agreement.public_key(secret), mine.boxes)


def take(mine: Dealt, handed: Handed, there: frozenset[str]) -> Taken:
    """Return the keys of the neighbours that are there, and the shares that they dealt to this holder."""
    dealers = [p for p in mine.holders if p in there]
    for found in (handed.keys, handed.boxes):
        check_dealers(mine.me, found, dealers)
    held = {k: open_box(mine, k, box, handed.keys[k]) for k, box in handed.boxes.items()}
    held |= {mine.me: mine.kept} if mine.me in there else {}
    return Taken(handed.keys, {(k, name): share for k, shares in held.items() for name, share in shares.items()})


def round_seeds(secret: bytes, self_mask: bytes, taken: Taken, me: str) -> dict[str, bytes]:
    """Return the seeds of (10) by name; the self-mask stands under the holder's own name."""
    return {**pair_seeds(secret, taken.keys, me), me: self_mask}


def cover(x: Array, pads: Pads, me: str, fixed: FixedPoint | None, what: str, ring: Ring) -> Covered:
    """Return the vector (10).

    `mask` adds the pads of later names and subtracts the others, the holder's own among them.
    """
    masked = mask(x, pads, me, fixed, what, ring)
    return Covered(masked.words, masked.shape)


def confirm(mine: Dealt, told: bytes) -> Confirmed:
    """Return the confirmations (12) of all that was published."""
    return confirm_told(mine, (told,))


def reveal(mine: Dealt, taken: Taken, survivors: frozenset[str], told: bytes, confirmations: Confirmations) -> Revealed:
    """Return the shares of (13), for the one set of survivors that this holder confirmed."""
    check_confirmed(mine, (told,), confirmations.macs)
    dealers = dict.fromkeys(k for k, _ in taken.shares)
    return Revealed({seed: taken.shares[seed] for seed in list_needed(dealers, survivors)})


def list_needed(dealers: Iterable[str], survivors: frozenset[str]) -> list[Seed]:
    """Return which one of the two seeds of each dealer (13) opens."""
    return [(k, SELF if k in survivors else PAIR) for k in dealers]


# Steps at `to`


def hand_on(offers: Mapping[str, Offered], graph: RingGraph, holders: Parties) -> Each:
    """Return for each holder what its neighbours offered it."""
    here = frozenset(holders)
    for p, made in offers.items():
        check_sent_to(p, made.boxes, {q for q in graph.around(p) if q in here and q != p}, "neighbours")
    handed = {}
    for p in holders:
        dealers = [q for q in graph.around(p) if q in offers and q != p]
        handed[p] = Handed({q: offers[q].key for q in dealers}, {q: offers[q].boxes[p] for q in dealers})
    return Each(handed)


def pass_on(votes: Mapping[str, Confirmed], graph: RingGraph, holders: Parties) -> Each:
    """Return for each holder what its neighbours confirmed to it."""
    here = frozenset(holders)
    for p, made in votes.items():
        check_sent_to(p, made.macs, {q for q in graph.around(p) if q in here and q != p}, "neighbours")
    return Each(
        {p: Confirmations({q: votes[q].macs[p] for q in graph.around(p) if q in votes and q != p}) for p in holders}
    )


def open_pads(
    answers: Mapping[str, Revealed], offers: Mapping[str, Offered], survivors: frozenset[str], graph: RingGraph, t: int
) -> dict[Seed, bytes]:
    """Return the seeds of the pads that (14) takes off, by the survivor and the other end."""
    wanted = {p: list_needed([k for k in graph.around(p) if k in offers], survivors) for p in answers}
    opened = recover(answers, wanted, t)
    left: dict[Seed, bytes] = {(k, k): seed for (k, name), seed in opened.items() if name == SELF}
    for (gone, name), secret in opened.items():
        if name == PAIR:
            keys = {k: offers[k].key for k in graph.around(gone) if k in survivors}
            left |= {(k, gone): seed for k, seed in check_key(gone, secret, offers[gone].key, keys).items()}
    return left


def check_key(gone: str, secret: bytes, key: bytes, keys: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the seeds that a missing holder shared with survivors; raise if it dealt shares of another secret."""
    if agreement.public_key(secret) != key:
        raise PeerError(f"{gone} dealt shares of another key than the one that it offered, and went")
    return pair_seeds(secret, keys, gone)


def keep_survivors(arrived: Mapping[str, Covered], survivors: frozenset[str]) -> dict[str, Covered]:
    """Return the vectors that are summed."""
    return {p: vector for p, vector in arrived.items() if p in survivors}
