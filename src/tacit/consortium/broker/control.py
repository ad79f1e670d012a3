"""Control: what members say to each other outside runs, sealed from member to member.

    letters                 proposals, answers, starts and ends, kept in the control stream until they are heard
    questions and replies   what an analyst wants to know, which nobody stores

A letter may be lost with its sender or arrive twice: whoever waits for an answer asks again, and every letter says
something that can be heard twice. Both go in chunks (see `letters`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

import msgspec

from tacit.consortium.broker import control_stream
from tacit.consortium.broker.letters import Desk, Notices, cut
from tacit.consortium.membership import names
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.crypto.pads.envelope import Sealer
from tacit.errors import LocalError, PeerError, TacitError
from tacit.runtimes.nats.intake import SEALED_CHUNK
from tacit.runtimes.nats.network import FETCH, Broker

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
    from nats.js.client import JetStreamContext

    PullSubscription = JetStreamContext.PullSubscription

RETRY, LONGEST_RETRY = 0.1, 5.0  # seconds until the next attempt to send: the first time, and at most
GIVE_UP = 600.0  # seconds for which a broker may refuse one chunk: its receiver is away, and is told anew later
BATCH = 16
LARGEST: dict[names.Kind, int] = {"coordinator": 256 << 20, "party": 16 << 20, "analyst": 16 << 20}  # bytes, by sender
WAITING = 2  # how many largest letters' bytes may wait for one receiver, and
LETTERS_WAITING = 256  # how many letters: whoever makes a site reply to it and takes no reply costs no more than these
SPEAKING = 64  # questions and replies under way at a time; more are dropped, and asked for again
OVERHEARD = 256  # chunks of questions that wait to be opened; more are dropped
NOBODY = "nobody in the list"
Handler = Callable[[str, str, bytes], None]


class Control:
    """One member's letters, questions and replies."""

    def __init__(
        self, broker: Broker, identity: Identity, members: Members, handle: Handler, *, admin: bool = False
    ) -> None:
        self._broker, self._me, self._members, self._handle, self._admin = broker, identity.name, members, handle, admin
        self._identity = identity
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="tacit-control")
        self._desk = Desk()
        self._sealers: dict[tuple[str, str], Sealer] = {}
        self._listening: list[Future[None]] = []
        self._turns: dict[str, asyncio.Lock] = {}
        self._sending: dict[tuple[str, str, bytes], tuple[Future[None], int]] = {}
        self._sending_lock = threading.RLock()
        self._speaking: set[Future[None]] = set()
        self._over = False
        self.due = threading.Event()  # something was heard: look at the files
        self.notices = Notices()
        self.heard: dict[str, float] = {}  # when each member was heard of, by this process's clock

    @property
    def queue(self) -> int:
        """How many letters wait to be taken by the broker."""
        return len(self._sending)

    def __enter__(self) -> Self:
        kind = self._members.member(self._me).kind
        tasks = ((self._listen, names.LETTERED), (self._attend, names.SPOKEN_TO))
        self._listening = [self._broker.begin(task()) for task, kinds in tasks if kind in kinds]
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        for task in self._listening:
            task.cancel()
        self._worker.shutdown()

    def renew(self, members: Members) -> None:
        """Go on with a newer list of members."""
        self._members = members

    async def prepare(self) -> None:
        """Make the control stream, with a place for the letters of every member; only a coordinator may."""
        await control_stream.prepare(self._broker.client.jetstream(), self._members)

    # Sending

    def send(self, receiver: str, kind: str, body: bytes) -> Future[None]:
        """Seal and publish a letter, unless it is on its way already; tries until the broker has it.

        A receiver that is no valid member, or gets no letters, is an error of the future, and one line of the log for
        each list of members.
        """
        key = (receiver, kind, hashlib.sha256(body).digest())
        with self._sending_lock:
            if key in self._sending:
                return self._sending[key][0]
            try:
                self._refuse_unfit(receiver, len(body))
            except TacitError as error:
                self._fail(receiver, error)
                return _fail_future(error)
            sending = self._broker.begin(self._deliver(receiver, kind, body))
            self._sending[key] = (sending, len(body))
        sending.add_done_callback(lambda done: self._note_delivery(key, done))
        return sending

    def say(self, receiver: str, kind: str, body: bytes) -> None:
        """Seal and publish a question or a reply to a receiver that listens now; nobody stores it."""
        if len(self._speaking) >= SPEAKING:
            return
        self._sealer(receiver)  # raises unless it is a member
        speaking = self._broker.begin(self._utter(receiver, kind, body))
        self._speaking.add(speaking)
        speaking.add_done_callback(self._speaking.discard)

    def _refuse_unfit(self, receiver: str, size: int) -> None:
        if self._members.member(receiver).kind not in names.LETTERED:
            raise LocalError(f"{receiver} is an analyst and gets no letters: wait until it asks")
        largest = self._largest(self._me)
        if size > largest:
            remedy = f"no more than {largest} may be sent, so shorten the job"
            raise LocalError(f"a letter of {size} bytes to {receiver} is too large: {remedy}")
        waiting = [n for (other, *_), (_, n) in self._sending.items() if other == receiver]
        if len(waiting) >= LETTERS_WAITING or sum(waiting) + size > WAITING * largest:
            raise LocalError(f"too many letters to {receiver} are waiting, and it reads none: see whether it runs")

    def _note_delivery(self, key: tuple[str, str, bytes], done: Future[None]) -> None:
        with self._sending_lock:
            self._sending.pop(key, None)
        with contextlib.suppress(CancelledError):
            error = done.exception()
            if error is not None:
                self._fail(key[0], error)

    def _fail(self, receiver: str, error: BaseException) -> None:
        self.notices.once(f"to {receiver}", self._members.version, f"a letter to {receiver} cannot be sent: {error}")

    async def _deliver(self, receiver: str, kind: str, body: bytes) -> None:
        """Publish a letter after those before it to the same receiver; chunks are sealed as they leave."""
        subject = names.control_subject(self._members.token(self._me), self._members.token(receiver))
        async with self._turns.setdefault(receiver, asyncio.Lock()):
            for chunk in cut(kind, body):
                await self._publish(receiver, subject, self._sealer(receiver).seal(receiver, chunk))

    async def _publish(self, receiver: str, subject: str, sealed: bytes) -> None:
        began, pause, about = time.monotonic(), RETRY, f"letters held up to {receiver}"
        while True:
            try:
                await self._broker.client.jetstream().publish(subject, sealed, timeout=5)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the network does, go on trying
                if (refusal := _refusal(error)) and pause >= LONGEST_RETRY:
                    self.notices.once(
                        about, refusal, f"letters to {receiver} wait ({refusal}): does it run, and read them?"
                    )
                if refusal and time.monotonic() - began > GIVE_UP:
                    late = f"{receiver} took no letters for {GIVE_UP:.0f} s ({refusal})"
                    raise PeerError(f"{late}: see whether it runs") from None
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_RETRY)
            else:
                self.notices.settle(about)
                return

    async def _utter(self, receiver: str, kind: str, body: bytes) -> None:
        client = self._broker.client
        subject = names.question_subject(self._members.token(self._me), self._members.token(receiver))
        for chunk in cut(kind, body):
            if client.is_connected:  # else it would wait in memory, to be said when nobody asks any more
                await client.publish(subject, self._sealer(receiver).seal(receiver, chunk))

    # Listening

    async def _listen(self) -> None:
        inbox: PullSubscription | None = None
        while True:
            try:
                inbox = inbox or await self._inbox()
                letters = await inbox.fetch(BATCH, timeout=FETCH)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - as above
                if type(error).__name__ != "TimeoutError":
                    await self._unbind(inbox, error)
                    inbox = None
                continue
            for letter in letters:
                await self._open_aside(letter)
                with contextlib.suppress(Exception):  # it comes again, and can be heard twice
                    await letter.ack()

    async def _inbox(self) -> PullSubscription:
        """One's own consumer; the coordinator makes all of them, again if the broker was wiped."""
        if self._admin:
            await self.prepare()
            self.notices.settle("the control stream")
        consumer = self._members.token(self._me)
        return await self._broker.client.jetstream().pull_subscribe_bind(consumer=consumer, stream=names.CONTROL_STREAM)

    async def _unbind(self, inbox: PullSubscription | None, error: Exception) -> None:
        if self._admin and (refusal := _refusal(error)):
            line = f"the server does not keep letters ({refusal}): is its store large enough?"
            self.notices.once("the control stream", refusal, line)
        if inbox is not None:
            with contextlib.suppress(Exception):
                await inbox.unsubscribe()
        await asyncio.sleep(RETRY)

    async def _attend(self) -> None:
        """Hear questions and replies until this ends."""
        own = names.question_subject("*", self._members.token(self._me))
        spoken: Subscription = await self._broker.client.subscribe(
            own, cb=self._overhear, pending_msgs_limit=OVERHEARD, pending_bytes_limit=OVERHEARD * SEALED_CHUNK
        )
        try:
            await asyncio.Event().wait()
        finally:
            with contextlib.suppress(Exception):
                await spoken.unsubscribe()

    async def _overhear(self, spoken: Msg) -> None:
        if not self._over:
            await self._open_aside(spoken)

    async def _open_aside(self, letter: Msg) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._worker, self._open, letter.subject, bytes(letter.data))

    def _open(self, subject: str, sealed: bytes) -> None:
        """Hear a chunk of a letter, question or reply. One that is bad must not keep the others from being heard."""
        sender = NOBODY
        try:
            sender = self._find_sender(subject.split(".")[1])
            plain = self._sealer(sender).open(sender, self._me, sealed)
            self.heard[sender] = time.monotonic()
            letter = self._desk.take(sender, plain, self._largest(sender))
            if letter is None:
                return
            self._handle(sender, *letter)
        except (TacitError, msgspec.DecodeError) as error:
            self.notices.refuse(sender, f"{type(error).__name__}: {error}")
        except UnicodeDecodeError:
            fault = f"{sender} sent a letter that is not written in UTF-8"
            self.notices.refuse(sender, f"{fault}: does it run the same version?")
        except Exception as error:  # noqa: BLE001 - whatever is in it; its words stay out of the log
            self.notices.refuse(sender, f"{type(error).__name__} in a letter of {sender}")
        self.due.set()

    def _find_sender(self, token: str) -> str:
        for member in self._members:
            if self._members.token(member.name) == token:
                return member.name
        raise PeerError("a letter arrived whose sender is not a member")

    def _largest(self, sender: str) -> int:
        return LARGEST[self._members.member(sender).kind]

    def _sealer(self, other: str) -> Sealer:
        """Keys with one member that is valid now."""
        key = (other, self._members.member(other).sealing)
        if key not in self._sealers:
            context, keys = b"control " + self._members.consortium.encode(), {other: bytes.fromhex(key[1])}
            self._sealers[key] = Sealer(self._me, self._identity.sealing_private, keys, context)
        return self._sealers[key]


def _fail_future(error: Exception) -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(error)
    return future


def _refusal(error: Exception) -> str | None:
    """Return the server's reason for not taking a message; None if it did not say any, as when it is away."""
    said = getattr(error, "description", None)
    if said is None and type(error).__name__ == "NoStreamResponseError":
        said = "it is not in the server's list"
    return None if said is None else str(said)
