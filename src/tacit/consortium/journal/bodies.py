"""Bodies: small ones stand in their row, large ones in a file named by its digest.

A file gets its name only when it is whole and on the disk, and the row that names it is committed after that, so a row
never points at half a body. A file without a row is what a crash left behind; opening the journal sweeps it away.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

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


INLINE = 64 << 10  # up to this many bytes a row of SQLite is faster than a file
DRAFT = ".draft"


class Body(NamedTuple):
    """What a row holds of a body; `data` is None where a file has it."""

    digest: bytes
    data: bytes | None


def digest_of(data: bytes) -> bytes:
    """Return the digest that names a body."""
    return hashlib.sha256(data).digest()


def sync_folder(folder: Path) -> None:
    """Make names that were given or taken in a folder outlive a power cut; Windows does it without being asked."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(handle: int) -> None:
    """Bring a file's bytes to the disk, and of what is known about it as much as reading them needs."""
    getattr(os, "fdatasync", os.fsync)(handle)


class Bodies:
    """The files of one journal, in step with its transactions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new: list[Path] = []
        self._old: list[Path] = []
        self._unsettled = False

    def keep(self, data: bytes, digest: bytes) -> Body:
        """Bring a body to the disk, for a row of the current transaction."""
        if len(data) <= INLINE:
            return Body(digest, data)
        with explain_errors(self.folder.parent):
            self._write(self.folder / digest.hex(), data)
        return Body(digest, None)

    def read(self, body: Body) -> bytes:
        """Return the body of a row, checked."""
        if body.data is not None:
            return body.data
        path = self.folder / body.digest.hex()
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if digest_of(data) != body.digest:
            damage = f"{path.name[:16]} is missing or altered"
            raise LocalError(f"the journal {self.folder.parent} is damaged ({damage}): start a new run")
        return data

    def drop(self, body: Body) -> None:
        """Remove the file of a body once the current transaction, which removes its row, is committed."""
        if body.data is None:
            self._old.append(self.folder / body.digest.hex())

    @property
    def drops(self) -> bool:
        """Whether files go with the current transaction."""
        return bool(self._old)

    def settle(self) -> None:
        """Bring the files' names to the disk, before the rows are committed."""
        if self._unsettled:
            with explain_errors(self.folder.parent):
                sync_folder(self.folder)

    def clear(self, *, committed: bool) -> None:
        """Remove files that no row names any more.

        After a commit these are the dropped ones, else those of rows that were given up, which frees a full disk.
        """
        for path in self._old if committed else self._new:
            path.unlink(missing_ok=True)
        self.forget()

    def forget(self) -> None:
        """Forget what the transaction did, which is over."""
        self._new, self._old, self._unsettled = [], [], False

    def sweep(self, named: Iterable[bytes]) -> None:
        """Remove what no row names."""
        keep = {digest.hex() for digest in named}
        for path in self.folder.iterdir():
            if path.name not in keep:
                path.unlink(missing_ok=True)

    def _write(self, path: Path, data: bytes) -> None:
        self._unsettled = True  # also for a file that is there: its name may be from a transaction that failed
        if path.exists():  # whole, since a file gets this name last
            return
        draft = path.with_suffix(DRAFT)
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._new.append(path)


# The vault: what must not lie on a disk in the clear, and must be gone when the run is.
#
#     sealed = pieces of nonce AES-256-GCM(key, piece), each bound to its name, its number and how many there are
#
# One random key per journal seals everything, and itself lies in the journal wrapped under a key the party derives from
# its identity. Who deletes that one entry has deleted all copies of all that was sealed, also those an SSD kept
# elsewhere.


KEY_BYTES = 32
NONCE = 12
TAG = 16
PIECE = 1 << 26  # AES-GCM takes less than 2 GiB at once; a checkpoint may be larger


class Vault:
    """Seals under one key."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            remedy = "derive it from the party's identity key"
            raise LocalError(f"a journal needs a key of {KEY_BYTES} bytes, got {len(key)}: {remedy}")
        self._aead = AESGCM(key)

    @staticmethod
    def fresh() -> bytes:
        """Return a new key."""
        return secrets.token_bytes(KEY_BYTES)

    def seal(self, name: str, data: bytes) -> bytes:
        """Encrypt data so that it is readable again only under the same key and name."""
        return b"".join(self._seal_pieces(name, memoryview(data)))

    def open(self, name: str, sealed: bytes) -> bytes:
        """Return what was sealed under this name."""
        pieces = list(_cut(memoryview(sealed), NONCE + PIECE + TAG))
        bound = [(piece, _bound(name, i, len(pieces))) for i, piece in enumerate(pieces)]
        try:
            return b"".join(self._aead.decrypt(piece[:NONCE], piece[NONCE:], data) for piece, data in bound)
        except (InvalidTag, ValueError):
            fault = f"the journal's entry {name} was altered, or sealed under another identity key"
            raise LocalError(f"{fault}: use the party's own") from None

    def _seal_pieces(self, name: str, data: memoryview) -> Iterator[bytes]:
        pieces = list(_cut(data, PIECE))
        for i, piece in enumerate(pieces):
            nonce = secrets.token_bytes(NONCE)
            yield nonce + self._aead.encrypt(nonce, piece, _bound(name, i, len(pieces)))


def _cut(data: memoryview, size: int) -> Iterator[memoryview]:
    yield data[:size]
    for start in range(size, len(data), size):
        yield data[start : start + size]


def _bound(name: str, i: int, of: int) -> bytes:
    return f"tacit journal {i}/{of} {name}".encode()
