"""The register: all that was ever opened from a site's records, so that no job comes too close to an earlier one.

A site has one register, whatever its datasets are called. Which records a job uses is fixed by their edition
(`consortium.editions`), so that a job can vary its method, its columns and its parties. Of these, jobs on the same
records

    (1)  have the same parties, or others at three parties or more: a difference of two models with and without a party
         would be about that party alone
    (2)  are `studies` at most for each edition (policy): every study tells a little more
    (3)  are not asked twice: what was asked before is answered from what is there
    (4)  have at most `column_lists` lists of columns, preparations and parties (policy) for the same persons: the noise
         on landmarks is the same for all jobs of one list, and another one for each list (`features.landmarks`)
    (5)  judge the same persons by at most `groupings` groupings (policy): in one of them a group, and the rest, have
         none or 10 records of each class, but two groupings may differ by one record

Answers of a model are counted, under all models of the dataset that these were trained on and of datasets that share
persons with it: a limit for each single model would be none. What noisy jobs spend adds up (`budget`).
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacit.consortium.consent.budget import find_shortage, price
from tacit.consortium.consent.policy import Allowance
from tacit.consortium.consent.register_file import Entry, Head, Heads, RegisterFile, Told
from tacit.consortium.editions.edition import Edition
from tacit.consortium.editions.memory import Memory
from tacit.consortium.jobs.job import ROLES, Columns, Job
from tacit.consortium.jobs.rehearsal import takes
from tacit.consortium.jobs.requests import facts_by_role, protocols_of, requests_of
from tacit.errors import LocalError
from tacit.federation.checks import FEWEST
from tacit.protocols.facts import LANDMARKS
from tacit.registry import kind_of
from tacit.report.evaluation import SITE
from tacit.study.names import SEED

ASKED_SAME = "asked the same"
COMPARED = ("records", "ids")
LISTS = 5  # of columns
USUAL_FEATURES = 400  # of a model whose job leaves that open
# fields of a job that say what it asks, and of whom; the rest is about the job itself
ASKED = ("protocol", "params", "partition", "parties", *ROLES, "dataset", "columns", "classes")


class Closeness(NamedTuple):
    """Why a job comes too close to an earlier one, in words without any figure of the records.

    of_records: whether that depends on the records.
    remedy: what would be accepted.
    """

    words: str
    of_records: bool
    remedy: str


@dataclass(frozen=True)
class Question:
    """What a job asks: models of which dataset, about how many new records, and how many are allowed in all.

    asked: counts the records of whoever holds them; None if that is not declared.
    """

    model: str
    asked: int | None
    most: int


@dataclass(frozen=True)
class Limits:
    """What a policy says of repetition: how many studies each edition may have, and what noisy ones may cost.

    keeps: tells whether the result of an earlier job is still here. lists, groupings: how many lists of columns there
    may be, and how many groupings of records that are judged.
    """

    studies: int
    budgets: Mapping[str, Allowance]
    keeps: Callable[[str], bool] = lambda _: False
    lists: int = LISTS
    groupings: int = 1


class Register:
    """The register of one site, in a folder of its state."""

    _lock = threading.Lock()  # of whoever writes in this process

    def __init__(self, folder: Path) -> None:
        self._file, self.memory, self.heads = RegisterFile(folder), Memory(folder), Heads(folder)
        self.path = self._file.path

    def entries(self) -> list[Entry]:
        """Return all that was opened, in order, without lines whose runs opened nothing and were begun anew."""
        found = self._file.entries()
        void = {digest for entry in found for digest in entry.voids}
        return [entry for entry in found if entry.job not in void]

    def head(self) -> Head:
        """Return how far the register is, as other sites remember it."""
        return self._file.head()

    def objection(
        self, job: Job, edition: Edition, limits: Limits, instead_of: Collection[str] = (), left: Collection[str] = ()
    ) -> tuple[Closeness, Entry] | None:
        """Return why the job comes too close to an earlier one, and to which.

        Asking once more what stopped, or whose result is gone, is a study like any other.
        instead_of: digests of jobs that began, opened nothing, and never will: this one takes their place.
        left: parties that are left out and consented to it: that they are missing is no difference.
        """
        kind = kind_of(job.protocol)
        if kind not in COMPARED:
            return None
        others = (job.digest, *instead_of)
        earlier = [entry for entry in self.on_persons_of(edition) if entry.job not in others]
        if edition.breaks:
            return _BROKEN, earlier[-1]
        earlier = [e for e in earlier if kind_of(e.protocol) == kind]
        for entry in earlier:
            differing = sorted({*entry.parties} ^ {*job.parties, *left})
            if 0 < len(differing) < FEWEST:
                return _differ_by(differing), entry
        same = [entry for entry in earlier if entry.edition == edition.digest]
        asked = question_digest(job)
        for entry in same:
            if entry.question == asked and kind == "records" and limits.keeps(entry.id):
                words = f"in nothing: job {entry.id} {ASKED_SAME}"
                return Closeness(words, of_records=False, remedy=_SAME), entry
        return self._exceeds(job, edition, limits, same) if kind == "records" else None

    def _exceeds(self, job: Job, edition: Edition, limits: Limits, same: list[Entry]) -> tuple[Closeness, Entry] | None:
        """Return which limit of repetition the job exceeds, (2), (4) or (5); `same`: studies on the same records."""
        if len(same) >= limits.studies:
            words = f"on these records, and policy studies = {limits.studies} allows no more of them"
            return Closeness(words, of_records=False, remedy="ask that party, or wait for its next edition"), same[-1]
        alike = [entry for entry in self.entries() if entry.people == edition.people]
        lists = {entry.points: entry for entry in alike if entry.points}
        if len(lists) >= limits.lists and points_digest(job) not in {"", *lists}:
            words = f"in columns or their preparation, and policy column_lists = {limits.lists} allows no more lists"
            return Closeness(words, of_records=False, remedy="take its columns, steps and parties"), [*lists.values()][
                -1
            ]
        groups = {entry.groups: entry for entry in alike if entry.groups}
        if len(groups) >= limits.groupings and groups_digest(job) not in {"", *groups}:
            words = f"in the groups that it is judged by, and policy groupings = {limits.groupings} allows no others"
            return Closeness(words, of_records=False, remedy="judge by its groups, or by none"), [*groups.values()][-1]
        return None

    def count_studies(self, edition: Edition) -> int:
        """Return how many studies there were on these records."""
        same = (entry for entry in self.entries() if entry.edition == edition.digest)
        return sum(kind_of(entry.protocol) == "records" for entry in same)

    def sum_told(self, edition: Edition) -> float:
        """Return mu of the noise on all weights that studies on these records revealed."""
        return math.sqrt(sum(entry.told for entry in self.entries() if entry.edition == edition.digest))

    def settle(self, job: Job, mu2: float) -> None:
        """Write down how much the models of a job told, mu^2 of their rounding noise, once they are revealed."""
        with self._lock:
            if mu2 and any(entry.job == job.digest and not entry.told for entry in self.entries()):
                self._file.append(Told(of=job.digest, mu2=mu2))

    def count_left(self, question: Question) -> int:
        """About how many new records may still be asked, under all models that know of the same records."""
        entries = self.entries()
        related = self.memory.related_editions({entry.edition for entry in entries if entry.dataset == question.model})
        names = {question.model, *(entry.dataset for entry in entries if entry.edition in related)}
        return max(0, question.most - sum(entry.asked for entry in entries if entry.model in names))

    def admit(
        self,
        job: Job,
        own: Columns,
        party: str,
        edition: Edition,
        limits: Limits,
        now: datetime,
        question: Question | None = None,
        instead_of: Collection[str] = (),
        left: Collection[str] = (),
    ) -> Entry:
        """Write the job down before it starts, checked once more: two jobs may have been accepted at the same time."""
        with self._lock:
            known = [entry for entry in self.entries() if entry.job == job.digest]
            if known:  # the run goes on after a restart
                return known[0]
            if (found := self.objection(job, edition, limits, instead_of, left)) is not None:
                close, earlier = found
                which = f"job {earlier.id} on {earlier.dataset}"
                raise LocalError(f"register: the job differs from {which} {close.words}: refuse it")
            cost = price(job)
            if (short := find_shortage(job, cost, limits.budgets, self.on_persons_of(edition), now)) is not None:
                raise LocalError(f"register: {short}")
            model, asked = ("", 0) if question is None else (question.model, self._check_quota(question))
            if kind_of(job.protocol) in COMPARED:
                self._refuse_crossing(edition)
                self.memory.use(edition.digest, edition.persons, edition.dealt)
            entry = Entry(
                job=job.digest,
                question=question_digest(job),
                id=job.id,
                protocol=job.protocol,
                plays=tuple(name for name in protocols_of(job) if name != job.protocol),
                parties=job.parties,
                partition=job.partition,
                dataset=job.dataset,
                edition=edition.digest,
                rows=len(edition.table.X),
                columns={**job.columns, party: own},
                opens=job.disclosure,
                at=now,
                model=model,
                asked=asked,
                voids=tuple(sorted(instead_of)),
                cost=cost,
                weights=count_weights(job, len(edition.table.X)),
                people=edition.people,
                points=points_digest(job),
                groups=groups_digest(job),
            )
            self._file.append(entry)
            return entry

    def _refuse_crossing(self, edition: Edition) -> None:
        """Refuse records that differ by a few persons from those of a job that began since they were fixed."""
        known = self.memory.knows(edition.persons)
        if known and not self.memory.choose(edition.persons, edition.dealt, edition.least).all():
            raise LocalError("register: another job has begun on some of these records since: propose this one again")

    def on_persons_of(self, edition: Edition) -> list[Entry]:
        """Return all jobs on some of these persons, under whatever name their records were offered."""
        related = self.memory.related(edition.persons)
        return [entry for entry in self.entries() if entry.edition in related]

    def _check_quota(self, question: Question) -> int:
        """Return how many new records are asked about; raise if these are too many."""
        if question.asked is None or question.asked > self.count_left(question):
            limit = "no more new records than policy predictions says"
            raise LocalError(f"models of {question.model} may be asked about {limit}: refuse it")
        return question.asked


def count_weights(job: Job, rows: int) -> int:
    """Return about how many numbers the models of a job have: a weight for each feature, and for each class."""
    found = 0
    for asked in requests_of(job):
        sizes = [asked.params.get(name) for name in ("features", "n_hidden") if name in takes(asked.protocol)]
        if sizes and "settings" not in asked.params:  # a search tells scores alone
            features = next((int(n) for n in sizes if isinstance(n, int)), min(rows, USUAL_FEATURES))
            found += (features + 1) * max(1, len(job.classes or ()) - 1)
    return found


def points_digest(job: Job) -> str:
    """Return a digest of what the noise on a job's landmarks follows from, beside the records; empty without any."""
    told = facts_by_role(job.disclosure).values()
    if kind_of(job.protocol) != "records" or not any(LANDMARKS.identifier in facts for facts in told):
        return ""
    found = {name: getattr(job, name) for name in ("partition", "parties", "columns")}
    found["steps"] = list(job.params.get("steps") or ())[:-1]
    return hashlib.sha256(msgspec.json.encode(found, order="sorted")).hexdigest()


def groups_digest(job: Job) -> str:
    """Return a digest of the groups of records that a job is judged by; empty if there are none but sites."""
    by = (job.arguments.get("evaluate") or {}).get("by")
    if by in (None, SITE):
        return ""
    named = [step.get("categories") for step in job.arguments.get("steps") or ()] if isinstance(by, str) else []
    return hashlib.sha256(msgspec.json.encode([by, named], order="sorted")).hexdigest()


def question_digest(job: Job) -> str:
    """Return a digest of what a job asks, and of whom, whatever it is called and whenever it was proposed."""
    asked = {name: getattr(job, name) for name in ASKED} | {"builds_on": job.builds_on}
    asked["params"] = {name: value for name, value in job.params.items() if name != SEED}
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()


_SAME = "its result is kept (tacit result)"
_BROKEN = Closeness(
    "by a few persons, or by a few who were corrected",
    of_records=True,
    remedy="offer exactly the records of that job, or wait until more of them have come, gone or changed",
)


def _differ_by(parties: Collection[str]) -> Closeness:
    words = f"by {' and '.join(parties)} only, and fewer than {FEWEST} parties hide nobody"
    remedy = f"take the same parties, or others at {FEWEST} parties or more"
    return Closeness(words, of_records=False, remedy=remedy)
