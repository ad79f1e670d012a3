"""A party's daemon: dials out, waits for proposals, judges them by its policy, and plays those that everybody accepted."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tacit.consortium.answers import Answer, Checked, Cleared, Ended, Finished, Proposal, Start, check_sites, read
from tacit.consortium.asked import FITS, Asked
from tacit.consortium.consent import Consent, Record, automatic
from tacit.consortium.decision import DATA, UNFIT, Decision, Facts, decide, named_columns, question_of
from tacit.consortium.difference import record_marks
from tacit.consortium.folder import Folder, Used, folder_of, state_of
from tacit.consortium.grounds import Grounds, GroundsError, grounds_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.members import Members
from tacit.consortium.opened import Opened
from tacit.consortium.policy import Policy
from tacit.consortium.preflight import Problem, Report, concerns, local_checks, render, report_of, told
from tacit.consortium.register import Register
from tacit.consortium.settings import PartySettings
from tacit.consortium.site import Site, known
from tacit.consortium.states import OVER, JobState, after
from tacit.consortium.watched import Watched
from tacit.data import Table
from tacit.data.ids import digests, taken
from tacit.data.part import Part, part_of
from tacit.data.readers import read as read_table
from tacit.data.table import check_finite
from tacit.errors import LocalError, MissingExtraError, PeerError
from tacit.protocols.atoms import Past
from tacit.registry import kind_of
from tacit.runtimes.apart import StoppedError
from tacit.runtimes.nats import Broker, InterruptedRunError

log = logging.getLogger("tacit")
OWN_PART = "its own part"  # where a run stopped over this site's data, as others hear it


class BusyError(LocalError):
    """Another run has to end first; the text names jobs only."""


class Party(Site):
    """One data holder."""

    def __init__(self, settings: PartySettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(identity, members, settings.state, broker, timeout=settings.party_timeout, admin=False)
        self.settings = settings
        self.opened = Opened(settings.state / "registers")
        self.asked = Asked(settings.state / "registers")
        self._policy = Watched(settings.policy, Policy.from_toml)
        self._shown = ""  # the digest of the policy that the log names last
        self._tables = {name: Watched(offered.path, partial(self._read, name)) for name, offered in settings.datasets.items()}
        self._pinned: dict[str, tuple[int, Table]] = {}  # by job, the table that its run goes by, whatever becomes of the file
        self._known: dict[str, tuple[int, str, Facts]] = {}  # by dataset
        self._marked: tuple[str, int, tuple[list[bytes], list[bytes]]] | None = None  # of the job at hand
        self._owed: set[str] = set()  # jobs that the coordinator ended, and has still to hear that they are over here
        self._summing = ""  # the job whose run sums rows
        self._summing_lock = threading.Lock()
        self._policy.now()  # a site whose policy cannot be read does not begin

    # Rules

    @property
    def policy(self) -> Policy:
        """The policy as its file says now; one that cannot be read raises, so that nothing is decided by an older one."""
        policy = self._policy.now()[1]
        if policy.digest != self._shown:
            log.info("policy %s is in force (%s)", policy.file, policy.digest[:16])
            self._shown = policy.digest
        return policy

    @property
    def consent(self) -> Consent:
        """What people said, under the policy that is in force."""
        return Consent(self.state / "consent", self.policy, self.name)

    def in_force(self) -> dict[str, str]:
        """The policy, by its file and digest, or why there is none."""
        try:
            return {"policy": self.policy.file, "digest": self.policy.digest}
        except LocalError as error:
            return {"policy": f"cannot be read, so every job is refused: {error}", "digest": ""}

    # Data

    def table(self, job: Job) -> Table | None:
        """The job's dataset as it is on disk; of a run, as it was when the run began."""
        found = self._edition(job)
        return None if found is None else found[1]

    def _edition(self, job: Job) -> tuple[int, Table] | None:
        """The table and its edition; only in a split cell by cell a blank is another party's."""
        watched = self._tables.get(job.dataset)
        if watched is None:
            return None
        edition, table = self._pinned.get(job.id) or watched.now()
        if job.partition != "arbitrary":
            check_finite(table)
        return edition, table

    def _read(self, name: str, path: Path) -> Table:
        offered = self.settings.datasets[name]
        drop = [*offered.drop, *([offered.id] if offered.id else [])]
        return read_table(path, offered.label, drop, allow_missing=True)

    def release(self, job: Job) -> None:
        """A run is over here: the next one goes by the file as it is then, and may sum records at once."""
        self._pinned.pop(job.id, None)
        with self._summing_lock:
            self._summing = "" if self._summing == job.id else self._summing

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
        """Refuse to sum records while another run does: groups of two runs at a time could have a few rows in common, under any name."""
        with self._summing_lock:
            if self._summing not in ("", job.id) and self._is_playing(self._summing):
                raise BusyError(f"job {self._summing[:8]} is summing records of this site: take this one up again when that is through")
            self._summing = job.id

    def keep(self, job: Job, value: Past) -> None:
        """Write down what a run has opened, before it says anything more."""
        marks, contents = self._marks(job)
        self.opened.keep(job.id, marks, value, contents)

    def _marks(self, job: Job) -> tuple[list[bytes], list[bytes]]:
        """Marks of the records, and of what is in them."""
        found = self._edition(job)
        if found is None:
            return [], []
        edition, table = found
        kept = self._marked
        if kept is None or kept[:2] != (job.id, edition):
            table = self._aligned(job, table, grounds_of(self.state, job))
            whole = part_of(table.X, table.y, table.weight, table.features)
            ids: Any = table.columns.get(self._id(job))
            marks = (record_marks(self.opened.salt, whole, ids), record_marks(self.opened.salt, whole, None))
            self._marked = kept = (job.id, edition, marks)
        return kept[2]

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
        register = Register(self.state / "registers")
        found = self._edition(job)
        if found is None:
            return None, register
        edition, table = found
        alignment = grounds.alignment.id if grounds.alignment else ""
        kept = self._known.get(job.dataset)
        if kept is None or kept[:2] != (edition, alignment):  # a job may wait for people for days: its rows are marked once
            table = self._aligned(job, table, grounds)
            ids: Any = table.columns.get(self._id(job))
            whole = part_of(table.X, table.y, table.weight, table.features)
            kept = (edition, alignment, Facts(table.features, register.rows_of(whole, ids), identified=ids is not None))
            self._known[job.dataset] = kept
        return kept[2], register

    # Letters

    @property
    def ended_jobs(self) -> int:
        """As the settings say."""
        return self.settings.ended_jobs

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """From the coordinator of a job only."""
        match kind:
            case "proposed":
                self._proposed(sender, read(body, Proposal))
            case "cleared":
                self._cleared(sender, read(body, Cleared))
            case "start":
                self._start(sender, read(body, Start))
            case "closed":
                closed = read(body, Finished)
                folder = self._of(sender, closed.job)
                folder.hear("closed", sender, closed.dump())
                self.wake(folder.id)
            case "ended":
                self._ended(sender, read(body, Ended))

    def _of(self, sender: str, job: str) -> Folder:
        folder = known(self.state, job)
        if folder is None or sender != folder.job.roles.coordinator:
            raise PeerError(f"{sender} writes about job {job}, which it did not propose here")
        return folder

    def _proposed(self, sender: str, proposal: Proposal) -> None:
        job = proposal.checked(self.members)
        if sender != job.roles.coordinator or self.name not in job.parties:
            raise PeerError(f"{sender} proposed job {job.id}, which names {job.roles.coordinator} as coordinator: refuse it")
        folder = folder_of(self.state, job.id)
        if folder.proposal is None and (turned := self._turned_away(job)) is not None:
            self.control.notices.refuse(job.submitter, f"job {job.id[:8]} of {job.submitter} ({turned.record.rule})")
            self.control.send(sender, "answer", turned.dump())
            return
        folder.propose(proposal)
        self.wake(job.id)
        for letter in ("checked", "answer"):
            self.hurry(sender, letter, job.id)

    def _turned_away(self, job: Job) -> Answer | None:
        """A refusal of what is not even kept: sites that are no members, a submitter that is not welcome or has too much under way."""
        limit = self.settings.open_jobs
        try:
            check_sites(job, self.members)
            welcome = self.policy.submitters
        except PeerError as error:
            return self._refusal(job, "members", str(error))
        except LocalError as error:
            self.complain(job.id, error)
            return self._refusal(job, "site", self._unable("read its policy", error))
        if welcome != "any" and job.submitter not in welcome:
            return self._refusal(job, "submitters", f"policy {self.policy.file}: submitters does not list {job.submitter}: ask that party")
        if self.open_of(job.submitter) >= limit:
            reason = f"{limit} jobs of {job.submitter} are under way at this site, and open_jobs allows no more: let some end first"
            return self._refusal(job, "open_jobs", reason)
        return None

    def _cleared(self, sender: str, cleared: Cleared) -> None:
        folder = self._of(sender, cleared.job)
        if after(state_of(folder), "cleared") is not None:
            cleared.check(folder.job, self.members)
            folder.cleared = cleared
            self.wake(folder.id)
        self.hurry(sender, "answer", folder.id)

    def _start(self, sender: str, start: Start) -> None:
        folder = self._of(sender, start.job)
        state, before = state_of(folder), folder.start
        if before is not None and before.attempt >= start.attempt:
            return
        if state in OVER or folder.job.expired(datetime.now(UTC)):  # consent ends with the job's time, for every attempt
            self.control.send(sender, "finished", self._out(folder.job, start, state if state in OVER else "expired").dump())
            return
        if after(state, "start") is not None:
            start.keys(folder.job, self.members)
            folder.start = start
            self.wake(folder.id)
            log.info("job %s starts (attempt %d)", start.job[:8], start.attempt)

    def _ended(self, sender: str, ended: Ended) -> None:
        """The coordinator says that a job is over; what is not here any more is over as well."""
        ended.check()
        folder = known(self.state, ended.job)
        if folder is None:
            self.control.send(sender, "over", ended.job.encode())
            return
        folder = self._of(sender, ended.job)
        self._owed.add(folder.id)
        self.end(folder, ended)
        self.wake(folder.id)

    # The state machine

    def drive(self, folder: Folder, job: Job, state: JobState) -> None:
        """Check, answer, play, tell: whatever comes next."""
        coordinator, now = job.roles.coordinator, datetime.now(UTC)
        checked, answer, finished = folder.checked, folder.answer, folder.finished
        if state in {"proposed", "pending"}:
            self._judge(folder, job, now, cleared=state == "pending")
        elif state == "running":
            self.take_up(folder)
        elif state == "checked" and checked is not None:
            self.tell(coordinator, "checked", checked.dump(), job.id)
        elif state == "refused" and answer is not None and job.expired(now):  # nobody will hear of it any more
            self.end(folder, Ended.of(job.id, "refused", self.name, answer.record.reason))
        elif state in {"accepted", "refused"} and answer is not None:
            self.tell(coordinator, "answer", answer.dump(), job.id)
        elif finished is not None:
            self.tell(coordinator, "finished", finished.dump(), job.id, str(finished.attempt))

    def conclude(self, folder: Folder, job: Job, ended: Ended) -> bool:
        """People are not asked any more, and a coordinator that ended the job hears that it is over here."""
        del ended
        Consent.close(self.state / "consent", job.id)
        if folder.id in self._owed:
            self.control.send(job.roles.coordinator, "over", folder.id.encode())
            self._owed.discard(folder.id)
        return True

    def discard(self, folder: Folder) -> None:
        """As every site, and it waits for people no more; what they said stays, should it be proposed again."""
        Consent.close(self.state / "consent", folder.id)
        super().discard(folder)

    def give_up(self, folder: Folder, job: Job, error: Exception) -> None:
        """Before a run, refuse; in one, stop."""
        start = folder.start
        if start is None:
            folder.answer = self._refusal(job, "site", self._unable("go on with the job", error))
        else:
            folder.finished = self._out(job, start, type(error).__name__)

    def _judge(self, folder: Folder, job: Job, now: datetime, *, cleared: bool) -> None:
        """Check a proposal; once everybody's checks have passed, answer it, unless people have still to decide.

        A site that cannot tell refuses: the submitter hears of it, and may submit again, where silence would keep all sites
        waiting. Only an answer that the disk has no room for is left to the next look, since nothing leaves that is not kept.
        """
        doing = "read its policy"
        said: Checked | Answer | None
        try:
            policy = self.policy
            doing = "read what it was asked before"
            left = self.asked.left(job, policy.preflights_per_day, now)
            doing = "read its register, or what the job builds on"
            grounds = grounds_of(self.state, job, now)
            if not left:
                said = self._refusal(job, "preflights_per_day", _tomorrow(job, policy))
            else:
                doing = "judge the job"
                said = self._answer_from_data(folder, job, grounds, now, cleared=cleared)
        except GroundsError as error:
            said = self._refusal(job, "builds_on", str(error))
        except Exception as error:  # noqa: BLE001 - whatever its files are like
            self.complain(job.id, error)
            said = self._refusal(job, "site", self._unable(doing, error))
        if isinstance(said, Checked):
            folder.checked = said
        elif said is not None:
            folder.answer = said
            record = said.record
            log.info("job %s of %s: %s (%s)", job.id[:8], job.submitter, record.verdict, record.rule or ", ".join(record.by))
        if said is not None:
            self.wake(folder.id)

    def _answer_from_data(self, folder: Folder, job: Job, grounds: Grounds, now: datetime, *, cleared: bool) -> Checked | Answer | None:
        """What this site says of a job after a look at its data, which is written down before it is said."""
        try:
            facts, register = self._facts(job, grounds)
        except GroundsError:
            raise
        except Exception as error:  # noqa: BLE001 - a table that cannot be read may have gaps, or texts among its numbers
            self.complain(job.id, error)
            self.asked.note(job, DATA, type(error).__name__, now)
            return self._refusal(job, DATA, UNFIT)
        decision = decide(job, self.policy, facts, register, party=self.name, now=now, grounds=grounds)
        details = "; ".join(p.detail for p in decision.problems if p.detail)
        if decision.verdict == "refuse" and decision.rule != DATA:  # by a rule that no value bears upon
            return self._decided(folder, job, decision, now)
        if decision.rule == DATA:
            log.error("job %s does not fit the data here: %s", job.id[:8], details)
            self.asked.note(job, DATA, details, now)
            return self._decided(folder, job, decision, now)
        return self._decided(folder, job, decision, now) if cleared else self._checked(job, now)

    def _cause(self, job: Job, error: BaseException) -> dict[str, str]:
        """Of what this site's own data may have caused, others hear only that it does not fit: a job could choose where and how."""
        if isinstance(error, (StoppedError, PeerError, InterruptedRunError, MissingExtraError, BusyError, GroundsError)):
            return super()._cause(job, error)
        self.asked.note(job, DATA, type(error).__name__, datetime.now(UTC))
        return {"party": self.name, "place": OWN_PART, "kind": DATA}

    def _out(self, job: Job, start: Start, kind: str) -> Finished:
        """Say that this site takes no part in an attempt, and why in one word."""
        return Finished(job=job.id, site=self.name, attempt=start.attempt, ok=False, party=self.name, place="the start", kind=kind)

    @staticmethod
    def _unable(doing: str, error: Exception) -> str:
        """What is said of an error: no more than its class, since its text can contain data."""
        return f"this site cannot {doing} ({type(error).__name__}), and its log says why: submit the job again once that is mended"

    def _refusal(self, job: Job, rule: str, reason: str) -> Answer:
        """A refusal that no rule of the policy made, so that it needs none."""
        now = datetime.now(UTC)
        record = Record(job=job.digest, party=self.name, verdict="refuse", by=(), rule=rule, reason=reason, policy="", at=now)
        return Answer.of(job, record, self.identity)

    def _checked(self, job: Job, now: datetime) -> Checked:
        """What the checks found, for the others; people here read the details in the log."""
        problems, report = self._preflight(job, now)
        warnings = concerns(job)
        if problems or warnings:
            log.log(logging.ERROR if problems else logging.WARNING, render(problems, warnings))
        found = [p for p in problems if told(p.code) == DATA]
        self.asked.note(job, DATA if found else FITS, "; ".join(p.detail for p in found), now)
        return Checked.of(job, report, self.identity)

    def _preflight(self, job: Job, now: datetime) -> tuple[list[Problem], Report]:
        part = self.part(job)
        expires = None if self.identity.certificate is None else self.identity.certificate.not_valid_after_utc
        declared = self.settings.datasets.get(job.dataset)
        problems = local_checks(job, part, now, party=self.name, declared=declared, certificate_expires=expires, state=self.state)
        return problems, report_of(job, self.name, part, now, problems)

    def _decided(self, folder: Folder, job: Job, decision: Decision, now: datetime) -> Answer | None:
        record = self._recorded(job, decision, now)
        if record is None or record.verdict == "refuse":
            return None if record is None else Answer.of(job, record, self.identity)
        if self._preflight(job, now)[0]:  # people may take days, and files change meanwhile
            return self._refusal(job, "preflight", "its checks passed before, and do not any more: submit the job again")
        return Answer.of(job, record, self.identity, key=self.key_of(folder, job))

    def _recorded(self, job: Job, decision: Decision, now: datetime) -> Record | None:
        if decision.verdict == "wait":
            self.consent.submit(job)
            return self.consent.record(job.id, now)
        verdict = "accept" if decision.verdict == "accept" else "refuse"
        return automatic(job, self.policy, self.name, verdict, decision.rule, decision.reason, now)  # type: ignore[arg-type]

    def admit(self, job: Job) -> None:
        """Enter the job in the register, which refuses what would single somebody out."""
        now = datetime.now(UTC)
        found = self._edition(job)
        if found is not None:  # what is marked, summed and written down as opened is one table from here to the end of the run
            self._pinned[job.id] = found
        grounds = grounds_of(self.state, job, now)
        facts, register = self._facts(job, grounds)
        if facts is not None:
            own, question = named_columns(job, self.name, facts), question_of(job, facts, grounds, self.policy)
            register.admit(job, own, self.name, facts.rows, self.policy.minimum_rows, now, question)


def _tomorrow(job: Job, policy: Policy) -> str:
    rule = f"policy {policy.file}: preflights_per_day = {policy.preflights_per_day}"
    return f"{rule}, and as many jobs of {job.submitter} were looked at in the last 24 hours: submit it tomorrow, or ask that party"
