"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
Config = Annotated[
    Path | None,
    Option(metavar="FILE", help="The site's configuration; by default the only fitting one in this folder."),
]
Page = Annotated[
    str | None,
    Option(metavar="HOST:PORT", help="Show the site's page there, such as 127.0.0.1:8010, to people in a browser."),
]
Drop = Annotated[list[str] | None, Option(metavar="COLUMN", help="A column to leave out; repeatable.")]
JobId = Annotated[str, Argument(metavar="JOB", help="The job's id, or the beginning of it.")]
ModelFile = Annotated[Path, Argument(metavar="MODEL", help="A file that `tacit train` or `tacit submit` wrote.")]


def show_help(ctx: typer.Context) -> None:
    """Print the help of a group that was called without a command."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def confirm(question: str) -> bool:
    """Ask a person; where nobody is there to answer, the answer is no."""
    try:
        return typer.confirm(question)
    except typer.Abort:
        typer.echo()
        return False
