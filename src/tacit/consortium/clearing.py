"""The coordinator's daemon: passes proposals on, collects the answers, starts what everybody accepted, and plays along."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from tacit.consortium.answers import Answer, Finished, Proposal, Start, Struct, read
from tacit.consortium.asking import numbered, reply
from tacit.consortium.consent import Record
from tacit.consortium.folder import Folder, folder_of, folders
from tacit.consortium.grounds import GroundsError, grounds_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.members import Members
from tacit.consortium.preflight import combine, local_checks, render, report_of
from tacit.consortium.settings import CoordinatorSettings
from tacit.consortium.site import Site
from tacit.errors import PeerError
from tacit.runtimes.nats import Broker, delete_stream, open_stream

log = logging.getLogger("tacit")
State = Literal["proposed", "refused", "waiting", "running", "stopped", "finished"]
Wanted = tuple[str, Literal["public.json", "audit.jsonl"], int]  # of which job, which file of its result, from which byte
PIECE = 256 << 10  # bytes of a file that one answer holds


class News(Struct, frozen=True, kw_only=True):
    """What a coordinator tells of a job: its state, who said what, how far it is. Its result is asked for once it is finished."""

    job: str
    state: State
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

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """Proposals and questions of submitters, answers and ends of parties."""
        match kind:
            case "propose":
                self._proposed(sender, read(body, Proposal))
            case "answer":
                self._answered(sender, read(body, Answer), body)
            case "finished":
                self._finished(sender, read(body, Finished), body)
            case "ask":
                self._asked(sender, *numbered(body))
            case "read":
                self._wanted(sender, *numbered(body))
            case "resume":
                self._resumed(sender, body.decode())

    def _proposed(self, sender: str, proposal: Proposal) -> None:
        job = proposal.checked(self.members)
        if sender != job.submitter or job.roles.coordinator != self.name:
            raise PeerError(f"{sender} proposes job {job.id} of {job.submitter} to be coordinated by {job.roles.coordinator}: refuse it")
        folder_of(self.state, job.id).propose(proposal)
        log.info("job %s of %s: %s between %s", job.id[:8], job.submitter, job.protocol, ", ".join(job.parties))

    def _answered(self, sender: str, answer: Answer, body: bytes) -> None:
        folder = self._of(answer.record.job)
        if folder is not None and sender == answer.site:
            answer.check(folder.job, self.members)
            folder.hear("answers", sender, body)

    def _finished(self, sender: str, finished: Finished, body: bytes) -> None:
        folder = folder_of(self.state, finished.job)
        if folder.proposal is None or sender != finished.site or sender not in folder.job.roster.parties:
            return
        if folder.finished is not None and folder.heard("closed", Finished):
            self.control.send(sender, "closed", folder.finished.dump())  # it has not heard yet
        else:
            folder.hear("finished", sender, body)

    def _asked(self, sender: str, number: bytes, job: bytes) -> None:
        """News, to whoever submitted it: of all jobs of the sender whose ids begin like that, in one answer."""
        begins = job.decode()
        found = [folder for folder in folders(self.state) if folder.id.startswith(begins) and folder.job.submitter == sender]
        reply(self.control.say, sender, number, msgspec.json.encode([self.news(folder) for folder in found]))

    def _wanted(self, sender: str, number: bytes, wanted: bytes) -> None:
        """A piece of the result of a finished job, to whoever submitted it, with the size of the whole."""
        job, name, start = msgspec.msgpack.decode(wanted, type=Wanted)
        folder = folder_of(self.state, job)
        if folder.proposal is None or folder.job.submitter != sender or self.news(folder).state != "finished":
            raise PeerError(f"{sender} wants the result of job {job}, which it did not submit or which is not finished")
        reply(self.control.say, sender, number, msgspec.msgpack.encode(self._result(folder, name, start)))

    def _resumed(self, sender: str, job: str) -> None:
        folder = folder_of(self.state, job)
        start = folder.start
        if folder.proposal is None or folder.job.submitter != sender or start is None:
            raise PeerError(f"{sender} wants to resume job {job[:32]!r}, which it did not submit or which did not start")
        if self.news(folder).state == "stopped":
            folder.start = msgspec.structs.replace(start, attempt=start.attempt + 1)
            log.info("job %s is taken up again (attempt %d)", folder.id[:8], start.attempt + 1)

    def _of(self, digest: str) -> Folder | None:
        return next((folder for folder in folders(self.state) if folder.job.digest == digest), None)

    # The state machine

    def drive(self, folder: Folder) -> None:
        """Answer, start, play, tell, close: whatever comes next."""
        job, proposal = folder.job, folder.proposal
        if folder.heard("closed", Finished) or proposal is None:
            self.retire(folder)
            return
        if folder.answer is None:
            self._answer(folder, job)
        answers = folder.heard("answers", Answer)
        if folder.start is None:
            for party in [p for p in job.parties if p not in answers and p != self.name]:
                self.tell(party, "proposed", proposal.dump(), job.id)
            self._begin(folder, job, answers)
        else:
            self._continue(folder, job, folder.start)

    def _answer(self, folder: Folder, job: Job) -> None:
        now = datetime.now(UTC)
        record = Record(job=job.digest, party=self.name, verdict="accept", by=(), rule="", reason="", policy="", at=now)
        try:
            grounds_of(self.state, job, now)
            answer = self._yes(folder, job, record)
        except GroundsError as error:
            refused = msgspec.structs.replace(record, verdict="refuse", rule="builds_on", reason=str(error))
            answer = Answer.of(refused, self.identity)
        folder.hear("answers", self.name, answer.dump())
        folder.answer = answer

    def _yes(self, folder: Folder, job: Job, record: Record) -> Answer:
        now = record.at
        problems = local_checks(job, None, now, party=self.name, state=self.state)
        report = report_of(job, self.name, None, now, problems)
        return Answer.of(record, self.identity, key=self.key_of(folder, job), preflight=report)

    def _begin(self, folder: Folder, job: Job, answers: dict[str, Answer]) -> None:
        """Start once everybody accepted and no check failed."""
        if self.refusals(job, answers) or set(answers) != set(job.roster.parties) or job.expired(datetime.now(UTC)):
            return
        tokens = {p: self.members.token(p) for p in job.roster.parties}
        if self.done(open_stream(self.broker, job.id, tokens)):  # before anybody looks for it
            folder.start = Start(job=job.id, attempt=1, answers=tuple(answers[p] for p in job.roster.parties))

    @staticmethod
    def refusals(job: Job, answers: dict[str, Answer]) -> list[str]:
        """Why a job cannot start: refusals by name and rule, and all problems of the preflight once everybody answered."""
        told = [f"{a.site} refuses: {a.record.reason or a.record.rule}" for a in answers.values() if not a.accepts]
        if set(answers) == set(job.roster.parties) and not told:
            problems = combine(job, {site: a.preflight for site, a in answers.items() if a.preflight})
            told = render(problems).splitlines() if problems else []
        return told

    def _continue(self, folder: Folder, job: Job, start: Start) -> None:
        ended = {site: f for site, f in folder.heard("finished", Finished).items() if f.attempt == start.attempt}
        for party in [p for p in job.parties if p not in ended and p != self.name]:
            self.tell(party, "start", start.dump(), job.id, str(start.attempt))
        if folder.finished is None or folder.finished.attempt < start.attempt:
            self.take_up(folder)
            for failed in [f for f in ended.values() if not f.ok]:
                self.halt(job.id, (failed.party, failed.place, failed.kind))
            return
        folder.hear("finished", self.name, folder.finished.dump())
        if set(ended) >= set(job.roster.parties) and all(f.ok for f in ended.values()):
            self._close(folder, job, folder.finished)

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
        job, answers, start = folder.job, folder.heard("answers", Answer), folder.start
        said = {site: "accepts" if a.accepts else "refuses" for site, a in answers.items()}
        base = {"job": job.id, "answers": {p: said.get(p, "has not answered") for p in job.roster.parties}}
        if start is None:
            reasons = self.refusals(job, answers)
            if job.expired(datetime.now(UTC)):
                reasons = [*reasons, f"the job expired at {job.expires:%Y-%m-%d %H:%M} UTC"]
            return msgspec.convert({**base, "state": "refused" if reasons else "waiting", "reasons": reasons}, News)
        ended = {s: f for s, f in folder.heard("finished", Finished).items() if f.attempt == start.attempt}
        failed = [f for f in ended.values() if not f.ok]
        if failed:
            reasons = list(dict.fromkeys(f"{f.party} stopped at {f.place} ({f.kind}): see its log" for f in failed))
            return msgspec.convert({**base, "state": "stopped", "reasons": reasons, "attempt": start.attempt}, News)
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
