"""Secure sum: one party learns x_1 + ... + x_M, nobody learns a single x_k.

The problem. Every holder k has an array x_k of reals or of ring elements; the party `to` shall learn their sum.
Reals become integers of Z_2^64 by fixed point (`numeric.ring.fixed_point`), and all equations are modulo 2^64.

Every two holders k < l share a seed; s_kl is a pad of it that nobody else can draw.

    m_k = x_k + sum_{l > k} s_kl - sum_{l < k} s_lk                        (1)
    sum = sum_k m_k                                                        (2)

Roles. Holder: has x_k. `to`: a role of one party, which may itself be a holder.

Threat. Semi-honest parties and coalitions. If `to` is in the coalition, it knows the sum over all honest holders, and
nothing else; so nobody's x_k while two holders are honest. If it is not, it knows nothing. The seeds pass through
AES-256 and X25519, so this holds against bounded adversaries. The pads are bound to everything published so far: a
party that was told something else spoils the sum, which (3) detects.

    every x_k gets one more word, 0, so the last word of the sum must be 0                                    (3)

Not protected: a holder that lies about x_k; a party that alters what passes it; one that stays away ends the run.

Source: paper 000 section V; Bonawitz et al., CCS 2017, without absences.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.arrays import U64, Array
from tacit.choreo import At, Everyone, Holder, Message, Pads, PeerError, Role, Run, choreography
from tacit.crypto.pads import agreement
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.facts import MASKED, PUBLIC_KEY, TOTAL


class PublicKey(Message, tells=PUBLIC_KEY, of_records=False):
    """The X25519 key of one holder, from which others derive the seed they share with it."""

    key: bytes


class Masked(
    Message,
    tells=MASKED,
):
    """The masked vector m_k of (1), with the shape of the array behind it."""

    words: U64
    shape: tuple[int, ...]


PROTECTION = "pairwise sums: while at least two data holders collude with nobody"


@dataclass(frozen=True)
class Protection:
    """Seeds that every two holders share, agreed on once per run."""

    seeds: At[dict[str, bytes]]


@choreography(opens={Everyone: PUBLIC_KEY})
def protect(run: Run) -> Protection:
    """Agree once per run on what protects its sums."""
    private = run.random(Holder)
    keys = run.publish_all(PublicKey, run.local(Holder, own_key, private))
    theirs = {party: message.key for party, message in keys.items()}
    return Protection(run.local(Holder, pair_seeds, private, theirs, run.who(Holder)))


@choreography(opens={"to": TOTAL})
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
    masked = run.local(Holder, mask, x, run.pads(by.seeds, run.tag()), run.who(Holder), fixed, what, ring)
    return run.local(to, open_added, run.add_up(Masked, Holder >> to, masked, partial(add_masked, ring=ring)), fixed)


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


def name_own_seed(seed: bytes) -> dict[str, bytes]:
    """Return the seed under the name by which `run.pads` finds the party's own pads."""
    return {"own": seed}


# Steps of the pairwise sum


def mask(x: Array, pads: Pads, me: str, fixed: FixedPoint | None, what: str, ring: Ring) -> Masked:
    """Return the masked vector m_k of (1), made in the one buffer that is sent."""
    words = np.zeros(x.size + 1, dtype=np.uint64)  # (3)
    _fill(words[:-1], x, fixed, f"{what} of {me}")
    for other in pads.seeds:
        ring.add(words, pads.put_on(other, words.size), sign=1 if other > me else -1)
    return Masked(words, x.shape)


def add_masked(messages: Iterable[Masked], ring: Ring) -> Masked:
    """Return the sum of some masked vectors, which is under the pads that did not cancel in it."""
    found = list(messages)
    shapes = {m.shape for m in found}
    if len(shapes) > 1:
        raise PeerError(f"masked vectors arrived in shapes {sorted(shapes)}: the holders must sum arrays of one shape")
    return Masked(ring.total(m.words for m in found), *shapes)


def open_added(total: Masked, fixed: FixedPoint | None) -> Array:
    """Return the sum (2) of all masked vectors that were added up, after the check (3)."""
    return open_total(total.words, {total.shape}, fixed)


def open_total(total: U64, shapes: Collection[tuple[int, ...]], fixed: FixedPoint | None) -> Array:
    """Return the sum without its check word (3), in the shape that all senders told."""
    words, shape = total[:-1], next(iter(shapes))
    if len(shapes) > 1 or min(shape, default=0) < 0 or math.prod(shape) != words.size:
        raise PeerError(
            f"{words.size} words arrived in shapes {sorted(shapes)}: the holders must sum arrays of one shape"
        )
    if total[-1]:
        raise PeerError("the pads do not cancel: the parties were told different things; compare their audits")
    return (words if fixed is None else fixed.decode(words)).reshape(shape)


# Steps of the ring


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
