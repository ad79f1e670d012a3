"""What can be wrong with a disk, in one line with what to do."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from tacit.errors import LocalError

SAFE = "start again; what was committed before is safe"
FULL = f"has no room left on its disk: free some space and {SAFE}"
WRITING = f"cannot be written ({{}}): check free space, quota and disk, then {SAFE}"
DAMAGED = "is damaged ({}): it cannot be replayed; purge it and start a new run"
ACCESS = "cannot be opened ({}): name a folder that is yours to write"
BUSY = "is in use by another process: one process plays a party of a run; stop the other one first"
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_ACCESS = (PermissionError, NotADirectoryError, FileExistsError)
BY_CODE = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_CANTOPEN: ACCESS,
    sqlite3.SQLITE_READONLY: ACCESS,
    sqlite3.SQLITE_PERM: ACCESS,
}


class InUseError(LocalError):
    """Another process has the journal."""


class _Explained:
    """Turns errors of the disk into one line; a class, since it stands around every statement."""

    __slots__ = ("folder",)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF  # an extended code's class
            text = BY_CODE.get(code, WRITING)
            raise (InUseError if text is BUSY else LocalError)(
                f"the journal {self.folder} {text.format(error)}"
            ) from error
        if isinstance(error, OSError):
            text = FULL if error.errno in NO_ROOM else ACCESS if isinstance(error, NO_ACCESS) else WRITING
            raise LocalError(f"the journal {self.folder} {text.format(error.strerror)}") from error


def explain_errors(folder: Path) -> _Explained:
    """Explain errors of the disk; put it around what the journal itself does, never around a caller's code."""
    return _Explained(folder)
