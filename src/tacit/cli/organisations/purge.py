"""Remove what a site keeps of jobs that are over.

That is journals, answers and shares of models. Audits stay, in the folder `audits` of the state, unless --all is given.
Registers of what was opened are never removed: they keep later jobs from opening a single party's data.

Examples: tacit purge 3fa2 --config north.toml; tacit purge --expired --yes
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.cli.options import Config, confirm
from tacit.cli.site import any_settings
from tacit.consortium.jobs.folder import PURGED, Folder
from tacit.consortium.jobs.questions import known_job
from tacit.consortium.jobs.standing import read_jobs
from tacit.consortium.site.settings import Settings
from tacit.errors import LocalError, TacitError
from tacit.report.words import count


def purge(
    job: Annotated[str | None, Argument(metavar="JOB", help="One job: its id, or the beginning of it.")] = None,
    *,
    before: Annotated[
        datetime | None, Option(metavar="DATE", formats=["%Y-%m-%d"], help="All jobs that were over before that day.")
    ] = None,
    expired: Annotated[bool, Option("--expired", help="All jobs whose retention is over.")] = False,
    everything: Annotated[bool, Option("--all", help="Remove their audits too.")] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask for confirmation.")] = False,
    config: Config = None,
) -> None:
    """Choose the jobs, ask, and remove them."""
    if [job is not None, before is not None, expired].count(True) != 1:
        raise LocalError("say what to remove: one JOB, --before DATE or --expired")
    settings = any_settings(config)
    chosen = _choose_jobs(settings, job, before)
    if not chosen:
        typer.echo(f"{settings.name}: nothing to remove")
        return
    typer.echo("\n".join(folder.id for folder in chosen))
    if not (yes or confirm(f"Remove {count(len(chosen), 'job')} of {settings.name} for good?")):
        raise LocalError("nothing was removed: say yes, or add --yes")
    _sweep(settings)
    failed = [fault for folder in chosen if (fault := _remove(settings, folder, audits=everything))]
    audits = "" if everything else f"; audits are in {settings.state / 'audits'}"
    typer.echo(f"removed {count(len(chosen) - len(failed), 'job')}{audits}")
    if failed:
        raise LocalError(f"{len(failed)} of {len(chosen)} jobs were not removed: {'; '.join(failed)}")


def _choose_jobs(settings: Settings, job: str | None, before: datetime | None) -> list[Folder]:
    found, unreadable = read_jobs(settings)
    for line in unreadable:
        typer.echo(line, err=True)
    over = [one for one in found if one.over]
    if job is not None:
        folder = known_job(settings.state, job)
        if folder.id not in {one.folder.id for one in over}:
            hint = "let it end or be refused first (see tacit status)"
            raise LocalError(f"job {folder.id} is not over at {settings.name}: {hint}")
        return [folder]
    if before is not None:
        return [one.folder for one in over if one.folder.since < before.replace(tzinfo=UTC)]
    return [one.folder for one in over if not one.folder.may_keep(datetime.now(UTC))]


def _sweep(settings: Settings) -> None:
    """Remove what an earlier purge, cut short, has left."""
    for aside in settings.state.glob(f"{PURGED}*"):
        with suppress(TacitError, OSError):  # a journal that is in use still: the next purge removes it
            Folder(aside).purge()


def _remove(settings: Settings, folder: Folder, *, audits: bool) -> str | None:
    """Remove one job; return what went wrong with it in one line, so that the others are removed."""
    kept = settings.state / "audits"
    try:
        for audit in [] if audits else folder.audits:
            kept.mkdir(exist_ok=True)
            audit.replace(kept / f"{folder.id}{audit.name.removeprefix('audit')}")
        folder.discard()
        for file in (settings.state / "consent").glob(f"{folder.id}.*"):
            file.unlink(missing_ok=True)
    except (TacitError, OSError) as error:
        return f"{folder.id}: {error}"
    return None
