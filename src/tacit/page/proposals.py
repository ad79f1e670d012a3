"""Proposals: what waits for people here, what it means, and what they say to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.responses import Response

from tacit.consortium.consent.people import Pending
from tacit.consortium.consent.proposals import brief, in_sections
from tacit.consortium.consent.register import Register
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.consent.unusual import unusual
from tacit.consortium.jobs.folder import Folder, folder_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.errors import LocalError, TacitError
from tacit.page.desk import Desk, NotHereError
from tacit.page.pictures import draw_coalitions
from tacit.page.readers import describe_fact, is_grave, list_readers
from tacit.page.visit import Views, Visit

SHOWN = 30  # decided proposals of the list
LOOK = "look at this first"  # the headings of a proposal that are shown in another way, or change by themselves
APART = (LOOK, "what is opened", "approval")
VERDICTS = ("approve", "refuse", "withdraw")


@dataclass(frozen=True)
class Change:
    """A line of a proposal that another one has otherwise."""

    name: str
    before: str
    now: str


def show_all(visit: Visit) -> Response:
    """Show what waits for people, and what became of the others."""
    waiting, damaged = visit.desk.consent.list_pending(datetime.now(UTC))
    asked = {one.job.id for one in waiting}
    others = [line for line in visit.desk.list_jobs() if line.id not in asked][:SHOWN]
    return visit.page("proposals.html", waiting=waiting, damaged=damaged, others=others)


def show_one(visit: Visit, fault: str = "", status: int = 200) -> Response:
    """Show a proposal as a person would ask."""
    desk, now = visit.desk, datetime.now(UTC)
    folder = desk.folder(visit.job)
    one, earlier = look_at(desk, folder, now), find_earlier(desk, folder)
    sections = [(head, lines) for head, lines in in_sections(one, desk.name) if head not in APART]
    job, answer, ended = one.job, folder.answer, folder.ended
    coalitions = draw_coalitions(job, exposures_of(job))
    return visit.page(
        "proposal.html",
        status,
        one=one,
        job=job,
        fault=fault,
        points=brief(one, desk.name),
        first=unusual(job),
        concerns=[text for text in concerns(job) if text not in {row.text for row in coalitions}],
        coalitions=coalitions,
        readers=list_readers(job, messages=False),
        messages=list_readers(job),
        describe=describe_fact,
        grave=is_grave,
        sections=sections,
        before=[entry for entry in Register(desk.state / "registers").entries() if entry.dataset == job.dataset],
        earlier=earlier,
        changes=[] if earlier is None else list(compare(one, earlier, desk.name)),
        answer=None if answer is None else answer.record,
        ended=ended,
        may=visit.session.name in desk.policy.approvers,
        open=folder.start is None and ended is None and is_waiting(desk, job),
    )


def look_at(desk: Desk, folder: Folder, now: datetime) -> Pending:
    """Return how a job stands among the people; one that never waited for them has no votes."""
    job = folder.job
    if is_waiting(desk, job):
        return desk.consent.look(job.id, now)
    return Pending(job, (), (), desk.policy.approvals_needed, "waiting")


def is_waiting(desk: Desk, job: Job) -> bool:
    """Return whether people are asked about a job, or were and may still change their mind."""
    return (desk.consent.folder / f"{job.id}.job").exists()


def find_earlier(desk: Desk, folder: Folder) -> Job | None:
    """Return the last job on the same dataset that this site accepted before."""
    dataset, since = folder.job.dataset, folder.since
    for line in desk.list_jobs():
        if line.id == folder.id or line.dataset != dataset or line.since > since:
            continue
        try:
            earlier = folder_of(desk.state, line.id)
            if (answer := earlier.answer) is not None and answer.accepts:
                return earlier.job
        except (TacitError, OSError):
            continue
    return None


def compare(one: Pending, earlier: Job, party: str) -> Iterator[Change]:
    """Yield what a proposal says otherwise than an earlier job."""
    now, before = (_lines(each, party) for each in (one, Pending(earlier, (), (), 0, "approved", one.brings)))
    for name in dict.fromkeys([*now, *before]):
        if now.get(name) != before.get(name):
            yield Change(name, before.get(name, "nothing"), now.get(name, "nothing"))


def _lines(one: Pending, party: str) -> dict[str, str]:
    sections = dict(in_sections(one, party))
    kept = {name: text for head, lines in sections.items() if head not in (LOOK, "approval") for name, text in lines}
    return {name: text for name, text in kept.items() if name not in {"expires", "disclosure", "made by"}}


def decide(visit: Visit) -> Response:
    """Sign what the person says with their passphrase, and write it to the same file as the command line does."""
    desk, person, now = visit.desk, visit.session.name, datetime.now(UTC)
    verdict, passphrase, reason = (visit.text(name) for name in ("verdict", "passphrase", "reason"))
    folder = desk.folder(visit.job)
    if not is_waiting(desk, folder.job):
        raise NotHereError("this job does not wait for people: it was decided, or is over")
    fault, status = visit.web.check_passphrase(visit.request, person, passphrase)
    if fault:
        return show_one(visit, f"{fault}; nothing was decided", status)
    try:
        _vote(desk, folder, person, verdict, reason, now, passphrase)
    except LocalError as error:
        return show_one(visit, str(error), 400)
    return visit.go(f"/proposals/{folder.id}")


def _vote(desk: Desk, folder: Folder, person: str, verdict: str, reason: str, now: datetime, passphrase: str) -> None:
    consent = desk.consent
    if verdict not in VERDICTS:
        raise LocalError("nothing was chosen: approve, refuse, or take your approval back")
    if folder.start is not None or folder.ended is not None:
        raise LocalError(f"the job has started, or is over: ask {folder.job.submitter} to withdraw it")
    if verdict == "refuse":
        consent.refuse(folder.id, person, reason, now, passphrase)
    elif verdict == "withdraw":
        consent.withdraw(folder.id, person, now, passphrase)
    else:
        consent.approve(folder.id, person, now, passphrase)


VIEWS: Views = {
    ("GET", "/proposals"): show_all,
    ("GET", "/proposals/{job}"): show_one,
    ("POST", "/proposals/{job}"): decide,
}
