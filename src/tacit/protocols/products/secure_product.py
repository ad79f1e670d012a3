"""Secure product: P holds A, Q holds B; they end with shares of A B', and with nothing else.

The problem. P has integers A (m x n), Q has B (m' x n), of fixed point or as they are. In Z_2^k

    S_P + S_Q = A B'                                                                                   (1)

shall hold, S_Q uniform, and neither S_P nor anything else shall tell P about B or Q about A. P has a key, sends its
columns under it, and Q computes on what it cannot read:

    P >> Q   E(a_f)                           for every column f of A                                   (2)
    Q >> P   E(sum_f a_f b_f' - S_Q)          masked, with noise of its own                             (3)
    S_P = D(3)                                                                                         (4)

The engines of (2) to (4) are `bfv` (default) and `paillier`; `crypto.products.engines` says what they share. One upload
(2) serves any number of peers and plans: `offer` makes it, `multiply` does (2) to (4) with one peer for the blocks of a
plan.

    every body travels with HMAC(tag, body), tag = H(job, all published so far, place)                 (5)

SEAL itself loads a ciphertext with a flipped bit silently; by (5) one that was altered, or is of another run or place,
is refused.

Roles. `p`: the key holder, a role of one party. `q`: the other. The shapes are public.

Threat. Semi-honest. A is hidden from Q by RLWE (`bfv`) or by Paillier's assumption with short exponents (`paillier`). B
is hidden from P perfectly in the plaintext of (3) under `bfv`, up to 2^-40 an entry under `paillier`; its noise is
hidden by RLWE and statistical flooding (`bfv`, 2^-40 for all entries together) or statistically (`paillier`). Not
protected: a malicious key holder, whose public key or noise is not what it should be, can read B out of (3); a party
that lies about its matrix; (5) keeps out accidents and mix-ups, while what a third party could do on the wire is
refused by the runtime's sealed envelopes.

Source: 001 section 5, Algorithm 1 and its variant that resists collusion, with the re-randomisation that Theorem 1
needs.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

import numpy as np

from tacit.arrays import I64, U8, U64, Array
from tacit.choreo import At, Fact, Message, PeerError, Role, Run, choreography, once
from tacit.crypto.pads.entropy import prf
from tacit.crypto.products.bfv_layout import best_fold
from tacit.crypto.products.engines import (
    BITS,
    BOUND,
    KEY_BITS,
    Engine,
    Masks,
    Plan,
    check_entries,
    make_engine,
    plan_dense,
)
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint

SHARES = Fact("product.shares", "nobody", "nothing", "none", "its shares of the products, uniform")
SHARE = Fact("product.share", "nobody", "nothing", "none", "its share of the product, uniform")

Columns = tuple[I64, ...]
Words = tuple[U64, ...]


class Upload(
    Message,
    tells=Fact(
        "product.encrypted", "nobody", "nothing", "none", "nothing: columns under a key that only the sender has"
    ),
):
    """The columns of P under its key, (2), with the MAC of (5)."""

    body: U8
    mac: bytes


class Reply(
    Message,
    tells=Fact(
        "product.masked", "nobody", "nothing", "none", "nothing: a product under masks that only the sender has"
    ),
):
    """The masked products under the key of P, (3), with the MAC of (5)."""

    body: U8
    mac: bytes


@dataclass(frozen=True)
class Offer:
    """What P makes once for all peers: its key, its upload, and the tag that both are bound to."""

    secret: At[bytes]
    upload: At[Upload]
    tag: At[bytes]


@choreography(opens={"p": SHARE, "q": SHARE})
def secure_product(
    run: Run,
    a: At[Array],
    b: At[Array],
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
    """Return P's and Q's shares of A B', for A of m x n at p and B of m' x n at q; `shape` is (m, m', n)."""
    m, others, n = shape
    way = make_engine(by, n, bits=bits, bound=bound, key_bits=key_bits, fold=best_fold(*shape))
    columns = run.local(p, own_columns, a, fixed, way.bound, (m, n), run.who(p))
    matrix = run.local(q, own_matrix, b, fixed, way.bound, (others, n), run.who(q))
    mine, theirs = multiply(run, offer(run, columns, p=p, way=way), matrix, p=p, q=q, plan=plan_dense(*shape), way=way)
    return run.local(p, take_only, mine), run.local(q, take_only, theirs)


@choreography(opens={"p": Fact("product.own_key", "reader", "key", "party", "a key of its own")})
def offer(run: Run, columns: At[Columns], *, p: Role, way: Engine) -> Offer:
    """Let P encrypt its columns once, for all peers."""
    secret = run.local(p, way.secret, run.random(p))
    tag = run.tag()
    body = run.local(p, encrypt_columns, way, secret, columns)
    return Offer(secret, run.local(p, seal_upload, body, tag), tag)


@choreography(opens={"p": SHARES, "q": SHARES})
def multiply(
    run: Run, offered: Offer, matrices: At[Columns], *, p: Role, q: Role, plan: Plan, way: Engine
) -> tuple[At[Words], At[Words]]:
    """Return P's and Q's shares of every block of the plan."""
    upload, tag = run.send(Upload, p >> q, offered.upload), run.tag()
    pads = run.pads(run.local(q, own_pads, run.random(q)), run.tag())
    answer = run.local(q, answer_upload, way, upload, offered.tag, plan, matrices, pads)
    reply = run.send(Reply, q >> p, run.local(q, seal_reply, answer, upload, tag))
    return run.local(p, finish_product, way, offered.secret, offered.upload, plan, reply, tag), run.local(
        q, share_of, answer
    )


# Steps: what each side brings


def integers(x: Array, fixed: FixedPoint | None, what: str) -> I64:
    """Return the integers of the fixed-point encoding; integers are taken as they are."""
    if fixed is not None:
        return fixed.encode(np.asarray(x, np.float64), what).view(np.int64)
    if x.dtype.kind not in "iu":
        raise LocalError(f"{what}: a product is computed on integers: give them, or fixed=FixedPoint(bits)")
    return x.astype(np.int64)


def own_matrix(x: Array, fixed: FixedPoint | None, bound: int, shape: tuple[int, int], me: str) -> Columns:
    """Return Q's matrix as the one block of a plan."""
    found = integers(x, fixed, f"the matrix of {me}")
    check_entries([found], [shape], bound, f"the matrix of {me}")
    return (found,)


def own_columns(x: Array, fixed: FixedPoint | None, bound: int, shape: tuple[int, int], me: str) -> Columns:
    """Return P's matrix by columns."""
    return tuple(np.ascontiguousarray(c) for c in own_matrix(x, fixed, bound, shape, me)[0].T)


def own_pads(seed: bytes) -> dict[str, bytes]:
    """Return seeds of the masks and of the noise that covers noise."""
    return {name: prf(seed, name.encode()) for name in ("mask", "noise")}


def take_only(shares: Words) -> U64:
    """Return the share of the one block."""
    return shares[0]


# Steps of the exchange


@once
def encrypt_columns(way: Engine, secret: bytes, columns: Columns) -> U8:
    """Return the encrypted columns of (2), with fresh noise."""
    return way.upload(secret, columns)


def seal_upload(body: U8, tag: bytes) -> Upload:
    """Return the upload with its MAC, (5)."""
    return Upload(body, prf(tag, b"upload", body.tobytes()))


def seal_reply(answer: tuple[U8, Words], upload: Upload, tag: bytes) -> Reply:
    """Return the reply with its MAC, (5), which binds it to the upload as well."""
    return Reply(answer[0], prf(tag, b"reply", upload.mac, answer[0].tobytes()))


def answer_upload(
    way: Engine, upload: Upload, tag: bytes, plan: Plan, matrices: Columns, pads: Masks
) -> tuple[U8, Words]:
    """Return the masked products of (3), and Q's share S_Q."""
    check_authentic(upload.mac, prf(tag, b"upload", upload.body.tobytes()), "the upload of a product")
    return way.reply(upload.body, plan, matrices, pads)


def share_of(answer: tuple[U8, Words]) -> Words:
    """Return Q's share S_Q of an answer."""
    return answer[1]


def finish_product(way: Engine, secret: bytes, upload: Upload, plan: Plan, reply: Reply, tag: bytes) -> Words:
    """Return P's share S_P, (4)."""
    check_authentic(reply.mac, prf(tag, b"reply", upload.mac, reply.body.tobytes()), "the reply of a product")
    return way.finish(secret, plan, reply.body)


def check_authentic(found: bytes, expected: bytes, what: str) -> None:
    """Refuse a body whose MAC is not that of (5)."""
    if not hmac.compare_digest(found, expected):
        raise PeerError(f"{what} was altered, or is of another run or place: nothing was computed from it; start again")
