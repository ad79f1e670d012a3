"""One file of a register: a line for every job, and beside it the marks of the records that the jobs used.

    NAME.register    a first line with a secret salt, then a line per job, each `checksum JSON`
    NAME.records/    files of marks, named by their content: jobs on the same records share them

A line is appended and synced BEFORE its run starts, since a run that fails half-way may have opened something. A last line without its end
was torn by a crash before its job began, and is dropped. One process writes: the party's daemon. Record ids and contents are kept as
hashes under the salt.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from tacit.consortium.difference import MARK, Footprint, Marks, Rows
from tacit.consortium.job import Columns
from tacit.errors import LocalError
from tacit.files import write_whole

LINES, RECORDS = ".register", ".records"
S = TypeVar("S", bound=msgspec.Struct)


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job's line. `ids` and `contents` name files of marks.

    dataset: under which name the records were offered. Lines of version 0.1 lack it: there each dataset had a file of its own.
    partition: how the records were split. Lines of version 0.1 lack it.
    model: of a question, the dataset that the model was trained on.
    asked: about how many new records it is.
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


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line."""

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
            raise LocalError(f"register {self.path} is gone, but the records it speaks of are not: restore it from a backup")
        return self.path.exists()

    def entries(self) -> list[Entry]:
        """All its jobs, in the order they were written; none if there is no file yet."""
        if not self.present():
            return []
        head, entries = self._read()
        return [msgspec.structs.replace(entry, dataset=entry.dataset or head.register) for entry in entries]

    def begin(self) -> None:
        """Make the file, with a new salt, if it is not there."""
        if self.present():
            return
        self._marks.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, _line(Head(register=self.name, salt=secrets.token_hex(32))), "the register", private=True)

    def append(self, entry: Entry) -> None:
        """Write a job down, where a torn line may have been."""
        try:
            with self.path.open("r+b") as file:
                whole = file.read().rfind(b"\n") + 1
                file.truncate(whole)
                file.seek(whole)
                file.write(_line(entry))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LocalError(f"the register {self.path} cannot be written: {error.strerror}; free the disk or correct its owner") from error

    def keep(self, marks: Marks) -> str:
        """Write marks into a file, and return its name."""
        content = b"".join(sorted(marks))
        name = hashlib.sha256(content).hexdigest()
        if not (self._marks / name).exists():
            write_whole(self._marks / name, content, "the register")
        return name

    def footprint(self, entry: Entry) -> Footprint:
        """Return what the job of a line touched."""
        ids, contents = (_kept(self._marks / name) for name in (entry.ids, entry.contents))
        return Footprint(entry.columns, Rows(ids, contents, entry.order))

    def _read(self) -> tuple[Head, list[Entry]]:
        try:
            first, *lines = self.path.read_bytes().split(b"\n")[:-1] or [b""]  # what follows the last end is torn
        except OSError as error:
            raise LocalError(f"the register {self.path} cannot be read: {error.strerror}; correct its owner") from None
        return self._parsed(first, Head, 1), [self._parsed(line, Entry, i) for i, line in enumerate(lines, 2)]

    def _parsed(self, line: bytes, kind: type[S], number: int) -> S:
        checksum, _, text = line.partition(b" ")
        try:
            if hashlib.sha256(text).hexdigest()[:16].encode() == checksum:
                return msgspec.json.decode(text, type=kind)
        except (ValueError, RecursionError):
            pass  # of another version, which is no better
        raise LocalError(f"line {number} of the register {self.path} is damaged: restore the file from a backup")


@lru_cache(maxsize=16)
def _kept(file: Path) -> Marks:
    try:
        content = file.read_bytes()
    except OSError:
        content = b"gone"
    if hashlib.sha256(content).hexdigest() != file.name:
        raise LocalError(f"file {file} of the register is damaged or gone: restore it from a backup")
    return frozenset(content[i : i + MARK] for i in range(0, len(content), MARK))


def _line(record: msgspec.Struct) -> bytes:
    text = msgspec.json.encode(record, order="sorted")
    return hashlib.sha256(text).hexdigest()[:16].encode() + b" " + text + b"\n"
