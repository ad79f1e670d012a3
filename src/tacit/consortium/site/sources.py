"""Where records of a dataset come from: a file or folder, read again when it changed; a query, run when it is due."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np

from tacit.consortium.disk import read_private
from tacit.consortium.site.settings import Dataset
from tacit.errors import LocalError, TacitError
from tacit.federation import Table
from tacit.federation.databases.database import QueryError
from tacit.federation.databases.query import Connection, read_query
from tacit.federation.folders import Limit, stamps_of
from tacit.federation.frames import arrow_columns
from tacit.federation.readers import from_loaded
from tacit.federation.readers import read as read_table
from tacit.federation.table import with_labels
from tacit.protocols.learners.targets import MOST_WEIGHT

# Files and folders that people change while a site runs: read again when they may have changed, and not otherwise

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


LONGEST_CONNECTION = 1 << 16  # bytes


class Queried:
    """What a query returned when it was run last; it is run again when somebody says that it is due.

    One that fails then raises, and what it returned before stays for who goes by that.
    """

    def __init__(self, run: Callable[[], Table]) -> None:
        self._run, self._edition = run, 0
        self._kept: tuple[int, Table] | None = None
        self._tried = -math.inf  # when it was run last
        self._error: TacitError | None = None  # what went wrong then
        self._lock = threading.RLock()  # runs are threads

    def now(self) -> tuple[int, Table]:
        """Return the table and its edition, which is another one whenever the query was run again."""
        with self._lock:
            if self._kept is None:
                self.renew()
            return cast("tuple[int, Table]", self._kept)

    def renew(self, older_than: float = 0.0) -> None:
        """Run the query; if it was run less than so many seconds ago, go by what came of that."""
        with self._lock:
            if time.monotonic() - self._tried < older_than:
                if self._error is not None:
                    raise self._error
                return
            self._error = None
            try:
                table = self._run()
            except TacitError as error:
                self._error = error
                raise
            finally:
                self._tried = time.monotonic()
            self._edition += 1
            self._kept = (self._edition, table)


Source = Watched[Table] | Queried


def source_of(name: str, dataset: Dataset) -> Source:
    """Return where the records of a dataset come from; nothing is read yet."""
    if dataset.path is not None:
        return Watched(dataset.path, partial(_read, dataset))
    return Queried(partial(_select, name, dataset))


def _read(dataset: Dataset, path: Path) -> Table:
    found = read_table(path, dataset.label, _no_features(dataset), raw=True, limit=_limit(dataset), sparse=False)
    return weigh_records(found, dataset.weight)


def _select(name: str, dataset: Dataset) -> Table:
    where = f"[datasets.{name}]"
    called = f"the query of {where}"
    connection = _connection(where, dataset)
    found: Any = read_query(connection, dataset.query or "", _limit(dataset), called, dataset.id)
    table = from_loaded(arrow_columns(found, called), called, dataset.label, _no_features(dataset), raw=True)
    return weigh_records(table, dataset.weight)


def weigh_records(table: Table, column: str | None) -> Table:
    """Return a table with the weights that a column declares, divided by their mean; refuse one that is too large."""
    if column is None:
        return table
    found = with_labels(table, None, table.columns[column])
    weight = np.zeros(0) if found.weight is None else found.weight
    mean, largest = float(weight.mean()) if weight.size else 1.0, float(weight.max(initial=0.0))
    if mean <= 0.0:
        raise LocalError(f"all weights of {table.name} are 0 in column {column!r}: give some record a weight")
    if largest > MOST_WEIGHT * mean:
        raise LocalError(
            f"a weight of {table.name} in column {column!r} is {largest / mean:.3g} times their mean, and at most"
            f" {MOST_WEIGHT:g} is taken: cut it, as a record that weighs more would be found in the model"
        )
    return dataclasses.replace(found, weight=weight / mean)


def _connection(where: str, dataset: Dataset) -> Connection:
    """Return the connection of a query, read anew each time: a password may change while a site runs."""
    if dataset.connection_env is not None:
        place = f"the environment variable {dataset.connection_env} ({where})"
        if dataset.connection_env not in os.environ:
            raise QueryError(f"{place} is not set: set it where this site is started, or name a connection_file")
        return Connection(os.environ[dataset.connection_env], place)
    file = dataset.connection_file or Path()
    try:
        content = read_private(file, "the connection", "a connection", "correct the path", most=LONGEST_CONNECTION)
        text = content.decode()
    except UnicodeDecodeError:
        raise QueryError(f"{file} ({where}) is no text: write the connection into it, as UTF-8") from None
    except LocalError as error:
        raise QueryError(f"{where}: {error}") from None
    return Connection(text, f"{file} ({where})")


def _no_features(dataset: Dataset) -> list[str]:
    named = [column for column in (dataset.id, dataset.person, dataset.weight) if column]
    return [*dataset.drop, *(column for column in named if column not in dataset.drop)]


def _limit(dataset: Dataset) -> Limit:
    return Limit(dataset.maximum_rows, dataset.maximum_megabytes)
