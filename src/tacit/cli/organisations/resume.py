"""At the analyst: continue a stopped job, or follow one that is running.

If the job has finished, show its result, and write a public model to a file.

Example: tacit resume 3fa2 --config analyst.toml
"""

from __future__ import annotations

from tacit.cli.following import ModelOut, ReportOut, Wait, follow
from tacit.cli.options import AsJson, Config, JobId
from tacit.cli.public_model import Files, check_public
from tacit.cli.site import settings_of
from tacit.consortium.jobs.questions import known_job
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.settings import AnalystSettings


def resume(
    job: JobId,
    *,
    config: Config = None,
    model: ModelOut = None,
    report: ReportOut = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Have the job taken up again if it stopped, then follow it."""
    settings = settings_of(config, AnalystSettings)
    found = known_job(settings.state, job).job
    files = Files(model, report)
    check_public(found, files, wait=wait)
    with Analyst(settings) as analyst:
        follow(analyst, found, after=analyst.take_up(found), wait=wait, as_json=as_json, files=files)
