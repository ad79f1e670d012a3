"""Predict classes or numbers for new records, with scores and probabilities.

The records may be whole, or split between parties as in training; then the parties predict together by the model's own
protocol. If the records stay at the sites that trained the model, --on names their dataset, and the sites answer there,
by a job.

Example: tacit predict model.tacit new.csv --id patient --out predictions.csv
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from pyarrow import parquet
from sklearn.base import is_classifier
from sklearn.metrics import r2_score
from typer import Argument, Option

from tacit.arrays import F64, Array
from tacit.base.estimator import choose_classes
from tacit.base.saved import load
from tacit.cli.options import AsJson, Config, Drop, ModelFile
from tacit.cli.output import check_targets, csv_of, print_json, steps
from tacit.cli.preparing import steps_of
from tacit.errors import LocalError
from tacit.federation import Federation, Table, read
from tacit.federation.ids import align_tables
from tacit.federation.readers import LIBSVM, read_frame
from tacit.files import write_whole
from tacit.report.words import count, listing

FEW = 5  # names that an error lists before it only counts


def predict(
    model: ModelFile,
    data: Annotated[
        list[Path] | None, Argument(metavar="DATA", help="One file of records, or one per party, named like it.")
    ] = None,
    *,
    label: Annotated[str, Option(metavar="COLUMN", help="A column of known classes, for the accuracy.")] = "label",
    drop: Drop = None,
    id_column: Annotated[
        str | None,
        Option("--id", metavar="COLUMN", help="Column of ids: names the records, and aligns files split by columns."),
    ] = None,
    min_records: Annotated[
        int, Option(min=1, metavar="N", help="With --id: open no id if fewer records are common.")
    ] = 10,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Write the predictions to this file: .csv or .parquet.")
    ] = None,
    on: Annotated[
        str | None, Option("--on", metavar="DATASET", help="Ask the sites about this dataset of theirs, by a job.")
    ] = None,
    rows: Annotated[
        list[str] | None,
        Option(metavar="SITE=N", help="With --on and a model in shares over rows: a site's new records; repeatable."),
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Check, read, predict, write; or have the sites predict."""
    data = data or []
    check_ways(data, on, out)
    if on is not None:
        ask_sites(model, on, read_counts(rows or []), config, as_json=as_json)
        return
    check_targets({"--out": out}, [model, *data])
    check_suffix(out)
    with steps(2) as bar:
        with bar.doing("reading"):
            trained = load(model)
            refuse_handle(trained, model)
            reader = Reader(trained, label, tuple(drop or ()), id_column, min_records)
            new = reader.read_whole(data[0]) if len(data) == 1 else reader.read_split(data)
        with bar.doing("predicting"):
            said = predict_records(trained, new.records)
    columns = name_records(said, new.ids, id_column)
    if out:
        write_predictions(out, columns)
    tell = _tell_json if as_json else _tell
    tell(columns, _find_quality(said, new.truth), out)


def check_ways(data: Sequence[Path], on: str | None, out: Path | None) -> None:
    """Raise unless the records are in files, or at sites."""
    if (on is None) == (not data):
        raise LocalError("give files of records, or --on DATASET for records of the sites that trained the model")
    if on is not None and out is not None:
        raise LocalError("with --on the answers stay at the sites, and are read there: leave --out out")


def refuse_handle(trained: Any, model: Path) -> None:
    """Refuse files of records where the model is in shares: its sites answer about records that they have."""
    handle = getattr(trained, "handle_", None)
    if handle is not None:
        raise LocalError(
            f"{model} is {handle}: ask these sites about their own records, tacit predict {model} --on DATASET"
        )


def read_counts(rows: Sequence[str]) -> dict[str, int]:
    """Return how many records sites have, from SITE=N."""
    pairs = [each.partition("=") for each in rows]
    wrong = next((each for each, (_, _, count) in zip(rows, pairs, strict=True) if not count.isdecimal()), None)
    if wrong is not None:
        raise LocalError(f"--rows {wrong} is not SITE=N: write it as --rows north=12")
    return {site: int(count) for site, _, count in pairs}


def ask_sites(model: Path, dataset: str, rows: dict[str, int], config: Path | None, *, as_json: bool) -> None:
    """Have the sites that trained a model answer about a dataset of theirs; say where the answers are."""
    from tacit.cli.site import find_config  # noqa: PLC0415  (whoever predicts alone need not wait for the network's import)
    from tacit.consortium.site.settings import AnalystSettings  # noqa: PLC0415

    sites: Any = Federation.connect(find_config(config, AnalystSettings))
    found = load(model).predict(sites.on(dataset, rows=rows))
    if as_json:
        print_json(job=found.job, at=list(found.at))
    else:
        typer.echo(str(found))


@dataclass(frozen=True)
class NewRecords:
    """What is asked about: records, whole or split; the classes that are known of them; their ids, if asked for."""

    records: Any
    truth: Array | None
    ids: Array | None


@dataclass(frozen=True)
class Reader:
    """Reads new records for the parties that a model was trained by."""

    model: Any
    label: str
    drop: tuple[str, ...]
    id_column: str | None
    min_records: int

    @property
    def trained(self) -> Federation:
        """Who held which features."""
        found: Federation = self.model.federation_
        return found

    @property
    def prepares(self) -> bool:
        """Whether the model is a pipeline, which may fill gaps and encode texts: it is given the records raw."""
        return hasattr(self.model, "prepare")

    @property
    def takes_sparse(self) -> bool:
        """Whether every step of the model can be asked about sparse records."""
        return self.trained.partition == "horizontal" and all(
            getattr(step, "takes_sparse", False) for step in steps_of(self.model)
        )

    def read_whole(self, file: Path) -> NewRecords:
        """Return whole records: a pipeline prepares them; others are cut as in training."""
        if self.prepares and self.trained.named and file.suffix.lower() not in LIBSVM:
            return self._read_frame(file)
        table = self._read(file, self.trained.features)
        records = self.trained.split(table, allow_missing=self.prepares)
        return self._with(records, table.columns, table.y)

    def read_split(self, files: Sequence[Path]) -> NewRecords:
        """Return records that stay split, a file per party; with ids, columns of the records that all parties have."""
        names, parties = [f.stem for f in files], self.trained.parts
        if sorted(names) != sorted(parties):
            other = f"the files are named {listing(names)}, but the model's parties are {listing(parties)}"
            raise LocalError(f"{other}: give one file per party, named like it, or one file of whole records")
        if self.trained.partition != "horizontal":  # columns stand in the order of training
            names = [*parties]
        held = {file.stem: file for file in files}
        tables = {name: self._read(held[name], parties[name].features) for name in names}
        if self.id_column and self.trained.partition == "vertical":
            ids = {name: table.columns[self.id_column] for name, table in tables.items()}
            tables, _, _ = align_tables(
                tables, ids, self.trained.coordinator, self.min_records, self.trained.runtime, None
            )
        # whether two parties may add up anything was decided when the model was trained
        records = Federation.from_parts(
            [dataclasses.replace(table, y=None) for table in tables.values()], names=names,
            partition=self.trained.partition, labeller=self.trained.labeller, coordinator=self.trained.coordinator,
            allow_two_parties=True, allow_missing=self.prepares, categories=self.trained.categories or None,
            raw=bool(self.trained.kinds),
        )  # fmt: skip
        return self._with(records, *self._join(records, tables))

    def _join(self, records: Federation, tables: Mapping[str, Table]) -> tuple[dict[str, Array], Array | None]:
        """Return the columns that are no features, and the labels, of all records: by rows everybody's own."""
        if records.partition != "horizontal":
            truths = (table.y for table in tables.values() if table.y is not None)
            return next(iter(tables.values())).columns, next(truths, None)
        known = [table.y for table in tables.values()]
        truth = None if any(y is None for y in known) else np.concatenate([np.asarray(y) for y in known])
        shared = [name for name in [self.id_column] if name]
        return {name: np.concatenate([table.columns[name] for table in tables.values()]) for name in shared}, truth

    def _with(self, records: Any, columns: Mapping[str, Array], truth: Array | None) -> NewRecords:
        return NewRecords(records, truth, columns[self.id_column] if self.id_column else None)

    def _read(self, file: Path, features: tuple[str, ...]) -> Table:
        """Return a table whose `y` has the classes that are known.

        The label is read as a column that is no feature, since those of new records may be blank. LIBSVM files have no
        such columns.
        """
        label = self.label if file.suffix.lower() in LIBSVM else None
        table = read(
            file, label, [self.label, *self.drop], n_features=len(features), partial=True,
            allow_missing=self.prepares, categories=self.trained.categories or None, raw=bool(self.trained.kinds),
            ids=self.id_column, sparse=None if self.takes_sparse else False,
        )  # fmt: skip
        table = dataclasses.replace(table, y=table.columns.get(self.label, table.y))
        return match_columns(table, features) if self.trained.named and table.named else table

    def _read_frame(self, file: Path) -> NewRecords:
        """Return the records as a frame with the model's columns, and whatever gaps, texts and dates they have."""
        frame = read_frame(file, ids=self.id_column)
        no_features = [self.label, *self.drop, *([self.id_column] if self.id_column else [])]
        others = [name for name in no_features if name in frame.column_names]
        known = self.trained.features  # a vectorizer knows the column of ids, and drops it
        features = [name for name in frame.column_names if name not in others or name in known]
        unused = getattr(steps_of(self.model)[0], "dropped_", {})  # the pipeline does not ask for them
        check_names([*features, *(name for name in unused if name not in features)], known, file.name)
        columns = {name: np.array(frame.column(name).to_pylist()) for name in others}
        return self._with(frame.select([n for n in known if n in features]), columns, columns.get(self.label))


def name_records(said: Predictions, ids: Array | None, id_column: str | None) -> Columns:
    """Return the columns of the predictions, with the ids of the records in front."""
    columns = said.columns()
    if ids is None or id_column is None:
        return columns
    if id_column in columns:
        raise LocalError(f"--id {id_column} is also a column of the predictions: rename it in the file")
    return {id_column: ids, **columns}


def check_names(names: Sequence[str], features: Sequence[str], file: str) -> None:
    """Refuse a file whose columns are not those of the model, in whatever order."""
    missing = [f for f in features if f not in names]
    surplus = [f for f in names if f not in features]
    if missing:
        lacks, more = f"{file} lacks {count(len(missing), 'column')} of the model", len(missing) - FEW
        few = listing(missing[:FEW]) + (f" and {more} more" if more > 0 else "")
        raise LocalError(f"{lacks}: {few}; add what the model needs")
    if surplus:
        options = " ".join(f"--drop {name}" for name in surplus[:FEW])
        unknown = f"{file} has {count(len(surplus), 'column')} that the model does not know"
        raise LocalError(f"{unknown}: leave them out with {options}")


def match_columns(table: Table, features: tuple[str, ...]) -> Table:
    """Return the table with its columns in the model's order."""
    check_names(table.features, features, table.name)
    order = [table.features.index(f) for f in features]
    return dataclasses.replace(table, X=table.X[:, order], features=features)


def _find_quality(said: Predictions, truth: Array | None) -> dict[str, float]:
    """Return the accuracy, or R2 of numbers, on the records whose answer is known; only NaN differs from itself."""
    known = [] if truth is None else [i for i, t in enumerate(truth.tolist()) if t is not None and t == t]  # noqa: PLR0124
    if truth is None or not known:
        return {}
    answers, labels = said.answers[known].tolist(), truth[known].tolist()
    if said.classes is None:
        return {"R2": float(r2_score(labels, answers))} if len(known) > 1 else {}
    return {"accuracy": float(np.mean([a == t for a, t in zip(answers, labels, strict=True)]))}


def _tell(columns: Columns, quality: dict[str, float], out: Path | None) -> None:
    if not out:
        typer.echo(text_of(columns), nl=False)
    known = "".join(f", {name} {value:.4f}" for name, value in quality.items())
    records = count(len(next(iter(columns.values()))), "record")
    typer.echo(f"predicted {records}{known}{f'; written to {out}' if out else ''}", err=True)


def _tell_json(columns: Columns, quality: dict[str, float], out: Path | None) -> None:
    said = {name: np.asarray(each).tolist() for name, each in columns.items()}
    answer = "label" if "label" in said else "value"
    where = {"path": str(out)} if out else {"predictions": said[answer], "columns": said}
    print_json(records=len(said[answer]), accuracy=quality.get("accuracy"), R2=quality.get("R2"), **where)


# Files of predictions: CSV or Parquet, told apart by their suffix, whole or not there


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


# What a fitted model says of records, all of it from one question: asking again would tell more, and cost as much


Columns = dict[str, Array]


@dataclass(frozen=True)
class Predictions:
    """The class of every record with its scores, and probabilities if the model has them; or a number."""

    answers: Array
    classes: Array | None = None
    scores: F64 | None = None
    probabilities: F64 | None = None

    def columns(self) -> Columns:
        """Return a column for each thing that is said, under a plain name; scores and probabilities by class."""
        if self.classes is None or self.scores is None:
            return {"value": self.answers}
        names = self.classes.tolist()
        if self.scores.shape[1] == 1:
            scores = {"score": self.scores[:, 0]}
        else:
            scores = {f"score_{name}": self.scores[:, k] for k, name in enumerate(names)}
        chances = self.probabilities
        likely = {} if chances is None else {f"probability_{name}": chances[:, k] for k, name in enumerate(names)}
        return {"label": self.answers, **scores, **likely}


def predict_records(model: Any, X: Any) -> Predictions:
    """Ask a fitted estimator, search or pipeline about whole records, or about a `Federation` of split ones."""
    if hasattr(model, "prepare"):  # a pipeline
        return predict_records(model[-1], model.prepare(X))
    last = getattr(model, "best_estimator_", model)
    if not hasattr(last, "ask"):
        raise LocalError(
            f"a {type(last).__name__} predicts nothing: give a model that ends in a classifier or regressor"
        )
    values: F64 = last.ask(X).values
    if not is_classifier(last):
        return Predictions(values[:, 0])
    chances = last.probabilities(values) if getattr(last, "probability", False) else None
    return Predictions(last.classes_[choose_classes(values)], last.classes_, np.asarray(values), chances)
