"""How a site is: its line to the broker, its peers, its certificate, its clock, its disk, and what waits.

The process that runs looks every `EVERY` seconds; `tacit status`, metrics, the page and `alerts` show the last look.
Ages, sizes and counts of the site itself, and nothing of records.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacit.report.words import count, human_bytes, human_seconds, listing

if TYPE_CHECKING:
    from tacit.consortium.site.common import Site

EVERY = 5.0
CLOCK_EVERY = 300.0  # seconds between looks at the broker's clock
LEAST_DISK = 1 << 30  # bytes; a run of 100,000 records takes a fifth of it
MOST_OFFSET = 30.0  # seconds; a job needs clocks within 60
RENEW_DAYS = (30, 7)  # before its last day a certificate is worth a word
DAY = 86400.0


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at a site found.

    at: when. reachable: whether the broker is. trouble: what is wrong with the connection. unreachable: for how many
    seconds it is. store: of a coordinator, what is wrong with the broker's store. heard: seconds since each member was
    heard of. certificate_days: left, fractions too. clock_offset: seconds by which the clock is ahead of the broker's;
    None: not known. disk_free: bytes. queue: letters that wait to be sent. waiting: jobs that wait for people here.
    """

    at: float
    reachable: bool
    trouble: str = ""
    unreachable: float = 0.0
    store: str = ""
    heard: dict[str, float] = {}
    certificate_days: float
    clock_offset: float | None = None
    disk_free: int
    queue: int = 0
    waiting: tuple[str, ...] = ()


class Complaint(NamedTuple):
    """What a person should do something about: which subject, how bad, and a line that says what to do.

    A subject that gets worse has another degree, and is worth another word.
    """

    subject: str
    degree: int
    says: str


class Watch:
    """Looks at a site now and then."""

    def __init__(self, site: Site, find_store_trouble: Callable[[], str]) -> None:
        self._site, self._find_store_trouble = site, find_store_trouble
        self._looked = self._asked = -CLOCK_EVERY
        self._lost: float | None = None  # when the broker was lost
        self._offset: float | None = None
        self.last = self._look()

    def look(self) -> Health:
        """Return how the site is now, or was a few seconds ago."""
        if time.monotonic() - self._looked >= EVERY:
            self.last = self._look()
        return self.last

    def _look(self) -> Health:
        site, now = self._site, time.monotonic()
        self._looked, reachable = now, site.broker.connected
        self._lost = None if reachable else self._lost or now
        if reachable and now - self._asked >= CLOCK_EVERY:
            self._asked, reading = now, site.read_clock()
            self._offset = None if reading is None else reading.ahead.total_seconds()
        certificate = site.identity.certificate
        left = 0.0 if certificate is None else (certificate.not_valid_after_utc - datetime.now(UTC)).total_seconds()
        return Health(
            at=time.time(),
            reachable=reachable,
            trouble="" if reachable else site.broker.trouble or "it does not answer",
            unreachable=0.0 if self._lost is None else now - self._lost,
            store=self._find_store_trouble(),
            heard={name: now - at for name, at in site.control.heard.items()},
            certificate_days=left / DAY,
            clock_offset=self._offset,
            disk_free=shutil.disk_usage(site.state).free,
            queue=site.control.queue,
            waiting=site.waiting_for_people(),
        )


def complaints_about(health: Health) -> Iterator[Complaint]:
    """Yield what is wrong, the worst first."""
    if health.store:
        yield Complaint("store", 1, health.store)
    if not health.reachable and health.unreachable >= 60.0:  # noqa: PLR2004 - a minute: a restart is no news
        since = human_seconds(health.unreachable)
        yield Complaint("broker", 1, f"the message server was lost {since} ago ({health.trouble}): does it run?")
    for degree, days in enumerate(sorted(RENEW_DAYS), 1):
        if health.certificate_days < days:
            left = f"ends in {count(max(0, int(health.certificate_days)), 'day')}"
            left = left if health.certificate_days > 0 else "has ended"
            worse = len(RENEW_DAYS) + 1 - degree + (health.certificate_days <= 0)
            yield Complaint("certificate", worse, f"the certificate {left}: ask the registrar for tacit keys renew")
            break
    if health.disk_free < LEAST_DISK:
        free = human_bytes(health.disk_free)
        yield Complaint("disk", 1, f"{free} are free where state lies: make room, or move state")
    if health.clock_offset is not None and abs(health.clock_offset) > MOST_OFFSET:
        ahead = "ahead of" if health.clock_offset > 0 else "behind"
        off = f"the clock is {human_seconds(abs(health.clock_offset))} {ahead} the message server's"
        yield Complaint("clock", 1, f"{off}: set it, jobs need clocks within 60 seconds")


def describe_health(health: Health) -> Iterator[tuple[str, str]]:
    """Yield a name and a few words for each thing that was looked at."""
    lost = f"lost {human_seconds(health.unreachable)} ago ({health.trouble}); tried again until it is back"
    yield "message server", "connected" if health.reachable else lost
    if health.store:
        yield "its store", health.store
    if health.heard:
        told = (f"{name} {human_seconds(ago)} ago" for name, ago in sorted(health.heard.items(), key=lambda x: x[1]))
        yield "last heard of", listing(told)
    yield "certificate", f"{count(max(0, int(health.certificate_days)), 'day')} left"
    if health.clock_offset is not None:
        yield "clock", f"{health.clock_offset:+.2f} s from the message server's"
    yield "disk", f"{human_bytes(health.disk_free)} free"
    yield "letters to be sent", str(health.queue)
    waiting = [job[:8] for job in health.waiting]
    yield "waiting for people here", listing(waiting) if waiting else "nothing"
