"""The tables of a party: what each job uses of them, and how their records are known to the site's registers."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tacit.base.parameters import draw_seed
from tacit.consortium.consent.decision import Holdings
from tacit.consortium.consent.marks import record_marks
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import Grounds, GroundsError, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.public_result import to_plain
from tacit.consortium.site.settings import Dataset
from tacit.consortium.site.sources import Queried, source_of
from tacit.errors import LocalError
from tacit.federation import Table
from tacit.federation.deal import Deal
from tacit.federation.ids import digests, taken
from tacit.federation.part import Part, part_of
from tacit.federation.table import check_finite
from tacit.numeric.groups.least_count import FLOOR
from tacit.registry import PROTOCOLS, kind_of
from tacit.study.names import HOLDOUT, SEED

Marked = tuple[list[bytes], list[bytes]]  # marks of records, and of what is in them


class Tables:
    """The tables that one party offers, read again whenever their files change, or their queries are due."""

    def __init__(self, party: str, state: Path, offered: Mapping[str, Dataset]) -> None:
        self._party, self._state, self._offered = party, state, offered
        self._sources = {name: source_of(name, dataset) for name, dataset in offered.items()}
        self._pinned: dict[str, tuple[int, Table]] = {}  # by job, the table of its run, whatever becomes of the file
        self._known: dict[str, tuple[int, str, Holdings]] = {}  # by dataset
        self._marked: tuple[str, int, Marked] | None = None  # of the job at hand

    def look(self) -> Iterator[tuple[str, Table | Exception]]:
        """Yield every dataset by name as it is now, or why it cannot be read."""
        for name, source in self._sources.items():
            try:
                yield name, source.now()[1]
            except Exception as error:  # noqa: BLE001 - whatever its files are like
                yield name, error

    def renew(self, job: Job, older_than: float = 0.0) -> None:
        """Run the query of a job's dataset again if it was run so long ago; a file is read again by itself."""
        source = self._sources.get(job.dataset)
        if isinstance(source, Queried):
            source.renew(older_than)

    def pin(self, job: Job) -> None:
        """Let what is marked, summed and written down as opened be one table until the run of a job is over."""
        self.renew(job)
        found = self._edition(job)
        if found is not None:
            self._pinned[job.id] = found

    def unpin(self, job: Job) -> None:
        """Let the next run go by the file as it is then."""
        self._pinned.pop(job.id, None)

    def part(self, job: Job, *, held_out: bool = False) -> Part | None:
        """Return what the job uses of its dataset: columns as trained or as named, rows as aligned, labels if learnt.

        Labels are the labeller's, or everybody's own in a horizontal split. `held_out` are the records that a study
        is judged by, and all others those that it learns from.
        """
        table = self._table(job)
        if table is None or self._party not in job.parties:
            return None
        grounds, wanted = grounds_of(self._state, job), job.columns.get(self._party, "all")
        names = grounds.features or (table.features if wanted == "all" else tuple(wanted))
        index = [table.features.index(name) for name in names if name in table.features]
        learnt = kind_of(job.protocol) == "records" and job.roles.labeller in (None, self._party)
        table = self._choose(job, self._align(job, table, grounds), held_out=held_out)
        X = table.X[:, index]
        owned = ~np.isnan(X) if job.partition == "arbitrary" else None
        y, weight = (table.y, table.weight) if learnt else (None, None)
        return part_of(X, y, weight, tuple(names), owned, texts=table.texts, dates=table.dates)

    def marks(self, job: Job, salt: bytes) -> Marked:
        """Return marks of the records of a job, and of what is in them, under a salt."""
        found = self._edition(job)
        if found is None:
            return [], []
        edition, table = found
        if self._marked is None or self._marked[:2] != (job.id, edition):
            table = self._choose(job, self._align(job, table, grounds_of(self._state, job)), held_out=False)
            whole, ids = self._whole(job, table)
            self._marked = (job.id, edition, (record_marks(salt, whole, ids), record_marks(salt, whole, None)))
        return self._marked[2]

    def ids(self, job: Job) -> Any:
        """Return digests of the ids of all records of the dataset."""
        table = self._table(job)
        if table is None or self._id(job) not in table.columns:
            raise self._lacks_ids(job)
        return digests(table.columns[self._id(job)], table)

    def written_ids(self, job: Job) -> list[object]:
        """Return the ids of all records of the dataset as they are written there; none if it has no column of them."""
        table = self._table(job)
        ids = None if table is None else table.columns.get(self._id(job))
        return [] if ids is None else ids.tolist()

    def list_digest(self, job: Job) -> bytes:
        """Return a digest of the ids of all records of a job, in order."""
        table = self._table(job)
        listed = None if table is None else self._align(job, table, grounds_of(self._state, job))
        if listed is None or self._id(job) not in listed.columns:
            raise self._lacks_ids(job)
        return hashlib.sha256(digests(listed.columns[self._id(job)], listed).tobytes()).digest()

    def _lacks_ids(self, job: Job) -> LocalError:
        where = f"[datasets.{job.dataset}]"
        return LocalError(f"dataset {job.dataset!r} has no column of ids: name it in {where}, as id = ...")

    def describe_use(self, job: Job, own: Mapping[str, Any], told: Mapping[str, Any] | None = None) -> Used | None:
        """Return the columns; of an alignment the ids it found them by; of answers the records they are about.

        `told` is what everybody knows of the result.
        """
        part, table, kind = self.part(job), self._table(job), kind_of(job.protocol)
        if part is None or table is None:
            return None
        if kind != "answers" or not own:
            return Used(features=part.features, ids=self._fingerprint(job) if kind == "ids" else "")
        public = {**grounds_of(self._state, job).public, **(told or {})}
        found = {name: to_plain(public[name]) for name in ("classes", "sigmoids") if public.get(name) is not None}
        return msgspec.convert({"features": part.features, "records": self._name_records(job, table), **found}, Used)

    def holdings(self, job: Job, grounds: Grounds, register: Register) -> Holdings | None:
        """Return what this party has for a job, as its rules judge it; None if it offers no such dataset."""
        found = self._edition(job)
        if found is None:
            return None
        edition, table = found
        alignment = grounds.alignment.id if grounds.alignment else ""
        kept = self._known.get(job.dataset)
        if kept is None or kept[:2] != (edition, alignment):  # rows are marked once, though a job may wait for days
            whole, ids = self._whole(job, self._align(job, table, grounds))
            holdings = Holdings(table.features, register.rows_of(whole, ids), identified=ids is not None)
            self._known[job.dataset] = kept = (edition, alignment, holdings)
        return kept[2]

    def _table(self, job: Job) -> Table | None:
        """Return the job's dataset as it is on disk; of a run, as it was when the run began."""
        found = self._edition(job)
        return None if found is None else found[1]

    def _edition(self, job: Job) -> tuple[int, Table] | None:
        """Return the table and its edition; only in a split cell by cell a blank is another party's."""
        source = self._sources.get(job.dataset)
        if source is None:
            return None
        edition, table = self._pinned.get(job.id) or source.now()
        if not PROTOCOLS[job.protocol].takes_gaps:
            refuse_raw(table)
            if job.partition != "arbitrary":
                check_finite(table)
        return edition, table

    def _id(self, job: Job) -> str:
        return self._offered[job.dataset].id or ""

    def _whole(self, job: Job, table: Table) -> tuple[Part, Any]:
        """Return all columns of a table as a part, and the ids of its records, or None."""
        raw: Any = {"texts": table.texts, "dates": table.dates}
        return part_of(table.X, table.y, table.weight, table.features, **raw), table.columns.get(self._id(job))

    def _fingerprint(self, job: Job) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.ids(job)).tobytes()).hexdigest()

    def _align(self, job: Job, table: Table, grounds: Grounds) -> Table:
        """Return the rows that the job's alignment found, in its order; all of them without one."""
        if grounds.alignment is None:
            return table
        if self._fingerprint(job) != grounds.alignment.used.ids:
            other = f"the records of {job.dataset!r} are not those that job {grounds.alignment.id} aligned"
            raise GroundsError(f"{other}: align them again")
        return taken(table, grounds.rows)

    def _choose(self, job: Job, table: Table, *, held_out: bool) -> Table:
        """Return the records that a job learns from, or those that it holds out; all of them and none by default."""
        share, by_rows = job.params.get(HOLDOUT) or 0.0, job.partition == "horizontal"
        if not share:
            return taken(table, slice(0, 0)) if held_out else table
        deal = Deal((1.0 - share, share), draw_seed(int(job.params[SEED])), stratify=by_rows, least=FLOOR)
        # rows that no alignment put in order are in one order already, and some sites may have no ids
        named = by_rows or grounds_of(self._state, job).alignment is not None
        ids = table.columns.get(self._id(job)) if named else None
        known = None if ids is None else digests(ids, table)
        part = deal.part_of(self._party if by_rows else "", table.y if by_rows else None, known, len(table.X))
        return taken(table, np.flatnonzero(part == int(held_out)))

    def _name_records(self, job: Job, table: Table) -> tuple[str, ...]:
        """Return which records the job is about: by their ids, or else by their numbers in the file."""
        numbers = {self._id(job): np.arange(1, len(table.X) + 1)}
        numbered = dataclasses.replace(table, columns={**numbers, **table.columns})
        listed = self._align(job, numbered, grounds_of(self._state, job))
        return tuple(map(str, listed.columns[self._id(job)].tolist()))


def refuse_raw(table: Table) -> None:
    """Refuse texts and dates, which a protocol cannot use as they are."""
    for name in (*table.texts, *table.dates):
        held = f"column {name!r} of {table.name} holds {table.kind_of(name) or 'no value'}s"
        raise LocalError(f"{held}, which this job cannot use: drop it, or propose a study with a TableVectorizer")
