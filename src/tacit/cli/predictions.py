"""Files of predictions: CSV or Parquet, told apart by their suffix, whole or not there."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.base.predictions import Columns
from tacit.cli.output import csv_of
from tacit.errors import LocalError
from tacit.files import write_whole


def text_of(columns: Columns) -> str:
    """Return the text of a CSV file of these columns."""
    return csv_of([columns, *zip(*(np.asarray(each).tolist() for each in columns.values()), strict=True)])


def _parquet(columns: Columns) -> bytes:
    file = BytesIO()
    parquet.write_table(pa.table({name: pa.array(np.asarray(each).tolist()) for name, each in columns.items()}), file)
    return file.getvalue()


WRITERS: dict[str, Callable[[Columns], bytes]] = {
    ".csv": lambda columns: text_of(columns).encode(),
    ".parquet": _parquet,
    ".pq": _parquet,
}


def check_suffix(path: Path | None) -> None:
    """Refuse, before any work, a file of a kind that cannot be written."""
    if path is not None and path.suffix.lower() not in WRITERS:
        known = ", ".join(WRITERS)
        raise LocalError(
            f"--out {path} has the unknown suffix '{path.suffix}': name a file that ends in one of {known}"
        )


def write_predictions(path: Path, columns: Columns) -> None:
    """Write a line for each record."""
    write_whole(path, WRITERS[path.suffix.lower()](columns), "the predictions")
