"""Sealing: AES-256-GCM under a key made for one message.

The nonce is zero, so a key must never seal two different messages: derive it from all that makes the message unique.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
NONCE = bytes(12)
OVERHEAD = 16  # bytes a box is longer than its content


def seal(key: bytes, content: bytes, context: bytes) -> bytes:
    """Return a box that only this key opens, and only in this context."""
    return _cipher(key).encrypt(NONCE, content, context)


def unseal(key: bytes, box: bytes, context: bytes) -> bytes:
    """Return the content; raise ValueError for another key, another context or an altered box."""
    try:
        return _cipher(key).decrypt(NONCE, box, context)
    except InvalidTag:
        raise ValueError("the box was altered, or sealed under another key or for another context") from None


def _cipher(key: bytes) -> AESGCM:
    if len(key) != KEY_BYTES:
        raise ValueError(f"sealing needs a key of {KEY_BYTES} bytes, got {len(key)}")
    return AESGCM(key)
