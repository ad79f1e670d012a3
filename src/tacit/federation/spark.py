"""Data on a Spark cluster: every partition, or every value of a column, is a learner; no record passes the driver.

Each learner's rows become a `Part` at an executor, checked there; the driver hears how many rows there are and what is
wrong with them: a word and a column, never a value.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from tacit.choreo import decode
from tacit.errors import LocalError
from tacit.federation.backend import Backend, T
from tacit.federation.checks import accept_few, check_names, choose_coordinator
from tacit.federation.columns import check_whole
from tacit.federation.federation import Federation
from tacit.federation.learner import PART, SCHEMA, Alone, Columns, facts, join_pieces, pieces
from tacit.federation.part import Part
from tacit.federation.table import check_column
from tacit.registry import Outcome, execute_spark
from tacit.request import Beside, Computed, Input, Left, Records, Request, Values
from tacit.runtimes.spark.cluster import name_fault
from tacit.runtimes.spark.layers import Partitions, attempt, keep, map_partitions
from tacit.runtimes.spark.session import quiet, session

SITES = 1000
SHOWN = 6
RAW = ("string", "date", "timestamp", "timestamp_ntz")  # that a TableVectorizer takes
CHECKED = "checked"  # the slot of a check, which leaves nothing
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")
Told = dict[str, dict[str, Any]]  # what each learner tells of its records
REMEDY = {
    "NaN": "has missing values: fill them in, or leave out those rows or that column",
    "infinity": "has infinite values: replace them with finite ones",
    "negative": "has negative weights: give every record a weight of 0 or more",
}


@dataclass(frozen=True)
class Learners:
    """What is on the cluster: a record per learner, and what the driver knows of them.

    gaps: of each learner that has missing values, a column of them.
    """

    records: Any
    session: Any
    targets: str
    sizes: dict[str, int]
    gaps: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OnSpark(Backend):
    """Records that stay on the cluster; the backend of a copy, for a model or with other names, has none."""

    learners: Learners | None = None
    name: ClassVar[str] = "spark"  # type: ignore[misc]  # of this class, where others have one of their own
    prepares: ClassVar[bool] = True

    def run(self, federation: Federation, request: Request) -> Outcome:
        """Run a protocol where the data is."""
        there: Any = {name: (each.role, self.bring(name, each)) for name, each in request.inputs.items()}
        watch = {"progress": federation.progress, "spark": self._there.session}
        return execute_spark(federation.roster, request.protocol, there, request.params, **watch)

    def resolve(self, left: Left, outcome: Outcome) -> Input:
        """Refuse: nothing outlives a run on a cluster."""
        del outcome
        raise LocalError(
            f"what a request leaves for {left.role.name} is lost when its run on Spark ends: run it elsewhere"
        )

    def check_targets(self, *, numbers: bool) -> None:
        """Raise if labels are of the wrong kind, by what the executors found."""
        if numbers and self._there.targets == "text":
            raise LocalError("a regression needs numbers as targets, and the label column holds text: use a classifier")
        if not numbers and self._there.targets == "continuous":
            raise LocalError("Unknown label type: continuous. The label column holds fractions: use a regressor")

    def check_new_records(self) -> None:
        """Refuse: the records would have to be brought here."""
        raise LocalError("records on a cluster are not brought here: call predict in DataFrame.mapInPandas")

    def check_records(self, check: Callable[[str, Part], None]) -> None:
        """Let each learner check its own records; of missing values the driver has been told."""
        if check is not check_whole:
            self._do_alone(check, into=CHECKED)
        for party, column in self._there.gaps.items():
            gaps = f"column '{column}' of party '{party}' has missing values"
            raise LocalError(f"Input X contains NaN: {gaps}: fit a FederatedImputer first, as in a tacit.Pipeline")

    def fit(self, federation: Federation, model: T, here: Callable[[], T]) -> T:
        """Return the fitted model; a pipeline is fitted as one study."""
        if not hasattr(model, "steps"):
            return here()
        # looked up when it is needed: it stands on the estimators, which stand on this module
        fitted: T = import_module("tacit.study.replay").fit_on_spark(federation, model)
        return fitted

    def remake(self, step: Callable[..., Part], *held: Input) -> OnSpark:
        """Return the same learners with other records, each one's made of its own at its executor.

        Learners hold rows, so that no owner of columns keeps anything of its own.
        """
        del held
        made, told = self._do_alone(step, into=PART)
        return OnSpark(dataclasses.replace(self._there, records=made, gaps=_gaps(told)))

    def bring(self, name: str, brought: Input) -> Any:
        """Return what learners bring for an input, which lies on the cluster."""
        match brought:
            case Records():
                return Partitions(self._there.records, PART)
            case Values(entries=entries):
                return entries
            case Beside(federation=Federation(backend=OnSpark() as other)):
                return other.bring(name, Records())
            case Computed(step=step, of=of) if all(isinstance(each, Records | Beside) for each in of):
                return Partitions(self._do_alone(step, *(self.bring(name, each) for each in of), into=name)[0], name)
        raise LocalError(f"input {name!r} is {type(brought).__name__}, which learners on a cluster do not have")

    def _do_alone(self, step: Callable[..., Any], *of: Partitions, into: str) -> tuple[Any, Told]:
        """Return what every learner makes of its own records, and what it tells; raise what one of them refuses.

        of: which of its records; those of this federation if none are named.
        """
        alone = Alone(tuple(self._there.sizes), step, into)
        records = functools.reduce(lambda a, b: a.zip(b), [each.rdd for each in of] or [self._there.records])
        made = keep(map_partitions(records, alone))
        told = _hear(tuple(self._there.sizes), made, alone.place)
        for party, found in told.items():
            if found["error"]:
                raise name_fault(party, found["error"], alone.place)
        return made, told

    def without_records(self) -> Backend:
        """Return a backend without learners."""
        return OnSpark()

    def describe(self, federation: Federation) -> str:
        """Return how many rows the learners have."""
        if self.learners is None:
            return super().describe(federation)
        rows = [f"{name} {n}" for name, n in self.learners.sizes.items()]
        more = ", ..." * (len(rows) > SHOWN)
        total = f"{sum(self.learners.sizes.values())} x {federation.n_features}"
        return f"on Spark, {total}: rows of {', '.join(rows[:SHOWN])}{more}; coordinator driver"

    @property
    def _there(self) -> Learners:
        if self.learners is None:
            raise LocalError(
                "this federation is a copy without the records, which stay on the cluster: prepare columns there"
            )
        return self.learners


def _hear(names: Sequence[str], records: Any, what: str) -> Told:
    """Return what the executors tell of the records."""
    found = attempt(map_partitions(records, facts).collect, what)
    return dict(zip(names, [decode(bytes(frame)) for frame in found], strict=True))


def _gaps(told: Told) -> dict[str, str]:
    return {name: found["gap"] for name, found in told.items() if found["gap"]}


def on_spark(
    data: Any,
    label: str,
    site: str | None,
    weight: str | None,
    drop: Sequence[str],
    partitions: int | None,
    spark: Any,
    *,
    allow_two_parties: bool,
    allow_missing: bool,
    raw: bool,
) -> Federation:
    """Return the federation that `Federation.spark` describes."""
    frame, spark = _frame(data, spark)
    columns = _columns(frame, label, weight, drop, site, raw=raw)
    columns = dataclasses.replace(columns, gaps=allow_missing or raw, raw=raw)
    with quiet():
        names, records = _by_partition(frame, columns, partitions) if site is None else _by_site(frame, columns, site)
    records = keep(records)
    told = _hear(names, records, "the first look at the data")
    _check(told, label)
    warnings = accept_few(len(names), allow_two_parties=allow_two_parties, remedy="use more partitions= or sites")
    sizes = {name: each["rows"] for name, each in told.items()}
    learners = Learners(records, spark, _targets(told), sizes, _gaps(told))
    made = Federation.described(
        names,
        partition="horizontal",
        coordinator=choose_coordinator(names, None),
        columns=dict.fromkeys(names, columns.features),
        backend=OnSpark(learners),
    )
    return dataclasses.replace(made, warnings=warnings, kinds=_kinds(told))


def _frame(data: Any, spark: Any) -> tuple[Any, Any]:
    if isinstance(data, (str, Path)):
        spark = session(spark)
        return _read(spark.read, str(data)), spark
    if not hasattr(data, "mapInArrow"):
        takes = "a Spark DataFrame, or the path of a Parquet or CSV file"
        raise LocalError(f"Federation.spark takes {takes}. Got {type(data).__name__} instead.")
    return data, session(data.sparkSession)


def _read(reader: Any, path: str) -> Any:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        csv = path.endswith((".csv", ".csv.gz", ".csv.bz2"))
        return reader.csv(path, header=True, inferSchema=True) if csv else reader.parquet(path)
    except PySparkException as error:
        why = error.getCondition() or type(error).__name__
        raise LocalError(
            f"Spark cannot read {path} ({why}): give a Parquet file or folder, or a .csv file with a header"
        ) from None


def _columns(
    frame: Any, label: str, weight: str | None, drop: Sequence[str], site: str | None, *, raw: bool
) -> Columns:
    """Return which columns are what; features are all that are nothing else."""
    if len(set(frame.columns)) < len(frame.columns):
        raise LocalError("the DataFrame has two columns of one name: give every column its own name")
    others = [c for c in (label, weight, site, *drop) if c is not None]
    for column in others:
        check_column(column, frame.columns, "the DataFrame")
    found = Columns(tuple(c for c in frame.columns if c not in others), label, weight)
    if not found.features:
        raise LocalError(
            "Found array with 0 feature(s) while a minimum of 1 is required: give a DataFrame with more columns"
        )
    _check_kinds({name: kind.split("(")[0] for name, kind in frame.dtypes}, found, RAW if raw else ())
    return found


def _check_kinds(kinds: dict[str, str], columns: Columns, more: Sequence[str]) -> None:
    if kinds[columns.label] not in ("string", *NUMBERS):
        raise LocalError(
            f"the label column '{columns.label}' holds {kinds[columns.label]} values: give classes as text or numbers"
        )
    for column in columns.names:
        taken = (*NUMBERS, "decimal", *(more if column in columns.features else ()))
        if column != columns.label and kinds[column] not in taken:
            wrong = f"column '{column}' holds {kinds[column]} values, not numbers"
            remedy = "" if more else ", or carry it to a TableVectorizer with raw=True"
            raise LocalError(f"{wrong}: encode it, or leave it out with drop=['{column}']{remedy}")


def _by_partition(frame: Any, columns: Columns, partitions: int | None) -> tuple[tuple[str, ...], Any]:
    frame = frame.select(*(f"`{c}`" for c in columns.names))

    def written(batches: Iterator[Any]) -> Iterator[Any]:
        if held := list(batches):
            yield from pieces(0, pa.Table.from_batches(held), columns).to_batches()

    rows = (frame if partitions is None else frame.repartition(partitions)).mapInArrow(written, SCHEMA).rdd
    return tuple(f"partition-{k + 1}" for k in range(rows.getNumPartitions())), map_partitions(rows, join_pieces)


def _by_site(frame: Any, columns: Columns, site: str) -> tuple[tuple[str, ...], Any]:
    frame = frame.selectExpr(f"cast(`{site}` as string) as `{site}`", *(f"`{c}`" for c in columns.names))
    found = [row[0] for row in frame.select(f"`{site}`").distinct().limit(SITES + 1).collect()]
    if None in found:
        raise LocalError(
            f"column '{site}' names the learners and has missing values: fill them in, or leave those records out"
        )
    if len(found) > SITES:
        raise LocalError(f"column '{site}' names more than {SITES} learners: is it the right column?")
    names = check_names(sorted(found))
    index = {name: k for k, name in enumerate(names)}

    def written(key: tuple[Any, ...], rows: Any) -> Any:
        return pieces(index[key[0].as_py()], rows, columns)

    rows = frame.groupBy(f"`{site}`").applyInArrow(written, SCHEMA).rdd
    return names, map_partitions(
        rows.map(lambda row: (row[0], tuple(row))).partitionBy(len(names), int).values(), join_pieces
    )


def _check(told: Told, label: str) -> None:
    for name, found in told.items():
        if not found["rows"]:
            raise LocalError(f"{name} of {len(told)} holds no rows: say partitions=, or name learners by site=")
        if found["error"]:
            raise LocalError(
                f"the rows of {name} could not be read ({found['error']}): the error text stays on the cluster"
            )
        if found["wrong"]:
            what, column = found["wrong"]
            of = "y" if column == label else "X"
            raise LocalError(f"Input {of} contains {what}: column '{column}' of {name} {REMEDY[what]}")


def _kinds(told: Told) -> dict[str, str]:
    """Return which columns hold texts or dates; refuse one that is of different kinds at different learners."""
    kinds: dict[str, str] = {}
    for name, found in told.items():
        for column, kind in found["kinds"].items():
            if kinds.setdefault(column, kind) != kind:
                raise LocalError(f"column '{column}' holds {kind}s at {name} only: write it alike everywhere")
    return kinds


def _targets(told: Told) -> str:
    kinds = {found["targets"] for found in told.values()}
    return next(kind for kind in ("text", "continuous", "whole") if kind in kinds)
