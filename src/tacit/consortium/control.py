"""Control letters: proposals, answers, starts and ends, sealed from member to member over the control stream.

A letter may be lost with its sender or arrive twice: whoever waits for an answer asks again, and every letter says
something that can be heard twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

import msgspec

from tacit.consortium.identity import Identity
from tacit.consortium.members import Members
from tacit.consortium.names import CONTROL_STREAM, CONTROL_SUBJECTS, control_subject
from tacit.crypto.envelope import Sealer
from tacit.errors import PeerError, TacitError
from tacit.runtimes.nats import FETCH, Broker

if TYPE_CHECKING:
    from nats.js.client import JetStreamContext

    PullSubscription = JetStreamContext.PullSubscription

RETRY = 0.3
AGAIN = 5  # seconds after which a letter that a site took, and was killed over, is given to it once more
KEEP = 24 * 3600.0
BATCH = 16
Handler = Callable[[str, str, bytes], None]


class Control:
    """One member's letters."""

    def __init__(self, broker: Broker, identity: Identity, members: Members, handle: Handler, *, admin: bool = False) -> None:
        self._broker, self._me, self._members, self._handle, self._admin = broker, identity.name, members, handle, admin
        self._identity = identity
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="tacit-control")
        self._listening: Future[None] | None = None
        self.due = threading.Event()  # something was heard: look at the files
        self.refused: list[str] = []  # letters that could not be read, for the log

    def __enter__(self) -> Self:
        self._listening = self._broker.begin(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        if self._listening:
            self._listening.cancel()
        self._worker.shutdown()

    def renew(self, members: Members) -> None:
        """Go on with a newer list of members."""
        self._members = members

    def send(self, receiver: str, kind: str, body: bytes) -> Future[None]:
        """Seal and publish; tries until the broker has it."""
        letter = self._sealer(receiver).seal(receiver, msgspec.msgpack.encode((kind, body)))
        return self._broker.begin(self._deliver(receiver, letter))

    async def prepare(self) -> None:
        """The control stream and a consumer for every member; only a coordinator may."""
        from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig  # noqa: PLC0415 - an extra

        js = self._broker.client.jetstream()
        await js.add_stream(StreamConfig(name=CONTROL_STREAM, subjects=[CONTROL_SUBJECTS], storage=StorageType.FILE, max_age=KEEP))
        for name in {m.name for m in self._members if m.state() == "valid"}:
            token = self._members.token(name)
            config = ConsumerConfig(
                durable_name=token, filter_subject=control_subject("*", token), ack_policy=AckPolicy.EXPLICIT, ack_wait=AGAIN
            )
            await js.add_consumer(CONTROL_STREAM, config)

    async def _deliver(self, receiver: str, letter: bytes) -> None:
        subject = control_subject(self._members.token(self._me), self._members.token(receiver))
        while True:
            try:
                await self._broker.client.jetstream().publish(subject, letter, timeout=5)
            except asyncio.CancelledError:
                raise
            except Exception:  # noqa: BLE001 - whatever the network does, go on trying
                await asyncio.sleep(RETRY)
            else:
                return

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        inbox: PullSubscription | None = None
        while True:
            try:
                inbox = inbox or await self._inbox()
                letters = await inbox.fetch(BATCH, timeout=FETCH)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - as above
                if type(error).__name__ != "TimeoutError":
                    await self._unbind(inbox)
                    inbox = None
                continue
            for letter in letters:
                await loop.run_in_executor(self._worker, self._open, letter.subject, bytes(letter.data))
                with contextlib.suppress(Exception):  # it comes again, and can be heard twice
                    await letter.ack()

    async def _inbox(self) -> PullSubscription:
        """One's own consumer; the coordinator makes all of them, again if the broker was wiped."""
        if self._admin:
            await self.prepare()
        consumer = self._members.token(self._me)
        return await self._broker.client.jetstream().pull_subscribe_bind(consumer=consumer, stream=CONTROL_STREAM)

    async def _unbind(self, inbox: PullSubscription | None) -> None:
        if inbox is not None:
            with contextlib.suppress(Exception):
                await inbox.unsubscribe()
        await asyncio.sleep(RETRY)

    def _open(self, subject: str, letter: bytes) -> None:
        """One bad letter must not keep the others from being heard."""
        try:
            sender = self._named(subject.split(".")[1])
            kind, body = msgspec.msgpack.decode(self._sealer(sender).open(sender, self._me, letter), type=tuple[str, bytes])
            self._handle(sender, kind, body)
        except (TacitError, msgspec.DecodeError) as error:
            self.refused.append(f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever is in it; its words stay out of the log
            self.refused.append(f"{type(error).__name__} in a letter")
        self.due.set()

    def _named(self, token: str) -> str:
        for member in self._members:
            if self._members.token(member.name) == token:
                return member.name
        raise PeerError("a letter of no member arrived")

    def _sealer(self, other: str) -> Sealer:
        """Keys with one member that is valid now."""
        theirs = bytes.fromhex(self._members.member(other).sealing)
        return Sealer(self._me, self._identity.sealing_private, {other: theirs}, b"control " + self._members.consortium.encode())


def settled(sending: Future[Any], seconds: float) -> bool:
    """Whether a letter reached the broker in time."""
    with contextlib.suppress(TimeoutError):
        sending.result(timeout=seconds)
        return True
    return False
