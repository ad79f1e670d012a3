"""`tacit keys`: who is a member of a consortium, and with which key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.consortium.identity import key_digest, matches
from tacit.consortium.names import check_kind
from tacit.consortium.registrar import Registrar
from tacit.consortium.request import Request, create, described
from tacit.errors import LocalError

keys = typer.Typer(
    rich_markup_mode=None,
    help="Make keys at each site (`new`); at the registrar, say who is a member.",
    epilog="Start with: tacit keys init --consortium NAME (at the registrar), tacit keys new --name north (at each site)",
)

HERE = Path()
Folder = Annotated[Path, Option(metavar="DIR", help="The registrar's folder.")]
Days = Annotated[int, Option(min=1, metavar="N", help="How long the certificate holds.")]
RequestFile = Annotated[Path, Argument(metavar="REQUEST", help="What `tacit keys new` wrote at the site.", show_default=False)]
Name = Annotated[str, Argument(metavar="NAME", help="The member's name.", show_default=False)]
Yes = Annotated[bool, Option("--yes", help="Ask nothing: the fingerprint was compared already.")]
Typed = Annotated[str | None, Option(metavar="HEX", help="The fingerprint that the site read out; no question if it is equal.")]
HAND_OUT = "hand consortium.members to every site; processes that run notice it within a second"


@keys.callback(invoke_without_command=True)
def root(ctx: typer.Context) -> None:
    """Without a command: the help."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@keys.command(epilog='Example: tacit keys init --consortium "Northern hospitals"')
def init(
    *,
    consortium: Annotated[str, Option(metavar="NAME", help="What the consortium is called.", show_default=False)],
    folder: Folder = HERE,
) -> None:
    """At the registrar: found a consortium."""
    identity = Registrar.init(folder, consortium).identity
    typer.echo(f"the registrar of {consortium}: {identity.key_file} (back it up; it never leaves this machine)")
    typer.echo(f"fingerprint: {identity.fingerprint}")
    typer.echo(f'every site pins it in its configuration: ca_fingerprint = "{key_digest(identity.public)}"')


@keys.command(epilog="Examples: tacit keys new --name north; tacit keys new --name clearing --kind coordinator --host clearing.example.org")
def new(
    *,
    name: Annotated[str, Option(metavar="NAME", help="1 to 32 of a-z, 0-9 and -; unique in the consortium.", show_default=False)],
    kind: Annotated[str, Option(metavar="KIND", help="party, coordinator or analyst (who may submit and nothing else).")] = "party",
    host: Annotated[
        list[str] | None, Option(metavar="HOST", help="Where sites reach a coordinator: a host name or an address; repeatable.")
    ] = None,
    folder: Annotated[Path, Option(metavar="DIR", help="Where key and request go.")] = HERE,
) -> None:
    """At a site: make a key, which stays here, and a request for the registrar."""
    identity, request = create(folder, name, kind, host or [])
    typer.echo(f"private key: {identity.key_file} (it never leaves this machine)")
    typer.echo(f"send to the registrar: {request}")
    typer.echo(f"fingerprint, to be compared by phone: {identity.fingerprint}")


@keys.command(epilog="Examples: tacit keys sign north.request; tacit keys sign clearing.request --kind coordinator --days 90")
def sign(
    request: RequestFile,
    *,
    days: Days = 365,
    kind: Annotated[str | None, Option(metavar="KIND", help="What the registrar takes it for; needed where nothing is asked.")] = None,
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
    request: RequestFile,
    *,
    days: Days = 365,
    fingerprint: Typed = None,
    yes: Yes = False,
    folder: Folder = HERE,
) -> None:
    """At the registrar: give a member's name to its new key, and revoke the old one."""
    registrar, asked = Registrar.load(folder), Request.load(request)
    _compare(asked, fingerprint, yes=yes)
    registrar.rotate(asked, days)
    _hand_back(folder, asked.name)


@keys.command(epilog="Example: tacit keys renew north --days 365")
def renew(name: Name, *, days: Days = 365, folder: Folder = HERE) -> None:
    """At the registrar: a later certificate for the same key."""
    Registrar.load(folder).renew(name, days)
    _hand_back(folder, name)


@keys.command(epilog="Example: tacit keys revoke north")
def revoke(name: Name, *, folder: Folder = HERE) -> None:
    """At the registrar: end a membership."""
    Registrar.load(folder).revoke(name)
    typer.echo(f"{name} is revoked: {HAND_OUT}")


@keys.command("list", epilog="Example: tacit keys list")
def list_members(
    *, folder: Folder = HERE, as_json: Annotated[bool, Option("--json", help="Print the members as one JSON object.")] = False
) -> None:
    """At the registrar: show all members."""
    from tacit.cli.output import console, print_json, table  # noqa: PLC0415 - rich takes time to import: only who needs a table waits

    members = Registrar.load(folder).members
    rows = [(m.name, m.kind, m.state(), f"{m.not_after:%Y-%m-%d}", m.fingerprint) for m in members]
    if as_json:
        fields = ("name", "kind", "state", "until", "fingerprint")
        found = [dict(zip(fields, row, strict=True)) for row in rows]
        print_json({"consortium": members.consortium, "version": members.version, "members": found})
    else:
        console().print(f"{members.consortium}, version {members.version}", markup=False)
        console().print(table("name", "kind", "state", "until", "fingerprint", rows=rows))


@keys.command(epilog="Example: tacit keys show north.crt")
def show(file: Annotated[Path, Argument(metavar="FILE", help="A certificate or a request.", show_default=False)]) -> None:
    """What a certificate or a request says."""
    from tacit.report.words import clean  # noqa: PLC0415 - as above

    for label, value in described(file).items():
        typer.echo(f"{label + ':':<13} {clean(value)}")


def _compare(asked: Request, typed: str | None, *, yes: bool) -> None:
    """Go on only if the site has this key: by what it read out, or by a person's word."""
    if typed is not None:
        equal = matches(asked.public, typed)
    else:
        at = f" at {', '.join(asked.hosts)}" if asked.hosts else ""
        typer.echo(f"{asked.name} asks to be {asked.kind}{at}\nfingerprint: {asked.fingerprint}")
        equal = yes or _confirmed(f"Does {asked.name} read out the same fingerprint by phone?")
    if not equal:
        raise LocalError(
            f"{asked.name} is not signed: nobody confirmed that its site reads out {asked.fingerprint}; "
            "call the site, and if they differ ask for the request again by another way"
        )


def _confirmed(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # nobody there to answer
        typer.echo()
        return False


def _hand_back(folder: Path, name: str) -> None:
    typer.echo(f"send back to {name}: {folder / name}.crt")
    typer.echo(HAND_OUT)
