"""`tacit predict`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def predict(
    model: Annotated[Path, Argument(metavar="MODEL", help="A file that `tacit train` wrote.", show_default=False)],
    data: Annotated[
        list[Path], Argument(metavar="DATA", help="One file of whole records, or one file per party, named like it.", show_default=False)
    ],
    *,
    label: Annotated[
        str, Option(metavar="COLUMN", help="A column of known classes, if there is one: it only serves to print the accuracy.")
    ] = "label",
    drop: Annotated[list[str] | None, Option(metavar="COLUMN", help="A column that is no feature; repeatable.")] = None,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write the predictions to this CSV file instead of to the screen.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object instead of CSV.")] = False,
) -> None:
    """Predict the classes of new records."""
    from tacit.cli import prediction  # noqa: PLC0415 - scikit-learn takes a second to import: only who predicts waits

    prediction.run(model, data, label, tuple(drop or ()), out, as_json=as_json)
