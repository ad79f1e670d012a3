"""At a site: write the signed record of a run for auditors, or verify one.

It holds the job, everybody's consent, every message of the ledger, the report, and an annex for an impact assessment.

Example: tacit dossier 3fa2 -o study.zip --config north.toml
Example: tacit dossier 3fa2 --dpia assessment.odt --config north.toml
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
from tacit.files import write_whole
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
    out: Annotated[Path | None, Option("-o", "--out", metavar="FILE", help="Where to write it, as .zip.")] = None,
    dpia: Annotated[
        Path | None, Option(metavar="FILE", help="Where to write an impact assessment to complete, as .odt.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write the dossier of a job that has run here, or an impact assessment of a job that is proposed or has run."""
    from tacit.consortium.dossier.bag import write_dossier
    from tacit.consortium.dossier.contents import Case
    from tacit.consortium.dossier.dpia import BLANK, write_dpia
    from tacit.consortium.jobs.questions import known_job
    from tacit.consortium.membership.members import identity_of

    check_targets({"--out": out, "--dpia": dpia}, [])
    if out is None and dpia is None:
        raise LocalError("nothing is to be written: name a file with -o, or with --dpia")
    settings = any_settings(config)
    if isinstance(settings, AnalystSettings):
        raise LocalError("an analyst keeps no ledger of its own: have a party or the coordinator make the dossier")
    case = Case(known_job(settings.state, job), *identity_of(settings), datetime.now(UTC))
    if dpia is not None:
        has_run = case.folder.start is not None and bool(case.folder.audits)
        said = (case.start.answers, case.report.release) if has_run else ((), None)
        write_whole(dpia, write_dpia(case.job, settings.name, case.now, *said), "the impact assessment")
        typer.echo(f"{dpia}: an impact assessment to complete; its blanks begin with {BLANK}", err=as_json)
    if out is None:
        return
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
