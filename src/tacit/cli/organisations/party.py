"""At a hospital: wait for proposals, and say yes or no to them.

Without a command: dial out, wait for proposals, take part in what was accepted.

Example: tacit party --config north.toml
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from typer import Argument, Option

from tacit.cli.options import AsJson, Config, JobId, Page
from tacit.cli.organisations.people import people
from tacit.cli.output import check_targets, console, csv_of, print_json, table
from tacit.cli.passphrases import Secret, read_passphrase
from tacit.cli.site import serve, settings_of
from tacit.consortium.site.settings import PartySettings
from tacit.errors import LocalError
from tacit.files import write_whole

if TYPE_CHECKING:
    from tacit.consortium.consent.people import Consent, Pending

party = typer.Typer(rich_markup_mode=None)
party.add_typer(people, name="people")
Person = Annotated[str, Option("--as", metavar="NAME", help="Who decides: one of the policy's approvers.")]


@party.callback(invoke_without_command=True)
def start(ctx: typer.Context, *, config: Config = None, page: Page = None) -> None:
    """Run until told to stop, unless a command follows."""
    ctx.obj = config
    if ctx.invoked_subcommand is None:
        from tacit.consortium.site.daemon import run_party

        serve(config, PartySettings, run_party, page)


@party.command(epilog="Example: tacit party register --config north.toml")
def register(ctx: typer.Context, *, config: Config = None, as_json: AsJson = False) -> None:
    """Show what was revealed of the records here, and how many studies are left."""
    from tacit.consortium.consent.bill import bill
    from tacit.consortium.consent.policy import Policy
    from tacit.consortium.consent.register import Register

    settings = settings_of(config or ctx.obj, PartySettings)
    kept = Register(settings.state / "registers")
    if as_json:
        print_json(
            party=settings.name, entries=msgspec.to_builtins(kept.entries()), head=msgspec.to_builtins(kept.head())
        )
        return
    for heading, lines in bill(kept, Policy.from_toml(settings.policy), datetime.now(UTC)):
        console().print(heading, style="bold", markup=False)
        console().print(table("", "", rows=lines))


@party.command(epilog="Example: tacit party pending --config north.toml")
def pending(
    ctx: typer.Context,
    *,
    details: Annotated[bool, Option("--details", help="Show every parameter, and each fact in full.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show the jobs that wait for people, and what they would reveal."""
    settings = settings_of(config or ctx.obj, PartySettings)
    waiting, damaged = _consent(settings).list_pending(datetime.now(UTC))
    if as_json:
        from tacit.consortium.consent.proposals import in_json

        jobs = [in_json(one, settings.name) for one in waiting]
        print_json(party=settings.name, pending=jobs, damaged=damaged)
        return
    for line in damaged:
        typer.echo(line, err=True)
    if not waiting:
        typer.echo(f"{settings.name}: no job waits for people")
    for one in waiting:
        _print_pending(one, settings.name, details=details)


@party.command(epilog="Example: tacit party asked --config north.toml")
def asked(ctx: typer.Context, *, config: Config = None, as_json: AsJson = False) -> None:
    """Show which jobs were tried on the data of this site, and for whom."""
    from tacit.consortium.consent.asked import Asked

    settings = settings_of(config or ctx.obj, PartySettings)
    lines = list(Asked(settings.state / "registers").lines())
    if as_json:
        print_json(party=settings.name, asked=msgspec.to_builtins(lines))
    elif not lines:
        typer.echo(f"{settings.name}: no job was tried on the data here")
    else:
        rows = [(f"{x.at:%Y-%m-%d %H:%M}", x.submitter, x.job[:8], x.about, x.answer, x.found) for x in lines]
        console().print(table("when (UTC)", "submitter", "job", "about", "answer", "what did not fit", rows=rows))


@party.command(epilog="Example: tacit party approve 3fa2 --as dr-lee --config north.toml")
def approve(ctx: typer.Context, job: JobId, *, person: Person, secret: Secret = None, config: Config = None) -> None:
    """Say yes to a job, for one approver."""
    settings = settings_of(config or ctx.obj, PartySettings)
    consent, now = _consent(settings), datetime.now(UTC)
    _print_decision(settings.name, consent.approve(job, person, now, _ask_approver(consent, job, person, secret)))


@party.command(epilog="Example: tacit party approver dr-lee --config north.toml")
def approver(
    ctx: typer.Context,
    name: Annotated[str, Argument(metavar="NAME", help="One of the policy's approvers.")],
    *,
    secret: Secret = None,
    config: Config = None,
) -> None:
    """Let an approver choose a passphrase; decisions in that name need it."""
    settings = settings_of(config or ctx.obj, PartySettings)
    consent = _consent(settings)
    consent.check_named(name)
    consent.approvers.add(name, read_passphrase(name, secret, new=True))
    typer.echo(f"{name} decides at {settings.name} with this passphrase from now on")


@party.command(epilog="Example: tacit party withdraw 3fa2 --as dr-lee --config north.toml")
def withdraw(ctx: typer.Context, job: JobId, *, person: Person, secret: Secret = None, config: Config = None) -> None:
    """Take an approval back, until the job's run starts."""
    from tacit.consortium.jobs.folder import folder_of

    settings = settings_of(config or ctx.obj, PartySettings)
    consent = _consent(settings)
    found = consent.look(job, datetime.now(UTC)).job
    if folder_of(settings.state, found.id).start is not None:
        raise LocalError(f"job {found.id} has started: ask {found.submitter} to withdraw it (tacit withdraw)")
    passphrase = _ask_approver(consent, job, person, secret)
    _print_decision(settings.name, consent.withdraw(found.id, person, datetime.now(UTC), passphrase))


@party.command(
    epilog='Example: tacit party refuse 3fa2 --as dpo --reason "no legal basis for research" --config north.toml'
)
def refuse(
    ctx: typer.Context,
    job: JobId,
    *,
    person: Person,
    reason: Annotated[str, Option(metavar="TEXT", help="Why, in one line; the submitter reads it.")],
    secret: Secret = None,
    config: Config = None,
) -> None:
    """Say no to a job: one approver is enough."""
    settings = settings_of(config or ctx.obj, PartySettings)
    consent, now = _consent(settings), datetime.now(UTC)
    passphrase = _ask_approver(consent, job, person, secret)
    _print_decision(settings.name, consent.refuse(job, person, reason, now, passphrase))


@party.command(epilog="Example: tacit party release 3fa2 --as dr-lee --config north.toml")
def release(ctx: typer.Context, job: JobId, *, person: Person, secret: Secret = None, config: Config = None) -> None:
    """Let the analyst have what a run made, where the policy holds results back until somebody does."""
    from tacit.consortium.jobs.questions import known_job

    settings = settings_of(config or ctx.obj, PartySettings)
    consent, folder = _consent(settings), known_job(settings.state, job)
    if not folder.held:
        raise LocalError(f"job {folder.id} holds no result back here: there is nothing to release")
    consent.check_named(person)
    consent.release(folder.job, person, datetime.now(UTC), read_passphrase(person, secret))
    left = "its analyst gets the result" if not consent.holds(folder.job) else "others have to release it too"
    typer.echo(f"{person} released what job {folder.id} made: {left}")


@party.command(epilog="Example: tacit party answers 3fa2 --out answers.csv --config north.toml")
def answers(
    ctx: typer.Context,
    job: JobId,
    *,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write them there, as CSV, for your eyes only.")] = None,
    config: Config = None,
) -> None:
    """Show the answers about new records that this hospital asked for."""
    from tacit.consortium.jobs.questions import known_job
    from tacit.consortium.jobs.record_answers import read_answers
    from tacit.report.words import count

    settings = settings_of(config or ctx.obj, PartySettings)
    check_targets({"--out": out}, [])
    lines = read_answers(settings.name, known_job(settings.state, job))
    if out is None:
        typer.echo(csv_of(lines), nl=False)
        return
    write_whole(out, csv_of(lines).encode(), "the answers", private=True)
    typer.echo(f"answers about {count(len(lines) - 1, 'record')} written to {out}")


def _ask_approver(consent: Consent, job: str, person: str, secret: Path | None) -> str:
    """Return the passphrase of a person who may decide about a job that waits."""
    consent.check_named(person)
    consent.look(job, datetime.now(UTC))
    return read_passphrase(person, secret)


def _consent(settings: PartySettings) -> Consent:
    from tacit.consortium.consent.people import Consent
    from tacit.consortium.consent.policy import Policy

    return Consent(settings.state / "consent", Policy.from_toml(settings.policy), settings.name)


def _print_pending(one: Pending, site: str, *, details: bool) -> None:
    from tacit.consortium.consent.proposals import brief, in_sections
    from tacit.report.words import listing

    screen, name = console(), one.job.id[:8]
    screen.print(f"job {one.job.id}", style="bold", markup=False)
    for heading, lines in brief(one, site):
        if len(lines) == 1:
            screen.print(f"\n{heading}: {lines[0]}", markup=False, highlight=False)
            continue
        screen.print(f"\n{heading}", style="bold", markup=False)
        for line in lines:
            screen.print(f"- {line}", markup=False, highlight=False)
    screen.print(
        f"\napproved by {listing(one.approved) or 'nobody'} ({len(one.approved)} of {one.needed})", markup=False
    )
    if details:
        for title, rows in in_sections(one, site):
            screen.print(f"\n{title}", style="bold", markup=False)
            screen.print(table("", "", rows=rows))
    else:
        more = "every parameter, and each fact in full: tacit party pending --details"
        screen.print(f"\n{more}", style="dim", markup=False)
    choice = f"tacit party approve {name} --as NAME    or: tacit party refuse {name} --as NAME --reason TEXT\n"
    screen.print(choice, style="dim", markup=False, soft_wrap=True)


def _print_decision(site: str, one: Pending) -> None:
    from tacit.report.words import count

    more = count(one.needed - len(one.approved), "more approver")
    still = f": {more} must agree" if one.state == "waiting" else ""
    typer.echo(f"job {one.job.id} is {one.state} at {site}{still}")
