"""A federation: parties, what each of them holds, and who coordinates."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, Array, Asker, Coordinator, Holder, Labeller, Roster
from tacit.data.checks import (
    check_choice,
    check_fits,
    check_names,
    check_weight,
    check_whole,
    choose_coordinator,
    choose_labeller,
    few_holders,
    too_few,
)
from tacit.data.frames import Categories, is_frame
from tacit.data.ids import aligned, check_alignable, given_ids, id_columns
from tacit.data.join import check_tables, given_tables, joint_features, joint_parts, joint_plan, place_labels, read_tables
from tacit.data.part import Part, part_of
from tacit.data.plan import Partition, Plan, Split, by_cells, by_columns, by_rows, extent, party_names, simulated
from tacit.data.table import Table, as_table
from tacit.errors import LocalError
from tacit.protocols.align import ENOUGH
from tacit.registry import RUNTIMES, Inputs, Outcome, Progress


@dataclass(eq=False, repr=False)
class Federation:
    """Data split between parties, by rows, by columns or cell by cell.

    partition: "horizontal", "vertical" or "arbitrary".
    parts: each party's own data, in public order.
    rows, columns: global row and column numbers of each part.
    features: names of all columns; `named` says whether the caller gave them.
    labeller: the party that holds the labels; None in a horizontal split, where each holds its own.
    coordinator: the party, or the separate site, that coordinates.
    warnings: what the report has to say about this split.
    runtime: where protocols run.
    progress: called with a place, the rounds done there and the rounds to do, as a run goes on.
    categories: of columns that were text, the texts that their numbers 0, 1, ... stand for.
    alignment: the run that found the common records, if ids were given; the report of a model tells of it too.
    past: what earlier runs opened of each party's rows, as a site's register keeps it: later runs hold back accordingly.
    """

    partition: Partition
    parts: dict[str, Part]
    rows: dict[str, I64]
    columns: dict[str, I64]
    features: tuple[str, ...]
    named: bool
    labeller: str | None
    coordinator: str
    warnings: list[str] = field(default_factory=list)
    runtime: str = "together"
    progress: Progress | None = None
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    alignment: Outcome | None = None
    past: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def simulate(
        cls,
        X: Any,
        y: Any = None,
        *,
        parties: int | Sequence[str] = 4,
        partition: Partition = "horizontal",
        split: Split = "random",
        alpha: float = 0.5,
        by: Any = None,
        seed: int = 0,
        sample_weight: Any = None,
        labeller: str | None = None,
        coordinator: str | None = None,
        runtime: str = "together",
        allow_missing: bool = False,
        categories: Categories | None = None,
    ) -> Federation:
        """Split one table between imagined parties.

        Args:
            X: whole records: an array, a pandas, polars or Arrow table, or a `Table` from `read`.
            y: their labels.
            parties: how many, or their names.
            partition: who gets what: rows, columns, or single cells.
            split: horizontal: "random" in equal numbers, "dirichlet" on the labels, "range" of the feature `by`,
                "column" `by` (which names the parties); vertical: "random" or "contiguous"; arbitrary: "random".
            alpha: "dirichlet": the smaller, the less alike the parties.
            by: "range": a feature's name or index; "column": a column's name, or one value per record.
            seed: makes the split repeatable; it feeds no secret.
            sample_weight: one weight per record.
            labeller: vertical, arbitrary: who holds the labels; the first party by default.
            coordinator: a separate site by default, or the name of a party.
            runtime: where protocols run.
            allow_missing: carry missing values, as NaN, to a `FederatedImputer`; every other estimator refuses them.
            categories: of text columns, the texts that may occur; such a column is carried as their numbers, 0, 1, ...
        """
        drop = [by] if split == "column" and isinstance(by, str) and is_frame(X) else []
        table = as_table(X, y, sample_weight, drop=drop, allow_missing=allow_missing, categories=categories)
        check_whole(*table.X.shape)
        check_weight(table)
        plan = simulated(table, parties, partition, split, alpha=alpha, by=by, seed=seed)
        names = list(plan.rows)
        labeller = choose_labeller(partition, names, labeller, default=names[0])
        site = choose_coordinator(names, coordinator)
        parts = plan.cut(table, labeller)
        warnings = [w for w in [few_holders(parts)] if w]
        return cls(
            partition, parts, plan.rows, plan.columns, table.features, table.named, labeller, site, warnings, runtime,
            categories=_texts(categories),
        )  # fmt: skip

    @classmethod
    def from_parts(
        cls,
        parts: Sequence[Any],
        *,
        partition: Partition,
        names: Sequence[str] | None = None,
        y: Any = None,
        labeller: str | None = None,
        coordinator: str | None = None,
        allow_two_parties: bool = False,
        runtime: str = "together",
        allow_missing: bool = False,
        categories: Categories | None = None,
        ids: Sequence[Any] | None = None,
        min_records: int = ENOUGH,
        progress: Progress | None = None,
    ) -> Federation:
        """Take the parts as they are: X, (X, y) or (X, y, sample_weight) for each party.

        Args:
            parts: horizontal: (X, y) from everyone; vertical: each party's columns, with labels at one of them;
                arbitrary: full-size arrays with NaN wherever another party owns the cell.
            partition: how the parts fit together.
            names: of the parties; party-1, party-2, ... by default.
            y: vertical, arbitrary: the labels, where no part brings them.
            labeller: who holds them; the party that brings them, or else the first, by default.
            coordinator: a separate site by default, or the name of a party.
            allow_two_parties: accept that sums over fewer than three holders hide nothing.
            runtime: where protocols run.
            allow_missing: carry missing values, as NaN, to a `FederatedImputer`; every other estimator refuses them.
            categories: of text columns, the texts that may occur; such a column is carried as their numbers, 0, 1, ...
            ids: vertical: one list of ids per party: parts of different records are aligned, and those that all have are kept.
            min_records: with ids: how many records must be common before any id opens.
            progress: called as runs go on, the alignment's first.
        """
        names = party_names(len(parts) or ()) if names is None else check_names(names, len(parts))
        tables = given_tables(dict(zip(names, parts, strict=True)), partition, allow_missing=allow_missing, categories=categories)
        return cls._of_tables(
            tables, partition, y, labeller, coordinator, runtime, categories, allow_two_parties=allow_two_parties,
            ids=None if ids is None else given_ids(ids, names), min_records=min_records, progress=progress,
        )  # fmt: skip

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
        id: str | None = None,  # noqa: A002 - what people call the column
        min_records: int = ENOUGH,
        progress: Progress | None = None,
    ) -> Federation:
        """Read one file per party (CSV, Parquet or LIBSVM); the file names' stems name the parties.

        Args:
            paths: one per party.
            partition: how the files fit together; arbitrary: a blank cell is another party's.
            label: the column with the labels: in every file (horizontal) or in one (vertical, arbitrary); None: no labels.
            names: of the parties.
            drop: columns that are no features.
            n_features: width of LIBSVM files, which do not write trailing zeros.
            labeller: whose labels count where several files have some.
            coordinator: a separate site by default, or the name of a party.
            allow_two_parties: accept that sums over fewer than three holders hide nothing.
            runtime: where protocols run.
            allow_missing: carry missing values, as NaN, to a `FederatedImputer`; every other estimator refuses them.
            categories: of text columns, the texts that may occur; such a column is carried as their numbers, 0, 1, ...
            id: vertical: the column with the records' ids: files of different records are aligned, and those that all have are kept.
            min_records: with id: how many records must be common before any id opens.
            progress: called as runs go on, the alignment's first.
        """
        files = [Path(p) for p in ([paths] if isinstance(paths, (str, Path)) else paths)]
        names = check_names([f.stem for f in files] if names is None else names, len(files))
        if id is not None:
            check_alignable(partition, None)
        tables = read_tables(
            dict(zip(names, files, strict=True)), partition, label, drop, n_features, labeller,
            allow_missing=allow_missing, categories=categories, ids=id,
        )  # fmt: skip
        return cls._of_tables(
            tables, partition, None, labeller, coordinator, runtime, categories, allow_two_parties=allow_two_parties,
            ids=None if id is None else id_columns(tables, id), min_records=min_records, progress=progress,
        )  # fmt: skip

    @classmethod
    def _of_tables(
        cls,
        tables: Mapping[str, Table],
        partition: Partition,
        y: Any,
        labeller: str | None,
        coordinator: str | None,
        runtime: str,
        categories: Categories | None,
        *,
        allow_two_parties: bool,
        ids: Mapping[str, Any] | None,
        min_records: int,
        progress: Progress | None,
    ) -> Federation:
        site, alignment = choose_coordinator(list(tables), coordinator), None
        if ids is not None:
            check_alignable(partition, y)
            _check_before_aligning(tables, partition, labeller, allow_two_parties=allow_two_parties)
            tables, alignment = aligned(tables, ids, site, min_records=min_records, runtime=runtime, progress=progress)
        check_tables(tables, partition)
        tables, labeller = place_labels(tables, partition, y, labeller)
        features, named = joint_features(tables, partition)
        plan = joint_plan(tables, partition)
        parts = joint_parts(tables, plan, features)
        warnings = _accepted(few_holders(parts), allow_two_parties=allow_two_parties)
        return cls(
            partition, parts, plan.rows, plan.columns, features, named, labeller, site, warnings, runtime, progress, _texts(categories),
            alignment,
        )  # fmt: skip

    @classmethod
    def connect(cls, path: str | Path) -> Federation:
        """The federation of an analyst's configuration file: data stays at the parties, whose consent is asked for every run."""
        # looked up when it is needed: it stands on the estimators, which stand on this module
        connected: Federation = import_module("tacit.consortium.analyst").connect(path)
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
        session: Any = None,
    ) -> Federation:
        """Records on a Spark cluster, where they stay; the driver coordinates. Spark is one trust domain: see docs/spark.md.

        Args:
            data: a Spark DataFrame, or the path of a Parquet or CSV file on any file system that Spark reads.
            label: the column with the labels.
            site: a column whose values name the learners; without it every partition is one.
            weight: a column with sample weights.
            drop: columns that are no features.
            partitions: how many learners the rows are dealt out to, without `site`.
            allow_two_parties: accept that sums over fewer than three holders hide nothing.
            session: the Spark session that reads a path; the active one by default, or one on this machine.
        """
        # looked up when it is needed: it stands on this module
        made: Federation = import_module("tacit.data.spark").on_spark(
            data, label=label, site=site, weight=weight, drop=drop, partitions=partitions, allow_two_parties=allow_two_parties,
            spark=session,
        )  # fmt: skip
        return made

    @property
    def simulated(self) -> bool:
        """Whether all parties are in this process."""
        return True

    def check_targets(self, *, numbers: bool) -> None:
        """Refuse targets of the wrong kind where parties that are elsewhere have told; other parties check their own."""

    @property
    def roster(self) -> Roster:
        """Who takes which role. In a horizontal split every holder has labels, and the first asks."""
        holders, asker = tuple(self.parts), self.labeller or next(iter(self.parts))
        labeller = {Labeller: (self.labeller,)} if self.labeller else {}
        return Roster({Holder: holders, **labeller, Asker: (asker,), Coordinator: (self.coordinator,)})

    def execute(self, protocol: str, inputs: Inputs, **params: Any) -> Outcome:
        """Run a protocol between the parties; `inputs` says which role brings what along."""
        check_choice("runtime", self.runtime, RUNTIMES)
        held = {name: (role, self._remembered(entries)) for name, (role, entries) in inputs.items()}
        return RUNTIMES[self.runtime](self.roster, protocol, held, params, progress=self.progress, keep=self.past.__setitem__)

    def _remembered(self, entries: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parties' parts, with what earlier runs opened of their rows."""
        if self.partition != "horizontal" or not self.past:
            return entries
        known = {p: part for p, part in entries.items() if isinstance(part, Part) and p in self.past}
        return {**entries, **{p: dataclasses.replace(part, past=self.past[p]) for p, part in known.items()}}

    def forget(self) -> Federation:
        """The same records as if nothing had been opened of them yet: for simulations that compare runs with each other."""
        return dataclasses.replace(self, past={})

    @property
    def n_rows(self) -> int:
        """Records of all parties together."""
        return extent(self.rows.values())

    @property
    def n_features(self) -> int:
        """Features of all parties together."""
        return len(self.features)

    def split(self, X: Any) -> Federation:
        """Whole new records, cut the same way.

        Vertical: by the same columns. Horizontal: in equal numbers, in order. Arbitrary: by the pattern of owners
        of the records at hand, repeated as often as needed; all cells to the asker where there are no records at hand.
        """
        table = as_table(X)
        check_whole(*table.X.shape)
        check_fits(table, self.features, named=self.named)
        plan = self._plan(len(table.X))
        parts = plan.cut(dataclasses.replace(table, y=None, weight=None, features=self.features), None)
        return dataclasses.replace(self, parts=parts, rows=plan.rows, columns=plan.columns, warnings=list(self.warnings), past={})

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

    def renamed(self, features: tuple[str, ...]) -> Federation:
        """The same federation with the caller's names for its features."""
        names = {p: tuple(features[j] for j in columns) for p, columns in self.columns.items()}
        parts = {p: dataclasses.replace(part, features=names[p]) for p, part in self.parts.items()}
        return dataclasses.replace(self, parts=parts, features=features, named=True)

    def without_records(self) -> Federation:
        """Who holds which features, and nothing else: what a model needs to know of the federation it was fitted on."""
        empty = {p: part_of(part.X[:0], None, None, part.features) for p, part in self.parts.items()}
        rows = {p: r[:0] for p, r in self.rows.items()}
        return dataclasses.replace(self, parts=empty, rows=rows, progress=None, alignment=None, past={})

    def pooled(self) -> tuple[F64, Array | None, F64 | None]:
        """All records in one place, with labels and weights: for comparison with the centralised learner only."""
        X = np.zeros((self.n_rows, self.n_features))
        for name, part in self.parts.items():
            X[np.ix_(self.rows[name], self.columns[name])] += part.X  # in an arbitrary split others' cells are zero
        return X, self._gathered("y"), self._gathered("weight")

    def _gathered(self, name: str) -> Array | None:
        held = {party: getattr(part, name) for party, part in self.parts.items() if getattr(part, name) is not None}
        if not held:
            return None
        order = np.argsort(np.concatenate([self.rows[party] for party in held]))
        gathered: Array = np.concatenate(list(held.values()))[order]
        return gathered

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {_size(part)}" for name, part in self.parts.items())
        labels = f", labels at {self.labeller}" if self.labeller else ""
        return f"<Federation: {self.partition}, {self.n_rows} x {self.n_features}: {sizes}{labels}; coordinator {self.coordinator}>"


def _check_before_aligning(tables: Mapping[str, Table], partition: Partition, labeller: str | None, *, allow_two_parties: bool) -> None:
    """Whatever can be refused is refused before anything is sent."""
    for table in tables.values():
        check_weight(table)
    place_labels(tables, partition, None, labeller)
    joint_features(tables, partition)
    _accepted(too_few(sum(table.X.size > 0 for table in tables.values())), allow_two_parties=allow_two_parties)


def _accepted(warning: str | None, *, allow_two_parties: bool) -> list[str]:
    """What the report has to say of few holders, if the caller accepts it."""
    if warning and not allow_two_parties:
        raise LocalError(f"{warning}; add a party, or accept it with allow_two_parties=True")
    return [warning] if warning else []


def _texts(categories: Categories | None) -> dict[str, tuple[str, ...]]:
    return {name: tuple(texts) for name, texts in (categories or {}).items()}


def _size(part: Part) -> str:
    return f"{part.X.shape[0]} x {part.X.shape[1]}" if part.owned is None else f"{int(part.owned.sum())} cells"
