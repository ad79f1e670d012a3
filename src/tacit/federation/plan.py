"""Plans: which rows, columns and cells go to which party."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tacit.arrays import I64, Array
from tacit.choreo.declaration import wrong_value
from tacit.errors import LocalError
from tacit.federation import partitions
from tacit.federation.checks import check_choice, check_names, check_sparse
from tacit.federation.part import Mask, Part, part_of
from tacit.federation.table import Table, check_column
from tacit.sparse import is_sparse

Partition = Literal["horizontal", "vertical", "arbitrary"]
Split = Literal["random", "dirichlet", "range", "column", "contiguous"]

SPLITS: dict[str, tuple[str, ...]] = {
    "horizontal": ("random", "dirichlet", "range", "column"),
    "vertical": ("random", "contiguous"),
    "arbitrary": ("random",),
}
USE_BY = ("range", "column")


@dataclass(frozen=True, repr=False)
class Plan:
    """Global row and column numbers of every party's part, in public order.

    `owned` is empty unless the split is arbitrary.
    """

    rows: dict[str, I64]
    columns: dict[str, I64]
    owned: dict[str, Mask] = field(default_factory=dict)

    def cut(self, table: Table, labeller: str | None) -> dict[str, Part]:
        """Cut a whole table into the parties' parts; without a labeller everyone keeps the labels of its own rows."""
        return {name: self._part(table, name, labelled=labeller in (None, name)) for name in self.rows}

    def _part(self, table: Table, name: str, *, labelled: bool) -> Part:
        rows, columns = self.rows[name], self.columns[name]
        y = table.y[rows] if labelled and table.y is not None else None
        weight = table.weight[rows] if labelled and table.weight is not None else None
        features = tuple(table.features[j] for j in columns)
        kinds: dict[str, Any] = {"texts": table.texts, "dates": table.dates}
        # sparse rows are whole: `plan_split` splits them by rows only
        X = table.X[rows] if is_sparse(table.X) else table.X[np.ix_(rows, columns)]
        return part_of(X, y, weight, features, self.owned.get(name), **kinds)


def by_rows(rows: Mapping[str, I64], d: int) -> Plan:
    """Return the plan of a horizontal split: everyone has all columns of its rows."""
    return Plan(dict(rows), {name: np.arange(d) for name in rows})


def by_columns(columns: Mapping[str, I64], n: int) -> Plan:
    """Return the plan of a vertical split: everyone has all rows of its columns."""
    return Plan({name: np.arange(n) for name in columns}, dict(columns))


def by_cells(owned: Mapping[str, Mask]) -> Plan:
    """Return the plan of an arbitrary split: everyone has the whole shape, and some of its cells."""
    return Plan(
        {name: np.arange(mask.shape[0]) for name, mask in owned.items()},
        {name: np.arange(mask.shape[1]) for name, mask in owned.items()},
        dict(owned),
    )


def extent(indices: Iterable[I64]) -> int:
    """Return how many rows or columns these numbers count: together they always cover 0, 1, 2, ..."""
    return max(int(index.max(initial=-1)) for index in indices) + 1


def consecutive(sizes: Mapping[str, int]) -> dict[str, I64]:
    """Share 0, 1, 2, ... out in blocks of these sizes."""
    ends = np.cumsum(list(sizes.values()), dtype=np.int64)
    return {name: np.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def choose_split(partition: Partition, split: Split | None, by: Any) -> Split:
    """Return how a table is split: as asked, else by the column `by` if there is one; refuse a `by` of no use."""
    if split is None:
        split = "random" if by is None else "column"
    if by is not None and (partition != "horizontal" or split not in USE_BY):
        raise LocalError(
            f"by= names the column that a horizontal split goes by, and this is partition={partition!r} with"
            f" split={split!r}: leave by= out, or say split='column'"
        )
    return split


def plan_split(
    table: Table, parties: int | Sequence[str], partition: str, split: str, *, alpha: float, by: Any, seed: int
) -> Plan:
    """Return the plan that `Federation.simulate` asks for."""
    check_choice("partition", partition, SPLITS)
    check_choice("split", split, SPLITS[partition])
    check_sparse(partition, {table.name: table})
    n, d = table.X.shape
    if split == "column":
        return by_rows(_column(table, by, parties), d)
    names = party_names(parties)
    if partition == "horizontal":
        shares = _horizontal(table, len(names), split, alpha=alpha, by=by, seed=seed)
        return by_rows(dict(zip(names, shares, strict=True)), d)
    if partition == "vertical":
        shares = partitions.spread_columns(d, len(names), seed if split == "random" else None)
        return by_columns(dict(zip(names, shares, strict=True)), n)
    owners = partitions.cell_owners(n, d, len(names), seed)
    return by_cells({name: owners == k for k, name in enumerate(names)})


def party_names(parties: int | Sequence[str]) -> tuple[str, ...]:
    """Return the names of parties: those given, or party-1, party-2, ..."""
    if not isinstance(parties, int):
        return check_names(parties)
    if parties < 1 or isinstance(parties, bool):
        raise wrong_value("parties", "Federation", "an int in the range [1, inf) or a list of names", parties)
    return tuple(f"party-{k}" for k in range(1, parties + 1))


def _horizontal(table: Table, parties: int, split: str, *, alpha: float, by: Any, seed: int) -> list[I64]:
    if split == "random":
        return partitions.random_rows(len(table.X), parties, seed)
    if split == "range":
        column = table.X[:, [_feature(table, by)]]
        return partitions.range_rows((column.toarray() if is_sparse(column) else column)[:, 0], parties)
    if table.y is None:
        raise LocalError(
            "split='dirichlet' divides records by their labels, and y is missing: pass y, or use split='random'"
        )
    return partitions.dirichlet_rows(table.y, parties, alpha, seed)


def _feature(table: Table, by: Any) -> int:
    if isinstance(by, str):
        check_column(by, table.features, table.name)
        return table.features.index(by)
    if not isinstance(by, (int, np.integer)) or not -len(table.features) <= by < len(table.features):
        needs = f"by=, the name or the index of one of the {len(table.features)} features"
        raise LocalError(f"a split by range needs {needs}. Got {by!r} instead.")
    return int(by)


def _column(table: Table, by: Any, parties: int | Sequence[str]) -> dict[str, I64]:
    rows = partitions.column_rows(_sites(table, by))
    if isinstance(parties, int):  # the values count and name the parties
        return rows
    names = check_names(parties)
    if set(names) != set(rows):
        raise LocalError(f"the column names the parties {', '.join(rows)}, not {', '.join(names)}: leave parties= out")
    return {name: rows[name] for name in names}


def _sites(table: Table, by: Any) -> Array:
    if isinstance(by, str):
        others = f"the columns of {table.name} that are no features"
        check_column(by, table.columns, others, ", or read the file with it in drop=")
        by = table.columns[by]
    sites = np.asarray(by)
    if sites.shape != (len(table.X),):
        needs = f"by=, a column's name or one value for each of the {len(table.X)} records"
        raise LocalError(f"a split by column needs {needs}; got shape {sites.shape}")
    if any(v is None or v != v for v in sites):  # noqa: PLR0124 - only NaN differs from itself
        raise LocalError("a split by column needs a value for every record, and some are missing: fill them in")
    return sites
