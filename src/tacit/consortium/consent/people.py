"""Consent: jobs that wait for people, and what the people said.

A folder holds one file per job (`<id>.job`, its canonical bytes) and one per vote (`<id>.<approver>.vote`), each
written whole. So the daemon may read while several people vote, nobody overwrites another's vote, and the state of a
job is always computed from the files. A vote is bound to the job's digest: a file that was exchanged has no votes. A
person signs it (`approvers`): a file that was written by hand is no vote. The latest vote of a person counts, and a yes
can be taken back until the run starts.

    refused    one of the approvers refused
    approved   as many distinct approvers as the policy asks approved in time, and none refused
    expired    neither, and the job's time is over
    waiting    else

Where the policy has `hold_results = true`, the same people release what a run made (`<id>.<approver>.release`): as many
as approve a job, at least one. Until then its analyst gets nothing.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.job import AGAIN, Job, find_id
from tacit.consortium.site.settings import Moment, file_safe
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

BRINGS = ".brings"  # the end of the file beside a job that says what this site would bring
RELEASE = ".release"  # the end of the file in which a person releases what a run made
Verdict = Literal["approve", "refuse", "withdraw", "release"]
Poll = Literal["waiting", "approved", "refused", "expired"]  # what became of a job among the people


class Vote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person said about one job."""

    job: str
    approver: str
    verdict: Verdict
    reason: str
    at: datetime
    signature: str = ""

    def canonical(self) -> bytes:
        """Return the bytes that are signed."""
        return b"tacit vote 1\n" + msgspec.json.encode(msgspec.structs.replace(self, signature=""), order="sorted")


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The party's decision, to be signed over its canonical bytes.

    by: empty where the policy decided alone.
    left_out: whether the job may go on without this party after sums with its records were opened.
    """

    job: str
    party: str
    verdict: Literal["accept", "refuse"]
    by: tuple[str, ...]
    rule: str
    reason: str
    policy: str
    at: Moment
    left_out: bool = False

    @classmethod
    def of(cls, job: Job, party: str, verdict: Literal["accept", "refuse"], **said: Any) -> Record:
        """Return a decision: of now, by nobody and without a reason, unless other fields are given."""
        usual = {"by": (), "rule": "", "reason": "", "policy": "", "at": datetime.now(UTC)}
        return cls(job=job.digest, party=party, verdict=verdict, **{**usual, **said})

    def canonical(self) -> bytes:
        """Return the bytes that are signed."""
        return b"tacit consent 1\n" + msgspec.json.encode(self, order="sorted")


class Brought(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the site would bring to a job, as its people read it; it never leaves the site.

    studies: how many studies there were on these records before; most: how many the policy allows.
    told: mu of the noise on all weights that they revealed.
    """

    columns: tuple[str, ...]
    rows: int
    studies: int = 0
    most: int = 0
    told: float = 0.0


@dataclass(frozen=True)
class Pending:
    """A job in the folder, who approved it and who refused it, and what the site would bring, once that is known."""

    job: Job
    approved: tuple[str, ...]
    refused: tuple[str, ...]
    needed: int
    state: Poll
    brings: Brought | None = None


class Consent:
    """The folder of one party, under its policy."""

    def __init__(self, folder: Path, policy: Policy, party: str) -> None:
        self.folder = folder
        self.policy = policy
        self.party = party
        self.approvers = Approvers(folder.parent / "approvers")

    def submit(self, job: Job, brings: Brought | None = None) -> None:
        """Let a job wait. Again is no harm; another job under the same id is refused."""
        file = self.folder / f"{job.id}.job"
        if file.exists() and file.read_bytes() != job.canonical():
            raise PeerError(f"job {job.id} was proposed before with another content: its author must give it a new id")
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            if brings is not None:
                write_whole(file.with_suffix(BRINGS), msgspec.json.encode(brings), "what is brought", private=True)
            write_whole(file, job.canonical(), "the job")

    def list_pending(self, now: datetime) -> tuple[list[Pending], list[str]]:
        """Return all jobs that wait for people, and a line about each job of which a file cannot be read."""
        found, damaged = [], []
        for file in sorted(self.folder.glob("*.job")):
            try:
                found.append(self.look(file.stem, now))
            except LocalError as error:
                damaged.append(str(error))
        return [one for one in found if one.state == "waiting"], damaged

    def look(self, job_id: str, now: datetime) -> Pending:
        """Return how one job stands, by its id or the beginning of it."""
        job = self._job(job_id)
        votes = self._votes(job)
        approved = tuple(vote.approver for vote in votes if vote.verdict == "approve")
        refused = tuple(vote.approver for vote in votes if vote.verdict == "refuse")
        needed = self.policy.approvals_needed
        state: Poll = "expired" if job.expired(now) else "waiting"
        if refused or len(approved) >= max(1, needed):
            state = "refused" if refused else "approved"
        return Pending(job, approved, refused, needed, state, self._brings(job))

    def approve(self, job_id: str, approver: str, now: datetime, passphrase: str) -> Pending:
        """Note one person's yes, and return how the job stands."""
        return self._vote(job_id, approver, "approve", "", now, passphrase)

    def withdraw(self, job_id: str, approver: str, now: datetime, passphrase: str) -> Pending:
        """Take one person's yes back, and return how the job stands."""
        self.check_named(approver)
        found = self.look(job_id, now)
        if approver not in found.approved:
            raise LocalError(f"{approver} has not approved job {found.job.id}: there is nothing to take back")
        return self._vote(job_id, approver, "withdraw", "", now, passphrase)

    def refuse(self, job_id: str, approver: str, reason: str, now: datetime, passphrase: str) -> Pending:
        """Note one person's no, which is enough, and return how the job stands."""
        if not reason.strip() or not reason.isprintable():
            raise LocalError(f"the reason to refuse job {job_id} is {reason!r}: write one line for the submitter")
        return self._vote(job_id, approver, "refuse", reason, now, passphrase)

    def record(self, job_id: str, now: datetime) -> Record | None:
        """Return the decision of the people, once there is one; the same bytes however often it is asked for."""
        found = self.look(job_id, now)
        if found.state in {"waiting", "expired"}:
            return None
        deciding = "refuse" if found.state == "refused" else "approve"
        votes = [v for v in self._votes(found.job) if v.verdict == deciding]
        reason, last = "; ".join(v.reason for v in votes if v.reason), max(v.at for v in votes)
        said = {"rule": "approvers", "reason": reason, "policy": self.policy.digest, "at": last}
        said["left_out"] = self.policy.left_out
        by = tuple(v.approver for v in votes)
        return Record.of(found.job, self.party, "refuse" if found.refused else "accept", by=by, **said)

    def release(self, job: Job, approver: str, now: datetime, passphrase: str) -> None:
        """Note that one person releases what the run of a job made; nobody can take that back."""
        self.check_named(approver)
        vote = Vote(job=job.digest, approver=approver, verdict="release", reason="", at=now)
        signature = self.approvers.sign(approver, passphrase, vote.canonical())
        self.folder.mkdir(parents=True, exist_ok=True)
        signed = msgspec.json.encode(msgspec.structs.replace(vote, signature=signature))
        write_whole(self.folder / f"{job.id}.{approver}{RELEASE}", signed, "the release")

    def list_released(self, job: Job) -> tuple[str, ...]:
        """Return who released what the run of a job made, of those whom the policy names."""
        files = [self.folder / f"{job.id}.{approver}{RELEASE}" for approver in self.policy.approvers]
        votes = [_read_vote(file) for file in files if file.exists()]
        return tuple(v.approver for v in votes if v.verdict == "release" and self._is_of(v, job))

    def holds(self, job: Job) -> bool:
        """Return whether what the run of a job made has still to be released."""
        return self.policy.hold_results and len(self.list_released(job)) < max(1, self.policy.approvals_needed)

    def check_named(self, approver: str) -> None:
        """Raise unless the policy names the person."""
        if approver not in self.policy.approvers:
            names = f"its approvers ({', '.join(self.policy.approvers) or 'nobody'})"
            raise LocalError(f"policy {self.policy.file}: {approver!r} is not one of {names}: let one of them decide")

    @staticmethod
    def close(folder: Path, job_id: str) -> None:
        """Let a job that is over no longer wait, whatever the policy is now.

        What people said stays until it is purged.
        """
        for end in (".job", BRINGS):
            (folder / f"{job_id}{end}").unlink(missing_ok=True)

    def _vote(
        self, job_id: str, approver: str, verdict: Verdict, reason: str, now: datetime, passphrase: str
    ) -> Pending:
        self.check_named(approver)
        found = self.look(job_id, now)
        said = {"approve": found.approved, "refuse": found.refused, "withdraw": ()}
        vote = Vote(job=found.job.digest, approver=approver, verdict=verdict, reason=reason, at=now)
        signature = self.approvers.sign(approver, passphrase, vote.canonical())
        if approver in said[verdict]:
            return found
        if found.state not in ("waiting", "approved" if approver in found.approved else ""):
            raise LocalError(f"job {found.job.id} is {found.state}, and that is final: {AGAIN}")
        vote = msgspec.structs.replace(vote, signature=signature)
        write_whole(self.folder / f"{found.job.id}.{approver}.vote", msgspec.json.encode(vote), "the vote")
        return self.look(found.job.id, now)

    def _job(self, job_id: str) -> Job:
        known = sorted(file.stem for file in self.folder.glob("*.job"))
        file = self.folder / f"{find_id(known, job_id, 'that wait')}.job"
        try:
            return Job.from_bytes(file.read_bytes())
        except (PeerError, OSError):
            raise LocalError(f"{file} holds no job: remove it, and {AGAIN}") from None

    def _brings(self, job: Job) -> Brought | None:
        file = self.folder / f"{job.id}{BRINGS}"
        return msgspec.json.decode(file.read_bytes(), type=Brought) if file.exists() else None

    def _votes(self, job: Job) -> list[Vote]:
        files = (self.folder / f"{job.id}.{approver}.vote" for approver in self.policy.approvers)
        votes = [_read_vote(file) for file in files if file.exists()]
        return [vote for vote in votes if self._counts(vote, job)]

    def _counts(self, vote: Vote, job: Job) -> bool:
        """Return whether a vote is about this very job, in time, and signed by its person."""
        return not job.expired(vote.at) and vote.verdict != "release" and self._is_of(vote, job)

    def _is_of(self, vote: Vote, job: Job) -> bool:
        """Return whether a vote is about this very job, and signed by its person."""
        return vote.job == job.digest and self.approvers.signed(vote.approver, vote.canonical(), vote.signature)


def _read_vote(file: Path) -> Vote:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Vote)
    except (msgspec.DecodeError, OSError):
        raise LocalError(f"{file} holds no vote: remove it, and vote again") from None


# Approvers: every person has a passphrase, and signs votes with a key that is made of it.
#
#     private key = Ed25519 key of scrypt(passphrase, salt)          nowhere on disk; made anew for every vote
#     NAME.approver                                                  the salt and the public key
#
# So one shell cannot approve as two people, and a vote that was written by hand does not count. Whoever may write the
# site's files can still register another key, or change the policy: that is the administrator, whom the site trusts.


SHORTEST = 8  # characters of a passphrase
END = ".approver"  # of the file of a person
NOBODY = bytes(16)  # the salt of a name that nobody has


class Approver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site keeps of a person."""

    name: str
    salt: str
    key: str


class Approvers:
    """The people of one site who have a passphrase, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, passphrase: str) -> None:
        """Register a person, who chose this passphrase."""
        file = self._file(name)
        if file.exists():
            raise LocalError(
                f"{name} has a passphrase already: remove {file} first, which makes the votes of {name} void"
            )
        if len(passphrase) < SHORTEST:
            raise LocalError(f"the passphrase of {name} has fewer than {SHORTEST} characters: choose a longer one")
        salt = secrets.token_bytes(16)
        public = _key(passphrase, salt).public_key().public_bytes_raw()
        known = Approver(name=name, salt=salt.hex(), key=public.hex())
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.encode(known), "the approver", private=True)

    def sign(self, name: str, passphrase: str, data: bytes) -> str:
        """Return a person's signature; raise if the passphrase is another one."""
        known = self._find(name)
        if known is None:
            raise LocalError(f"{name} has no passphrase at this site yet: choose one with tacit party approver {name}")
        key = _key(passphrase, bytes.fromhex(known.salt))
        if key.public_key().public_bytes_raw().hex() != known.key:
            raise LocalError(f"this is not the passphrase of {name}: let {name} type it")
        return key.sign(data).hex()

    def names(self) -> list[str]:
        """Return who has a passphrase here."""
        return sorted(file.stem for file in self._folder.glob(f"*{END}"))

    def knows(self, name: str, passphrase: str) -> bool:
        """Return whether this is the person's passphrase; a name that nobody has takes as long to tell."""
        known = self._find(name) if file_safe(name) else None
        public = _key(passphrase, NOBODY if known is None else bytes.fromhex(known.salt)).public_key()
        return known is not None and secrets.compare_digest(public.public_bytes_raw().hex(), known.key)

    def signed(self, name: str, data: bytes, signature: str) -> bool:
        """Return whether a person signed this."""
        known = self._find(name)
        try:
            if known is not None:
                Ed25519PublicKey.from_public_bytes(bytes.fromhex(known.key)).verify(bytes.fromhex(signature), data)
        except (InvalidSignature, ValueError):
            return False
        return known is not None

    def _find(self, name: str) -> Approver | None:
        file = self._file(name)
        if not file.exists():
            return None
        try:
            return msgspec.json.decode(file.read_bytes(), type=Approver)
        except msgspec.DecodeError:
            raise LocalError(f"{file} is damaged: restore it from a backup, or register {name} again") from None

    def _file(self, name: str) -> Path:
        if not file_safe(name):
            raise LocalError(f"{name!r} cannot be the name of an approver: use letters, digits, '.', @, - and _")
        return self._folder / f"{name}{END}"


def _key(passphrase: str, salt: bytes) -> Ed25519PrivateKey:
    seed = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=2**14, r=8, p=1, maxmem=2**26, dklen=32
    )  # some 50 ms a guess
    return Ed25519PrivateKey.from_private_bytes(seed)
