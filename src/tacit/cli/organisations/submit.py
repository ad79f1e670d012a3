"""At the analyst: propose a job, and follow it to its end.

A public model can be written to a file, for tacit predict. If the model is in shares, each site keeps its share, and
the file only serves to ask the sites for predictions.

Example: tacit submit job.toml --model model.tacit --config analyst.toml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from tacit.cli.following import ModelOut, ReportOut, Wait, follow
from tacit.cli.options import AsJson, Config
from tacit.cli.output import console, table
from tacit.cli.public_model import Files, check_public
from tacit.cli.site import settings_of
from tacit.consortium.consent.proposals import opened_by
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.settings import AnalystSettings
from tacit.report.words import count, human_bytes, listing


def submit(
    job: Annotated[Path, Argument(metavar="JOB.toml", help="What to train between whom, and why.")],
    *,
    config: Config = None,
    model: ModelOut = None,
    report: ReportOut = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Propose the job of a file."""
    settings = settings_of(config, AnalystSettings)
    made = job_of_file(job, submitter=settings.name, state=settings.state)
    files = Files(model, report)
    check_public(made, files, wait=wait)
    if not as_json:
        _print_proposal(made)
    with Analyst(settings) as analyst:
        analyst.submit(made)
        follow(analyst, made, wait=wait, as_json=as_json, files=files)


def _print_proposal(job: Job) -> None:
    rows = [
        ("protocol", f"{job.protocol} between {listing(job.parties)}, coordinated by {job.coordinator}"),
        ("purpose", f"{job.purpose} ({job.legal_basis})"),
        ("kept", f"results are kept {job.retention_days} days"),
    ]
    if job.cost:
        busiest = human_bytes(max(job.cost.bytes.values()))
        rows.append(("estimate", f"{count(job.cost.rounds, 'round')}, {busiest} at the busiest site"))
    rows += [(f"opens to {who}", what) for who, what in opened_by(job)]
    rows += [("warning", line) for line in concerns(job)]
    console().print(f"job {job.id}", style="bold", markup=False)
    console().print(table("", "", rows=rows))
