"""The commands, and what every one of them has in common."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from tacit.cli.attack import attack
from tacit.cli.audit import audit
from tacit.cli.demo import demo
from tacit.cli.errors import Commands
from tacit.cli.keys import keys
from tacit.cli.predict import predict
from tacit.cli.purge import purge
from tacit.cli.report import report
from tacit.cli.services import coordinator, party
from tacit.cli.status import status
from tacit.cli.submit import resume, submit
from tacit.cli.train import train
from tacit.cli.withdraw import withdraw

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,  # an unexpected error keeps the traceback that a bug report needs
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if asked:
        typer.echo(f"tacit {version('tacit')}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog="Start with: tacit demo")
def root(
    ctx: typer.Context,
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Train classifiers on data that several organisations hold and may not show each other."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app.command(epilog="Example: tacit demo --parties 3 --out demo.html; between real processes: tacit demo --network")(demo)
app.command(epilog="Example: tacit train patients.csv --parties 3 --set C=10 --out model.tacit")(train)
app.command(epilog="Example: tacit predict model.tacit new.csv --out predictions.csv")(predict)
app.command(epilog="Example: tacit report model.tacit --html report.html")(report)
app.command(epilog="Example: tacit attack gram_inversion --plot inversion.svg")(attack)

# between organisations
app.add_typer(keys, name="keys")
app.command(epilog="Example: tacit coordinator --config clearing.toml")(coordinator)
app.add_typer(party, name="party")
app.command(epilog="Example: tacit submit job.toml --config analyst.toml")(submit)
app.command(epilog="Example: tacit resume 3fa2 --config analyst.toml")(resume)
app.command(epilog='Example: tacit withdraw 3fa2 --reason "wrong cohort" --config analyst.toml')(withdraw)
app.command(epilog="Example: tacit status --config north.toml --watch")(status)
app.add_typer(audit, name="audit")
app.command(epilog="Examples: tacit purge 3fa2 --config north.toml; tacit purge --expired --yes")(purge)


def main() -> None:
    """Entry point of the command `tacit`."""
    app(prog_name="tacit")
