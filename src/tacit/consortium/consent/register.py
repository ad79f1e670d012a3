"""The register: all that was ever opened from a site's records, so that no job comes too close to an earlier one.

A site has one register, whatever its datasets are called: two snapshots of one table under two names hold the same
records, and the difference of their results is as telling as that of two jobs on one. Every entry names its dataset;
records are compared by marks of their ids and contents. So an id must mean the same record in all datasets of a site.

Version 0.1 kept a file for each dataset, each with a salt of its own. Those stay in force: records are marked under
every salt, and compared with each file under its own. New entries go to the site's file.

Results over the records of a table are compared with each other, and so are alignments of its ids. Answers are not
compared: each is of one new record, and no sum of them is opened. They are counted, under all models of the dataset
that these were trained on and of datasets that share records with it: a model that is trained again has the same
support vectors, so a limit for each single model would be none.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.consortium.consent import difference
from tacit.consortium.consent.budget import find_shortage, price
from tacit.consortium.consent.cells import choose_least, find_few
from tacit.consortium.consent.difference import Closeness, Footprint
from tacit.consortium.consent.marks import Marks, Rows, rows_of
from tacit.consortium.consent.policy import Allowance
from tacit.consortium.consent.register_file import LINES, RECORDS, Entry, RegisterFile
from tacit.consortium.jobs.job import Columns, Job
from tacit.consortium.jobs.requests import protocols_of
from tacit.errors import LocalError
from tacit.federation.part import Part
from tacit.registry import PROTOCOLS, kind_of

COMPARED = ("records", "ids")
SITE = "site"
SAME = "take the same parties and columns as an earlier one"


@dataclass(frozen=True)
class Question:
    """What a job asks: models of which dataset, about how many new records, and how many are allowed in all.

    asked: counts the records of whoever holds them; None if that is not declared.
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
        """Return all that was opened: first of files of version 0.1, then of the site's, each in order."""
        return [entry for _, entry in self._all()]

    def rows_of(self, part: Part, ids: Sequence[Any] | None = None) -> Rows:
        """Mark the records of a part, with all its columns; by content alone where they have no ids."""
        with self._lock:
            self._site.begin()
        earlier = {file.name: rows_of(file.salt, part, ids) for file in self._earlier()}
        return replace(rows_of(self._site.salt, part, ids), earlier=earlier)

    def objection(
        self,
        job: Job,
        own: Columns,
        party: str,
        rows: Rows,
        least: int,
        instead_of: Collection[str] = (),
        apart_from: Mapping[str, Columns] | None = None,
    ) -> tuple[Closeness, Entry] | None:
        """Return by what the job comes too close to an earlier one, and to which; `own` are this party's columns.

        least: records that must differ, if any do.
        """
        columns, kind, near = {**(apart_from or {}), **job.columns, party: own}, kind_of(job.protocol), []
        if kind not in COMPARED:
            return None
        others = (job.digest, *instead_of)
        known = [(file, e) for file, e in self._all() if e.job not in others and kind_of(e.protocol) == kind]
        for file, entry in known:
            mine = _columns_by_holder(columns, party, job.partition)
            before, after = file.footprint(entry), Footprint(dict(mine), self._under(file, rows))
            before = replace(before, columns=dict(_columns_by_holder(entry.columns, party, entry.partition)))
            reason = difference.too_close(before, after)
            if reason:
                return reason, entry
            near += [entry] if difference.overlap(before, after) else []
        if (few := self._find_few(known, job, rows, least)) is not None:
            return few
        combined = _combine(job, columns, party, near)
        return None if combined is None else (combined, near[-1])

    def _find_few(
        self, known: Sequence[tuple[RegisterFile, Entry]], job: Job, rows: Rows, least: int
    ) -> tuple[Closeness, Entry] | None:
        """Return of which earlier job too few records differ here; files of version 0.1 mark them each in its way."""
        by_class = job.partition == "horizontal"
        for name, file in {file.name: file for file, _ in known}.items():
            entries = [entry for each, entry in known if each.name == name]
            earlier = [file.footprint(entry).rows for entry in entries]
            needed = choose_least(earlier, least, by_class=by_class)
            at = find_few(earlier, self._under(file, rows), needed, by_class=by_class)
            if at is not None:
                return _differ_by_few(needed, by_class=by_class), entries[at]
        return None

    def count_left(self, question: Question) -> int:
        """About how many new records may still be asked, under all models that know of the same records."""
        related = self._find_related(question.model)
        return max(0, question.most - sum(entry.asked for entry in self.entries() if entry.model in related))

    def admit(
        self,
        job: Job,
        own: Columns,
        party: str,
        rows: Rows,
        least: int,
        now: datetime,
        question: Question | None = None,
        instead_of: Collection[str] = (),
        apart_from: Mapping[str, Columns] | None = None,
        budgets: Mapping[str, Allowance] | None = None,
    ) -> Entry:
        """Write the job down before it starts, checked once more: two jobs may have been accepted at the same time.

        instead_of: digests of jobs that began, opened nothing, and never will: this one takes their place.
        apart_from: columns of parties that are left out and consented to it: that they are missing is no difference.
        """
        with self._lock:
            self._site.begin()
            known = [entry for entry in self.entries() if entry.job == job.digest]
            if known:  # the run goes on after a restart
                return known[0]
            found = self.objection(job, own, party, rows, least, instead_of, apart_from)
            if found:
                close, earlier = found
                which = f"job {earlier.id} on {earlier.dataset}"
                raise LocalError(f"register: the job differs from {which} {close.words}: refuse it")
            cost = price(job)
            if (short := find_shortage(job, cost, budgets or {}, self.on_records_of(rows), now)) is not None:
                raise LocalError(f"register: {short}")
            model, asked = ("", 0) if question is None else (question.model, self._check_quota(question))
            same: Any = {name: getattr(job, name) for name in ("id", "protocol", "parties", "dataset", "partition")}
            marks: Any = self._site.keep_rows(rows)
            opened: Any = {"opens": job.disclosure, "columns": {**job.columns, party: own}, "rows": len(rows), **marks}
            plays = tuple(name for name in protocols_of(job) if name != job.protocol)
            voids = tuple(sorted(instead_of))
            told: Any = {"model": model, "asked": asked, "plays": plays, "voids": voids, "cost": cost}
            entry = Entry(job=job.digest, at=now, **told, **same, **opened)
            self._site.append(entry)
            return entry

    def on_records_of(self, rows: Rows) -> list[Entry]:
        """Return all jobs on some of these records, under whatever name they were offered."""
        return [
            entry for file, entry in self._all() if _share_records(file.footprint(entry).rows, self._under(file, rows))
        ]

    def _check_quota(self, question: Question) -> int:
        """Return how many new records are asked about; raise if these are too many."""
        if question.asked is None or question.asked > self.count_left(question):
            limit = "no more new records than policy predictions says"
            raise LocalError(f"models of {question.model} may be asked about {limit}: refuse it")
        return question.asked

    def _earlier(self) -> list[RegisterFile]:
        """Return the files of version 0.1; raises if one is gone and has left its records."""
        names = {file.stem for end in (LINES, RECORDS) for file in self._folder.glob(f"*{end}")} - {SITE}
        return [file for name in sorted(names) if (file := RegisterFile(self._folder, name)).present()]

    def _all(self) -> Iterator[tuple[RegisterFile, Entry]]:
        found: list[tuple[RegisterFile, Entry]] = []
        for file in (*self._earlier(), self._site):
            for entry in file.entries():
                found = (
                    [(where, each) for where, each in found if each.job not in entry.voids] if entry.voids else found
                )
                found.append((file, entry))
        return iter(found)

    def _under(self, file: RegisterFile, rows: Rows) -> Rows:
        """Return the records as marked under the salt of a file."""
        found = rows if file.name == SITE else rows.earlier.get(file.name)
        if found is None:
            raise LocalError(f"the register {file.path} was added while this site was running: start the site again")
        return found

    def _find_related(self, dataset: str) -> set[str]:
        """Return the dataset, and all others of which a job used some of the records that jobs on this one used."""
        found = {dataset}
        for file in (*self._earlier(), self._site):
            marks: dict[str, Marks] = {}
            for entry in (e for e in file.entries() if kind_of(e.protocol) == "records"):
                rows = file.footprint(entry).rows
                marks[entry.dataset] = marks.get(entry.dataset, frozenset()) | rows.ids | rows.contents
            own = marks.get(dataset, frozenset())
            found |= {other for other, theirs in marks.items() if not theirs.isdisjoint(own)}
        return found


def _differ_by_few(least: int, *, by_class: bool) -> Closeness:
    of, every = (" of one class", " of every class that changes") if by_class else ("", "")
    remedy = f"offer exactly the records of that job, or wait until {least}{every} have changed, come or gone"
    return Closeness(f"by fewer than {least} of this party's records{of}", of_records=True, remedy=remedy)


def _share_records(one: Rows, other: Rows) -> bool:
    return not (one.ids.isdisjoint(other.ids) and one.contents.isdisjoint(other.contents))


def _combine(job: Job, columns: Mapping[str, Columns], party: str, near: Sequence[Entry]) -> Closeness | None:
    """Return by what the job and all earlier ones on the same records together break the rules for columns."""
    jobs = [(protocols_of(job), _columns_by_holder(columns, party, job.partition))]
    jobs += [(e.plays or (e.protocol,), _columns_by_holder(e.columns, party, e.partition)) for e in near]
    few = " and ".join(difference.about_few_holders([brought for _, brought in jobs]))
    if few:
        words = f"so that it and all earlier ones on the same records can be combined to what {few} alone brought"
        return Closeness(words, of_records=False, remedy=SAME)
    grams = [brought[party] for played, brought in jobs if _shows_gram(played) and party in brought]
    if job.partition != "vertical" and _shows_gram(protocols_of(job)) and difference.about_few_columns(grams):
        words = "so that their gram matrices can be combined to those of fewer than 3 columns"
        return Closeness(words, of_records=False, remedy=SAME)
    return None


def _columns_by_holder(columns: Mapping[str, Columns], party: str, partition: str) -> Mapping[str, Columns]:
    """Return whose columns a job used; over rows and cells everybody brings the same ones."""
    return columns if partition in {"", "vertical"} or party not in columns else dict.fromkeys(columns, columns[party])


def _shows_gram(played: Sequence[str]) -> bool:
    """Return whether the coordinator of a job saw a gram matrix, as is assumed of a protocol unknown here."""
    return any(name not in PROTOCOLS or PROTOCOLS[name].shows_gram for name in played)
