"""The coordinator's daemon: passes proposals on, collects checks and answers, starts what everybody accepted, and plays along.

It also ends a job for everybody: when a check fails or a site refuses, when its submitter withdraws it, when its time is over.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from tacit.consortium.answers import (
    Answer,
    Checked,
    Cleared,
    Ended,
    Finished,
    Proposal,
    Start,
    Struct,
    Withdrawal,
    check_sites,
    id_in,
    one_line,
    read,
)
from tacit.consortium.asking import numbered, reply
from tacit.consortium.consent import Record
from tacit.consortium.folder import Folder, folder_of, folders, state_of
from tacit.consortium.grounds import GroundsError, grounds_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.members import Members
from tacit.consortium.preflight import combine, local_checks, render, report_of
from tacit.consortium.settings import CoordinatorSettings
from tacit.consortium.site import Site, known
from tacit.consortium.states import BEFORE_A_RUN, JobState
from tacit.errors import PeerError, TacitError
from tacit.runtimes.nats import Broker, delete_stream, open_stream

log = logging.getLogger("tacit")
Standing = Literal["proposed", "refused", "withdrawn", "expired", "waiting", "running", "stopped", "finished"]
Wanted = tuple[str, Literal["public.json", "audit.jsonl"], int]  # of which job, which file of its result, from which byte
PIECE = 256 << 10  # bytes of a file that one answer holds
TURNED_AWAY = 1000  # proposals that were not kept, and whose senders may still ask
GRACE = 2.0  # seconds for the refusals of other sites, so that the submitter reads all of them at once
PATIENCE = timedelta(days=1)  # how long a site that does not say so is told that a job is over


class News(Struct, frozen=True, kw_only=True):
    """What a coordinator tells of a job: its state, who said what, how far it is. Its result is asked for once it is finished."""

    job: str
    state: Standing
    reasons: tuple[str, ...] = ()
    answers: dict[str, str] = msgspec.field(default_factory=dict)
    places: dict[str, str] = msgspec.field(default_factory=dict)
    done: int = 0
    total: int = 0
    rounds: int = 0
    bytes: int = 0
    seconds: float = 0.0
    left: float | None = None
    attempt: int = 0


class Clearing(Site):
    """The coordinator of all jobs that name it."""

    def __init__(self, settings: CoordinatorSettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(identity, members, settings.state, broker, timeout=settings.party_timeout, admin=True)
        self.settings = settings
        self._first: dict[str, float] = {}  # when a site was first heard to refuse
        self._turned_away: dict[tuple[str, str], News] = {}  # by submitter and job, of proposals that were not kept

    @property
    def ended_jobs(self) -> int:
        """As the settings say."""
        return self.settings.ended_jobs

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """Proposals and questions of submitters, checks, answers and ends of parties."""
        match kind:
            case "propose":
                self._proposed(sender, body)
            case "checked":
                self._checked(sender, read(body, Checked))
            case "answer":
                self._answered(sender, read(body, Answer))
            case "finished":
                self._finished(sender, read(body, Finished))
            case "over":
                self._heard_over(sender, body.decode())
            case "ask":
                self._asked(sender, *numbered(body))
            case "read":
                self._wanted(sender, *numbered(body))
            case "resume":
                self._resumed(sender, body.decode())
            case "withdraw":
                self._withdrawn(sender, read(body, Withdrawal))

    def _proposed(self, sender: str, body: bytes) -> None:
        """Keep a proposal that can be passed on; whoever sent another hears at once why not."""
        try:
            proposal = read(body, Proposal)
            folder = self._acceptable(sender, proposal)
        except Exception as error:
            told = str(error) if isinstance(error, TacitError) else f"it cannot be read ({type(error).__name__})"
            if (name := id_in(body)) is not None and known(self.state, name) is None:
                self._remember_refusal(sender, News(job=name, state="refused", reasons=(one_line(f"{self.name} refuses: {told}"),)))
            raise
        if folder.proposal is not None:
            return
        folder.propose(proposal)
        self.wake(folder.id)
        job = folder.job
        log.info("job %s of %s: %s between %s", job.id[:8], job.submitter, job.protocol, ", ".join(job.parties))

    def _remember_refusal(self, sender: str, news: News) -> None:
        """Of a proposal that is not kept there is no folder: what its sender will ask for is kept here, of the last ones only."""
        self._turned_away[sender, news.job] = news
        while len(self._turned_away) > TURNED_AWAY:
            self._turned_away.pop(next(iter(self._turned_away)))

    def _acceptable(self, sender: str, proposal: Proposal) -> Folder:
        """The folder for a proposal, once all is well that can be judged before it is kept."""
        job = proposal.checked(self.members)
        if sender != job.submitter or job.roles.coordinator != self.name:
            raise PeerError(f"{sender} proposes job {job.id} of {job.submitter} to be coordinated by {job.roles.coordinator}: refuse it")
        folder, welcome, limit = folder_of(self.state, job.id), self.settings.submitters, self.settings.open_jobs
        if folder.proposal is not None:
            return folder
        check_sites(job, self.members)
        if welcome != "any" and sender not in welcome:
            raise PeerError(f"{self.name} passes on no jobs of {sender}: ask it to add {sender} to its submitters")
        if job.expired(datetime.now(UTC)):
            raise PeerError(f"the job expired at {job.expires:%Y-%m-%d %H:%M} UTC: submit it again")
        if self.open_of(sender) >= limit:
            raise PeerError(f"{limit} jobs of {sender} are under way, and open_jobs allows no more: withdraw some (tacit withdraw)")
        return folder

    def _open(self, sender: str, job: str) -> Folder | None:
        """The folder that a site's letter is about, unless its job is over: who does not know that is told again."""
        folder = known(self.state, job)
        if folder is not None and sender not in folder.job.parties:
            raise PeerError(f"{sender} writes about job {job}, in which it takes no part")
        if folder is None:
            gone = Ended.of(job, "refused", self.name, f"{self.name} has no such job, or not any more: submit it again")
            self.control.send(sender, "ended", gone.dump())
            return None
        if folder.ended is not None:
            self.control.send(sender, "ended", folder.ended.dump())
            return None
        return folder

    def _checked(self, sender: str, checked: Checked) -> None:
        folder = self._open(sender, checked.job)
        if folder is not None and sender == checked.site and state_of(folder) in BEFORE_A_RUN:
            checked.check(folder.job, self.members)
            if folder.cleared is None:
                folder.hear("checked", sender, checked.dump())
            self.wake(folder.id)
            self.hurry(sender, "cleared", folder.id)

    def _answered(self, sender: str, answer: Answer) -> None:
        folder = self._open(sender, answer.job)
        if folder is None or sender != answer.site or state_of(folder) not in BEFORE_A_RUN:
            return
        answer.check(folder.job, self.members)
        if answer.accepts and folder.cleared is None:
            raise PeerError(f"{sender} accepts job {folder.id} before all checks of it are done: does it run the same version?")
        folder.hear("answers", sender, answer.dump())
        self.wake(folder.id)

    def _finished(self, sender: str, finished: Finished) -> None:
        folder = self._open(sender, finished.job)
        if folder is None or sender != finished.site:
            return
        if folder.finished is not None and folder.heard("closed", Finished):
            self.control.send(sender, "closed", folder.finished.dump())  # it has not heard yet
        else:
            folder.hear("finished", sender, finished.dump())
        self.wake(folder.id)

    def _heard_over(self, sender: str, job: str) -> None:
        folder = known(self.state, job)
        if folder is not None and folder.ended is not None and sender in folder.job.parties:
            folder.hear("over", sender, folder.ended.dump())
            self.wake(folder.id)

    def _withdrawn(self, sender: str, withdrawal: Withdrawal) -> None:
        folder = known(self.state, withdrawal.job)
        if folder is None or folder.job.submitter != sender:
            raise PeerError(f"{sender} wants to withdraw job {withdrawal.job[:32]!r}, which it did not submit")
        said = f": {withdrawal.reason}" if withdrawal.reason else ""
        self.end(folder, Ended.of(folder.id, "withdrawn", sender, f"{sender} withdrew it{said}"))

    def _asked(self, sender: str, number: bytes, job: bytes) -> None:
        """News, to whoever submitted it: of all jobs of the sender whose ids begin like that, in one answer."""
        begins = job.decode()
        likely = folders(self.state, lambda name: name.startswith(begins) and self._never_ran.submitter(name) in (None, sender))
        found = [folder for folder in likely if folder.job.submitter == sender]
        away = [news for (who, name), news in self._turned_away.items() if who == sender and name.startswith(begins)]
        reply(self.control.say, sender, number, msgspec.json.encode([*(self.news(folder) for folder in found), *away]))

    def _wanted(self, sender: str, number: bytes, wanted: bytes) -> None:
        """A piece of the result of a finished job, to whoever submitted it, with the size of the whole."""
        job, name, start = msgspec.msgpack.decode(wanted, type=Wanted)
        folder = folder_of(self.state, job)
        if folder.proposal is None or folder.job.submitter != sender or self.news(folder).state != "finished":
            raise PeerError(f"{sender} wants the result of job {job}, which it did not submit or which is not finished")
        reply(self.control.say, sender, number, msgspec.msgpack.encode(self._result(folder, name, start)))

    def _resumed(self, sender: str, job: str) -> None:
        folder = known(self.state, job)
        if folder is None or folder.job.submitter != sender or (start := folder.start) is None:
            raise PeerError(f"{sender} wants to resume job {job[:32]!r}, which it did not submit or which did not start")
        if self.news(folder).state == "stopped" and not folder.job.expired(datetime.now(UTC)):
            folder.start = msgspec.structs.replace(start, attempt=start.attempt + 1)
            self.wake(folder.id)
            log.info("job %s is taken up again (attempt %d)", folder.id[:8], start.attempt + 1)

    # The state machine

    def drive(self, folder: Folder, job: Job, state: JobState) -> None:
        """Check, clear, answer, start, play, close: whatever comes next."""
        start = folder.start
        match state:
            case "proposed":
                self._check(folder, job)
            case "checked":
                self._clear(folder, job)
            case "pending":
                self._answer(folder, job)
            case "accepted":
                self._begin(folder, job)
            case _ if start is not None:
                self._continue(folder, job, start)

    def conclude(self, folder: Folder, job: Job, ended: Ended) -> bool:
        """Tell the parties, and remove the run's stream once none of them needs it."""
        heard = folder.heard("over", Ended)
        late = [p for p in job.parties if p not in heard and self._reachable(p)]
        if late and datetime.now(UTC) < max(ended.at, job.expires) + PATIENCE:
            for party in late:
                self.tell(party, "ended", ended.dump(), job.id)
            return False
        return folder.start is None or self.done(delete_stream(self.broker, job.id))

    def _reachable(self, party: str) -> bool:
        member = self.members.find(party)
        return member is not None and member.state() == "valid"

    def give_up(self, folder: Folder, job: Job, error: Exception) -> None:
        """End the job for everybody."""
        told = f"{self.name} cannot go on with the job ({type(error).__name__}), and its log says why"
        self.end(folder, Ended.of(job.id, "refused", self.name, told))

    def _check(self, folder: Folder, job: Job) -> None:
        """The coordinator's own checks; what it cannot coordinate nobody else is bothered with."""
        now = datetime.now(UTC)
        try:
            grounds_of(self.state, job, now)
            problems = local_checks(job, None, now, party=self.name, state=self.state)
        except GroundsError as error:
            self.end(folder, Ended.of(job.id, "refused", self.name, f"{self.name} refuses: {error}"))
            return
        except Exception as error:  # noqa: BLE001 - whatever is in the job
            self.complain(job.id, error)
            self.give_up(folder, job, error)
            return
        if problems:
            self.end(folder, Ended.of(job.id, "refused", self.name, *render(problems).splitlines()))
            return
        checked = Checked.of(job, report_of(job, self.name, None, now, problems), self.identity)
        folder.hear("checked", self.name, checked.dump())
        folder.checked = checked
        self.wake(folder.id)

    def _clear(self, folder: Folder, job: Job) -> None:
        """Pass the proposal on, and once every site's checks are here let people be asked, or end the job."""
        proposal, checked = folder.proposal, folder.heard("checked", Checked)
        silent = [p for p in job.parties if p not in checked and p not in folder.heard("answers", Answer)]
        if self._refused(folder, job, silent) or proposal is None:
            return
        for party in silent:
            self.tell(party, "proposed", proposal.dump(), job.id)
        if set(checked) != set(job.roster.parties):
            return
        problems = combine(job, {site: one.report for site, one in checked.items()})
        if problems:
            self.end(folder, Ended.of(job.id, "refused", self.name, *render(problems).splitlines()))
            return
        folder.cleared = Cleared(job=job.id, checked=tuple(checked[p] for p in job.roster.parties))
        self.wake(folder.id)

    def _refused(self, folder: Folder, job: Job, silent: Sequence[str] = ()) -> bool:
        """Whether a site refused, which ends the job for everybody; those that are still checking may add their reasons for a moment."""
        told = [a for a in folder.heard("answers", Answer).values() if not a.accepts]
        if told and silent and time.monotonic() - self._first.setdefault(job.id, time.monotonic()) < GRACE:
            self.wake(folder.id)
        elif told:
            self._first.pop(job.id, None)
            reasons = [f"{a.site} refuses: {a.record.reason or a.record.rule}" for a in told]
            self.end(folder, Ended.of(job.id, "refused", told[0].site, *reasons))
        return bool(told)

    def _answer(self, folder: Folder, job: Job) -> None:
        record = Record(
            job=job.digest, party=self.name, verdict="accept", by=(), rule="", reason="", policy="", at=datetime.now(UTC)
        )  # fmt: skip
        answer = Answer.of(job, record, self.identity, key=self.key_of(folder, job))
        folder.hear("answers", self.name, answer.dump())
        folder.answer = answer
        self.wake(folder.id)

    def _begin(self, folder: Folder, job: Job) -> None:
        """Ask every site for its answer, and start once everybody accepted."""
        cleared, answers = folder.cleared, folder.heard("answers", Answer)
        if self._refused(folder, job) or cleared is None:
            return
        for party in [p for p in job.parties if p not in answers]:
            self.tell(party, "cleared", cleared.dump(), job.id)
        if set(answers) != set(job.roster.parties):
            return
        start = Start(job=job.id, attempt=1, answers=tuple(answers[p] for p in job.roster.parties))
        try:
            start.keys(job, self.members)
        except PeerError as error:  # a key that was replaced since it signed
            self.end(folder, Ended.of(job.id, "refused", self.name, str(error)))
            return
        tokens = {p: self.members.token(p) for p in job.roster.parties}
        if self.done(open_stream(self.broker, job.id, tokens)):  # before anybody looks for it
            folder.start = start
            self.wake(folder.id)

    def _continue(self, folder: Folder, job: Job, start: Start) -> None:
        ended = {site: f for site, f in folder.heard("finished", Finished).items() if f.attempt == start.attempt}
        for party in [p for p in job.parties if p not in ended and p != self.name]:
            self.tell(party, "start", start.dump(), job.id, str(start.attempt))
        if folder.finished is None or folder.finished.attempt < start.attempt:
            self.take_up(folder)
            for failed in [f for f in ended.values() if not f.ok]:
                self.halt(job.id, (failed.party, failed.place, failed.kind))
            return
        if self.name not in ended:
            folder.hear("finished", self.name, folder.finished.dump())
            ended[self.name] = folder.finished
        if set(ended) >= set(job.roster.parties) and all(f.ok for f in ended.values()):
            self._close(folder, job, folder.finished)
        elif job.expired(datetime.now(UTC)) and not all(f.ok for f in ended.values()):
            told = f"its run stopped, and the job expired at {job.expires:%Y-%m-%d %H:%M} UTC: submit it again"
            self.end(folder, Ended.of(job.id, "expired", self.name, told, *_stops(ended)))

    def _close(self, folder: Folder, job: Job, finished: Finished) -> None:
        """Everybody is through: nobody needs the stream any more."""
        if not self.done(delete_stream(self.broker, job.id)):
            return
        folder.hear("closed", self.name, finished.dump())
        for party in job.parties:
            self.control.send(party, "closed", finished.dump())
        log.info("job %s is closed", job.id[:8])

    # News

    def news(self, folder: Folder) -> News:
        """All that may be told of a job."""
        job, answers, start, over = folder.job, folder.heard("answers", Answer), folder.start, folder.ended
        said = {site: "accepts" if a.accepts else "refuses" for site, a in answers.items()}
        base = {"job": job.id, "answers": {p: said.get(p, "has not answered") for p in job.roster.parties}}
        if over is not None:
            return msgspec.convert({**base, "state": over.kind, "reasons": over.reasons}, News)
        if start is None:
            return msgspec.convert({**base, "state": "waiting"}, News)
        ended = {s: f for s, f in folder.heard("finished", Finished).items() if f.attempt == start.attempt}
        if not all(f.ok for f in ended.values()):
            return msgspec.convert({**base, "state": "stopped", "reasons": _stops(ended), "attempt": start.attempt}, News)
        own = folder.finished
        if own is not None and own.ok and folder.heard("closed", Finished):
            figures = {"rounds": own.rounds, "bytes": own.bytes, "seconds": own.seconds}
            return msgspec.convert({**base, "state": "finished", "attempt": start.attempt, **figures}, News)
        return msgspec.convert({**base, "state": "running", "attempt": start.attempt, **self._progress_of(folder.id)}, News)

    @staticmethod
    def _result(folder: Folder, name: str, start: int) -> tuple[int, bytes]:
        """Size of a file that a run left, and a piece of it."""
        with (folder.path / name).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(min(max(start, 0), size))
            return size, file.read(PIECE)

    def _progress_of(self, job: str) -> dict[str, Any]:
        live = self.live.get(job)
        if live is None:
            return {}
        done, total = live.get("done", 0), live.get("total", 0)
        seconds = datetime.now(UTC).timestamp() - live["began"]
        left = seconds * (total - done) / done if done else None
        places, ledger = dict(live["courier"].places), live["run"].ledger
        return {
            "places": places,
            "done": done,
            "total": total,
            "rounds": ledger.rounds,
            "bytes": ledger.bytes,
            "seconds": seconds,
            "left": left,
        }


def _stops(ended: Mapping[str, Finished]) -> list[str]:
    """Who stopped, where, and by which class of error; each once."""
    return list(dict.fromkeys(f"{f.party} stopped at {f.place} ({f.kind}): see its log" for f in ended.values() if not f.ok))
