"""Between organisations: the connection to NATS JetStream, in one background thread, and the streams of runs.

Streams are file-backed. Every party has two durable pull consumers, of which one has what the coordinator sends: a run
waits for the letters of the others, and dealt bytes, which nobody waits for yet, must not lie before them on a slow
line. A party acknowledges a message only when its journal has it. A message's id makes publishing it twice harmless. At
most `PENDING` messages of a consumer are unacknowledged, so that a slow party exhausts nobody's memory. What a run
sends is the work of its courier (`runtimes.nats.courier`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tacit.errors import LocalError
from tacit.runtimes.nats.dialling import dial

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.api import StreamConfig
    from nats.js.client import JetStreamContext

PENDING = 64
RUN_BYTES = 512 << 20  # of a run that may lie at the broker: more are refused, and sent again when some were read
FETCH = 1.0  # seconds that a request for letters stands: one that a server took with it is never answered
DIFFERENT = 10058  # the server's word for: there is such a stream, and its configuration is another
T = TypeVar("T")

# asyncio's complaint about how nats-py ends a TLS connection; nothing is lost by it
logging.getLogger("asyncio").addFilter(lambda record: "eof_received" not in str(record.msg))


class InterruptedRunError(LocalError):
    """This process is ending; the run goes on from its journal at the next start."""

    def __init__(self) -> None:
        super().__init__("this site was told to stop: the run goes on at its next start")


class Broker:
    """A connection to the broker that a thread of its own keeps up."""

    def __init__(self, servers: Sequence[str], tls: ssl.SSLContext, token: str, *, proxy: str | None = None) -> None:
        self._servers, self._tls, self._proxy = list(servers), tls, proxy
        self.token = token
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tacit-network", daemon=True)
        self._client: Client | None = None
        self.ending = False
        self.trouble: str | None = None  # what is wrong with the connection now, for people

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.call(self._connect())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.ending = True
        if self._client is not None:
            with contextlib.suppress(
                Exception
            ):  # nats-py stumbles over a connection that is down or being made; all of it ends below
                self.call(self._client.close())
        self._end()

    def _end(self) -> None:
        self.call(_quiet())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the network thread, and wait for it."""
        try:
            return self.begin(work).result()
        except CancelledError:  # the network thread is ending
            raise InterruptedRunError from None

    def wake(self, event: asyncio.Event) -> None:
        """Set an event of the network thread."""
        with self._open_loop():
            self._loop.call_soon_threadsafe(event.set)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the network thread, without waiting for it."""
        try:
            with self._open_loop():
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        except InterruptedRunError:
            work.close()
            raise

    @contextlib.contextmanager
    def _open_loop(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError:
            if self._loop.is_closed():
                raise InterruptedRunError from None
            raise

    @property
    def connected(self) -> bool:
        """Whether the connection is up now."""
        return self._client is not None and bool(self._client.is_connected)

    @property
    def client(self) -> Client:
        """The connection, which is made by then."""
        if self._client is None:
            raise LocalError("not connected to the broker")
        return self._client

    async def _connect(self) -> None:
        def heard(error: Exception | None) -> None:
            if type(error).__name__ == "SlowConsumerError":  # a member talks too much, and the rest of it was dropped
                return
            self.trouble = None if error is None else " ".join(f"{type(error).__name__}: {error}".split())

        self._client = await dial(self._servers, self._tls, f"_INBOX_{self.token}", heard, proxy=self._proxy)


async def _quiet() -> None:
    """Let every task of the network thread end before its loop does."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def open_stream(broker: Broker, run: str, tokens: Mapping[str, str]) -> None:
    """Make the stream and the consumers of a run; its coordinator does, before anybody is told to start."""
    # an extra
    from nats.js.api import (  # noqa: PLC0415
        AckPolicy,
        ConsumerConfig,
        DiscardPolicy,
        RetentionPolicy,
        StorageType,
        StreamConfig,
    )

    js = broker.client.jetstream()
    await ensure_stream(
        js,
        StreamConfig(
            name=stream_of(run),
            subjects=[f"t.{run}.{token}.*" for token in tokens.values()],  # nobody else's are stored
            storage=StorageType.FILE,
            # what was acknowledged is in a journal, and the broker's disk is free of it
            retention=RetentionPolicy.WORK_QUEUE,
            discard=DiscardPolicy.NEW,
            max_bytes=RUN_BYTES,
            duplicate_window=120,
        ),
    )
    others = [token for token in tokens.values() if token != broker.token]
    for token in tokens.values():
        for name, senders in ((token, others), (dealt_to(token), [broker.token])):
            config = ConsumerConfig(
                durable_name=name,
                filter_subjects=[f"t.{run}.{sender}.{token}" for sender in senders],
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=10,
                max_ack_pending=PENDING,
            )
            await js.add_consumer(stream_of(run), config)


def dealt_to(token: str) -> str:
    """Return the name of a party's consumer of what the coordinator sends it."""
    return f"{token}-dealt"


async def ensure_stream(js: JetStreamContext, config: StreamConfig) -> None:
    """Make a stream with this configuration.

    One that cannot be changed to it is made anew, and its messages are sent again.
    """
    from nats.js.errors import APIError  # noqa: PLC0415 - an extra

    try:
        await js.add_stream(config)
    except APIError as error:
        if error.err_code != DIFFERENT:
            raise
        try:
            await js.update_stream(config)
        except APIError:
            await js.delete_stream(config.name or "")
            await js.add_stream(config)


async def delete_stream(broker: Broker, run: str) -> None:
    """Delete the stream of a run that is over; one that is gone already is no error."""
    from nats.js.errors import NotFoundError  # noqa: PLC0415 - an extra

    with contextlib.suppress(NotFoundError):
        await broker.client.jetstream().delete_stream(stream_of(run))


def stream_of(run: str) -> str:
    """Return the name of a run's stream."""
    return f"R{run}"
