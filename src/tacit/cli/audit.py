"""`tacit audit`: the signed ledgers of several sites against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tacit.consortium.members import Members
from tacit.errors import LocalError

if TYPE_CHECKING:
    from tacit.consortium.chain import Reading

audit = typer.Typer(rich_markup_mode=None, help="Check what the sites wrote down of a run.")
DIFFERENT = 1


@audit.callback(invoke_without_command=True)
def root(ctx: typer.Context) -> None:
    """Without a command: the help."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@audit.command(epilog="Example: tacit audit verify north.jsonl south.jsonl --members consortium.members --ca 3f2a...")
def verify(
    files: Annotated[
        list[Path], Argument(metavar="AUDIT", help="A site's audit.jsonl of one job; as many sites as there are.", show_default=False)
    ],
    *,
    members: Annotated[Path, Option(metavar="FILE", help="The consortium's list of members.")] = Path("consortium.members"),
    ca: Annotated[str, Option(metavar="HEX", help="The registrar's fingerprint, as configurations pin it.", show_default=False)],
) -> None:
    """Check each chain and signature, then all against each other. Exit code 0: they agree; 1: they differ; 2: an error."""
    from tacit.consortium.chain import Reading  # noqa: PLC0415 - numpy takes time to import: only who compares waits
    from tacit.consortium.comparison import compare, shown  # noqa: PLC0415 - as above

    absent = [str(file) for file in files if not file.is_file()]
    if absent:
        raise LocalError(f"there is no file {', '.join(absent)}: a site keeps it as state/jobs/JOB/audit.jsonl; correct the path")
    listed = Members.load(members, ca)
    found = compare(files, listed.keys())
    for file in files:
        reading = Reading.of(file)
        who = shown(reading.begin.party) if reading.begin else "nobody"
        typer.echo(f"{file}: {who}, {len(reading.entries)} rows{_revoked(reading, listed)}")
    for difference in found:
        typer.echo(str(difference))
    if found:
        typer.echo(f"{len(found)} difference{'s' * (len(found) > 1)}: ask the sites named above")
        raise typer.Exit(DIFFERENT)
    typer.echo("whole, signed, and they agree" if len(files) > 1 else "whole and signed; give the files of other sites to compare them")


def _revoked(reading: Reading, listed: Members) -> str:
    """Return what to know of a signature by a key that no longer holds: whoever stole it could have made it since."""
    from tacit.consortium.comparison import signer  # noqa: PLC0415 - as above

    entries = [m for m in listed if reading.begin is not None and m.name == reading.begin.party]
    used = signer(reading, [m.key for m in entries])
    entry = next((m for m in entries if m.key == used), None)
    if entry is None or not entry.revoked:
        return ""
    return f", signed by key {entry.fingerprint}, which was revoked since: ask {entry.name} whether this file is of before"
