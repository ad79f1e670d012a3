"""Make keys at each site; at the registrar, say who is a member.

Start with: tacit keys init --consortium NAME (at the registrar), tacit keys new --name north (at each site)
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.cli.options import AsJson, confirm, show_help
from tacit.cli.output import console, print_json, table
from tacit.consortium.membership.certificate_request import Request, create, describe
from tacit.consortium.membership.identity import key_digest, matches
from tacit.consortium.membership.names import check_kind
from tacit.consortium.membership.registrar import Registrar
from tacit.errors import LocalError
from tacit.report.words import clean

keys = typer.Typer(rich_markup_mode=None)
keys.callback(invoke_without_command=True)(show_help)

HERE = Path()
Folder = Annotated[Path, Option(metavar="DIR", help="The registrar's folder.")]
Days = Annotated[int, Option(min=1, metavar="N", help="How long the certificate holds.")]
RequestFile = Annotated[Path, Argument(metavar="REQUEST", help="What `tacit keys new` wrote at the site.")]
Name = Annotated[str, Argument(metavar="NAME", help="The member's name.")]
Yes = Annotated[bool, Option("--yes", help="Do not ask: the fingerprint was compared already.")]
Typed = Annotated[str | None, Option(metavar="HEX", help="The fingerprint that the site read out, instead of asking.")]
HAND_OUT = "hand consortium.members to every site; processes that run notice it within a second"


@keys.command(epilog='Example: tacit keys init --consortium "Northern hospitals"')
def init(
    *, consortium: Annotated[str, Option(metavar="NAME", help="What the consortium is called.")], folder: Folder = HERE
) -> None:
    """At the registrar: found a consortium."""
    identity = Registrar.init(folder, consortium).identity
    typer.echo(f"the registrar of {consortium}: {identity.key_file} (back it up; it never leaves this machine)")
    typer.echo(f"fingerprint: {identity.fingerprint}")
    typer.echo(f'every site pins it in its configuration: ca_fingerprint = "{key_digest(identity.public)}"')


@keys.command(epilog="Example: tacit keys new --name clearing --kind coordinator --host clearing.example.org")
def new(
    *,
    name: Annotated[str, Option(metavar="NAME", help="1 to 32 of a-z, 0-9 and -; unique in the consortium.")],
    kind: Annotated[str, Option(metavar="KIND", help="party, coordinator or analyst (who only submits).")] = "party",
    host: Annotated[
        list[str] | None,
        Option(metavar="HOST", help="A name or address at which sites reach a coordinator; repeatable."),
    ] = None,
    folder: Annotated[Path, Option(metavar="DIR", help="Where key and request go.")] = HERE,
) -> None:
    """At a site: make a key, which stays here, and a request."""
    identity, request = create(folder, name, kind, host or [])
    typer.echo(f"private key: {identity.key_file} (it never leaves this machine)")
    typer.echo(f"send to the registrar: {request}")
    typer.echo(f"fingerprint, to be compared by phone: {identity.fingerprint}")


@keys.command(epilog="Example: tacit keys sign clearing.request --kind coordinator --days 90")
def sign(
    request: RequestFile,
    *,
    days: Days = 365,
    kind: Annotated[str | None, Option(metavar="KIND", help="What it is; party by default if nobody is asked.")] = None,
    fingerprint: Typed = None,
    yes: Yes = False,
    folder: Folder = HERE,
) -> None:
    """At the registrar: admit a new member."""
    registrar, asked = Registrar.load(folder), Request.load(request)
    asks = kind is None and not yes and fingerprint is None
    registrar.check_new(asked, asked.kind if asks else check_kind(kind or "party"))
    _compare(asked, fingerprint, yes=yes)
    registrar.sign(asked, asked.kind, days)
    _hand_back(folder, asked.name)


@keys.command(epilog="Example: tacit keys rotate north.request")
def rotate(
    request: RequestFile, *, days: Days = 365, fingerprint: Typed = None, yes: Yes = False, folder: Folder = HERE
) -> None:
    """At the registrar: let a member's new key replace the old one."""
    registrar, asked = Registrar.load(folder), Request.load(request)
    _compare(asked, fingerprint, yes=yes)
    registrar.rotate(asked, days)
    _hand_back(folder, asked.name)


@keys.command(epilog="Example: tacit keys renew north --days 365")
def renew(name: Name, *, days: Days = 365, folder: Folder = HERE) -> None:
    """At the registrar: sign a later certificate for the same key."""
    Registrar.load(folder).renew(name, days)
    _hand_back(folder, name)


@keys.command(epilog="Example: tacit keys revoke north")
def revoke(name: Name, *, folder: Folder = HERE) -> None:
    """At the registrar: end a membership."""
    Registrar.load(folder).revoke(name)
    typer.echo(f"{name} is revoked: {HAND_OUT}")


@keys.command("list", epilog="Example: tacit keys list")
def list_members(*, folder: Folder = HERE, as_json: AsJson = False) -> None:
    """At the registrar: show all members."""
    members = Registrar.load(folder).members
    rows = [(m.name, m.kind, m.state(), f"{m.not_after:%Y-%m-%d}", m.fingerprint) for m in members]
    if as_json:
        fields = ("name", "kind", "state", "until", "fingerprint")
        found = [dict(zip(fields, row, strict=True)) for row in rows]
        print_json(consortium=members.consortium, version=members.version, members=found)
    else:
        console().print(f"{members.consortium}, version {members.version}", markup=False)
        console().print(table("name", "kind", "state", "until", "fingerprint", rows=rows))


@keys.command(epilog="Example: tacit keys show north.crt")
def show(file: Annotated[Path, Argument(metavar="FILE", help="A certificate or a request.")]) -> None:
    """Show what a certificate or a request says."""
    for label, value in describe(file).items():
        typer.echo(f"{label + ':':<13} {clean(value)}")


def _compare(asked: Request, typed: str | None, *, yes: bool) -> None:
    """Go on only if the site has this key: by what it read out, or by a person's word."""
    if typed is not None:
        equal = matches(asked.public, typed)
    else:
        at = f" at {', '.join(asked.hosts)}" if asked.hosts else ""
        typer.echo(f"{asked.name} asks to be {asked.kind}{at}\nfingerprint: {asked.fingerprint}")
        equal = yes or confirm(f"Does {asked.name} read out the same fingerprint by phone?")
    if not equal:
        why = f"nobody confirmed that its site reads out {asked.fingerprint}"
        remedy = "call the site; if the fingerprints differ, ask for the request again by another way"
        raise LocalError(f"{asked.name} is not signed: {why}; {remedy}")


def _hand_back(folder: Path, name: str) -> None:
    typer.echo(f"send back to {name}: {folder / name}.crt")
    typer.echo(HAND_OUT)
