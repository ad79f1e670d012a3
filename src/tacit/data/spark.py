"""Data that is on a Spark cluster: every partition, or every value of a column, is a learner. No record passes the driver.

Each learner's rows become a `Part` at an executor, checked there; the driver hears how many rows there are and what is
wrong with them: a word and a column, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.choreo import decode
from tacit.data.checks import check_names, choose_coordinator, too_few
from tacit.data.federation import Federation
from tacit.data.learner import PART, SCHEMA, Columns, facts, joined, pieces
from tacit.data.part import part_of
from tacit.data.table import check_column
from tacit.errors import LocalError
from tacit.registry import Inputs, Outcome, execute_spark
from tacit.runtimes.layers import Partitions, attempted, kept, mapped
from tacit.runtimes.spark_session import quiet, session

SITES = 1000
SHOWN = 6
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")
REMEDY = {
    "NaN": "has missing values: fill them in, or leave out those rows or that column",
    "infinity": "has infinite values: replace them with finite ones",
    "negative": "has negative weights: give every record a weight of 0 or more",
}


@dataclass(frozen=True)
class Learners:
    """What is on the cluster: a record per learner, and what the driver knows of them."""

    records: Any
    session: Any
    targets: str
    sizes: dict[str, int]


class SparkFederation(Federation):
    """A federation whose parts stay on the cluster; a copy of it, for a model or with other names, has none."""

    learners: Learners | None = None

    def __repr__(self) -> str:
        if self.learners is None:
            return super().__repr__()
        rows = [f"{name} {n}" for name, n in self.learners.sizes.items()]
        more = ", ..." * (len(rows) > SHOWN)
        size = f"{sum(self.learners.sizes.values())} x {self.n_features}"
        return f"<Federation: on Spark, {size}: rows of {', '.join(rows[:SHOWN])}{more}; coordinator driver>"

    @property
    def simulated(self) -> bool:
        """Its records are at the executors."""
        return False

    @property
    def _there(self) -> Learners:
        if self.learners is None:
            raise LocalError("this federation is a copy without the records, which stay on the cluster: prepare columns there, with Spark")
        return self.learners

    def check_targets(self, *, numbers: bool) -> None:
        """Refuse labels of the wrong kind, by what the executors found."""
        if numbers and self._there.targets == "text":
            raise LocalError("a regression needs numbers as targets, and the label column holds text: use a classifier")
        if not numbers and self._there.targets == "continuous":
            raise LocalError("Unknown label type: continuous. The label column holds numbers with fractions: use a regressor, or classes")

    def execute(self, protocol: str, inputs: Inputs, **params: Any) -> Outcome:
        """Run a protocol where the data is."""
        data = Partitions(self._there.records, PART)
        there: Any = {name: (role, data if entries is self.parts else entries) for name, (role, entries) in inputs.items()}
        return execute_spark(self.roster, protocol, there, params, progress=self.progress, spark=self._there.session)


def on_spark(
    data: Any,
    *,
    label: str,
    site: str | None = None,
    weight: str | None = None,
    drop: Sequence[str] = (),
    partitions: int | None = None,
    allow_two_parties: bool = False,
    spark: Any = None,
) -> SparkFederation:
    """See `Federation.spark`."""
    frame, spark = _frame(data, spark)
    columns = _columns(frame, label, weight, drop, site)
    with quiet():
        names, records = _by_partition(frame, columns, partitions) if site is None else _by_site(frame, columns, site)
    records = kept(records)
    found = attempted(mapped(records, facts).collect, "the first look at the data")
    told = dict(zip(names, [decode(bytes(frame)) for frame in found], strict=True))
    _check(told, label)
    warning = too_few(len(names))
    if warning and not allow_two_parties:
        raise LocalError(f"{warning}; use more partitions= or sites, or accept it with allow_two_parties=True")
    features = columns.features
    made = SparkFederation(
        "horizontal", {p: part_of(np.empty((0, len(features))), None, None, features) for p in names},
        {p: np.empty(0, dtype=np.int64) for p in names}, dict.fromkeys(names, np.arange(len(features))), features, named=True,
        labeller=None, coordinator=choose_coordinator(names, None), warnings=[warning] if warning else [], runtime="spark",
    )  # fmt: skip
    made.learners = Learners(records, spark, _targets(told), {name: each["rows"] for name, each in told.items()})
    return made


def _frame(data: Any, spark: Any) -> tuple[Any, Any]:
    if isinstance(data, (str, Path)):
        spark = session(spark)
        return _read(spark.read, str(data)), spark
    if not hasattr(data, "mapInArrow"):
        raise LocalError(
            f"Federation.spark takes a Spark DataFrame, or the path of a Parquet or CSV file. Got {type(data).__name__} instead."
        )
    return data, session(data.sparkSession)


def _read(reader: Any, path: str) -> Any:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        csv = path.endswith((".csv", ".csv.gz", ".csv.bz2"))
        return reader.csv(path, header=True, inferSchema=True) if csv else reader.parquet(path)
    except PySparkException as error:
        why = error.getCondition() or type(error).__name__
        raise LocalError(f"Spark cannot read {path} ({why}): give a Parquet file or folder, or a .csv file with a header") from None


def _columns(frame: Any, label: str, weight: str | None, drop: Sequence[str], site: str | None) -> Columns:
    """Features are all columns that are nothing else."""
    if len(set(frame.columns)) < len(frame.columns):
        raise LocalError("the DataFrame has two columns of one name: give every column its own name")
    others = [c for c in (label, weight, site, *drop) if c is not None]
    for column in others:
        check_column(column, frame.columns, "the DataFrame")
    found = Columns(tuple(c for c in frame.columns if c not in others), label, weight)
    if not found.features:
        raise LocalError("Found array with 0 feature(s) while a minimum of 1 is required: give a DataFrame with columns to learn from")
    _check_kinds({name: kind.split("(")[0] for name, kind in frame.dtypes}, found)
    return found


def _check_kinds(kinds: dict[str, str], columns: Columns) -> None:
    if kinds[columns.label] not in ("string", *NUMBERS):
        raise LocalError(f"the label column '{columns.label}' holds {kinds[columns.label]} values: give classes as text or numbers")
    for column in columns.names:
        if column != columns.label and kinds[column] not in (*NUMBERS, "decimal"):
            raise LocalError(
                f"column '{column}' holds {kinds[column]} values, not numbers: encode it, or leave it out with drop=['{column}']"
            )


def _by_partition(frame: Any, columns: Columns, partitions: int | None) -> tuple[tuple[str, ...], Any]:
    frame = frame.select(*(f"`{c}`" for c in columns.names))

    def written(batches: Iterator[Any]) -> Iterator[Any]:
        if held := list(batches):
            yield from pieces(0, pa.Table.from_batches(held), columns).to_batches()

    rows = (frame if partitions is None else frame.repartition(partitions)).mapInArrow(written, SCHEMA).rdd
    return tuple(f"partition-{k + 1}" for k in range(rows.getNumPartitions())), mapped(rows, joined)


def _by_site(frame: Any, columns: Columns, site: str) -> tuple[tuple[str, ...], Any]:
    frame = frame.selectExpr(f"cast(`{site}` as string) as `{site}`", *(f"`{c}`" for c in columns.names))
    found = [row[0] for row in frame.select(f"`{site}`").distinct().limit(SITES + 1).collect()]
    if None in found:
        raise LocalError(f"column '{site}' names the learners and has missing values: fill them in, or leave those records out")
    if len(found) > SITES:
        raise LocalError(f"column '{site}' names more than {SITES} learners: is it the right column?")
    names = check_names(sorted(found))
    index = {name: k for k, name in enumerate(names)}

    def written(key: tuple[Any, ...], rows: Any) -> Any:
        return pieces(index[key[0].as_py()], rows, columns)

    rows = frame.groupBy(f"`{site}`").applyInArrow(written, SCHEMA).rdd
    return names, mapped(rows.map(lambda row: (row[0], tuple(row))).partitionBy(len(names), int).values(), joined)


def _check(told: dict[str, dict[str, Any]], label: str) -> None:
    for name, found in told.items():
        if not found["rows"]:
            raise LocalError(
                f"{name} of {len(told)} holds no rows: say partitions= how many learners there shall be, or name them by site="
            )
        if found["error"]:
            raise LocalError(f"the rows of {name} could not be read ({found['error']}): its words stay on the cluster")
        if found["wrong"]:
            what, column = found["wrong"]
            of = "y" if column == label else "X"
            raise LocalError(f"Input {of} contains {what}: column '{column}' of {name} {REMEDY[what]}")


def _targets(told: dict[str, dict[str, Any]]) -> str:
    kinds = {found["targets"] for found in told.values()}
    return next(kind for kind in ("text", "continuous", "whole") if kind in kinds)
