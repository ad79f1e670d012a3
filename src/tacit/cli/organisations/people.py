"""Let people choose the passphrases with which they log in to a site's page and sign their decisions.

Example: tacit people add dr-lee --config north.toml
"""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from tacit.cli.options import Config
from tacit.cli.passphrases import Secret, read_passphrase
from tacit.cli.site import any_settings
from tacit.report.words import listing

people = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Manage who may log in and sign decisions.")


@people.command(epilog="Example: tacit people add dr-lee --config north.toml")
def add(
    ctx: typer.Context,
    name: Annotated[str, Argument(metavar="NAME", help="Who chooses a passphrase; a policy says who may decide.")],
    *,
    secret: Secret = None,
    config: Config = None,
) -> None:
    """Let a person choose a passphrase, which signs what they decide."""
    from tacit.consortium.consent.people import Approvers

    settings = any_settings(config or ctx.obj)
    Approvers(settings.state / "approvers").add(name, read_passphrase(name, secret, new=True))
    typer.echo(f"{name} logs in at {settings.name} with this passphrase from now on")


@people.command("list", epilog="Example: tacit people list --config north.toml")
def list_people(ctx: typer.Context, *, config: Config = None) -> None:
    """Show who has a passphrase here."""
    from tacit.consortium.consent.people import Approvers

    settings = any_settings(config or ctx.obj)
    names = Approvers(settings.state / "approvers").names()
    typer.echo(f"{settings.name}: {listing(names) or 'nobody has a passphrase yet'}")
