"""`tacit attack`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def attack(
    name: Annotated[str | None, Argument(metavar="NAME", help="The attack to run; without it all are listed.", show_default=False)] = None,
    *,
    estimator: Annotated[
        str | None, Option(metavar="NAME", help="The estimator attacked; lists its attacks, or checks that NAME is one of them.")
    ] = None,
    data: Annotated[
        Path | None, Option(metavar="FILE", help="Records to attack; the breast-cancer records of scikit-learn by default.")
    ] = None,
    label: Annotated[str, Option(metavar="COLUMN", help="The column that holds the classes.")] = "label",
    plot: Annotated[Path | None, Option(metavar="FILE", help="Draw what was found by what the attacker knows, as .svg or .png.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a method gives away: list the attacks of the package, or run one."""
    from tacit.cli import attacking  # noqa: PLC0415 - scikit-learn takes a second to import: only who attacks waits

    attacking.run(name, estimator, data, label, plot, as_json=as_json)
