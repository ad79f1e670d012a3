"""What goes from one holder to another on a cluster: sealed for its receiver, so that the driver reads none of it.

    each holder        an X25519 key from its root key, which only its executor has; the public one goes to the driver
    the sender         AES-256-GCM under the key of the two, for each receiver (`crypto.pads.envelope`)
    the driver         carries what is sealed, and is told shapes and sizes, which are public
    the receiver       opens it, and has the message

The driver deals the random numbers of a training in shares. It must not read what holders open to each other under
masks that it knows, or it has their records: sealing is what keeps the two apart, as it does between organisations.
NOT protected: a driver that hands out public keys of its own. Who runs it can run any code on the records anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.choreo.codec import Frames, decode_as, encode
from tacit.choreo.message import Message, check_message, for_receiver, shapes
from tacit.crypto.pads.agreement import public_key
from tacit.crypto.pads.entropy import prf
from tacit.crypto.pads.envelope import Sealer

PUBLIC, SHAPE, SIZE, SEALED = "public", "shape", "size", "sealed"
Sealed = Mapping[str, Any]


def make_key(seed: bytes) -> bytes:
    """Return a holder's private key."""
    return prf(seed, b"spark seal")


def show_key(private: bytes) -> dict[str, bytes]:
    """Return the public key, as the driver is told it."""
    return {PUBLIC: public_key(private)}


def seal_message(
    message: Any,
    me: str,
    private: bytes,
    publics: Mapping[str, bytes],
    run: bytes,
    kind: type[Message],
    to: Sequence[str],
) -> dict[str, Any]:
    """Return the message, or that of each receiver, sealed; with its shape and size by receiver."""
    sealer = Sealer(me, private, {p: publics[p] for p in to}, run)
    told: dict[str, Any] = {SHAPE: {}, SIZE: {}, SEALED: {}}
    for receiver in to:
        own = check_message(for_receiver(message, receiver), kind, me, receiver)
        frames = encode(own)
        told[SHAPE][receiver], told[SIZE][receiver] = shapes(own), frames.nbytes
        told[SEALED][receiver] = sealer.seal(receiver, frames.join())
    return told


def open_messages(
    sealed: Mapping[str, bytes], me: str, private: bytes, publics: Mapping[str, bytes], run: bytes, kind: type[Message]
) -> dict[str, Any]:
    """Return the messages by sender."""
    sealer = Sealer(me, private, {p: publics[p] for p in sealed}, run)
    opened = {sender: sealer.open(sender, me, bytes(each)) for sender, each in sealed.items()}
    return {sender: decode_as(kind, Frames.split(memoryview(data))) for sender, data in opened.items()}


def open_message(sealed: Mapping[str, bytes], *args: Any) -> Any:
    """Return the one message."""
    (found,) = open_messages(sealed, *args).values()
    return found
