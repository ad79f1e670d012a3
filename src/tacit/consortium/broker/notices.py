"""What a site's log should say about letters, without a flood.

Whoever sends a million bad ones gets a few lines and a count.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

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
