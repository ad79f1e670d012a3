"""Consent: jobs that wait for people, and what the people said.

A folder holds one file per job (`<id>.job`, its canonical bytes) and one per vote (`<id>.<approver>.vote`), each written
whole. So the daemon may read while several people vote, nobody overwrites another's vote, and the state of a job is
always computed from the files. A vote is bound to the job's digest: a file that was exchanged has no votes.

    refused    one of the approvers refused
    approved   as many distinct approvers as the policy asks approved in time, and none refused
    expired    neither, and the job's time is over
    waiting    else
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from tacit.consortium.job import Job, Moment
from tacit.consortium.policy import Policy
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

Verdict = Literal["approve", "refuse"]
State = Literal["waiting", "approved", "refused", "expired"]


class Vote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person said about one job."""

    job: str
    approver: str
    verdict: Verdict
    reason: str
    at: datetime


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The party's decision, to be signed over its canonical bytes. `by` is empty where the policy decided alone."""

    job: str
    party: str
    verdict: Literal["accept", "refuse"]
    by: tuple[str, ...]
    rule: str
    reason: str
    policy: str
    at: Moment

    def canonical(self) -> bytes:
        """The bytes that are signed."""
        return b"tacit consent 1\n" + msgspec.json.encode(self, order="sorted")


@dataclass(frozen=True)
class Pending:
    """A job in the folder, who approved it and who refused it."""

    job: Job
    approved: tuple[str, ...]
    refused: tuple[str, ...]
    needed: int
    state: State


class Consent:
    """The folder of one party, under its policy."""

    def __init__(self, folder: Path, policy: Policy, party: str) -> None:
        self.folder = folder
        self.policy = policy
        self.party = party

    def submit(self, job: Job) -> None:
        """Let a job wait. Again is no harm; another job under the same id is refused."""
        file = self.folder / f"{job.id}.job"
        if file.exists() and file.read_bytes() != job.canonical():
            raise PeerError(f"job {job.id} was proposed before with another content: its author must give it a new id")
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(file, job.canonical(), "the job")

    def pending(self, now: datetime) -> list[Pending]:
        """All jobs that wait for people, as far as their files can be read."""
        return [one for one in self._looks(now) if isinstance(one, Pending) and one.state == "waiting"]

    def damaged(self, now: datetime) -> list[str]:
        """A line about each job of which a file cannot be read."""
        return [one for one in self._looks(now) if isinstance(one, str)]

    def _looks(self, now: datetime) -> Iterator[Pending | str]:
        for file in sorted(self.folder.glob("*.job")):
            try:
                yield self.look(file.stem, now)
            except LocalError as error:
                yield str(error)

    def look(self, job_id: str, now: datetime) -> Pending:
        """One job, by its id or the beginning of it."""
        job = self._job(job_id)
        votes = self._votes(job)
        approved, refused = (tuple(v.approver for v in votes if v.verdict == verdict) for verdict in ("approve", "refuse"))
        needed = self.policy.approvals_needed
        state: State = "expired" if job.expired(now) else "waiting"
        if refused or len(approved) >= max(1, needed):
            state = "refused" if refused else "approved"
        return Pending(job, approved, refused, needed, state)

    def approve(self, job_id: str, approver: str, now: datetime) -> Pending:
        """One person's yes."""
        return self._vote(job_id, approver, "approve", "", now)

    def refuse(self, job_id: str, approver: str, reason: str, now: datetime) -> Pending:
        """One person's no, which is enough."""
        if not reason.strip() or not reason.isprintable():
            raise LocalError(f"the reason to refuse job {job_id} is {reason!r}: write one line of text, the submitter reads it")
        return self._vote(job_id, approver, "refuse", reason, now)

    def record(self, job_id: str, now: datetime) -> Record | None:
        """The decision of the people, once there is one; the same bytes however often it is asked for."""
        found = self.look(job_id, now)
        if found.state in {"waiting", "expired"}:
            return None
        deciding = "refuse" if found.state == "refused" else "approve"
        votes = [v for v in self._votes(found.job) if v.verdict == deciding]
        return Record(
            job=found.job.digest, party=self.party, verdict="refuse" if found.refused else "accept", by=tuple(v.approver for v in votes),
            rule="approvers", reason="; ".join(v.reason for v in votes if v.reason), policy=self.policy.digest, at=max(v.at for v in votes),
        )  # fmt: skip

    @staticmethod
    def close(folder: Path, job_id: str) -> None:
        """Let a job that is over no longer wait, whatever the policy is now; what people said stays until it is purged."""
        (folder / f"{job_id}.job").unlink(missing_ok=True)

    def _vote(self, job_id: str, approver: str, verdict: Verdict, reason: str, now: datetime) -> Pending:
        if approver not in self.policy.approvers:
            names = ", ".join(self.policy.approvers) or "nobody"
            raise LocalError(f"policy {self.policy.file}: {approver!r} is none of its approvers ({names}): let one of them decide")
        found = self.look(job_id, now)
        said = {"approve": found.approved, "refuse": found.refused}
        if approver in said[verdict]:
            return found
        if found.state != "waiting":
            raise LocalError(f"job {found.job.id} is {found.state}, and that is final: ask its author to submit it again")
        vote = Vote(job=found.job.digest, approver=approver, verdict=verdict, reason=reason, at=now)
        write_whole(self.folder / f"{found.job.id}.{approver}.vote", msgspec.json.encode(vote), "the vote")
        return self.look(found.job.id, now)

    def _job(self, job_id: str) -> Job:
        files = [file for file in sorted(self.folder.glob("*.job")) if job_id and file.stem.startswith(job_id)]
        if len(files) != 1:
            known = ", ".join(file.stem for file in files or sorted(self.folder.glob("*.job"))) or "none"
            raise LocalError(f"{len(files)} jobs begin with {job_id!r}: give the id of one of those that wait ({known})")
        try:
            return Job.from_bytes(files[0].read_bytes())
        except (PeerError, OSError):
            raise LocalError(f"{files[0]} holds no job: remove it, and ask the author to submit the job again") from None

    def _votes(self, job: Job) -> list[Vote]:
        votes = []
        for approver in self.policy.approvers:
            file = self.folder / f"{job.id}.{approver}.vote"
            if file.exists():
                votes.append(_read_vote(file))
        return [v for v in votes if v.job == job.digest and not job.expired(v.at)]


def _read_vote(file: Path) -> Vote:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Vote)
    except (msgspec.DecodeError, OSError):
        raise LocalError(f"{file} holds no vote: remove it, and vote again") from None


def automatic(job: Job, policy: Policy, party: str, verdict: Literal["accept", "refuse"], rule: str, reason: str, now: datetime) -> Record:
    """The record of a decision that the policy made alone."""
    return Record(job=job.digest, party=party, verdict=verdict, by=(), rule=rule, reason=reason, policy=policy.digest, at=now)
