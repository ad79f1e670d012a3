"""The vault: what must not lie on a disk in the clear, and must be gone when the run is.

    sealed = pieces of nonce AES-256-GCM(key, piece), each bound to its name, its number and how many there are

One random key per journal seals everything, and itself lies in the journal wrapped under a key the party derives from
its identity. Who deletes that one entry has deleted all copies of all that was sealed, also those an SSD kept
elsewhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tacit.errors import LocalError

KEY_BYTES = 32
NONCE = 12
TAG = 16
PIECE = 1 << 26  # AES-GCM takes less than 2 GiB at once; a checkpoint may be larger


class Vault:
    """Seals under one key."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            remedy = "derive it from the party's identity key"
            raise LocalError(f"a journal needs a key of {KEY_BYTES} bytes, got {len(key)}: {remedy}")
        self._aead = AESGCM(key)

    @staticmethod
    def fresh() -> bytes:
        """Return a new key."""
        return secrets.token_bytes(KEY_BYTES)

    def seal(self, name: str, data: bytes) -> bytes:
        """Encrypt data so that it is readable again only under the same key and name."""
        return b"".join(self._seal_pieces(name, memoryview(data)))

    def open(self, name: str, sealed: bytes) -> bytes:
        """Return what was sealed under this name."""
        pieces = list(_cut(memoryview(sealed), NONCE + PIECE + TAG))
        bound = [(piece, _bound(name, i, len(pieces))) for i, piece in enumerate(pieces)]
        try:
            return b"".join(self._aead.decrypt(piece[:NONCE], piece[NONCE:], data) for piece, data in bound)
        except (InvalidTag, ValueError):
            fault = f"the journal's entry {name} was altered, or sealed under another identity key"
            raise LocalError(f"{fault}: use the party's own") from None

    def _seal_pieces(self, name: str, data: memoryview) -> Iterator[bytes]:
        pieces = list(_cut(data, PIECE))
        for i, piece in enumerate(pieces):
            nonce = secrets.token_bytes(NONCE)
            yield nonce + self._aead.encrypt(nonce, piece, _bound(name, i, len(pieces)))


def _cut(data: memoryview, size: int) -> Iterator[memoryview]:
    yield data[:size]
    for start in range(size, len(data), size):
        yield data[start : start + size]


def _bound(name: str, i: int, of: int) -> bytes:
    return f"tacit journal {i}/{of} {name}".encode()
