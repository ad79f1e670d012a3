"""Every party on its own, in a thread or a process, holding only its own entries: the harness that keeps protocols honest.

Each party walks the whole text and meets the others only through links. A link delivers envelopes in order; each
names the place it belongs to, so that a party that is somewhere else in the text is found out at once.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tacit.choreo.codec import Frames, decode, encode
from tacit.choreo.role import Roster
from tacit.choreo.run import Entropy, Pair, Run
from tacit.errors import PeerError

PATIENCE = 60.0
T = TypeVar("T")
GRACE = 0.5  # how long a gather waits for stragglers once enough have answered


class Link(Protocol):
    """To one other party and back."""

    def put(self, data: bytes) -> None:
        """Send, without waiting for the receiver."""
        ...

    def get(self, timeout: float) -> bytes:
        """Receive the next; raises queue.Empty."""
        ...


class Apart(Run):
    """The run as one party sees it."""

    def __init__(
        self, me: str, roster: Roster, links: Mapping[str, Link], *, job: bytes, entropy: Entropy, patience: float = PATIENCE
    ) -> None:
        super().__init__(roster, present=(me,), job=job, entropy=entropy)
        self.me = me
        self._links = links
        self._patience = patience
        self._skipped: dict[str, set[str]] = {p: set() for p in links}

    def stop(self, error: BaseException) -> None:
        """Tell the others that this party is out: its class and place, never its text, which can contain data."""
        for link in self._links.values():
            link.put(_envelope("stop", self._scope.path, type(error).__name__.encode()))

    def _each(self, place: str, work: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        del place
        return {party: do() for party, do in work.items()}

    def _exchange(self, place: str, outbox: Mapping[Pair, Frames], wanted: Sequence[Pair], missing: int) -> dict[Pair, Frames]:
        for (_, receiver), frames in outbox.items():
            self._links[receiver].put(_envelope("message", place, frames.join()))
        arrived: dict[Pair, Frames] = {}
        for sender, _ in wanted:
            try:
                arrived[sender, self.me] = self._take(sender, place, self._patience if not missing else GRACE)
            except queue.Empty:
                self._skipped[sender].add(place)
        if len(wanted) - len(arrived) > missing:
            absent = [s for s, _ in wanted if (s, self.me) not in arrived]
            raise PeerError(f"{self.me} waited at {place} for {', '.join(absent)} in vain: is it running?")
        return arrived

    def _take(self, sender: str, place: str, timeout: float) -> Frames:
        end = time.monotonic() + timeout
        while True:
            kind, theirs, data = _opened(self._links[sender].get(max(0.0, end - time.monotonic())))
            if kind == "stop":
                raise PeerError(f"{sender} stopped at {theirs or 'the start'} ({data[:40].decode(errors='replace')}): see its own log")
            if theirs == place:
                return Frames.split(data)
            if theirs not in self._skipped[sender]:
                raise PeerError(f"{self.me} expected {place} from {sender}, got {theirs[:120]}: do both run the same version?")


def _envelope(kind: str, place: str, data: bytes) -> bytes:
    return encode((kind, place, data)).join()


def _opened(envelope: bytes) -> tuple[str, str, bytes]:
    value = decode(envelope)
    if isinstance(value, tuple) and [type(v) for v in value] == [str, str, bytes]:
        return value
    raise PeerError("malformed envelope")


@dataclass
class QueueLink:
    """A link between two threads."""

    outgoing: queue.SimpleQueue[bytes] = field(default_factory=queue.SimpleQueue)
    incoming: queue.SimpleQueue[bytes] = field(default_factory=queue.SimpleQueue)

    def put(self, data: bytes) -> None:
        """Send."""
        self.outgoing.put(data)

    def get(self, timeout: float) -> bytes:
        """Receive."""
        return self.incoming.get(timeout=timeout)

    def other_end(self) -> QueueLink:
        """The same link as the other party holds it."""
        return QueueLink(self.incoming, self.outgoing)


def queue_links(parties: Sequence[str]) -> dict[str, dict[str, Link]]:
    """A link between every two parties of one process."""
    links: dict[str, dict[str, Link]] = {p: {} for p in parties}
    for i, a in enumerate(parties):
        for b in parties[i + 1 :]:
            link = QueueLink()
            links[a][b], links[b][a] = link, link.other_end()
    return links


def in_threads(roster: Roster, play: Callable[[Run], T], *, job: bytes, entropy: Callable[[str], Entropy]) -> dict[str, T]:
    """Play at every party at once, each in a thread with an entropy of its own; raises the cause, not its echoes."""
    links = queue_links(roster.parties)

    def one(me: str) -> T:
        run = Apart(me, roster, links[me], job=job, entropy=entropy(me))
        try:
            return play(run)
        except BaseException as error:
            run.stop(error)
            raise

    with ThreadPoolExecutor(len(roster.parties)) as pool:
        futures = {me: pool.submit(one, me) for me in roster.parties}
    errors = [e for f in futures.values() if (e := f.exception())]
    for error in sorted(errors, key=lambda e: isinstance(e, PeerError)):
        raise error
    return {me: future.result() for me, future in futures.items()}
