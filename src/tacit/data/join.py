"""Parts that came from several places: read, checked against each other, and numbered as one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data import checks
from tacit.data.frames import Categories
from tacit.data.part import Part, part_of
from tacit.data.plan import SPLITS, Plan, by_cells, by_columns, by_rows, consecutive, extent
from tacit.data.readers import read
from tacit.data.table import Table, as_table, with_labels
from tacit.errors import LocalError

Tables = Mapping[str, Table]


def given_tables(parts: Mapping[str, Any], partition: str, *, allow_missing: bool = False, categories: Categories | None = None) -> Tables:
    """Each party's X, (X, y) or (X, y, sample_weight) as a table."""
    checks.check_choice("partition", partition, SPLITS)
    missing = allow_missing or partition == "arbitrary"
    return {name: _given(name, part, allow_missing=missing, categories=categories) for name, part in parts.items()}


def _given(name: str, part: Any, *, allow_missing: bool, categories: Categories | None) -> Table:
    fields = part if isinstance(part, tuple) else (part,)
    if not 1 <= len(fields) <= 3:  # noqa: PLR2004 - X, y, sample_weight
        raise LocalError(f"the part of party '{name}' is a tuple of {len(fields)}: give X, (X, y) or (X, y, sample_weight)")
    return as_table(*fields, name=f"party '{name}'", allow_missing=allow_missing, categories=categories)


def read_tables(
    files: Mapping[str, Path],
    partition: str,
    label: str | None,
    drop: Sequence[str],
    n_features: int | None,
    labeller: str | None,
    *,
    allow_missing: bool = False,
    categories: Categories | None = None,
    ids: str | None = None,
) -> Tables:
    """Each party's file. Only a horizontal split needs the label, and every dropped column, in all of them; `ids` is no feature either."""
    checks.check_choice("partition", partition, SPLITS)
    partial, blank = partition != "horizontal", allow_missing or partition == "arbitrary"
    tables = {
        name: read(path, label, drop, n_features=n_features, partial=partial, allow_missing=blank, categories=categories, ids=ids)
        for name, path in files.items()
    }
    _check_found(tables, label, drop)
    if (
        partial and labeller in tables and tables[labeller].y is not None
    ):  # labels elsewhere, such as those that open every LIBSVM line, do not count
        tables = {name: t if name == labeller else dataclasses.replace(t, y=None) for name, t in tables.items()}
    return tables


def _check_found(tables: Tables, label: str | None, drop: Sequence[str]) -> None:
    if label is not None and all(t.y is None for t in tables.values()):
        raise LocalError(f"no file has the label column '{label}': name it with label=, or pass label=None for records without labels")
    for column in drop:
        if not any(column in t.columns for t in tables.values()):
            raise LocalError(f"no file has the column '{column}' of drop=: correct the name, or take it out")


def check_tables(tables: Tables, partition: str) -> None:
    """Refuse parts that do not fit together."""
    for table in tables.values():
        checks.check_weight(table)
    if partition != "horizontal":
        checks.check_same_rows(tables, partition)
    if partition != "vertical":
        checks.check_same_features(tables, partition)
    if partition == "horizontal":
        checks.check_horizontal_labels(tables)
    if partition == "arbitrary":
        checks.check_cells(tables)


def place_labels(tables: Tables, partition: str, y: Any, labeller: str | None) -> tuple[Tables, str | None]:
    """The tables with the labels where they belong, and who that is."""
    names, having = list(tables), [name for name, t in tables.items() if t.y is not None]
    holder = checks.choose_labeller(partition, names, labeller, default=(having or names)[0])
    if holder is None:
        _refuse_joint_labels(y)
        return tables, None
    _check_one_labeller(having, holder, given=y is not None)
    return ({**tables, holder: with_labels(tables[holder], y)}, holder)


def _refuse_joint_labels(y: Any) -> None:
    if y is not None:
        raise LocalError("y= does not fit a horizontal split: give each party's labels beside its records, as (X, y)")


def _check_one_labeller(having: list[str], holder: str, *, given: bool) -> None:
    if len(having) > 1:
        raise LocalError(
            f"labels are given twice, by '{having[0]}' and '{having[1]}': only one party may hold them; name it with labeller="
        )
    if having and given:
        raise LocalError(f"labels are given twice, by party '{having[0]}' and by y=: keep one of them")
    if having and having != [holder]:
        raise LocalError(
            f"labeller='{holder}' has no labels, but '{having[0]}' has: give them at '{holder}', or say labeller='{having[0]}'"
        )


def joint_features(tables: Tables, partition: str) -> tuple[tuple[str, ...], bool]:
    """Names of all columns in global order, and whether the caller gave them."""
    named = all(t.named for t in tables.values() if t.features)
    if partition != "vertical":
        return next(iter(tables.values())).features, named
    owner: dict[str, str] = {}
    for name, table in tables.items():
        for label in table.features if table.named else [f"x{len(owner) + j}" for j in range(len(table.features))]:
            if label in owner:
                raise LocalError(
                    f"feature '{label}' is held by both '{owner[label]}' and '{name}': rename it at one of them, or leave it out"
                )
            owner[label] = name
    return tuple(owner), named


def joint_plan(tables: Tables, partition: str) -> Plan:
    """Global numbers, party after party."""
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
    return plan


def joint_parts(tables: Tables, plan: Plan, features: tuple[str, ...]) -> dict[str, Part]:
    """Each table as its party's part, under the global names of its columns."""
    names = {party: tuple(features[j] for j in plan.columns[party]) for party in tables}
    return {party: part_of(t.X, t.y, t.weight, names[party], plan.owned.get(party)) for party, t in tables.items()}
