"""Pads: a 32-byte key becomes a stream of uniform words of Z_2^64.

AES-256 in counter mode over zeros. Each key is derived for one use (see `entropy`), so the counter starts at zero.
The stream is made 128 KiB at a time into one reused buffer: a large pad never exists as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

KEY_BYTES = 32
WORDS = 1 << 14  # 128 KiB: stays in the second-level cache
ZEROS = bytes(WORDS * 8)


def stream(key: bytes, words: int) -> Iterator[NDArray[np.uint64]]:
    """Return the first words under a key, in chunks; a chunk is overwritten by the next."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a pad needs a key of {KEY_BYTES} bytes, got {len(key)}")
    return _chunks(key, words)


def words_of(key: bytes, count: int) -> NDArray[np.uint64]:
    """Return the first words under a key, in one array."""
    chunks = [chunk.copy() for chunk in stream(key, count)]
    return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.uint64)


def _chunks(key: bytes, words: int) -> Iterator[NDArray[np.uint64]]:
    encryptor = Cipher(AES(key), CTR(bytes(16))).encryptor()
    buffer = np.empty(WORDS, dtype="<u8")
    into = buffer.data.cast("B")
    for start in range(0, words, WORDS):
        n = min(WORDS, words - start)
        encryptor.update_into(ZEROS[: n * 8] if n < WORDS else ZEROS, into)
        yield buffer[:n]
