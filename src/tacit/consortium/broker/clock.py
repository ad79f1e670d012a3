"""The broker's clock, by which sites compare theirs whenever they ask, and how long a word there and back takes.

A site asks the server about its own consumer of letters; the answer says when it was given. Sites compare how far each
clock is from that one, so it matters neither when a site asks nor whether the server's clock is right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from tacit.consortium.membership.names import CONTROL_STREAM
from tacit.runtimes.nats.network import Broker, InterruptedRunError

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
