"""What sites tell each other before a run: a proposal, each site's answer to it, and the start that all answers allow.

An answer carries the site's decision and the public half of a key made for this run, each signed by its identity. A
start carries every answer, so that no coordinator can begin a run that somebody refused, or slip in a key of its own.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tacit.consortium.consent import Record
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.members import Members
from tacit.consortium.preflight import Report
from tacit.errors import PeerError

CONSENT, HELLO, PROPOSAL = "consent", "key of a run", "proposal"
T = TypeVar("T", bound=msgspec.Struct)


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Plain fields, written as JSON."""

    def dump(self) -> bytes:
        """For a letter or a file."""
        return msgspec.json.encode(self, order="sorted")


class Proposal(Struct, frozen=True, kw_only=True):
    """A job in canonical bytes, signed by its submitter."""

    job: str
    submitter: str
    signature: str

    @classmethod
    def of(cls, job: Job, identity: Identity) -> Proposal:
        """The submitter's own."""
        data = job.canonical()
        return cls(job=data.decode(), submitter=identity.name, signature=identity.sign(PROPOSAL, data).hex())

    def checked(self, members: Members) -> Job:
        """The job, once its signature and its submitter are right."""
        data = self.job.encode()
        members.verify(self.submitter, PROPOSAL, data, _bytes(self.signature))
        job = Job.from_bytes(data)
        if job.submitter != self.submitter:
            raise PeerError(f"job {job.id} names {job.submitter} as its submitter and is signed by {self.submitter}: refuse it")
        return job


class Answer(Struct, frozen=True, kw_only=True):
    """One site's decision; key and preflight only if it accepts."""

    site: str
    record: Record
    signature: str
    key: str = ""
    key_signature: str = ""
    preflight: Report | None = None

    @classmethod
    def of(cls, record: Record, identity: Identity, *, key: bytes = b"", preflight: Report | None = None) -> Answer:
        """Signed by the site."""
        return cls(
            site=identity.name,
            record=record,
            signature=identity.sign(CONSENT, record.canonical()).hex(),
            key=key.hex(),
            key_signature=identity.sign(HELLO, _hello(record.job, key)).hex() if key else "",
            preflight=preflight,
        )

    @property
    def accepts(self) -> bool:
        """Whether the site takes part."""
        return self.record.verdict == "accept"

    def check(self, job: Job, members: Members) -> None:
        """Refuse an answer to another job, or of another site."""
        if self.record.job != job.digest or self.record.party != self.site or self.site not in job.roster.parties:
            raise PeerError(f"an answer of {self.site} is not to job {job.id}: ask its author to submit the job again")
        members.verify(self.site, CONSENT, self.record.canonical(), _bytes(self.signature))
        if self.accepts:
            members.verify(self.site, HELLO, _hello(job.digest, _bytes(self.key)), _bytes(self.key_signature))


class Start(Struct, frozen=True, kw_only=True):
    """Everybody accepted; `attempt` counts how often the run was taken up."""

    job: str
    attempt: int
    answers: tuple[Answer, ...]

    def keys(self, job: Job, members: Members) -> dict[str, bytes]:
        """The run keys of all sites, once every answer is there, signed, and a yes."""
        found = {answer.site: answer for answer in self.answers}
        lacking = [p for p in job.roster.parties if p not in found]
        if lacking or len(self.answers) != len(job.roster.parties):
            who = f"lacks the answer of {', '.join(lacking)}" if lacking else "has more answers than the job has sites"
            raise PeerError(f"the start of job {job.id} {who}: refuse it")
        for answer in found.values():
            answer.check(job, members)
            if not answer.accepts:
                raise PeerError(f"the start of job {job.id} goes against the refusal of {answer.site}: refuse it")
        return {site: _bytes(answer.key) for site, answer in found.items()}


class Finished(Struct, frozen=True, kw_only=True):
    """How a site came out of a run: public figures, and of an error its class and place, never its text."""

    job: str
    site: str
    attempt: int
    ok: bool
    party: str = ""
    place: str = ""
    kind: str = ""
    rounds: int = 0
    bytes: int = 0
    seconds: float = 0.0


def read(data: bytes, kind: type[T]) -> T:
    """A struct as another member wrote it."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError):
        raise PeerError(f"a malformed {kind.__name__} arrived: do both sites run the same version?") from None


def _hello(job: str, key: bytes) -> bytes:
    return job.encode() + b" " + key


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise PeerError("a signature or key that is not written in hex arrived: do both sites run the same version?") from None
