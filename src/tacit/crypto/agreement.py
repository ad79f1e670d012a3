"""Pair seeds: two parties that exchanged X25519 public keys share 32 bytes that nobody else knows."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def public_key(private: bytes) -> bytes:
    """The public key of 32 private bytes."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def pair_seed(private: bytes, theirs: bytes, context: bytes) -> bytes:
    """The seed shared with the owner of `theirs`; the same at both ends if both know the same context.

    Raises ValueError for a public key that is no key (wrong length, or of small order).
    """
    mine = X25519PrivateKey.from_private_bytes(private)
    secret = mine.exchange(X25519PublicKey.from_public_bytes(theirs))
    # both public keys in the derivation bind the seed to this very exchange
    keys = b"".join(sorted((mine.public_key().public_bytes_raw(), theirs)))
    return HKDF(SHA256(), length=32, salt=keys, info=b"tacit pair seed " + context).derive(secret)
