"""A job's folder at a site: everything that must survive the process, each file written whole.

proposal.json   the job and its submitter's signature        start.json     all answers, when the run may begin
checked.json    what this site's own checks found            cleared.json   all sites' checks, when none failed
answer.json     what this site said                          finished.json  how it came out, or why it stopped
ended.json      why the job is over without a result
journal/        the run                                      result.bin     this site's share of the result
audit.jsonl     the ledger as a signed chain                 public.json    what everybody knows of it
audit-N.jsonl   the same, of attempt N, which stopped
past.bin        what earlier runs had opened of its records  used.json      which columns and records it used here
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tacit.choreo import decode, encode
from tacit.consortium.answers import Answer, Checked, Cleared, Ended, Finished, Proposal, Start, read
from tacit.consortium.job import Job, Label, is_id
from tacit.consortium.journal import purge
from tacit.consortium.states import CONSENT_NEEDED, JobState
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

T = TypeVar("T", bound=msgspec.Struct)
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


class Folder:
    """One job at one site."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        """The job's id."""
        return self.path.name

    def propose(self, proposal: Proposal) -> None:
        """Keep a proposal; the first one stays."""
        self.path.mkdir(parents=True, exist_ok=True)
        if self.proposal is None:
            self._write("proposal.json", proposal.dump())

    @property
    def proposal(self) -> Proposal | None:
        """As it was signed."""
        return self._read("proposal.json", Proposal)

    @property
    def job(self) -> Job:
        """The job."""
        proposal = self.proposal
        if proposal is None:
            raise LocalError(f"{self.path} holds no proposal: remove the folder, and ask the author to submit the job again")
        return Job.from_bytes(proposal.job.encode())

    @property
    def checked(self) -> Checked | None:
        """What this site's own checks found."""
        return self._read("checked.json", Checked)

    @checked.setter
    def checked(self, checked: Checked) -> None:
        self._write("checked.json", checked.dump())

    @property
    def cleared(self) -> Cleared | None:
        """Every site's checks, once all have passed."""
        return self._read("cleared.json", Cleared)

    @cleared.setter
    def cleared(self, cleared: Cleared) -> None:
        self._write("cleared.json", cleared.dump())

    @property
    def ended(self) -> Ended | None:
        """Why the job is over without a result; the first reason stays."""
        return self._read("ended.json", Ended)

    @ended.setter
    def ended(self, ended: Ended) -> None:
        if self.ended is None:
            self._write("ended.json", ended.dump())

    @property
    def answer(self) -> Answer | None:
        """What this site said."""
        return self._read("answer.json", Answer)

    @answer.setter
    def answer(self, answer: Answer) -> None:
        self._write("answer.json", answer.dump())

    @property
    def start(self) -> Start | None:
        """All answers, once everybody accepted."""
        return self._read("start.json", Start)

    @start.setter
    def start(self, start: Start) -> None:
        self._write("start.json", start.dump())

    @property
    def finished(self) -> Finished | None:
        """How the run came out here."""
        return self._read("finished.json", Finished)

    @finished.setter
    def finished(self, finished: Finished) -> None:
        self._write("finished.json", finished.dump())

    def heard(self, name: str, kind: type[T]) -> dict[str, T]:
        """What other sites said, by site."""
        found = {f.stem: self._read(f"{name}/{f.name}", kind) for f in sorted((self.path / name).glob("*.json"))}
        return {site: value for site, value in found.items() if value is not None}

    def hear(self, name: str, site: str, data: bytes) -> None:
        """Keep what another site said."""
        (self.path / name).mkdir(parents=True, exist_ok=True)
        self._write(f"{name}/{site}.json", data)

    def keep_result(self, own: Any, public: dict[str, Any], used: Used | None = None) -> None:
        """This site's share and what it used of its table, for itself only, and what everybody knows."""
        write_whole(self.path / "result.bin", encode(own).join(), "the result", private=True)
        if used is not None:
            write_whole(self.path / "used.json", msgspec.json.encode(used), "what was used", private=True)
        self.keep_public(public)

    def keep_public(self, public: dict[str, Any]) -> None:
        """What everybody knows; at an analyst there is nothing else."""
        self._write("public.json", msgspec.json.encode(public))

    @property
    def past(self) -> Any:
        """What earlier runs had opened of this site's records when this one began; None before that."""
        file = self.path / "past.bin"
        return decode(file.read_bytes()) if file.exists() else None

    @past.setter
    def past(self, past: Any) -> None:
        write_whole(self.path / "past.bin", encode(past).join(), "what was opened before", private=True)

    @property
    def used(self) -> Used:
        """What the job used of this site's table."""
        return self._read("used.json", Used) or Used()

    @property
    def result(self) -> Any:
        """This site's share."""
        return decode((self.path / "result.bin").read_bytes())

    @property
    def public(self) -> dict[str, Any] | None:
        """What everybody knows of the result."""
        file = self.path / "public.json"
        return dict(msgspec.json.decode(file.read_bytes())) if file.exists() else None

    @property
    def since(self) -> datetime:
        """When it came to where it is."""
        for name in LATEST:
            with contextlib.suppress(OSError):
                return datetime.fromtimestamp((self.path / name).stat().st_mtime, UTC)
        return datetime.now(UTC)

    def retained(self, now: datetime) -> bool:
        """Whether what it left may still be kept, and used."""
        return now <= self.since + timedelta(days=self.job.retention_days)

    def audit_of(self, attempt: int) -> Path:
        """The file for the audit of an attempt that stopped: its own, or the next one if that attempt has stopped before."""
        taken = sorted(self.path.glob(f"audit-{attempt}*.jsonl"))
        return self.path / (f"audit-{attempt}.{len(taken) + 1}.jsonl" if taken else f"audit-{attempt}.jsonl")

    def audited(self, attempt: int) -> bool:
        """Whether an attempt that stopped has left its audit."""
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
        if (self.path / "journal" / "journal.sqlite").exists():
            purge(self.path / "journal")
        shutil.rmtree(self.path)

    def _write(self, name: str, data: bytes) -> None:
        write_whole(self.path / name, data, f"{name} of job {self.id}")

    def _read(self, name: str, kind: type[T]) -> T | None:
        file = self.path / name
        return read(file.read_bytes(), kind) if file.exists() else None


def state_of(folder: Folder) -> JobState:
    """How far a job is here (`states`), as this site's files and its clock have it."""
    state = _state(folder)
    return "expired" if state in CONSENT_NEEDED and folder.job.expired(datetime.now(UTC)) else state


def _state(folder: Folder) -> JobState:
    if folder.heard("closed", Finished):
        return "finished"
    ended, answer, start = folder.ended, folder.answer, folder.start
    if ended is not None:
        return ended.kind
    if start is not None:
        return _running(folder.finished, start)
    if answer is not None:
        return "accepted" if answer.accepts else "refused"
    return _unanswered(folder)


def _running(finished: Finished | None, start: Start) -> JobState:
    if finished is None or finished.attempt < start.attempt:
        return "running"
    return "through" if finished.ok else "stopped"


def _unanswered(folder: Folder) -> JobState:
    if folder.cleared is not None:
        return "pending"
    return "proposed" if folder.checked is None else "checked"


def folders(state: Path, wanted: Callable[[str], bool] = lambda _: True, order: Callable[[str], Any] = str) -> Iterator[Folder]:
    """All jobs of a site whose ids are `wanted`, ordered by what `order` makes of their ids; the others cost next to nothing."""
    jobs = state / "jobs"
    for name in sorted(filter(wanted, (path.name for path in jobs.iterdir()) if jobs.is_dir() else ()), key=order):
        if (jobs / name / "proposal.json").is_file():
            yield Folder(jobs / name)


def folder_of(state: Path, job: str) -> Folder:
    """The folder of a job, which need not exist; the id may come from another site, so it must not lead elsewhere."""
    if not is_id(job):
        raise PeerError("a letter names a job by something that is no id: do both sites run the same version?")
    return Folder(state / "jobs" / job)
