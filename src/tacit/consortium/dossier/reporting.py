"""The report of a run from the files of one site: that of the model which it made, as its analyst reads it."""

from __future__ import annotations

import msgspec

from tacit.choreo.ledger import Ledger, Row, read_opened
from tacit.consortium.audit.chain import Reading
from tacit.consortium.jobs.answers import Finished
from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.site.analyst import Fetched, outcome_of
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.fitted import fit_from
from tacit.errors import TacitError
from tacit.report import Report
from tacit.report.disclosures import traffic
from tacit.study.gate import GATE, is_withheld


def make_report(job: Job, folder: Folder, chain: Reading, ended: Finished | None) -> Report:
    """Return the report of the model that a job made; of a job that made none, what its ledger says."""
    rows = tuple(Row.from_plain(msgspec.structs.astuple(entry)) for entry in chain.entries)
    found = _of_model(job, folder, rows, ended) or _of_run(job, rows, ended)
    told = {} if folder.public is None else vars(folder.public)["values"]
    if found.release is None and is_withheld(told):  # an analyst has no model, and knows why
        found.release = told[GATE].release
    return found


def _of_model(job: Job, folder: Folder, rows: tuple[Row, ...], ended: Finished | None) -> Report | None:
    public = folder.public
    if public is None or ended is None or not ended.ok:
        return None
    news = News(job=job.id, state="finished", rounds=ended.rounds, bytes=ended.bytes, seconds=ended.seconds)
    try:
        fitted = fit_from(job, outcome_of(job, news, Fetched(public, rows, folder.since)))
    except TacitError:  # an alignment, answers, or a job that no estimator asks for
        return None
    found = getattr(fitted, "report_", None)
    return found if isinstance(found, Report) else None


def _of_run(job: Job, rows: tuple[Row, ...], ended: Finished | None) -> Report:
    ledger = Ledger(list(rows), read_opened(job.disclosure))
    return Report(
        title=f"{job.protocol} between {len(job.parties)} parties",
        estimator=job.protocol,
        params=job.arguments,
        partition=job.partition,
        runtime="nats",
        protection="as the facts below say",
        parties={
            site: "its own data" if site in job.parties else "no data; coordinates" for site in job.roster.parties
        },
        rounds=ledger.rounds,
        seconds=0.0 if ended is None else ended.seconds,
        cpu={},
        bytes=ledger.bytes,
        traffic=traffic(ledger),
        opens=ledger.opens,
        learnt=ledger.learnt(),
        warnings=concerns(job),
    )
