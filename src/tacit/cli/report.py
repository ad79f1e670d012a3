"""`tacit report`: what a model file says about the run that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def report(
    model: Annotated[Path, Argument(metavar="MODEL", help="A file that `tacit train` wrote.", show_default=False)],
    *,
    html: Annotated[
        Path | None, Option(metavar="FILE", help="Write the report to this file, as a web page, instead of to the screen.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Show who learnt what in training, what it cost, how good it is."""
    from tacit.cli.output import check_targets, console, print_json  # noqa: PLC0415 - as below
    from tacit.estimators import load  # noqa: PLC0415 - scikit-learn takes a second to import: only who reads a model waits

    check_targets({"--html": html}, [model])
    found = load(model).report_
    if html:
        found.to_html(html)
    if as_json:
        print_json(found.to_dict())
    elif html:
        console().print(f"report: {html}", markup=False, soft_wrap=True)
    else:
        console().print(found)
