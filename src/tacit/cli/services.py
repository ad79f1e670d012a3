"""`tacit coordinator` and `tacit party`: processes that run until they are told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.cli.site import Config, settings_of
from tacit.consortium.logs import setup_logging
from tacit.consortium.settings import CoordinatorSettings, PartySettings

party = typer.Typer(rich_markup_mode=None, help="At a hospital: wait for proposals, and say yes or no to them.")
JobId = Annotated[str, Argument(metavar="JOB", help="The job's id, or the beginning of it.", show_default=False)]
Person = Annotated[str, Option("--as", metavar="NAME", help="Who decides: one of the policy's approvers.", show_default=False)]


def coordinator(*, config: Config = None) -> None:
    """At the clearing house: start the server and coordinate jobs."""
    settings = settings_of(config, CoordinatorSettings)
    from tacit.consortium.daemon import run_coordinator, stopping  # noqa: PLC0415 - numpy and scikit-learn take a second to import

    setup_logging(settings.log_format, site=settings.name)
    run_coordinator(settings, stopping())


@party.callback(invoke_without_command=True, epilog="Example: tacit party --config north.toml")
def serve(ctx: typer.Context, *, config: Config = None) -> None:
    """At a hospital: dial out, wait for proposals, take part in what was accepted."""
    ctx.obj = config
    if ctx.invoked_subcommand is None:
        settings = settings_of(config, PartySettings)
        from tacit.consortium.daemon import run_party, stopping  # noqa: PLC0415 - as above

        setup_logging(settings.log_format, site=settings.name)
        run_party(settings, stopping())


@party.command(epilog="Example: tacit party pending --config north.toml")
def pending(
    ctx: typer.Context,
    *,
    config: Config = None,
    as_json: Annotated[bool, Option("--json", help="Print the jobs as one JSON object.")] = False,
) -> None:
    """Show the jobs that wait for people here, and what each would open."""
    from tacit.cli import consenting  # noqa: PLC0415 - as above

    consenting.show(settings_of(config or ctx.obj, PartySettings), as_json=as_json)


@party.command(epilog="Example: tacit party asked --config north.toml")
def asked(
    ctx: typer.Context,
    *,
    config: Config = None,
    as_json: Annotated[bool, Option("--json", help="Print all of it as one JSON object.")] = False,
) -> None:
    """Show which jobs were tried on the data here, for whom, and what was answered."""
    from tacit.cli import consenting  # noqa: PLC0415 - as above

    consenting.show_asked(settings_of(config or ctx.obj, PartySettings), as_json=as_json)


@party.command(epilog="Example: tacit party approve 3fa2 --as dr-lee --config north.toml")
def approve(ctx: typer.Context, job: JobId, *, person: Person, config: Config = None) -> None:
    """Say yes to a job, for one approver."""
    from tacit.cli import consenting  # noqa: PLC0415 - as above

    consenting.approve(settings_of(config or ctx.obj, PartySettings), job, person)


@party.command(epilog='Example: tacit party refuse 3fa2 --as dpo --reason "no legal basis for research" --config north.toml')
def refuse(
    ctx: typer.Context,
    job: JobId,
    *,
    person: Person,
    reason: Annotated[str, Option(metavar="TEXT", help="Why, in one line; the submitter reads it.", show_default=False)],
    config: Config = None,
) -> None:
    """Say no to a job: one approver is enough."""
    from tacit.cli import consenting  # noqa: PLC0415 - as above

    consenting.refuse(settings_of(config or ctx.obj, PartySettings), job, person, reason)


@party.command(epilog="Example: tacit party answers 3fa2 --out answers.csv --config north.toml")
def answers(
    ctx: typer.Context,
    job: JobId,
    *,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write them there, as CSV, for your eyes only.", show_default=False)] = None,
    config: Config = None,
) -> None:
    """Show what a model answered about new records, where this hospital asked."""
    from tacit.cli import answering  # noqa: PLC0415 - as above

    answering.show(settings_of(config or ctx.obj, PartySettings), job, out)
