"""A site: what a party and a coordinator have in common.

Each job has a folder, and whatever the process was doing when it was killed follows from the files in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import platform
import secrets
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from tacit.choreo import At, State, decode, encode, entries_of
from tacit.consortium.account import sign_finished, sign_stopped
from tacit.consortium.answers import Ended, Finished, Start, check_sites
from tacit.consortium.control import Control
from tacit.consortium.ended_jobs import EndedJobs
from tacit.consortium.folder import Folder, Used, folder_of, folders, state_of
from tacit.consortium.grounds import SOLE, Grounds, grounds_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.journal import Journal, Opening, purge
from tacit.consortium.members import Members
from tacit.consortium.states import BEFORE_A_RUN, ENDINGS, OVER, JobState
from tacit.consortium.store import NAME
from tacit.crypto.agreement import public_key
from tacit.crypto.entropy import RootEntropy
from tacit.crypto.envelope import Sealer
from tacit.data.part import Part
from tacit.errors import LocalError, PeerError, TacitError
from tacit.registry import INPUTS, play
from tacit.runtimes.apart import StoppedError
from tacit.runtimes.durable import Durable, Limits
from tacit.runtimes.nats import Broker, InterruptedRunError, NatsCourier

log = logging.getLogger("tacit")
STATE = "state"  # the key under which the codec's bytes stand in a public result
AGAIN, LONGEST = 5.0, 300.0  # seconds after which a letter that nobody answered is sent again: the first time, and at most
LONGEST_TICK = 0.025  # seconds after which a tick begins with no further job
ASIDE = "aside"  # the folder of jobs whose files cannot be read
RESTS: dict[JobState, float] = {  # seconds between looks at a job that waits for a letter, which ends the wait, or for people
    "checked": AGAIN / 5, "pending": 0.5, "accepted": AGAIN / 5, "stopped": AGAIN / 5, "through": AGAIN / 5, "refused": AGAIN / 5,
}  # fmt: skip


class Site:
    """One member at work, with its folder and its connection."""

    def __init__(self, identity: Identity, members: Members, state: Path, broker: Broker, *, timeout: float, admin: bool) -> None:
        self.name = identity.name
        self.identity, self.members, self.state, self.broker = identity, members, state, broker
        self.timeout, self.admin = timeout, admin
        self.control = Control(broker, identity, members, self.hear, admin=admin)
        self.live: dict[str, dict[str, Any]] = {}
        self.started = datetime.now(UTC)
        self.told_at = 0.0  # when the status file was written
        self._playing: dict[str, threading.Thread] = {}
        self._sent: dict[str, dict[tuple[str, ...], tuple[float, float]]] = {}  # by job and letter: when, and how long until the next
        self._said: dict[str, set[str]] = {}  # complaints about each job that are in the log
        self._never_ran = EndedJobs()
        self._rests: dict[str, float] = {}  # until when there is nothing to do for a job, unless a letter about it comes
        threadpool_limits(1)  # the same model bit for bit, and a core for every party that shares this machine

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """A control letter arrived."""
        raise NotImplementedError

    def drive(self, folder: Folder, job: Job, state: JobState) -> None:
        """Do whatever is due for a job that is not over."""
        raise NotImplementedError

    def conclude(self, folder: Folder, job: Job, ended: Ended) -> bool:
        """Do whatever is due for a job that ended without a result; whether nothing is left to do."""
        raise NotImplementedError

    def give_up(self, folder: Folder, job: Job, error: Exception) -> None:
        """Refuse or stop a job over which this site stumbles; of the error others hear its class, since its text can contain data."""
        raise NotImplementedError

    @property
    def ended_jobs(self) -> int:
        """How many jobs of one submitter that ended before they started are kept."""
        raise NotImplementedError

    def in_force(self) -> dict[str, str]:
        """What a person should know of the rules that this site goes by now."""
        return {}

    # Jobs

    def tick(self) -> None:
        """Look after every job by itself: whatever happens to one, the others go on.

        Those that waited longest come first. What a tick has no time for is left to the next one, so that thousands of jobs that nobody
        needs, as after a start, keep no other work waiting.
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
        """Something was heard about a job: look after it at once, before others."""
        self._rests[job] = -1.0

    def _look(self, folder: Folder) -> None:
        try:
            job, state, ended = folder.job, state_of(folder), folder.ended
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
                self.account(folder, job)
            self.drive(folder, job, state)

    def _lapse(self, folder: Folder, job: Job, state: JobState) -> Ended | None:
        """Whether a job ends by itself: its time is over, or a site of it is no valid member any more."""
        if state == "expired":
            stop = folder.finished
            before = () if stop is None else (f"{stop.party} stopped at {stop.place} ({stop.kind})",)
            told = f"the job expired at {job.expires:%Y-%m-%d %H:%M} UTC: submit it again"
            return Ended.of(job.id, "expired", self.name, told, *before)
        lost = None
        if state in BEFORE_A_RUN:
            try:
                check_sites(job, self.members)
            except PeerError as error:
                lost = str(error)
        elif state not in OVER:
            revoked = [p for p in job.roster.parties if (m := self.members.find(p)) is None or m.revoked]
            lost = f"the key of {', '.join(revoked)} was revoked by the registrar" if revoked else None
        return None if lost is None else Ended.of(job.id, "refused", self.name, lost)

    def end(self, folder: Folder, ended: Ended) -> None:
        """End a job here for good; a run that goes on is stopped."""
        if state_of(folder) == "finished" or folder.ended is not None:
            return
        folder.ended = ended
        self.halt(folder.id, (ended.by, "the job", ended.kind))
        self.forget(folder.id)
        self.wake(folder.id)
        log.info("job %s is %s by %s: %s", folder.id[:8], ended.kind, ended.by, "; ".join(ended.reasons) or "no reason was given")

    def _wind_up(self, folder: Folder, job: Job, ended: Ended) -> None:
        """Let its run end, see that its audit is there, and remove its secrets."""
        if self._is_playing(folder.id):
            self.halt(folder.id, (ended.by, "the job", ended.kind))
            return
        self.account(folder, job)
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
        for kept in (self._rests, self._sent, self._said):
            kept.pop(folder.id, None)

    def _stumble(self, folder: Folder, job: Job, error: Exception) -> None:
        try:
            self.give_up(folder, job, error)
        except (TacitError, OSError) as trouble:
            self.complain(folder.id, trouble)

    def _set_aside(self, folder: Folder, error: Exception) -> None:
        """A job whose files cannot be read is moved out of the way, where people find it."""
        aside = self.state / ASIDE / folder.id
        with contextlib.suppress(OSError):  # it was purged meanwhile, or lies there already
            aside.parent.mkdir(exist_ok=True)
            folder.path.replace(aside)
            log.error("job %s cannot be read (%s) and is set aside: see %s", folder.id[:8], type(error).__name__, aside)

    def complain(self, job: str, error: Exception) -> None:
        """One line, and not again at every look as long as nothing changes: a disk may be full for hours."""
        said = self._said.setdefault(job, set())
        if str(error) not in said:
            log.error("job %s: %s", job[:8], error, exc_info=None if isinstance(error, TacitError) else error)
        said.add(str(error))

    def open_of(self, submitter: str) -> int:
        """How many jobs of a submitter are not over here."""
        found = 0
        for folder in folders(self.state, lambda job: self._due(job) != math.inf and self._never_ran.submitter(job) is None):
            with contextlib.suppress(TacitError, OSError):
                found += folder.job.submitter == submitter and state_of(folder) not in OVER
        return found

    def part(self, job: Job) -> Part | None:
        """This site's data for a job; None at a coordinator that holds none."""
        del job
        return None

    def ids(self, job: Job) -> Any:
        """Digests of the ids of this site's records; only a party has any."""
        raise LocalError(f"{self.name} holds no records, and so no ids: correct the job {job.id}")

    def used(self, job: Job, own: Mapping[str, Any]) -> Used | None:
        """What to remember of its table beside its own part of a result; nothing at a coordinator that holds none."""
        del job, own
        return None

    def remembered(self, folder: Folder, job: Job) -> Part | None:
        """This site's data for a run, with what earlier runs opened of it; only a party keeps that."""
        del folder
        return self.part(job)

    def keep(self, job: Job, value: Any) -> None:
        """Write down what a run has opened; only a party has something to keep."""

    def admit(self, job: Job) -> None:
        """Whether what the job builds on may still be used; a party also enters it in its register, before anything leaves."""
        grounds_of(self.state, job, datetime.now(UTC))

    def release(self, job: Job) -> None:
        """A run is over here; only a party holds on to something while it goes on."""

    # Runs

    def take_up(self, folder: Folder) -> None:
        """Play a job that everybody accepted, unless it is being played."""
        if not self._is_playing(folder.id):
            self._playing[folder.id] = threading.Thread(target=self._play, args=(folder,), name=f"run-{folder.id[:8]}", daemon=True)
            self._playing[folder.id].start()

    def _is_playing(self, job: str) -> bool:
        thread = self._playing.get(job)
        return thread is not None and thread.is_alive()

    def halt(self, job: str, cause: tuple[str, str, str]) -> None:
        """End a run here because another site is out of it."""
        live = self.live.get(job)
        if live is not None:
            live["courier"].fail(StoppedError(*cause))

    def account(self, folder: Folder, job: Job) -> None:
        """See that an attempt that stopped has its audit, also if this process was killed before it could write one."""
        start = folder.start
        finished = folder.finished
        through = finished is not None and finished.ok and start is not None and finished.attempt >= start.attempt
        if start is not None and not through and not folder.audited(start.attempt):
            sign_stopped(folder, job, self.identity, start.attempt)

    def retire(self, folder: Folder) -> None:
        """The job is over: nobody needs this site's journal any more, and its secrets go first."""
        if (folder.path / "journal" / NAME).exists():
            purge(folder.path / "journal")

    def key_of(self, folder: Folder, job: Job) -> bytes:
        """The public half of this site's key for the run; the private one is made once and never leaves its journal."""
        with self._journal(folder, job) as journal:
            return public_key(journal.secret("run key", lambda: secrets.token_bytes(32)))

    def _journal(self, folder: Folder, job: Job) -> Journal:
        opening = Opening(
            run=job.id,
            party=self.name,
            roster=hashlib.sha256(repr([(r.name, p) for r, p in job.roster.roles.items()]).encode()).hexdigest(),
            protocol=job.protocol,
            source=job.source,
            data=_digest(self.part(job), grounds_of(self.state, job)),
            versions={"tacit": version("tacit"), "numpy": np.__version__, "python": platform.python_version()},
            blas_threads=max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1),
            job=job.digest,
        )
        return Journal.open(folder.path / "journal", opening, self.identity.storage_key())

    def _play(self, folder: Folder) -> None:
        start = folder.start
        if start is not None:
            with contextlib.suppress(InterruptedRunError):  # the files say what is due at the next start
                folder.finished = self._outcome(folder, folder.job, start)
                self.wake(folder.id)
                self.control.due.set()

    def _outcome(self, folder: Folder, job: Job, start: Start) -> Finished:
        began, known = time.monotonic(), {"job": job.id, "site": self.name, "attempt": start.attempt}
        self.live.pop(job.id, None)  # of an earlier attempt
        try:
            self.admit(job)
            run = self._run(folder, job, start)
        except InterruptedRunError:
            raise
        except Exception as error:  # noqa: BLE001 - however a run ends, it is written down
            self._stopped(folder, job, start, error)
            return msgspec.convert({**known, "ok": False, **self._cause(job, error)}, Finished)
        finally:
            self.release(job)
        seconds = time.monotonic() - began
        log.info("job %s finished: %d rounds, %d bytes, %.1f s", job.id[:8], run.ledger.rounds, run.ledger.bytes, seconds)
        figures = {"rounds": run.ledger.rounds, "bytes": run.ledger.bytes, "seconds": seconds}
        return msgspec.convert({**known, "ok": True, **figures}, Finished)

    def _stopped(self, folder: Folder, job: Job, start: Start, error: Exception) -> None:
        """Say so in the log, and sign what the run had moved until then; an audit that fails now is written at the next look."""
        told = isinstance(error, TacitError)
        log.error("job %s stopped: %s", job.id[:8], error if told else type(error).__name__, exc_info=None if told else error)
        live = self.live.get(job.id)
        try:
            sign_stopped(folder, job, self.identity, start.attempt, None if live is None else live["run"].ledger.rows)
        except Exception as trouble:  # noqa: BLE001 - how the run came out must be told in any case
            self.complain(job.id, trouble)

    def _cause(self, job: Job, error: BaseException) -> dict[str, str]:
        """Who stopped, where, and the class of its error: its text can contain data."""
        live = self.live.get(job.id)
        place = live["run"].place if live else "the start"
        party, place, kind = error.cause if isinstance(error, StoppedError) else (self.name, place, type(error).__name__)
        return {"party": party, "place": place, "kind": kind}

    def _run(self, folder: Folder, job: Job, start: Start) -> Durable:
        keys = start.keys(job, self.members)
        with self._journal(folder, job) as journal:
            private = journal.secret("run key", lambda: secrets.token_bytes(32))
            root = journal.secret("root key", lambda: secrets.token_bytes(32))
            context = f"{job.digest} {job.id}".encode()
            sealer = Sealer(self.name, private, keys, context)
            tokens = {p: self.members.token(p) for p in job.roster.parties}
            with NatsCourier(self.broker, self.name, job.id, tokens, sealer, journal, admin=self.admin, attempt=start.attempt) as courier:
                run = Durable(
                    self.name, job.roster, journal, courier, job=job.digest.encode(), limits=Limits(silence=self.timeout),
                    entropy=RootEntropy([self.name], context, {self.name: root}), progress=self._progress(job),
                    keep=partial(self.keep, job),
                )  # fmt: skip
                self.live[job.id] = {"run": run, "courier": courier, "began": time.time()}
                try:
                    own, public = split(play(run, job.protocol, self._inputs(folder, job), job.arguments), self.name)
                    folder.keep_result(own, {**public, "history": run.history}, self.used(job, own))
                except InterruptedRunError:
                    raise
                except BaseException as error:
                    courier.stop(tuple(self._cause(job, error).values()))
                    raise
                courier.finish(self.timeout)
        sign_finished(folder, job, self.identity, run.ledger.rows)
        return run

    def _inputs(self, folder: Folder, job: Job) -> dict[str, tuple[Any, Mapping[str, Any]]]:
        """What this site brings along."""
        grounds = grounds_of(self.state, job)
        found: dict[str, tuple[Any, Mapping[str, Any]]] = {}
        for name, brought in INPUTS[job.protocol].items():
            mine = self.name in job.roster[brought.role]
            found[name] = (brought.role, {self.name: self._brought(folder, job, name, brought.source, grounds)} if mine else {})
        return found

    def _brought(self, folder: Folder, job: Job, name: str, source: str, grounds: Grounds) -> Any:
        if source == "earlier":
            return grounds.share(name)
        return self.ids(job) if source == "ids" else self.remembered(folder, job)

    def _progress(self, job: Job) -> Callable[[str, int, int], None]:
        def told(place: str, done: int, total: int) -> None:
            self.live[job.id] |= {"place": place, "done": done, "total": total}

        return told

    # The broker

    def prepared(self) -> bool:
        """Whether every member of the newest list has somewhere to get its letters; only a coordinator can see to it."""
        return self.done(self.control.prepare())

    def done(self, work: Coroutine[Any, Any, None]) -> bool:
        """Whether the server did it; one that is away is asked again at the next look."""
        try:
            self.broker.call(work)
        except InterruptedRunError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the network does, there is another look
            log.debug("the broker: %s", error)
            return False
        return True

    # Letters

    def tell(self, receiver: str, kind: str, body: bytes, job: str, *about: str) -> None:
        """Send a letter about a job, and again only after a while, which doubles."""
        letters, key, now = self._sent.setdefault(job, {}), (receiver, kind, *about), time.monotonic()
        sent, pause = letters.get(key, (now, 0.0))
        if now - sent >= pause:
            letters[key] = (now, min(max(AGAIN, 2 * pause), LONGEST))
            self.control.send(receiver, kind, body)

    def _next_letter(self, job: str) -> float:
        """When the next letter about a job is due again."""
        return min((sent + pause for sent, pause in self._sent.get(job, {}).values()), default=0.0)

    def hurry(self, receiver: str, kind: str, job: str, *about: str) -> None:
        """Let the next letter of this kind go at once."""
        self._sent.get(job, {}).pop((receiver, kind, *about), None)

    def forget(self, job: str) -> None:
        """Keep no more account of what was told about a job that has ended."""
        self._sent.pop(job, None)


def known(state: Path, job: str) -> Folder | None:
    """Return the folder of a job that a letter names, if there is such a job here."""
    folder = folder_of(state, job)
    return None if folder.proposal is None else folder


def split(result: Any, me: str) -> tuple[Any, dict[str, Any]]:
    """A protocol's result as this site's own entries and what is public."""
    parts = result if isinstance(result, dict) else {SOLE: result}
    own = {name: entries_of(value)[me] for name, value in parts.items() if isinstance(value, At) and me in entries_of(value)}
    public = {name: _jsonable(value) for name, value in parts.items() if not isinstance(value, At)}
    return own, public


def _jsonable(value: Any) -> Any:
    if isinstance(value, State):
        return {STATE: b64encode(encode(value).join()).decode()}
    return value.tolist() if isinstance(value, np.ndarray) else msgspec.to_builtins(value)


def of_json(value: Any) -> Any:
    """What `split` made fit for JSON, as it was."""
    if isinstance(value, dict) and value.keys() == {STATE}:
        return decode(b64decode(value[STATE]))
    return tuple(value) if isinstance(value, list) else value


def _digest(part: Part | None, grounds: Grounds) -> str:
    """Of all that a run begins with here: its table, and what earlier jobs left."""
    h = hashlib.sha256()
    if part is not None:
        h.update(encode((part.X, part.weight, part.features, part.owned)).join())
        h.update(repr(None if part.y is None else part.y.tolist()).encode())
    for digest in grounds.digests():
        h.update(digest)
    return h.hexdigest()
