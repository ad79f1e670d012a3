"""Secure sum: one party learns x_1 + ... + x_M, nobody learns a single x_k.

The problem. Every holder k has an array x_k of reals or of ring elements; the party `to` shall learn their sum.
Reals become integers of Z_2^64 by fixed point (`numeric.ring.fixed_point`), and all equations are modulo 2^64.

`ring`: the holders form a ring and the running sum passes once around it under one uniform pad r of the first.

    v_1 = x_1 + r,    v_k = v_{k-1} + x_k                                  (1)
    sum = v_M - r                                                          (2)

`ring` with q segments: x_k is cut into q uniform shares that add up to it, and share s travels on ring s by (1), (2).
The q rings have no edge in common, in an order that all parties drew together.

`pairwise`: every two holders k < l share a seed; s_kl is a pad of it that nobody else can draw.

    m_k = x_k + sum_{l > k} s_kl - sum_{l < k} s_lk                        (3)
    sum = sum_k m_k                                                        (4)

`threshold`: as `pairwise`, but holders may stay away; a protocol of its own, in `threshold_sum`.

`graph`: as `pairwise`, but every holder shares seeds with the few others next to it on a ring, for thousands of them;
how the holders agree on it is in `graph_sum`.

`graph_threshold`: as `threshold`, but along such a graph; in `graph_threshold_sum`.

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

Source: papers 001 section 3.1, 003, 004 (ring), 001 section 3.1.2 and 004 section 7 (segments), 000 section V
(pairwise).
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.arrays import U64, Array
from tacit.choreo import At, Everyone, Fact, Holder, Message, Pads, PeerError, Role, Run, choreography
from tacit.crypto.pads import agreement
from tacit.errors import LocalError
from tacit.numeric.cells.cycles import disjoint_cycles, most
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.ring.words import Z64, Ring

PUBLIC_KEY = Fact("keys.public", "nobody", "key", "party", "nothing: a public key made for this run")

OF_ALL = ("pairwise", "ring", "graph")  # sums that every holder stays to the end of
OF_SOME = ("threshold", "graph_threshold")  # sums that holders may stay away from
METHODS = (*OF_ALL, *OF_SOME)


class PublicKey(Message, tells=PUBLIC_KEY, of_records=False):
    """The X25519 key of one holder, from which others derive the seed they share with it."""

    key: bytes


class Commitment(
    Message,
    tells=Fact(
        "sums.order_commitment", "nobody", "nothing", "none", "nothing yet: a commitment to a share of the ring order"
    ),
    of_records=False,
):
    """The hash of a share of the ring order, told before the share itself."""

    digest: bytes


class OrderShare(
    Message,
    tells=Fact("sums.order_share", "nobody", "key", "party", "a random share of the ring order"),
    of_records=False,
):
    """A share of the ring order, which opens the commitment to it."""

    share: bytes


class Masked(
    Message,
    tells=Fact(
        "sums.masked",
        "nobody",
        "nothing",
        "none",
        "nothing alone: a vector under pads that cancel only in the sum over all holders",
    ),
):
    """The masked vector m_k of (3), with the shape of the array behind it."""

    words: U64
    shape: tuple[int, ...]


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


@dataclass(frozen=True)
class Protection:
    """How sums are protected in a run, agreed once: pair seeds, ring orders (`ring`), or both (along a graph)."""

    method: str
    seeds: At[dict[str, bytes]] | None = None
    rings: tuple[tuple[str, ...], ...] = ()
    threshold: int = 0
    neighbours: int = 0


@choreography(
    opens={
        Everyone: Fact(
            "sums.keys_or_order", "nobody", "key", "party", "public keys, or the order of the parties on the ring"
        )
    }
)
def protect(
    run: Run,
    *,
    to: Role,
    method: str = "pairwise",
    segments: int = 1,
    threshold: int | None = None,
    neighbours: int | None = None,
) -> Protection:
    """Agree once per run on what protects its sums to `to`."""
    if method == "graph":
        from tacit.protocols.sums.graph_sum import agree_on_graph  # noqa: PLC0415 - it is built on this file

        seeds, ring = agree_on_graph(run, to, neighbours)
        return Protection(method, seeds=seeds, rings=(ring,))
    if method == "graph_threshold":
        from tacit.protocols.sums.graph_threshold_sum import agree_with_absence  # noqa: PLC0415 - as above

        return agree_with_absence(run, to, neighbours, threshold)
    if method in ("pairwise", "threshold"):
        private = run.random(Holder)
        own = run.local(Holder, own_key, private)
        t, keys = meet(run, own, to, threshold) if method == "threshold" else (0, run.publish_all(PublicKey, own))
        theirs = {party: message.key for party, message in keys.items()}
        return Protection(method, seeds=run.local(Holder, pair_seeds, private, theirs, run.who(Holder)), threshold=t)
    check_ring(method, segments, nodes(run, to))
    shares = run.random(Everyone)
    digests = run.publish_all(Commitment, run.local(Everyone, commit, shares))
    opened = run.publish_all(OrderShare, run.local(Everyone, OrderShare, shares))
    return Protection(method, rings=ring_orders(nodes(run, to), digests, opened, segments))


def meet(run: Run, own: At[PublicKey], to: Role, threshold: int | None) -> tuple[int, dict[str, PublicKey]]:
    """Go on with the holders that are there, t at least; return t and their keys.

    t is of all holders that the run began with, however many were left out since.
    """
    holders = run.roster[Holder]
    t = threshold_of(threshold, len(holders) + len(run.roster.absent))
    keys = run.publish_some(PublicKey, own, to=to, at_least=t)
    go_on_with(run, tuple(keys))
    note_missing(run)
    return t, keys


def note_missing(run: Run) -> None:
    """Note who was left out of what follows."""
    if run.roster.absent:
        run.note(missing=", ".join(run.roster.absent))


def go_on_with(run: Run, present: Collection[str]) -> None:
    """Leave out the holders that are not there: sums of one protocol, and of what is built on it, are of the same."""
    here = frozenset(present)
    absent = [party for party in run.roster[Holder] if party not in here]
    if absent:
        run.leave_out(absent)


@choreography(
    opens={"to": Fact("sums.total", "holders", "aggregate", "all", "the sum over all holders that took part")}
)
def secure_sum(
    run: Run,
    x: At[Array],
    *,
    to: Role,
    by: Protection,
    fixed: FixedPoint | None = None,
    symmetric: bool = False,
    what: str = "array",
    ring: Ring = Z64,
) -> At[Array]:
    """Give role `to` the sum of all x_k. With `fixed`, x are reals; without, words of the ring.

    Of a `symmetric` matrix only the lower triangle is sent.
    """
    if symmetric:
        total = secure_sum(run, run.local(Holder, triangle, x), to=to, by=by, fixed=fixed, what=what, ring=ring)
        return run.local(to, square, total)
    if by.method in ("pairwise", "graph"):
        assert by.seeds is not None  # noqa: S101 - for the type checker; protect() set it
        pads = run.pads(by.seeds, run.tag())
        masked = run.local(Holder, mask, x, pads, run.who(Holder), fixed, what, ring)
        return run.local(
            to, open_added, run.add_up(Masked, Holder >> to, masked, partial(add_masked, ring=ring)), fixed
        )
    if by.method in OF_SOME:
        total, survivors = find_sum(by.method)(run, x, to=to, by=by, fixed=fixed, what=what, ring=ring)
        go_on_with(run, survivors)
        return total
    words = run.local(Holder, to_words, x, fixed, what)
    noise = run.pads(run.local(Holder, name_own_seed, run.random(Holder)), run.tag())
    shares = run.local(Holder, cut, words, noise, len(by.rings), ring)
    passes = [pass_around(run, shares, s, order, to=to, ring=ring) for s, order in enumerate(by.rings)]
    return run.local(to, add_up, *passes, fixed=fixed, ring=ring)


def find_sum(method: str) -> Callable[..., tuple[At[Array], tuple[str, ...]]]:
    """Return the protocol of a sum that holders may stay away from."""
    from tacit.protocols.sums import graph_threshold_sum, threshold_sum  # noqa: PLC0415 - they are built on this file

    return threshold_sum.threshold_sum if method == "threshold" else graph_threshold_sum.graph_threshold_sum


@choreography(opens={Everyone: Fact("sums.published", "holders", "aggregate", "all", "the sum over all holders")})
def open_sum(
    run: Run, x: At[Array], *, by: Protection, fixed: FixedPoint | None = None, what: str = "array", ring: Ring = Z64
) -> Array:
    """Give everyone the sum of all x_k, from the published masked vectors: nobody has to be believed."""
    if by.seeds is None or by.method != "pairwise":
        raise LocalError(f"a sum that everyone checks needs secure_sum='pairwise', not {by.method!r}")
    masked = run.local(Holder, mask, x, run.pads(by.seeds, run.tag()), run.who(Holder), fixed, what, ring)
    return unmask(run.publish_all(Masked, masked), fixed, ring)


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


def describe_protection(method: str, segments: int = 1) -> str:
    """Return in words under which condition a sum of this kind hides every part of it."""
    if method == "pairwise":
        return "pairwise: while at least two data holders collude with nobody"
    if method == "threshold":
        return (
            "threshold: while fewer than t of the M data holders collude, t > 2M/3, and at least two that answer"
            " collude with nobody; up to M - t may stay away from a sum"
        )
    if method == "graph":
        return (
            "graph: while at most half of the data holders collude, and at least two collude with nobody; of more than"
            " 50 holders, except with probability 2^-40"
        )
    if method == "graph_threshold":
        return (
            "graph_threshold: while at most a fifth of the data holders collude, and at least two that answer collude"
            " with nobody, except with probability 2^-40; about a twentieth may stay away from a sum"
        )
    if segments == 1:
        return "ring: while the two ring neighbours of a party do not collude"
    return f"ring in {segments} segments: while fewer than {2 * segments} parties collude"


# Steps of the agreement


def own_key(private: bytes) -> PublicKey:
    """Return the public key that belongs to the party's own seed."""
    return PublicKey(agreement.public_key(private))


def pair_seeds(private: bytes, keys: Mapping[str, bytes], me: str) -> dict[str, bytes]:
    """Return one seed with every other holder, known to no third party."""
    try:
        return agreement.pair_seeds(private, {p: key for p, key in keys.items() if p != me}, b"secure sum")
    except ValueError:
        raise PeerError(f"a public key that {me} received is not an X25519 key") from None


def nodes(run: Run, to: Role) -> tuple[str, ...]:
    """Return who is on the ring: `to` and all holders."""
    return tuple(dict.fromkeys((*run.roster[to], *run.roster[Holder])))


def check_ring(method: str, segments: int, on_ring: tuple[str, ...]) -> None:
    """Raise if a ring of these parties cannot have so many segments."""
    if method != "ring":
        raise LocalError(f"unknown secure sum {method!r}: use one of {', '.join(METHODS)}")
    if len(on_ring) < 3:  # noqa: PLR2004 - a ring has three
        raise LocalError(
            f"secure_sum='ring' needs at least 3 parties on the ring, got {len(on_ring)}: add a party or a separate"
            " coordinator"
        )
    if not 1 <= segments <= most(len(on_ring)):
        raise LocalError(
            f"{len(on_ring)} parties on the ring have {most(len(on_ring))} edge-disjoint rings, segments={segments}"
            " asks for more: lower segments or use secure_sum='pairwise'"
        )


def threshold_of(threshold: int | None, holders: int, method: str = "threshold") -> int:
    """Return the given threshold t, or the smallest one that is safe.

    Raises for a t by which two sets of survivors could both be confirmed.
    """
    least = 2 * holders // 3 + 1
    if threshold is not None and not least <= threshold <= holders:
        raise LocalError(
            f"secure_sum={method!r} needs more than two thirds of the {holders} holders, from {least} to {holders};"
            f" got threshold={threshold}"
        )
    return threshold or least


def commit(share: bytes) -> Commitment:
    """Return the commitment to a share, so that nobody can choose its share after seeing another's."""
    return Commitment(hashlib.sha256(b"ring order" + share).digest())


def ring_orders(
    on_ring: tuple[str, ...], digests: Mapping[str, Commitment], opened: Mapping[str, OrderShare], q: int
) -> tuple[tuple[str, ...], ...]:
    """Check the commitments and return q edge-disjoint rings, each starting at `to`.

    Their order follows from all shares together.
    """
    check_opened(digests, opened)
    drawn = draw_order(on_ring, b"".join(message.share for message in opened.values()))
    return tuple(_from(on_ring[0], tuple(drawn[i] for i in cycle)) for cycle in disjoint_cycles(len(drawn), q))


def check_opened(digests: Mapping[str, Commitment], opened: Mapping[str, OrderShare]) -> None:
    """Raise if a party opened another share of the ring order than it committed to."""
    for party, message in opened.items():
        if not hmac.compare_digest(commit(message.share).digest, digests[party].digest):
            raise PeerError(
                f"{party} opened another share of the ring order than it committed to: stop and ask {party}"
            )


def draw_order(parties: tuple[str, ...], seed: bytes) -> tuple[str, ...]:
    """Return the parties in the order that follows from a seed."""
    return tuple(sorted(parties, key=lambda p: hashlib.sha256(seed + p.encode()).digest()))


def _from(start: str, cycle: tuple[str, ...]) -> tuple[str, ...]:
    at = cycle.index(start)
    return cycle[at:] + cycle[:at]


# Steps of the pairwise sum


def mask(x: Array, pads: Pads, me: str, fixed: FixedPoint | None, what: str, ring: Ring) -> Masked:
    """Return the masked vector m_k of (3), made in the one buffer that is sent."""
    words = np.zeros(x.size + 1, dtype=np.uint64)  # (5)
    _fill(words[:-1], x, fixed, f"{what} of {me}")
    for other in pads.seeds:
        ring.add(words, pads.put_on(other, words.size), sign=1 if other > me else -1)
    return Masked(words, x.shape)


def unmask(messages: Mapping[str, Masked], fixed: FixedPoint | None, ring: Ring) -> Array:
    """Return the sum (4) of all masked vectors, after the check (5)."""
    return open_added(add_masked(messages.values(), ring), fixed)


def add_masked(messages: Iterable[Masked], ring: Ring) -> Masked:
    """Return the sum of some masked vectors, which is under the pads that did not cancel in it."""
    found = list(messages)
    shapes = {m.shape for m in found}
    if len(shapes) > 1:
        raise PeerError(f"masked vectors arrived in shapes {sorted(shapes)}: the holders must sum arrays of one shape")
    return Masked(ring.total(m.words for m in found), *shapes)


def open_added(total: Masked, fixed: FixedPoint | None) -> Array:
    """Return the sum (4) of all masked vectors that were added up, after the check (5)."""
    return open_total(total.words, {total.shape}, fixed)


def open_total(total: U64, shapes: Collection[tuple[int, ...]], fixed: FixedPoint | None) -> Array:
    """Return the sum without its check word (5), in the shape that all senders told."""
    words, shape = total[:-1], next(iter(shapes))
    if len(shapes) > 1 or min(shape, default=0) < 0 or math.prod(shape) != words.size:
        raise PeerError(
            f"{words.size} words arrived in shapes {sorted(shapes)}: the holders must sum arrays of one shape"
        )
    if total[-1]:
        raise PeerError("the pads do not cancel: the parties were told different things; compare their audits")
    return (words if fixed is None else fixed.decode(words)).reshape(shape)


# Steps of the ring


def name_own_seed(seed: bytes) -> dict[str, bytes]:
    """Return the seed under the name by which `run.pads` finds the party's own pads."""
    return {"own": seed}


def name_received_seed(message: RingPad) -> dict[str, bytes]:
    """Return the seed of the pad of the holder that started the pass."""
    return {"own": message.seed}


def to_words(x: Array, fixed: FixedPoint | None, what: str) -> tuple[Array, tuple[int, ...]]:
    """Return an array as ring elements with the check word (5), and its shape."""
    words = np.zeros(x.size + 1, dtype=np.uint64)
    _fill(words[:-1], x, fixed, what)
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
        raise PeerError(f"a running sum of {passed.words.size} words arrived, expected {shares[s].words.size}")
    return Passed(ring.total([passed.words, shares[s].words]), passed.shape)


def finish(arrived: Passed, pads: Pads, ring: Ring) -> Passed:
    """Return the sum of one segment, (2): the running sum without the pad."""
    words = arrived.words.copy()
    return Passed(ring.add(words, pads.take_off("own", words.size), sign=-1), arrived.shape)


def add_up(*passes: Passed, fixed: FixedPoint | None, ring: Ring) -> Array:
    """Return the sum over all segments."""
    return open_total(ring.total(p.words for p in passes), {p.shape for p in passes}, fixed)


def triangle(x: Array) -> Array:
    """Return the lower triangle of a symmetric matrix as one vector."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:  # noqa: PLR2004 - a matrix
        raise LocalError(f"symmetric=True needs a square matrix, got shape {x.shape}")
    return pack(x, 0)


def square(packed: Array) -> Array:
    """Return the symmetric matrix that has this lower triangle."""
    return unpack([packed], math.isqrt(2 * packed.size))


def _fill(words: U64, x: Array, fixed: FixedPoint | None, what: str) -> None:
    if fixed is None:
        words[:] = x.reshape(-1)
    else:
        fixed.encode(x, what, out=words)
