"""The coordinator: it passes proposals on, collects checks and answers, starts runs, and plays along.

It also ends a job for everybody: when a check fails or a site refuses, when its submitter withdraws it, when its time
is over.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from tacit.choreo.progress import AtStep
from tacit.consortium.broker.asking import Question, reply
from tacit.consortium.consent.people import Record
from tacit.consortium.jobs.absence import DIFFERS, check_absence, say_without
from tacit.consortium.jobs.answers import (
    Absence,
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
from tacit.consortium.jobs.folder import PUBLIC, SENT, Folder, folder_of, folders, state_of
from tacit.consortium.jobs.grounds import GroundsError, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import combine, local_checks, render, report_of
from tacit.consortium.jobs.states import BEFORE_A_RUN, JobState, PublicState
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.site.common import Site, find_folder
from tacit.consortium.site.runs import figures_of
from tacit.consortium.site.settings import CoordinatorSettings
from tacit.consortium.site.tables import Tables
from tacit.errors import LocalError, PeerError, TacitError, is_told
from tacit.runtimes.apart import StoppedError
from tacit.runtimes.nats.durable import SILENT
from tacit.runtimes.nats.network import Broker, delete_stream, open_stream

log = logging.getLogger("tacit")
Wanted = tuple[str, Literal["public.bin", "audit.jsonl"], int]  # a job, a file of its result, from which byte on
PIECE = 256 << 10  # bytes of a file that one answer holds
TURNED_AWAY = 1000  # proposals that were not kept, and whose senders may still ask
GRACE = 2.0  # seconds for the refusals of other sites, so that the submitter reads all of them at once
PATIENCE = timedelta(days=1)  # how long a site that does not say so is told that a job is over


class News(Struct, frozen=True, kw_only=True):
    """What a coordinator tells of a job: its state, who said what, how far it is.

    Its result is asked for once it is finished.
    """

    job: str
    state: PublicState
    reasons: tuple[str, ...] = ()
    answers: dict[str, str] = msgspec.field(default_factory=dict)
    places: dict[str, str] = msgspec.field(default_factory=dict)
    step: AtStep = AtStep()
    gap: float | None = None
    total: int = 0
    rounds: int = 0
    bytes: int = 0
    seconds: float = 0.0
    attempt: int = 0
    without: tuple[str, ...] = ()


class Clearing(Site):
    """The coordinator of all jobs that name it."""

    admin = True

    def __init__(self, settings: CoordinatorSettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(settings, identity, members, broker)
        self.settings, self.tables = settings, Tables(self.name, self.state, {})
        self._first: dict[str, float] = {}  # when a site was first heard to refuse
        self._waits: dict[tuple[str, int], str] = {}  # by job and attempt, why it does not go on without who is away
        self._turned_away: dict[tuple[str, str], News] = {}  # by submitter and job, of proposals that were not kept
        self.letters = {
            "propose": (bytes, self._hear_proposal),
            "checked": (Checked, self._hear_checked),
            "answer": (Answer, self._hear_answer),
            "finished": (Finished, self._hear_finished),
            "over": (str, self._hear_over),
            "ask": (Question, self._tell_news),
            "read": (Question, self._tell_result),
            "resume": (str, self._resume),
            "withdraw": (Withdrawal, self._withdraw),
        }

    def _hear_proposal(self, sender: str, body: bytes) -> None:
        """Keep a proposal that can be passed on; whoever sent another hears at once why not."""
        try:
            proposal = read(body, Proposal)
            folder = self._accept(sender, proposal)
        except Exception as error:
            told = str(error) if isinstance(error, TacitError) else f"it cannot be read ({type(error).__name__})"
            if (name := id_in(body)) is not None and find_folder(self.state, name) is None:
                reasons = (one_line(f"{self.name} refuses: {told}"),)
                self._remember_refusal(sender, News(job=name, state="refused", reasons=reasons))
            raise
        if folder.proposal is not None:
            return
        folder.propose(proposal)
        self.wake(folder.id)
        job = folder.job
        log.info("job %s of %s: %s between %s", job.id[:8], job.submitter, job.protocol, ", ".join(job.parties))

    def _remember_refusal(self, sender: str, news: News) -> None:
        """Keep what the sender of a proposal that has no folder will ask for, of the last ones only."""
        self._turned_away[sender, news.job] = news
        while len(self._turned_away) > TURNED_AWAY:
            self._turned_away.pop(next(iter(self._turned_away)))

    def _accept(self, sender: str, proposal: Proposal) -> Folder:
        """Return the folder for a proposal, if all is well that can be judged before it is kept."""
        job = proposal.verify(self.members)
        if sender != job.submitter or job.coordinator != self.name:
            whose = f"job {job.id} of {job.submitter} to be coordinated by {job.coordinator}"
            raise PeerError(f"{sender} proposes {whose}: refuse it")
        folder, welcome, limit = folder_of(self.state, job.id), self.settings.submitters, self.settings.open_jobs
        if folder.proposal is not None:
            return folder
        check_sites(job, self.members)
        if welcome != "any" and sender not in welcome:
            raise PeerError(f"{self.name} passes on no jobs of {sender}: ask it to add {sender} to its submitters")
        if job.expired(datetime.now(UTC)):
            raise PeerError(job.expiry)
        if self.open_of(sender) >= limit:
            full = f"{limit} jobs of {sender} are under way, and open_jobs allows no more"
            raise PeerError(f"{full}: withdraw some (tacit withdraw)")
        return folder

    def _open_folder(self, sender: str, job: str) -> Folder | None:
        """Return the folder that a site's letter is about, unless its job is over: who does not know is told again."""
        folder = find_folder(self.state, job)
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

    def _hear_checked(self, sender: str, checked: Checked) -> None:
        folder = self._open_folder(sender, checked.job)
        if folder is not None and sender == checked.site and state_of(folder) in BEFORE_A_RUN:
            checked.check(folder.job, self.members)
            if folder.cleared is None:
                folder.hear("checked", sender, checked.dump())
            self.wake(folder.id)
            self.hurry(sender, "cleared", folder.id)

    def _hear_answer(self, sender: str, answer: Answer) -> None:
        folder = self._open_folder(sender, answer.job)
        if folder is None or sender != answer.site or state_of(folder) not in BEFORE_A_RUN:
            return
        answer.check(folder.job, self.members)
        if answer.accepts and folder.cleared is None:
            raise PeerError(f"{sender} accepts job {folder.id} before all its checks: does it run the same version?")
        folder.hear("answers", sender, answer.dump())
        self.wake(folder.id)

    def _hear_finished(self, sender: str, finished: Finished) -> None:
        folder = self._open_folder(sender, finished.job)
        if folder is None or sender != finished.site:
            return
        if folder.finished is not None and folder.heard("closed", Finished):  # it has not heard yet
            self._tell_closed(sender, folder, folder.finished)
        else:
            folder.hear("finished", sender, finished.dump())
        self.wake(folder.id)

    def _hear_over(self, sender: str, job: str) -> None:
        folder = find_folder(self.state, job)
        if folder is not None and folder.ended is not None and sender in folder.job.parties:
            folder.hear("over", sender, folder.ended.dump())
            self.wake(folder.id)

    def _withdraw(self, sender: str, withdrawal: Withdrawal) -> None:
        folder = find_folder(self.state, withdrawal.job)
        if folder is None or folder.job.submitter != sender:
            raise PeerError(f"{sender} wants to withdraw job {withdrawal.job[:32]!r}, which it did not submit")
        said = f": {withdrawal.reason}" if withdrawal.reason else ""
        self.end(folder, Ended.of(folder.id, "withdrawn", sender, f"{sender} withdrew it{said}"))

    def _tell_news(self, sender: str, question: Question) -> None:
        """Tell a submitter the news of all its jobs whose ids begin like that, in one answer."""
        begins = question.content.decode()

        def may_be_asked(name: str) -> bool:
            return name.startswith(begins) and self._never_ran.submitter(name) in (None, sender)

        told = [self.news(folder) for folder in folders(self.state, may_be_asked) if folder.job.submitter == sender]
        told += [news for (who, name), news in self._turned_away.items() if who == sender and name.startswith(begins)]
        reply(self.control.say, sender, question.number, msgspec.json.encode(told))

    def _tell_result(self, sender: str, question: Question) -> None:
        """Tell a submitter a piece of the result of its finished job, and the size of the whole."""
        job, name, start = msgspec.msgpack.decode(question.content, type=Wanted)
        folder = folder_of(self.state, job)
        if folder.proposal is None or folder.job.submitter != sender or self.news(folder).state != "finished":
            raise PeerError(f"{sender} wants the result of job {job}, which it did not submit or which is not finished")
        reply(self.control.say, sender, question.number, msgspec.msgpack.encode(self._result(folder, name, start)))

    def _resume(self, sender: str, job: str) -> None:
        folder = find_folder(self.state, job)
        if folder is None or folder.job.submitter != sender or (start := folder.start) is None:
            raise PeerError(f"{sender} wants to resume job {job[:32]!r}, which it did not submit or did not start")
        if self.news(folder).state == "stopped" and not folder.job.expired(datetime.now(UTC)):
            refused = any(end.kind.startswith(DIFFERS) for end in _ends(folder, start).values())  # so all are needed
            absence = None if refused else start.absence
            folder.start = msgspec.structs.replace(start, attempt=start.attempt + 1, absence=absence)
            self.wake(folder.id)
            log.info("job %s is resumed (attempt %d)", folder.id[:8], start.attempt + 1)

    # The state machine

    def drive(self, folder: Folder, job: Job, state: JobState) -> None:
        """Do what is due for a job: check, clear, answer, start, play or close."""
        steps = {"proposed": self._check, "checked": self._clear, "pending": self._answer, "accepted": self._begin}
        if state in steps:
            steps[state](folder, job)
        elif (start := folder.start) is not None:
            self._continue(folder, job, start)

    def conclude(self, folder: Folder, job: Job, ended: Ended) -> bool:
        """Tell the parties, and remove the run's stream once none of them needs it."""
        heard = folder.heard("over", Ended)
        late = [p for p in job.parties if p not in heard and self._reachable(p)]
        if late and datetime.now(UTC) < max(ended.at, job.expires) + PATIENCE:
            for party in late:
                self.tell(party, "ended", ended.dump(), job.id)
            return False
        return folder.start is None or self._delete_streams(folder, job)

    def _reachable(self, party: str) -> bool:
        member = self.members.find(party)
        return member is not None and member.state() == "valid"

    def give_up(self, folder: Folder, job: Job, error: Exception) -> None:
        """End the job for everybody."""
        del job
        self.refuse(folder, f"{self.name} cannot go on with the job ({type(error).__name__}), and its log says why")

    def _check(self, folder: Folder, job: Job) -> None:
        """Make the coordinator's own checks; what it cannot coordinate nobody else is bothered with."""
        now = datetime.now(UTC)
        try:
            grounds_of(self.state, job, now)
            problems = local_checks(job, None, now, party=self.name, state=self.state)
        except GroundsError as error:
            self.refuse(folder, f"{self.name} refuses: {error}")
            return
        except Exception as error:  # noqa: BLE001 - whatever is in the job
            self.complain(job.id, error)
            self.give_up(folder, job, error)
            return
        if problems:
            self.refuse(folder, *render(problems).splitlines())
            return
        report = report_of(job, self.name, None, now, problems, reading=self.read_clock())
        checked = Checked.of(job, report, self.identity)
        folder.hear("checked", self.name, checked.dump())
        folder.checked = checked
        self.expect(folder, job)
        self.wake(folder.id)

    def _clear(self, folder: Folder, job: Job) -> None:
        """Pass the proposal on, and once every site's checks are here let people be asked, or end the job."""
        proposal, checked = folder.proposal, folder.heard("checked", Checked)
        silent = [p for p in job.parties if p not in checked and p not in folder.heard("answers", Answer)]
        if self._end_refused(folder, job, silent) or proposal is None:
            return
        for party in silent:
            self.tell(party, "proposed", proposal.dump(), job.id)
        if set(checked) != set(job.roster.parties):
            return
        problems = combine(job, {site: one.report for site, one in checked.items()})
        if problems:
            self.refuse(folder, *render(problems).splitlines())
            return
        folder.cleared = Cleared(job=job.id, checked=tuple(checked[p] for p in job.roster.parties))
        self.wake(folder.id)

    def _end_refused(self, folder: Folder, job: Job, silent: Sequence[str] = ()) -> bool:
        """End a job that a site refused, and return whether one did; `silent` sites may add reasons for a moment."""
        told = [a for a in folder.heard("answers", Answer).values() if not a.accepts]
        if told and silent and time.monotonic() - self._first.setdefault(job.id, time.monotonic()) < GRACE:
            self.wake(folder.id)
        elif told:
            self._first.pop(job.id, None)
            reasons = [f"{a.site} refuses: {a.record.reason or a.record.rule}" for a in told]
            self.end(folder, Ended.of(job.id, "refused", told[0].site, *reasons))
        return bool(told)

    def _answer(self, folder: Folder, job: Job) -> None:
        record = Record.of(job, self.name, "accept")
        answer = Answer.of(job, record, self.identity, key=self.key_of(folder))
        folder.hear("answers", self.name, answer.dump())
        folder.answer = answer
        self.wake(folder.id)

    def _begin(self, folder: Folder, job: Job) -> None:
        """Ask every site for its answer, and start once everybody accepted."""
        cleared, answers = folder.cleared, folder.heard("answers", Answer)
        if self._end_refused(folder, job) or cleared is None:
            return
        for party in [p for p in job.parties if p not in answers]:
            self.tell(party, "cleared", cleared.dump(), job.id)
        if set(answers) != set(job.roster.parties):
            return
        start = Start(job=job.id, attempt=1, answers=tuple(answers[p] for p in job.roster.parties))
        try:
            start.keys(job, self.members)
        except PeerError as error:  # a key that was replaced since it signed
            self.refuse(folder, str(error))
            return
        tokens = {p: self.members.token(p) for p in job.roster.parties}
        if self.ask_broker(open_stream(self.broker, job.id, tokens)):  # before anybody looks for it
            folder.start = start
            self.wake(folder.id)

    def _continue(self, folder: Folder, job: Job, start: Start) -> None:
        """Play the run of an attempt, hear how the others came out of it, and close or end the job."""
        ended, cast = _ends(folder, start), start.cast(job)
        for party in [p for p in cast.parties if p not in ended and p != self.name]:
            self.tell(party, "start", start.dump(), job.id, str(start.attempt))
        if folder.finished is None or folder.finished.attempt < start.attempt:
            self.take_up(folder)
            for failed in [f for f in ended.values() if not f.ok]:
                self.halt(job.id, (failed.party, failed.place, failed.kind))
            return
        if self.name not in ended:
            folder.hear("finished", self.name, folder.finished.dump())
            ended[self.name] = folder.finished
        if set(ended) >= set(cast.roster.parties) and all(f.ok for f in ended.values()):
            self._close(folder, job, folder.finished)
        elif self._leave(folder, start, ended):
            self.wake(folder.id)
        elif job.expired(datetime.now(UTC)) and not all(f.ok for f in ended.values()):
            told = f"its run stopped, and {job.expiry}"
            self.end(folder, Ended.of(job.id, "expired", self.name, told, *_describe_stops(ended)))

    def _leave(self, folder: Folder, start: Start, ended: Mapping[str, Finished]) -> bool:
        """Begin again without sites that were silent when the run stopped; return whether it does."""
        job, away = folder.job, self._find_leaving(folder, start, ended)
        if not away or not self._has_waited(folder.id, away):
            return False
        absent = tuple(party for party in job.parties if party in {*start.absent, *away})
        absence = Absence.of(job, absent, self.identity)
        again = msgspec.structs.replace(start, attempt=start.attempt + 1, absence=absence)
        try:
            cast = check_absence(job, again, self.find_summed(folder), self.name)
        except (StoppedError, PeerError) as error:
            self._waits[job.id, start.attempt] = str(error)
            self.complain(job.id, error)
            return False
        tokens = {p: self.members.token(p) for p in cast.roster.parties}
        if not self.ask_broker(open_stream(self.broker, folder.run_of(cast), tokens)):
            return False
        folder.hear("absences", folder.run_of(cast), absence.dump())
        folder.start = again
        log.info("job %s begins again%s (attempt %d)", job.id[:8], say_without(again), again.attempt)
        return True

    def _find_leaving(self, folder: Folder, start: Start, ended: Mapping[str, Finished]) -> tuple[str, ...]:
        """Return the sites that a stopped run is about to begin again without."""
        job = folder.job
        waits = job.on_absence == "wait" or (folder.id, start.attempt) in self._waits
        return () if waits else _find_away(start.cast(job), ended)

    def _has_waited(self, job: str, away: Sequence[str]) -> bool:
        """Return whether sites said nothing for a moment after the run stopped, in which one that lives would."""
        key = f"{job} without {', '.join(away)}"
        if time.monotonic() - self._first.setdefault(key, time.monotonic()) < GRACE:
            return False
        self._first.pop(key)
        return True

    def _close(self, folder: Folder, job: Job, finished: Finished) -> None:
        """Close a job that everybody is through with, and remove its streams, which nobody needs any more."""
        if not self._delete_streams(folder, job):
            return
        folder.hear("closed", self.name, finished.dump())
        for party in job.parties:
            self._tell_closed(party, folder, finished)
        log.info("job %s is closed", job.id[:8])

    def _tell_closed(self, party: str, folder: Folder, finished: Finished) -> None:
        """Tell a site that the job is closed; one that was left out, that it finished without it."""
        if folder.start is not None and party in folder.start.absent:
            without = f"it was away, and the job went on{say_without(folder.start)}"
            self.control.send(party, "ended", Ended.of(folder.id, "left", self.name, without).dump())
        else:
            self.control.send(party, "closed", finished.dump())

    def _delete_streams(self, folder: Folder, job: Job) -> bool:
        """Remove the streams of all runs of a job; return whether the server did it."""
        runs = [folder.run_of(job.without(absent)) for absent in folder.casts]
        return all(self.ask_broker(delete_stream(self.broker, run)) for run in runs)

    # News

    def news(self, folder: Folder) -> News:
        """Return all that may be told of a job."""
        job, answers = folder.job, folder.heard("answers", Answer)
        said = {site: "accepts" if a.accepts else "refuses" for site, a in answers.items()}
        told = {"job": job.id, "answers": {p: said.get(p, "has not answered") for p in job.roster.parties}}
        return msgspec.convert({**told, **self._describe_state(folder)}, News)

    def _describe_state(self, folder: Folder) -> dict[str, Any]:
        """Return how far a job is: its state, and what belongs to that state."""
        over, start, own = folder.ended, folder.start, folder.finished
        if over is not None:
            return {"state": over.kind, "reasons": over.reasons}
        if start is None:
            return {"state": "waiting"}
        told: dict[str, Any] = {"attempt": start.attempt, "without": start.absent}
        ended = _ends(folder, start)
        if not all(f.ok for f in ended.values()) and not self._find_leaving(folder, start, ended):
            why = [self._waits[key]] if (key := (folder.id, start.attempt)) in self._waits else []
            return {**told, "state": "stopped", "reasons": [*_describe_stops(ended), *why]}
        if own is not None and own.ok and folder.heard("closed", Finished):
            return {**told, "state": "finished", "rounds": own.rounds, "bytes": own.bytes, "seconds": own.seconds}
        late = [party for party in start.cast(folder.job).parties if party not in ended] if own is not None else []
        why = [f"the run has ended, and waits for {', '.join(late)}: a site may hold its result back"] if late else []
        return {**told, "state": "running", "reasons": why, **self._progress_of(folder.id)}

    @staticmethod
    def _result(folder: Folder, name: str, start: int) -> tuple[int, bytes]:
        """Return the size of a file that a run left, and a piece of it; of a refused model, what is sent instead."""
        instead = folder.path / SENT
        path = instead if name == PUBLIC and instead.exists() else folder.path / name
        if not path.exists():
            raise LocalError(f"job {folder.id} has no {name} here any more: run it again")
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(min(max(start, 0), size))
            return size, file.read(PIECE)

    def _progress_of(self, job: str) -> dict[str, Any]:
        live = self.live.get(job)
        if live is None:
            return {}
        figures = figures_of(live)
        return {"places": dict(live["courier"].places), **figures, "gap": roughen(figures["gap"])}


def roughen(gap: float | None) -> float | None:
    """Return a gap with one digit: who waits wants to know how near the end is, and the result tells the history."""
    return None if gap is None else float(f"{gap:.1g}")


def _ends(folder: Folder, start: Start) -> dict[str, Finished]:
    """Return how sites came out of the present attempt."""
    return {site: f for site, f in folder.heard("finished", Finished).items() if f.attempt == start.attempt}


def _find_away(job: Job, ended: Mapping[str, Finished]) -> tuple[str, ...]:
    """Return the parties of a run that was stopped because they were silent, and that are still.

    A party that lives says how it came out, so one that only others call silent is not away.
    """
    silent = {end.party for end in ended.values() if not end.ok and end.kind.startswith(SILENT)}
    return tuple(party for party in job.parties if party in silent and party not in ended)


def _describe_stops(ended: Mapping[str, Finished]) -> list[str]:
    """Return who stopped, where, and why; each once, and what all of them raised alike once for all."""
    stops = [end for end in ended.values() if not end.ok]
    told = [end.kind for end in stops if is_told(end.kind)]
    own = [f"{end.party} stopped at {end.place} ({end.kind}): see its log" for end in stops if not is_told(end.kind)]
    return list(dict.fromkeys([*told, *own]))
