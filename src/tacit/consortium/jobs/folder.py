"""A job's folder at a site: everything that must survive the process, each file written whole.

proposal.json   the job and its submitter's signature        start.json     all answers, when the run may begin
checked.json    what this site's own checks found            cleared.json   all sites' checks, when none failed
answer.json     what this site said                          finished.json  how it came out, or why it stopped
ended.json      why the job is over without a result         expected.json  how many rounds each step will take
journal/        the run                                      result.bin     this site's share of the result
journal-RUN/    the run without some sites                   absences/      each word that the job goes on without some
audit.jsonl     the ledger as a signed chain                 public.bin     what everybody knows of it
audit-N.jsonl   the same, of attempt N, which stopped
past.bin        what earlier runs had opened of its records  used.json      which columns and records it used here
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from tacit.choreo import decode, decode_as, encode
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
    read,
)
from tacit.consortium.jobs.job import Job, is_id
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.jobs.states import CONSENT_NEEDED, JobState
from tacit.consortium.journal.record import purge
from tacit.consortium.journal.store import NAME
from tacit.consortium.site.settings import Label
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

T = TypeVar("T", bound=msgspec.Struct)
S = TypeVar("S", bound=Struct)
PUBLIC = "public.bin"  # the file of what everybody knows of a result
HELD = "held"  # there while people have not released the result
SENT = "sent.bin"  # and of what the analyst is sent of it, where that is less
PURGED = ".purged-"  # how the names of folders begin that are being removed
LATEST = ("ended.json", "finished.json", "answer.json", "proposal.json")  # what a job is as old as


class Used(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job used of a site's table, for later jobs and for its people; it never leaves the site.

    features: its columns, in order.
    ids: a digest of the ids of all records of the table, in order; empty if it has none.
    records: of answers, the records' ids, or else their numbers in the file, in the order of the run.
    classes, sigmoids: of answers, what everybody knows of the model, which may be purged before they are read.
    """

    features: tuple[str, ...] = ()
    ids: str = ""
    records: tuple[str, ...] = ()
    classes: tuple[Label, ...] = ()
    sigmoids: tuple[tuple[float, ...], ...] | None = None


class Expected(Struct, frozen=True, kw_only=True):
    """How many rounds each step of a job is expected to take; none of a job without steps."""

    rounds: tuple[int, ...] = ()


class Kept(Generic[S]):
    """A struct that a folder keeps in a file named after it: None until it is there; of some the first one stays."""

    def __init__(self, kind: type[S], *, first_stays: bool = False) -> None:
        self._kind, self._first_stays = kind, first_stays

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"{name}.json"

    def __get__(self, folder: Folder, owner: type | None = None) -> S | None:
        file = folder.path / self._name
        return read(file.read_bytes(), self._kind) if file.exists() else None

    def __set__(self, folder: Folder, value: S) -> None:
        if not (self._first_stays and (folder.path / self._name).exists()):
            folder.write(self._name, value.dump())


class Folder:
    """One job at one site."""

    proposal = Kept(Proposal, first_stays=True)  # as it was signed
    checked = Kept(Checked)  # what this site's own checks found
    cleared = Kept(Cleared)  # every site's checks, once all have passed
    answer = Kept(Answer)  # what this site said
    expected = Kept(Expected)  # how long it will take, as far as that is known before
    start = Kept(Start)  # all answers, once everybody accepted
    finished = Kept(Finished)  # how the run came out here
    ended = Kept(Ended, first_stays=True)  # why the job is over without a result

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        """The job's id."""
        return self.path.name

    def propose(self, proposal: Proposal) -> None:
        """Keep a proposal; the first one stays."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.proposal = proposal

    @property
    def job(self) -> Job:
        """The job of the proposal."""
        proposal = self.proposal
        if proposal is None:
            raise LocalError(f"{self.path} holds no proposal: remove it, and ask the author to submit the job again")
        return Job.from_bytes(proposal.job.encode())

    def heard(self, name: str, kind: type[T]) -> dict[str, T]:
        """Return what other sites said, by site."""
        return {file.stem: read(file.read_bytes(), kind) for file in sorted((self.path / name).glob("*.json"))}

    def hear(self, name: str, site: str, data: bytes) -> None:
        """Keep what another site said."""
        (self.path / name).mkdir(parents=True, exist_ok=True)
        self.write(f"{name}/{site}.json", data)

    def keep_result(
        self, own: Any, public: PublicResult, used: Used | None = None, sent: PublicResult | None = None
    ) -> None:
        """Keep this site's share and what it used of its table, for itself only, and what everybody knows.

        sent: what the analyst may have of that, if not all of it.
        """
        if sent is not None:
            self.write(SENT, encode(sent).join())
        write_whole(self.path / "result.bin", encode(own).join(), "the result", private=True)
        if used is not None:
            write_whole(self.path / "used.json", msgspec.json.encode(used), "what was used", private=True)
        self.keep_public(public)

    def keep_public(self, public: PublicResult) -> None:
        """Keep what everybody knows; at an analyst there is nothing else."""
        self.write(PUBLIC, encode(public).join())

    def run_of(self, job: Job) -> str:
        """Return the id of a run of this job: another one for every set of sites that it is played by."""
        return self.id if job.digest == self.job.digest else job.digest[: len(self.id)]

    def journal_of(self, job: Job) -> Path:
        """Return the folder of the journal of a run: of one without some sites it is another one."""
        return self.path / self._of_run("journal", job)

    @property
    def journals(self) -> list[Path]:
        """The journals of all runs of this job."""
        return sorted(file.parent for file in self.path.glob(f"journal*/{NAME}"))

    @property
    def casts(self) -> list[tuple[str, ...]]:
        """Without whom runs of this job began here, as far as this site knows: the first one without nobody."""
        return [(), *(absence.absent for absence in self.heard("absences", Absence).values())]

    def _of_run(self, name: str, job: Job) -> str:
        run = self.run_of(job)
        return name if run == self.id else f"{name}-{run}"

    @property
    def used(self) -> Used:
        """What the job used of this site's table."""
        file = self.path / "used.json"
        return read(file.read_bytes(), Used) if file.exists() else Used()

    @property
    def held(self) -> bool:
        """Whether what the run made waits until people here release it."""
        return (self.path / HELD).exists()

    @held.setter
    def held(self, now: bool) -> None:
        if now:
            self.write(HELD, b"")
        else:
            (self.path / HELD).unlink(missing_ok=True)

    @property
    def result(self) -> Any:
        """What the run left at this site, such as its share of a model."""
        return decode((self.path / "result.bin").read_bytes())

    @property
    def public(self) -> PublicResult | None:
        """What everybody knows of the result; None before it is here."""
        file = self.path / PUBLIC
        return decode_as(PublicResult, file.read_bytes()) if file.exists() else None

    @property
    def since(self) -> datetime:
        """When it came to where it is."""
        for name in LATEST:
            with contextlib.suppress(OSError):
                return datetime.fromtimestamp((self.path / name).stat().st_mtime, UTC)
        return datetime.now(UTC)

    def may_keep(self, now: datetime) -> bool:
        """Return whether what it left may still be kept, and used."""
        return now <= self.since + timedelta(days=self.job.retention_days)

    def audit_of(self, attempt: int) -> Path:
        """Return the file for the audit of an attempt that stopped, the next one if that attempt has stopped before."""
        taken = sorted(self.path.glob(f"audit-{attempt}*.jsonl"))
        return self.path / (f"audit-{attempt}.{len(taken) + 1}.jsonl" if taken else f"audit-{attempt}.jsonl")

    def has_audit(self, attempt: int) -> bool:
        """Return whether an attempt that stopped has left its audit."""
        return any(self.path.glob(f"audit-{attempt}*.jsonl"))

    @property
    def audits(self) -> list[Path]:
        """All audits of this job: of attempts that stopped, and of the one that finished."""
        return sorted(self.path.glob("audit*.jsonl"))

    def discard(self) -> None:
        """Take it out of the sight of the site's process, which must not meet half a folder; then remove all of it."""
        aside = self.path.parent.parent / f"{PURGED}{self.id}"
        self.path.replace(aside)
        Folder(aside).purge()

    def purge(self) -> None:
        """Remove all of it, the journal's secrets first."""
        for journal in self.journals:
            purge(journal)
        shutil.rmtree(self.path)

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the folder whole."""
        write_whole(self.path / name, data, f"{name} of job {self.id}")


def state_of(folder: Folder) -> JobState:
    """Return how far a job is here (`states`), as this site's files and its clock have it."""
    state = _state(folder)
    return "expired" if state in CONSENT_NEEDED and folder.job.expired(datetime.now(UTC)) else state


def _state(folder: Folder) -> JobState:
    if folder.heard("closed", Finished):
        return "finished"
    ended, answer, start = folder.ended, folder.answer, folder.start
    if ended is not None:
        return ended.kind
    if start is not None:
        return _state_of_run(folder.finished, start)
    if answer is not None:
        return "accepted" if answer.accepts else "refused"
    return _state_before_answer(folder)


def _state_of_run(finished: Finished | None, start: Start) -> JobState:
    if finished is None or finished.attempt < start.attempt:
        return "running"
    return "through" if finished.ok else "stopped"


def _state_before_answer(folder: Folder) -> JobState:
    if folder.cleared is not None:
        return "pending"
    return "proposed" if folder.checked is None else "checked"


def folders(
    state: Path, wanted: Callable[[str], bool] = lambda _: True, order: Callable[[str], Any] = str
) -> Iterator[Folder]:
    """Yield all jobs of a site whose ids are `wanted`, ordered by what `order` makes of their ids.

    The others cost next to nothing.
    """
    jobs = state / "jobs"
    for name in sorted(filter(wanted, (path.name for path in jobs.iterdir()) if jobs.is_dir() else ()), key=order):
        if (jobs / name / "proposal.json").is_file():
            yield Folder(jobs / name)


def folder_of(state: Path, job: str) -> Folder:
    """Return the folder of a job, which need not exist; refuse an id of another site that could lead elsewhere."""
    if not is_id(job):
        raise PeerError("a letter names a job by something that is not an id: do both sites run the same version?")
    return Folder(state / "jobs" / job)
