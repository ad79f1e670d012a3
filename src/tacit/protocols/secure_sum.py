"""Secure sum: one party learns x_1 + ... + x_M, nobody learns a single x_k.

The problem. Every holder k has an array x_k of reals or of ring elements; the party `to` shall learn their sum.
Reals become integers of Z_2^64 by fixed point (`numeric.fixed_point`), and all equations are modulo 2^64.

`ring`: the holders form a ring and the running sum passes once around it under one uniform pad r of the first.

    v_1 = x_1 + r,    v_k = v_{k-1} + x_k                                  (1)
    sum = v_M - r                                                          (2)

`ring` with q segments: x_k is cut into q uniform shares that add up to it, and share s travels on ring s by (1), (2).
The q rings have no edge in common, in an order that all parties drew together.

`pairwise`: every two holders k < l share a seed; s_kl is a pad of it that nobody else can draw.

    m_k = x_k + sum_{l > k} s_kl - sum_{l < k} s_lk                        (3)
    sum = sum_k m_k                                                        (4)

`threshold`: as `pairwise`, but holders may stay away; a protocol of its own, in `threshold_sum`.

Roles. Holder: has x_k. `to`: a role of one party, which may itself be a holder.

Threat. Semi-honest parties and coalitions. What a coalition knows afterwards, beside its own values and the result:
  ring      the sum over every stretch of honest parties between two colluders; so nobody's x_k, unless both of k's
            neighbours collude. With q segments, unless all 2q neighbours do.
  pairwise  if `to` is in the coalition, the sum over all honest holders, and nothing else; so nobody's x_k while two
            holders are honest. If it is not, nothing.
The seeds pass through AES-256 and X25519, so all of this holds against bounded adversaries. Under `pairwise` the pads
are bound to everything published so far: a party that was told something else spoils the sum, which (5) detects.

    every x_k gets one more word, 0, so the last word of the sum must be 0                                    (5)

Under `ring` neighbours need a private link, which every runtime between organisations gives them: who reads two
consecutive messages can subtract them. Not protected: a holder that lies about x_k; a party that alters what passes it.

Source: papers 001 section 3.1, 003, 004 (ring), 001 section 3.1.2 and 004 section 7 (segments), 000 section V (pairwise).
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.choreo import U64, Array, At, Everyone, Holder, Message, PeerError, Role, Run, choreography
from tacit.crypto.agreement import pair_seed, public_key
from tacit.errors import LocalError
from tacit.numeric.cycles import disjoint_cycles, most
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.ring import Z64, Ring
from tacit.numeric.triangle import pack, unpack

METHODS = ("pairwise", "ring", "threshold")


class PublicKey(Message, tells="nothing: a public key made for this run"):
    """X25519."""

    key: bytes


class Commitment(Message, tells="nothing yet: a commitment to a share of the ring order"):
    """H(share)."""

    digest: bytes


class OrderShare(Message, tells="a random share of the ring order"):
    """Opens the commitment."""

    share: bytes


class Masked(Message, tells="nothing alone: a vector under pads that cancel only in the sum over all holders"):
    """m_k."""

    words: U64
    shape: tuple[int, ...]


class Passed(Message, tells="nothing alone: a running sum under the pad of the one who started"):
    """v_k."""

    words: U64
    shape: tuple[int, ...]


class RingPad(Message, tells="the pad of one pass, which opens the sum over the ring"):
    """The seed of r."""

    seed: bytes


@dataclass(frozen=True)
class Protection:
    """How sums are protected in this run, agreed once: pair seeds (`pairwise`, `threshold`) or ring orders (`ring`)."""

    method: str
    seeds: At[dict[str, bytes]] | None = None
    rings: tuple[tuple[str, ...], ...] = ()
    threshold: int = 0


@choreography(opens={Everyone: "public keys, or the order of the parties on the ring"})
def protect(run: Run, *, to: Role, method: str = "pairwise", segments: int = 1, threshold: int | None = None) -> Protection:
    """Agree once per run on what protects its sums to `to`."""
    if method in ("pairwise", "threshold"):
        t = threshold_of(threshold, len(run.roster[Holder])) if method == "threshold" else 0
        private = run.random(Holder)
        keys = run.publish_all(PublicKey, run.local(Holder, own_key, private))
        theirs = {party: message.key for party, message in keys.items()}
        return Protection(method, seeds=run.local(Holder, pair_seeds, private, theirs, run.who(Holder)), threshold=t)
    check_ring(method, segments, nodes(run, to))
    shares = run.random(Everyone)
    digests = run.publish_all(Commitment, run.local(Everyone, commit, shares))
    opened = run.publish_all(OrderShare, run.local(Everyone, OrderShare, shares))
    return Protection(method, rings=ring_orders(nodes(run, to), digests, opened, segments))


@choreography(opens={"to": "the sum over all holders that took part"})
def secure_sum(
    run: Run,
    x: At[Any],
    *,
    to: Role,
    by: Protection,
    fixed: FixedPoint | None = None,
    symmetric: bool = False,
    what: str = "array",
    ring: Ring = Z64,
) -> At[Any]:
    """Role `to` learns sum_k x_k. With `fixed`, x are reals; without, words of the ring. Of symmetric x a triangle is sent."""
    if symmetric:
        total = secure_sum(run, run.local(Holder, triangle, x), to=to, by=by, fixed=fixed, what=what, ring=ring)
        return run.local(to, square, total)
    if by.method == "pairwise":
        assert by.seeds is not None  # noqa: S101 - for the type checker; protect() set it
        pads = run.pads(by.seeds, run.tag())
        masked = run.local(Holder, mask, x, pads, run.who(Holder), fixed, what, ring)
        return run.local(to, unmask, run.send(Masked, Holder >> to, masked), fixed, ring)
    if by.method == "threshold":
        from tacit.protocols.threshold_sum import threshold_sum  # noqa: PLC0415 - it is built on this file

        return threshold_sum(run, x, to=to, by=by, fixed=fixed, what=what, ring=ring)[0]
    words = run.local(Holder, to_words, x, fixed, what)
    shares = run.local(Holder, cut, words, run.pads(run.local(Holder, own, run.random(Holder)), run.tag()), len(by.rings), ring)
    passes = [pass_around(run, shares, s, order, to=to, ring=ring) for s, order in enumerate(by.rings)]
    return run.local(to, add_up, *passes, fixed=fixed, ring=ring)


@choreography(opens={Everyone: "the sum over all holders"})
def open_sum(run: Run, x: At[Any], *, by: Protection, fixed: FixedPoint | None = None, what: str = "array", ring: Ring = Z64) -> Any:
    """Everyone learns sum_k x_k, from the masked vectors themselves: nobody has to be believed."""
    if by.seeds is None or by.method != "pairwise":
        raise LocalError(f"a sum that everyone checks needs secure_sum='pairwise', not {by.method!r}")
    masked = run.local(Holder, mask, x, run.pads(by.seeds, run.tag()), run.who(Holder), fixed, what, ring)
    return unmask(run.publish_all(Masked, masked), fixed, ring)


@choreography(opens={"to": "the sum of one share of every holder"})
def pass_around(run: Run, shares: At[Any], s: int, order: tuple[str, ...], *, to: Role, ring: Ring) -> At[Any]:
    """One pass of segment s: from the first holder of the ring through all others to `to`."""
    members = {m.party: m for m in run.members(Holder)}
    first, *others = [members[p] for p in order if p in members]
    tag, seed = run.tag(), run.random(first)
    passed = run.local(first, begin, shares, s, run.pads(run.local(first, own, seed), tag), ring)
    last = first
    for holder in others:
        passed = run.local(holder, add_own, run.send(Passed, last >> holder, passed), shares, s, ring)
        last = holder
    arrived = run.send(Passed, last >> to, passed)
    pad = run.send(RingPad, first >> to, run.local(first, RingPad, seed))
    return run.local(to, finish, arrived, run.pads(run.local(to, received, pad), tag), ring)


def protects(method: str, segments: int = 1) -> str:
    """While what a sum of this kind protects, in words."""
    if method == "pairwise":
        return "pairwise: while at least two data holders collude with nobody"
    if method == "threshold":
        return (
            "threshold: while fewer than t of the M data holders collude, t > 2M/3, and at least two that answer collude with nobody;"
            " up to M - t may stay away from a sum"
        )
    if segments == 1:
        return "ring: while the two ring neighbours of a party do not collude"
    return f"ring in {segments} segments: while fewer than {2 * segments} parties collude"


# Steps of the agreement


def own_key(private: bytes) -> PublicKey:
    """X25519 from the party's seed."""
    return PublicKey(public_key(private))


def pair_seeds(private: bytes, keys: Mapping[str, bytes], me: str) -> dict[str, bytes]:
    """One seed with every other holder, known to no third."""
    try:
        return {p: pair_seed(private, key, b"secure sum") for p, key in keys.items() if p != me}
    except ValueError:
        raise PeerError(f"a public key that {me} received is not an X25519 key") from None


def nodes(run: Run, to: Role) -> tuple[str, ...]:
    """Who is on the ring: `to` and all holders."""
    return tuple(dict.fromkeys((*run.roster[to], *run.roster[Holder])))


def check_ring(method: str, segments: int, on_ring: tuple[str, ...]) -> None:
    """Refuse what a ring cannot do."""
    if method != "ring":
        raise LocalError(f"unknown secure sum {method!r}: use one of {', '.join(METHODS)}")
    if len(on_ring) < 3:  # noqa: PLR2004 - a ring has three
        raise LocalError(
            f"secure_sum='ring' needs at least 3 parties on the ring, got {len(on_ring)}: add a party or a separate coordinator"
        )
    if not 1 <= segments <= most(len(on_ring)):
        raise LocalError(
            f"{len(on_ring)} parties on the ring have {most(len(on_ring))} edge-disjoint rings, segments={segments} asks for more:"
            " lower segments or use secure_sum='pairwise'"
        )


def threshold_of(threshold: int | None, holders: int) -> int:
    """The given t, or the smallest; refuses one by which two sets of survivors could both be confirmed."""
    least = 2 * holders // 3 + 1
    if threshold is not None and not least <= threshold <= holders:
        raise LocalError(
            f"secure_sum='threshold' needs more than two thirds of the {holders} holders, from {least} to {holders};"
            f" got threshold={threshold}"
        )
    return threshold or least


def commit(share: bytes) -> Commitment:
    """Nobody can choose its share after seeing another's."""
    return Commitment(hashlib.sha256(b"ring order" + share).digest())


def ring_orders(
    on_ring: tuple[str, ...], digests: Mapping[str, Commitment], opened: Mapping[str, OrderShare], q: int
) -> tuple[tuple[str, ...], ...]:
    """Check the commitments; q edge-disjoint rings in the order all shares give together, each starting at `to`."""
    for party, message in opened.items():
        if not hmac.compare_digest(commit(message.share).digest, digests[party].digest):
            raise PeerError(f"{party} opened another share of the ring order than it committed to: stop and ask {party}")
    seed = b"".join(message.share for message in opened.values())
    drawn = sorted(on_ring, key=lambda p: hashlib.sha256(seed + p.encode()).digest())
    return tuple(_from(on_ring[0], tuple(drawn[i] for i in cycle)) for cycle in disjoint_cycles(len(drawn), q))


def _from(start: str, cycle: tuple[str, ...]) -> tuple[str, ...]:
    at = cycle.index(start)
    return cycle[at:] + cycle[:at]


# Steps of the pairwise sum


def mask(x: Array, pads: Any, me: str, fixed: FixedPoint | None, what: str, ring: Ring) -> Masked:
    """(3), in the one buffer that is sent."""
    words = np.zeros(x.size + 1, dtype=np.uint64)  # (5)
    _fill(words[:-1], x, fixed, f"{what} of {me}")
    for other in pads.seeds:
        ring.add(words, pads.put_on(other, words.size), sign=1 if other > me else -1)
    return Masked(words, x.shape)


def unmask(messages: Mapping[str, Masked], fixed: FixedPoint | None, ring: Ring) -> Array:
    """(4) and (5)."""
    return opened(ring.total(m.words for m in messages.values()), {m.shape for m in messages.values()}, fixed)


def opened(total: U64, shapes: Collection[tuple[int, ...]], fixed: FixedPoint | None) -> Array:
    """The sum without its check word, in the shape that all senders told."""
    words, shape = total[:-1], next(iter(shapes))
    if len(shapes) > 1 or min(shape, default=0) < 0 or math.prod(shape) != words.size:
        raise PeerError(f"{words.size} words arrived in shapes {sorted(shapes)}: the holders must sum arrays of one shape")
    if total[-1]:
        raise PeerError("the pads do not cancel: the parties were told different things; compare their audits")
    return (words if fixed is None else fixed.decode(words)).reshape(shape)


# Steps of the ring


def own(seed: bytes) -> dict[str, bytes]:
    """A seed for the party's own pads."""
    return {"own": seed}


def received(message: RingPad) -> dict[str, bytes]:
    """The pad of the one who started."""
    return {"own": message.seed}


def to_words(x: Array, fixed: FixedPoint | None, what: str) -> tuple[Array, tuple[int, ...]]:
    """Reals to ring elements, with the check word (5)."""
    words = np.zeros(x.size + 1, dtype=np.uint64)
    _fill(words[:-1], x, fixed, what)
    return words, x.shape


def cut(value: tuple[U64, tuple[int, ...]], pads: Any, q: int, ring: Ring) -> tuple[Passed, ...]:
    """Cut into q shares that add up to the value, of which any q-1 are uniform."""
    words, shape = value
    if q == 1:
        return (Passed(words, shape),)
    rest, drawn = words.copy(), pads.put_on("own", words.size * (q - 1))
    noise = np.concatenate([chunk.copy() for chunk in drawn]).reshape(q - 1, words.size)
    for share in noise:
        ring.add(rest, [share], sign=-1)
    return (*(Passed(share, shape) for share in noise), Passed(rest, shape))


def begin(shares: tuple[Passed, ...], s: int, pads: Any, ring: Ring) -> Passed:
    """v_1 of (1)."""
    words = shares[s].words.copy()
    return Passed(ring.add(words, pads.put_on("own", words.size)), shares[s].shape)


def add_own(passed: Passed, shares: tuple[Passed, ...], s: int, ring: Ring) -> Passed:
    """v_k of (1)."""
    if passed.words.shape != shares[s].words.shape:
        raise PeerError(f"a running sum of {passed.words.size} words arrived, expected {shares[s].words.size}")
    return Passed(ring.total([passed.words, shares[s].words]), passed.shape)


def finish(arrived: Passed, pads: Any, ring: Ring) -> Passed:
    """(2)."""
    words = arrived.words.copy()
    return Passed(ring.add(words, pads.take_off("own", words.size), sign=-1), arrived.shape)


def add_up(*passes: Passed, fixed: FixedPoint | None, ring: Ring) -> Array:
    """The sum over the segments."""
    return opened(ring.total(p.words for p in passes), {p.shape for p in passes}, fixed)


def triangle(x: Array) -> Array:
    """The lower triangle of a symmetric matrix."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:  # noqa: PLR2004 - a matrix
        raise LocalError(f"symmetric=True needs a square matrix, got shape {x.shape}")
    return pack(x, 0)


def square(packed: Array) -> Array:
    """The symmetric matrix of its lower triangle."""
    return unpack([packed], math.isqrt(2 * packed.size))


def _fill(words: U64, x: Array, fixed: FixedPoint | None, what: str) -> None:
    if fixed is None:
        words[:] = x.reshape(-1)
    else:
        fixed.encode(x, what, out=words)
