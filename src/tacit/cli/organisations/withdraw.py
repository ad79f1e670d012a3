"""At the analyst: take a job back, which ends it at every site.

A job can be withdrawn before its run or in the middle of it.

Example: tacit withdraw 3fa2 --reason "wrong cohort" --config analyst.toml
"""

from __future__ import annotations

import time
from typing import Annotated

import typer
from typer import Option

from tacit.cli.options import Config, JobId
from tacit.cli.site import settings_of
from tacit.consortium.jobs.questions import known_job
from tacit.consortium.jobs.states import OVER
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.settings import AnalystSettings
from tacit.errors import LocalError, PeerError

PATIENCE = 30.0  # seconds for the coordinator to say that the job is over


def withdraw(
    job: JobId,
    *,
    reason: Annotated[str, Option(metavar="TEXT", help="Why, in one line; every site reads it.")] = "",
    config: Config = None,
) -> None:
    """Tell the coordinator, and wait until it says that the job is over."""
    settings = settings_of(config, AnalystSettings)
    if not reason.isprintable():
        raise LocalError(f"the reason is {reason!r}: write one line of text")
    found = known_job(settings.state, job).job
    with Analyst(settings) as analyst:
        analyst.withdraw(found, reason)
        end = time.monotonic() + PATIENCE
        for news in analyst.follow(found):
            if news.state == "withdrawn":
                typer.echo(f"job {found.id} is withdrawn, and every site is told")
                return
            if news.state in OVER:
                raise PeerError(f"job {found.id} was over already, {news.state}: there is nothing to withdraw")
            if time.monotonic() > end:
                break
    silent = f"{found.coordinator} has not said that job {found.id} is over"
    raise PeerError(f"{silent}: see tacit status, or withdraw it again")
