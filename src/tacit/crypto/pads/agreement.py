"""Pair seeds: two parties that exchanged X25519 public keys share 32 bytes that nobody else knows."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def public_key(private: bytes) -> bytes:
    """Return the public key of 32 private bytes."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def pair_seed(private: bytes, theirs: bytes, context: bytes) -> bytes:
    """Return the seed shared with the owner of `theirs`; the same at both ends if both know the same context.

    Raises ValueError for a public key that is no key (wrong length, or of small order).
    """
    return pair_seeds(private, {"": theirs}, context)[""]


def pair_seeds(private: bytes, theirs: Mapping[str, bytes], context: bytes) -> dict[str, bytes]:
    """Return the seeds shared with the owners of several public keys, by their names."""
    mine = X25519PrivateKey.from_private_bytes(private)
    own = mine.public_key().public_bytes_raw()
    return {name: _derive(mine, own, key, context) for name, key in theirs.items()}


def _derive(mine: X25519PrivateKey, own: bytes, theirs: bytes, context: bytes) -> bytes:
    secret = mine.exchange(X25519PublicKey.from_public_bytes(theirs))
    keys = b"".join(sorted((own, theirs)))  # in the derivation they bind the seed to this very exchange
    return HKDF(SHA256(), length=32, salt=keys, info=b"tacit pair seed " + context).derive(secret)
