"""Sum on a ring: one party learns x_1 + ... + x_M; a running sum passes through all holders, whole or in segments.

The problem. Every holder k has an array x_k of reals or of ring elements; the party `to` shall learn their sum. Reals
become integers of Z_2^64 by fixed point, and all equations are modulo 2^64. The holders form a ring and the running sum
passes once around it under one uniform pad r of the first:

    v_1 = x_1 + r,    v_k = v_{k-1} + x_k                                  (1)
    sum = v_M - r                                                          (2)

With q segments x_k is cut into q uniform shares that add up to it, and share s travels on ring s by (1), (2). The q
rings have no edge in common (`cycles`), in an order that all parties drew together. Every x_k gets one more word, 0, so
the last word of the sum must be 0.

Roles. Holder: has x_k. `to`: a role of one party, which may itself be a holder.

Threat. Semi-honest parties and coalitions. A coalition knows afterwards, beside its own values and the result, the sum
over every stretch of honest parties between two colluders; so nobody's x_k, unless both of k's neighbours collude; with
q segments, unless all 2q neighbours do. Neighbours need a private link, which every runtime between organisations gives
them: who reads two consecutive messages can subtract them. Not protected: a holder that lies about x_k; a party that
alters what passes it. The core's pairwise sums hold against all coalitions but one of all others.

Source: 001 section 3.1, 003, 004 (ring); 001 section 3.1.2, 004 section 7 (segments), which cut numbers by random
rotations of the parties, where two rings may share an edge.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

import numpy as np

from tacit.arrays import U64, Array
from tacit.choreo import At, Everyone, Fact, Holder, Message, Pads, PeerError, Role, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64, Ring
from tacit.papers.sums.cycles import disjoint_cycles, most
from tacit.protocols.facts import TOTAL
from tacit.protocols.sums.secure_sum import name_own_seed, open_total

Rings = tuple[tuple[str, ...], ...]
ORDER_SHARE = Fact("sums.order_share", "nobody", "key", "party", "a random share of the ring order")


class Commitment(
    Message,
    tells=Fact(
        "sums.order_commitment", "nobody", "nothing", "none", "nothing yet: a commitment to a share of the ring order"
    ),
    of_records=False,
):
    """The hash of a share of the ring order, told before the share itself."""

    digest: bytes


class OrderShare(Message, tells=ORDER_SHARE, of_records=False):
    """A share of the ring order, which opens the commitment to it."""

    share: bytes


class Passed(
    Message,
    tells=Fact(
        "sums.passed",
        "nobody",
        "nothing",
        "none",
        "nothing alone: a running sum under the pad of the holder that started it",
    ),
):
    """The running sum v_k of (1), with the shape of the array behind it."""

    words: U64
    shape: tuple[int, ...]


class RingPad(
    Message,
    tells=Fact(
        "sums.ring_pad", "holders", "aggregate", "all", "the pad of one pass, which opens the sum over the ring"
    ),
):
    """The seed of the pad r of (1), which lets the receiver take it off."""

    seed: bytes


@choreography(opens={Everyone: ORDER_SHARE})
def draw_rings(run: Run, *, to: Role, segments: int = 1) -> Rings:
    """Agree once per run on the rings of its sums to `to`, each starting there."""
    on_ring = tuple(dict.fromkeys((*run.roster[to], *run.roster[Holder])))
    check_ring(len(on_ring), segments)
    shares = run.random(Everyone)
    digests = run.publish_all(Commitment, run.local(Everyone, commit, shares))
    opened = run.publish_all(OrderShare, run.local(Everyone, OrderShare, shares))
    return ring_orders(on_ring, digests, opened, segments)


@choreography(opens={"to": TOTAL})
def ring_sum(
    run: Run,
    x: At[Array],
    *,
    to: Role,
    rings: Rings,
    fixed: FixedPoint | None = None,
    what: str = "array",
    ring: Ring = Z64,
) -> At[Array]:
    """Give role `to` the sum of all x_k. With `fixed`, x are reals; without, words of the ring."""
    words = run.local(Holder, to_words, x, run.who(Holder), fixed, what)
    noise = run.pads(run.local(Holder, name_own_seed, run.random(Holder)), run.tag())
    shares = run.local(Holder, cut, words, noise, len(rings), ring)
    passes = [pass_around(run, shares, s, order, to=to, ring=ring) for s, order in enumerate(rings)]
    return run.local(to, add_up, *passes, fixed=fixed, ring=ring)


@choreography(
    opens={"to": Fact("sums.of_shares", "holders", "aggregate", "all", "the sum of one share of every holder")}
)
def pass_around(
    run: Run, shares: At[tuple[Passed, ...]], s: int, order: tuple[str, ...], *, to: Role, ring: Ring
) -> At[Passed]:
    """Pass segment s once around its ring, from the first holder through all others to `to`."""
    members = {m.party: m for m in run.members(Holder)}
    first, *others = [members[p] for p in order if p in members]
    tag, seed = run.tag(), run.random(first)
    passed = run.local(first, begin, shares, s, run.pads(run.local(first, name_own_seed, seed), tag), ring)
    last = first
    for holder in others:
        passed = run.local(holder, add_own, run.send(Passed, last >> holder, passed), shares, s, ring)
        last = holder
    arrived = run.send(Passed, last >> to, passed)
    pad = run.send(RingPad, first >> to, run.local(first, RingPad, seed))
    return run.local(to, finish, arrived, run.pads(run.local(to, name_received_seed, pad), tag), ring)


# Steps of the agreement


def check_ring(parties: int, segments: int) -> None:
    """Raise if a ring of so many parties cannot have so many segments."""
    if parties < 3:  # noqa: PLR2004 - a ring has three
        raise LocalError(f"a ring needs at least 3 parties, got {parties}: add a party or a separate coordinator")
    if not 1 <= segments <= most(parties):
        raise LocalError(
            f"{parties} parties have {most(parties)} edge-disjoint rings, segments={segments} asks for more: lower"
            " segments"
        )


def commit(share: bytes) -> Commitment:
    """Return the commitment to a share, so that nobody can choose its share after seeing another's."""
    return Commitment(hashlib.sha256(b"ring order" + share).digest())


def ring_orders(
    on_ring: tuple[str, ...], digests: Mapping[str, Commitment], opened: Mapping[str, OrderShare], q: int
) -> Rings:
    """Check the commitments and return q edge-disjoint rings, each starting with the first party.

    Their order follows from all shares together.
    """
    for party, message in opened.items():
        if not hmac.compare_digest(commit(message.share).digest, digests[party].digest):
            raise PeerError(
                f"{party} opened another share of the ring order than it committed to: stop and ask {party}"
            )
    seed = b"".join(message.share for message in opened.values())
    drawn = sorted(on_ring, key=lambda p: hashlib.sha256(seed + p.encode()).digest())
    rings = [tuple(drawn[i] for i in cycle) for cycle in disjoint_cycles(len(drawn), q)]
    return tuple(ring[ring.index(on_ring[0]) :] + ring[: ring.index(on_ring[0])] for ring in rings)


# Steps of the sum


def name_received_seed(message: RingPad) -> dict[str, bytes]:
    """Return the seed of the pad of the holder that started the pass."""
    return {"own": message.seed}


def to_words(x: Array, me: str, fixed: FixedPoint | None, what: str) -> tuple[Array, tuple[int, ...]]:
    """Return an array as ring elements with the check word, and its shape."""
    words = np.zeros(x.size + 1, dtype=np.uint64)
    if fixed is None:
        words[:-1] = x.reshape(-1)
    else:
        fixed.encode(x, f"{what} of {me}", out=words[:-1])
    return words, x.shape


def cut(value: tuple[U64, tuple[int, ...]], pads: Pads, q: int, ring: Ring) -> tuple[Passed, ...]:
    """Return q shares that add up to the value, of which any q - 1 are uniform."""
    words, shape = value
    if q == 1:
        return (Passed(words, shape),)
    rest, drawn = words.copy(), pads.put_on("own", words.size * (q - 1))
    noise = np.concatenate([chunk.copy() for chunk in drawn]).reshape(q - 1, words.size)
    for share in noise:
        ring.add(rest, [share], sign=-1)
    return (*(Passed(share, shape) for share in noise), Passed(rest, shape))


def begin(shares: tuple[Passed, ...], s: int, pads: Pads, ring: Ring) -> Passed:
    """Return v_1 of (1): the first holder's share under its pad."""
    words = shares[s].words.copy()
    return Passed(ring.add(words, pads.put_on("own", words.size)), shares[s].shape)


def add_own(passed: Passed, shares: tuple[Passed, ...], s: int, ring: Ring) -> Passed:
    """Return v_k of (1): the running sum with this holder's share added."""
    if passed.words.shape != shares[s].words.shape:
        raise PeerError(
            f"a running sum of {passed.words.size} words arrived, expected {shares[s].words.size}: the holders must"
            " sum arrays of one shape"
        )
    return Passed(ring.total([passed.words, shares[s].words]), passed.shape)


def finish(arrived: Passed, pads: Pads, ring: Ring) -> Passed:
    """Return the sum of one segment, (2): the running sum without the pad."""
    words = arrived.words.copy()
    return Passed(ring.add(words, pads.take_off("own", words.size), sign=-1), arrived.shape)


def add_up(*passes: Passed, fixed: FixedPoint | None, ring: Ring) -> Array:
    """Return the sum over all segments."""
    return open_total(ring.total(p.words for p in passes), {p.shape for p in passes}, fixed)
