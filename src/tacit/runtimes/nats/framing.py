"""What is inside a seal: a head and a part of a message or a letter.

    plain = length of the head (4 bytes, little-endian), head, part;    head = msgpack (text, text, number, number)

In a run the head is (kind, place, chunk, number of chunks); `consortium.broker.letters` says what it is in a letter.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tacit.errors import PeerError

CHUNK = 511 * 1024  # bytes of a part; with its head a step of 512 KiB
SEALED_CHUNK = 512 * 1024 + 28  # that step with nonce and tag
T = TypeVar("T")
Head = tuple[str, str, int, int]


def frame(head: Head, body: bytes | memoryview = b"") -> bytes:
    """Return head and part as bytes."""
    header = msgspec.msgpack.encode(head)
    return b"".join((len(header).to_bytes(4, "little"), header, body))


def unframe(plain: bytes, sender: str) -> tuple[Head, memoryview]:
    """Return the head and the part that this sender framed."""
    view = memoryview(plain)
    size = int.from_bytes(view[:4], "little")
    return decode_as(view[4 : 4 + size], tuple[str, str, int, int], sender), view[4 + size :]


def decode_as(data: memoryview, kind: type[T], sender: str) -> T:
    """Return what this sender wrote as msgpack, of a declared type."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (ValueError, RecursionError):
        raise PeerError(f"{sender} sent a malformed letter: does it run the same version?") from None
