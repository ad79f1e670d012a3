"""Look at a table before training: what its columns hold over all parties, and where sites differ.

One file for each party is a simulation. Without files the sites of the analyst's study are asked, by a job that each of
them has to agree to.

Example: tacit describe north.csv south.csv east.csv --label ill
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import tacit
from tacit.cli.options import AsJson, Config, Drop
from tacit.cli.output import check_targets, console, print_json, table
from tacit.cli.summary import figures, summarise_known
from tacit.errors import LocalError

PARTIES = 3  # the fewest whose sums hide the single parts

Data = Annotated[
    list[Path] | None, Argument(metavar="[DATA]...", help="One file for each party, or one file to split up.")
]
Partition = Annotated[
    str, Option(metavar="NAME", help="How files fit together: horizontal (rows), vertical (columns).")
]
Parties = Annotated[
    int | None, Option(min=1, metavar="N", help="Between how many parties one file is split; 3 by default.")
]
LabelColumn = Annotated[
    str | None, Option(metavar="COLUMN", help="The column that holds the classes, if there is one.")
]
Schema = Annotated[
    bool, Option("--schema", help="Only compare names, kinds and declarations of columns; no value is counted.")
]
ReportPage = Annotated[Path | None, Option(metavar="FILE", help="Write the report to this file, as a web page.")]
AllowTwo = Annotated[bool, Option("--allow-two-parties", help="Accept that sums over two parties hide nothing.")]


def describe(
    data: Data = None,
    *,
    config: Config = None,
    partition: Partition = "horizontal",
    parties: Parties = None,
    label: LabelColumn = None,
    drop: Drop = None,
    schema: Schema = False,
    report: ReportPage = None,
    allow_two_parties: AllowTwo = False,
    as_json: AsJson = False,
) -> None:
    """Describe files, or the tables of the sites that an analyst's configuration names."""
    check_targets({"--report": report}, data or ())
    if data and config is not None:
        raise LocalError("files are described here, and --config asks sites to describe theirs: give one of the two")
    if data:
        read: dict[str, Any] = {"partition": partition, "raw": True}
        federation = _read(data, label, drop or (), parties, allow_two_parties=allow_two_parties, **read)
    else:
        federation = _connect(config)
    found = federation.describe(statistics=not schema)
    if report:
        found.report.to_html(report)
    (_tell_json if as_json else _tell)(found, report)


def _read(
    files: list[Path], label: str | None, drop: Any, parties: int | None, *, allow_two_parties: bool, **split: Any
) -> tacit.Federation:
    """Return the federation of one file for each party, or of one that is split up."""
    # scikit-learn takes a second to import: who reads the help does not wait for it
    from tacit.federation import Federation, read  # noqa: PLC0415

    if len(files) == 1:
        whole = read(files[0], label, drop, raw=True, sparse=False)
        return Federation.simulate(whole, parties=parties or PARTIES, **split)
    if parties not in {None, len(files)}:
        raise LocalError(
            f"{len(files)} files make {len(files)} parties, but --parties says {parties}: leave --parties out"
        )
    return Federation.from_files(
        files, label=label, drop=drop, allow_two_parties=allow_two_parties, sparse=False, **split
    )


def _connect(config: Path | None) -> tacit.Federation:
    from tacit.cli.site import find_config  # noqa: PLC0415 - as above
    from tacit.consortium.site.settings import AnalystSettings  # noqa: PLC0415

    return tacit.connect(find_config(config, AnalystSettings))


def _tell(found: Any, page: Path | None) -> None:
    from tacit.report.text import render_table  # noqa: PLC0415 - as above

    screen = console()
    screen.print(found.report.title, style="bold", markup=False)
    screen.print(render_table(found.description))
    known = [(f"{who} knows", what) for who, what in summarise_known(found.report.opens)]
    told = [row for row in figures(found.report) if row[0] != "warning"]
    screen.print(table("", "", rows=[*known, *told]))
    if page:
        screen.print(f"report: {page}", markup=False, soft_wrap=True)


def _tell_json(found: Any, page: Path | None) -> None:
    whole = found.report.to_dict()
    print_json(
        **whole["description"],
        warnings=whole["warnings"],
        **{name: whole[name] for name in ("opens", "rounds", "bytes", "seconds")},
        report=str(page) if page else None,
    )
