"""Envelopes: what the broker carries, sealed end to end.

    sealed = nonce || AES-256-GCM(key of sender to receiver, padded plaintext, data: run, sender, receiver)

The two directions of a pair have keys of their own, from the pair's X25519 secret of this run. Sizes are padded to
steps, so that the broker's operator cannot tell a count of 99 from one of 100: a large size to a multiple of a
sixteenth of the power of two below it, so that a slow line carries little in vain.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tacit.crypto.pads.agreement import pair_seed
from tacit.crypto.pads.entropy import prf
from tacit.errors import PeerError

NONCE = 12
STEPS = (256, 1 << 10, 1 << 12)  # bytes; then sixteenths


class Sealer:
    """The keys one party shares with every other in one run."""

    def __init__(self, me: str, private: bytes, publics: Mapping[str, bytes], context: bytes) -> None:
        self.me = me
        self._context = context
        shared = {p: pair_seed(private, key, b"envelope " + context) for p, key in publics.items() if p != me}
        shared[me] = prf(private, b"own envelope", context)  # what a party keeps for itself in its journal
        self._keys = {
            (a, b): AESGCM(prf(secret, b"from", a.encode()))
            for p, secret in shared.items()
            for a, b in {(me, p), (p, me)}
        }

    def __repr__(self) -> str:
        return f"Sealer({self.me})"

    def seal(self, receiver: str, plain: bytes | bytearray) -> bytes:
        """Seal for a receiver."""
        nonce = secrets.token_bytes(NONCE)
        return nonce + self._keys[self.me, receiver].encrypt(nonce, _pad(plain), self._about(self.me, receiver))

    def open(self, sender: str, receiver: str, sealed: bytes) -> bytes:
        """Open what a sender sealed for a receiver, one of whom is this party."""
        try:
            plain = self._keys[sender, receiver].decrypt(sealed[:NONCE], sealed[NONCE:], self._about(sender, receiver))
        except (InvalidTag, ValueError):
            raise PeerError(
                f"a message that claims to be from {sender} was altered, or is of another run: ask the broker's people"
            ) from None
        return _unpad(plain)

    def _about(self, sender: str, receiver: str) -> bytes:
        return b"\0".join((self._context, sender.encode(), receiver.encode()))


def _pad(plain: bytes | bytearray) -> bytes:
    size = len(plain) + 8
    sixteenth = 1 << max(0, size.bit_length() - 5)
    step = next((s for s in STEPS if size <= s), -(-size // sixteenth) * sixteenth)
    return len(plain).to_bytes(8, "little") + plain + bytes(step - size)


def _unpad(padded: bytes) -> bytes:
    size = int.from_bytes(padded[:8], "little")
    if size > len(padded) - 8:
        raise PeerError("a sealed message is shorter than it says")
    return padded[8 : 8 + size]
