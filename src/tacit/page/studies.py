"""Studies: an analyst composes one, sees what it would open and cost, and proposes it."""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.responses import HTMLResponse, Response

from tacit.choreo.protocol import COLUMNS
from tacit.consortium.advice import Advice, advising
from tacit.consortium.advice.advising import GRAVITY
from tacit.consortium.advice.federations import invent
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.consent.unusual import unusual
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.settings import AnalystSettings, Partition
from tacit.errors import LocalError, TacitError
from tacit.files import write_whole
from tacit.page.desk import Desk
from tacit.page.pictures import draw_coalitions
from tacit.page.readers import describe_fact, is_grave, list_readers
from tacit.page.recent import SupersededError
from tacit.page.study_form import (
    PARTITIONS,
    Chosen,
    check_file_name,
    describe_split,
    list_estimators,
    write_params,
    write_study,
)
from tacit.page.visit import Views, Visit
from tacit.study.steps import draw_seed

FILE = "study.toml"
NO_CONTENT = 204
STRATEGIES = ("median", "mean", "most_frequent")


def show(visit: Visit, chosen: Chosen | None = None, fault: str = "", done: str = "", status: int = 200) -> Response:
    """Show the form."""
    desk = visit.desk
    return visit.page(
        "study.html",
        status,
        chosen=chosen or begin(desk),
        fault=fault,
        done=done,
        hospitals=[member.name for member in desk.members.of_kind("party")],
        coordinators=[member.name for member in desk.members.of_kind("coordinator")],
        partitions=PARTITIONS,
        estimators=list_estimators(),
        strategies=STRATEGIES,
    )


def begin(desk: Desk) -> Chosen:
    """Return what the form begins with: the terms of the configuration, where it has some."""
    known = desk.settings.study if isinstance(desk.settings, AnalystSettings) else None
    terms: dict[str, Any] = {"dataset": "", "purpose": "", "legal_basis": "", "parties": (), "coordinator": ""}
    terms |= {"partition": "horizontal", "retention_days": 30, "labeller": None, "aligned": False}
    if known is not None:
        terms = {name: getattr(known, name) for name in terms}
    terms |= {"retention_days": str(terms["retention_days"]), "labeller": terms["labeller"] or ""}
    model: dict[str, Any] = {"estimator": "SVC", "params": "", "grid": "", "rows": ""}
    model |= {"gaps": "", "units": True, "judge": True}
    return Chosen(name="study", seed=str(draw_seed()), **model, **terms)


def preview(visit: Visit) -> Response:
    """Return what the study would open and cost, as a part of the page."""
    chosen, session = _read(visit), visit.session
    session.previews = number = session.previews + 1
    text = fault = ""
    job = None
    try:
        text = write_study(chosen)
        job = make_job(visit.desk, write_study(drop_words(chosen)), lambda: session.previews == number)
    except TacitError as error:
        fault = str(error)
    except SupersededError:
        return Response(status_code=NO_CONTENT)
    shown = visit.web.templates.get_template("preview.html").render(
        text=text,
        fault=fault,
        job=job,
        first=[] if job is None else unusual(job),
        readers=[] if job is None else list_readers(job, messages=False),
        coalitions=[] if job is None else draw_coalitions(job, exposures_of(job)),
        describe=describe_fact,
        grave=is_grave,
    )
    return HTMLResponse(shown, headers={"X-Fragment": "preview"})


def advise(visit: Visit) -> Response:
    """Return which methods fit the sites and records that were chosen, the best first, as a part of the page."""
    chosen, found, fault = _read(visit), None, ""
    try:
        partition, parties, records = describe_split(chosen)
        key = f"advice {partition} {parties} {records}"
        found = visit.desk.recent.get(key, lambda: ask(partition, parties, records))
    except TacitError as error:
        fault = str(error)
    shown = visit.web.templates.get_template("advice.html").render(
        found=found, fault=fault, gravity=GRAVITY, write_params=write_params
    )
    return HTMLResponse(shown, headers={"X-Fragment": "advice"})


def ask(partition: Partition, parties: int, records: int | None) -> Advice:
    """Return what the advisor says of records that are split so."""
    return advising.advise(invent(partition, parties, max(COLUMNS, parties)), records=records)


def drop_words(chosen: Chosen) -> Chosen:
    """Return the study without what changes nothing of what it opens, so that typing a purpose rehearses nothing."""
    return dataclasses.replace(chosen, purpose="a preview", legal_basis="a preview", dataset="preview")


def make_job(desk: Desk, text: str, wanted: Callable[[], bool] = lambda: True) -> Job:
    """Return the job of a study, rehearsed; the same text is rehearsed once."""

    def rehearse() -> Job:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / FILE
            file.write_text(text, encoding="utf-8")
            return job_of_file(file, submitter=desk.name, state=desk.state)

    found: Job = desk.recent.get(hashlib.sha256(text.encode()).hexdigest(), rehearse, wanted)
    return found


def send(visit: Visit) -> Response:
    """Write the study to its file, and propose it if that is asked for."""
    desk, chosen = visit.desk, _read(visit)
    try:
        file = desk.state / "studies" / f"{check_file_name(chosen.name)}.toml"
        text = write_study(chosen)
        if visit.text("act") == "save":
            _keep(file, text)
            return show(visit, chosen, done=f"written to {file}; tacit submit {file} proposes it")
        if desk.analyst is None:
            raise LocalError("this site proposes nothing: open the page of an analyst")
        job = make_job(desk, text)
        _keep(file, text)
        desk.analyst.submit(job)
    except TacitError as error:
        return show(visit, chosen, str(error), status=400)
    return visit.go(f"/runs/{job.id}")


def _keep(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode(), "the study")


def _read(visit: Visit) -> Chosen:
    parties = [name for name in visit.form.getlist("parties") if isinstance(name, str)]
    return Chosen.read(visit.text, parties)


VIEWS: Views = {
    ("GET", "/study"): show,
    ("POST", "/study"): send,
    ("POST", "/study/preview"): preview,
    ("POST", "/study/advice"): advise,
}
