"""Secure product: P holds A, Q holds B; they end with shares of A B', and with nothing else.

The steps that both sides of a product take; `cell_products` and `weights` put them into runs. P has integers A (m x n),
Q has B (m' x n). In Z_2^k

    S_P + S_Q = A B'                                                                                   (1)

shall hold, S_Q uniform, and neither S_P nor anything else shall tell P about B or Q about A. P has a key, sends its
columns under it, and Q computes on what it cannot read:

    P >> Q   E(a_f)                           for every column f of A                                   (2)
    Q >> P   E(sum_f a_f b_f' - S_Q)          masked, with noise of its own                             (3)
    S_P = D(3)                                                                                         (4)

The engines of (2) to (4) are `bfv` (default) and `paillier`; `engines` says what they share. One upload
(2) serves any number of peers and plans.

    every body travels with HMAC(tag, body), tag = H(job, all published so far, place)                 (5)

SEAL itself loads a ciphertext with a flipped bit silently; by (5) one that was altered, or is of another run or place,
is refused.

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

from tacit.arrays import I64, U8, U64
from tacit.choreo import At, Fact, Message, PeerError, Role, Run, choreography, once
from tacit.crypto.pads.entropy import prf
from tacit.papers.gram.engines.engines import Engine, Masks, Plan

Columns = tuple[I64, ...]
Words = tuple[U64, ...]


class Upload(
    Message,
    tells=Fact(
        "product.encrypted",
        "nobody",
        "nothing",
        "none",
        "nothing: columns under a key that only the sender has, as many as the public map of owners says",
    ),
    ragged=True,
):
    """The columns of P under its key, (2), with the MAC of (5); empty where two parties share no column."""

    body: U8
    mac: bytes


class Reply(
    Message,
    tells=Fact(
        "product.masked",
        "nobody",
        "nothing",
        "none",
        "nothing: products under masks that only the sender has, as many as the public map of owners says",
    ),
    ragged=True,
):
    """The masked products under the key of P, (3), with the MAC of (5); empty where two parties share no column."""

    body: U8
    mac: bytes


@dataclass(frozen=True)
class Offer:
    """What P makes once for all peers: its key, its upload, and the tag that both are bound to."""

    secret: At[bytes]
    upload: At[Upload]
    tag: At[bytes]


@choreography(opens={"p": Fact("product.own_key", "reader", "key", "party", "a key of its own")})
def offer(run: Run, columns: At[Columns], *, p: Role, way: Engine) -> Offer:
    """Let P encrypt its columns once, for all peers."""
    secret = run.local(p, way.secret, run.random(p))
    tag = run.tag()
    body = run.local(p, encrypt_columns, way, secret, columns)
    return Offer(secret, run.local(p, seal_upload, body, tag), tag)


def own_pads(seed: bytes) -> dict[str, bytes]:
    """Return seeds of the masks and of the noise that covers noise."""
    return {name: prf(seed, name.encode()) for name in ("mask", "noise")}


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


def finish_product(way: Engine, secret: bytes, upload: Upload, plan: Plan, reply: Reply, tag: bytes) -> Words:
    """Return P's share S_P, (4)."""
    check_authentic(reply.mac, prf(tag, b"reply", upload.mac, reply.body.tobytes()), "the reply of a product")
    return way.finish(secret, plan, reply.body)


def check_authentic(found: bytes, expected: bytes, what: str) -> None:
    """Refuse a body whose MAC is not that of (5)."""
    if not hmac.compare_digest(found, expected):
        raise PeerError(f"{what} was altered, or is of another run or place: nothing was computed from it; start again")
