"""The store under a journal: one SQLite file and the bodies beside it, used by the threads of one process.

Everything in a `batch` is kept together or not at all. What was written outlives a killed process; it outlives a power
cut once `sync` has returned: one sync of the disk does it for all batches before it, whoever wrote them. A crash leaves
the state after one of the batches, never a mixture. So whoever lets something out that a batch holds (a message, an
acknowledgement) syncs first, and nothing else waits for the disk. A large body costs a sync of its own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from tacit.consortium.journal.bodies import Bodies, Body, Vault, explain_errors, sync_file, sync_folder
from tacit.errors import LocalError

NAME = "journal.sqlite"
BODIES = "bodies"
MARK = 0x54414354  # "TACT": tells a journal from any other SQLite file
SCHEMA = 1
LOG_BYTES = 32 + 1000 * (24 + 4096)  # how long SQLite lets its log become before it begins again at its start
PATIENCE = 1.0  # seconds that a process just killed may take to let go of its file
TABLES = """
CREATE TABLE state (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE secret (name TEXT PRIMARY KEY, sealed BLOB NOT NULL);
CREATE TABLE outgoing (seq INTEGER PRIMARY KEY, receiver TEXT NOT NULL, place TEXT NOT NULL, chunk INTEGER NOT NULL,
    published INTEGER NOT NULL DEFAULT 0, digest BLOB NOT NULL, data BLOB, UNIQUE (receiver, place, chunk));
CREATE INDEX outbox ON outgoing (seq) WHERE NOT published;
CREATE TABLE incoming (sender TEXT NOT NULL, place TEXT NOT NULL, chunk INTEGER NOT NULL, of INTEGER NOT NULL,
    digest BLOB NOT NULL, data BLOB, UNIQUE (sender, place, chunk));
CREATE TABLE memo (place TEXT PRIMARY KEY, digest BLOB NOT NULL, data BLOB);
CREATE TABLE checkpoint (base TEXT PRIMARY KEY, t INTEGER NOT NULL, digest BLOB NOT NULL, data BLOB);
CREATE TABLE row (n INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""
WITH_BODIES = ("outgoing", "incoming", "memo", "checkpoint")
NAMED = " UNION ALL ".join(f"SELECT digest FROM {t} WHERE data IS NULL" for t in WITH_BODIES)  # noqa: S608 - our own tables
# exclusive: a second process on the same journal is refused, and a lock dies with its process
# normal: SQLite syncs where its own files would else be inconsistent; `Store.sync` brings the log to the disk
PRAGMAS = ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON")
LOST = "could not be brought to the disk before, and what is on it is unknown: check the disk and start again"


class Store:
    """Statements and bodies in transactions; from several threads, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bodies = Bodies(folder / BODIES)
        self.before_commit: Callable[[], None] = lambda: None  # writes what joins any transaction
        self._explained = explain_errors(folder)
        self._lock = threading.RLock()
        self._depth = 0
        self._failed = False
        self._syncing = threading.Lock()
        self._log: int | None = None  # SQLite's log, opened to sync it
        self._written, self._synced = 0, 0  # batches that were committed, and those that are on the disk
        self._lost = False
        with explain_errors(folder):
            _make(folder)
            self._db = sqlite3.connect(folder / NAME, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Let go of the file; closing twice does nothing."""
        with self._lock, self._syncing, self._explained:
            if self._log is not None:  # first, since SQLite removes its log, and Windows no file that is open
                os.close(self._log)
                self._log = None
            self._db.close()

    @property
    def written(self) -> int:
        """How many batches were committed in this process; `sync` takes it."""
        return self._written

    @property
    def synced(self) -> int:
        """How many of these batches are on the disk."""
        return self._synced

    def sync(self, written: int | None = None) -> None:
        """Bring what was committed to the disk: all of it, or as much as had been written at that number.

        Of several threads that come at once one syncs for all. The others may go on writing meanwhile.
        """
        wanted = self._written if written is None else written
        if self._log is None and self._synced < wanted:
            self._open_log()
        with self._syncing, self._explained:
            if self._lost:
                raise LocalError(f"the journal {self.folder} {LOST}")
            if self._synced < wanted and self._log is not None:
                reached = self._written
                self._lost = True  # a sync that failed may succeed the next time without its pages
                sync_file(self._log)
                self._lost, self._synced = False, reached

    def run(self, sql: str, *values: Any) -> int:
        """Execute within a batch; gives the number of rows it touched."""
        with self._explained:
            return self._db.execute(sql, values).rowcount

    def all(self, sql: str, *values: Any) -> list[Any]:
        """Return all rows of a query."""
        with self._lock, self._explained:
            return self._db.execute(sql, values).fetchall()

    def first(self, sql: str, *values: Any) -> Any:
        """Return the first row, or None."""
        found = self.all(sql, *values)
        return found[0] if found else None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make one transaction, which a batch inside it joins; an error inside gives up all of it."""
        with self._lock:
            self._enter()
            try:
                yield
                if self._depth == 1 and not self._failed:
                    self.before_commit()
            except BaseException:
                self._failed = True
                raise
            finally:
                self._depth -= 1
                if self._failed and not self._depth:
                    self._undo()
            if not self._depth:
                self._commit()

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the file or in its log."""
        with self._lock, self._explained:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _enter(self) -> None:
        if self._depth:
            self._check_unbroken()
        else:
            self._failed = False
            self.run("BEGIN IMMEDIATE")
        self._depth += 1

    def _check_unbroken(self) -> None:
        if self._failed:
            raise LocalError("a part of this batch failed, so none of it is kept: leave the batch at the first error")

    def _commit(self) -> None:
        self._check_unbroken()
        try:
            self.bodies.settle()
            self.run("COMMIT")
        except BaseException:
            self.bodies.forget()  # files stay: a commit whose sync failed may still be found on the disk
            self._undo()
            raise
        self._written += 1
        if self.bodies.drops:  # else a power cut could bring back rows whose files are gone
            self.sync()
        self.bodies.clear(committed=True)

    def _undo(self) -> None:
        with suppress(sqlite3.Error):  # a full disk has already rolled it back
            self._db.execute("ROLLBACK")
        self.bodies.clear(committed=False)

    def _open_log(self) -> None:
        with self._lock, self._explained:  # nobody writes to it meanwhile
            if self._log is None:
                log = os.open(self.folder / f"{NAME}-wal", os.O_RDWR)
                _lengthen(log)
                sync_folder(self.folder)  # its name too
                self._log = log

    def _prepare(self) -> None:
        with explain_errors(self.folder):
            for pragma in PRAGMAS:
                self._db.execute(f"PRAGMA {pragma}")
        with self.batch():
            self._check_schema()
        self.bodies.sweep(digest for (digest,) in self.all(NAMED))

    def _check_schema(self) -> None:
        (mark,), (schema,) = self.first("PRAGMA application_id"), self.first("PRAGMA user_version")
        if (mark, schema) == (0, 0) and not self.all("SELECT name FROM sqlite_schema"):
            self._create()
        elif mark != MARK:
            raise LocalError(f"{self.folder / NAME} is not a journal of tacit: name another folder")
        elif schema != SCHEMA:
            other = f"of another version of tacit (schema {schema}, this one reads {SCHEMA})"
            raise LocalError(f"the journal {self.folder} is {other}: use that version")

    def _create(self) -> None:
        for statement in TABLES.split(";"):
            self.run(statement)
        self.run(f"PRAGMA application_id = {MARK}")
        self.run(f"PRAGMA user_version = {SCHEMA}")


class Entries:
    """What the parts of a journal share: the store they write to, and the vault that seals what must not be read."""

    def __init__(self, store: Store, vault: Vault | None = None) -> None:
        self._store = store
        self._sealer = vault

    def batch(self) -> AbstractContextManager[None]:
        """Keep all that is committed inside together; an error inside gives up all of it.

        Other threads wait, so wait for nothing in it; sync, publish and acknowledge after it.
        """
        return self._store.batch()

    @property
    def written(self) -> int:
        """How many batches were written in this process."""
        return self._store.written

    @property
    def synced(self) -> int:
        """How many of these batches are on the disk."""
        return self._store.synced

    def sync(self, written: int | None = None) -> None:
        """Bring all batches, or those up to this number, to the disk: before anything of them leaves this party."""
        self._store.sync(written)

    def _read(self, digest: bytes, data: bytes | None) -> bytes:
        return self._store.bodies.read(Body(digest, data))


def _lengthen(log: int) -> None:
    """Fill the log with zeros up to its usual length, where there is room: they end it for SQLite.

    A sync that need not bring a new length to the disk takes half the time.
    """
    size = os.fstat(log).st_size
    zeros, written = bytes(max(LOG_BYTES - size, 0)), 0
    with suppress(OSError):
        os.lseek(log, size, os.SEEK_SET)
        written = os.write(log, zeros)
    if written < len(zeros):  # a disk that is nearly full has better use for its room
        os.ftruncate(log, size)


def _make(folder: Path) -> None:
    """Make the empty places, for the owner's eyes only, and on the disk."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / BODIES).mkdir(mode=0o700, exist_ok=True)
    (folder / NAME).touch(mode=0o600)
    for changed in (folder, folder.parent):
        sync_folder(changed)
