"""An analyst: whose key may submit and nothing else. Its federation looks like a simulated one to every estimator."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from tacit.base.release_between import USUALLY
from tacit.choreo import Coordinator, Holder, Ledger, Row, decode_as
from tacit.choreo.ledger import read_opened
from tacit.choreo.progress import Listener
from tacit.choreo.result import SOLE
from tacit.consortium.audit.chain import Reading
from tacit.consortium.broker.asking import TOLD, Asking
from tacit.consortium.broker.control import Control
from tacit.consortium.consent.register import ASKED_SAME, question_digest
from tacit.consortium.jobs.answers import Proposal, Withdrawal, check_sites, one_line
from tacit.consortium.jobs.folder import PUBLIC, Folder, folder_of
from tacit.consortium.jobs.grounds import sites_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.preview import Preview, make_preview, study_of, take_fitted
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.jobs.questions import known_job, readers_of
from tacit.consortium.jobs.states import OVER
from tacit.consortium.membership.members import identity_of
from tacit.consortium.site.common import find_folder
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.fitted import fit_from
from tacit.consortium.site.settings import AnalystSettings, Terms
from tacit.consortium.site.telling import describe_end, describe_remedy, leaving, progress_of
from tacit.errors import LocalError, PeerError
from tacit.federation import Federation
from tacit.federation.backend import Described
from tacit.metrics import evaluate
from tacit.models.handle import Answers
from tacit.pipeline import Pipeline
from tacit.progress import listen_to, watching
from tacit.protocols.align.alignment import ENOUGH
from tacit.registry import Outcome, kind_of, read_result
from tacit.request import Ids, Left, Records, Request
from tacit.runtimes.nats.dialling import UnreachableError
from tacit.runtimes.nats.network import Broker
from tacit.study.gate import choose_gate
from tacit.study.rehearsed_questions import OF_STUDY
from tacit.study.replay import Known, Replayed, pipeline_of
from tacit.study.steps import draw_seed
from tacit.study.study import federate

T = TypeVar("T")
ASK = 0.2
# seconds that a coordinator may know nothing of a job: one killed over a proposal gets it again (control.AGAIN)
UNKNOWN = 60.0
REACH = 10.0  # seconds until the server is said to be out of reach
LARGEST_FILE = 1 << 30  # bytes of a file of a result


@dataclass(frozen=True)
class Fetched:
    """What is public of a finished job, its ledger as the coordinator wrote it, and when it was proposed."""

    public: PublicResult = dataclasses.field(default_factory=lambda: PublicResult({}))
    ledger: tuple[Row, ...] = ()
    since: datetime | None = None


class Analyst:
    """A connection from which jobs are submitted and followed."""

    def __init__(self, settings: AnalystSettings) -> None:
        self.settings = settings
        self.identity, self.members = identity_of(settings)
        self.silent: set[str] = set()  # coordinators that did not answer the last question

    def __enter__(self) -> Self:
        tls, proxy = self.identity.tls(self.members.authority), self.settings.proxy
        token = self.members.token(self.identity.name)
        self.broker = _dial(lambda: Broker(self.settings.servers, tls, token, proxy=proxy))
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
        self._tell(job.coordinator, "propose", proposal.dump())

    def withdraw(self, job: Job, reason: str = "") -> None:
        """Take a job of one's own back: it ends at every site, also in the middle of its run."""
        self._tell(job.coordinator, "withdraw", Withdrawal(job=job.id, reason=one_line(reason)).dump())

    def resume(self, job: str, coordinator: str) -> None:
        """Have a stopped job taken up again."""
        self._tell(coordinator, "resume", job.encode())

    def take_up(self, job: Job) -> int:
        """Have a job taken up again if it stopped; return the attempt whose stop is known, 0 if it did not stop."""
        news = next(iter(self.ask(job.coordinator, job.id)), None)
        if news is None or news.state != "stopped":
            return 0
        self.resume(job.id, job.coordinator)
        return news.attempt

    def ask(self, coordinator: str, job: str = "", patience: float = 5.0) -> list[News]:
        """Return the news of this submitter's jobs whose ids begin with `job`; a silent coordinator is in `silent`."""
        told = self._asking.ask(coordinator, "ask", job.encode(), patience)
        if told is None:
            self.silent.add(coordinator)
            if not self.broker.client.is_connected:
                raise self._unreachable("cannot be reached")
            return []
        self.silent.discard(coordinator)
        with _reading(coordinator):
            return msgspec.json.decode(told, type=list[News])

    def result(self, job: Job) -> Fetched:
        """Fetch the result of a finished job from its coordinator, and keep what is public: later jobs build on it."""
        public = _read_public(job.coordinator, self._file(job, PUBLIC))
        reading = Reading.of_lines(self._file(job, "audit.jsonl").splitlines(keepends=True))
        if reading.breaks or reading.begin is None or reading.begin.run != job.id:
            fault = f"{job.coordinator} sent a ledger that is not of job {job.id}, or was altered"
            raise PeerError(f"{fault}: ask its people")
        folder = folder_of(self.settings.state, job.id)
        folder.keep_public(public)
        rows = tuple(Row.from_plain(msgspec.structs.astuple(entry)) for entry in reading.entries)
        return Fetched(public, rows, folder.since)

    def _file(self, job: Job, name: str) -> bytes:
        """Fetch a file of a result, piece by piece; a server or a coordinator that is away is waited for."""
        coordinator, data, size, heard = job.coordinator, bytearray(), -1, time.monotonic()
        while size != len(data):
            told = self._asking.ask(coordinator, "read", msgspec.msgpack.encode((job.id, name, len(data))), REACH)
            if told is not None:
                size, piece = _piece(coordinator, told)
                data += piece
                if len(data) > size:
                    raise _malformed(coordinator)
                heard = time.monotonic()
            elif time.monotonic() - heard > UNKNOWN and self.broker.client.is_connected:
                remedy = f"see its log, then tacit resume {job.id[:8]}"
                raise PeerError(f"{coordinator} does not send the result of job {job.id}: {remedy}")
        return bytes(data)

    def follow(self, job: Job, *, after: int = 0) -> Iterator[News]:
        """Yield news of a job until it is over or stopped; `after` is an attempt whose stop is known already.

        A server or a coordinator that is away is waited for, as every site of the run does: the run goes on once it is
        back.
        """
        coordinator, heard = job.coordinator, time.monotonic()
        while True:
            found: list[News] = []
            with contextlib.suppress(UnreachableError):
                found = self.ask(coordinator, job.id)
            for news in found:
                yield news
                if news.state in OVER or (news.state == "stopped" and news.attempt > after):
                    return
            if found or coordinator in self.silent:  # who is away may come back and know it
                heard = time.monotonic()
            if time.monotonic() - heard > UNKNOWN:
                unknown = f"{coordinator} knows nothing of job {job.id}"
                raise PeerError(f"{unknown}: it refused or purged it, see its log, then submit it again")
            time.sleep(ASK)

    def _hear(self, sender: str, kind: str, body: bytes) -> None:
        if kind == TOLD:
            self._asking.hear(sender, body)

    def _tell(self, coordinator: str, kind: str, body: bytes) -> None:
        sending = self._control.send(coordinator, kind, body)
        try:
            sending.result(timeout=REACH)
        except TimeoutError:
            sending.cancel()
            raise self._unreachable("does not take letters") from None

    def _unreachable(self, what: str) -> UnreachableError:
        trouble = f" ({self.broker.trouble})" if self.broker.trouble else ""
        return UnreachableError(f"{', '.join(self.settings.servers)} {what}{trouble}: is the coordinator running?")


def _dial(connect: Callable[[], Broker]) -> Broker:
    """Connect to a server, which may take a moment if it is being started."""
    end = time.monotonic() + REACH
    while True:
        try:
            return connect().__enter__()
        except UnreachableError:
            if time.monotonic() > end:
                raise
            time.sleep(ASK)


@dataclass(frozen=True, repr=False)
class Remote(Described):
    """Sites that an analyst is connected to: running a request means proposing a job to them."""

    analyst: Analyst
    study: Terms
    release: Mapping[str, Any] | bool | None = None

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Propose, wait for everybody's consent, and come back with what is public."""
        with watching("rehearsal"):
            job = self._job(federation, request)
        with self.analyst as analyst:
            analyst.submit(job)
            try:
                return await_outcome(analyst, job, federation.progress)
            except PeerError as refusal:
                same = find_same(analyst, job, str(refusal))
                if same is None:
                    raise
                return await_outcome(analyst, same, federation.progress)

    def rehearse(self, federation: Federation, model: Any) -> Preview:
        """Return what the job of a model would open and cost; it is made, and not proposed."""
        job = self._job(federation, self._ask(federation, model))
        asked = model, job.protocol, job.arguments, job.roster, job.records, concerns(job)
        return make_preview(*asked)

    def resume(self, federation: Federation, name: str) -> Any:
        """Take a job of this analyst up again, by the beginning of its id, and return the model that it makes."""
        job = known_job(self.analyst.settings.state, name).job
        with listen_to(job.protocol, federation.progress) as tell, self.analyst as analyst:
            done = await_outcome(analyst, job, tell, after=analyst.take_up(job))
        return fit_from(job, done)

    def fit(self, federation: Federation, model: T, here: Callable[[], T]) -> T:
        """Have the sites fit a model as one study, and take what they tell of it."""
        del here
        asked = self._ask(federation, model).with_params(seed=draw_seed())
        return take_fitted(model, pipeline_of(asked.params, federation.roster, federation.run(asked)))

    def _ask(self, federation: Federation, model: Any) -> Request:
        """Return the study of a model, with the release gate that it has."""
        asked = study_of(federation, model)
        steps = asked.params.get("steps", ())
        gate = choose_gate(self.release, steps, federation.partition, tuple(federation.parts))
        return asked if gate is None else asked.with_params(release=gate)

    def answer(self, federation: Federation, model: Any, here: Callable[[], Any]) -> Any:
        """Have the sites answer about their records; return where the answers are."""
        del here
        return ask_sites(self, federation, model)

    def score(self, federation: Federation, model: Any, here: Callable[[], float]) -> float:
        """Return the accuracy, or R^2, of a model on labelled records of the sites."""
        del here
        return evaluate(model, federation).score

    def to_judge(self, federation: Federation, model: Any, asked: Mapping[str, Any]) -> Federation:
        """Have the sites judge a model on their labelled records; return the federation that tells what they found."""
        return have_judged(self, federation, model, asked)

    def without_records(self) -> Described:
        """Return a backend that is connected to nobody: no copy of the federation carries the analyst's key."""
        return Described()

    def _job(self, federation: Federation, request: Request) -> Job:
        """Return the request as a job, which builds on what left its inputs, and aligned records on their alignment."""
        earlier = [str(each.of) for each in request.inputs.values() if isinstance(each, Left)]
        earlier += self.study.builds_on if any(isinstance(each, Records) for each in request.inputs.values()) else ()
        terms = msgspec.structs.asdict(self.study)
        terms |= {"partition": federation.partition, "builds_on": tuple(dict.fromkeys(earlier))}
        return propose(request.name, request.params, submitter=self.analyst.identity.name, **terms)


# Models that sites have fitted: each question is one job, which builds on the folder of the job that fitted the model


def ask_sites(remote: Remote, federation: Federation, model: Any) -> Answers:
    """Have the sites answer about their records by a model; return where the answers are."""
    folder = find_job(remote, federation, model)
    done = federation.run(question("study_answers", folder))
    return Answers(done.job, done.told)


def have_judged(remote: Remote, federation: Federation, model: Any, asked: Mapping[str, Any]) -> Federation:
    """Have the sites judge a model on their labelled records; return the federation that tells what they found."""
    folder = find_job(remote, federation, model)
    settings = {name: value for name, value in asked.items() if value is not None}
    done = federation.run(question("study_scores", folder, evaluate=settings))
    known = known_of(done)
    return federate(folder.job.roster, known.told, folder.job.partition, Replayed(known))


def question(protocol: str, folder: Folder, **more: Any) -> Request:
    """Return a question about the study of a job."""
    earlier = {"own": Left(Holder, folder.id), "site": Left(Coordinator, folder.id)}
    asked = {name: value for name, value in folder.job.arguments.items() if name in OF_STUDY}
    return Request(protocol, {"data": Records(), **earlier}, {**asked, **more})


def known_of(done: Outcome) -> Known:
    """Return what everybody knows of a job in the form of a study."""
    ledger, found = done.ledger, done.result
    return Known(found["told"], found["ended"], ledger.rows, ledger.opens, done.history, done.seconds, done.job)


def find_job(remote: Remote, federation: Federation, model: Any) -> Folder:
    """Return the folder of the job that fitted a model; refuse a model of nobody's, of a part, or of other sites."""
    last = best_of(model[-1] if isinstance(model, Pipeline) else model)
    job = str(getattr(last, "job_", "")).partition(".")[0]  # of a study, the number of the request follows
    if not job:
        raise LocalError(
            "the model was not fitted by a job of these sites: fit it over tacit.connect, then ask that model"
        )
    folder = known_job(remote.analyst.settings.state, job)
    if not isinstance(model, Pipeline) and len(folder.job.arguments.get("steps", ())) > 1:
        raise LocalError(
            "the model is one step of a study, and other steps prepare the records: ask the whole pipeline"
        )
    mine = {
        "parties": tuple(federation.parts),
        "coordinator": federation.coordinator,
        "partition": federation.partition,
    }
    if mine != sites_of(folder.job):
        between = f"{', '.join(folder.job.parties)}, coordinated by {folder.job.coordinator}"
        raise LocalError(f"the model was fitted between {between}: ask it between the same sites, in this order")
    return folder


def best_of(model: Any) -> Any:
    """Return the best estimator of a search, or the model itself."""
    return getattr(model, "best_estimator_", model)


class Connected(Federation):
    """A federation whose data stays at the sites of an analyst's study."""

    backend: Remote

    def rehearse(self, model: Any) -> Preview:
        """Return what the job of `model.fit` would open and cost; raise what would be refused as it is proposed."""
        return self.backend.rehearse(self, model)

    def resume(self, job: str) -> Any:
        """Return what `fit` would have returned: the model of a job of this analyst, once that has ended.

        A run that stopped is resumed. `job` is the id, or the beginning of it, as in "3fa2". The process that
        proposed it may be gone: a study comes back as a fitted `Pipeline`, a training as its estimator.
        """
        return self.backend.resume(self, job)

    def on(self, dataset: str, *, rows: Mapping[str, int] | None = None) -> Connected:
        """Return the same sites with another dataset of theirs, such as new records; `rows` says how many each has."""
        return self._with(None, dataset=dataset, rows=dict(rows or {}), builds_on=())

    def gated(self, *, twins: int = USUALLY) -> Connected:
        """Return the same sites with a release gate for which each trains so many twins (docs/release.md).

        `fit` has them attack the model before it is sent here. A model that gives away more than the policies of the
        sites allow stays with them, and `fit` raises `NotReleasedError`, whose `release` is the table.
        """
        return dataclasses.replace(self, backend=dataclasses.replace(self.backend, release={"twins": twins}))

    def ungated(self) -> Connected:
        """Return the same sites without the release gate that `fit` has by default, as their people are told."""
        return dataclasses.replace(self, backend=dataclasses.replace(self.backend, release=False))

    def aligned(self, *, min_records: int = ENOUGH) -> Connected:
        """Return the records that all parties have, in one order, by a job of its own: later jobs build on it."""
        found = self.run("align", {"ids": Ids()}, min_records=min_records)
        return self._with(found, builds_on=(found.job,))

    def _with(self, alignment: Outcome | None, **changes: Any) -> Connected:
        backend = dataclasses.replace(self.backend, study=msgspec.structs.replace(self.backend.study, **changes))
        return dataclasses.replace(self, alignment=alignment, backend=backend)


def connect(path: str | Path) -> Connected:
    """Return the federation of an analyst's configuration."""
    settings = AnalystSettings.from_toml(path)
    if settings.study is None:
        raise LocalError(f"{path}: [study] is missing: say there between whom to train, on which dataset, and why")
    study, backend = settings.study, Remote(Analyst(settings), settings.study)
    columns = {party: names for party, names in study.columns.items() if names != "all"}
    said: Any = {"coordinator": study.coordinator, "labeller": study.labeller}
    said |= {"partition": study.partition or "vertical"}
    return Connected.described(study.parties, columns=columns, backend=backend, **said)


def find_same(analyst: Analyst, job: Job, refusal: str) -> Job | None:
    """Return the earlier job that a site names in its refusal, if it was this analyst's and asked the same."""
    named = re.search(rf"job ([0-9a-f]{{32}}) {ASKED_SAME}", refusal)
    if named is None or (folder := find_folder(analyst.settings.state, named[1])) is None:
        return None
    return folder.job if question_digest(folder.job) == question_digest(job) else None


def await_outcome(analyst: Analyst, job: Job, tell: Listener | None, *, after: int = 0) -> Outcome:
    """Follow a job to its end, tell a listener how far it is, and return what is public of its outcome."""
    news, again = None, f"tacit.connect(...).resume({job.id[:8]!r})"
    with leaving(job, again):
        for news in analyst.follow(job, after=after):
            if tell is not None:
                tell(progress_of(news))
        if news is not None and news.state == "finished":
            return outcome_of(job, news, analyst.result(job))
    raise PeerError(f"{describe_end(job, news)}{describe_remedy(news, again)}")


def outcome_of(job: Job, news: News, result: Fetched) -> Outcome:
    """Return what an estimator gets back; shares of the model stay with the parties, under the job's id."""
    ledger = Ledger(list(result.ledger), read_opened(job.disclosure))
    told = readers_of(job) if kind_of(job.protocol) == "answers" else ()
    values = result.public.values
    with _reading(job.coordinator):
        found = values[SOLE] if values.keys() == {SOLE} else read_result(job.protocol, values)
    end = "" if result.since is None else f"{result.since + timedelta(days=job.retention_days):%Y-%m-%d}"
    seen = tuple(concerns(job))
    return Outcome(found, ledger, result.public.history, news.seconds, {}, seen, job.id, told, end)


def _read_public(coordinator: str, told: bytes) -> PublicResult:
    """Return what a coordinator says is public of a result, read to its last page."""
    with _reading(coordinator):
        found = decode_as(PublicResult, told, limit=LARGEST_FILE)
        _ = found.history
    return found


def _piece(coordinator: str, told: bytes) -> tuple[int, bytes]:
    """Return size of a file, and a piece of it that is not empty before the end."""
    with _reading(coordinator):
        size, piece = msgspec.msgpack.decode(told, type=tuple[int, bytes])
    if not (len(piece) <= size <= LARGEST_FILE and (piece or not size)):
        raise _malformed(coordinator)
    return size, piece


@contextlib.contextmanager
def _reading(coordinator: str) -> Iterator[None]:
    """Say of whom an answer is that cannot be read."""
    try:
        yield
    except (PeerError, msgspec.DecodeError, RecursionError):
        raise _malformed(coordinator) from None


def _malformed(coordinator: str) -> PeerError:
    return PeerError(f"{coordinator} gave an answer that cannot be read: do both sites run the same version?")
