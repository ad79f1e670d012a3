"""`tacit purge`: remove what a site keeps of jobs that are over."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tacit.cli.site import Config, any_settings
from tacit.consortium.settings import Settings
from tacit.errors import LocalError, TacitError

if TYPE_CHECKING:
    from tacit.cli.jobs import Standing


def purge(
    job: Annotated[str | None, Argument(metavar="[JOB]", help="One job: its id, or the beginning of it.", show_default=False)] = None,
    *,
    before: Annotated[
        datetime | None, Option(metavar="DATE", formats=["%Y-%m-%d"], help="All jobs that were over before that day.", show_default=False)
    ] = None,
    expired: Annotated[bool, Option("--expired", help="All jobs whose retention is over.")] = False,
    everything: Annotated[bool, Option("--all", help="Their audits too.")] = False,
    yes: Annotated[bool, Option("--yes", help="Ask nothing.")] = False,
    config: Config = None,
) -> None:
    """Remove journals, answers and shares of models of jobs that are over.

    Audits stay, in the folder `audits` of the state, unless --all is given. Registers of what was opened are never
    removed: they keep later jobs from opening a single party's data.
    """
    if [job is not None, before is not None, expired].count(True) != 1:
        raise LocalError("say what to remove: one JOB, --before DATE or --expired")
    settings = any_settings(config)
    chosen = _chosen(settings, job, before)
    if not chosen:
        typer.echo(f"{settings.name}: nothing to remove")
        return
    for path in chosen:
        typer.echo(path.name)
    if not (yes or _confirmed(f"Remove {len(chosen)} job{'s' * (len(chosen) > 1)} of {settings.name} for good?")):
        raise LocalError("nothing was removed: say yes, or add --yes")
    _sweep(settings)
    failed = [told for path in chosen if (told := _tried(settings, path, audits=everything))]
    removed, kept = len(chosen) - len(failed), "" if everything else f"; audits are in {settings.state / 'audits'}"
    typer.echo(f"removed {removed} job{'s' * (removed != 1)}{kept}")
    if failed:
        raise LocalError(f"{len(failed)} of {len(chosen)} jobs were not removed: {'; '.join(failed)}")


def _chosen(settings: Settings, job: str | None, before: datetime | None) -> list[Path]:
    from tacit.cli.jobs import known_folder, readable  # noqa: PLC0415 - scikit-learn takes a second to import

    found, unreadable = readable(settings)
    for line in unreadable:
        typer.echo(line, err=True)
    over = [one for one in found if one.over]
    if job is not None:
        folder = known_folder(settings, job)
        if folder.id not in {one.folder.id for one in over}:
            raise LocalError(f"job {folder.id} is not over at {settings.name}: let it end or be refused first (see tacit status)")
        return [folder.path]
    if before is not None:
        return [one.folder.path for one in over if one.since < before.replace(tzinfo=UTC)]
    return [one.folder.path for one in over if _past(one, datetime.now(UTC))]


def _past(one: Standing, now: datetime) -> bool:
    """Whether a job's retention is over; one that goes beyond the end of time is not."""
    try:
        return not one.folder.retained(now)
    except OverflowError:
        return False


def _tried(settings: Settings, path: Path, *, audits: bool) -> str | None:
    """Remove one job; what went wrong with it, in one line, so that the others are removed."""
    try:
        _remove(settings, path, audits=audits)
    except (TacitError, OSError) as error:
        return f"{path.name}: {error}"
    return None


def _sweep(settings: Settings) -> None:
    """Remove what an earlier purge, cut short, has left."""
    from tacit.consortium.folder import PURGED, Folder  # noqa: PLC0415 - as above

    for aside in settings.state.glob(f"{PURGED}*"):
        with suppress(TacitError, OSError):  # a journal that is in use still: the next purge removes it
            Folder(aside).purge()


def _remove(settings: Settings, path: Path, *, audits: bool) -> None:
    from tacit.consortium.folder import Folder  # noqa: PLC0415 - as above

    for audit in [] if audits else Folder(path).audits:
        (settings.state / "audits").mkdir(exist_ok=True)
        audit.replace(settings.state / "audits" / f"{path.name}{audit.name.removeprefix('audit')}")
    Folder(path).discard()
    for file in (settings.state / "consent").glob(f"{path.name}.*"):
        file.unlink(missing_ok=True)


def _confirmed(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # nobody there to answer
        typer.echo()
        return False
