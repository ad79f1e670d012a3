"""A federation: parties, what each of them holds, and who coordinates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from tacit.arrays import F64, I64, U8, Array
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster
from tacit.choreo.progress import Listener
from tacit.errors import LocalError
from tacit.federation import checks, join, slices, streams
from tacit.federation.backend import Backend, Here
from tacit.federation.card import render_federation
from tacit.federation.frames import Categories, as_texts, is_frame
from tacit.federation.ids import Alignment, align_tables, check_alignable, match_ids
from tacit.federation.part import Part, declare_own, kinds_of, part_of
from tacit.federation.plan import (
    Partition,
    Plan,
    Split,
    by_cells,
    by_columns,
    by_rows,
    choose_split,
    extent,
    party_names,
    plan_split,
)
from tacit.federation.slices import Choice, Deal
from tacit.federation.table import Table, as_table
from tacit.progress import listen_to
from tacit.protocols.align.alignment import ENOUGH
from tacit.registry import Outcome
from tacit.request import Input, Protocol, Request
from tacit.scratch import is_on_disk, release
from tacit.sparse import is_sparse

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False, repr=False)
class Federation:
    """Data split between parties, by rows, by columns or cell by cell.

    partition: "horizontal", "vertical" or "arbitrary". parts: each party's own data, in public order. rows, columns:
    global row and column numbers of each part. features: names of all columns; `named` says whether the caller gave
    them. labeller: the party that holds the labels; None in a horizontal split, where each holds its own. coordinator:
    the party, or the separate site, that coordinates. warnings: what the report has to say about this split. backend:
    where requests are run. progress: called with a `Progress` as a run goes on, instead of the line that people get.
    categories: of columns that were text, the texts that their numbers 0, 1, ... stand for. alignment: the run that
    found the common records, if ids were given; the report of a model tells of it too. kinds: the columns that are
    carried raw, "text" or "date"; each part has its own texts, and nobody knows the others'. ids: digests of the ids of
    each party's own records, where they have some. choices: of a slice, which parts of which deals it is.
    moved: whether a step has scaled the columns, so that what is found of them would be rounded to numbers of its own.
    spent: of a simulation, mu^2 of each noisy run on these records, or on some of them.
    """

    partition: Partition
    parts: Mapping[str, Part]
    rows: Mapping[str, I64]
    columns: Mapping[str, I64]
    features: tuple[str, ...]
    named: bool
    labeller: str | None
    coordinator: str
    warnings: tuple[str, ...] = ()
    backend: Backend = field(default_factory=Here)
    progress: Listener | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alignment: Outcome | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, U8] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    moved: bool = False
    spent: list[float] = field(default_factory=list)
    __iter__: ClassVar[None] = (
        None  # rows and columns are chosen by what pandas takes, and counting them up is none of it
    )

    @classmethod
    def simulate(
        cls,
        X: Any,
        y: Any = None,
        *,
        parties: int | Sequence[str] = 4,
        partition: Partition = "horizontal",
        split: Split | None = None,
        alpha: float = 0.5,
        by: Any = None,
        seed: int = 0,
        sample_weight: Any = None,
        labeller: str | None = None,
        coordinator: str | None = None,
        runtime: str = "together",
        allow_missing: bool = False,
        categories: Categories | None = None,
        raw: bool = False,
    ) -> Federation:
        """Return a simulated federation: one table, split between parties in this process.

        Args:
            X: whole records: an array, SciPy's sparse matrix (by rows), a pandas, polars or Arrow table, or a `Table`
                from `read`.
            y: their labels.
            parties: how many, or their names.
            partition: what each party gets: "horizontal" (rows), "vertical" (columns) or "arbitrary" (single cells).
            split: horizontal: "random" in equal numbers, "dirichlet" on the labels, "range" of the feature `by`,
                "column" `by` (which names the parties); vertical: "random" or "contiguous"; arbitrary: "random". None:
                "column" if `by` is given, else "random".
            alpha: "dirichlet": smaller values make the parties less alike.
            by: "range": a feature's name or index; "column": a column's name, or one value per record.
            seed: makes the split repeatable; no secret is drawn from it.
            sample_weight: one weight per record.
            labeller: vertical, arbitrary: the party that holds the labels; the first one by default.
            coordinator: who coordinates: a separate site without data by default, or the name of a party.
            runtime: where the parties run: "together" in this process, or on "spark".
            allow_missing: accept missing values, as NaN, for a `FederatedImputer` to fill; other estimators refuse
                them.
            categories: {column: texts}: the texts that may occur in a text column; the column is carried as their
                numbers 0, 1, ...
            raw: accept texts, dates and missing values as they are, for a `TableVectorizer` to encode; other estimators
                refuse them.
        """
        split = choose_split(partition, split, by)
        drop = [by] if split == "column" and isinstance(by, str) and is_frame(X) else []
        reading: dict[str, Any] = {"allow_missing": allow_missing, "categories": categories, "raw": raw}
        table = as_table(X, y, sample_weight, drop=drop, **reading)
        checks.check_declared_columns(categories, table.features)
        checks.check_whole(*table.X.shape)
        checks.check_weight(table)
        plan = plan_split(table, parties, partition, split, alpha=alpha, by=by, seed=seed)
        names = list(plan.rows)
        labeller = checks.choose_labeller(partition, names, labeller, default=names[0])
        site = checks.choose_coordinator(names, coordinator)
        parts = declare_own(plan.cut(table, labeller))
        facts = (partition, parts, plan.rows, plan.columns, table.features, table.named, labeller, site)
        few = checks.describe_few(checks.count_holders(parts))
        known: dict[str, Any] = {"categories": as_texts(categories), "kinds": kinds_of(parts)}
        return cls(*facts, (few,) if few else (), Here(runtime), **known)

    @classmethod
    def from_parts(
        cls,
        parts: Sequence[Any] | Mapping[str, Any],
        *,
        partition: Partition,
        names: Sequence[str] | None = None,
        y: Any = None,
        label: str | None = None,
        labeller: str | None = None,
        coordinator: str | None = None,
        allow_two_parties: bool = False,
        runtime: str = "together",
        allow_missing: bool = False,
        categories: Categories | None = None,
        raw: bool = False,
        ids: Sequence[Any] | None = None,
        min_records: int = ENOUGH,
        fold_ids: bool = False,
        progress: Listener | None = None,
    ) -> Federation:
        """Return a federation of these parts: X, (X, y) or (X, y, sample_weight) for each party.

        Args:
            parts: horizontal: (X, y) from everyone; vertical: each party's columns, with labels at one of them;
                arbitrary: full-size arrays with NaN wherever another party owns the cell. A list, or {party: part}.
            partition: how the parts make up the whole table: "horizontal" (rows), "vertical" (columns) or "arbitrary"
                (cells).
            names: names of the parties; party-1, party-2, ... by default.
            y: vertical, arbitrary: the labels, where no part brings them.
            label: of data frames, the column that holds the labels.
            labeller: the party that holds the labels; by default the one whose part has them, else the first.
            coordinator: who coordinates: a separate site without data by default, or the name of a party.
            allow_two_parties: accept that sums over fewer than three holders hide nothing.
            runtime: where the parties run: "together" in this process, or on "spark".
            allow_missing: accept missing values, as NaN, for a `FederatedImputer` to fill; other estimators refuse
                them.
            categories: {column: texts}: the texts that may occur in a text column; the column is carried as their
                numbers 0, 1, ...
            raw: accept texts, dates and missing values as they are, for a `TableVectorizer` to encode; other estimators
                refuse them.
            ids: vertical: one list of ids per party. Parts are aligned by them, and records that all parties have are
                kept.
            min_records: with ids: no id is opened if fewer records than this are common.
            fold_ids: capitals and blanks of ids do not count.
            progress: function that is called as runs proceed, the first time by the alignment.
        """
        if isinstance(parts, Mapping):
            names, parts = list(parts) if names is None else names, list(parts.values())
        names = party_names(len(parts) or ()) if names is None else checks.check_names(names, len(parts))
        held = join.take_labels(dict(zip(names, parts, strict=True)), label)
        reading: dict[str, Any] = {"allow_missing": allow_missing, "categories": categories, "raw": raw}
        tables = join.match_columns(join.as_tables(held, partition, **reading), partition)
        site = checks.choose_coordinator(names, coordinator)
        alignment: Alignment | None = None
        digests: dict[str, U8] = {}
        if ids is not None:
            check_alignable(partition, y)
            _check_before_aligning(tables, partition, labeller, allow_two_parties=allow_two_parties)
            held = match_ids(ids, names)
            tables, digests, alignment = align_tables(tables, held, site, min_records, runtime, progress, fold=fold_ids)
        join.check_tables(tables, partition)
        tables, labeller = join.place_labels(tables, partition, y, labeller)
        features, named = join.join_features(tables, partition)
        checks.check_declared_columns(categories, features)
        plan = join.plan_jointly(tables, partition)
        joined = declare_own(join.join_parts(tables, plan, features))
        facts = (partition, joined, plan.rows, plan.columns, features, named, labeller, site)
        warnings = checks.accept_few(checks.count_holders(joined), allow_two_parties=allow_two_parties)
        warnings += () if alignment is None else alignment.losses
        known: dict[str, Any] = {"kinds": kinds_of(joined), "ids": digests}
        return cls(*facts, warnings, Here(runtime), progress, as_texts(categories), alignment, **known)

    @classmethod
    def from_files(
        cls,
        paths: Sequence[str | Path],
        *,
        partition: Partition,
        label: str | None = "label",
        names: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        n_features: int | None = None,
        labeller: str | None = None,
        coordinator: str | None = None,
        allow_two_parties: bool = False,
        runtime: str = "together",
        allow_missing: bool = False,
        categories: Categories | None = None,
        raw: bool = False,
        id: str | None = None,  # noqa: A002 - what people call the column
        min_records: int = ENOUGH,
        fold_ids: bool = False,
        progress: Listener | None = None,
        stream: bool = False,
        memory: str | int = "2GB",
        sparse: bool | None = None,
    ) -> Federation:
        """Return a federation of one file per party (CSV, Parquet or LIBSVM); the names of the files name the parties.

        Args:
            paths: one per party.
            partition: how the files make up the whole table: "horizontal" (rows), "vertical" (columns) or "arbitrary"
                (cells, where a blank cell belongs to another party).
            label: name of the column with the labels: in every file (horizontal) or in one (vertical, arbitrary); None:
                no labels.
            names: names of the parties; those of the files by default.
            drop: columns to leave out.
            n_features: width of LIBSVM files, which do not write trailing zeros: by rows all parties need the same.
            labeller: the party whose labels count, if several files have labels.
            coordinator: who coordinates: a separate site without data by default, or the name of a party.
            allow_two_parties: accept that sums over fewer than three holders hide nothing.
            runtime: where the parties run: "together" in this process, or on "spark".
            allow_missing: accept missing values, as NaN, for a `FederatedImputer` to fill; other estimators refuse
                them.
            categories: {column: texts}: the texts that may occur in a text column; the column is carried as their
                numbers 0, 1, ...
            raw: accept texts, dates and missing values as they are, for a `TableVectorizer` to encode; other estimators
                refuse them.
            id: vertical: the column with the ids of the records. Files are aligned by it, and records that all parties
                have are kept.
            min_records: with id: no id is opened if fewer records than this are common.
            fold_ids: capitals and blanks of ids do not count.
            progress: function that is called as runs proceed, the first time by the alignment.
            stream: horizontal: read Parquet files, or folders of them, in batches into scratch files (TMPDIR), so that
                tables may be larger than memory; `SVC`, `SVR` and ELMs with least squares train on
                them.
            memory: with stream: how much memory training may take, in bytes or as text such as "2GB"; a table that
                needs more is refused.
            sparse: horizontal: keep only the cells of LIBSVM files that are not 0, with which `SVC` can train; None:
                do so if a file has many cells and most of them are 0.
        """
        files = [Path(p) for p in ([paths] if isinstance(paths, (str, Path)) else paths)]
        names = checks.check_names([f.stem for f in files] if names is None else names, len(files))
        if id is not None:
            check_alignable(partition, None)
        reading: dict[str, Any] = {"n_features": n_features, "ids": id}
        reading |= {"allow_missing": allow_missing, "categories": categories, "raw": raw}
        reading["sparse"] = sparse if partition == "horizontal" else bool(sparse)
        by_party = dict(zip(names, files, strict=True))
        if stream:
            checks.check_streamable(partition, allow_missing=allow_missing, raw=raw, n_features=n_features)
            tables = streams.read_streams(by_party, label, drop, categories, memory)
        else:
            tables = join.read_tables(by_party, partition, label, drop, **reading)
        return cls.from_parts(
            list(tables.values()),
            partition=partition,
            names=names,
            labeller=labeller,
            coordinator=coordinator,
            allow_two_parties=allow_two_parties,
            runtime=runtime,
            allow_missing=allow_missing,
            categories=categories,
            raw=raw,
            ids=None if id is None else [table.columns[id] for table in tables.values()],
            min_records=min_records,
            fold_ids=fold_ids,
            progress=progress,
        )

    @classmethod
    def described(
        cls,
        parties: Sequence[str],
        *,
        partition: Partition,
        coordinator: str,
        labeller: str | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        backend: Backend,
    ) -> Self:
        """Return a federation of parties that are elsewhere, with those of their columns that are known."""
        names = {p: tuple((columns or {}).get(p, (f"{p}.*",))) for p in parties}
        # in a horizontal split all have the same ones
        features = tuple(dict.fromkeys(name for own in names.values() for name in own))
        index = {p: np.array([features.index(name) for name in own]) for p, own in names.items()}
        parts = {p: part_of(np.empty((0, len(own))), None, None, own) for p, own in names.items()}
        rows = {p: np.empty(0, dtype=np.int64) for p in names}
        return cls(partition, parts, rows, index, features, bool(columns), labeller, coordinator, backend=backend)

    @classmethod
    def connect(cls, path: str | Path) -> Federation:
        """Return the federation of an analyst's configuration file; parties keep their data and agree to each run."""
        # looked up when it is needed: it stands on the estimators, which stand on this module
        connected: Federation = import_module("tacit.consortium.site.analyst").connect(path)
        return connected

    @classmethod
    def spark(
        cls,
        data: Any,
        *,
        label: str,
        site: str | None = None,
        weight: str | None = None,
        drop: Sequence[str] = (),
        partitions: int | None = None,
        allow_two_parties: bool = False,
        allow_missing: bool = False,
        raw: bool = False,
        session: Any = None,
    ) -> Federation:
        """Return a federation of records on a Spark cluster, where they stay; the driver coordinates.

        Spark is one trust domain: see docs/spark.md.

        Args:
            data: a Spark DataFrame, or the path of a Parquet or CSV file on any file system that Spark reads.
            label: the column with the labels.
            site: a column whose values name the learners; without it every partition of the data is a learner.
            weight: a column with sample weights.
            drop: columns to leave out.
            partitions: without `site`, the number of learners that the rows are divided between.
            allow_two_parties: accept that sums over fewer than three holders hide nothing.
            allow_missing: accept missing values, as NaN, for a `FederatedImputer` to fill; other estimators refuse
                them.
            raw: accept texts, dates and missing values as they are, for a `TableVectorizer` to encode; other estimators
                refuse them.
            session: the Spark session that reads a path; the active one by default, or one on this machine.
        """
        # looked up when it is needed: it stands on this module
        on_spark = import_module("tacit.federation.spark").on_spark
        asked = (label, site, weight, drop, partitions, session)
        carried = {"allow_missing": allow_missing, "raw": raw}
        made: Federation = on_spark(data, *asked, allow_two_parties=allow_two_parties, **carried)
        return made

    @property
    def runtime(self) -> str:
        """The name of the backend."""
        return self.backend.name

    @property
    def holds_records(self) -> bool:
        """Whether the records of all parties are in this process."""
        return self.backend.holds_records

    @property
    def streamed(self) -> bool:
        """Whether records lie on disk, and are read block by block."""
        return any(is_on_disk(part.X) for part in self.parts.values())

    @property
    def sparse(self) -> bool:
        """Whether records of a party are sparse rows."""
        return any(is_sparse(part.X) for part in self.parts.values())

    def check_dense(self, who: str) -> None:
        """Refuse sparse records for somebody who needs all cells."""
        if self.sparse:
            remedy = "give X.toarray(), or read files with sparse=False"
            raise LocalError(f"Sparse data was passed, and {who} needs all cells of records: {remedy}")

    @property
    def roster(self) -> Roster:
        """Who takes which role. In a horizontal split every holder has labels, and the first asks."""
        holders, asker = tuple(self.parts), self.labeller or next(iter(self.parts))
        labeller = {Labeller: (self.labeller,)} if self.labeller else {}
        return Roster({Holder: holders, **labeller, Asker: (asker,), Coordinator: (self.coordinator,)})

    def run(self, request: Request | Protocol, inputs: Mapping[str, Input] | None = None, **params: Any) -> Outcome:
        """Run a request between the parties, or a protocol: a registered one by its name, or any choreography.

        Args:
            request: what `estimator.request(federation)` returns; or a protocol, with its inputs and parameters.
            inputs: of a protocol: who brings what along, such as {"data": Records()}.
            params: of a protocol.
        """
        asked = request if isinstance(request, Request) else Request(request, inputs or {}, params)
        return next(self.run_plan((asked,)))

    def run_plan(self, plan: Sequence[Request]) -> Iterator[Outcome]:
        """Run requests one after the other; each may bring along what an earlier one of them left."""
        for request in plan:
            self.backend.check(request)
        done: dict[Request | str, Outcome] = {}
        for request in plan:
            ready = {name: self.backend.settle(each, done) for name, each in request.inputs.items()}
            with listen_to(request.name, self.progress) as tell:
                told = dataclasses.replace(self, progress=tell)
                done[request] = self.backend.run(told, request.with_inputs(**ready))
            yield done[request]

    def rehearse(self, model: Any) -> Any:
        """Return what `model.fit` would open and cost, as a `Preview`, without proposing or sending anything."""
        # looked up when it is needed: it stands on the estimators, which stand on this module
        return import_module("tacit.consortium.jobs.preview").preview(self, model)

    def advise(self, **asked: Any) -> Any:
        """Return which methods fit, ranked, with what each opens and costs, as an `Advice`. Nothing is sent.

        Args:
            asked: task ("classes" or "numbers"), records, never (facts that may not be opened), seconds, and the
                link between the sites, as `tacit.consortium.advice.advising` has them.
        """
        return import_module("tacit.consortium.advice").advise(self, **asked)  # as above

    def describe(self, **options: Any) -> Any:
        """Return what the columns hold over all parties: counts, means, quartiles, histograms, categories.

        Between organisations this is a job, which needs the consent of every site like any other.

        Args:
            options: categories, accept_risk and verbose, as
                `tacit.inspect.Describe` has them.
        """
        # looked up when it is needed: it stands on this module
        return import_module("tacit.inspect.describe").describe(self, **options)

    @property
    def fit(self) -> NoReturn:
        """Refuse scikit-learn's own folds, which ask for this first, and would take the parties for records."""
        raise LocalError(
            "a Federation is no array: search with tacit.FederatedGridSearch, and validate with tacit.cross_validate,"
            " or give scikit-learn's own functions plain arrays"
        )

    @property
    def n_rows(self) -> int:
        """Records of all parties together."""
        count = extent(self.rows.values())
        release(tuple(self.rows.values()))
        return count

    @property
    def n_features(self) -> int:
        """Features of all parties together."""
        return len(self.features)

    def split(self, X: Any, *, allow_missing: bool = False) -> Federation:
        """Return whole new records, split in the same way.

        Vertical: by the same columns. Horizontal: in equal numbers, in order. Arbitrary: by the pattern of owners
        of the records at hand, repeated as often as needed; all cells to the asker where there are no records at hand.
        `allow_missing` keeps missing values, as NaN, for a pipeline that fills them.
        """
        table = as_table(X, allow_missing=allow_missing)
        checks.check_whole(*table.X.shape)
        checks.check_fits(table, self.features, named=self.named)
        plan = self._plan(len(table.X))
        parts = plan.cut(dataclasses.replace(table, y=None, weight=None, features=self.features), None)
        backend = self.backend.without_records()
        new = dataclasses.replace(self, rows=plan.rows, columns=plan.columns, ids={}, choices=())
        return dataclasses.replace(new, parts=parts, backend=backend)

    def _plan(self, n: int) -> Plan:
        if self.partition == "vertical":
            return by_columns(self.columns, n)
        if self.partition == "horizontal":
            shares = np.array_split(np.arange(n), len(self))
            return by_rows(dict(zip(self.parts, shares, strict=True)), self.n_features)
        if not self.n_rows:
            asker = self.labeller or next(iter(self.parts))
            return by_cells({name: np.full((n, self.n_features), name == asker) for name in self.parts})
        pattern = np.arange(n) % self.n_rows
        return by_cells({name: part.owned[pattern] for name, part in self.parts.items() if part.owned is not None})

    def __getitem__(self, key: Any) -> Federation:
        """Return some of the columns or some of the records, as pandas does.

        A name or a list of names is columns; a slice, a mask or a list of numbers is records.
        """
        wanted = [key] if isinstance(key, str) else key
        named = isinstance(wanted, (list, tuple)) and bool(wanted) and all(isinstance(name, str) for name in wanted)
        return self.take_columns(wanted) if named else self.take_rows(wanted)

    def take_rows(self, rows: Any) -> Federation:
        """Return a federation of some of the records, which stay where they are, in the order given.

        What was opened of them before still counts.

        Args:
            rows: a mask, a slice, or numbers of records, from 0 in the order of `pooled`; each record once.
        """
        return slices.take_rows(self, rows)

    def take_columns(self, columns: Sequence[str | int]) -> Federation:
        """Return a federation of some of the columns, by their names or numbers, in the order given.

        What was opened of the records before still counts.
        """
        return slices.take_columns(self, columns)

    def deal(self, deal: Deal) -> slices.Dealt:
        """Let every party divide its own records into parts; nothing is sent."""
        return slices.deal_records(self, deal)

    def rename_features(self, features: tuple[str, ...]) -> Federation:
        """Return the same federation with the caller's names for its features."""
        names = {p: tuple(features[j] for j in columns) for p, columns in self.columns.items()}
        parts = {p: dataclasses.replace(part, features=names[p]) for p, part in self.parts.items()}
        backend = self.backend.without_records()
        return dataclasses.replace(self, parts=parts, features=features, named=True, backend=backend)

    def without_records(self) -> Federation:
        """Return who holds which features, and nothing else: what a model keeps of the federation it was fitted on."""
        empty = {p: part_of(part.X[:0], None, None, part.features) for p, part in self.parts.items()}
        rows = {p: r[:0].copy() for p, r in self.rows.items()}
        backend = self.backend.without_records()
        bare = dataclasses.replace(self, progress=None, alignment=None, ids={}, choices=())
        return dataclasses.replace(bare, parts=empty, rows=rows, backend=backend)

    def pooled(self) -> tuple[F64, Array | None, F64 | None]:
        """Return all records in one place, with labels and weights; only to compare with the centralised learner.

        Sparse records are a SciPy matrix.
        """
        if self.sparse:
            held = [csr_matrix(part.X.csr if is_sparse(part.X) else part.X) for part in self.parts.values()]
            return vstack(held, format="csr")[np.argsort(self.row_order)], *self.targets()
        X = np.zeros((self.n_rows, self.n_features))
        for name, part in self.parts.items():
            X[np.ix_(self.rows[name], self.columns[name])] += part.X  # in an arbitrary split others' cells are zero
        return X, *self.targets()

    def targets(self) -> tuple[Array | None, F64 | None]:
        """Return the labels and weights of all records in one place: to judge answers by."""
        return self._gather("y"), self._gather("weight")

    def _gather(self, name: str) -> Array | None:
        held = {party: getattr(part, name) for party, part in self.parts.items() if getattr(part, name) is not None}
        return self.join_rows(held) if held else None

    @property
    def row_order(self) -> I64:
        """The global number of every record, party by party."""
        return np.concatenate([self.rows[party] for party in self.parts])

    def join_rows(self, held: Mapping[str, NDArray[T]]) -> NDArray[T]:
        """Return what parties hold of their own records, an entry for each, in the global order of the records."""
        order = np.argsort(np.concatenate([self.rows[party] for party in held]))
        joined: NDArray[T] = np.concatenate(list(held.values()))[order]
        return joined

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return f"<Federation: {self.backend.describe(self)}>"

    def _repr_html_(self) -> str:
        return render_federation(self)


def _check_before_aligning(
    tables: Mapping[str, Table], partition: Partition, labeller: str | None, *, allow_two_parties: bool
) -> None:
    """Raise whatever can be refused before anything is sent."""
    for table in tables.values():
        checks.check_weight(table)
    join.place_labels(tables, partition, None, labeller)
    join.join_features(tables, partition)
    checks.accept_few(sum(table.X.size > 0 for table in tables.values()), allow_two_parties=allow_two_parties)
