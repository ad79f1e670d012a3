"""`tacit withdraw`: take a job back that one submitted."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from typer import Option

from tacit.cli.services import JobId
from tacit.cli.site import Config, settings_of
from tacit.consortium.settings import AnalystSettings
from tacit.errors import LocalError, PeerError

PATIENCE = 30.0  # seconds for the coordinator to say that the job is over


def withdraw(
    job: JobId,
    *,
    reason: Annotated[str, Option(metavar="TEXT", help="Why, in one line; every site reads it.", show_default=False)] = "",
    config: Config = None,
) -> None:
    """At the analyst: take a job back, before its run or in the middle of it; it ends at every site."""
    settings = settings_of(config, AnalystSettings)
    from tacit.cli.jobs import known_job  # noqa: PLC0415 - scikit-learn takes a second to import
    from tacit.consortium.analyst import Analyst  # noqa: PLC0415 - as above
    from tacit.consortium.states import OVER  # noqa: PLC0415 - as above

    if not reason.isprintable():
        raise LocalError(f"the reason is {reason!r}: write one line of text")
    found = known_job(settings, job)
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
    raise PeerError(f"{found.roles.coordinator} has not said that job {found.id} is over: see tacit status, or withdraw it again")
