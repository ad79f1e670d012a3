"""Show who learnt what in training, and what it cost.

Example: tacit report model.tacit --html report.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tacit.base.saved import load
from tacit.cli.options import AsJson, ModelFile
from tacit.cli.output import check_targets, console, print_json


def report(
    model: ModelFile,
    *,
    html: Annotated[Path | None, Option(metavar="FILE", help="Write the report to this file, as a web page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the report of a model file, or write it."""
    check_targets({"--html": html}, [model])
    found = load(model).report_
    if html:
        found.to_html(html)
    if as_json:
        print_json(**found.to_dict())
    elif html:
        console().print(f"report: {html}", markup=False, soft_wrap=True)
    else:
        console().print(found)
