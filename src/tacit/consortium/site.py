"""A site: what a party and a coordinator have in common.

Each job has a folder, and whatever the process was doing when it was killed follows from the files in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
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
from tacit.consortium.answers import Finished, Start
from tacit.consortium.audit import Chain, canonical
from tacit.consortium.control import Control
from tacit.consortium.folder import Folder, Used, folders
from tacit.consortium.grounds import SOLE, Grounds, grounds_of
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.journal import Journal, Opening, purge
from tacit.consortium.members import Members
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
        threadpool_limits(1)  # the same model bit for bit, and a core for every party that shares this machine

    def hear(self, sender: str, kind: str, body: bytes) -> None:
        """A control letter arrived."""
        raise NotImplementedError

    def drive(self, folder: Folder) -> None:
        """Do whatever the files of a job say is due."""
        raise NotImplementedError

    def tick(self) -> None:
        """Look after every job."""
        for folder in folders(self.state):
            try:
                self.drive(folder)
                self._said.pop(folder.id, None)
            except (LocalError, PeerError) as error:
                self.complain(folder.id, error)

    def complain(self, job: str, error: Exception) -> None:
        """One line, and not again at every look as long as nothing changes: a disk may be full for hours."""
        said = self._said.setdefault(job, set())
        if str(error) not in said:
            log.error("job %s: %s", job[:8], error, exc_info=None if isinstance(error, TacitError) else error)
        said.add(str(error))

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

    # Runs

    def take_up(self, folder: Folder) -> None:
        """Play a job that everybody accepted, unless it is being played."""
        thread = self._playing.get(folder.id)
        if thread is None or not thread.is_alive():
            self._playing[folder.id] = threading.Thread(target=self._play, args=(folder,), name=f"run-{folder.id[:8]}", daemon=True)
            self._playing[folder.id].start()

    def halt(self, job: str, cause: tuple[str, str, str]) -> None:
        """End a run here because another site is out of it."""
        live = self.live.get(job)
        if live is not None:
            live["courier"].fail(StoppedError(*cause))

    def retire(self, folder: Folder) -> None:
        """Everybody is through: nobody needs this site's journal any more, and its secrets go first."""
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
                self.control.due.set()

    def _outcome(self, folder: Folder, job: Job, start: Start) -> Finished:
        began, known = time.monotonic(), {"job": job.id, "site": self.name, "attempt": start.attempt}
        try:
            self.admit(job)
            run = self._run(folder, job, start)
        except InterruptedRunError:
            raise
        except (LocalError, PeerError) as error:
            log.error("job %s stopped: %s", job.id[:8], error)  # noqa: TRY400 - one line says it
            return msgspec.convert({**known, "ok": False, **self._cause(job, error)}, Finished)
        except Exception as error:
            log.exception("job %s stopped", job.id[:8])
            return msgspec.convert({**known, "ok": False, **self._cause(job, error)}, Finished)
        seconds = time.monotonic() - began
        log.info("job %s finished: %d rounds, %d bytes, %.1f s", job.id[:8], run.ledger.rounds, run.ledger.bytes, seconds)
        figures = {"rounds": run.ledger.rounds, "bytes": run.ledger.bytes, "seconds": seconds}
        return msgspec.convert({**known, "ok": True, **figures}, Finished)

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
                except InterruptedRunError:
                    raise
                except BaseException as error:
                    courier.stop(tuple(self._cause(job, error).values()))
                    raise
                folder.keep_result(own, {**public, "history": run.history}, self.used(job, own))
                courier.finish(self.timeout)
        self._audit(folder, job, run)
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

    def _audit(self, folder: Folder, job: Job, run: Durable) -> None:
        with Chain.open(folder.path / "audit.jsonl", run=job.id, party=self.name, about={"job": job.digest}) as chain:
            for row in run.ledger:
                chain.append(canonical(row, row.digest))
            chain.sync()
            chain.sign(self.identity.private.sign)

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

    def hurry(self, receiver: str, kind: str, job: str, *about: str) -> None:
        """Let the next letter of this kind go at once."""
        self._sent.get(job, {}).pop((receiver, kind, *about), None)

    def forget(self, job: str) -> None:
        """Keep no more account of what was told about a job that has ended."""
        self._sent.pop(job, None)


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
