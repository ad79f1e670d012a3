"""Parts that came from several places: read, checked against each other, and numbered as one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import LocalError
from tacit.federation import checks
from tacit.federation.frames import is_frame
from tacit.federation.part import Mask, Part, part_of
from tacit.federation.plan import SPLITS, Plan, by_cells, by_columns, by_rows, consecutive, extent
from tacit.federation.readers import read
from tacit.federation.table import Table, as_table, with_labels
from tacit.scratch import like, take_columns

Tables = Mapping[str, Table]


def take_labels(parts: Mapping[str, Any], label: str | None) -> dict[str, Any]:
    """Return {party: (X, y)} of data frames that hold their labels in a column; as they are, if no column is named."""
    if label is None:
        return dict(parts)
    made = {name: _take_label(part, label) for name, part in parts.items()}
    if all(made[name] is part for name, part in parts.items()):
        raise LocalError(f"no part is a data frame with the column {label!r}: correct label=, or give (X, y) of each")
    return made


def _take_label(part: Any, label: str) -> Any:
    names = list(getattr(part, "column_names", getattr(part, "columns", ()))) if is_frame(part) else []
    if label not in names:
        return part
    rest = [name for name in names if name != label]
    return (part.select(rest) if hasattr(part, "select") else part[rest]), part[label]


def as_tables(parts: Mapping[str, Any], partition: str, *, allow_missing: bool = False, **reading: Any) -> Tables:
    """Return each party's X, (X, y) or (X, y, sample_weight) as a table; `reading` as `as_table` takes it."""
    checks.check_choice("partition", partition, SPLITS)
    reading["allow_missing"] = allow_missing or partition == "arbitrary"
    return {name: _as_table(name, part, reading) for name, part in parts.items()}


def _as_table(name: str, part: Any, reading: Mapping[str, Any]) -> Table:
    fields = part if isinstance(part, tuple) else (part,)
    if not 1 <= len(fields) <= 3:  # noqa: PLR2004 - X, y, sample_weight
        raise LocalError(
            f"the part of party '{name}' is a tuple of {len(fields)}: give X, (X, y) or (X, y, sample_weight)"
        )
    return as_table(*fields, name=f"party '{name}'", **reading)


def read_tables(
    files: Mapping[str, Path],
    partition: str,
    label: str | None,
    drop: Sequence[str],
    **reading: Any,
) -> Tables:
    """Return the table of each party's file; a horizontal split needs the label and dropped columns in all of them.

    `reading`: how files are read, as `read` takes it.
    """
    checks.check_choice("partition", partition, SPLITS)
    partial = partition != "horizontal"
    reading["allow_missing"] = reading["allow_missing"] or partition == "arbitrary"
    tables = {name: read(path, label, drop, partial=partial, **reading) for name, path in files.items()}
    _check_found(tables, label, drop)
    return tables


def _check_found(tables: Tables, label: str | None, drop: Sequence[str]) -> None:
    if label is not None and all(t.y is None for t in tables.values()):
        remedy = "name it with label=, or pass label=None for records without labels"
        raise LocalError(f"no file has the label column '{label}': {remedy}")
    for column in drop:
        if not any(column in t.columns for t in tables.values()):
            raise LocalError(f"no file has the column '{column}' of drop=: correct the name, or take it out")


def match_columns(tables: Tables, partition: str) -> Tables:
    """Return tables with their columns in the first one's order, where all have the same names in another order."""
    first = next(iter(tables.values()))
    if partition == "vertical" or not all(table.named for table in tables.values()):
        return tables
    return {name: order_columns(table, first.features) for name, table in tables.items()}


def order_columns(table: Table, features: tuple[str, ...]) -> Table:
    """Return a table with its columns in this order; as it is, if it has others."""
    if table.features == features or set(table.features) != set(features):
        return table
    at = [table.features.index(f) for f in features]
    return dataclasses.replace(table, X=take_columns(table.X, at), features=features)


def check_tables(tables: Tables, partition: str) -> None:
    """Refuse parts that do not fit together."""
    for table in tables.values():
        checks.check_weight(table)
    checks.check_sparse(partition, tables)
    if partition != "horizontal":
        checks.check_same_rows(tables, partition)
    if partition != "vertical":
        checks.check_same_features(tables, partition)
        checks.check_same_kinds(tables)
    if partition == "horizontal":
        checks.check_horizontal_labels(tables)
    if partition == "arbitrary":
        checks.check_cells(tables)


def place_labels(tables: Tables, partition: str, y: Any, labeller: str | None) -> tuple[Tables, str | None]:
    """Return the tables with the labels where they belong, and the party that holds them."""
    names, having = list(tables), [name for name, t in tables.items() if t.y is not None]
    holder = checks.choose_labeller(partition, names, labeller, default=(having or names)[0])
    if holder is None:
        if y is not None:
            raise LocalError("y= does not fit a horizontal split: give each party's labels beside its records: (X, y)")
        return tables, None
    if (
        labeller is not None and labeller in having
    ):  # labels elsewhere, such as those that open every LIBSVM line, do not count
        having = [labeller]
        others = {n: dataclasses.replace(t, y=None, weight=None) for n, t in tables.items() if n != labeller}
        tables = {name: others.get(name, t) for name, t in tables.items()}
    _check_one_labeller(having, holder, given=y is not None)
    return ({**tables, holder: with_labels(tables[holder], y)}, holder)


def _check_one_labeller(having: list[str], holder: str, *, given: bool) -> None:
    if len(having) > 1:
        twice = f"labels are given twice, by '{having[0]}' and '{having[1]}'"
        raise LocalError(f"{twice}: only one party may hold them; name it with labeller=")
    if having and given:
        raise LocalError(f"labels are given twice, by party '{having[0]}' and by y=: keep one of them")
    if having and having != [holder]:
        other = having[0]
        raise LocalError(f"labeller='{holder}' has no labels, but '{other}' has: say labeller='{other}'")


def join_features(tables: Tables, partition: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of all columns in global order, and whether the caller gave them."""
    named = all(t.named for t in tables.values() if t.features)
    if partition != "vertical":
        return next(iter(tables.values())).features, named
    owner: dict[str, str] = {}
    for name, table in tables.items():
        for label in table.features if table.named else [f"x{len(owner) + j}" for j in range(len(table.features))]:
            if label in owner:
                raise LocalError(
                    f"feature '{label}' is held by both '{owner[label]}' and '{name}': rename it, or leave it out"
                )
            owner[label] = name
    return tuple(owner), named


def plan_jointly(tables: Tables, partition: str) -> Plan:
    """Return the plan by which rows, columns or cells are numbered, party after party."""
    heights = {name: len(t.X) for name, t in tables.items()}
    widths = {name: len(t.features) for name, t in tables.items()}
    n, d = next(iter(heights.values())), next(iter(widths.values()))
    if partition == "horizontal":
        plan = by_rows(consecutive(heights), d)
    elif partition == "vertical":
        plan = by_columns(consecutive(widths), n)
    else:
        plan = by_cells({name: ~np.isnan(t.X) for name, t in tables.items()})
    checks.check_whole(extent(plan.rows.values()), extent(plan.columns.values()))
    rows = {name: like(t.X, plan.rows[name]) for name, t in tables.items()}
    return dataclasses.replace(plan, rows=rows)


def join_parts(tables: Tables, plan: Plan, features: tuple[str, ...]) -> dict[str, Part]:
    """Return each table as its party's part, under the global names of its columns."""
    named = {party: _rename(t, tuple(features[j] for j in plan.columns[party])) for party, t in tables.items()}
    kinds = find_kinds(named)
    return {party: _join_part(table, kinds, plan.owned.get(party)) for party, table in named.items()}


def find_kinds(tables: Tables) -> dict[str, str]:
    """Return the columns that hold texts or dates anywhere, and which of both."""
    held = [(name, t.kind_of(name)) for t in tables.values() for name in (*t.texts, *t.dates)]
    return {name: kind for name, kind in held if kind is not None}


def _join_part(table: Table, kinds: Mapping[str, str], owned: Mask | None) -> Part:
    """Return a table as a part; a column without any value here is of the kind that it is at the others."""
    texts = {name: table.texts.get(name, ()) for name, kind in kinds.items() if kind == "text"}
    dates = tuple(name for name, kind in kinds.items() if kind == "date")
    return part_of(table.X, table.y, table.weight, table.features, owned, texts=texts, dates=dates)


def _rename(table: Table, features: tuple[str, ...]) -> Table:
    """Return the table with other names for its columns."""
    new = dict(zip(table.features, features, strict=True))
    texts = {new[name]: texts for name, texts in table.texts.items()}
    dates = tuple(new[name] for name in table.dates)
    return dataclasses.replace(table, features=features, texts=texts, dates=dates)
