"""Letters in chunks: cut by their sender, put together by their receiver in bounded memory.

    chunk = framed head, a part of the body;    head = (kind, id of the letter, number of the chunk, number of chunks)

Every chunk but the last is full, so that the number of chunks bounds the size. What a receiver keeps of one sender
never exceeds the largest letter of that sender, whatever the sender begins: the oldest unfinished letter goes first. A
letter of which nothing arrives for a while is dropped; whoever waits for what it says asks again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tacit.errors import PeerError
from tacit.runtimes.nats.intake import CHUNK, frame, unframe

FORGET = 120.0  # seconds after which a letter that does not go on is dropped
UNFINISHED = 8  # letters of one sender that may be unfinished at a time
LONGEST_NAME = 32  # characters of a kind and of a letter's id
Letter = tuple[str, bytes]


def cut(kind: str, body: bytes) -> Iterator[bytes]:
    """Yield the chunks of a letter, made as they are asked for."""
    letter, of, view = secrets.token_hex(8), chunks_of(len(body)), memoryview(body)
    for i in range(of):
        yield frame((kind, letter, i, of), view[i * CHUNK : (i + 1) * CHUNK])


def chunks_of(size: int) -> int:
    """Return into how many chunks a body of this size is cut."""
    return max(1, -(-size // CHUNK))


@dataclass
class _Unfinished:
    kind: str
    of: int
    parts: dict[int, bytes] = field(default_factory=dict)
    touched: float = 0.0

    @property
    def size(self) -> int:
        return sum(map(len, self.parts.values()))


class Desk:
    """Where one member puts the letters of all others together; for one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[str, dict[str, _Unfinished]] = {}  # by sender and letter, the one last touched at the end

    @property
    def held(self) -> int:
        """Bytes of unfinished letters."""
        return sum(letter.size for letters in self._begun.values() for letter in letters.values())

    def take(self, sender: str, plain: bytes, largest: int) -> Letter | None:
        """Take a chunk; return kind and body once the letter is whole.

        `largest` is how many bytes this sender may send.
        """
        (kind, letter, i, of), body = unframe(plain, sender)
        if not _possible(kind, letter, i, of, len(body), largest):
            raise PeerError(f"{sender} sent a piece of a letter that is not valid: do both sites run the same version?")
        self._forget()
        if of == 1:
            return kind, bytes(body)
        begun = self._begun.setdefault(sender, {})
        found = begun.pop(letter, None) or _Unfinished(kind, of)
        if (found.kind, found.of) != (kind, of):
            raise PeerError(f"{sender} sent pieces of two letters under one id: do both sites run the same version?")
        found.parts.setdefault(i, bytes(body))
        found.touched = self._clock()
        if len(found.parts) == of:
            return kind, b"".join(found.parts[n] for n in range(of))
        begun[letter] = found
        while len(begun) > UNFINISHED or (len(begun) > 1 and sum(one.size for one in begun.values()) > largest):
            del begun[next(iter(begun))]
        return None

    def _forget(self) -> None:
        """Drop what does not go on."""
        now = self._clock()
        for begun in self._begun.values():
            for letter in [name for name, one in begun.items() if now - one.touched >= FORGET]:
                del begun[letter]
        self._begun = {sender: begun for sender, begun in self._begun.items() if begun}


def _possible(kind: str, letter: str, i: int, of: int, size: int, largest: int) -> bool:
    full = size == CHUNK if i < of - 1 else size <= CHUNK
    return 0 <= i < of <= chunks_of(largest) and full and max(len(kind), len(letter)) <= LONGEST_NAME


# What a site's log should say about letters, without a flood.
#
# Whoever sends a million bad ones gets a few lines and a count.


PERIOD = 600.0  # seconds for which a sender's further refused letters are only counted
SHOWN = 5  # refused letters of one sender that get a line of their own in a period
LINES = 100  # lines that wait for the log
LONGEST_LINE = 400


@dataclass
class _Period:
    began: float
    letters: int = 0


class Notices:
    """Lines for the log, from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._lines: deque[str] = deque(maxlen=LINES)
        self._periods: dict[str, _Period] = {}  # by sender: members, and those who are none under one name
        self._said: dict[str, object] = {}
        self.refused = 0  # letters

    def refuse(self, sender: str, why: str) -> None:
        """Count a letter that was refused."""
        with self._lock:
            self.refused += 1
            self._end_periods()
            period = self._periods.setdefault(sender, _Period(self._clock()))
            period.letters += 1
            if period.letters <= SHOWN:
                self._add(f"a letter was refused: {why}")

    def once(self, about: str, state: object, line: str) -> None:
        """Say something about a subject, and not again as long as its state is the same."""
        with self._lock:
            if self._said.get(about) != state:
                self._said[about] = state
                self._add(line)

    def settle(self, about: str) -> None:
        """Forget what was said of a subject: the next time is news again."""
        with self._lock:
            self._said.pop(about, None)

    def take(self) -> list[str]:
        """Return all lines since the last time."""
        with self._lock:
            self._end_periods()
            lines = list(self._lines)
            self._lines.clear()
            return lines

    def _end_periods(self) -> None:
        now = self._clock()
        for sender, period in tuple(self._periods.items()):
            if now - period.began >= PERIOD:
                del self._periods[sender]
                if period.letters > SHOWN:
                    self._add(f"{period.letters - SHOWN} more letters of {sender} were refused in {PERIOD:.0f} s")

    def _add(self, line: str) -> None:
        self._lines.append("".join(c if c.isprintable() else "?" for c in line[:LONGEST_LINE]))
