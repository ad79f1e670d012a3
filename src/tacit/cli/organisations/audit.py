"""Check what the sites recorded about a run.

Start with: tacit audit verify --help
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.cli.options import show_help
from tacit.consortium.audit.chain import Reading
from tacit.consortium.audit.comparison import compare, shown, signer
from tacit.consortium.membership.members import Members
from tacit.errors import LocalError
from tacit.report.words import count

audit = typer.Typer(rich_markup_mode=None)
audit.callback(invoke_without_command=True)(show_help)
DIFFERENT = 1  # the exit code
MEMBERS = Path("consortium.members")


@audit.command(epilog="Example: tacit audit verify north.jsonl south.jsonl --members consortium.members --ca 3f2a...")
def verify(
    files: Annotated[list[Path], Argument(metavar="AUDIT", help="The audit.jsonl of one job, from several sites.")],
    *,
    members: Annotated[Path, Option(metavar="FILE", help="The consortium's list of members.")] = MEMBERS,
    ca: Annotated[str, Option(metavar="HEX", help="The registrar's fingerprint, as configurations pin it.")],
) -> None:
    """Check each chain and signature, then all against each other.

    Exit code 0: they agree; 1: they differ; 2: an error.
    """
    absent = [str(file) for file in files if not file.is_file()]
    if absent:
        hint = "a site keeps it as state/jobs/JOB/audit.jsonl; correct the path"
        raise LocalError(f"there is no file {', '.join(absent)}: {hint}")
    listed = Members.load(members, ca)
    found = compare(files, listed.keys())
    for file in files:
        reading = Reading.of(file)
        who = shown(reading.begin.party) if reading.begin else "nobody"
        typer.echo(f"{file}: {who}, {len(reading.entries)} rows{_warn_of_revoked(reading, listed)}")
    for difference in found:
        typer.echo(str(difference))
    if found:
        typer.echo(f"{count(len(found), 'difference')}: ask the sites named above")
        raise typer.Exit(DIFFERENT)
    alone = "whole and signed; give the files of other sites to compare them"
    typer.echo("whole, signed, and they agree" if len(files) > 1 else alone)


def _warn_of_revoked(reading: Reading, listed: Members) -> str:
    """Return a warning if the key that signed was revoked since: whoever stole it could have signed later."""
    entries = [m for m in listed if reading.begin is not None and m.name == reading.begin.party]
    used = signer(reading, [m.key for m in entries])
    entry = next((m for m in entries if m.key == used), None)
    if entry is None or not entry.revoked:
        return ""
    since = f", signed by key {entry.fingerprint}, which was revoked since"
    return f"{since}: ask {entry.name} whether this file is from before that"
