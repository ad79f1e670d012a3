"""Check what a model gives away before anybody else gets it; refuse it if that is too much.

Runs the attacks that apply to this kind of model, in simulation and on this machine: stored records, landmarks of few
records, outlying support vectors, membership and attribute inference. The limits are those of a policy's [release].
The exit status is 1 if the model is refused.

Example: tacit release model.tacit training.csv --export model.onnx
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from typer import Argument, Option

from tacit.arrays import Array
from tacit.base.saved import load
from tacit.cli.local.predict import Reader, match_columns
from tacit.cli.options import AsJson, Drop, ModelFile
from tacit.cli.output import check_targets, console, print_json, steps
from tacit.errors import LocalError
from tacit.federation import read
from tacit.report.release import Limits, Release
from tacit.report.text import render_release


def release(
    model: ModelFile,
    data: Annotated[
        Path | None, Argument(metavar="DATA", help="The records of the training, whole; without them less is measured.")
    ] = None,
    *,
    others: Annotated[
        Path | None, Option(metavar="FILE", help="Labelled records that were not in the training.")
    ] = None,
    label: Annotated[str, Option(metavar="COLUMN", help="The column that holds the labels.")] = "label",
    drop: Drop = None,
    policy: Annotated[
        Path | None, Option(metavar="FILE", help="A policy, whose [release] says how much is allowed.")
    ] = None,
    twins: Annotated[int, Option(min=4, max=1000, metavar="N", help="How many models the attacker trains.")] = 16,
    export: Annotated[
        Path | None, Option(metavar="FILE", help="Write the model here, as .onnx or .skops, if it may be released.")
    ] = None,
    report: Annotated[
        Path | None, Option(metavar="FILE", help="Write the report, with the table in it, as a web page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check, tell, and write what may be released."""
    if others is not None and data is None:
        raise LocalError(
            f"--others {others} has records that were not in the training: give those that were in it, too"
        )
    check_targets({"--export": export, "--report": report}, [each for each in (model, data, others) if each])
    limits = _read_limits(policy)
    with steps(2) as bar:
        with bar.doing("reading"):
            trained = load(model)
            members = _read_records(trained, data, label, drop)
            more = _read_records(trained, others, label, drop)
        with bar.doing("attacking"):
            found = trained.release_check(*(members or ()), others=more, limits=limits, twins=twins)
    if report:
        trained.report_.to_html(report)
    if export and not found.refused:
        trained.export(export)
    _tell(found, export, report, as_json=as_json)
    if found.refused:
        raise typer.Exit(1)


def _read_limits(policy: Path | None) -> Limits:
    if policy is None:
        return Limits()
    from tacit.consortium.consent.policy import Policy  # noqa: PLC0415 - whoever has none need not wait for its import

    return Policy.from_toml(policy).release


def _read_records(trained: Any, file: Path | None, label: str, drop: list[str] | None) -> tuple[Any, Array] | None:
    """Return records and labels of a file, in the order of the model's columns."""
    if file is None:
        return None
    known = trained.federation_
    if known.named and known.kinds:  # a pipeline prepares texts and dates
        found = Reader(trained, label, tuple(drop or ()), None, 1).read_whole(file)
        if found.truth is None:
            raise _lacks_labels(file, label)
        return found.records, found.truth
    table = read(file, label, tuple(drop or ()), allow_missing=hasattr(trained, "prepare"), sparse=False)
    if table.y is None:
        raise _lacks_labels(file, label)
    if known.named and table.named:
        table = match_columns(table, known.features)
    return table.X, np.asarray(table.y)


def _lacks_labels(file: Path, label: str) -> LocalError:
    return LocalError(f"{file} has no column {label!r}: name the labels with --label")


def _tell(found: Release, export: Path | None, report: Path | None, *, as_json: bool) -> None:
    written = export if export and not found.refused else None
    if as_json:
        lines = [{**dataclasses.asdict(line), "verdict": line.verdict} for line in found.lines]
        print_json(
            released=not found.refused, lines=lines, how=found.how, export=str(written) if written else None,
            report=str(report) if report else None,
        )  # fmt: skip
        return
    screen = console()
    screen.print(render_release(found))
    for name, path in (("exported", written), ("report", report)):
        if path:
            screen.print(f"{name}: {path}", markup=False, soft_wrap=True)
    verdict = f"refused: {', '.join(line.name for line in found.refused)}" if found.refused else "may be released"
    screen.print(verdict, style="bold", markup=False, soft_wrap=True)
