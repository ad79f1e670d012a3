"""Paillier cell by cell, as 001's Algorithm 1 has it.

    E(a)^b E(s; z) = E(ab + s),        z fresh, and so long that it hides what became of the noise in E(a)          (1)

Ciphertexts are rows of bytes, and keys are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import gmpy2
import numpy as np

from tacit.arrays import I64, U8
from tacit.crypto.pads.entropy import words_of
from tacit.papers.gram.engines.paillier import (
    Integer,
    Powers,
    PublicKey,
    SecretKey,
    ciphers_from_bytes,
    ciphers_to_bytes,
    exponents,
    public_key,
)


def new_key(seed: bytes, bits: int) -> bytes:
    """Return the secret key of 32 secret bytes."""
    return SecretKey.from_seed(seed, bits).to_bytes()


def public_of(secret: bytes, bits: int) -> bytes:
    """Return the public key of a secret key."""
    return SecretKey.from_bytes(secret, bits).public.to_bytes()


def encrypt(values: Sequence[int], key: bytes, bits: int, seed: bytes, factor: int = 0) -> U8:
    """Return E(s; z) of each value; with `factor` z is long enough for (1) with exponents that add up to it."""
    public = public_key(key, bits)
    length = public.noise_bits(factor)
    words = words_of(seed, -(-length // 64) * len(values))
    noise = exponents(words, len(values), length) if values else []
    powers = Powers(public.base, public.square, length, max(1, len(values)))
    return _rows([public.encrypt(s, powers.times(1, z)) for s, z in zip(values, noise, strict=True)], public)


def raise_ciphers(totals: U8, ciphers: U8, uses: I64, key: bytes, bits: int) -> U8:
    """Return (1): for every use (t, c, b) total t times cipher c to the b, which may be negative."""
    public = public_key(key, bits)
    found, given = _read(totals, public), _read(ciphers, public)
    for t, c, b in uses.tolist():
        found[t] = found[t] * gmpy2.powmod(given[c], b, public.square) % public.square
    return _rows(found, public)


def multiply(left: U8, right: U8, key: bytes, bits: int) -> U8:
    """Return E(a) E(b) = E(a + b), row by row."""
    public = public_key(key, bits)
    pairs = zip(_read(left, public), _read(right, public), strict=True)
    return _rows([a * b % public.square for a, b in pairs], public)


def decrypt(ciphers: U8, secret: bytes, bits: int) -> I64:
    """Return the integers of least size that the ciphertexts hold."""
    key = SecretKey.from_bytes(secret, bits)
    found = [key.decrypt(c) for c in _read(ciphers, key.public)]
    return np.array([int(v - key.public.n if v > key.public.n // 2 else v) for v in found], dtype=np.int64)


def _rows(ciphers: Sequence[Integer], key: PublicKey) -> U8:
    return np.frombuffer(ciphers_to_bytes(ciphers, key), np.uint8).reshape(-1, key.nbytes)


def _read(rows: U8, key: PublicKey) -> list[Integer]:
    return ciphers_from_bytes(rows.tobytes(), key)
