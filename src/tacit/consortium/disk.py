"""Files, folders and ports of a site: whatever is wrong with one is an error that names it and says what to do."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tacit.errors import LocalError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LARGEST = 1 << 30
OTHERS = stat.S_IRWXG | stat.S_IRWXO  # what others than its owner may do with a file


def read_file(path: Path, what: str, remedy: str = "correct the path", *, most: int = LARGEST) -> bytes:
    """Return the first so many bytes of a file; `what` names it in an error."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise LocalError(f"{what} {path} cannot be read: {error.strerror}; {remedy}") from None


def read_private(path: Path, what: str, content: str, remedy: str, *, most: int = LARGEST) -> bytes:
    """Return the first so many bytes of a file that nobody but its owner can open; `content` says what it holds."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            found = file.read(most)
    except OSError as error:
        raise LocalError(f"{what} {path} cannot be read: {error.strerror}; {remedy}") from None
    if os.name == "posix" and mode & OTHERS:
        open_to_others = f"{path} is open to others (mode {mode:04o}), and {content} is its owner's alone"
        raise LocalError(f"{open_to_others}: chmod 600 {shlex.quote(str(path))}")
    return found


def whole_lines(path: Path, what: str) -> list[bytes]:
    """Return the lines of a file, none if there is no file; without the one at the end that a crash has torn."""
    return read_file(path, what, "correct its owner").split(b"\n")[:-1] if path.exists() else []


def append_line(path: Path, line: bytes, what: str) -> None:
    """Append a line, where a torn one may have been, and bring it to the disk; others cannot read a new file."""
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.seek(whole)
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        remedy = "free some space or correct its owner"
        raise LocalError(f"{what} {path} cannot be written: {error.strerror}; {remedy}") from error


@contextmanager
def lock_folder(folder: Path, what: str, taken: str) -> Iterator[None]:
    """Make a folder, and keep other processes out; the lock goes with this process, however that ends."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (folder / "lock").open("ab")
    except OSError as error:
        remedy = "name a folder that is yours to write"
        raise LocalError(f"{what} {folder} cannot be made: {error.strerror}; {remedy}") from None
    with file:
        try:
            _lock(file)
        except OSError:
            raise LocalError(taken) from None
        yield


def _lock(file: BinaryIO) -> None:
    """Lock a file until it is closed, or raise OSError if another process has it."""
    if sys.platform == "win32":
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def port_error(error: OSError, host: str, port: int, setting: str) -> LocalError:
    """Return what to say of a port that cannot be opened."""
    if error.errno == errno.EADDRINUSE:
        remedy = f"stop it, or choose another port in {setting}"
        return LocalError(f"port {port} on {host} is taken by another program: {remedy}")
    return LocalError(f"{setting} cannot open port {port} on {host}: {error.strerror}; choose another host or port")
