"""At a site: write the signed record of a run for auditors, or verify one.

It holds the job, everybody's consent, every message of the ledger, the report, and an annex for an impact assessment.

Example: tacit dossier 3fa2 -o study.zip --config north.toml
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from tacit.cli.options import AsJson, Config, JobId
from tacit.cli.output import check_targets, print_json
from tacit.cli.site import any_settings
from tacit.consortium.site.settings import AnalystSettings
from tacit.errors import LocalError
from tacit.report.words import count, human_bytes, listing

WRITE = "write"  # the command that `tacit dossier JOB` means


class JobFirst(TyperGroup):
    """A group whose first word may be a job, which is then written; so no job can be called like a command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was meant."""
        meant = args if not args or args[0] in self.commands else [WRITE, *args]
        return super().resolve_command(ctx, meant)


dossier = typer.Typer(cls=JobFirst, rich_markup_mode=None, no_args_is_help=True)


@dossier.command(WRITE, epilog="Example: tacit dossier 3fa2 -o study.zip --config north.toml")
def write(
    job: JobId,
    *,
    out: Annotated[Path, Option("-o", "--out", metavar="FILE", help="Where to write it, as .zip.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write the dossier of a job that has run here; `tacit dossier JOB` is the same."""
    from tacit.consortium.dossier.bag import write_dossier
    from tacit.consortium.dossier.contents import Case
    from tacit.consortium.jobs.questions import known_job
    from tacit.consortium.membership.members import identity_of

    check_targets({"--out": out}, [])
    settings = any_settings(config)
    if isinstance(settings, AnalystSettings):
        raise LocalError("an analyst keeps no ledger of its own: have a party or the coordinator make the dossier")
    case = Case(known_job(settings.state, job), *identity_of(settings), datetime.now(UTC))
    path = write_dossier(case, out)
    rows = sum(len(reading.entries) for reading in case.readings.values())
    if as_json:
        print_json(job=case.job.id, site=settings.name, file=str(path), rows=rows)
        return
    size = human_bytes(path.stat().st_size)
    typer.echo(f"{path}: {size}, {count(rows, 'message')} of the ledger, signed by {settings.name}")
    for one in case.recipients:
        typer.echo(f"  {one.line}")


@dossier.command(epilog="Example: tacit dossier verify study.zip --ca 3f2a...")
def verify(
    file: Annotated[Path, Argument(metavar="FILE", help="A dossier.")],
    *,
    ca: Annotated[str, Option(metavar="HEX", help="The registrar's fingerprint, as configurations pin it.")],
    as_json: AsJson = False,
) -> None:
    """Check every file, signature and chain of a dossier, and every message against what was agreed to."""
    from tacit.consortium.disk import read_file
    from tacit.consortium.dossier.bag import LARGEST
    from tacit.consortium.dossier.verification import verify_dossier

    data = read_file(file, "the dossier", "correct the path", most=LARGEST)
    found = verify_dossier(data, ca)
    if as_json:
        print_json(job=found.job.id, site=found.site, agreed=found.agreed, rows=found.rows, chains=found.chains)
        return
    what = f"job {found.job.id} as {found.site} has it"
    told = f"{count(found.rows, 'message')}, all of kinds that were agreed to by {listing(found.agreed)}"
    typer.echo(f"{file} holds: {what}, {told}")
