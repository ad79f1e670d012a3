"""Bodies: small ones stand in their row, large ones in a file named by its digest.

A file gets its name only when it is whole and on the disk, and the row that names it is committed after that, so a row
never points at half a body. A file without a row is what a crash left behind; opening the journal sweeps it away.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tacit.consortium.trouble import explained
from tacit.errors import LocalError

INLINE = 64 << 10  # up to this many bytes a row of SQLite is faster than a file
DRAFT = ".draft"


class Body(NamedTuple):
    """What a row holds of a body; `data` is None where a file has it."""

    digest: bytes
    data: bytes | None


def digest_of(data: bytes) -> bytes:
    """The name of a body."""
    return hashlib.sha256(data).digest()


def sync_folder(folder: Path) -> None:
    """Make names that were given or taken in a folder outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
        with explained(self.folder.parent):
            self._write(self.folder / digest.hex(), data)
        return Body(digest, None)

    def read(self, body: Body) -> bytes:
        """The body of a row, checked."""
        if body.data is not None:
            return body.data
        path = self.folder / body.digest.hex()
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if digest_of(data) != body.digest:
            raise LocalError(f"the journal {self.folder.parent} is damaged ({path.name[:16]} is missing or altered): start a new run")
        return data

    def drop(self, body: Body) -> None:
        """Its row goes with the current transaction, and then the file."""
        if body.data is None:
            self._old.append(self.folder / body.digest.hex())

    def settle(self) -> None:
        """Before the rows are committed: the files' names are on the disk too."""
        if self._unsettled:
            with explained(self.folder.parent):
                sync_folder(self.folder)

    def committed(self) -> None:
        """The rows are on the disk: what they no longer name can go."""
        for path in self._old:
            path.unlink(missing_ok=True)
        self.forget()

    def undone(self) -> None:
        """The rows were given up before their commit: so are their files, which frees a full disk."""
        for path in self._new:
            path.unlink(missing_ok=True)
        self.forget()

    def forget(self) -> None:
        """The transaction is over."""
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
