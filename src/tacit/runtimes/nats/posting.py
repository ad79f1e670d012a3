"""Posting letters to a stream: the broker has them when it says so, once for all that were posted together.

A broker takes the letters of one connection in order, so its receipt for the last of them stands for all. Should one be
lost all the same (the connection broke between two of them), its receiver misses it and asks for it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

import json
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tacit.errors import PeerError
from tacit.runtimes.nats.network import FETCH, PENDING

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

PATIENCE = 5.0  # seconds for a receipt
RETRY, LONGEST_RETRY = 0.1, 2.0  # seconds until the next attempt: the first time, and at most


class Letter(NamedTuple):
    """Bytes for a subject; the number makes a repetition harmless."""

    subject: str
    data: bytes
    number: str | None = None

    @property
    def headers(self) -> dict[str, str] | None:
        """What tells the broker that it has the letter already."""
        if self.number is None:
            return None
        return {"Nats-Msg-Id": hashlib.sha256(self.number.encode()).hexdigest()[:32]}


class Post:
    """Posts letters over one connection; receipts come to a subject of its own."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._replies = client.new_inbox()
        self._receipts: dict[str, asyncio.Future[bool]] = {}
        self._count = 0
        self._listening: Subscription | None = None

    async def open(self) -> None:
        """Listen for receipts."""
        self._listening = await self._client.subscribe(f"{self._replies}.*", cb=self._hear)

    async def close(self) -> None:
        """Listen no longer."""
        if self._listening is not None:
            with contextlib.suppress(Exception):  # the connection may be gone, and all of it with it
                await self._listening.unsubscribe()

    async def deliver(self, letters: Sequence[Letter]) -> None:
        """Post letters, in order, until the broker has them."""
        pause = RETRY
        while not await self._post(letters):
            await asyncio.sleep(pause)  # a broker that is full says so, and each attempt sends all letters again
            pause = min(2 * pause, LONGEST_RETRY)

    async def _post(self, letters: Sequence[Letter]) -> bool:
        """Post letters once; return whether the broker said that it has them."""
        *first, last = letters
        self._count += 1
        reply = f"{self._replies}.{self._count}"
        loop = asyncio.get_running_loop()
        receipt: asyncio.Future[bool] = loop.create_future()
        self._receipts[reply] = receipt
        alarm = loop.call_later(PATIENCE, _settle, receipt, False)  # noqa: FBT003 - it takes no names
        try:
            for letter in first:
                await self._client.publish(letter.subject, letter.data, headers=letter.headers)
            await self._client.publish(last.subject, last.data, reply=reply, headers=last.headers)
            return await receipt
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001 - whatever the network does, it is tried again
            return False
        finally:
            alarm.cancel()
            del self._receipts[reply]

    async def _hear(self, message: Msg) -> None:
        receipt = self._receipts.get(message.subject)
        if receipt is not None:
            _settle(receipt, _is_receipt(message))


def _settle(receipt: asyncio.Future[bool], told: bool) -> None:  # noqa: FBT001 - the one thing to say
    if not receipt.done():
        receipt.set_result(told)


def _is_receipt(message: Msg) -> bool:
    """Whether the broker says that it has a letter, rather than that no stream takes it."""
    try:
        told = msgspec.json.decode(message.data)
    except msgspec.DecodeError:
        return False
    return isinstance(told, dict) and "stream" in told and "error" not in told


# Taking letters from a consumer of a stream: one request for some of them stands at the broker all the time


BATCH = PENDING  # letters that one request asks for: as many as may be unacknowledged
PACE = 0.25  # seconds that the letters of one request take where others have the right of way
LOST = 0.5  # seconds that an answer of the broker may take: after that a request is made again
NOTHING_YET = frozenset({"404", "408"})


class Inbox:
    """The letters of one consumer, in the order in which the broker hands them out.

    One that gives way asks for no more letters at a time than the line brings in a moment, whatever line it is.
    """

    def __init__(self, client: Client, stream: str, consumer: str, *, gives_way: bool = False) -> None:
        self._client = client
        self._gives_way, self._batch = gives_way, 1 if gives_way else BATCH
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._replies = client.new_inbox()
        self._asked = 0  # requests so far; the last one stands
        self._left, self._since = 0, 0.0  # how many letters it may still bring, and when it was made
        self._letters: list[Msg] = []
        self._trouble: str | None = None
        self._news: asyncio.Future[None] | None = None
        self._listening: Subscription | None = None
        self._draining: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Listen for letters."""
        self._listening = await self._client.subscribe(f"{self._replies}.*", cb=self._take)

    async def close(self) -> None:
        """Listen no longer, and let the broker hand out at once what nobody fetched: it would wait for long else."""
        if self._listening is not None:
            if self._draining is None:
                self._draining = asyncio.ensure_future(_drain(self._listening))
            # never cancelled: nats-py loses its connection over a pong that nobody waits for any more
            await asyncio.wait({self._draining}, timeout=LOST)
        letters, self._letters = self._letters, []
        await give_back(letters)

    async def fetch(self) -> list[Msg]:
        """Return the letters that came, or none after a while; raise if the consumer is gone."""
        if not self._letters and self._trouble is None:
            await self._wait()
        if self._trouble is not None:
            raise PeerError(f"the broker answered {self._trouble}")
        letters, self._letters = self._letters, []
        return letters

    async def _wait(self) -> None:
        now = time.monotonic()
        if self._left <= 0 or now - self._since > FETCH + LOST:
            self._left, self._since = self._batch, now
            self._asked += 1
            request = json.dumps({"batch": self._batch, "expires": int(FETCH * 1e9)}).encode()
            await self._client.publish(self._subject, request, reply=f"{self._replies}.{self._asked}")
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        alarm = loop.call_later(FETCH + LOST, self._wake)
        try:
            await self._news
        finally:
            alarm.cancel()
            self._news = None

    async def _take(self, message: Msg) -> None:
        if not message.subject.startswith(self._replies):
            self._letters.append(message)
            self._left -= 1
            if self._gives_way and not self._left:
                fast = time.monotonic() - self._since < PACE
                self._batch = min(2 * self._batch, BATCH) if fast else max(self._batch // 2, 1)
        elif message.subject != f"{self._replies}.{self._asked}":
            return  # about an earlier request
        elif (status := (message.headers or {}).get("Status")) in NOTHING_YET:
            self._left = 0
        else:
            self._trouble = f"{status} {(message.headers or {}).get('Description', '')}".strip()
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


async def _drain(listening: Subscription) -> None:
    """Take what is on its way, and no more."""
    with contextlib.suppress(Exception):  # the connection may be gone, and all of it with it
        await listening.drain()  # type: ignore[no-untyped-call] # nats-py has not typed it


async def give_back(letters: Iterable[Msg]) -> None:
    """Let the broker hand out letters once more, at once."""
    for letter in letters:
        with contextlib.suppress(Exception):  # it does so by itself after a while
            await letter.nak()
