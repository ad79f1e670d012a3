"""A party: it waits for proposals, judges them by its policy, and plays those that everybody accepted."""

from __future__ import annotations

import contextlib
import logging
import math
from datetime import UTC, datetime
from typing import Any

import msgspec

from tacit.consortium.consent.asked import FITS, REFUSED, Asked
from tacit.consortium.consent.decision import (
    DATA,
    UNFIT,
    Case,
    Decision,
    Holdings,
    count_too_few,
    decide,
    limits_of,
    named_columns,
    question_of,
)
from tacit.consortium.consent.people import Brought, Consent, Record
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs.absence import EVERYBODY, SUMMED, TOO_FEW, CastError, Casting, check_cast, say_without
from tacit.consortium.jobs.answers import Answer, Checked, Cleared, Ended, Finished, Proposal, Start, check_sites
from tacit.consortium.jobs.folder import Folder, folder_of, folders, state_of
from tacit.consortium.jobs.grounds import Grounds, GroundsError, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import Problem, Report, concerns, local_checks, public_code, render, report_of
from tacit.consortium.jobs.standing import explain
from tacit.consortium.jobs.states import OVER, JobState, after
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.site.common import Site, find_folder
from tacit.consortium.site.settings import PartySettings
from tacit.consortium.site.sources import Watched
from tacit.consortium.site.tables import Tables, network_key
from tacit.errors import LocalError, MissingExtraError, PeerError, TacitError, UndisclosedError
from tacit.federation.databases.database import QueryError
from tacit.runtimes.apart import StoppedError
from tacit.runtimes.nats.network import Broker, InterruptedRunError

log = logging.getLogger("tacit")
RECENT = 5.0  # seconds in which proposals go by one run of a query: many of them are no flood for a database
OWN_PART = "its own part"  # where a run stopped over this site's data, as others hear it


# errors that do not come of this site's data
NOT_OF_DATA = (
    StoppedError,
    PeerError,
    InterruptedRunError,
    MissingExtraError,
    QueryError,
    GroundsError,
    UndisclosedError,
)


class Party(Site):
    """A site that holds data: it answers proposals and takes part in runs."""

    def __init__(self, settings: PartySettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(settings, identity, members, broker)
        network = network_key(settings.ca_fingerprint)
        self.settings, self.tables = settings, Tables(self.name, self.state, settings.datasets, network, self._least)
        self.asked = Asked(settings.state / "registers")
        self._policy = Watched(settings.policy, Policy.from_toml)
        self._shown = ""  # the digest of the policy that the log names last
        self._owed: set[str] = set()  # jobs that the coordinator ended, and has still to hear that they are over here
        self.letters = {
            "proposed": (Proposal, self._hear_proposal),
            "cleared": (Cleared, self._hear_cleared),
            "start": (Start, self._hear_start),
            "closed": (Finished, self._hear_closed),
            "ended": (Ended, self._hear_ended),
        }
        self._policy.now()  # a site whose policy cannot be read does not begin

    # Rules

    @property
    def policy(self) -> Policy:
        """The policy as its file says now; one that cannot be read raises, and no older one decides."""
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
        """Return the policy, by its file and digest, or why there is none."""
        try:
            return {"policy": self.policy.file, "digest": self.policy.digest}
        except LocalError as error:
            return {"policy": f"cannot be read, so every job is refused: {error}", "digest": ""}

    def waiting_for_people(self) -> tuple[str, ...]:
        """Return the jobs that wait for approvers, or whose results do, as far as they can be read."""
        found = []
        for folder in folders(self.state, lambda job: self._due(job) != math.inf):
            with contextlib.suppress(TacitError, OSError, ValueError):
                if state_of(folder) == "pending" or folder.held:
                    found.append(folder.id)
        return tuple(sorted(found))

    # Data

    def look_at_data(self) -> None:
        """Say in the log what every dataset holds, or what is wrong with it; jobs on such a one are refused."""
        for name, found in self.tables.look():
            if isinstance(found, Exception):
                log.error("dataset %s cannot be used, and jobs on it are refused: %s", name, found)
            else:
                log.info("dataset %s: %d rows, %d columns", name, *found.X.shape)

    def _keeps(self, job: str) -> bool:
        """Return whether the result of an earlier job is still here."""
        folder = find_folder(self.state, job)
        return folder is not None and folder.finished is not None and folder.finished.ok

    def _least(self) -> int:
        return self.policy.minimum_change

    def _holdings(self, job: Job, grounds: Grounds) -> tuple[Holdings | None, Register]:
        return self.tables.holdings(job, grounds), self.tables.register

    # Letters

    def _folder(self, sender: str, job: str) -> Folder:
        folder = find_folder(self.state, job)
        if folder is None or sender != folder.job.coordinator:
            raise PeerError(f"{sender} writes about job {job}, which it did not propose here")
        return folder

    def _hear_proposal(self, sender: str, proposal: Proposal) -> None:
        job = proposal.verify(self.members)
        if sender != job.coordinator or self.name not in job.parties:
            named = f"names {job.coordinator} as coordinator"
            raise PeerError(f"{sender} proposed job {job.id}, which {named}: refuse it")
        folder = folder_of(self.state, job.id)
        if folder.proposal is None and (refusal := self._turn_away(job)) is not None:
            self.control.notices.refuse(job.submitter, f"job {job.id[:8]} of {job.submitter} ({refusal.record.rule})")
            self.control.send(sender, "answer", refusal.dump())
            return
        folder.propose(proposal)
        self.wake(job.id)
        for letter in ("checked", "answer"):
            self.hurry(sender, letter, job.id)

    def _turn_away(self, job: Job) -> Answer | None:
        """Refuse what is not even kept: sites that are no members, a submitter not welcome or with too much to do."""
        limit, who = self.settings.open_jobs, job.submitter
        try:
            check_sites(job, self.members)
            welcome = self.policy.submitters
        except PeerError as error:
            return self._refusal(job, "members", str(error))
        except LocalError as error:
            self.complain(job.id, error)
            return self._refusal(job, "site", self._unable("read its policy", error))
        if welcome != "any" and who not in welcome:
            reason = f"policy {self.policy.file}: submitters does not list {who}: ask that party"
            return self._refusal(job, "submitters", reason)
        if self.open_of(who) >= limit:
            full = f"{limit} jobs of {who} are under way at this site, and open_jobs allows no more"
            return self._refusal(job, "open_jobs", f"{full}: let some end first")
        return None

    def _hear_cleared(self, sender: str, cleared: Cleared) -> None:
        folder = self._folder(sender, cleared.job)
        if after(state_of(folder), "cleared") is not None:
            cleared.check(folder.job, self.members)
            reports = {each.site: each.report for each in cleared.checked}
            heads = {site: msgspec.structs.replace(r.register, at=r.clock) for site, r in reports.items()}
            self.tables.register.heads.note(heads)
            folder.cleared = cleared
            self.wake(folder.id)
        self.hurry(sender, "answer", folder.id)

    def _hear_start(self, sender: str, start: Start) -> None:
        folder = self._folder(sender, start.job)
        state, before = state_of(folder), folder.start
        if before is not None and before.attempt >= start.attempt:
            return
        if state not in OVER and folder.job.expired(datetime.now(UTC)):  # consent ends with it, for every attempt
            state = "expired"
        if state in OVER:
            self.control.send(sender, "finished", self._out(folder.job, start, state).dump())
        elif after(state, "start") is not None:
            start.keys(folder.job, self.members)
            self._keep_absence(folder, start)
            folder.start = start
            self.wake(folder.id)
            log.info("job %s starts (attempt %d)%s", start.job[:8], start.attempt, say_without(start))

    def _keep_absence(self, folder: Folder, start: Start) -> None:
        """Remember without whom a run begins, before it does: later runs are compared with it."""
        if start.absence is not None:
            if self.name in start.absent:
                raise PeerError(f"job {folder.id} is to begin here, and without this site: refuse it")
            run = folder.run_of(check_cast(folder.job, start))
            folder.hear("absences", run, start.absence.dump())

    def _hear_closed(self, sender: str, closed: Finished) -> None:
        folder = self._folder(sender, closed.job)
        if after(state_of(folder), "closed") is not None:
            folder.hear("closed", sender, closed.dump())
            self.wake(folder.id)

    def _hear_ended(self, sender: str, ended: Ended) -> None:
        """End a job that the coordinator says is over; what is not here any more is over as well."""
        ended.check()
        if find_folder(self.state, ended.job) is None:
            self.control.send(sender, "over", ended.job.encode())
            return
        folder = self._folder(sender, ended.job)
        self._owed.add(folder.id)
        self.end(folder, ended)
        self.wake(folder.id)

    # The state machine

    def drive(self, folder: Folder, job: Job, state: JobState) -> None:
        """Do what is due for a job: check, answer, play or tell."""
        coordinator, now = job.coordinator, datetime.now(UTC)
        checked, answer, finished = folder.checked, folder.answer, folder.finished
        if state in {"proposed", "pending"}:
            self._judge(folder, job, now, cleared=state == "pending")
        elif state == "running":
            self.take_up(folder)
        elif state == "checked" and checked is not None:
            self.tell(coordinator, "checked", checked.dump(), job.id)
        elif state == "refused" and answer is not None and job.expired(now):  # nobody will hear of it any more
            self.refuse(folder, answer.record.reason)
        elif state in {"accepted", "refused"} and answer is not None:
            if state == "accepted" and (taken_back := self._take_back(job, answer, now)) is not None:
                folder.answer = answer = taken_back
            self.tell(coordinator, "answer", answer.dump(), job.id)
        elif finished is not None and not (finished.ok and self._hold(folder, job)):
            self.tell(coordinator, "finished", finished.dump(), job.id, str(finished.attempt))

    def _hold(self, folder: Folder, job: Job) -> bool:
        """Return whether a result waits for people here: a coordinator hands none out before every site has told."""
        held = self.consent.holds(job)
        if held != folder.held:
            folder.held = held
            people = ", ".join(self.consent.list_released(job) or self.policy.approvers)
            log.info("job %s: its result %s by %s", job.id[:8], "has to be released" if held else "is released", people)
            self.standings[folder.id] = "through", explain(folder, "through")
        return held

    def conclude(self, folder: Folder, job: Job, ended: Ended) -> bool:
        """Ask people no more, and tell a coordinator that ended the job that it is over here."""
        del ended
        Consent.close(self.state / "consent", job.id)
        if folder.id in self._owed:
            self.control.send(job.coordinator, "over", folder.id.encode())
            self._owed.discard(folder.id)
        return True

    def discard(self, folder: Folder) -> None:
        """Remove a job, which waits for people no more; what they said stays, should it be proposed again."""
        Consent.close(self.state / "consent", folder.id)
        super().discard(folder)

    def give_up(self, folder: Folder, job: Job, error: Exception) -> None:
        """Refuse a job before its run, and stop it in one."""
        start = folder.start
        if start is None:
            folder.answer = self._refusal(job, "site", self._unable("go on with the job", error))
        else:
            folder.finished = self._out(job, start, type(error).__name__)

    def _judge(self, folder: Folder, job: Job, now: datetime, *, cleared: bool) -> None:
        """Check a proposal; once everybody's checks have passed, answer it, unless people have still to decide.

        A site that cannot tell refuses: the submitter hears of it, and may submit again, where silence would keep all
        sites waiting. Only an answer that the disk has no room for is left to the next look, since nothing leaves that
        is not kept.
        """
        doing = "read its policy"
        said: Checked | Answer | None
        try:
            policy = self.policy
            doing = "read what it was asked before"
            left = self.asked.count_left(job, policy.preflights_per_day, now)
            doing = "read its register, or what the job builds on"
            grounds = grounds_of(self.state, job, now)
            if not left:
                rule = f"policy {policy.file}: preflights_per_day = {policy.preflights_per_day}"
                asked = f"as many jobs of {job.submitter} were looked at in the last 24 hours"
                reason = f"{rule}, and {asked}: submit it tomorrow, or ask that party"
                said = self._refusal(job, "preflights_per_day", reason)
            else:
                doing = "judge the job"
                said = self._answer_from_data(folder, job, grounds, now, cleared=cleared)
        except GroundsError as error:
            said = self._refusal(job, "builds_on", str(error))
        except QueryError as error:
            self.complain(job.id, error)
            said = self._refusal(job, "site", self._unable(f"read its dataset {job.dataset!r}", error))
        except Exception as error:  # noqa: BLE001 - whatever its files are like
            self.complain(job.id, error)
            said = self._refusal(job, "site", self._unable(doing, error))
        if isinstance(said, Checked):
            folder.checked = said
            self.expect(folder, job)
        elif said is not None:
            folder.answer = said
            verdict, by = said.record.verdict, said.record.rule or ", ".join(said.record.by)
            log.info("job %s of %s: %s (%s)", job.id[:8], job.submitter, verdict, by)
        if said is not None:
            self.wake(folder.id)

    def _answer_from_data(
        self, folder: Folder, job: Job, grounds: Grounds, now: datetime, *, cleared: bool
    ) -> Checked | Answer | None:
        """Return what this site says of a job after a look at its data, written down before it is said.

        Whatever is raised meanwhile may come of the data, as of a gap or a text among numbers: others hear no more of
        it than that.
        """
        try:
            if not cleared:
                self.tables.renew(job, RECENT)
            holdings, register = self._holdings(job, grounds)
            decision = decide(Case(job, self.policy, holdings, register, self.name, now, grounds, self._keeps))
            if decision.rule == DATA:
                return self._refuse_data(job, "; ".join(p.detail for p in decision.problems if p.detail), now)
            if decision.verdict == "refuse" and decision.rehearsed:
                self.asked.note(job, REFUSED, decision.rule, now)
            if cleared or decision.verdict == "refuse":  # a refusal is by a rule that no value bears upon
                return self._answer(folder, job, grounds, decision, now)
            return self._check(job, now)
        except Exception as error:
            elsewhere = (GroundsError, PeerError, MissingExtraError, QueryError, OSError)
            if isinstance(error, elsewhere) or isinstance(error.__cause__, OSError):
                raise
            return self._refuse_data(job, type(error).__name__, now, error)

    def _refuse_data(self, job: Job, details: str, now: datetime, error: Exception | None = None) -> Answer:
        """Refuse a job over the data, written down before it is said; `details` stay here."""
        self.complain(job.id, error or LocalError(f"it does not fit the data here: {details}"))
        self.asked.note(job, DATA, details, now)
        return self._refusal(job, DATA, UNFIT)

    def _cause(self, job: Job, error: BaseException) -> dict[str, str]:
        """Say of what this site's own data may have caused only that it does not fit: a job could choose how."""
        if isinstance(error, NOT_OF_DATA) or self.public_text(job, error):
            return super()._cause(job, error)
        self.asked.note(job, DATA, type(error).__name__, datetime.now(UTC))
        return {"party": self.name, "place": OWN_PART, "kind": DATA}

    def _out(self, job: Job, start: Start, kind: str) -> Finished:
        """Say that this site takes no part in an attempt, and why in one word."""
        return Finished(
            job=job.id, site=self.name, attempt=start.attempt, ok=False, party=self.name, place="the start", kind=kind
        )

    @staticmethod
    def _unable(doing: str, error: Exception) -> str:
        """Return what is said of an error: no more than its class, since its text can contain data."""
        what = f"this site cannot {doing} ({type(error).__name__}), and its log says why"
        return f"{what}: submit the job again once that is mended"

    def _refusal(self, job: Job, rule: str, reason: str) -> Answer:
        """Return a refusal that no rule of the policy made, so that it needs none."""
        return Answer.of(job, Record.of(job, self.name, "refuse", rule=rule, reason=reason), self.identity)

    def _check(self, job: Job, now: datetime) -> Checked:
        """Return what the checks found, for the others; people here read the details in the log."""
        problems, report = self._preflight(job, now)
        warnings = concerns(job)
        if problems or warnings:
            log.log(logging.ERROR if problems else logging.WARNING, render(problems, warnings))
        found = [p for p in problems if public_code(p.code) == DATA]
        self.asked.note(job, DATA if found else FITS, "; ".join(p.detail for p in found), now)
        return Checked.of(job, report, self.identity)

    def _preflight(self, job: Job, now: datetime) -> tuple[list[Problem], Report]:
        part, held_out = self.tables.part(job), self.tables.beside(job)
        expires = None if self.identity.certificate is None else self.identity.certificate.not_valid_after_utc
        declared = self.settings.datasets.get(job.dataset)
        problems = local_checks(
            job, part, now, party=self.name, held_out=held_out, declared=declared, expires=expires, state=self.state
        )
        register = self.tables.register
        known: Any = {"register": register.head(), "seen": register.heads.read()}
        return problems, report_of(job, self.name, part, now, problems, declared, self.read_clock(), **known)

    def _answer(self, folder: Folder, job: Job, grounds: Grounds, decision: Decision, now: datetime) -> Answer | None:
        record = self._record(job, grounds, decision, now)
        if record is None or record.verdict == "refuse":
            return None if record is None else Answer.of(job, record, self.identity)
        self.tables.renew(job)  # people may take days, and data changes meanwhile
        if problems := self._preflight(job, now)[0]:
            return self._refuse_data(job, f"its checks passed before, and do not any more: {render(problems)}", now)
        return Answer.of(job, record, self.identity, key=self.key_of(folder))

    def _record(self, job: Job, grounds: Grounds, decision: Decision, now: datetime) -> Record | None:
        """Return the decision of the policy, or of the people; None as long as these have not decided."""
        if decision.verdict == "wait":
            self.consent.submit(job, self._brings(job, grounds))
            return self.consent.record(job.id, now)
        said = {"rule": decision.rule, "reason": decision.reason, "policy": self.policy.digest}
        return Record.of(job, self.name, decision.verdict, **said, at=now, left_out=self.policy.left_out)

    def _brings(self, job: Job, grounds: Grounds) -> Brought | None:
        """Return what people read of what the job would use here."""
        part, (holdings, register) = self.tables.part(job), self._holdings(job, grounds)
        if part is None or holdings is None:
            return None
        done = register.count_studies(holdings.edition)
        told = register.sum_told(holdings.edition)
        return Brought(columns=part.features, rows=len(part.X), studies=done, most=self.policy.studies, told=told)

    def _take_back(self, job: Job, answer: Answer, now: datetime) -> Answer | None:
        """Return a refusal if people who said yes take that back before the run; None as long as they do not."""
        by = answer.record.by
        if not by or self.consent.look(job.id, now).state == "approved":
            return None
        record = self.consent.record(job.id, now)
        if record is not None:  # somebody refuses now
            return Answer.of(job, record, self.identity)
        log.info("job %s: an approval was taken back", job.id[:8])
        return self._refusal(job, "approvers", "an approval was taken back before the start: ask that party")

    def rules(self) -> dict[str, Any]:
        """Return how much the policy lets a model give away."""
        return msgspec.structs.asdict(self.policy.release)

    def settle(self, job: Job, mu2: float) -> None:
        """Write into the register how much the models of a job told."""
        self.tables.register.settle(job, mu2)

    def admit(self, job: Job, casting: Casting = EVERYBODY) -> None:
        """Enter the job in the register, which refuses what would single somebody out."""
        now = datetime.now(UTC)
        if casting.absent and count_too_few(job, self.policy) is not None:
            raise CastError(self.name, casting.absent, TOO_FEW)
        grounds = grounds_of(self.state, job, now)
        holdings, register = self._holdings(job, grounds)
        if holdings is not None:
            own, question = named_columns(job, self.name, holdings), question_of(job, holdings, grounds, self.policy)
            limits = limits_of(self.policy, self._keeps)
            apart = (casting.unopened, casting.left)
            try:
                register.admit(job, own, self.name, holdings.edition, limits, now, question, *apart)
            except LocalError as error:
                if not casting.absent:
                    raise
                self.complain(job.id, error)  # of an earlier job: others hear that this one cannot go on so
                raise CastError(self.name, casting.absent, SUMMED) from error
