"""What `tacit predict` does: new records, whole or split, go through the model's own protocol."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from tacit.cli.output import check_targets, print_json, steps
from tacit.data import Federation, Table, read
from tacit.data.readers import LIBSVM
from tacit.errors import LocalError
from tacit.estimators import load
from tacit.files import write_whole
from tacit.report.words import counted


def run(path: Path, files: Sequence[Path], label: str, drop: tuple[str, ...], out: Path | None, *, as_json: bool) -> None:
    """Check, read, predict, write."""
    check_targets({"--out": out}, [path, *files])
    with steps(2) as bar:
        with bar.doing("reading"):
            model = load(path)
            model.federation_.progress = bar.rounds
            tables = _tables(model.federation_, files, label, drop)
            records = _whole(model.federation_, tables[0]) if len(files) == 1 else _split(model.federation_, dict(zip(files, tables, strict=True)))
        with bar.doing("predicting"):
            predicted = model.predict(records).tolist()
    _write(predicted, _accuracy(predicted, tables, label), out, as_json=as_json)
