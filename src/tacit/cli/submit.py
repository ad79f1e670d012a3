"""`tacit submit` and `tacit resume`: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tacit.cli.services import JobId
from tacit.cli.site import Config, settings_of
from tacit.consortium.settings import AnalystSettings

AsJson = Annotated[bool, Option("--json", help="Print how it came out as one JSON object.")]
Wait = Annotated[bool, Option("--wait/--no-wait", help="Follow the job to its end.")]


def submit(
    job: Annotated[Path, Argument(metavar="JOB.toml", help="What to train between whom, and why.", show_default=False)],
    *,
    config: Config = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """At the analyst: propose a job, and follow it to its end."""
    settings = settings_of(config, AnalystSettings)
    from tacit.cli import submitting  # noqa: PLC0415 - scikit-learn takes a second to import: only who submits waits

    submitting.submit(settings, job, wait=wait, as_json=as_json)


def resume(job: JobId, *, config: Config = None, wait: Wait = True, as_json: AsJson = False) -> None:
    """At the analyst: have a stopped job taken up again, or follow one that goes on."""
    settings = settings_of(config, AnalystSettings)
    from tacit.cli import submitting  # noqa: PLC0415 - as above

    submitting.resume(settings, job, wait=wait, as_json=as_json)
