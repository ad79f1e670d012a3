"""A function that each other holder can compute anywhere, and the first holder at its own ids only: equation (1).

The problem. P_k shall have a secret function F_k, and P_1 its values at X_1, while P_k learns nothing of X_1, and P_1
nothing of F_k elsewhere. P_1 encodes its ids once for all k, as a key-value store (`crypto.sets.key_value_store`), and
transfers it to each k under pads of which k has half (`crypto.sets.transfer`):

    C(x) = BLAKE2b(salt, x), 448 bits;      P: store  x -> C(x)  for x in X_1                                       (1a)
    P_1 sends U_k = t0 + t1 + P and keeps v_k = t0;     P_k has K_k = t_s + s_k AND U_k = v_k + s_k AND P           (1b)
    F_k(x) = H(x, K_k(x) + s_k AND C(x)) = H(x, v_k(x) + s_k AND (P(x) + C(x)));    P_1 computes H(x, v_k(x))        (1)

v(x), K(x) and P(x) are reads of the store, which are sums of columns. In X_1 P(x) + C(x) is zero. Elsewhere it is
uniform and has fewer than 128 ones with probability 2^-66.5 an id, and P_1 would have to guess as many bits of s_k.

Roles. Holder: P_1 has ids to evaluate at; all others have functions.

Threat. Semi-honest. P_k sees U_k under pads of which it lacks one at each place; one P serves all k, since their pads
are independent. P_1 sees uniform points. The salt is bound to the size of X_1, which is published before. Pads are
bound to the ids of P_1: a run that is taken up again with other ids puts them under other pads, since U + U' under the
same ones would show P + P'. Rests on computational Diffie-Hellman in ristretto255, AES, and BLAKE2b as a random oracle.

Not protected: a P_1 that deviates may encode other things than ids and so learn bits of s_k.

Source: Kolesnikov, Kumaresan, Rosulek, Trieu: Efficient batched oblivious PRF with applications to private set
intersection, CCS 2016 (1); Raghuraman, Rindal: Blazing fast PSI from improved OKVS and subfield VOLE, CCS 2022 (the
store in it).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from hashlib import blake2b

import numpy as np

from tacit.arrays import U8, U64
from tacit.choreo import At, Holder, Message, PeerError, Role, Run
from tacit.crypto.pads.entropy import prf
from tacit.crypto.sets import key_value_store, row_hash, transfer
from tacit.crypto.sets.oprf import POINT, VALUE
from tacit.protocols.facts import UNIFORM

Keys = tuple[U8, U8]
ROWS = 1 << 16  # ids that are hashed at a time: their long rows are never all there


class Offer(
    Message,
    tells=UNIFORM,
):
    """A point under a secret scalar of P_1."""

    point: U8


class Choices(
    Message,
    tells=UNIFORM,
):
    """A point for each place, which hides the bit s_k there."""

    points: U8


class Masked(
    Message,
    tells=UNIFORM,
):
    """Some columns of U_k, (1b)."""

    words: U64


def blind_values(
    run: Run, ids: At[U8], leader: Role, others: Sequence[Role], salt: At[bytes], *, size: int, block: int
) -> tuple[At[U64], dict[Role, At[U64]]]:
    """Return (1): at P_1 the XOR over k of F_k at its own ids, and at each k its F_k at its own."""
    columns = key_value_store.count_columns(size)
    secret = run.random(Holder)
    bound = run.local(leader, bind_secret, ids, secret)
    offers = {k: run.send(Offer, leader >> k, run.local(leader, make_offer, bound, str(k))) for k in others}
    chosen = {k: run.local(k, choose_keys, offer, secret) for k, offer in offers.items()}
    points = {k: run.send(Choices, k >> leader, run.local(k, show_choices, keys)) for k, keys in chosen.items()}
    keys = {k: run.local(leader, make_keys, bound, str(k), told) for k, told in points.items()}
    P = run.local(leader, encode_ids, ids, salt, columns)
    K = receive_codes(run, P, keys, chosen, secret, leader, size=size, block=block)
    asked = run.local(leader, ask_values, ids, salt, columns, *keys.values())
    return asked, {k: run.local(k, evaluate, ids, K, secret, salt) for k in others}


def receive_codes(
    run: Run,
    P: At[U64],
    keys: dict[Role, At[Keys]],
    chosen: dict[Role, At[Keys]],
    secret: At[bytes],
    leader: Role,
    *,
    size: int,
    block: int,
) -> At[U64]:
    """Return K_k of (1b) at each k, some columns in each round."""
    columns, step = key_value_store.count_columns(size), round_block(block)
    s = run.carry(K=run.local(Holder, start_empty))
    for t in run.rounds(count_blocks(size, block), s):
        start, stop = t * step, min(columns, (t + 1) * step)
        told = {
            k: run.send(Masked, leader >> k, run.local(leader, mask_codes, P, both, start, stop))
            for k, both in keys.items()
        }
        new = {str(k): run.local(k, unmask_codes, s.K, told[k], chosen[k], secret, start, stop) for k in keys}
        s.K = run.unite(Holder, {str(leader): run.local(leader, start_empty), **new})
    received: At[U64] = s.K
    return received


def count_blocks(size: int, block: int) -> int:
    """Return in how many rounds the codes of so many ids are sent."""
    return -(-key_value_store.count_columns(size) // round_block(block))


def round_block(block: int) -> int:
    """Return how many columns are sent at once: pads are drawn in steps."""
    return -(-block // transfer.STEP) * transfer.STEP


# Steps of the transfer


def bind_secret(ids: U8, secret: bytes) -> bytes:
    """Return a secret of P_1 for these ids only: others come under other pads."""
    return prf(secret, blake2b(ids.tobytes(), digest_size=32).digest())


def make_offer(bound: bytes, to: str) -> Offer:
    """Return the point for P_k, of a scalar of its own."""
    return Offer(transfer.make_offer(prf(bound, to.encode())))


def choose_keys(offer: Offer, secret: bytes) -> Keys:
    """Return the points that hide the bits s_k, and the keys that P_k has by them."""
    if offer.point.shape != (POINT,):
        raise PeerError(
            f"an offer is a point of {POINT} bytes, this one came in shape {offer.point.shape}: stop and ask"
        )
    return transfer.choose(offer.point, secret)


def show_choices(chosen: Keys) -> Choices:
    """Return the points, without the keys."""
    return Choices(chosen[0])


def make_keys(bound: bytes, to: str, told: Choices) -> Keys:
    """Return both keys of every place, for P_k."""
    return transfer.make_keys(prf(bound, to.encode()), told.points)


# Steps of (1a) and (1b)


def encode_ids(ids: U8, salt: bytes, columns: int) -> U64:
    """Return P of (1a); columns without a pivot may be zero, since pads hide all of them."""
    rows = key_value_store.place_bands(ids, salt, columns)
    codes = code_ids(ids, salt)
    return key_value_store.fill(rows, codes, np.zeros((columns, codes.shape[1]), np.uint64))


def code_ids(ids: U8, salt: bytes) -> U64:
    """Return C of (1a)."""
    return row_hash.words(ids, transfer.WIDTH, use=b"tacit code", key=salt)


def start_empty() -> U64:
    """Return a table without columns."""
    return np.zeros((0, transfer.WIDTH), np.uint64)


def mask_codes(P: U64, keys: Keys, start: int, stop: int) -> Masked:
    """Return some columns of U_k."""
    return Masked(P[start:stop] ^ transfer.stretch(keys[0], start, stop) ^ transfer.stretch(keys[1], start, stop))


def unmask_codes(before: U64, told: Masked, chosen: Keys, secret: bytes, start: int, stop: int) -> U64:
    """Return K_k with the columns that arrived."""
    if told.words.shape != (stop - start, before.shape[1]):  # the loops that read them check no bounds
        raise PeerError(
            f"{stop - start} masked columns were due, and shape {told.words.shape} came: stop and ask the sender"
        )
    return np.vstack([before, transfer.stretch(chosen[1], start, stop) ^ (transfer.draw_choices(secret) & told.words)])


# Steps of (1)


def ask_values(ids: U8, salt: bytes, columns: int, *keys: Keys) -> U64:
    """Return the XOR over k of F_k at P_1's ids."""
    rows = key_value_store.place_bands(ids, salt, columns)
    tables = (transfer.stretch(first, 0, columns) for first, _ in keys)
    return reduce(np.bitwise_xor, (hash_outputs(ids, key_value_store.read(v, rows)) for v in tables))


def evaluate(ids: U8, K: U64, secret: bytes, salt: bytes) -> U64:
    """Return F_k at one's own ids."""
    under = key_value_store.read(K, key_value_store.place_bands(ids, salt, len(K)))
    under ^= transfer.draw_choices(secret) & code_ids(ids, salt)
    return hash_outputs(ids, under)


def hash_outputs(ids: U8, under: U64) -> U64:
    """Return H of (1)."""
    done = [
        row_hash.words(
            np.hstack([ids[at : at + ROWS], under[at : at + ROWS].view(np.uint8)]), VALUE, use=b"tacit blind"
        )
        for at in range(0, len(ids), ROWS)
    ]
    return np.vstack(done)
