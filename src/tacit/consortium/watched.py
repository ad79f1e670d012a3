"""Files that people change while a site runs: read again whenever they have changed, and not otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
Stamp = tuple[int, int, int]
NOWHERE: Stamp = (0, 0, 0)


def stamp_of(path: Path) -> Stamp:
    """Return what changes with a file's content: when it was written, its size, and its number on the disk."""
    try:
        found = path.stat()
    except OSError:
        return NOWHERE
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watched(Generic[T]):
    """What a file says now. A file that cannot be read any more raises, and what it said before is forgotten."""

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        self._path, self._read = path, read
        self._kept: tuple[Stamp, T] | None = None

    def now(self) -> tuple[Stamp, T]:
        """Return the content and the stamp that it was read under."""
        stamp = stamp_of(self._path)  # before the file is read: a change meanwhile is seen at the next look
        if self._kept is None or self._kept[0] != stamp or stamp == NOWHERE:
            self._kept = None
            self._kept = (stamp, self._read(self._path))
        return self._kept
