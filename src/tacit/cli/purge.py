"""`tacit purge`: remove what a site keeps of jobs that are over."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.cli.site import Config, any_settings
from tacit.consortium.settings import Settings
from tacit.errors import LocalError


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
    for path in chosen:
        _remove(settings, path, audits=everything)
    kept = "" if everything else f"; audits are in {settings.state / 'audits'}"
    typer.echo(f"removed {len(chosen)} job{'s' * (len(chosen) > 1)}{kept}")


def _chosen(settings: Settings, job: str | None, before: datetime | None) -> list[Path]:
    from tacit.cli.jobs import known_folder, standings  # noqa: PLC0415 - scikit-learn takes a second to import

    over = [one for one in standings(settings) if one.over]
    if job is not None:
        folder = known_folder(settings, job)
        if folder.id not in {one.folder.id for one in over}:
            raise LocalError(f"job {folder.id} is not over at {settings.name}: let it end or be refused first (see tacit status)")
        return [folder.path]
    if before is not None:
        return [one.folder.path for one in over if one.since < before.replace(tzinfo=UTC)]
    return [one.folder.path for one in over if not one.folder.retained(datetime.now(UTC))]


def _remove(settings: Settings, path: Path, *, audits: bool) -> None:
    from tacit.consortium.folder import Folder  # noqa: PLC0415 - as above

    audit = path / "audit.jsonl"
    if audit.exists() and not audits:
        (settings.state / "audits").mkdir(exist_ok=True)
        audit.replace(settings.state / "audits" / f"{path.name}.jsonl")
    # out of the daemon's sight first: it must not meet half a folder
    path.replace(settings.state / f".purged-{path.name}")
    for aside in settings.state.glob(".purged-*"):  # also what an earlier purge, cut short, has left
        Folder(aside).purge()
    for file in (settings.state / "consent").glob(f"{path.name}.*"):
        file.unlink(missing_ok=True)


def _confirmed(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # nobody there to answer
        typer.echo()
        return False
