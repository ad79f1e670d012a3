"""The register: all that was ever opened from a site's records, so that no job comes too close to an earlier one.

A site has one register, whatever its datasets are called: two snapshots of one table under two names hold the same records, and the
difference of their results is as telling as that of two jobs on one. Every entry names its dataset; records are compared by marks of
their ids and contents. So an id must mean the same record in all datasets of a site.

Version 0.1 kept a file for each dataset, each with a salt of its own. Those stay in force: records are marked under every salt, and
compared with each file under its own. New entries go to the site's file.

Results over the records of a table are compared with each other, and so are alignments of its ids. Answers are not compared: each is
of one new record, and no sum of them is opened. They are counted, under all models of the dataset that these were trained on and of
datasets that share records with it: a model that is trained again has the same support vectors, so a limit for each single model would be
none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.consortium.difference import (
    Closeness,
    Footprint,
    Marks,
    Rows,
    about_few_columns,
    about_few_holders,
    overlap,
    rows_of,
    too_close,
)
from tacit.consortium.job import Columns, Job
from tacit.consortium.register_file import LINES, RECORDS, Entry, RegisterFile
from tacit.consortium.risks import GRAMS
from tacit.data.part import Part
from tacit.errors import LocalError
from tacit.registry import kind_of

COMPARED = ("records", "ids")
SITE = "site"


@dataclass(frozen=True)
class Question:
    """Under models of which dataset a job asks, about how many new records, whoever holds them, and how many are allowed in all.

    asked: None if that is not declared.
    """

    model: str
    asked: int | None
    most: int


class Register:
    """The register of one site, in a folder of its state."""

    _lock = threading.Lock()  # of whoever writes in this process

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._site = RegisterFile(folder, SITE)
        self.path = self._site.path

    def entries(self) -> list[Entry]:
        """All that was opened: first of files of version 0.1, then of the site's, each in order."""
        return [entry for _, entry in self._all()]

    def rows_of(self, part: Part, ids: Sequence[Any] | None = None) -> Rows:
        """Mark the records of a part, with all its columns; by content alone where they have no ids."""
        with self._lock:
            self._site.begin()
        earlier = {file.name: rows_of(file.salt, part, ids) for file in self._earlier()}
        return replace(rows_of(self._site.salt, part, ids), earlier=earlier)

    def objection(self, job: Job, own: Columns, party: str, rows: Rows, minimum_rows: int) -> tuple[Closeness, Entry] | None:
        """Return by what the job comes too close to an earlier one, and to which; `own` are this party's columns by name."""
        columns, kind, near = {**job.columns, party: own}, kind_of(job.protocol), []
        if kind not in COMPARED:
            return None
        for file, entry in self._all():
            if entry.job == job.digest or kind_of(entry.protocol) != kind:
                continue
            before, after = file.footprint(entry), Footprint(columns, self._under(file, rows))
            reason = too_close(before, after, minimum_rows)
            if reason:
                return reason, entry
            near += [entry] if overlap(before, after) else []
        combined = _combined(job, columns, party, near)
        return None if combined is None else (combined, near[-1])

    def left(self, question: Question) -> int:
        """About how many new records may still be asked, under all models that know of the same records."""
        related = self._related(question.model)
        return max(0, question.most - sum(entry.asked for entry in self.entries() if entry.model in related))

    def admit(
        self, job: Job, own: Columns, party: str, rows: Rows, minimum_rows: int, now: datetime, question: Question | None = None
    ) -> Entry:
        """Write the job down before it starts, checked once more: two jobs may have been accepted at the same time."""
        with self._lock:
            self._site.begin()
            known = [entry for entry in self.entries() if entry.job == job.digest]
            if known:  # the run goes on after a restart
                return known[0]
            found = self.objection(job, own, party, rows, minimum_rows)
            if found:
                close, earlier = found
                raise LocalError(f"register: the job differs from job {earlier.id} on {earlier.dataset} {close.words}: refuse it")
            model, asked = ("", 0) if question is None else (question.model, self._checked(question))
            entry = Entry(
                job=job.digest, id=job.id, protocol=job.protocol, parties=job.parties, columns={**job.columns, party: own},
                rows=len(rows), order=rows.order, ids=self._site.keep(rows.ids), contents=self._site.keep(rows.contents),
                opens=job.disclosure, at=now, dataset=job.dataset, partition=job.partition, model=model, asked=asked,
            )  # fmt: skip
            self._site.append(entry)
            return entry

    def _checked(self, question: Question) -> int:
        if question.asked is None or question.asked > self.left(question):
            raise LocalError(f"models of {question.model} may be asked about no more new records than policy predictions says: refuse it")
        return question.asked

    def _earlier(self) -> list[RegisterFile]:
        """The files of version 0.1; raises if one is gone and has left its records."""
        names = {file.stem for end in (LINES, RECORDS) for file in self._folder.glob(f"*{end}")} - {SITE}
        return [file for name in sorted(names) if (file := RegisterFile(self._folder, name)).present()]

    def _all(self) -> Iterator[tuple[RegisterFile, Entry]]:
        return ((file, entry) for file in (*self._earlier(), self._site) for entry in file.entries())

    def _under(self, file: RegisterFile, rows: Rows) -> Rows:
        """Return the records as marked under the salt of a file."""
        found = rows if file.name == SITE else rows.earlier.get(file.name)
        if found is None:
            raise LocalError(f"the register {file.path} was put there while this site was running: start the site again")
        return found

    def _related(self, dataset: str) -> set[str]:
        """Return the dataset, and all others of which a job used some of the records that jobs on this one used."""
        found = {dataset}
        for file in (*self._earlier(), self._site):
            marks: dict[str, Marks] = {}
            for entry in (e for e in file.entries() if kind_of(e.protocol) == "records"):
                rows = file.footprint(entry).rows
                marks[entry.dataset] = marks.get(entry.dataset, frozenset()) | rows.ids | rows.contents
            found |= {other for other, theirs in marks.items() if not theirs.isdisjoint(marks.get(dataset, frozenset()))}
        return found


def _combined(job: Job, columns: Mapping[str, Columns], party: str, near: Sequence[Entry]) -> Closeness | None:
    """By what the job and all earlier ones on the same records together break the rules for columns; None if they do not."""
    jobs = [(job.protocol, _brought(columns, party, job.partition)), *((e.protocol, _brought(e.columns, party, e.partition)) for e in near)]
    few = about_few_holders([brought for _, brought in jobs])
    if few:
        words = f"so that it and all earlier ones on the same records can be combined to what {' and '.join(few)} alone brought"
        return Closeness(words, of_records=False)
    grams = [brought[party] for protocol, brought in jobs if protocol in GRAMS and party in brought]
    if job.partition != "vertical" and job.protocol in GRAMS and about_few_columns(grams):
        words = "so that their gram matrices can be combined to those of fewer than 3 columns"
        return Closeness(words, of_records=False)
    return None


def _brought(columns: Mapping[str, Columns], party: str, partition: str) -> Mapping[str, Columns]:
    """Return whose columns a job used; over rows and cells everybody brings the same ones."""
    return columns if partition in {"", "vertical"} or party not in columns else dict.fromkeys(columns, columns[party])
