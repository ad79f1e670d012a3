"""Runs: every job of the site, and one of them as it goes."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.responses import Response

from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.standing import standing
from tacit.consortium.jobs.states import STATES
from tacit.consortium.site.telling import describe_progress
from tacit.errors import LocalError
from tacit.page.desk import Desk
from tacit.page.pictures import HIGH, WIDE, draw_lines, seat_sites
from tacit.page.readers import describe_fact, is_grave, list_readers
from tacit.page.visit import Views, Visit

PER_PAGE = 50


def show_all(visit: Visit) -> Response:
    """Show all jobs, the newest first, so many to a page."""
    lines, asked = visit.desk.list_jobs(), visit.request.query_params.get("page", "1")
    last = max(1, -(-len(lines) // PER_PAGE))
    number = min(int(asked), last) if asked.isdecimal() and asked != "0" else 1
    shown = lines[(number - 1) * PER_PAGE : number * PER_PAGE]
    return visit.page("runs.html", lines=shown, number=number, last=last, total=len(lines), states=STATES)


def show_one(visit: Visit, fault: str = "", status: int = 200) -> Response:
    """Show a job: who is there, how far it is, what has been learnt so far."""
    desk, folder = visit.desk, visit.desk.folder(visit.job)
    job, (state, why) = folder.job, describe_state(desk, folder)
    places = seat_sites(job)
    return visit.page(
        "run.html",
        status,
        job=job,
        state=state,
        why=why,
        meaning=STATES.get(state, ""),  # type: ignore[call-overload]
        places=list(places.values()),
        lines=draw_lines(job, places),
        wide=WIDE,
        high=HIGH,
        readers=list_readers(job),
        describe=describe_fact,
        grave=is_grave,
        audits=[file.name for file in folder.audits],
        analyst=desk.analyst is not None,
        finished=state == "finished",
        held=folder.held,
        may=folder.held and visit.session.name in desk.policy.approvers,
        fault=fault,
    )


def describe_state(desk: Desk, folder: Folder) -> tuple[str, str]:
    """Return the state of a job, and what there is to say of it."""
    if desk.analyst is None:
        found = standing(folder)
        return found.state, found.why
    news = desk.ask(folder)
    if news is None:
        return "unknown", f"no word from {folder.job.coordinator}: does it run?"
    return news.state, describe_progress(news)


def release(visit: Visit) -> Response:
    """Sign with the person's passphrase that the analyst may have what a run made."""
    desk, person, now = visit.desk, visit.session.name, datetime.now(UTC)
    folder = desk.folder(visit.job)
    if not folder.held:
        raise LocalError("this job holds no result back here: there is nothing to release")
    fault, status = visit.web.check_passphrase(visit.request, person, visit.text("passphrase"))
    if fault:
        return show_one(visit, f"{fault}; nothing was released", status)
    try:
        desk.consent.release(folder.job, person, now, visit.text("passphrase"))
    except LocalError as error:
        return show_one(visit, str(error), 400)
    return visit.go(f"/runs/{folder.id}")


def resume(visit: Visit) -> Response:
    """Have a job of the analyst that stopped taken up again."""
    folder, analyst = visit.desk.folder(visit.job), visit.desk.analyst
    if analyst is None:
        raise LocalError(f"only {folder.job.submitter} can resume the job: ask there")
    analyst.take_up(folder.job)
    return visit.go(f"/runs/{folder.id}")


def withdraw(visit: Visit) -> Response:
    """Take a job of the analyst back."""
    folder, analyst = visit.desk.folder(visit.job), visit.desk.analyst
    if analyst is None:
        raise LocalError(f"only {folder.job.submitter} can withdraw the job: ask there")
    analyst.withdraw(folder.job, visit.text("reason"))
    return visit.go(f"/runs/{folder.id}")


VIEWS: Views = {
    ("GET", "/runs"): show_all,
    ("GET", "/runs/{job}"): show_one,
    ("POST", "/runs/{job}/release"): release,
    ("POST", "/runs/{job}/resume"): resume,
    ("POST", "/runs/{job}/withdraw"): withdraw,
}
