"""What `tacit party answers` does: decision values as the person who asked can use them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import typer

from tacit.choreo import F64
from tacit.cli.jobs import known_folder
from tacit.cli.output import check_targets
from tacit.consortium.folder import Folder, Used
from tacit.consortium.grounds import SOLE
from tacit.consortium.questions import told
from tacit.consortium.settings import PartySettings
from tacit.errors import LocalError
from tacit.estimators.base import chosen
from tacit.files import write_whole
from tacit.numeric.platt import probabilities
from tacit.registry import kind_of
from tacit.report.words import counted, listing


def show(settings: PartySettings, name: str, out: Path | None) -> None:
    """Print or write them."""
    check_targets({"--out": out}, [])
    folder = known_folder(settings, name)
    lines = answers_of(settings, folder)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    if out is None:
        typer.echo(text.getvalue(), nl=False)
        return
    write_whole(out, text.getvalue().encode(), "the answers", private=True)
    typer.echo(f"answers about {counted(len(lines) - 1, 'record')} written to {out}")


def answers_of(settings: PartySettings, folder: Folder) -> list[list[Any]]:
    """A line for each record, under names: which it is, its class or number, decision values, probabilities if the model has them."""
    job = folder.job
    if kind_of(job.protocol) != "answers":
        raise LocalError(f"job {job.id} is a {job.protocol} and asks nothing: give the id of a prediction")
    if folder.finished is None or not folder.finished.ok:
        raise LocalError(f"job {job.id} has no answers yet: see tacit status")
    if settings.name not in told(job):
        raise LocalError(f"the answers of job {job.id} are at {listing(told(job))} only: ask there")
    return table_of(folder.result[SOLE], folder.used)


def table_of(values: F64, used: Used) -> list[list[Any]]:
    """Without classes the values are the numbers themselves."""
    records, classes = used.records, used.classes
    if not classes:
        return [["record", "value"], *([r, float(v)] for r, v in zip(records, values[:, 0], strict=True))]
    kinds = [str(classes[1])] if values.shape[1] == 1 else [str(c) for c in classes]
    head = ["record", "class", *(f"decision for {c}" for c in kinds)]
    columns = [values]
    if used.sigmoids is not None:
        head += [f"probability of {c}" for c in classes]
        columns.append(probabilities(values, np.array(used.sigmoids)))
    found = np.column_stack(columns).tolist()
    return [head, *([r, classes[k], *numbers] for r, k, numbers in zip(records, chosen(values), found, strict=True))]
