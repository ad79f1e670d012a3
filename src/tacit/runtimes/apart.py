"""Every party on its own, in a thread or a process, with nothing but its own entries: it keeps protocols honest.

Each party walks the whole text and meets the others only through its post. What a party sends arrives in order, and
each envelope names the place it belongs to, so that a party that is somewhere else in the text is found out at once.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from tacit.arrays import Array
from tacit.choreo.codec import Frames, decode, encode
from tacit.choreo.randomness import Entropy
from tacit.choreo.role import Roster
from tacit.choreo.run import Pair, Run, Seen
from tacit.errors import PeerError, describe_stop

PATIENCE = 60.0
GRACE = 0.5  # how long a gather waits for stragglers once enough have answered
QUOTED, REASON = 120, 300  # characters of another party's words, and of why it stopped
T = TypeVar("T")


class Post(Protocol):
    """A party's way to the others: one box that everything for it arrives in."""

    def put(self, receiver: str, data: bytes) -> None:
        """Send, without waiting for the receiver."""
        ...

    def get(self, timeout: float) -> tuple[str, bytes]:
        """Return the next envelope and its sender; raises queue.Empty."""
        ...


class StoppedError(PeerError):
    """Another party stopped: who, where, and the class of its error."""

    def __init__(self, party: str, place: str, kind: str) -> None:
        super().__init__(f"{party} stopped at {describe_stop(place, kind)}: see its own log")
        self.cause = (party, place, kind)


class Apart(Run):
    """The run as one party sees it."""

    def __init__(
        self, me: str, roster: Roster, post: Post, *, job: bytes, entropy: Entropy, patience: float = PATIENCE
    ) -> None:
        super().__init__(roster, present=(me,), job=job, entropy=entropy)
        self.me = me
        self.post = post
        self._patience = patience
        self._waiting: dict[str, deque[tuple[str, Frames]]] = {p: deque() for p in roster.parties}
        self._skipped: set[Pair] = set()

    def stop(self, error: BaseException) -> None:
        """Tell the others who stopped: the class of its error and the place, never the text, which can contain data."""
        cause = error.cause if isinstance(error, StoppedError) else (self.me, self.place, type(error).__name__)
        for party in self.roster.parties:
            if party != self.me:
                self.post.put(party, encode(("stop", *cause)).join())

    def _each(self, place: str, work: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        del place
        return {party: do() for party, do in work.items()}

    def _exchange(self, place: str, outbox: Seen, wanted: Sequence[Pair], missing: int | None) -> dict[Pair, Frames]:
        for (_, receiver), frames in outbox.items():
            if receiver != self.me:
                data = np.frombuffer(frames.join(), np.uint8)
                self.post.put(receiver, encode(("message", place, data)).join())
        seen = dict(outbox)
        awaited = [s for s, _ in wanted if s != self.me]
        # who waits for one that may itself be waiting gives up last, so that the silent one is named
        end = time.monotonic() + (self._patience if missing is not None else 2 * self._patience + GRACE)
        while late := [s for s in awaited if (s, self.me) not in seen]:
            for sender in late:
                if (arrived := self._take(sender, place)) is not None:
                    seen[sender, self.me] = arrived
            late = [s for s in late if (s, self.me) not in seen]
            if len(late) <= (missing or 0) and missing is not None:
                end = min(end, time.monotonic() + GRACE)
            if late and not self._collect(end):
                self._give_up(place, late, missing or 0)
                break
        return seen

    def _take(self, sender: str, place: str) -> Frames | None:
        """Return the next message of a sender, which must be of this place."""
        box = self._waiting[sender]
        while box and (sender, box[0][0]) in self._skipped:
            box.popleft()
        if not box:
            return None
        theirs, frames = box.popleft()
        if theirs != place:
            raise PeerError(
                f"{self.me} expected {place} from {sender}, got {quote(theirs)}: do both run the same version?"
            )
        return frames

    def _collect(self, end: float) -> bool:
        """Wait for one envelope from anybody; False when the time is up. Raise if it says that a party stopped."""
        try:
            sender, data = self.post.get(max(0.0, end - time.monotonic()))
        except queue.Empty:
            return False
        match _open(sender, data):
            case "message", str(place), np.ndarray() as body if body.dtype == np.uint8 and body.ndim == 1:
                self._waiting[sender].append((place, _split_frames(sender, body)))
            case "stop", str(party), str(place), str(kind):
                raise StoppedError(quote(party), quote(place), quote(kind))
            case _:
                raise PeerError(f"{sender} sent {self.me} a malformed envelope")
        return True

    def _give_up(self, place: str, late: Sequence[str], missing: int) -> None:
        if len(late) > missing:
            raise PeerError(f"{self.me} waited at {place} for {', '.join(late)}, and nothing came: is it running?")
        self._skipped.update((sender, place) for sender in late)


def _open(sender: str, data: bytes) -> Any:
    try:
        return decode(data)
    except PeerError as error:
        raise PeerError(f"{sender} sent a malformed envelope: {error}") from None


def _split_frames(sender: str, body: Array) -> Frames:
    try:
        return Frames.split(body.data)
    except PeerError as error:
        raise PeerError(f"{sender} sent what is no message: {error}") from None


def quote(text: str, most: int = QUOTED) -> str:
    """Return another party's words, fit for one line of a log."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])


@dataclass(frozen=True)
class QueuePost:
    """Post between threads of one process."""

    me: str
    boxes: Mapping[str, queue.SimpleQueue[tuple[str, bytes]]]

    def put(self, receiver: str, data: bytes) -> None:
        """Send, without waiting for the receiver."""
        self.boxes[receiver].put((self.me, data))

    def get(self, timeout: float) -> tuple[str, bytes]:
        """Return the next envelope and its sender; raises queue.Empty."""
        return self.boxes[self.me].get(timeout=timeout)


def queue_posts(parties: Sequence[str]) -> dict[str, QueuePost]:
    """Return a post for every party of one process."""
    boxes: dict[str, queue.SimpleQueue[tuple[str, bytes]]] = {p: queue.SimpleQueue() for p in parties}
    return {p: QueuePost(p, boxes) for p in parties}


def in_threads(
    roster: Roster, play: Callable[[Run], T], *, job: bytes, entropy: Callable[[str], Entropy]
) -> dict[str, T]:
    """Play at every party at once, each in a thread with its own entropy; raise the first cause, not what followed."""
    posts = queue_posts(roster.parties)

    def one(me: str) -> T:
        run = Apart(me, roster, posts[me], job=job, entropy=entropy(me))
        try:
            return play(run)
        except BaseException as error:
            run.stop(error)
            raise

    with ThreadPoolExecutor(len(roster.parties)) as pool:
        futures = {me: pool.submit(one, me) for me in roster.parties}
    errors = [e for f in futures.values() if (e := f.exception())]
    for error in sorted(errors, key=lambda e: (isinstance(e, StoppedError), isinstance(e, PeerError))):
        raise error
    return {me: future.result() for me, future in futures.items()}
