"""Oblivious transfer of keys, and the pads that they are stretched to.

The sender has two keys at each of PLACES places, the receiver chose one of the two at each, by the bits s:

    A = a G,      B_i = b_i G + s_i A,      k_i0 = H(i, A, B_i, a B_i),   k_i1 = H(i, A, B_i, a (B_i - A))          (1)
    the receiver has H(i, A, B_i, b_i A), which is k_i0 or k_i1 as s_i says                                         (2)

To the sender B_i is uniform whatever s_i is. The receiver would need a^2 G for the other key (computational
Diffie-Hellman, H a random oracle). Keys become tables of bits, a row of PLACES bits for each column:

    t0, t1:  AES-256-CTR under k_i0 and under k_i1 at place i;         t_s = t0 + s AND (t0 + t1)                   (3)

The sender has t0 and t1, the receiver t_s; the rest is uniform to it.

Source: Chou, Orlandi: The simplest protocol for oblivious transfer, LATINCRYPT 2015; Ishai, Kilian, Nissim, Petrank:
Extending oblivious transfers efficiently, CRYPTO 2003 (3).
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tacit.arrays import U8, U64
from tacit.crypto.pads.entropy import prf
from tacit.crypto.sets.oprf import POINT, load_sodium, make_scalar, raise_points
from tacit.errors import PeerError

WIDTH = 7  # words of a row
PLACES = 64 * WIDTH
KEY = 32  # bytes
STEP = 128  # columns a block of AES gives a place
CHUNK = 1 << 14  # columns that are stretched at a time: these stay in the second cache
NOBODY = bytes(POINT)  # the identity, which is no public point


def make_offer(seed: bytes) -> U8:
    """Return A of (1)."""
    return _points([load_sodium().crypto_scalarmult_ristretto255_base(make_scalar(seed))]).reshape(POINT)


def choose(offer: U8, seed: bytes) -> tuple[U8, U8]:
    """Return B_i of (1) and the chosen keys of (2)."""
    sodium, A = load_sodium(), offer.tobytes()
    secrets = [make_scalar(prf(seed, b"place", i.to_bytes(8, "little"))) for i in range(PLACES)]
    shared = [raise_points(offer[None], b) for b in secrets]  # refuses an offer that is no point
    bits = np.unpackbits(draw_choices(seed).view(np.uint8), bitorder="little")
    # the identity is added where A is not, so that both take as long
    B = [
        sodium.crypto_core_ristretto255_add(sodium.crypto_scalarmult_ristretto255_base(b), A if bit else NOBODY)
        for b, bit in zip(secrets, bits, strict=True)
    ]
    return _points(B), _keys([_hash(i, A, B[i], shared[i].tobytes()) for i in range(PLACES)])


def draw_choices(seed: bytes) -> U64:
    """Return the bits s, place by place, as the words of a row."""
    drawn = blake2b(seed, digest_size=8 * WIDTH, person=b"tacit choices").digest()
    return np.frombuffer(drawn, "<u8").astype(np.uint64)


def make_keys(seed: bytes, choices: U8) -> tuple[U8, U8]:
    """Return the keys k_0 and the keys k_1 of (1)."""
    if choices.shape != (PLACES, POINT):
        raise PeerError(f"{PLACES} points must be chosen, these came in shape {choices.shape}: stop and ask the sender")
    sodium, a, A = load_sodium(), make_scalar(seed), make_offer(seed)
    under, off = raise_points(choices, a), raise_points(A[None], a).tobytes()
    first = [_hash(i, A.tobytes(), choices[i].tobytes(), under[i].tobytes()) for i in range(PLACES)]
    less = [sodium.crypto_core_ristretto255_sub(under[i].tobytes(), off) for i in range(PLACES)]
    second = [_hash(i, A.tobytes(), choices[i].tobytes(), less[i]) for i in range(PLACES)]
    return _keys(first), _keys(second)


def stretch(keys: U8, start: int, stop: int) -> U64:
    """Return the rows of these columns, (3); the first is a multiple of STEP."""
    from tacit.crypto.sets.bit_loops import transpose_bits  # noqa: PLC0415 - it takes a second to load

    streams = [Cipher(AES(key.tobytes()), CTR((start // STEP).to_bytes(16, "big"))).encryptor().update for key in keys]
    out = np.empty((stop - start, WIDTH), np.uint64)
    for at in range(0, len(out), CHUNK):
        columns = min(CHUNK, -(-(len(out) - at) // STEP) * STEP)
        zeros, rows = bytes(columns // 8), np.empty((columns, WIDTH), np.uint64)
        made = np.array([np.frombuffer(stream(zeros), "<u8") for stream in streams])
        transpose_bits(made, rows)
        out[at : at + columns] = rows[: len(out) - at]
    return out


def _hash(place: int, *parts: bytes) -> bytes:
    return blake2b(b"".join((place.to_bytes(8, "little"), *parts)), digest_size=KEY, person=b"tacit transfer").digest()


def _points(found: list[bytes]) -> U8:
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, POINT)


def _keys(found: list[bytes]) -> U8:
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, KEY)
