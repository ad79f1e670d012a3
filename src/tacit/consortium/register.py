"""The register: all that was ever opened from a dataset, so that no job comes too close to an earlier one.

The file: a first line with a secret salt, then one line per job, each `checksum JSON`, appended and synced BEFORE the run
starts, since a run that fails half-way may have opened something. A last line without its end was torn by a crash before
its job began, and is dropped. One process writes: the party's daemon. Record ids and contents are kept as salted hashes.

Results over the records of a table are compared with each other, and so are alignments of its ids. Answers are not compared: each is
of one new record, and no sum of them is opened. They are counted, under all models of the dataset that these were trained on: a model
that is trained again has the same support vectors, so a limit for each single model would be none.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from tacit.consortium.difference import MARK, Footprint, Marks, Rows, rows_of, too_close
from tacit.consortium.job import Columns, Job
from tacit.consortium.settings import file_safe
from tacit.data.part import Part
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.registry import kind_of

COMPARED = ("records", "ids")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job's line. `ids` and `contents` name files of marks, which jobs on the same records share.

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
    model: str = ""
    asked: int = 0


@dataclass(frozen=True)
class Question:
    """Under models of which dataset a job asks, about how many new records, whoever holds them, and how many are allowed in all.

    asked: None if that is not declared.
    """

    model: str
    asked: int | None
    most: int


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line."""

    register: str
    salt: str


class Register:
    """The register of one dataset, in a folder of this party's state."""

    _lock = threading.Lock()  # of all registers: questions are counted over all of them

    def __init__(self, folder: Path, dataset: str) -> None:
        if not file_safe(dataset):
            raise LocalError(f"dataset {dataset!r} cannot name a file: use letters, digits, '.', - and _ only")
        self.dataset = dataset
        self.path = folder / f"{dataset}.register"
        self._marks = folder / f"{dataset}.records"

    def entries(self) -> list[Entry]:
        """All that was opened, in order."""
        return self._read()[1]

    def rows_of(self, part: Part, ids: Sequence[Any] | None = None) -> Rows:
        """The records of a part, with all its columns; by content alone where they have no ids."""
        return rows_of(self._salt(), part, ids)

    def objection(self, job: Job, own: Columns, party: str, rows: Rows, minimum_rows: int) -> tuple[str, Entry] | None:
        """The first earlier job that this one comes too close to, and by what; `own` are this party's columns by name."""
        after, kind = Footprint({**job.columns, party: own}, rows), kind_of(job.protocol)
        if kind not in COMPARED:
            return None
        for entry in (e for e in self.entries() if kind_of(e.protocol) == kind):
            reason = None if entry.job == job.digest else too_close(self._footprint(entry), after, minimum_rows)
            if reason:
                return reason, entry
        return None

    def left(self, question: Question) -> int:
        """About how many new records may still be asked, after all that all registers of this party tell."""
        registers = [Register(self.path.parent, file.stem) for file in self.path.parent.glob("*.register")]
        asked = sum(entry.asked for register in registers for entry in register.entries() if entry.model == question.model)
        return max(0, question.most - asked)

    def admit(
        self, job: Job, own: Columns, party: str, rows: Rows, minimum_rows: int, now: datetime, question: Question | None = None
    ) -> Entry:
        """Write the job down before it starts, checked once more: two jobs may have been accepted at the same time."""
        with self._lock:
            self._begin()
            known = [entry for entry in self.entries() if entry.job == job.digest]
            if known:  # the run goes on after a restart
                return known[0]
            found = self.objection(job, own, party, rows, minimum_rows)
            if found:
                raise LocalError(f"register of {self.dataset}: the job differs from job {found[1].id} {found[0]}: refuse it")
            model, asked = ("", 0) if question is None else (question.model, self._checked(question))
            entry = Entry(
                job=job.digest, id=job.id, protocol=job.protocol, parties=job.parties, columns={**job.columns, party: own},
                rows=len(rows), order=rows.order, ids=self._keep(rows.ids), contents=self._keep(rows.contents),
                opens=job.disclosure, at=now, model=model, asked=asked,
            )  # fmt: skip
            self._append(entry)
            return entry

    def _checked(self, question: Question) -> int:
        if question.asked is None or question.asked > self.left(question):
            raise LocalError(f"models of {question.model} may be asked about no more new records than policy predictions says: refuse it")
        return question.asked

    def _salt(self) -> bytes:
        with self._lock:
            self._begin()
            return bytes.fromhex(self._read()[0].salt)

    def _begin(self) -> None:
        if self.path.exists():
            return
        self._marks.mkdir(parents=True, exist_ok=True)
        if any(self._marks.iterdir()):
            raise LocalError(f"register {self.path} is gone, but the records it speaks of are not: restore it from a backup")
        head = Head(register=self.dataset, salt=secrets.token_hex(32))
        write_whole(self.path, _line(head), "the register")
        self.path.chmod(0o600)

    def _read(self) -> tuple[Head, list[Entry]]:
        if not self.path.exists():
            return Head(register=self.dataset, salt=""), []
        first, *lines = self.path.read_bytes().split(b"\n")[:-1] or [b""]  # what follows the last end is torn
        return self._parsed(first, Head, 1), [self._parsed(line, Entry, i) for i, line in enumerate(lines, 2)]

    def _parsed(self, line: bytes, kind: Any, number: int) -> Any:
        checksum, _, text = line.partition(b" ")
        try:
            if hashlib.sha256(text).hexdigest()[:16].encode() == checksum:
                return msgspec.json.decode(text, type=kind)
        except msgspec.DecodeError:
            pass  # of another version, which is no better
        raise LocalError(f"line {number} of the register {self.path} is damaged: restore the file from a backup")

    def _append(self, entry: Entry) -> None:
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

    def _keep(self, marks: Marks) -> str:
        content = b"".join(sorted(marks))
        name = hashlib.sha256(content).hexdigest()
        if not (self._marks / name).exists():
            write_whole(self._marks / name, content, "the register")
        return name

    def _footprint(self, entry: Entry) -> Footprint:
        ids, contents = (_kept(self._marks / name) for name in (entry.ids, entry.contents))
        return Footprint(entry.columns, Rows(ids, contents, entry.order))


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
