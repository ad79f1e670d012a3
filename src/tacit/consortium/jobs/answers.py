"""What sites tell each other about a job: a proposal, each site's checks and answer, the start, and the end.

    propose   the submitter's signed job           checked   what a site's own checks found, signed by it
    cleared   all checks, none of which failed     answer    a site's decision, and its key for the run
    start     every answer                         finished  how a site came out of the run
    withdraw  the submitter takes the job back     ended     the job is over without a result, and why

An answer carries the site's decision and the public half of a key made for this run, each signed by its identity. A
start carries every answer, so that no coordinator can begin a run that somebody refused, or slip in a key of its own;
and `cleared` carries every report, so that no coordinator can have people asked about a job whose checks failed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Self, TypeVar

import msgspec

from tacit.consortium.consent.people import Record
from tacit.consortium.jobs.job import Job, is_id
from tacit.consortium.jobs.preflight import Report, combine, render
from tacit.consortium.jobs.states import Ending
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.membership.names import Kind
from tacit.consortium.site.settings import Moment
from tacit.errors import PeerError, TacitError

CONSENT, HELLO, PROPOSAL, PREFLIGHT, ABSENCE = "consent", "key of a run", "proposal", "preflight", "absence"
SAME_VERSION = "do both sites run the same version?"
LONGEST = 2000  # characters of one reason, or of a place, and
MOST = 100  # reasons that an end may have
Words = Annotated[str, msgspec.Meta(max_length=LONGEST)]
T = TypeVar("T", bound=msgspec.Struct)


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Plain fields, written as JSON."""

    def dump(self) -> bytes:
        """Return its bytes for a letter or a file."""
        return msgspec.json.encode(self, order="sorted")


class Proposal(Struct, frozen=True, kw_only=True):
    """A job in canonical bytes, signed by its submitter."""

    job: str
    submitter: str
    signature: str

    @classmethod
    def of(cls, job: Job, identity: Identity) -> Proposal:
        """Return a proposal signed by the submitter."""
        data = job.canonical()
        return cls(job=data.decode(), submitter=identity.name, signature=identity.sign(PROPOSAL, data).hex())

    def verify(self, members: Members) -> Job:
        """Return the job; raise unless the submitter that it names has signed it."""
        data = self.job.encode()
        members.verify(self.submitter, PROPOSAL, data, _bytes(self.signature))
        job = Job.from_bytes(data)
        if job.submitter != self.submitter:
            raise PeerError(f"job {job.id} of {job.submitter} is signed by {self.submitter}: refuse it")
        return job


class Checked(Struct, frozen=True, kw_only=True):
    """What one site's own checks found, before anybody is asked."""

    job: str
    site: str
    report: Report
    signature: str

    @classmethod
    def of(cls, job: Job, report: Report, identity: Identity) -> Checked:
        """Return the report, signed by the site."""
        signature = identity.sign(PREFLIGHT, _signed_report(job, report)).hex()
        return cls(job=job.id, site=identity.name, report=report, signature=signature)

    def check(self, job: Job, members: Members) -> None:
        """Refuse a report about another job, or of another site."""
        if self.job != job.id or self.report.party != self.site or self.site not in job.roster.parties:
            raise PeerError(f"a report of {self.site} is not about job {job.id}: ask its author to submit it again")
        members.verify(self.site, PREFLIGHT, _signed_report(job, self.report), _bytes(self.signature))


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
            found = " ".join(render(problems).split())[:LONGEST]
            raise PeerError(f"job {job.id} is said to have passed its checks and has not: {found}")


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
        """Return the decision and the key, each signed by the site."""
        decision = identity.sign(CONSENT, record.canonical()).hex()
        hello = identity.sign(HELLO, _hello(record.job, key)).hex() if key else ""
        signed = {"signature": decision, "key": key.hex(), "key_signature": hello}
        return cls(job=job.id, site=identity.name, record=record, **signed)

    @property
    def accepts(self) -> bool:
        """Whether the site takes part."""
        return self.record.verdict == "accept"

    def check(self, job: Job, members: Members) -> None:
        """Refuse an answer to another job, or of another site."""
        about = (self.job, self.record.job, self.record.party)
        if about != (job.id, job.digest, self.site) or self.site not in job.roster.parties:
            raise PeerError(f"an answer of {self.site} is not to job {job.id}: ask its author to submit the job again")
        members.verify(self.site, CONSENT, self.record.canonical(), _bytes(self.signature))
        if self.accepts:
            members.verify(self.site, HELLO, _hello(job.digest, _bytes(self.key)), _bytes(self.key_signature))


class Absence(Struct, frozen=True, kw_only=True):
    """The coordinator's signed word that a job goes on without some of its parties."""

    job: str
    absent: tuple[str, ...]
    signature: str

    @classmethod
    def of(cls, job: Job, absent: tuple[str, ...], identity: Identity) -> Absence:
        """Return the word, signed."""
        signature = identity.sign(ABSENCE, _signed_absence(job, absent)).hex()
        return cls(job=job.id, absent=absent, signature=signature)

    def check(self, job: Job, members: Members) -> None:
        """Refuse a word about another job, or one that its coordinator did not sign."""
        if self.job != job.id or not self.absent or not set(self.absent) <= set(job.parties):
            raise PeerError(f"job {job.id} is said to go on without {', '.join(self.absent)}: refuse it")
        signed = _signed_absence(job, self.absent)
        members.verify(job.coordinator, ABSENCE, signed, _bytes(self.signature))


class Start(Struct, frozen=True, kw_only=True):
    """Everybody accepted; `attempt` counts how often the run was taken up, and `absence` says without whom."""

    job: str
    attempt: int
    answers: tuple[Answer, ...]
    absence: Absence | None = None

    @property
    def absent(self) -> tuple[str, ...]:
        """Who takes no part in this attempt."""
        return () if self.absence is None else self.absence.absent

    def cast(self, job: Job) -> Job:
        """Return the job as it is played in this attempt."""
        return job.without(self.absent)

    def keys(self, job: Job, members: Members) -> dict[str, bytes]:
        """Return the run keys of all sites that take part; raise unless every site of the job said yes, signed."""
        if self.absence is not None:
            self.absence.check(job, members)
        found = {answer.site: answer for answer in self.answers}
        lacking = [p for p in job.roster.parties if p not in found]
        if lacking or len(self.answers) != len(job.roster.parties):
            who = f"lacks the answer of {', '.join(lacking)}" if lacking else "has more answers than the job has sites"
            raise PeerError(f"the start of job {job.id} {who}: refuse it")
        for answer in found.values():
            answer.check(job, members)
            if not answer.accepts:
                raise PeerError(f"the start of job {job.id} goes against the refusal of {answer.site}: refuse it")
        return {site: _bytes(answer.key) for site, answer in found.items() if site not in self.absent}


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
        """Return an end as of now; each reason in one line that a terminal can show."""
        return cls(job=job, kind=kind, by=by, reasons=tuple(map(one_line, reasons[:MOST])), at=datetime.now(UTC))

    def check(self) -> None:
        """Refuse reasons that could hide something in a terminal, or fill a disk."""
        if any(one_line(reason) != reason for reason in (self.by, *self.reasons)):
            raise PeerError(f"the end of a job gives reasons that are no single lines of text: {SAME_VERSION}")


def one_line(text: str) -> str:
    """Return a text of somebody else's as one line without control characters, cut where it gets too long."""
    flat = " ".join(text.split())[:LONGEST]
    return "".join(c if c.isprintable() else "?" for c in flat)


def check_sites(job: Job, members: Members) -> None:
    """Raise unless every site of the job is a member whose key is valid, and of the kind that its role needs."""
    wanted: dict[str, Kind] = {**dict.fromkeys(job.parties, "party"), job.coordinator: "coordinator"}
    for name, kind in wanted.items():
        try:
            found = members.member(name)
        except TacitError as error:
            raise PeerError(f"job {job.id} names {name}, and {error}") from None
        if found.kind != kind or (kind == "coordinator" and name in job.parties):
            listed = f"the list of members has a {found.kind}"
            raise PeerError(f"job {job.id} names {name} as a {kind}, and {listed}: correct the job")


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
    """Return a struct that another member wrote."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError):
        raise PeerError(f"a malformed {kind.__name__} arrived: {SAME_VERSION}") from None


def _signed_report(job: Job, report: Report) -> bytes:
    return job.digest.encode() + b" " + msgspec.json.encode(report, order="sorted")


def _signed_absence(job: Job, absent: tuple[str, ...]) -> bytes:
    return job.digest.encode() + b" " + msgspec.json.encode(absent)


def _hello(job: str, key: bytes) -> bytes:
    return job.encode() + b" " + key


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise PeerError(f"a signature or key that is not written in hex arrived: {SAME_VERSION}") from None
