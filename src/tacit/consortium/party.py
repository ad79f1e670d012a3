"""A party's daemon: dials out, waits for proposals, judges them by its policy, and plays those that everybody accepted."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from tacit.consortium.answers import Answer, Finished, Proposal, Start, read
from tacit.consortium.consent import Consent, Record, automatic
from tacit.consortium.decision import Decision, Facts, decide, named_columns
from tacit.consortium.folder import Folder, folder_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.members import Members
from tacit.consortium.policy import Policy
from tacit.consortium.preflight import local_checks, render, report_of
from tacit.consortium.register import Register
from tacit.consortium.settings import PartySettings
from tacit.consortium.site import Site
from tacit.data import Table
from tacit.data.part import Part, part_of
from tacit.data.readers import read as read_table
from tacit.errors import PeerError
from tacit.runtimes.nats import Broker

log = logging.getLogger("tacit")


class Party(Site):
    """One data holder."""

    def __init__(self, settings: PartySettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(identity, members, settings.state, broker, timeout=settings.party_timeout, admin=False)
        self.settings = settings
        self.policy = Policy.from_toml(settings.policy)
        self.consent = Consent(settings.state / "consent", self.policy, self.name)
        self._tables: dict[str, Table] = {}
        self._known: dict[str, Facts] = {}

    # Data

    def table(self, dataset: str) -> Table | None:
        """A dataset as it is on disk, read once."""
        offered = self.settings.datasets.get(dataset)
        if offered is None:
            return None
        if dataset not in self._tables:
            drop = [*offered.drop, *([offered.id] if offered.id else [])]
            self._tables[dataset] = read_table(offered.path, offered.label, drop)
        return self._tables[dataset]

    def part(self, job: Job) -> Part | None:
        """The columns that the job names, in its order; labels only at the labeller, or at everybody in a horizontal split."""
        table = self.table(job.dataset)
        if table is None or self.name not in job.parties:
            return None
        wanted = job.columns.get(self.name, "all")
        names = table.features if wanted == "all" else tuple(wanted)
        index = [table.features.index(name) for name in names if name in table.features]
        labelled = job.roles.labeller in (None, self.name)
        return part_of(table.X[:, index], table.y if labelled else None, table.weight if labelled else None, tuple(names))

    def _facts(self, job: Job) -> tuple[Facts | None, Register]:
        register = Register(self.state / "registers", job.dataset)
        table = self.table(job.dataset)
        if table is None:
            return None, register
        if job.dataset not in self._known:  # a job may wait for people for days: its rows are marked once
            offered = self.settings.datasets[job.dataset]
            ids: Any = table.columns.get(offered.id) if offered.id else None
            whole = part_of(table.X, table.y, table.weight, table.features)
            self._known[job.dataset] = Facts(table.features, register.rows_of(whole, ids))
        return self._known[job.dataset], register

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
            facts, register = self._facts(job)
            doing = "judge the job"
            record = self._recorded(job, decide(job, self.policy, facts, register, party=self.name, now=now), now)
            if record is None:
                return
            doing = "prepare its part"
            answer = self._answer(folder, job, record, now)
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
        problems = local_checks(job, part, now, party=self.name, certificate_expires=expires, state=self.state)
        if problems:
            log.error(render(problems))
        report = report_of(job, self.name, part, now, problems)
        return Answer.of(record, self.identity, key=self.key_of(folder, job), preflight=report)

    def admit(self, job: Job) -> None:
        """Enter the job in the register of its dataset, which refuses what would single somebody out."""
        facts, register = self._facts(job)
        if facts is not None:
            own = named_columns(job, self.name, facts)
            register.admit(job, own, self.name, facts.rows, self.policy.minimum_rows, datetime.now(UTC))
