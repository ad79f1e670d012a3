"""The tables of a party: what each job uses of them, and how their records are known to the site's registers."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tacit.arrays import Flags
from tacit.consortium.consent.decision import Holdings
from tacit.consortium.consent.register import Register
from tacit.consortium.editions.dealing import I8, SHARE
from tacit.consortium.editions.edition import LEAST, Edition, Fixed, Target, make_edition, whole_edition
from tacit.consortium.jobs.folder import Used
from tacit.consortium.jobs.grounds import Grounds, GroundsError, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.public_result import to_plain
from tacit.consortium.jobs.requests import takes_gaps
from tacit.consortium.site.settings import Dataset
from tacit.consortium.site.sources import Queried, source_of
from tacit.crypto.pads.entropy import prf
from tacit.errors import LocalError
from tacit.federation import Table
from tacit.federation.ids import digests, taken
from tacit.federation.part import Part, part_of
from tacit.federation.table import check_finite
from tacit.registry import PROTOCOLS, kind_of


class Tables:
    """The tables that one party offers, read again whenever their files change, or their queries are due."""

    def __init__(
        self,
        party: str,
        state: Path,
        offered: Mapping[str, Dataset],
        network: bytes = b"",
        least: Callable[[], int] = lambda: LEAST,
    ) -> None:
        self._party, self._state, self._offered = party, state, offered
        self._network, self._least = network, least
        self.register = Register(state / "registers")
        self._sources = {name: source_of(name, dataset) for name, dataset in offered.items()}
        self._pinned: dict[str, tuple[int, Table]] = {}  # by job, the table of its run, whatever becomes of the file
        self._fixed: dict[str, tuple[object, Edition]] = {}  # by dataset

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
        """Return the job's records: its columns, as trained or as named, and labels where they are learnt.

        Labels are the labeller's, or everybody's own in a horizontal split. A job that trains has the records to learn
        from, and `held_out` those to judge by; one that judges an earlier model has the latter; questions are about all
        records of their dataset.
        """
        found = self._fix(job)
        if found is None or self._party not in job.parties:
            return None
        edition, grounds = found, grounds_of(self._state, job)
        wanted = job.columns.get(self._party, "all")
        table, unlabelled, folds = self._choose(job, edition, held_out=held_out)
        names = grounds.features or (table.features if wanted == "all" else tuple(wanted))
        index = [table.features.index(name) for name in names if name in table.features]
        learnt = kind_of(job.protocol) == "records" and job.labeller in (None, self._party)
        X = table.X[:, index]
        owned = ~np.isnan(X) if job.partition == "arbitrary" else None
        y, weight = (table.y, table.weight) if learnt else (None, None)
        part = part_of(X, y, weight, tuple(names), owned, texts=table.texts, dates=table.dates)
        hidden = unlabelled if learnt and unlabelled.any() else None
        key = prf(self.register.memory.key, b"noise", edition.digest.encode(), bytes([held_out]))
        return dataclasses.replace(part, folds=folds, unlabelled=hidden, key=key)

    def beside(self, job: Job) -> Part | None:
        """Return the records to judge by that a job has beside those of `part`; none if it is about one set only."""
        known = PROTOCOLS[job.protocol]
        return self.part(job, held_out=True) if known.kind == "records" and not known.builds_on else None

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

    def holdings(self, job: Job, grounds: Grounds) -> Holdings | None:
        """Return what this party has for a job, as its rules judge it; None if it offers no such dataset."""
        edition = self._fix(job, grounds)
        if edition is None:
            return None
        return Holdings(edition.table.features, edition, identified=self._id(job) in edition.table.columns)

    def _fix(self, job: Job, grounds: Grounds | None = None) -> Edition | None:
        """Return the edition of the job's records, as it is now; of a run, as it was when the run began."""
        found = self._edition(job)
        if found is None:
            return None
        number, table = found
        grounds = grounds_of(self._state, job) if grounds is None else grounds
        alignment = grounds.alignment.id if grounds.alignment else ""
        key = (number, alignment, job.partition, kind_of(job.protocol), self._least(), self.register.memory.changes)
        kept = self._fixed.get(job.dataset)
        if kept is None or kept[0] != key:  # records are marked once, though a job may wait for days
            made = self._make(job, self._align(job, table, grounds))
            self._fixed[job.dataset] = kept = (key, made)
        return kept[1]

    def _make(self, job: Job, table: Table) -> Edition:
        """Return the edition of a table; without ids its records are known by their place, and nobody is left out."""
        declared = self._offered[job.dataset]
        column = self._id(job)
        ids = table.columns[column] if column in table.columns else np.arange(1, len(table.X) + 1)
        if kind_of(job.protocol) != "records":
            return whole_edition(self.register.memory, table, ids, self._network, self._least())
        self._refuse_targets(job.dataset, table)
        alone = job.partition == "horizontal"  # over columns and cells others bring the same records
        persons = table.columns[declared.person] if declared.person else None
        fixed = Fixed(
            label=declared.label,
            classes=declared.classes,
            judge=declared.judge if alone else SHARE,
            least=self._least(),
            network=None if alone else self._network,
            by_place=not alone and persons is None and grounds_of(self._state, job).alignment is None,
        )
        return make_edition(self.register.memory, table, ids, persons, fixed, self._other_targets(job))

    def _refuse_targets(self, name: str, table: Table) -> None:
        """Refuse a feature that another dataset learns: as a target and as a feature a column tells of single cells."""
        for other, declared in self._offered.items():
            if other != name and declared.label in table.features:
                both = (
                    f"column {declared.label!r} is the label of [datasets.{other}] and a feature of [datasets.{name}]"
                )
                raise LocalError(f"{both}: add drop = [{declared.label!r}] to the latter")

    def _other_targets(self, job: Job) -> list[Target]:
        """Return the targets of the datasets that stand before the job's, if they can be read."""
        found: list[Target] = []
        for name, declared in self._offered.items():
            if name == job.dataset:
                break
            if declared.label is not None and declared.id is not None:
                table = self._sources[name].now()[1]
                column = _name_ids(declared)
                persons = table.columns[declared.person] if declared.person else None
                fixed = Fixed(label=declared.label, classes=declared.classes, judge=declared.judge, least=self._least())
                found.append(
                    make_edition(self.register.memory, table, table.columns[column], persons, fixed, found).target()
                )
        return found

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
        if not takes_gaps(job):
            refuse_raw(table)
            if job.partition != "arbitrary":
                check_finite(table)
        return edition, table

    def _id(self, job: Job) -> str:
        return _name_ids(self._offered[job.dataset])

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

    def _choose(self, job: Job, edition: Edition, *, held_out: bool) -> tuple[Table, Flags, I8 | None]:
        """Return the records that a job learns from, or those that a model is judged by; the folds of the former."""
        known = PROTOCOLS[job.protocol]
        if known.kind != "records":
            return edition.table, edition.unlabelled, None
        judged = held_out or bool(known.builds_on)
        table, which = edition.choose(judged=judged)
        return table, edition.unlabelled[which], None if judged else edition.parts[which]

    def _name_records(self, job: Job, table: Table) -> tuple[str, ...]:
        """Return which records the job is about: by their ids, or else by their numbers in the file."""
        numbers = {self._id(job): np.arange(1, len(table.X) + 1)}
        numbered = dataclasses.replace(table, columns={**numbers, **table.columns})
        listed = self._align(job, numbered, grounds_of(self._state, job))
        return tuple(map(str, listed.columns[self._id(job)].tolist()))


def network_key(fingerprint: str) -> bytes:
    """Return the key by which all sites of a network deal the records that they share."""
    return hashlib.sha256(b"tacit network " + re.sub(r"[:\s]", "", fingerprint).lower().encode()).digest()


def _name_ids(dataset: Dataset) -> str:
    return dataset.id or ""


def refuse_raw(table: Table) -> None:
    """Refuse texts and dates, which a protocol cannot use as they are."""
    for name in (*table.texts, *table.dates):
        held = f"column {name!r} of {table.name} holds {table.kind_of(name) or 'no value'}s"
        raise LocalError(f"{held}, which this job cannot use: drop it, or propose a study with a TableVectorizer")
