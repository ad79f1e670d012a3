"""Secure product: P holds A, Q holds B; they end with shares of A B', and with nothing else.

The problem. P has integers A (m x n), Q has B (m' x n), of fixed point or as they are. In Z_2^k

    S_P + S_Q = A B'                                                                                   (1)

shall hold, S_Q uniform, and neither S_P nor anything else shall tell P about B or Q about A. P has a key, sends its columns under
it, and Q computes on what it cannot read:

    P >> Q   E(a_f)                           for every column f of A                                   (2)
    Q >> P   E(sum_f a_f b_f' - S_Q)          masked, with noise of its own                             (3)
    S_P = D(3)                                                                                         (4)

The engines of (2) to (4) are `crypto.bfv` (default) and `crypto.paillier_slots`; `crypto.product` says what they share. One upload (2)
serves any number of peers and plans: `offer` makes it, `multiply` does (2) to (4) with one peer for the blocks of a plan.

    every body travels with HMAC(tag, body), tag = H(job, all published so far, place)                 (5)

SEAL itself loads a ciphertext with a flipped bit silently; by (5) one that was altered, or is of another run or place, is refused.

Roles. `p`: the key holder, a role of one party. `q`: the other. The shapes are public.

Threat. Semi-honest. A is hidden from Q by RLWE (`bfv`) or by Paillier's assumption with short exponents (`paillier`). B is hidden from P
perfectly in the plaintext of (3) under `bfv`, up to 2^-40 an entry under `paillier`; its noise is hidden by RLWE and statistical flooding
(`bfv`, 2^-40 for all entries together) or statistically (`paillier`). Not protected: a malicious key holder, whose public key or noise is
not what it should be, can read B out of (3); a party that lies about its matrix; (5) keeps out accidents and mix-ups, while what a
third party could do on the wire is refused by the runtime's sealed envelopes.

Source: 001 section 5, Algorithm 1 and its variant that resists collusion, with the re-randomisation that Theorem 1 needs.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import I64, U64, Array, At, Message, PeerError, Role, Run, choreography, once
from tacit.crypto.bfv_layout import best_fold
from tacit.crypto.entropy import prf
from tacit.crypto.product import BITS, BOUND, KEY_BITS, Engine, Plan, checked, dense, engine
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint

U8 = NDArray[np.uint8]
Columns = tuple[I64, ...]
Words = tuple[U64, ...]


class Upload(Message, tells="nothing: columns under a key that only the sender has"):
    """(2), with (5)."""

    body: U8
    mac: bytes


class Reply(Message, tells="nothing: a product under masks that only the sender has"):
    """(3), with (5)."""

    body: U8
    mac: bytes


@dataclass(frozen=True)
class Offer:
    """What P has made once: its key, its upload, and the tag that both are bound to."""

    secret: At[bytes]
    upload: At[Upload]
    tag: At[bytes]


@choreography(opens={"p": "its share of the product, uniform", "q": "its share of the product, uniform"})
def secure_product(
    run: Run,
    a: At[Any],
    b: At[Any],
    *,
    p: Role,
    q: Role,
    shape: tuple[int, int, int],
    by: str = "bfv",
    fixed: FixedPoint | None = None,
    bits: int = BITS,
    bound: int = BOUND,
    key_bits: int = KEY_BITS,
) -> tuple[At[U64], At[U64]]:
    """P's and Q's shares of A B', for A of m x n at p and B of m' x n at q; `shape` is (m, m', n)."""
    m, others, n = shape
    way, plan = engine(by, n, bits=bits, bound=bound, key_bits=key_bits, fold=best_fold(*shape)), dense(*shape)
    columns = run.local(p, own_columns, a, fixed, way.bound, (m, n), run.who(p))
    matrix = run.local(q, own_matrix, b, fixed, way.bound, (others, n), run.who(q))
    mine, theirs = multiply(run, offer(run, columns, p=p, way=way), matrix, p=p, q=q, plan=plan, way=way)
    return run.local(p, only, mine), run.local(q, only, theirs)


@choreography(opens={"p": "a key of its own"})
def offer(run: Run, columns: At[Columns], *, p: Role, way: Engine) -> Offer:
    """P encrypts its columns once, for all peers."""
    secret = run.local(p, way.secret, run.random(p))
    tag = run.tag()
    body = run.local(p, uploaded, way, secret, columns)
    return Offer(secret, run.local(p, sealed_upload, body, tag), tag)


@choreography(opens={"p": "its shares of the products, uniform", "q": "its shares of the products, uniform"})
def multiply(run: Run, offered: Offer, matrices: At[Columns], *, p: Role, q: Role, plan: Plan, way: Engine) -> tuple[At[Words], At[Words]]:
    """P's and Q's shares of every block of the plan."""
    upload, tag = run.send(Upload, p >> q, offered.upload), run.tag()
    pads = run.pads(run.local(q, own_pads, run.random(q)), run.tag())
    answer = run.local(q, answered, way, upload, offered.tag, plan, matrices, pads)
    reply = run.send(Reply, q >> p, run.local(q, sealed_reply, answer, upload, tag))
    return run.local(p, finished, way, offered.secret, offered.upload, plan, reply, tag), run.local(q, share_of, answer)


# Steps: what each side brings


def integers(x: Array, fixed: FixedPoint | None, what: str) -> I64:
    """The integers of the fixed-point encoding; integers are taken as they are."""
    if fixed is not None:
        return fixed.encode(np.asarray(x, np.float64), what).view(np.int64)
    if x.dtype.kind not in "iu":
        raise LocalError(f"{what}: a product is computed on integers: give them, or fixed=FixedPoint(bits)")
    return x.astype(np.int64)


def own_matrix(x: Array, fixed: FixedPoint | None, bound: int, shape: tuple[int, int], me: str) -> Columns:
    """Q's matrix as the one block of a plan."""
    found = integers(x, fixed, f"the matrix of {me}")
    checked([found], [shape], bound, f"the matrix of {me}")
    return (found,)


def own_columns(x: Array, fixed: FixedPoint | None, bound: int, shape: tuple[int, int], me: str) -> Columns:
    """P's matrix by columns."""
    return tuple(np.ascontiguousarray(c) for c in own_matrix(x, fixed, bound, shape, me)[0].T)


def own_pads(seed: bytes) -> dict[str, bytes]:
    """Seeds of the masks and of the noise that covers noise."""
    return {name: prf(seed, name.encode()) for name in ("mask", "noise")}


def only(shares: Words) -> U64:
    """The share of the one block."""
    return shares[0]


# Steps of the exchange


@once
def uploaded(way: Engine, secret: bytes, columns: Columns) -> U8:
    """(2), of fresh noise."""
    return way.upload(secret, columns)


def sealed_upload(body: U8, tag: bytes) -> Upload:
    """(5)."""
    return Upload(body, prf(tag, b"upload", body.tobytes()))


def sealed_reply(answer: tuple[U8, Words], upload: Upload, tag: bytes) -> Reply:
    """(5), bound to the upload as well."""
    return Reply(answer[0], prf(tag, b"reply", upload.mac, answer[0].tobytes()))


def answered(way: Engine, upload: Upload, tag: bytes, plan: Plan, matrices: Columns, pads: Any) -> tuple[U8, Words]:
    """(3), and S_Q."""
    authentic(upload.mac, prf(tag, b"upload", upload.body.tobytes()), "the upload of a product")
    return way.reply(upload.body, plan, matrices, pads)


def share_of(answer: tuple[U8, Words]) -> Words:
    """S_Q."""
    return answer[1]


def finished(way: Engine, secret: bytes, upload: Upload, plan: Plan, reply: Reply, tag: bytes) -> Words:
    """(4)."""
    authentic(reply.mac, prf(tag, b"reply", upload.mac, reply.body.tobytes()), "the reply of a product")
    return way.finish(secret, plan, reply.body)


def authentic(found: bytes, expected: bytes, what: str) -> None:
    """Refuse what (5) does not fit."""
    if not hmac.compare_digest(found, expected):
        raise PeerError(f"{what} was altered, or is of another run or place: nothing was computed from it; start again")
