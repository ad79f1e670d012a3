"""What sites tell each other about a job: a proposal, each site's checks and answer, the start, and the end.

    propose   the submitter's signed job           checked   what a site's own checks found, signed by it
    cleared   all checks, none of which failed     answer    a site's decision, and its key for the run
    start     every answer                         finished  how a site came out of the run
    withdraw  the submitter takes the job back     ended     the job is over without a result, and why

An answer carries the site's decision and the public half of a key made for this run, each signed by its identity. A
start carries every answer, so that no coordinator can begin a run that somebody refused, or slip in a key of its own; and
`cleared` carries every report, so that no coordinator can have people asked about a job whose checks failed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Self, TypeVar

import msgspec

from tacit.consortium.consent import Record
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job, Moment, is_id
from tacit.consortium.members import Members
from tacit.consortium.names import Kind
from tacit.consortium.preflight import Report, combine, render
from tacit.consortium.states import Ending
from tacit.errors import PeerError, TacitError

CONSENT, HELLO, PROPOSAL, PREFLIGHT = "consent", "key of a run", "proposal", "preflight"
LONGEST = 2000  # characters of one reason, or of a place, and
MOST = 100  # reasons that an end may have
Words = Annotated[str, msgspec.Meta(max_length=LONGEST)]
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


class Checked(Struct, frozen=True, kw_only=True):
    """What one site's own checks found, before anybody is asked."""

    job: str
    site: str
    report: Report
    signature: str

    @classmethod
    def of(cls, job: Job, report: Report, identity: Identity) -> Checked:
        """Signed by the site."""
        return cls(job=job.id, site=identity.name, report=report, signature=identity.sign(PREFLIGHT, _reported(job, report)).hex())

    def check(self, job: Job, members: Members) -> None:
        """Refuse a report about another job, or of another site."""
        if self.job != job.id or self.report.party != self.site or self.site not in job.roster.parties:
            raise PeerError(f"a report of {self.site} is not about job {job.id}: ask its author to submit the job again")
        members.verify(self.site, PREFLIGHT, _reported(job, self.report), _bytes(self.signature))


class Cleared(Struct, frozen=True, kw_only=True):
    """Every site's checks passed: now people may be asked."""

    job: str
    checked: tuple[Checked, ...]

    def check(self, job: Job, members: Members) -> None:
        """Refuse it unless every site's signed report is there, and together they show no problem."""
        for one in self.checked:
            one.check(job, members)
        problems = combine(job, {one.site: one.report for one in self.checked})
        if problems or len(self.checked) != len(job.roster.parties):
            raise PeerError(f"job {job.id} is said to have passed its checks and has not: {' '.join(render(problems).split())[:LONGEST]}")


class Answer(Struct, frozen=True, kw_only=True):
    """One site's decision; a key only if it accepts."""

    job: str
    site: str
    record: Record
    signature: str
    key: str = ""
    key_signature: str = ""

    @classmethod
    def of(cls, job: Job, record: Record, identity: Identity, *, key: bytes = b"") -> Answer:
        """Signed by the site."""
        return cls(
            job=job.id,
            site=identity.name,
            record=record,
            signature=identity.sign(CONSENT, record.canonical()).hex(),
            key=key.hex(),
            key_signature=identity.sign(HELLO, _hello(record.job, key)).hex() if key else "",
        )

    @property
    def accepts(self) -> bool:
        """Whether the site takes part."""
        return self.record.verdict == "accept"

    def check(self, job: Job, members: Members) -> None:
        """Refuse an answer to another job, or of another site."""
        if self.record.job != job.digest or self.record.party != self.site or self.site not in job.roster.parties or self.job != job.id:
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
    party: Words = ""
    place: Words = ""
    kind: Words = ""
    rounds: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Withdrawal(Struct, frozen=True, kw_only=True):
    """The submitter takes its job back."""

    job: str
    reason: str = ""


class Ended(Struct, frozen=True, kw_only=True):
    """A job is over without a result: how, by whom, and why; every site keeps it and shows the reasons."""

    job: str
    kind: Ending
    by: str
    reasons: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST)]
    at: Moment

    @classmethod
    def of(cls, job: str, kind: Ending, by: str, *reasons: str) -> Self:
        """Now; each reason in one line that a terminal can show."""
        return cls(job=job, kind=kind, by=by, reasons=tuple(map(one_line, reasons[:MOST])), at=datetime.now(UTC))

    def check(self) -> None:
        """Refuse reasons that could hide something in a terminal, or fill a disk."""
        if any(one_line(reason) != reason for reason in (self.by, *self.reasons)):
            raise PeerError("the end of a job gives reasons that are no single lines of text: do both sites run the same version?")


def one_line(text: str) -> str:
    """Return a text of somebody else's as one line without control characters, cut where it gets too long."""
    flat = " ".join(text.split())[:LONGEST]
    return "".join(c if c.isprintable() else "?" for c in flat)


def check_sites(job: Job, members: Members) -> None:
    """Raise unless every site of the job is a member whose key is valid, and of the kind that its role needs."""
    wanted: dict[str, Kind] = {**dict.fromkeys(job.parties, "party"), job.roles.coordinator: "coordinator"}
    for name, kind in wanted.items():
        try:
            found = members.member(name)
        except TacitError as error:
            raise PeerError(f"job {job.id} names {name}, and {error}") from None
        if found.kind != kind or (kind == "coordinator" and name in job.parties):
            raise PeerError(f"job {job.id} names {name} as a {kind}, and the list of members has a {found.kind}: correct the job")


class _Named(msgspec.Struct):
    id: str


def id_in(proposal: bytes) -> str | None:
    """Return the id of a job that cannot be accepted, as far as it can be read, so that its submitter can be told."""
    try:
        found = msgspec.json.decode(msgspec.json.decode(proposal, type=Proposal).job, type=_Named).id
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return found if is_id(found) else None


def read(data: bytes, kind: type[T]) -> T:
    """A struct as another member wrote it."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError):
        raise PeerError(f"a malformed {kind.__name__} arrived: do both sites run the same version?") from None


def _reported(job: Job, report: Report) -> bytes:
    return job.digest.encode() + b" " + msgspec.json.encode(report, order="sorted")


def _hello(job: str, key: bytes) -> bytes:
    return job.encode() + b" " + key


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise PeerError("a signature or key that is not written in hex arrived: do both sites run the same version?") from None
