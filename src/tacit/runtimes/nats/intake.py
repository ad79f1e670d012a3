"""What arrived for a run and is not in its journal yet.

The network thread opens letters as they come and lays them here. The thread that plays the run writes them down: it is
woken once, when all that it waits for is here, and commits it in one batch. While it computes, or waits for more, a
worker writes down what lies here, before it is acknowledged. So a message changes threads once on its way in.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nats.aio.msg import Msg

from typing import TypeVar

import msgspec

from tacit.errors import PeerError

Origin = tuple[str, str]  # place and sender of a message
READY = 4 << 20  # bytes of opened messages that are kept for a run that has not come to them; the journal has them all


class Arrival(NamedTuple):
    """A letter that was opened; `letter` is what is acknowledged."""

    sender: str
    head: Head
    body: memoryview
    letter: Msg

    @property
    def origin(self) -> Origin:
        """Which message it is of."""
        return self.head[1], self.sender

    @property
    def whole(self) -> bool:
        """Whether it is a message in one chunk, which nobody needs before all that is waited for is here."""
        kind, _, _, of = self.head
        return kind == "message" and of == 1


class Intake:
    """Letters between the network thread, which lays them down, and whoever writes them into the journal."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lying: list[Arrival] = []
        self._awaited: set[Origin] | None = None  # None while nobody waits
        self._told = False
        self._ready: dict[Origin, memoryview] = {}
        self._size = 0

    def lay(self, arrivals: Sequence[Arrival]) -> None:
        """Lay letters down; wake who waits once nothing is missing, or at once for what is no whole message."""
        with self._changed:
            self._lying += arrivals
            if self._awaited is not None:
                self._awaited.difference_update(each.origin for each in arrivals)
                if not self._awaited or not all(each.whole for each in arrivals):
                    self._changed.notify()

    def take(self) -> list[Arrival]:
        """Return what lies here, for who writes it down next."""
        with self._changed:
            lying, self._lying = self._lying, []
            return lying

    def tell(self) -> None:
        """Wake who waits: something was written down, or went wrong."""
        with self._changed:
            self._told = True
            self._changed.notify()

    def wait(self, awaited: Collection[Origin], timeout: float) -> None:
        """Wait until these messages are here, or anything else than a message, or `tell` was called."""
        with self._changed:
            if not self._lying and not self._told:
                self._awaited = set(awaited)
                self._changed.wait(timeout)
                self._awaited = None
            self._told = False

    # Messages that are in the journal, and that the run has not come to

    def keep_ready(self, arrivals: Sequence[Arrival]) -> None:
        """Keep opened messages, so that they need not be read and opened again; where it is too much, they are."""
        with self._changed:
            for each in arrivals:
                if each.whole and self._size + len(each.body) <= READY:
                    self._ready[each.origin] = each.body
                    self._size += len(each.body)

    def fetch_ready(self, origin: Origin) -> memoryview | None:
        """Return the body of a message that is ready, once."""
        with self._changed:
            body = self._ready.pop(origin, None)
            if body is not None:
                self._size -= len(body)
            return body


# What is inside a seal: a head and a part of a message or a letter.
#
#     plain = length of the head (4 bytes, little-endian), head, part;    head = msgpack (text, text, number, number)
#
# In a run the head is (kind, place, chunk, number of chunks); `consortium.broker.letters` says what it is in a letter.


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
