"""Between organisations: NATS JetStream carries sealed chunks; all networking lives in one background thread.

Streams are file-backed; every party has one durable pull consumer and acknowledges a message only when its journal has
it. A message's id makes publishing it twice harmless. At most `WINDOW` chunks are under way from a sender, and at most
`PENDING` unacknowledged at a receiver, so that a slow party exhausts nobody's memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import ssl
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import msgspec

from tacit.choreo.codec import Frames
from tacit.crypto.envelope import Sealer
from tacit.errors import LocalError, MissingExtraError, PeerError
from tacit.runtimes.apart import StoppedError, shown

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

CHUNK = 512 * 1024
WINDOW, PENDING, BATCH = 8, 64, 16
BEAT, GREET = 5.0, 1.0
T = TypeVar("T")

# asyncio's complaint about how nats-py ends a TLS connection; nothing is lost by it
logging.getLogger("asyncio").addFilter(lambda record: "eof_received" not in str(record.msg))


class Broker:
    """A connection that is kept up for ever by a thread of its own."""

    def __init__(self, servers: Sequence[str], tls: ssl.SSLContext, token: str, *, proxy: str | None = None) -> None:
        self._servers, self._tls, self._proxy = list(servers), tls, proxy
        self.token = token
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tacit-network", daemon=True)
        self._client: Client | None = None
        self.trouble: str | None = None  # the last refusal of the server, for people

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.call(self._connect())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self.call(self._client.close())
        self._end()

    def _end(self) -> None:
        self.call(_quiet())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run in the network thread and wait for it."""
        return self.begin(work).result()

    def wake(self, event: asyncio.Event) -> None:
        """Set an event of the network thread."""
        self._loop.call_soon_threadsafe(event.set)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run in the network thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    @property
    def client(self) -> Client:
        """The connection."""
        if self._client is None:
            raise LocalError("not connected to the broker")
        return self._client

    async def _connect(self) -> None:
        try:
            import nats  # noqa: PLC0415 - an extra
        except ImportError:
            raise MissingExtraError("the runtime between organisations", "nats") from None

        async def heard(error: Exception) -> None:
            self.trouble = f"{type(error).__name__}: {error}"

        try:
            self._client = await nats.connect(
                self._servers,
                tls=self._tls,
                tls_handshake_first=True,
                inbox_prefix=f"_INBOX_{self.token}".encode(),
                error_cb=heard,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.5,
                connect_timeout=10,
                ping_interval=10,
                max_outstanding_pings=3,
                allow_reconnect=True,
            )
        except ssl.SSLError as error:
            raise LocalError(
                f"{self._servers[0]} refused the certificate or is not who it should be ({error.reason}): see `tacit keys show`"
            ) from None


async def _quiet() -> None:
    """Let every task of the network thread end before its loop does."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Mailbox(Protocol):
    """What a courier asks of the journal (`consortium.journal`)."""

    def batch(self) -> Any: ...  # noqa: D102 - see Journal
    def outgoing(self, place: str, receiver: str) -> list[bytes] | None: ...  # noqa: D102
    def mark_published(self, place: str, receiver: str, chunk: int) -> None: ...  # noqa: D102
    def unpublished(self) -> Sequence[tuple[str, str, int, bytes]]: ...  # noqa: D102
    def received(self) -> dict[str, int]: ...  # noqa: D102
    def seen(self, peer: str, n: int) -> None: ...  # noqa: D102
    def memo(self, place: str) -> bytes | None: ...  # noqa: D102
    def commit_memo(self, place: str, data: bytes) -> None: ...  # noqa: D102
    def commit_incoming(self, place: str, sender: str, chunk: int, of: int, data: bytes) -> bool: ...  # noqa: D102


class NatsCourier:
    """Carries one party's committed chunks in one run, and hears the others: messages, wants, beats, stops and ends."""

    def __init__(
        self, broker: Broker, me: str, run: str, tokens: Mapping[str, str], sealer: Sealer, mailbox: Mailbox, *, admin: bool
    ) -> None:
        self._broker, self._me, self._run, self._tokens = broker, me, run, dict(tokens)
        self._sealer, self._mailbox, self._admin = sealer, mailbox, admin
        self._names = {token: name for name, token in tokens.items()}
        self.arrived = threading.Condition()
        self.failure: Exception | None = None
        self.places = dict.fromkeys(tokens, "the start")  # where everyone says it is
        self.ended = {p for p in tokens if p != me and mailbox.memo(f"end of {p}") is not None}
        self.ungreeted = set(self._others())  # who has not yet said how much of ours it has
        self._heard = dict.fromkeys(tokens, time.monotonic())
        self._tasks: list[Future[Any]] = []
        self._wake = asyncio.Event()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="tacit-journal")  # commits must not hold up heartbeats

    def __enter__(self) -> Self:
        if self._admin:
            self._broker.call(self._prepare())
        self._tasks = [self._broker.begin(task()) for task in (self._consume, self._pump, self._beat)]
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        self._worker.shutdown()

    # What a durable run asks for

    def seal(self, place: str, receiver: str, frames: Frames) -> list[bytes]:
        """The frames as sealed chunks."""
        data = memoryview(frames.join())
        of = max(1, -(-len(data) // CHUNK))
        return [self._letter(receiver, ("message", place, i, of), data[i * CHUNK : (i + 1) * CHUNK]) for i in range(of)]

    def unseal(self, sender: str, receiver: str, chunks: Sequence[bytes]) -> Frames:
        """The frames of all chunks of a message."""
        return Frames.split(b"".join(_parted(self._sealer.open(sender, receiver, chunk))[1] for chunk in chunks))

    def publish(self) -> None:
        """Whatever is committed and not published yet goes out."""
        self._broker.wake(self._wake)

    def want(self, place: str, sender: str) -> None:
        """Ask a sender for what it has committed for this place."""
        self._post(sender, ("want", place, 0, 1))

    def silence(self, party: str) -> float:
        """Seconds since anything was heard of a party."""
        return time.monotonic() - self._heard[party]

    def here(self, place: str) -> None:
        """Where this party is, for its heartbeats."""
        self.places[self._me] = place

    # What the service around a run asks for

    def stop(self, cause: tuple[str, ...]) -> None:
        """Tell the others that a party is out: who, where, and the class of its error, never its text."""
        for party in self._others():
            self._post(party, ("stop", *cause), wait=True)

    def finish(self, patience: float) -> bool:
        """Say that this party is through, and serve the others until all are."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            for party in self._others():
                self._post(party, ("end", "", 0, 1))
            with self.arrived:
                if self.arrived.wait_for(lambda: self.ended >= set(self._others()) or self.failure, timeout=2.0):
                    return self.failure is None
        return False

    # The network thread

    async def _prepare(self) -> None:
        """Stream and consumers of the run; the coordinator makes them, again if the broker was wiped."""
        from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig  # noqa: PLC0415 - an extra

        js = self._broker.client.jetstream()
        await js.add_stream(StreamConfig(name=self._stream, subjects=[f"t.{self._run}.>"], storage=StorageType.FILE, duplicate_window=120))
        for token in self._tokens.values():
            config = ConsumerConfig(
                durable_name=token,
                filter_subject=f"t.{self._run}.*.{token}",
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=30,
                max_ack_pending=PENDING,
            )
            await js.add_consumer(self._stream, config)

    async def remove(self) -> None:
        """Delete the run's stream."""
        await self._broker.client.jetstream().delete_stream(self._stream)

    async def _consume(self) -> None:
        loop = asyncio.get_running_loop()
        inbox = None
        while True:
            try:
                if inbox is None:
                    inbox = await self._broker.client.jetstream().pull_subscribe_bind(consumer=self._tokens[self._me], stream=self._stream)
                letters = await inbox.fetch(BATCH, timeout=5)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the network does, go on trying
                inbox = inbox if _is_timeout(error) else None
                await self._repair(error)
                continue
            await loop.run_in_executor(self._worker, self._accept, letters)
            for letter in letters:
                await letter.ack()

    async def _repair(self, error: Exception) -> None:
        if _is_timeout(error):
            return
        await asyncio.sleep(0.3)
        if self._admin and self._broker.client.is_connected:
            with contextlib.suppress(Exception):  # the next look tries again
                await self._prepare()

    async def _pump(self) -> None:
        """Publish what is committed, in order, a window at a time."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            outbox = await loop.run_in_executor(self._worker, self._mailbox.unpublished)
            window: set[asyncio.Task[None]] = set()
            for i in range(len(outbox)):
                item = await loop.run_in_executor(self._worker, outbox.__getitem__, i)
                window.add(asyncio.ensure_future(self._sent(*item)))
                if len(window) >= WINDOW:
                    _, window = await asyncio.wait(window, return_when=asyncio.FIRST_COMPLETED)
            if window:
                await asyncio.wait(window)
            await self._wake.wait()

    async def _sent(self, place: str, receiver: str, chunk: int, data: bytes) -> None:
        if receiver != self._me:
            await self._deliver(receiver, data, f"{self._run}/{self._me}/{receiver}/{place}/{chunk}")
        self._mailbox.mark_published(place, receiver, chunk)

    async def _deliver(self, receiver: str, data: bytes, number: str | None = None) -> None:
        """Publish until the broker has it; its id makes a repetition harmless."""
        identity = None if number is None else {"Nats-Msg-Id": hashlib.sha256(number.encode()).hexdigest()[:32]}
        subject = f"t.{self._run}.{self._tokens[self._me]}.{self._tokens[receiver]}"
        while True:
            try:
                await self._broker.client.jetstream().publish(subject, data, timeout=5, headers=identity)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - as above
                await self._repair(error)
            else:
                return

    async def _beat(self) -> None:
        while True:
            have = await asyncio.get_running_loop().run_in_executor(self._worker, self._mailbox.received)
            for party in self._others():
                kind = "greet" if party in self.ungreeted else "beat"
                letter = self._letter(party, (kind, self.places[self._me], have.get(party, 0), 0))
                with contextlib.suppress(Exception):  # a beat that is lost is made up for by the next
                    await self._broker.client.publish(f"t.{self._run}.{self._tokens[self._me]}.{self._tokens[party]}", letter)
            await asyncio.sleep(GREET if self.ungreeted else BEAT)

    # Letters

    def _accept(self, letters: Sequence[Msg]) -> None:
        """Commit what arrived; what cannot be opened ends the run."""
        try:
            with self._mailbox.batch():
                for letter in letters:
                    self._open(letter.subject.split(".")[2], bytes(letter.data))
        except Exception as error:  # noqa: BLE001 - it belongs to the thread that plays the run
            self.failure = error
        with self.arrived:
            self.arrived.notify_all()

    def _open(self, token: str, sealed: bytes) -> None:
        sender = self._names.get(token)
        if sender is None:
            raise PeerError("a message of nobody in this run arrived: ask who runs the broker")
        (kind, place, chunk, of), _ = _parted(self._sealer.open(sender, self._me, sealed))
        self._heard[sender] = time.monotonic()
        match kind:
            case "message":
                self._mailbox.commit_incoming(place, sender, chunk, of, sealed)
            case "want":
                for i, data in enumerate(self._mailbox.outgoing(place, sender) or ()):
                    self._broker.begin(self._deliver(sender, data, f"again {time.monotonic_ns()} {i}"))
            case "beat" | "greet":
                self.places[sender] = place
                self._mailbox.seen(sender, int(chunk))
                self.ungreeted.discard(sender)
                if kind == "greet":
                    self._post(sender, ("beat", self.places[self._me], self._mailbox.received().get(sender, 0), 0))
            case "end":
                self._mailbox.commit_memo(f"end of {sender}", b"1")
                self.ended.add(sender)
            case "stop":
                self.failure = StoppedError(*(shown(str(word)) for word in (place, chunk, of)))

    def _letter(self, receiver: str, head: tuple[Any, ...], body: bytes | memoryview = b"") -> bytes:
        header = msgspec.msgpack.encode(head)
        return self._sealer.seal(receiver, b"".join((len(header).to_bytes(4, "little"), header, body)))

    def _post(self, receiver: str, head: tuple[Any, ...], *, wait: bool = False) -> None:
        sending = self._broker.begin(self._deliver(receiver, self._letter(receiver, head)))
        if wait:
            with contextlib.suppress(TimeoutError):
                sending.result(timeout=10)

    def _others(self) -> list[str]:
        return [p for p in self._tokens if p != self._me]

    @property
    def _stream(self) -> str:
        return f"R{self._run}"


def _parted(plain: bytes) -> tuple[tuple[str, Any, Any, Any], memoryview]:
    """A letter's head and body."""
    view = memoryview(plain)
    size = int.from_bytes(view[:4], "little")
    try:
        head = msgspec.msgpack.decode(view[4 : 4 + size], type=tuple[str, str | int, str | int, str | int])
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise PeerError("a malformed letter") from None
    return head, view[4 + size :]


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, (TimeoutError, asyncio.TimeoutError)) or type(error).__name__ == "TimeoutError"
