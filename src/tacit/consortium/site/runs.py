"""The runs of a site: it plays the jobs that everybody accepted, and writes down what comes of them.

A run begins with what this site brings: its data, and what earlier jobs left here. Only a party has data, and overrides
the methods that say so.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import platform
import secrets
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from tacit.choreo import Run, encode
from tacit.choreo.progress import Progress
from tacit.consortium.audit.account import sign_finished, sign_stopped
from tacit.consortium.jobs.absence import EVERYBODY, Casting, Casts, casting_of, check_absence
from tacit.consortium.jobs.answers import Finished, Start, one_line
from tacit.consortium.jobs.comparing import compare, compares_records
from tacit.consortium.jobs.folder import Expected, Folder
from tacit.consortium.jobs.grounds import Grounds, grounds_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import blas_threads
from tacit.consortium.jobs.public_result import PublicResult, split
from tacit.consortium.jobs.rehearsal import steps_of
from tacit.consortium.journal.record import Journal, Opening, purge
from tacit.consortium.journal.store import NAME
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.site.settings import DaemonSettings
from tacit.consortium.site.tables import Tables
from tacit.crypto.pads.agreement import public_key
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.pads.envelope import Sealer
from tacit.errors import LocalError, TacitError, UndisclosedError, is_told
from tacit.federation.part import Part
from tacit.protocols.learners.rounding import TOLD
from tacit.registry import PROTOCOLS, play
from tacit.runtimes.apart import StoppedError
from tacit.runtimes.nats.courier import NatsCourier
from tacit.runtimes.nats.durable import OF_RECORDS, Durable, Limits
from tacit.runtimes.nats.network import Broker, InterruptedRunError
from tacit.study.gate import withhold

log = logging.getLogger("tacit")
Brought = tuple[Any, Mapping[str, Any]]  # a role, and what this site brings for it


class Runs:
    """One member's runs, each in a thread of its own."""

    admin = False  # whether it makes the streams of runs, as a coordinator does
    tables: Tables  # a coordinator offers none

    def __init__(self, settings: DaemonSettings, identity: Identity, members: Members, broker: Broker) -> None:
        self.name, self.state, self.timeout = identity.name, settings.state, settings.party_timeout
        self.identity, self.members, self.broker = identity, members, broker
        self.live: dict[str, dict[str, Any]] = {}
        self._playing: dict[str, threading.Thread] = {}
        self._said: dict[str, set[str]] = {}  # complaints about each job that are in the log
        threadpool_limits(1)  # the same model bit for bit, and a core for every party that shares this machine

    def after_run(self, job: str) -> None:
        """Go on with a job whose run has ended here."""
        raise NotImplementedError

    def complain(self, job: str, error: Exception) -> None:
        """Write an error to the log, and not again at every look: a disk may be full for hours."""
        said = self._said.setdefault(job, set())
        if str(error) not in said:
            log.error("job %s: %s", job[:8], error, exc_info=None if isinstance(error, TacitError) else error)
        said.add(str(error))

    # What this site brings, and keeps

    def admit(self, job: Job, casting: Casting = EVERYBODY) -> None:
        """Raise if what the job builds on may no longer be used; a party also enters the job in its register."""
        del casting
        grounds_of(self.state, job, datetime.now(UTC))

    def settle(self, job: Job, mu2: float) -> None:
        """Write down how much the models of a job told; only a party has a register."""

    def rules(self) -> dict[str, Any]:
        """Return how much this site lets a model give away, where it is not as usual; only a party has a policy."""
        return {}

    def find_summed(self, folder: Folder) -> Casts:
        """Return without whom the runs of a job were in which something of records has moved here."""
        job = folder.job
        return [absent for absent in dict.fromkeys(folder.casts) if self._has_summed(folder, job.without(absent))]

    def _has_summed(self, folder: Folder, job: Job) -> bool:
        if not (folder.journal_of(job) / NAME).exists():
            return False
        with self._journal(folder, job) as journal:
            return journal.memo(OF_RECORDS) is not None

    def release(self, job: Job) -> None:
        """Let go of what a run held: the next one goes by the files as they are then."""
        self.tables.unpin(job)

    def expect(self, folder: Folder, job: Job) -> None:
        """Write down how many rounds each step of a job will take, for who waits; its rehearsal is over."""
        with contextlib.suppress(TacitError):  # what cannot be rehearsed is refused, and not here
            steps = steps_of(job.protocol, job.arguments, job.roster, job.records)
            folder.expected = Expected(rounds=tuple(cost.rounds for cost in steps.values()))

    # Playing

    def take_up(self, folder: Folder) -> None:
        """Play a job that everybody accepted, unless it is being played."""
        if not self.is_playing(folder.id):
            thread = threading.Thread(target=self._play, args=(folder,), name=f"run-{folder.id[:8]}", daemon=True)
            self._playing[folder.id] = thread
            thread.start()

    def is_playing(self, job: str) -> bool:
        """Return whether the run of a job goes on here."""
        thread = self._playing.get(job)
        return thread is not None and thread.is_alive()

    def halt(self, job: str, cause: tuple[str, str, str]) -> None:
        """End a run here because another site is out of it."""
        live = self.live.get(job)
        if live is not None:
            live["courier"].fail(StoppedError(*cause))

    def account(self, folder: Folder) -> None:
        """See that an attempt that stopped has its audit, also if this process was killed before it could write one."""
        start, finished = folder.start, folder.finished
        if start is None or folder.has_audit(start.attempt):
            return
        if finished is None or not finished.ok or finished.attempt < start.attempt:
            sign_stopped(folder, start, self.identity)

    def retire(self, folder: Folder) -> None:
        """Remove the journal of a job that is over, its secrets first: nobody needs it any more."""
        for journal in folder.journals:
            purge(journal)

    def key_of(self, folder: Folder) -> bytes:
        """Return the public half of this site's key for the run; the private one never leaves its journal."""
        return public_key(self._run_key(folder))

    def _run_key(self, folder: Folder) -> bytes:
        """Return this site's private key, which its answer is about, for whichever run of the job."""
        with self._journal(folder, folder.job) as journal:
            return _secret(journal, "run key")

    def _journal(self, folder: Folder, job: Job) -> Journal:
        opening = Opening(
            run=folder.run_of(job),
            party=self.name,
            roster=hashlib.sha256(repr([(r.name, p) for r, p in job.roster.roles.items()]).encode()).hexdigest(),
            protocol=job.protocol,
            source=job.source,
            data=self._digest(job),
            versions={"tacit": version("tacit"), "numpy": np.__version__, "python": platform.python_version()},
            blas_threads=blas_threads(),
            job=job.digest,
        )
        return Journal.open(folder.journal_of(job), opening, self.identity.storage_key())

    def _digest(self, job: Job) -> str:
        """Return a digest of all that a run begins with here: records, those held out, ids, and what earlier jobs left.

        Each stands as a digest of its own, so that nothing can move from one to the next unseen.
        """
        parts = (self.tables.part(job), self.tables.part(job, held_out=True))
        found = [_digest_of(part) for part in parts if part is not None]
        found.append(hashlib.sha256(repr(self.tables.written_ids(job)).encode()).digest())
        found += grounds_of(self.state, job).digests()
        return hashlib.sha256(b"".join(found)).hexdigest()

    def _play(self, folder: Folder) -> None:
        start, finished = folder.start, folder.finished
        # who asked for it may have looked before the attempt ended
        if start is not None and (finished is None or finished.attempt < start.attempt):
            with contextlib.suppress(InterruptedRunError):  # the files say what is due at the next start
                folder.finished = self._outcome(folder, folder.job, start)
                self.after_run(folder.id)

    def _outcome(self, folder: Folder, job: Job, start: Start) -> Finished:
        """Play a run to its end, and return how it came out, however that was."""
        began, known = time.monotonic(), {"job": job.id, "site": self.name, "attempt": start.attempt}
        self.live.pop(job.id, None)  # of an earlier attempt
        try:
            self.tables.pin(job)
            ledger = self._run(folder, start).ledger
        except InterruptedRunError:
            raise
        except Exception as error:  # noqa: BLE001 - however a run ends, it is written down
            self._record_stop(folder, job, start, error)
            return msgspec.convert({**known, "ok": False, **self._cause(job, error)}, Finished)
        finally:
            self.release(job)
        seconds = time.monotonic() - began
        log.info("job %s finished: %d rounds, %d bytes, %.1f s", job.id[:8], ledger.rounds, ledger.bytes, seconds)
        figures = {"rounds": ledger.rounds, "bytes": ledger.bytes, "seconds": seconds}
        return msgspec.convert({**known, "ok": True, **figures}, Finished)

    def _record_stop(self, folder: Folder, job: Job, start: Start, error: Exception) -> None:
        """Log an error that stopped a run, and sign what the run had moved; a failed audit is tried again later."""
        if isinstance(error, TacitError):
            log.error("job %s stopped: %s", job.id[:8], error)
        else:
            log.error("job %s stopped: %s", job.id[:8], type(error).__name__, exc_info=error)
        live = self.live.get(job.id)
        try:
            sign_stopped(folder, start, self.identity, None if live is None else live["run"].ledger.rows)
        except Exception as trouble:  # noqa: BLE001 - how the run came out must be told in any case
            self.complain(job.id, trouble)

    def _cause(self, job: Job, error: BaseException) -> dict[str, str]:
        """Return who stopped, where, and the class of its error: its text can contain data, unless it is public."""
        live = self.live.get(job.id)
        kind = self.public_text(job, error) or type(error).__name__
        own = (self.name, live["run"].place if live else "the start", kind)
        party, place, kind = error.cause if isinstance(error, StoppedError) else own
        return {"party": party, "place": place, "kind": kind}

    def public_text(self, job: Job, error: BaseException) -> str:
        """Return what an error says that the text of a protocol raised: it knows published values only; else nothing.

        Everybody plays the same text on the same values, so that all sites raise it alike.
        """
        live = self.live.get(job.id)
        public = isinstance(error, LocalError | UndisclosedError) and live is not None and live["run"].in_text
        text = one_line(str(error)) if public else ""
        return text if is_told(text) else ""

    def _run(self, folder: Folder, start: Start) -> Durable:
        alone = not start.absent and len(folder.casts) == 1  # no other run of this job began here
        summed = [] if alone else self.find_summed(folder)
        job = check_absence(folder.job, start, summed, self.name)
        private, run_id = self._run_key(folder), folder.run_of(job)
        with self._journal(folder, job) as journal:  # raises unless the data is what the checks saw
            context = f"{job.digest} {job.id}".encode()  # of this run: without some sites the digest is another
            sealer = Sealer(self.name, private, start.keys(folder.job, self.members), context)
            kept = {self.name: self.tables.register.memory.key} if self.name in job.parties else {}
            root = RootEntropy([self.name], context, {self.name: _secret(journal, "root key")}, lasting=kept)
            tokens = {p: self.members.token(p) for p in job.roster.parties}
            with NatsCourier(
                self.broker, self.name, run_id, tokens, sealer, journal, admin=self.admin, attempt=start.attempt
            ) as courier:
                run = Durable(
                    self.name,
                    folder.job.roster.without(start.absent),
                    journal,
                    courier,
                    job=job.digest.encode(),
                    entropy=root,
                    limits=Limits(silence=self.timeout),
                    progress=partial(self._progress, job),
                    disclosure=job.disclosure,
                )
                planned = sum((folder.expected or Expected()).rounds) or (job.cost.rounds if job.cost else 0)
                self.live[job.id] = {"run": run, "courier": courier, "began": time.time(), "planned": planned}
                if start.absent:
                    run.note(missing=", ".join(start.absent))
                try:
                    self._compare_and_admit(run, job, casting_of(folder.job, start, folder.casts, summed))
                    own, public = split(play(run, job.protocol, self._inputs(job), job.arguments), self.name)
                    used = self.tables.describe_use(job, own, public)
                    kept_back = withhold(public)
                    sent = None if kept_back is None else PublicResult.of(kept_back)
                    folder.keep_result(own, PublicResult.of(public, run.history), used, sent)
                    self.settle(job, sum(float(note[TOLD]) ** 2 for note in run.history if TOLD in note))
                except InterruptedRunError:
                    raise
                except BaseException as error:
                    courier.stop(tuple(self._cause(job, error).values()))
                    raise
                courier.finish(self.timeout)
        sign_finished(folder, start, self.identity, run.ledger.rows)
        return run

    def _compare_and_admit(self, run: Run, job: Job, casting: Casting) -> None:
        """Compare records where that is due, and let the job be admitted before anything else is opened."""
        mine = compares_records(job) and self.name in job.parties
        compare(run, job, {self.name: self.tables.list_digest(job)} if mine else {})
        self.admit(job, casting)

    def _inputs(self, job: Job) -> dict[str, Brought]:
        """Return what this site brings along, by input; nothing where another role brings it."""
        grounds = grounds_of(self.state, job)
        found: dict[str, Brought] = {}
        for name, brought in PROTOCOLS[job.protocol].brings.items():
            mine = self.name in job.roster[brought.role]
            own = {self.name: self._bring(job, name, brought.source, grounds)} if mine else {}
            found[name] = (brought.role, own)
        return found

    def _bring(self, job: Job, name: str, source: str, grounds: Grounds) -> Any:
        if source == "earlier":
            return grounds.share(name)
        if source == "held out":
            return self.tables.part(job, held_out=True)
        if source == "policy":
            return self.rules()
        return self.tables.ids(job) if source == "ids" else self.tables.part(job)

    def _progress(self, job: Job, progress: Progress) -> None:
        self.live[job.id]["progress"] = progress


def figures_of(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far a run is: nothing, of one that is not played here."""
    if not live:
        return {}
    told: Progress = live.get("progress", Progress())
    ledger = live["run"].ledger
    return {
        "step": told.step,
        "total": live["planned"],
        "gap": told.gap,
        "rounds": ledger.rounds,
        "bytes": ledger.bytes,
        "seconds": time.time() - live["began"],
    }


def _secret(journal: Journal, name: str) -> bytes:
    """Return 32 random bytes that a journal keeps, made at the first time."""
    return journal.secret(name, lambda: secrets.token_bytes(32))


def _digest_of(part: Part) -> bytes:
    """Return a digest of a party's records: cells, labels, weights, and the texts and dates that cells stand for."""
    h = hashlib.sha256(encode((part.X, part.weight, part.features, part.owned)).join())
    labels = None if part.y is None else part.y.tolist()
    h.update(repr((labels, part.texts, part.dates)).encode())  # a frame has no room for many texts
    return h.digest()
