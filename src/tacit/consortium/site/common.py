"""A site: what a party and a coordinator have in common.

Each job has a folder, and whatever the process was doing when it was killed follows from the files in it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.consortium.broker.asking import Question, parse
from tacit.consortium.broker.clock import Reading, read_clock
from tacit.consortium.broker.control import Control
from tacit.consortium.jobs.answers import Ended, check_sites, read
from tacit.consortium.jobs.folder import Folder, folder_of, folders, state_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.standing import EndedJobs, explain
from tacit.consortium.jobs.states import BEFORE_A_RUN, ENDINGS, OVER, JobState
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.site.health import Health
from tacit.consortium.site.runs import Runs
from tacit.consortium.site.settings import DaemonSettings
from tacit.errors import PeerError, TacitError
from tacit.runtimes.nats.network import Broker, InterruptedRunError

log = logging.getLogger("tacit")
AGAIN, LONGEST = 5.0, 300.0  # seconds until a letter that nobody answered is sent again: the first time, and at most
LONGEST_TICK = 0.025  # seconds after which a tick begins with no further job
ASIDE = "aside"  # the folder of jobs whose files cannot be read
Letter = tuple[str, ...]  # a receiver, a kind, and what it is about
Taking = tuple[type[Any], Callable[[str, Any], None]]  # the form of a letter, and what is done about it
RAW: dict[type[Any], Callable[[bytes], Any]] = {bytes: bytes, str: bytes.decode, Question: parse}  # others are structs
Sent = tuple[float, float]  # when a letter was sent, and how many seconds later it is sent again
WAITING: tuple[JobState, ...] = ("checked", "accepted", "stopped", "through", "refused")  # for a letter
# seconds between looks at a job that waits for a letter, which ends the wait, or for people
RESTS: dict[JobState, float] = {**dict.fromkeys(WAITING, AGAIN / 5), "pending": 0.5}


class Site(Runs):
    """One member at work, with its folder and its connection."""

    def __init__(self, settings: DaemonSettings, identity: Identity, members: Members, broker: Broker) -> None:
        super().__init__(settings, identity, members, broker)
        self.ended_jobs = settings.ended_jobs  # how many of one submitter that ended before they started are kept
        self.letters: dict[str, Taking] = {}  # by kind
        self.control = Control(broker, identity, members, self.hear, admin=self.admin)
        self.started = datetime.now(UTC)
        self.told_at = 0.0  # when the status file was written
        self.health: Health | None = None  # as the last look found it
        self._sent: dict[str, dict[Letter, Sent]] = {}  # by job
        self._never_ran = EndedJobs()
        self.standings: dict[str, tuple[JobState, str]] = {}  # of each job as it was looked at last: how far, and why
        self._rests: dict[str, float] = {}  # until when a job has nothing to do, unless a letter about it comes

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """Take a letter; one of a kind that this site does not know changes nothing."""
        if kind in self.letters:
            form, take = self.letters[kind]
            take(sender, RAW[form](body) if form in RAW else read(body, form))

    def drive(self, folder: Folder, job: Job, state: JobState) -> None:
        """Do whatever is due for a job that is not over."""
        raise NotImplementedError

    def conclude(self, folder: Folder, job: Job, ended: Ended) -> bool:
        """Do whatever is due for a job that ended without a result; whether nothing is left to do."""
        raise NotImplementedError

    def give_up(self, folder: Folder, job: Job, error: Exception) -> None:
        """Refuse or stop a job over which this site stumbles.

        Of the error others hear its class, since its text can contain data.
        """
        raise NotImplementedError

    def waiting_for_people(self) -> tuple[str, ...]:
        """Return the jobs that people here have to answer."""
        return ()

    def who_asks(self, job: str) -> str:
        """Return who submitted a job of this site."""
        return folder_of(self.state, job).job.submitter

    def in_force(self) -> dict[str, str]:
        """Return what a person should know of the rules that this site goes by now."""
        return {}

    # Jobs

    def tick(self) -> None:
        """Look after every job by itself: whatever happens to one, the others go on.

        Those that waited longest come first. What a tick has no time for is left to the next one, so that thousands of
        jobs that nobody needs, as after a start, keep no other work waiting.
        """
        now = time.monotonic()
        for folder in folders(self.state, lambda job: self._due(job) <= now, self._due):
            self._look(folder)
            if time.monotonic() - now > LONGEST_TICK:  # after a look, so that every tick gets on
                self.control.due.set()
                return

    def _due(self, job: str) -> float:
        return self._rests.get(job, 0.0)

    def wake(self, job: str) -> None:
        """Look after a job at once, before others: something was heard about it."""
        self._rests[job] = -1.0

    def after_run(self, job: str) -> None:
        """Look at a job's files now."""
        self.wake(job)
        self.control.due.set()

    def _look(self, folder: Folder) -> None:
        try:
            job, state, ended = folder.job, state_of(folder), folder.ended
            known = self.standings.get(folder.id)
            if known is None or known[0] != state:
                self.standings[folder.id] = state, explain(folder, state)
        except OSError as error:
            self.complain(folder.id, error)
            return
        except Exception as error:  # noqa: BLE001 - whatever its files are like
            self._set_aside(folder, error)
            return
        try:
            self._rests[folder.id] = time.monotonic() + RESTS.get(state, 0.0)
            self._handle(folder, job, state, ended)
            self._said.pop(folder.id, None)
            if state in ENDINGS:
                self._make_room(folder, job)
        except (TacitError, OSError) as error:  # a full disk, or a server that is away: the next look may succeed
            self.complain(folder.id, error)
        except Exception as error:  # noqa: BLE001 - whatever is in the job
            self.complain(folder.id, error)
            self._stumble(folder, job, error)

    def _handle(self, folder: Folder, job: Job, state: JobState, ended: Ended | None) -> None:
        over = self._lapse(folder, job, state) if ended is None else None
        if over is not None:
            self.end(folder, over)
            ended = folder.ended
        if ended is not None:
            self._wind_up(folder, job, ended)
        elif state == "finished":
            self.retire(folder)
            self._rests[folder.id] = math.inf
        else:
            if state == "stopped":
                self.account(folder)
            self.drive(folder, job, state)

    def _lapse(self, folder: Folder, job: Job, state: JobState) -> Ended | None:
        """Return how a job ends by itself: its time is over, or a site of it is no valid member any more."""
        if state == "expired":
            stop = folder.finished
            before = () if stop is None else (f"{stop.party} stopped at {stop.place} ({stop.kind})",)
            return Ended.of(job.id, "expired", self.name, job.expiry, *before)
        if state in BEFORE_A_RUN:
            try:
                check_sites(job, self.members)
            except PeerError as error:
                return Ended.of(job.id, "refused", self.name, str(error))
        gone = [p for p in job.roster.parties if (m := self.members.find(p)) is None or m.revoked]
        if state in OVER or not gone:
            return None
        return Ended.of(job.id, "refused", self.name, f"the key of {', '.join(gone)} was revoked by the registrar")

    def end(self, folder: Folder, ended: Ended) -> None:
        """End a job here for good; a run that goes on is stopped."""
        if state_of(folder) == "finished" or folder.ended is not None:
            return
        folder.ended = ended
        self.halt(folder.id, (ended.by, "the job", ended.kind))
        self.forget(folder.id)
        self.wake(folder.id)
        why = "; ".join(ended.reasons) or "no reason was given"
        log.info("job %s is %s by %s: %s", folder.id[:8], ended.kind, ended.by, why)

    def refuse(self, folder: Folder, *reasons: str) -> None:
        """End a job here because this site cannot go on with it."""
        self.end(folder, Ended.of(folder.id, "refused", self.name, *reasons))

    def _wind_up(self, folder: Folder, job: Job, ended: Ended) -> None:
        """Let its run end, see that its audit is there, and remove its secrets."""
        if self.is_playing(folder.id):
            self.halt(folder.id, (ended.by, "the job", ended.kind))
            return
        self.account(folder)
        self.retire(folder)
        self._rests[folder.id] = math.inf if self.conclude(folder, job, ended) else self._next_letter(folder.id)

    def _make_room(self, folder: Folder, job: Job) -> None:
        """Remove the oldest jobs of a submitter that ended and never started, beyond those that this site keeps."""
        if folder.start is None and not folder.audits:
            self._never_ran.add(folder.id, job.submitter, folder.since)
        for surplus in self._never_ran.surplus(job.submitter, self.ended_jobs):
            self.discard(folder_of(self.state, surplus))

    def discard(self, folder: Folder) -> None:
        """Remove a job that ended before it started, and all that is remembered of it."""
        self._never_ran.drop(folder.id)
        with contextlib.suppress(FileNotFoundError):  # it was purged meanwhile
            folder.discard()
        for kept in (self._rests, self._sent, self._said, self.standings):
            kept.pop(folder.id, None)

    def _stumble(self, folder: Folder, job: Job, error: Exception) -> None:
        try:
            self.give_up(folder, job, error)
        except (TacitError, OSError) as trouble:
            self.complain(folder.id, trouble)

    def _set_aside(self, folder: Folder, error: Exception) -> None:
        """Move a job whose files cannot be read out of the way, where people find it."""
        aside = self.state / ASIDE / folder.id
        with contextlib.suppress(OSError):  # it was purged meanwhile, or lies there already
            aside.parent.mkdir(exist_ok=True)
            folder.path.replace(aside)
            log.error("job %s cannot be read (%s) and is set aside: see %s", folder.id[:8], type(error).__name__, aside)

    def open_of(self, submitter: str) -> int:
        """Return how many jobs of a submitter are not over here."""
        found = 0

        def may_be_open(job: str) -> bool:
            return self._due(job) != math.inf and self._never_ran.submitter(job) is None

        for folder in folders(self.state, may_be_open):
            with contextlib.suppress(TacitError, OSError):
                found += folder.job.submitter == submitter and state_of(folder) not in OVER
        return found

    # The broker

    def prepare(self) -> bool:
        """Give every member of the newest list somewhere to get its letters; return whether the server did it."""
        return self.ask_broker(self.control.prepare())

    def ask_broker(self, work: Coroutine[Any, Any, None]) -> bool:
        """Return whether the server did some work; one that is away is asked again at the next look."""
        try:
            self.broker.call(work)
        except InterruptedRunError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the network does, there is another look
            log.debug("the broker: %s", error)
            return False
        return True

    def read_clock(self) -> Reading | None:
        """Return a look at the broker's clock, if it tells the time."""
        return read_clock(self.broker, self.members.token(self.name))

    # Letters

    def tell(self, receiver: str, kind: str, body: bytes, job: str, *about: str) -> None:
        """Send a letter about a job, and again only after a while, which doubles."""
        letters, key, now = self._sent.setdefault(job, {}), (receiver, kind, *about), time.monotonic()
        sent, pause = letters.get(key, (now, 0.0))
        if now - sent >= pause:
            letters[key] = (now, min(max(AGAIN, 2 * pause), LONGEST))
            self.control.send(receiver, kind, body)

    def _next_letter(self, job: str) -> float:
        """Return when the next letter about a job is due again."""
        return min((sent + pause for sent, pause in self._sent.get(job, {}).values()), default=0.0)

    def hurry(self, receiver: str, kind: str, job: str, *about: str) -> None:
        """Let the next letter of this kind go at once."""
        self._sent.get(job, {}).pop((receiver, kind, *about), None)

    def forget(self, job: str) -> None:
        """Keep no more account of what was told about a job that has ended."""
        self._sent.pop(job, None)


def find_folder(state: Path, job: str) -> Folder | None:
    """Return the folder of a job that a letter names, if there is such a job here."""
    folder = folder_of(state, job)
    return None if folder.proposal is None else folder
