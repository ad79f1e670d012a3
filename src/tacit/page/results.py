"""Results: the report of a finished job, its public model and exports, and answers where they belong."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from starlette.responses import HTMLResponse, Response

from tacit.choreo import Row
from tacit.consortium.audit.chain import Reading
from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.questions import readers_of
from tacit.consortium.jobs.record_answers import read_answers
from tacit.consortium.site.analyst import Fetched, outcome_of
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.fitted import fit_from, leaves_shares, makes_no_model
from tacit.errors import LocalError, TacitError
from tacit.models.export import SUFFIXES
from tacit.page.desk import Desk, NotHereError
from tacit.page.pictures import inline_plot
from tacit.page.visit import Views, Visit
from tacit.registry import kind_of
from tacit.report import html, plots, score_plots, search_plot
from tacit.report.evaluation import Evaluation, figures_beside, figures_of, heads_beside
from tacit.report.report import Report
from tacit.report.words import cost_of

OWN = ".tacit"  # how the file of a model of ours ends
# a report is a page of its own, with its styles in it and without any script
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


def show_all(visit: Visit) -> Response:
    """Show the jobs that finished."""
    lines = [line for line in visit.desk.list_jobs() if line.state == "finished"]
    return visit.page("results.html", lines=lines)


def show_one(visit: Visit) -> Response:
    """Show what a finished job made, and how good it is."""
    folder = visit.desk.folder(visit.job)
    job, kind = folder.job, kind_of(folder.job.protocol)
    if kind == "answers":
        return visit.page("answers.html", job=job, sites=readers_of(job), told=visit.desk.name in readers_of(job))
    fitted, fault = None, ""
    try:
        fitted = fit(visit.desk, folder)
    except TacitError as error:
        fault = str(error)
    report = None if fitted is None else fitted.report_
    return visit.page(
        "result.html",
        job=job,
        fault=fault,
        report=report,
        cost="" if report is None else cost_of(report.rounds, report.bytes, report.seconds),
        drawn=[] if report is None else draw(report),
        judged=[] if report is None else [(e, figures_of(e), *list_beside(e)) for e in report.evaluations.values()],
        shares=report is not None and leaves_shares(job),
        files=list_files(job, fitted),
    )


def list_beside(evaluation: Evaluation) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and the rows of a table of sites beside the joint model; no rows if there are none."""
    return heads_beside(evaluation), figures_beside(evaluation)


def draw(report: Report) -> list[Any]:
    """Return the plots of a report."""
    judged = [score_plots.panels(each, str(i)) for i, each in enumerate(report.evaluations.values())]
    tried = [search_plot.scores_map(report.candidates, report.metric)] if report.candidates else []
    found = [*judged, *tried, plots.history(report.history), plots.sent(report.learnt), plots.traffic(report.traffic)]
    return [inline_plot(svg) for svg in found if svg]


def list_files(job: Job, fitted: Any) -> list[str]:
    """Return the ends of the files that a model can be had as; of one in shares only its handle."""
    if fitted is None or makes_no_model(job):
        return []
    return [OWN] if leaves_shares(job) or not hasattr(fitted, "export") else [OWN, *SUFFIXES]


def fit(desk: Desk, folder: Folder) -> Any:
    """Return the model that a finished job makes, of what is public of it."""
    return desk.recent.get(folder.id, lambda: fit_from(folder.job, outcome_of(folder.job, *_read(desk, folder))))


def _read(desk: Desk, folder: Folder) -> tuple[News, Fetched]:
    """Return how a job came out and what is public of it, from this site's files or from its coordinator."""
    if desk.analyst is not None:
        news = desk.ask(folder)
        if news is None or news.state != "finished":
            raise LocalError("the job has no result yet, or its coordinator is away: try again later")
        return news, desk.analyst.result(folder.job)
    done, public = folder.finished, folder.public
    if done is None or not done.ok or public is None:
        raise LocalError("the job has no result at this site: it is not finished, or went on without it")
    reading = Reading.of(folder.path / "audit.jsonl")
    rows = tuple(Row.from_plain(_plain(entry)) for entry in reading.entries)
    figures = {name: getattr(done, name) for name in ("rounds", "bytes", "seconds", "attempt")}
    return News(job=folder.id, state="finished", **figures), Fetched(public, rows, folder.since)


def _plain(entry: Any) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in entry.__struct_fields__)


def show_report(visit: Visit) -> Response:
    """Return the whole report, as the command line writes it."""
    report: Report = fit(visit.desk, visit.desk.folder(visit.job)).report_
    return HTMLResponse(html.render(report), headers={"Content-Security-Policy": REPORT_POLICY})


def send_model(visit: Visit) -> Response:
    """Return the model as a file."""
    folder, suffix = visit.desk.folder(visit.job), f".{visit.request.path_params['suffix']}"
    fitted = fit(visit.desk, folder)
    if suffix not in list_files(folder.job, fitted):
        raise NotHereError("this job made no such file: the page of its result lists those that there are")
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / f"model{suffix}"
        if suffix == OWN:
            fitted.save(path)
        else:
            fitted.export(path)
        content = path.read_bytes()
    return visit.attach(content, f"{folder.id[:8]}{suffix}", "application/octet-stream")


def send_answers(visit: Visit) -> Response:
    """Show the answers about new records, at a site that is told them."""
    folder = visit.desk.folder(visit.job)
    head, *rows = read_answers(visit.desk.name, folder)
    return visit.page("answers_table.html", job=folder.job, head=head, rows=rows)


VIEWS: Views = {
    ("GET", "/results"): show_all,
    ("GET", "/results/{job}"): show_one,
    ("GET", "/results/{job}/report"): show_report,
    ("GET", "/results/{job}/model.{suffix}"): send_model,
    ("GET", "/results/{job}/answers"): send_answers,
}
