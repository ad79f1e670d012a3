"""`tacit train`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def train(
    data: Annotated[
        list[Path], Argument(metavar="DATA", help="One file to split between --parties, or one file for each party.", show_default=False)
    ],
    *,
    partition: Annotated[
        str,
        Option(
            metavar="NAME",
            help="How the data is split: vertical (by columns of the same records), horizontal (by records), arbitrary (by cells).",
        ),
    ] = "vertical",
    parties: Annotated[
        int | None, Option(min=1, metavar="N", help="Between how many simulated parties one file is split; 3 by default.")
    ] = None,
    estimator: Annotated[
        str, Option(metavar="NAME", help="What is trained: ConsensusSVC, GramSVC, PanSVC, SecureELMClassifier or ShiftSVC.")
    ] = "GramSVC",
    settings: Annotated[list[str] | None, Option("--set", metavar="NAME=VALUE", help="A parameter of the estimator; repeatable.")] = None,
    out: Annotated[Path, Option(metavar="FILE", help="The model file to write.")] = Path("model.tacit"),
    label: Annotated[str, Option(metavar="COLUMN", help="The column that holds the classes.")] = "label",
    labeller: Annotated[str | None, Option(metavar="NAME", help="The party whose labels count, where several files have some.")] = None,
    drop: Annotated[list[str] | None, Option(metavar="COLUMN", help="A column that is no feature; repeatable.")] = None,
    id_column: Annotated[
        str | None, Option("--id", metavar="COLUMN", help="The column of ids by which files are aligned: only common records stay.")
    ] = None,
    min_records: Annotated[int, Option(min=1, metavar="N", help="With --id: how many records must be common before any id opens.")] = 10,
    seed: Annotated[
        int, Option(min=0, metavar="N", help="Which columns or records go to whom when one file is split; feeds no secret.")
    ] = 0,
    compare: Annotated[bool, Option("--compare", help="Also train the centralised learner and report the gap.")] = False,
    report: Annotated[Path | None, Option(metavar="FILE", help="Write the report to this file, as a web page.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print the summary as one JSON object.")] = False,
    accept_risk: Annotated[
        bool, Option("--accept-risk", help="Accept what the estimator says it gives away; ShiftSVC and others ask for it.")
    ] = False,
    allow_two_parties: Annotated[bool, Option("--allow-two-parties", help="Accept that sums over two parties hide nothing.")] = False,
) -> None:
    """Train together on one file per party, or on one file split up."""
    from tacit.cli import training  # noqa: PLC0415 - scikit-learn takes a second to import: only who trains waits

    source = training.Source(
        tuple(data), partition, parties, label, labeller, tuple(drop or ()), seed, allow_two_parties, id_column, min_records
    )
    chosen = (*(settings or ()), *(("accept_risk=true",) if accept_risk else ()))
    training.run(source, estimator, chosen, compare=compare, out=out, page=report, as_json=as_json)
