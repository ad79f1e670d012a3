"""One file of a register: a line for every job, and beside it the marks of the records that the jobs used.

    NAME.register    a first line with a secret salt, then a line per job, each `checksum JSON`
    NAME.records/    files of marks, named by their content: jobs on the same records share them

A line is appended and synced BEFORE its run starts, since a run that fails half-way may have opened something. A last
line without its end was torn by a crash before its job began, and is dropped. One process writes: the party's daemon.
Record ids and contents are kept as hashes under the salt.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from tacit.consortium.consent.difference import Footprint
from tacit.consortium.consent.marks import MARK, Marks, Rows
from tacit.consortium.disk import append_line, whole_lines
from tacit.consortium.jobs.job import Columns
from tacit.errors import LocalError
from tacit.files import write_whole

LINES, RECORDS = ".register", ".records"
S = TypeVar("S", bound=msgspec.Struct)


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job's line. `ids` and `contents` name files of marks; `classes` those of each class, by a hash of its name.

    dataset: under which name the records were offered. Lines of version 0.1 lack it: there each dataset had a file of
    its own. partition: how the records were split. Lines of version 0.1 lack it. model: of a question, the dataset that
    the model was trained on. asked: about how many new records it is. plays: the protocols that a study played. voids:
    the digests of earlier lines whose runs ended before anything was opened, since this one began instead. cost: mu^2
    of its differential privacy; 0 of a job without noise. Lines of version 0.1 lack classes.
    """

    job: str
    id: str
    protocol: str
    parties: tuple[str, ...]
    columns: dict[str, Columns]
    rows: int
    order: str
    ids: str
    contents: str
    opens: str
    at: datetime
    dataset: str = ""
    partition: str = ""
    model: str = ""
    asked: int = 0
    plays: tuple[str, ...] = ()
    voids: tuple[str, ...] = ()
    cost: float = 0.0
    classes: dict[str, tuple[str, str]] | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a register's file."""

    register: str
    salt: str


class RegisterFile:
    """The file of one name in a folder, and its marks."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.path = folder / f"{name}{LINES}"
        self._marks = folder / f"{name}{RECORDS}"

    @property
    def salt(self) -> bytes:
        """Under which its records are hashed."""
        return bytes.fromhex(self._read()[0].salt)

    def present(self) -> bool:
        """Say whether there is a file; raise if there must have been one."""
        if not self.path.exists() and self._marks.is_dir() and any(self._marks.iterdir()):
            raise LocalError(f"register {self.path} is gone, but its records are not: restore it from a backup")
        return self.path.exists()

    def entries(self) -> list[Entry]:
        """Return all its jobs, in the order they were written; none if there is no file yet."""
        if not self.present():
            return []
        head, entries = self._read()
        return [msgspec.structs.replace(entry, dataset=entry.dataset or head.register) for entry in entries]

    def begin(self) -> None:
        """Make the file, with a new salt, if it is not there."""
        if self.present():
            return
        self._marks.mkdir(parents=True, exist_ok=True)
        head = _line(Head(register=self.name, salt=secrets.token_hex(32)))
        write_whole(self.path, head + b"\n", "the register", private=True)

    def append(self, entry: Entry) -> None:
        """Write a job down, where a torn line may have been."""
        append_line(self.path, _line(entry), "the register")

    def keep_rows(self, rows: Rows) -> dict[str, object]:
        """Write the marks of records into files, and return what a line says of them."""
        ids, contents = self._keep(rows.ids), self._keep(rows.contents)
        classes = {name: (self._keep(a), self._keep(b)) for name, (a, b) in (rows.classes or {}).items()}
        return {"ids": ids, "contents": contents, "order": rows.order, "classes": classes}

    def _keep(self, marks: Marks) -> str:
        """Write marks into a file, and return its name."""
        content = b"".join(sorted(marks))
        name = hashlib.sha256(content).hexdigest()
        if not (self._marks / name).exists():
            write_whole(self._marks / name, content, "the register")
        return name

    def footprint(self, entry: Entry) -> Footprint:
        """Return what the job of a line touched."""
        ids, contents = self._marks_in(entry.ids), self._marks_in(entry.contents)
        if entry.classes is None:
            return Footprint(entry.columns, Rows(ids, contents, entry.order))
        classes = {name: (self._marks_in(a), self._marks_in(b)) for name, (a, b) in entry.classes.items()}
        return Footprint(entry.columns, Rows(ids, contents, entry.order, classes))

    def _marks_in(self, name: str) -> Marks:
        return _read_marks(self._marks / name)

    def _read(self) -> tuple[Head, list[Entry]]:
        first, *lines = whole_lines(self.path, "the register") or [b""]
        return self._parse(first, Head, 1), [self._parse(line, Entry, i) for i, line in enumerate(lines, 2)]

    def _parse(self, line: bytes, kind: type[S], number: int) -> S:
        checksum, _, text = line.partition(b" ")
        try:
            if hashlib.sha256(text).hexdigest()[:16].encode() == checksum:
                return msgspec.json.decode(text, type=kind)
        except (ValueError, RecursionError):
            pass  # of another version, which is no better
        raise LocalError(f"line {number} of the register {self.path} is damaged: restore the file from a backup")


@lru_cache(maxsize=64)
def _read_marks(file: Path) -> Marks:
    try:
        content = file.read_bytes()
    except OSError:
        content = b"gone"
    if hashlib.sha256(content).hexdigest() != file.name:
        raise LocalError(f"file {file} of the register is damaged or gone: restore it from a backup")
    return frozenset(content[i : i + MARK] for i in range(0, len(content), MARK))


def _line(record: msgspec.Struct) -> bytes:
    text = msgspec.json.encode(record, order="sorted")
    return hashlib.sha256(text).hexdigest()[:16].encode() + b" " + text
