"""An analyst: whose key may submit and nothing else. Its federation looks like a simulated one to every estimator."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from tacit.choreo import Ledger, Opened, Row
from tacit.consortium.answers import Ended, Proposal, Withdrawal, check_sites, one_line, read
from tacit.consortium.clearing import News
from tacit.consortium.control import Control, settled
from tacit.consortium.entrance import identity_of
from tacit.consortium.folder import folder_of
from tacit.consortium.job import Job
from tacit.consortium.preflight import concerns
from tacit.consortium.proposal import propose
from tacit.consortium.questions import told
from tacit.consortium.settings import AnalystSettings, Study
from tacit.consortium.site import known, of_json
from tacit.consortium.states import OVER
from tacit.data import Federation
from tacit.data.part import part_of
from tacit.errors import LocalError, PeerError
from tacit.models.gram import StoredModel
from tacit.protocols.align import ENOUGH
from tacit.registry import INPUTS, Inputs, Outcome, kind_of
from tacit.runtimes.dialling import UnreachableError
from tacit.runtimes.nats import Broker

ASK = 0.2
QUIET = 0.7  # seconds without another job's news that end a list
UNKNOWN = 60.0  # seconds that a coordinator may know nothing of a job: one killed over a proposal gets it again (control.AGAIN)
REACH = 10.0  # seconds until the server is said to be out of reach


class Analyst:
    """A connection from which jobs are submitted and followed."""

    def __init__(self, settings: AnalystSettings) -> None:
        self.settings = settings
        self.identity, self.members = identity_of(settings)
        self._news: queue.SimpleQueue[tuple[str, News | str]] = queue.SimpleQueue()  # by coordinator; a text: no news of such jobs
        self._asked: set[str] = set()
        self.silent: set[str] = set()  # coordinators that did not answer the last question

    def __enter__(self) -> Self:
        tls, proxy = self.identity.tls(self.members.authority), self.settings.proxy
        self.broker = _patiently(lambda: Broker(self.settings.servers, tls, self.members.token(self.identity.name), proxy=proxy))
        self._control = Control(self.broker, self.identity, self.members, self._hear)
        self._control.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._control.__exit__(*error)
        self.broker.__exit__(*error)

    def submit(self, job: Job) -> None:
        """Propose a job to its coordinator, and remember it here; one between sites that are no members is not sent."""
        check_sites(job, self.members)
        proposal = Proposal.of(job, self.identity)
        folder_of(self.settings.state, job.id).propose(proposal)
        self._tell(job.roles.coordinator, "propose", proposal.dump())

    def withdraw(self, job: Job, reason: str = "") -> None:
        """Take a job of one's own back: it ends at every site, also in the middle of its run."""
        self._tell(job.roles.coordinator, "withdraw", Withdrawal(job=job.id, reason=one_line(reason)).dump())

    def resume(self, job: str, coordinator: str) -> None:
        """Have a stopped job taken up again."""
        self._tell(coordinator, "resume", job.encode())

    def ask(self, coordinator: str, job: str = "", patience: float = 5.0) -> list[News]:
        """What the coordinator has to tell of this submitter's jobs; of one job it is told at once."""
        self.silent.add(coordinator)
        self._tell(coordinator, "ask", job.encode())
        found: dict[str, News] = {}
        end = time.monotonic() + patience
        while time.monotonic() < end and job not in found:
            try:
                sender, news = self._news.get(timeout=QUIET if found else max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            self.silent.discard(sender)
            if isinstance(news, News):
                found[news.job] = news
            elif (sender, news) == (coordinator, job):  # not a late answer to an earlier question
                break
        return [news for news in found.values() if news.job.startswith(job)]

    def follow(self, job: Job, *, after: int = 0) -> Iterator[News]:
        """News of a job until it is finished, refused or stopped; `after` is an attempt whose stop is known already.

        A server or a coordinator that is away is waited for, as every site of the run does: the run goes on once it is back.
        """
        coordinator, heard = job.roles.coordinator, time.monotonic()
        folder = folder_of(self.settings.state, job.id)
        while True:
            if (ended := folder.ended) is not None:
                yield News(job=job.id, state=ended.kind, reasons=ended.reasons)
                return
            found: list[News] = []
            with contextlib.suppress(UnreachableError):
                found = self.ask(coordinator, job.id)
            for news in found:
                if news.state == "finished" and news.public is not None:  # what later jobs may build on
                    folder_of(self.settings.state, job.id).keep_public(news.public)
                yield news
                if news.state in OVER or (news.state == "stopped" and news.attempt > after):
                    return
            heard = time.monotonic() if found or coordinator in self.silent else heard  # who is away may come back and know it
            if time.monotonic() - heard > UNKNOWN:
                raise PeerError(f"{coordinator} knows nothing of job {job.id}: it refused or purged it, see its log, then submit it again")
            time.sleep(ASK)

    def _hear(self, sender: str, kind: str, body: bytes) -> None:
        if kind == "ended":  # of a job that may have been submitted by an earlier process
            self._ended(sender, read(body, Ended))
        elif sender not in self._asked:  # nobody else's news count
            return
        elif kind == "news":
            self._news.put((sender, read(body, News)))
        elif kind == "no news":
            self._news.put((sender, body.decode()))

    def _ended(self, sender: str, ended: Ended) -> None:
        """Keep why a job of one's own is over: a coordinator that refused it keeps nothing of it."""
        ended.check()
        folder = known(self.settings.state, ended.job)
        if folder is not None and folder.job.roles.coordinator == sender:
            folder.ended = ended

    def _tell(self, coordinator: str, kind: str, body: bytes) -> None:
        self._asked.add(coordinator)
        sending = self._control.send(coordinator, kind, body)
        if not settled(sending, REACH):
            sending.cancel()
            trouble = f" ({self.broker.trouble})" if self.broker.trouble else ""
            raise UnreachableError(f"{', '.join(self.settings.servers)} does not take letters{trouble}: is the coordinator running?")


def _patiently(make: Callable[[], Broker]) -> Broker:
    """A server that is being started may take a moment."""
    end = time.monotonic() + REACH
    while True:
        try:
            return make().__enter__()
        except UnreachableError:
            if time.monotonic() > end:
                raise
            time.sleep(ASK)


class Connected(Federation):
    """A federation whose data stays where it is: running a protocol means proposing it."""

    analyst: Analyst
    study: Study

    @property
    def simulated(self) -> bool:
        """Its parties are elsewhere."""
        return False

    def execute(self, protocol: str, inputs: Inputs, **params: Any) -> Outcome:
        """Propose, wait for everybody's consent, and come back with what is public; inputs that are kept elsewhere are built on."""
        study = self.study
        earlier = [value.job for _, entries in inputs.values() for value in entries.values() if isinstance(value, StoredModel)]
        earlier += study.builds_on if any(brought.source == "table" for brought in INPUTS[protocol].values()) else ()
        job = propose(
            protocol, params, partition=self.partition, parties=study.parties, coordinator=study.coordinator, dataset=study.dataset,
            submitter=self.analyst.identity.name, purpose=study.purpose, legal_basis=study.legal_basis, asker=study.asker,
            labeller=study.labeller, columns=study.columns, rows=study.rows, retention_days=study.retention_days,
            allow_two_parties=study.allow_two_parties, builds_on=tuple(dict.fromkeys(earlier)),
        )  # fmt: skip
        self.warnings = concerns(job)
        with self.analyst as analyst:
            analyst.submit(job)
            news = None
            for news in analyst.follow(job):
                if self.progress:
                    self.progress(job.protocol, news.done, news.total)
        if news is None or news.state != "finished":
            raise PeerError(f"job {job.id} was {news.state if news else 'lost'}: {'; '.join(news.reasons) if news else ''}")
        return outcome_of(job, news)

    def on(self, dataset: str, *, rows: Mapping[str, int] | None = None) -> Connected:
        """The same sites with another dataset of theirs, such as new records; `rows` says how many each has."""
        return self._with(None, dataset=dataset, rows=dict(rows or {}), builds_on=())

    def aligned(self, *, min_records: int = ENOUGH) -> Connected:
        """The records that all parties have, in one order, by a job of its own: later jobs build on it."""
        found = self.execute("align", {}, min_records=min_records)
        return self._with(found, builds_on=(found.result["stored"],))

    def _with(self, alignment: Outcome | None, **changes: Any) -> Connected:
        made = dataclasses.replace(self, alignment=alignment)
        made.analyst, made.study = self.analyst, msgspec.structs.replace(self.study, **changes)
        return made


def connect(path: str | Path) -> Connected:
    """The federation of an analyst's configuration."""
    settings = AnalystSettings.from_toml(path)
    if settings.study is None:
        raise LocalError(f"{path}: [study] is missing: say there between whom to train, on which dataset, and why")
    study = settings.study
    names = {p: study.columns.get(p, (f"{p}.*",)) for p in study.parties}
    features = tuple(dict.fromkeys(name for columns in names.values() for name in columns))  # the same ones in a horizontal split
    index = {p: np.array([features.index(name) for name in columns]) for p, columns in names.items()}
    parts = {p: part_of(np.empty((0, len(columns))), None, None, columns) for p, columns in names.items()}
    rows = {p: np.empty(0, dtype=np.int64) for p in parts}
    made = Connected(study.partition, parts, rows, index, features, bool(study.columns), study.labeller, study.coordinator, runtime="nats")
    made.analyst, made.study = Analyst(settings), study
    return made


def outcome_of(job: Job, news: News) -> Outcome:
    """What an estimator gets back; shares of the model stay with the parties, under the job's id."""
    public = {name: of_json(v) for name, v in (news.public or {}).items() if name != "history"}
    ledger = Ledger([Row(*_tupled(row)) for row in news.ledger], [Opened(*opened) for opened in news.opens])
    history = list((news.public or {}).get("history", ()))
    answered = {"told": told(job)} if kind_of(job.protocol) == "answers" else {}
    return Outcome({**public, "stored": job.id, **answered}, ledger, history, news.seconds, {})


def _tupled(row: tuple[Any, ...]) -> list[Any]:
    return [tuple(tuple(shape) for shape in value) if isinstance(value, (list, tuple)) else value for value in row]
