"""Questions and their replies, which nobody stores. Who waits for a reply asks again under the same number.

    question = msgpack (number, what is asked)          reply = kind "told", msgpack (number, what is told)

The number is random, so that a reply of yesterday, or to another question, is not taken for the reply to this one.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

import msgspec

TOLD = "told"
AGAIN, LONGEST = 1.0, 8.0  # seconds until a question is asked again: the first time, and at most
NUMBER = 16  # bytes of a question's number
Say = Callable[[str, str, bytes], None]


class Question(NamedTuple):
    """A question, or the reply to it, under the question's number."""

    number: Annotated[bytes, msgspec.Meta(max_length=NUMBER)]
    content: bytes


def parse(body: bytes) -> Question:
    """Return a question or a reply."""
    return msgspec.msgpack.decode(body, type=Question)


def reply(say: Say, asker: str, number: bytes, content: bytes) -> None:
    """Send the answer to whoever asked."""
    say(asker, TOLD, msgspec.msgpack.encode((number, content)))


class Asking:
    """The questions of one member; any thread may ask."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._changed = threading.Condition()
        self._open: dict[bytes, str] = {}  # who was asked, by the question's number
        self._told: dict[bytes, bytes] = {}

    def hear(self, sender: str, body: bytes) -> None:
        """Take a reply; one that nobody waits for, or of somebody who was not asked, is left."""
        number, content = parse(body)
        with self._changed:
            if self._open.get(number) == sender:
                self._told[number] = content
                self._changed.notify_all()

    def ask(self, who: str, kind: str, content: bytes, patience: float) -> bytes | None:
        """Return the reply of a member; None if none came in time."""
        number, end, pause = secrets.token_bytes(NUMBER), time.monotonic() + patience, AGAIN
        question = msgspec.msgpack.encode((number, content))
        with self._changed:
            self._open[number] = who
        try:
            while (left := end - time.monotonic()) > 0:
                self._say(who, kind, question)
                with self._changed:
                    if self._changed.wait_for(lambda: number in self._told, timeout=min(pause, left)):
                        return self._told[number]
                pause = min(2 * pause, LONGEST)
        finally:
            with self._changed:
                self._open.pop(number, None)
                self._told.pop(number, None)
        return None
