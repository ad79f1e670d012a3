"""Files and folders that people change while a site runs: read again when they may have changed, and not otherwise."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from tacit.federation.folders import stamps_of

T = TypeVar("T")
Stamp = tuple[int, int, int]
NOWHERE: Stamp = (0, 0, 0)
SETTLED = 2_000_000_000  # nanoseconds after which a file system gives a further change another time


def stamp_of(path: Path) -> Stamp:
    """Return what changes with a file's content: when it was written, its size, and its number on the disk.

    Of a folder: when its newest file was written, how many there are, and a digest of all their stamps.
    """
    try:
        found = path.stat()
        if path.is_dir():
            within = stamps_of(path)
            newest = max((each[0] for each in within.values()), default=found.st_mtime_ns)
            digest = hashlib.sha256(repr(within).encode()).digest()
            return newest, len(within), int.from_bytes(digest)
    except OSError:
        return NOWHERE
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watched(Generic[T]):
    """What a file says now. A file that cannot be read any more raises, and what it said before is forgotten."""

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        self._path, self._read = path, read
        self._stamp: Stamp | None = None  # none while the file may change without another stamp
        self._kept: tuple[int, T] | None = None
        self._edition = 0

    def now(self) -> tuple[int, T]:
        """Return the content and its edition, which is another one whenever the file was read again."""
        stamp = stamp_of(self._path)  # before the file is read: a change meanwhile is seen at the next look
        if self._kept is None or stamp != self._stamp:
            self._kept = self._stamp = None
            self._edition += 1
            self._kept = (self._edition, self._read(self._path))
            self._stamp = stamp if time.time_ns() - stamp[0] > SETTLED else None
        return self._kept
