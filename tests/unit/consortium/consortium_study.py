"""A consortium that was founded, a job that was proposed in it, and what its sites answer."""

from datetime import UTC, datetime

import msgspec
from consortium_sites import Consortium

from job_files import one_step
from tacit.consortium.consent.people import Record
from tacit.consortium.jobs.answers import Answer, Checked, Cleared, Proposal, Start
from tacit.consortium.jobs.preflight import Problem, report_of
from tacit.consortium.jobs.proposal import propose
from tacit.crypto.pads.agreement import public_key

PARTIES = ("north", "south", "east")
KINDS = {"clearing": "coordinator", **dict.fromkeys(PARTIES, "party"), "analyst": "analyst"}
CHECKED = datetime(2020, 1, 1, tzinfo=UTC)  # when every site did, in true time
KERNEL = {"kernel": "linear", "gamma": "scale", "degree": 3, "coef0": 0.0, "alpha": 0.1, "features": 50}


class Study:
    """Its consortium, its job, and a yes of everybody."""

    def __init__(self, folder) -> None:
        self.consortium = Consortium(folder)
        self.sites = {name: self.consortium.join(name, kind) for name, kind in KINDS.items()}
        self.job = self.another()
        self.private = {name: bytes([i + 1]) * 32 for i, name in enumerate(self.job.roster.parties)}

    @property
    def members(self):
        return self.consortium.members

    def another(self):
        """A job of the same content with an id of its own."""
        return propose(
            "study",
            one_step("SVC", **KERNEL),
            partition="vertical",
            parties=PARTIES,
            coordinator="clearing",
            dataset="cohort",
            submitter="analyst",
            purpose="a test",
            legal_basis="consent",
            labeller="north",
            aligned=True,
        )

    def proposal(self, job=None):
        return Proposal.of(job or self.job, self.sites["analyst"])

    def record(self, name, verdict="accept", job=None, party=None):
        at = datetime(2030, 1, 1, tzinfo=UTC)
        digest = (job or self.job).digest
        return Record(job=digest, party=party or name, verdict=verdict, by=(), rule="", reason="", policy="", at=at)

    def answer(self, name, verdict="accept", job=None, party=None):
        record = self.record(name, verdict, job, party)
        if verdict == "refuse":
            return Answer.of(job or self.job, record, self.sites[name])
        return Answer.of(job or self.job, record, self.sites[name], key=public_key(self.private[name]))

    def checked(self, name, job=None, codes=(), clock=None):
        """A site's signed report."""
        report = report_of(job or self.job, name, None, CHECKED, [Problem(name, code) for code in codes])
        return Checked.of(job or self.job, altered(report, clock=clock or CHECKED), self.sites[name])

    def cleared(self, job=None, **changes):
        """Everybody's report; `north=checked` puts another in its place, `north=None` leaves it out."""
        found = {name: self.checked(name, job) for name in (job or self.job).roster.parties} | changes
        return Cleared(job=(job or self.job).id, checked=tuple(one for one in found.values() if one))

    def start(self, **changes):
        """Everybody's yes; `north=answer` puts another in its place, `north=None` leaves it out."""
        found = {name: self.answer(name) for name in self.job.roster.parties} | changes
        return Start(job=self.job.id, attempt=1, answers=tuple(answer for answer in found.values() if answer))


def altered(struct, **changes):
    """The same with other fields."""
    return msgspec.structs.replace(struct, **changes)
