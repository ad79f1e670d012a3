"""Questions and their replies, which nobody stores. Who waits for a reply asks again under the same number.

    question = msgpack (number, what is asked)          reply = kind "told", msgpack (number, what is told)

The number is random, so that a reply of yesterday, or to another question, is not taken for the reply to this one.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, NamedTuple

import msgspec

from tacit.consortium.membership.names import CONTROL_STREAM
from tacit.runtimes.nats.network import Broker, InterruptedRunError

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


# The broker's clock, by which sites compare theirs whenever they ask, and how long a word there and back takes.
#
# A site asks the server about its own consumer of letters; the answer says when it was given. Sites compare how far
# each clock is from that one, so it matters neither when a site asks nor whether the server's clock is right.


ASKED = 3  # times; the quickest answer tells most exactly
PATIENCE = 2.0  # seconds for one answer
MICROSECONDS = 26  # characters of a time up to its microseconds; the server writes nanoseconds


@dataclass(frozen=True)
class Reading:
    """One look at the broker's clock.

    here: this site's clock, half way between question and answer. there: the broker's, in the answer. round_trip: the
    seconds between both.
    """

    here: datetime
    there: datetime
    round_trip: float

    @property
    def ahead(self) -> timedelta:
        """By how much this site's clock is ahead of the broker's."""
        return self.here - self.there


class _Answer(msgspec.Struct):
    ts: str


def read_clock(broker: Broker, token: str) -> Reading | None:
    """Return the best of a few looks at the broker's clock; None if it does not tell the time just now."""
    try:
        readings = [_look(broker, token) for _ in range(ASKED)]
    except InterruptedRunError:
        raise
    except Exception:  # noqa: BLE001 - a server that is away, or too old to tell, stops no job
        return None
    return min(readings, key=lambda reading: reading.round_trip)  # it is off by half its round trip at most


def parse_time(text: str) -> datetime:
    """Return a time as the server writes it, in UTC and to the nanosecond."""
    day, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{day}.{fraction:0<6}"[:MICROSECONDS]).replace(tzinfo=UTC)


def _look(broker: Broker, token: str) -> Reading:
    subject = f"$JS.API.CONSUMER.INFO.{CONTROL_STREAM}.{token}"
    asked, began = datetime.now(UTC), time.monotonic()
    answer = broker.call(broker.client.request(subject, b"", timeout=PATIENCE))
    took = time.monotonic() - began
    told = parse_time(msgspec.json.decode(answer.data, type=_Answer).ts)
    return Reading(asked + timedelta(seconds=took / 2), told, took)
