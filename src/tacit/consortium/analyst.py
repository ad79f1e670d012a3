"""An analyst: whose key may submit and nothing else. Its federation looks like a simulated one to every estimator."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import numpy as np

from tacit.choreo import Ledger, Opened, Row
from tacit.consortium.answers import Proposal, Withdrawal, check_sites, one_line
from tacit.consortium.asking import TOLD, Asking
from tacit.consortium.chain import Entry, Reading
from tacit.consortium.clearing import News
from tacit.consortium.control import Control, settled
from tacit.consortium.entrance import identity_of
from tacit.consortium.folder import folder_of
from tacit.consortium.job import Job
from tacit.consortium.preflight import concerns
from tacit.consortium.proposal import propose
from tacit.consortium.questions import told
from tacit.consortium.settings import AnalystSettings, Study
from tacit.consortium.site import of_json
from tacit.consortium.states import OVER
from tacit.data import Federation
from tacit.data.part import part_of
from tacit.errors import LocalError, PeerError
from tacit.models.gram import StoredModel
from tacit.protocols.align import ENOUGH
from tacit.registry import INPUTS, Inputs, Outcome, kind_of
from tacit.runtimes.dialling import UnreachableError
from tacit.runtimes.nats import Broker

T = TypeVar("T")
ASK = 0.2
UNKNOWN = 60.0  # seconds that a coordinator may know nothing of a job: one killed over a proposal gets it again (control.AGAIN)
REACH = 10.0  # seconds until the server is said to be out of reach
LARGEST_FILE = 1 << 30  # bytes of a file of a result


@dataclass(frozen=True)
class Result:
    """What is public of a finished job, and its ledger as the coordinator wrote it."""

    public: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ledger: tuple[Row, ...] = ()


class Analyst:
    """A connection from which jobs are submitted and followed."""

    def __init__(self, settings: AnalystSettings) -> None:
        self.settings = settings
        self.identity, self.members = identity_of(settings)
        self.silent: set[str] = set()  # coordinators that did not answer the last question

    def __enter__(self) -> Self:
        tls, proxy = self.identity.tls(self.members.authority), self.settings.proxy
        self.broker = _patiently(lambda: Broker(self.settings.servers, tls, self.members.token(self.identity.name), proxy=proxy))
        self._control = Control(self.broker, self.identity, self.members, self._hear)
        self._asking = Asking(self._control.say)
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
        """What the coordinator has to tell of this submitter's jobs whose ids begin with `job`; one that says nothing is in `silent`."""
        told = self._asking.ask(coordinator, "ask", job.encode(), patience)
        if told is None:
            self.silent.add(coordinator)
            if not self.broker.client.is_connected:
                raise self._unreachable("cannot be reached")
            return []
        self.silent.discard(coordinator)
        return _decoded(coordinator, told, list[News])

    def result(self, job: Job) -> Result:
        """Fetch the result of a finished job from its coordinator, and keep what is public: later jobs may build on it."""
        public = _decoded(job.roles.coordinator, self._file(job, "public.json"), dict[str, Any])
        reading = Reading()
        for line in self._file(job, "audit.jsonl").splitlines(keepends=True):
            if not reading.take(line):
                break
        if reading.breaks or reading.begin is None or reading.begin.run != job.id:
            raise PeerError(f"{job.roles.coordinator} sent a ledger that is not of job {job.id}, or was altered: ask who runs it")
        folder_of(self.settings.state, job.id).keep_public(public)
        return Result(public, tuple(map(_row, reading.entries)))

    def _file(self, job: Job, name: str) -> bytes:
        """A file of a result, piece by piece; a server or a coordinator that is away is waited for."""
        coordinator, data, size, heard = job.roles.coordinator, bytearray(), -1, time.monotonic()
        while size != len(data):
            told = self._asking.ask(coordinator, "read", msgspec.msgpack.encode((job.id, name, len(data))), REACH)
            if told is not None:
                size, piece = _piece(coordinator, told)
                data += piece
                if len(data) > size:
                    raise _malformed(coordinator)
                heard = time.monotonic()
            elif time.monotonic() - heard > UNKNOWN and self.broker.client.is_connected:
                raise PeerError(f"{coordinator} does not send the result of job {job.id}: see its log, then tacit resume {job.id[:8]}")
        return bytes(data)

    def follow(self, job: Job, *, after: int = 0) -> Iterator[News]:
        """News of a job until it is finished, refused or stopped; `after` is an attempt whose stop is known already.

        A server or a coordinator that is away is waited for, as every site of the run does: the run goes on once it is back.
        """
        coordinator, heard = job.roles.coordinator, time.monotonic()
        while True:
            found: list[News] = []
            with contextlib.suppress(UnreachableError):
                found = self.ask(coordinator, job.id)
            for news in found:
                yield news
                if news.state in OVER or (news.state == "stopped" and news.attempt > after):
                    return
            heard = time.monotonic() if found or coordinator in self.silent else heard  # who is away may come back and know it
            if time.monotonic() - heard > UNKNOWN:
                raise PeerError(f"{coordinator} knows nothing of job {job.id}: it refused or purged it, see its log, then submit it again")
            time.sleep(ASK)

    def _hear(self, sender: str, kind: str, body: bytes) -> None:
        if kind == TOLD:
            self._asking.hear(sender, body)

    def _tell(self, coordinator: str, kind: str, body: bytes) -> None:
        sending = self._control.send(coordinator, kind, body)
        if not settled(sending, REACH):
            sending.cancel()
            raise self._unreachable("does not take letters")

    def _unreachable(self, what: str) -> UnreachableError:
        trouble = f" ({self.broker.trouble})" if self.broker.trouble else ""
        return UnreachableError(f"{', '.join(self.settings.servers)} {what}{trouble}: is the coordinator running?")


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
            allow_two_parties=study.allow_two_parties, accept_risk=study.accept_risk, builds_on=tuple(dict.fromkeys(earlier)),
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
            return outcome_of(job, news, analyst.result(job))

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


def outcome_of(job: Job, news: News, result: Result) -> Outcome:
    """What an estimator gets back; shares of the model stay with the parties, under the job's id."""
    public = {name: of_json(v) for name, v in result.public.items() if name != "history"}
    opens = [line.removeprefix("opens ").split(": ", 2) for line in job.disclosure.splitlines() if line.startswith("opens ")]
    ledger = Ledger(list(result.ledger), [Opened(*opened) for opened in opens])
    history = list(result.public.get("history", ()))
    answered = {"told": told(job)} if kind_of(job.protocol) == "answers" else {}
    return Outcome({**public, "stored": job.id, **answered}, ledger, history, news.seconds, {})


def _row(entry: Entry) -> Row:
    return Row(**msgspec.structs.asdict(entry))


def _decoded(coordinator: str, told: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(told, type=kind)
    except (msgspec.DecodeError, RecursionError):
        raise _malformed(coordinator) from None


def _piece(coordinator: str, told: bytes) -> tuple[int, bytes]:
    """Size of a file, and a piece of it that is not empty before the end."""
    try:
        size, piece = msgspec.msgpack.decode(told, type=tuple[int, bytes])
    except msgspec.DecodeError:
        raise _malformed(coordinator) from None
    if not (len(piece) <= size <= LARGEST_FILE and (piece or not size)):
        raise _malformed(coordinator)
    return size, piece


def _malformed(coordinator: str) -> PeerError:
    return PeerError(f"{coordinator} gave an answer that cannot be read: do both sites run the same version?")
