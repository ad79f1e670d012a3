"""What carries the messages of a run between organisations: it seals, sends, hears and repeats until all is committed.

At most `WINDOW` chunks are under way from a sender, so that a slow receiver does not fill its memory. What arrives goes
to the run at once (`runtimes.nats.intake`), and is acknowledged when the journal has it on the disk: mostly with what
the run sends next.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import msgspec

from tacit.choreo.codec import Frames
from tacit.crypto.pads.envelope import Sealer
from tacit.errors import LocalError, PeerError
from tacit.runtimes.apart import REASON, StoppedError, quote
from tacit.runtimes.nats.intake import Arrival, Head, Intake, decode_as, frame, unframe
from tacit.runtimes.nats.network import Broker, InterruptedRunError, dealt_to, open_stream, stream_of
from tacit.runtimes.nats.posting import RETRY, Inbox, Letter, Post, give_back

if TYPE_CHECKING:
    from nats.aio.msg import Msg

WINDOW = 16
PARTS = 4  # chunks of a message, so that a line carries one while the broker passes another on
LEAST, MOST = 32 << 10, 255 << 10  # bytes of a chunk, which may be fewer of the last one
BEAT, GREET = 5.0, 0.5
AGAIN = 2.0  # seconds until an end is said again to those who may have missed it
POSTING = 10.0  # seconds for a last word to reach the broker
LINGER = 0.05  # seconds that an acknowledgement waits for a sync that is due anyway
T = TypeVar("T")
Chunks = list[tuple[int, str, str, int, bytes]]

log = logging.getLogger("tacit")


class Mailbox(Protocol):
    """What a courier asks of the journal (`consortium.journal.record`)."""

    @property
    def written(self) -> int: ...  # noqa: D102 - see Journal
    @property
    def synced(self) -> int: ...  # noqa: D102
    def sync(self, written: int | None = None) -> None: ...  # noqa: D102
    def batch(self) -> Any: ...  # noqa: D102
    def outgoing(self, place: str, receiver: str) -> list[bytes] | None: ...  # noqa: D102
    def mark_published(self, place: str, receiver: str, chunk: int) -> None: ...  # noqa: D102
    def unpublished(self, after: int, most: int) -> list[tuple[int, str, str, int, bytes]]: ...  # noqa: D102
    def incoming(self, place: str, sender: str) -> list[bytes] | None: ...  # noqa: D102
    def received(self) -> dict[str, int]: ...  # noqa: D102
    def seen(self, peer: str, n: int) -> None: ...  # noqa: D102
    def memo(self, place: str) -> bytes | None: ...  # noqa: D102
    def commit_memo(self, place: str, data: bytes) -> None: ...  # noqa: D102
    def commit_incoming(self, place: str, sender: str, chunk: int, of: int, data: bytes) -> bool: ...  # noqa: D102


class NatsCourier:
    """Carries one party's committed chunks in one run, and hears the others: messages, wants, beats, stops, ends."""

    def __init__(
        self, broker: Broker, me: str, run: str, tokens: Mapping[str, str], sealer: Sealer, mailbox: Mailbox, *,
        admin: bool, attempt: int = 1,
    ) -> None:  # fmt: skip
        self._broker, self._me, self._run, self._tokens = broker, me, run, dict(tokens)
        self._sealer, self._mailbox, self._admin, self._attempt = sealer, mailbox, admin, attempt
        self._names = {token: name for name, token in tokens.items()}
        self.strangers = 0  # letters of somebody who is not in this run
        self._intake = Intake()
        self._failure: Exception | None = None
        self.places = dict.fromkeys(tokens, "the start")  # where everyone says it is
        self.ended = {p for p in tokens if p != me and mailbox.memo(f"end of {p}") is not None}
        self.ungreeted = set(self._others())  # who has not yet said how much of ours it has
        self._question = secrets.randbits(60)  # a greeting answers this one, not one of before a restart
        self._heard = dict.fromkeys(tokens, time.monotonic())
        self._moved = dict(self._heard)  # when something new of a party arrived
        self._tasks: set[Future[Any]] = set()
        self._over = False
        self._inboxes: dict[str, Inbox] = {}
        self._readers: set[asyncio.Task[Any]] = set()
        self._again: dict[tuple[str, str], None] = {}  # what was asked for once more
        self._wake = asyncio.Event()
        self._resting = False  # whether the pump waits, and has sent all that it drew
        self._drawn: deque[Chunks] = deque()  # what the run itself drew for it
        self._undrawn = True  # whether more may be committed than was drawn
        self._reached, self._drawing = 0, threading.Lock()  # the number of the last chunk that was drawn
        self._post = Post(broker.client)
        self._unacknowledged: deque[tuple[int, Sequence[Msg]]] = deque()  # letters, and the batch that holds them
        self._owed = 0  # letters that are to be acknowledged, also those that somebody is writing down
        self._arrived = asyncio.Event()
        # the journal must not hold up heartbeats: one for what arrived, one for what is sent again, one for the rest
        self._workers = ThreadPoolExecutor(3, thread_name_prefix="tacit-journal")

    def __enter__(self) -> Self:
        self._broker.call(self._post.open())
        for task in (self._consume, self._consume_dealt, self._acknowledge, self._pump, self._beat):
            self._begin(task())
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True  # asyncio may lose a cancellation, and two readers would take each other's letters
        for task in tuple(self._tasks):
            task.cancel()
        self._workers.shutdown()
        with contextlib.suppress(InterruptedRunError):
            self._broker.call(self._hand_back())
            self._broker.call(self._post.close())

    def _begin(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        task = self._broker.begin(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # What a durable run asks for

    def seal(self, place: str, receiver: str, frames: Frames) -> list[bytes]:
        """Return the frames as sealed chunks."""
        data = memoryview(frames.join())
        size = min(MOST, max(LEAST, -(-len(data) // PARTS)))
        of = max(1, -(-len(data) // size))
        return [self._letter(receiver, ("message", place, i, of), data[i * size : (i + 1) * size]) for i in range(of)]

    def unseal(self, sender: str, receiver: str, chunks: Sequence[bytes]) -> Frames:
        """Return the frames of all chunks of a message."""
        data = bytearray()
        for chunk in chunks:
            data += unframe(self._sealer.open(sender, receiver, chunk), sender)[1]
        return Frames.split(memoryview(data).toreadonly())

    def publish(self) -> None:
        """Send whatever is committed and not published yet.

        The caller itself brings it to the disk, unless the pump is at work and will: no other thread has to.
        """
        if self._resting:
            self._resting = False
            self._drawn.append(self._draw())
        else:
            self._undrawn = True
        self._broker.wake(self._wake)

    def collect(self, place: str, senders: Sequence[str]) -> dict[str, Frames]:
        """Return the messages for this place of those of the senders whose messages are here."""
        found = {}
        for sender in senders:
            if (body := self._intake.fetch_ready((place, sender))) is not None:
                found[sender] = Frames.split(body)
            elif (chunks := self._mailbox.incoming(place, sender)) is not None:
                found[sender] = self.unseal(sender, self._me, chunks)
        return found

    def wait(self, place: str, senders: Sequence[str], seconds: float) -> None:
        """Wait until all these senders' messages for this place are here, or something else is to be looked at."""
        self._intake.wait([(place, sender) for sender in senders], seconds)
        self._write_down(self._intake.take())

    def want(self, place: str, sender: str) -> None:
        """Ask a sender for what it has committed for this place."""
        self._say(sender, ("want", place, 0, 1))

    @property
    def failure(self) -> Exception | None:
        """Return why waiting makes no sense any more, if so."""
        return InterruptedRunError() if self._broker.ending else self._failure

    def fail(self, error: Exception) -> None:
        """End the run of this party at its next wait; the first reason stays."""
        self._failure = self._failure or error
        self._intake.tell()

    def silence(self, party: str) -> float:
        """Return the seconds since anything was heard of a party."""
        return time.monotonic() - self._heard[party]

    def stalled(self, party: str) -> float:
        """Return the seconds since a message of a party arrived."""
        return time.monotonic() - self._moved[party]

    def here(self, place: str) -> None:
        """Say where this party is, for its heartbeats."""
        self.places[self._me] = place

    # What the service around a run asks for

    def stop(self, cause: tuple[str, ...]) -> None:
        """Tell the others that a party stopped: who, where, and the class of its error, never its text."""
        body = msgspec.msgpack.encode(cause)
        letters = [self._say(party, ("stop", "", self._attempt, 0), body) for party in self._others()]
        wait(letters, timeout=POSTING)

    def finish(self, patience: float) -> bool:
        """Say that this party has finished, and serve the others until all have; return whether all have.

        Nobody waits for a party that is away.
        """
        self._mailbox.sync()  # the others may forget from here on what this party needs to go on
        pause = AGAIN
        while not self._broker.ending:
            ends = [self._say(party, ("end", "", 0, 1)) for party in self._others()]
            until = time.monotonic() + pause
            while not (self.ended >= set(self._others()) or self.failure) and (left := until - time.monotonic()) > 0:
                self.wait("", (), left)
            pause = min(2 * pause, BEAT)
            waiting = [p for p in self._others() if p not in self.ended]
            if self.failure or all(self.silence(p) > patience for p in waiting):
                wait(ends, timeout=POSTING)
                return not waiting and self.failure is None
        raise InterruptedRunError

    # The network thread

    async def _consume(self) -> None:
        await self._read(self._tokens[self._me])

    async def _consume_dealt(self) -> None:
        """Read what the coordinator sends, which lies ready long before the run comes to most of it."""
        await self._read(dealt_to(self._tokens[self._me]), gives_way=True)

    async def _read(self, consumer: str, *, gives_way: bool = False) -> None:
        if (task := asyncio.current_task()) is not None:
            self._readers.add(task)
        while not self._over:
            inbox = Inbox(self._broker.client, stream_of(self._run), consumer, gives_way=gives_way)
            self._inboxes[consumer] = inbox
            try:
                if self._admin and not gives_way:
                    await open_stream(self._broker, self._run, self._tokens)  # again if the broker was wiped
                await inbox.open()
                while not self._over:
                    self._take(await inbox.fetch())
            except asyncio.CancelledError:
                raise
            except Exception:  # noqa: BLE001 - whatever the network does, go on trying
                await inbox.close()  # else its last request would take letters that nobody reads
                await asyncio.sleep(RETRY)

    async def _hand_back(self) -> None:
        """Read no more, and give back what was read and is not on the disk: the next attempt needs it.

        The broker hands out no more than `PENDING` letters that are not acknowledged, and would keep the next attempt
        waiting for as long as it waits for the acknowledgements of this one.
        """
        if self._readers:
            await asyncio.wait(self._readers, timeout=POSTING)
        await asyncio.gather(*(inbox.close() for inbox in self._inboxes.values()))
        await self._acknowledge_synced()
        await give_back(arrival.letter for arrival in self._intake.take())
        while self._unacknowledged:
            await give_back(self._unacknowledged.popleft()[1])

    def _take(self, letters: Sequence[Msg]) -> None:
        """Open letters; one of a party of the run that cannot be opened ends the run."""
        self._owed += len(letters)
        arrivals = []
        for letter in letters:
            try:
                arrivals += self._open(letter)
            except Exception as error:  # noqa: BLE001 - it belongs to the thread that plays the run
                self._unacknowledged.append((0, [letter]))
                self.fail(error)
        if letters:
            self._intake.lay(arrivals)
            self._arrived.set()

    async def _acknowledge(self) -> None:
        """Acknowledge in the end what the run itself does not: it may compute for long, or send nothing."""
        while True:
            await self._arrived.wait()
            before = self._mailbox.written
            await asyncio.sleep(LINGER)
            self._arrived.clear()
            await self._work(self._settle, before)
            await self._acknowledge_synced()
            if self._owed:
                self._arrived.set()

    def _settle(self, before: int) -> None:
        """Bring to the disk what has waited for it, and write down what the run did not take."""
        if arrivals := self._intake.take():
            self._write_down(arrivals)
            self._intake.tell()
        self._mailbox.sync(before)

    async def _acknowledge_synced(self) -> None:
        """Acknowledge what is on the disk."""
        synced = self._mailbox.synced
        while self._unacknowledged and self._unacknowledged[0][0] <= synced:
            letters = self._unacknowledged.popleft()[1]
            self._owed -= len(letters)
            for letter in letters:
                with contextlib.suppress(Exception):  # it comes again, which is harmless
                    await letter.ack()

    async def _work(self, do: Callable[..., T], *args: object) -> T:
        """Let a worker do something with the journal; what goes wrong there ends the run."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._workers, do, *args)
        except LocalError as error:
            self.fail(error)
            raise

    async def _pump(self) -> None:
        """Publish what is committed, in order, a window at a time; then what was asked for again."""
        while True:
            self._wake.clear()
            while self._drawn or self._undrawn:
                await self._send(self._drawn.popleft() if self._drawn else await self._work(self._draw))
            while self._again:
                place, receiver = next(iter(self._again))
                await self._repeat(place, receiver)
                del self._again[place, receiver]
            self._resting = True
            await self._wake.wait()
            self._resting = False

    def _draw(self) -> Chunks:
        """Return the next chunks that may leave, at most a window of them."""
        with self._drawing:
            self._undrawn = False  # before the look: what is committed after it says so again
            due = self._mailbox.unpublished(self._reached, WINDOW)
            self._reached = due[-1][0] if due else self._reached
            if len(due) == WINDOW:
                self._undrawn = True
        return sorted(due, key=_chunk_of)  # the first chunk to every receiver, and then the second

    async def _send(self, chunks: Chunks) -> None:
        await self._acknowledge_synced()
        letters = [
            self._address(receiver, data, self._number(receiver, place, chunk))
            for _, place, receiver, chunk, data in chunks
            if receiver != self._me
        ]
        if letters:
            await self._post.deliver(letters)
        for _, place, receiver, chunk, _ in chunks:
            self._mailbox.mark_published(place, receiver, chunk)

    async def _repeat(self, place: str, receiver: str) -> None:
        """Send the stored bytes again, under new ids: the broker may take the old ones for done."""
        chunks = await self._work(self._stored, place, receiver)
        for i, data in enumerate(chunks):
            number = f"{self._number(receiver, place, i)}/again {secrets.token_hex(8)}"
            await self._post.deliver([self._address(receiver, data, number)])

    def _stored(self, place: str, receiver: str) -> list[bytes]:
        chunks = self._mailbox.outgoing(place, receiver) or []
        self._mailbox.sync()
        return chunks

    def _number(self, receiver: str, place: str, chunk: int) -> str:
        return f"{self._run}/{self._me}/{receiver}/{place}/{chunk}"

    def _address(self, receiver: str, data: bytes, number: str | None = None) -> Letter:
        return Letter(f"t.{self._run}.{self._tokens[self._me]}.{self._tokens[receiver]}", data, number)

    async def _beat(self) -> None:
        """Tell everybody now and then that this party lives, and ask those more often who have not greeted yet.

        They are asked ever less often: between twenty parties that start, a greeting each half second keeps them all
        busy with nothing else.
        """
        told, pause = -BEAT, GREET
        while True:
            now, others = time.monotonic(), self._others()
            if now - told >= BEAT:
                told, due = now, others
            else:
                due = [party for party in others if party in self.ungreeted]
            await self._tell_where(due)
            left = max(told + BEAT - time.monotonic(), 0.0)
            await asyncio.sleep(min(pause, left) if self.ungreeted else left)
            pause = min(2 * pause, BEAT)

    async def _tell_where(self, parties: Sequence[str]) -> None:
        have = await self._work(self._mailbox.received)
        for party in parties:
            kind = "greet" if party in self.ungreeted else "beat"
            sealed = self._letter(party, (kind, self.places[self._me], have.get(party, 0), self._question))
            with contextlib.suppress(Exception):  # a beat that is lost is made up for by the next
                await self._broker.client.publish(*self._address(party, sealed)[:2])

    # Letters

    def _open(self, letter: Msg) -> list[Arrival]:
        """Return a letter opened, unless it is of somebody who is not in this run."""
        sender = self._names.get(letter.subject.split(".")[2])
        if sender is None:  # whoever knows a run's id must not be able to end it
            self._pass_over()
            self._unacknowledged.append((0, [letter]))
            return []
        head, body = unframe(self._sealer.open(sender, self._me, letter.data), sender)
        self._heard[sender] = time.monotonic()
        if head[0] == "message":
            self._moved[sender] = self._heard[sender]
        return [Arrival(sender, head, body, letter)]

    def _write_down(self, arrivals: Sequence[Arrival]) -> None:
        """Commit what arrived; what must not be ends the run."""
        if not arrivals:
            return
        try:
            with self._mailbox.batch():
                new = [arrival for arrival in arrivals if self._hear(arrival)]
        except Exception as error:  # noqa: BLE001 - it belongs to the thread that plays the run
            self.fail(error)
            if not isinstance(error, PeerError):  # the journal has none of it, and the broker keeps it
                return
        else:
            self._intake.keep_ready(new)
        self._unacknowledged.append((self._mailbox.written, [arrival.letter for arrival in arrivals]))

    def _hear(self, arrival: Arrival) -> bool:
        """Do what a letter says; return whether it is of a message, and new."""
        sender, (kind, place, chunk, of), body, letter = arrival
        match kind:
            case "message":
                return self._mailbox.commit_incoming(place, sender, chunk, of, letter.data)
            case "want":
                self._again[place, sender] = None
                self._broker.wake(self._wake)
            case "beat" | "greet" | "greeting":
                self._hear_beat(sender, kind, place, chunk, of)
            case "end":
                self._mailbox.commit_memo(f"end of {sender}", b"1")
                self.ended.add(sender)
            case "stop" if chunk >= self._attempt:
                self.fail(StoppedError(*(quote(each, REASON) for each in _cause(body, sender))))
        return False

    def _pass_over(self) -> None:
        self.strangers += 1
        if self.strangers == 1:
            log.warning(
                "job %s: letters of somebody who is not in this run are dropped: ask the broker's people",
                self._run[:8],
            )

    def _hear_beat(self, sender: str, kind: str, place: str, have: int, question: int) -> None:
        """Note what a heartbeat says its sender has; only the answer to our own question shows that it is news."""
        self.places[sender] = quote(place)
        self._mailbox.seen(sender, have)
        if kind == "greeting" and question == self._question:
            self.ungreeted.discard(sender)
        if kind == "greet":
            self._say(sender, ("greeting", self.places[self._me], self._mailbox.received().get(sender, 0), question))

    def _letter(self, receiver: str, head: Head, body: bytes | memoryview = b"") -> bytes:
        return self._sealer.seal(receiver, frame(head, body))

    def _say(self, receiver: str, head: Head, body: bytes = b"") -> Future[None]:
        return self._begin(self._post.deliver([self._address(receiver, self._letter(receiver, head, body))]))

    def _others(self) -> list[str]:
        return [p for p in self._tokens if p != self._me]


def _chunk_of(drawn: tuple[int, str, str, int, bytes]) -> int:
    return drawn[3]


def _cause(body: memoryview, sender: str) -> tuple[str, str, str]:
    return decode_as(body, tuple[str, str, str], sender)
