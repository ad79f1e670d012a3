"""What `tacit predict` does: new records, whole or split, go through the model's own protocol."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from tacit.cli.output import check_targets, print_json, steps
from tacit.data import Federation, Table, read
from tacit.data.readers import LIBSVM
from tacit.errors import LocalError
from tacit.estimators import load
from tacit.files import write_whole
from tacit.report.words import counted, listing

FEW = 5  # names that an error lists before it only counts


def run(path: Path, files: Sequence[Path], label: str, drop: tuple[str, ...], out: Path | None, *, as_json: bool) -> None:
    """Check, read, predict, write."""
    check_targets({"--out": out}, [path, *files])
    with steps(2) as bar:
        with bar.doing("reading"):
            model = load(path)
            reader = Reader(model.federation_, label, drop)
            records, truth = reader.whole(files[0]) if len(files) == 1 else reader.split(files)
            records.progress = bar.rounds
        with bar.doing("predicting"):
            predicted = model.predict(records).tolist()
    if out:
        write_whole(out, _csv(predicted).encode(), "the predictions")
    tell = _tell_json if as_json else _tell
    tell(predicted, _accuracy(predicted, truth), out)


@dataclass(frozen=True)
class Reader:
    """Reads new records for the federation that a model was trained on."""

    trained: Federation
    label: str
    drop: tuple[str, ...]

    def whole(self, file: Path) -> tuple[Federation, list[Any]]:
        """Whole records, cut as in training, and their known classes."""
        table, truth = self._read(file, self.trained.features)
        return self.trained.split(table), truth

    def split(self, files: Sequence[Path]) -> tuple[Federation, list[Any]]:
        """Records that stay split, a file per party, and their known classes."""
        names, parties = [f.stem for f in files], self.trained.parts
        if sorted(names) != sorted(parties):
            raise LocalError(
                f"the files are named {listing(names)}, but the model's parties are {listing(parties)}: "
                "give one file per party, named like it, or one file of whole records"
            )
        tables, truths = zip(*(self._read(f, parties[f.stem].features) for f in files), strict=True)
        # whether two parties may add up anything was decided when the model was trained
        records = Federation.from_parts(
            tables, names=names, partition=self.trained.partition, labeller=self.trained.labeller,
            coordinator=self.trained.coordinator, allow_two_parties=True,
        )  # fmt: skip
        return records, next((truth for truth in truths if truth), [])

    def _read(self, file: Path, features: tuple[str, ...]) -> tuple[Table, list[Any]]:
        """The label is read as a column that is no feature: those of new records may be blank. LIBSVM has no such columns."""
        label = self.label if file.suffix.lower() in LIBSVM else None
        table = read(file, label, [self.label, *self.drop], n_features=len(features), partial=True)
        truth = table.columns.get(self.label, table.y)
        table = dataclasses.replace(table, y=None)
        return matched(table, features) if self.trained.named and table.named else table, [] if truth is None else truth.tolist()


def matched(table: Table, features: tuple[str, ...]) -> Table:
    """The table with its columns in the model's order."""
    missing = [f for f in features if f not in table.features]
    surplus = [f for f in table.features if f not in features]
    if missing:
        raise LocalError(f"{table.name} lacks {counted(len(missing), 'column')} of the model: {_few(missing)}; add what the model needs")
    if surplus:
        options = " ".join(f"--drop {name}" for name in surplus[:FEW])
        raise LocalError(f"{table.name} has {counted(len(surplus), 'column')} that the model does not know: leave out with {options}")
    order = [table.features.index(f) for f in features]
    return dataclasses.replace(table, X=table.X[:, order], features=features)


def _few(names: Sequence[str]) -> str:
    return listing(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def _accuracy(predicted: list[Any], truth: list[Any]) -> float | None:
    """Of the records whose class is known; only NaN differs from itself."""
    right = [p == t for p, t in zip(predicted, truth, strict=False) if t is not None and t == t]  # noqa: PLR0124
    return sum(right) / len(right) if right else None


def _tell(predicted: list[Any], accuracy: float | None, out: Path | None) -> None:
    if not out:
        typer.echo(_csv(predicted), nl=False)
    known = "" if accuracy is None else f", accuracy {accuracy:.4f}"
    typer.echo(f"predicted {counted(len(predicted), 'record')}{known}{f'; written to {out}' if out else ''}", err=True)


def _tell_json(predicted: list[Any], accuracy: float | None, out: Path | None) -> None:
    where = {"path": str(out)} if out else {"predictions": predicted}
    print_json({"records": len(predicted), "accuracy": accuracy, **where})


def _csv(predicted: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["label"], *([p] for p in predicted)])
    return text.getvalue()
