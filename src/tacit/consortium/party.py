"""A party's daemon: dials out, waits for proposals, judges them by its policy, and plays those that everybody accepted."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from tacit.consortium.answers import Answer, Finished, Proposal, Start, read
from tacit.consortium.consent import Consent, Record, automatic
from tacit.consortium.decision import Decision, Facts, decide, named_columns, question_of
from tacit.consortium.difference import record_marks
from tacit.consortium.folder import Folder, Used, folder_of
from tacit.consortium.grounds import Grounds, GroundsError, grounds_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.members import Members
from tacit.consortium.opened import Opened
from tacit.consortium.policy import Policy
from tacit.consortium.preflight import concerns, local_checks, render, report_of
from tacit.consortium.register import Register
from tacit.consortium.settings import PartySettings
from tacit.consortium.site import Site
from tacit.data import Table
from tacit.data.ids import digests, taken
from tacit.data.part import Part, part_of
from tacit.data.readers import read as read_table
from tacit.data.table import check_finite
from tacit.errors import LocalError, PeerError
from tacit.protocols.atoms import Past
from tacit.registry import kind_of
from tacit.runtimes.nats import Broker

log = logging.getLogger("tacit")


class Party(Site):
    """One data holder."""

    def __init__(self, settings: PartySettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(identity, members, settings.state, broker, timeout=settings.party_timeout, admin=False)
        self.settings = settings
        self.policy = Policy.from_toml(settings.policy)
        self.consent = Consent(settings.state / "consent", self.policy, self.name)
        self.opened = Opened(settings.state / "registers")
        self._tables: dict[str, Table] = {}
        self._known: dict[tuple[str, str], Facts] = {}
        self._marked: dict[str, tuple[list[bytes], list[bytes]]] = {}  # of the job at hand
        self._summing: dict[str, str] = {}  # by dataset, the job whose run sums its rows
        self._summing_lock = threading.Lock()

    # Data

    def table(self, job: Job) -> Table | None:
        """The job's dataset as it is on disk, read once; only in a split cell by cell a blank is another party's."""
        offered = self.settings.datasets.get(job.dataset)
        if offered is None:
            return None
        if job.dataset not in self._tables:
            drop = [*offered.drop, *([offered.id] if offered.id else [])]
            self._tables[job.dataset] = read_table(offered.path, offered.label, drop, allow_missing=True)
        table = self._tables[job.dataset]
        if job.partition != "arbitrary":
            check_finite(table)
        return table

    def part(self, job: Job) -> Part | None:
        """What the job uses of its dataset: columns as trained, or as the job names them; rows as aligned; labels if they are learnt.

        Labels are the labeller's, or everybody's own in a horizontal split.
        """
        table = self.table(job)
        if table is None or self.name not in job.parties:
            return None
        grounds, wanted = grounds_of(self.state, job), job.columns.get(self.name, "all")
        names = grounds.features or (table.features if wanted == "all" else tuple(wanted))
        index = [table.features.index(name) for name in names if name in table.features]
        learnt = kind_of(job.protocol) == "records" and job.roles.labeller in (None, self.name)
        table = self._aligned(job, table, grounds)
        X = table.X[:, index]
        owned = ~np.isnan(X) if job.partition == "arbitrary" else None
        return part_of(X, table.y if learnt else None, table.weight if learnt else None, tuple(names), owned)

    def remembered(self, folder: Folder, job: Job) -> Part | None:
        """Its data for a run by rows, with what earlier runs opened of them: as it was when this run began, if that is taken up again."""
        part = self.part(job)
        if part is None or job.partition != "horizontal" or kind_of(job.protocol) != "records":
            return part
        self._alone(job)
        past, marks = folder.past, self._marks(job)
        if past is None:
            past = folder.past = self.opened.begin(job.id, *marks)
        else:
            self.opened.check(job.id, marks[0])
        return dataclasses.replace(part, past=past)

    def _alone(self, job: Job) -> None:
        """Refuse to sum records that another run is summing: groups of two runs at a time could have a few rows in common."""
        with self._summing_lock:
            other = self._summing.get(job.dataset)
            if other not in (None, job.id) and self._playing[other].is_alive():
                raise LocalError(f"job {other[:8]} is summing the same records: take this one up again when that is through")
            self._summing[job.dataset] = job.id

    def keep(self, job: Job, value: Past) -> None:
        """Write down what a run has opened, before it says anything more."""
        marks, contents = self._marks(job)
        self.opened.keep(job.id, marks, value, contents)

    def _marks(self, job: Job) -> tuple[list[bytes], list[bytes]]:
        """Marks of the records, and of what is in them."""
        table = self.table(job)
        if table is None:
            return [], []
        if job.id not in self._marked:
            table = self._aligned(job, table, grounds_of(self.state, job))
            whole = part_of(table.X, table.y, table.weight, table.features)
            ids: Any = table.columns.get(self._id(job))
            self._marked = {job.id: (record_marks(self.opened.salt, whole, ids), record_marks(self.opened.salt, whole, None))}
        return self._marked[job.id]

    def ids(self, job: Job) -> Any:
        """Digests of the ids of all records of the dataset."""
        table, column = self.table(job), self._id(job)
        if table is None or column not in table.columns:
            raise LocalError(f"dataset {job.dataset!r} has no column of ids: name it in [datasets.{job.dataset}], as id = ...")
        return digests(table.columns[column], table)

    def used(self, job: Job, own: Mapping[str, Any]) -> Used | None:
        """Columns; of an alignment the ids it found them by; of answers the records they are about."""
        part, table, kind = self.part(job), self.table(job), kind_of(job.protocol)
        if part is None or table is None:
            return None
        if kind != "answers" or not own:
            return Used(features=part.features, ids=self._fingerprint(job) if kind == "ids" else "")
        public = grounds_of(self.state, job).public
        known = {name: public[name] for name in ("classes", "sigmoids") if public.get(name)}
        return msgspec.convert({"features": part.features, "records": self._named(job, table), **known}, Used)

    def _id(self, job: Job) -> str:
        return self.settings.datasets[job.dataset].id or ""

    def _fingerprint(self, job: Job) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.ids(job)).tobytes()).hexdigest()

    def _aligned(self, job: Job, table: Table, grounds: Grounds) -> Table:
        """The rows that the job's alignment found, in its order; all of them without one."""
        if grounds.alignment is None:
            return table
        if self._fingerprint(job) != grounds.alignment.used.ids:
            raise GroundsError(f"the records of {job.dataset!r} are not those that job {grounds.alignment.id} aligned: align them again")
        return taken(table, grounds.rows)

    def _named(self, job: Job, table: Table) -> tuple[str, ...]:
        """Which records the job is about: by their ids, or else by their numbers in the file."""
        numbers = {self._id(job): np.arange(1, len(table.X) + 1)}
        listed = self._aligned(job, dataclasses.replace(table, columns={**numbers, **table.columns}), grounds_of(self.state, job))
        return tuple(map(str, listed.columns[self._id(job)].tolist()))

    def _facts(self, job: Job, grounds: Grounds) -> tuple[Facts | None, Register]:
        register = Register(self.state / "registers", job.dataset)
        table = self.table(job)
        if table is None:
            return None, register
        key = (job.dataset, grounds.alignment.id if grounds.alignment else "")
        if key not in self._known:  # a job may wait for people for days: its rows are marked once
            table = self._aligned(job, table, grounds)
            ids: Any = table.columns.get(self._id(job))
            whole = part_of(table.X, table.y, table.weight, table.features)
            self._known[key] = Facts(table.features, register.rows_of(whole, ids), identified=ids is not None)
        return self._known[key], register

    # Letters

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """From the coordinator of a job only."""
        match kind:
            case "proposed":
                self._proposed(sender, read(body, Proposal))
            case "start":
                self._start(sender, read(body, Start))
            case "closed":
                folder = folder_of(self.state, read(body, Finished).job)
                if folder.proposal is not None and sender == folder.job.roles.coordinator:
                    folder.hear("closed", sender, body)

    def _proposed(self, sender: str, proposal: Proposal) -> None:
        job = proposal.checked(self.members)
        if sender != job.roles.coordinator or self.name not in job.parties:
            raise PeerError(f"{sender} proposed job {job.id}, which names {job.roles.coordinator} as coordinator: refuse it")
        if self.members.member(sender).kind != "coordinator":
            raise PeerError(f"{sender} proposed job {job.id} and is a {self.members.member(sender).kind}, not a coordinator: refuse it")
        folder_of(self.state, job.id).propose(proposal)
        self.hurry(sender, "answer", job.id)

    def _start(self, sender: str, start: Start) -> None:
        folder = folder_of(self.state, start.job)
        if folder.proposal is None or sender != folder.job.roles.coordinator:
            raise PeerError(f"{sender} starts job {start.job}, which it did not propose")
        start.keys(folder.job, self.members)
        before = folder.start
        if before is None or before.attempt < start.attempt:
            folder.start = start
            log.info("job %s starts (attempt %d)", start.job[:8], start.attempt)

    # The state machine

    def drive(self, folder: Folder) -> None:
        """Answer, start, play, tell, close: whatever comes next."""
        job, now = folder.job, datetime.now(UTC)
        coordinator = job.roles.coordinator
        if folder.heard("closed", Finished):
            self.retire(folder)
            return
        if folder.answer is None:
            self._judge(folder, job, now)
        elif folder.start is None:
            self.tell(coordinator, "answer", folder.answer.dump(), job.id)
        elif folder.finished is None or folder.finished.attempt < folder.start.attempt:
            self.take_up(folder)
        else:
            self.tell(coordinator, "finished", folder.finished.dump(), job.id, str(folder.finished.attempt))

    def _judge(self, folder: Folder, job: Job, now: datetime) -> None:
        """Answer, unless people have still to decide.

        A site that cannot tell refuses: the submitter hears of it, and may submit again, where silence would keep all sites
        waiting. Only an answer that the disk has no room for is left to the next look, since nothing leaves that is not kept.
        """
        doing = "read its dataset and register"
        try:
            grounds = grounds_of(self.state, job, now)
            facts, register = self._facts(job, grounds)
            doing = "judge the job"
            decision = decide(job, self.policy, facts, register, party=self.name, now=now, grounds=grounds)
            record = self._recorded(job, decision, now)
            if record is None:
                return
            doing = "prepare its part"
            answer = self._answer(folder, job, record, now)
        except GroundsError as error:
            answer = Answer.of(automatic(job, self.policy, self.name, "refuse", "builds_on", str(error), now), self.identity)
        except Exception as error:  # noqa: BLE001 - whatever its files are like
            self.complain(job.id, error)
            answer = Answer.of(self._unable(job, doing, error, now), self.identity)
        folder.answer = answer
        record = answer.record
        log.info("job %s of %s: %s (%s)", job.id[:8], job.submitter, record.verdict, record.rule or ", ".join(record.by))

    def _unable(self, job: Job, doing: str, error: Exception, now: datetime) -> Record:
        """A refusal that says of an error no more than its class: its text can contain data."""
        reason = f"this site cannot {doing} ({type(error).__name__}), and its log says why: submit the job again once that is mended"
        return automatic(job, self.policy, self.name, "refuse", "site", reason, now)

    def _recorded(self, job: Job, decision: Decision, now: datetime) -> Record | None:
        if decision.verdict == "wait":
            self.consent.submit(job)
            return self.consent.record(job.id, now)
        verdict = "accept" if decision.verdict == "accept" else "refuse"
        return automatic(job, self.policy, self.name, verdict, decision.rule, decision.reason, now)  # type: ignore[arg-type]

    def _answer(self, folder: Folder, job: Job, record: Record, now: datetime) -> Answer:
        if record.verdict == "refuse":
            return Answer.of(record, self.identity)
        part = self.part(job)
        expires = None if self.identity.certificate is None else self.identity.certificate.not_valid_after_utc
        declared = self.settings.datasets.get(job.dataset)
        problems = local_checks(job, part, now, party=self.name, declared=declared, certificate_expires=expires, state=self.state)
        warnings = concerns(job)
        if problems or warnings:
            log.log(logging.ERROR if problems else logging.WARNING, render(problems, warnings))
        report = report_of(job, self.name, part, now, problems)
        return Answer.of(record, self.identity, key=self.key_of(folder, job), preflight=report)

    def admit(self, job: Job) -> None:
        """Enter the job in the register of its dataset, which refuses what would single somebody out."""
        now = datetime.now(UTC)
        grounds = grounds_of(self.state, job, now)
        facts, register = self._facts(job, grounds)
        if facts is not None:
            own, question = named_columns(job, self.name, facts), question_of(job, facts, grounds, self.policy)
            register.admit(job, own, self.name, facts.rows, self.policy.minimum_rows, now, question)
