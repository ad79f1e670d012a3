"""What has to be known of a table before it can be prepared: one run for columns of every kind.

    all columns        how many values are present (`columns.counts`), and how many records there are
    whole numbers      `secure_or`: whether some holder has a value twice, or one that is no whole number; a column of
                       which none has is taken to be one of ids
    numbers, dates     `moments`: mean and variance
    texts              `discover_categories`: those that at least min_count records have

A column with fewer than min_count values over all parties, and a column of ids, is set aside: nothing more of it is
opened. Over columns each owner finds the same of its own alone, and nothing is sent; where no process has all columns,
it tells what becomes of each, since all have to know how many new ones are made of it.

Roles. Holder: rows, or columns. Coordinator: opens what these do.
Threat. As those protocols.
Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.protocols.column_parameters import OF_COLUMNS
from tacit.protocols.columns.categories import Discovered, TextCells, count_texts, discover_categories
from tacit.protocols.columns.counts import PRESENT, Fewest, Names, all_values, count_present, own_values
from tacit.protocols.columns.moments import joint_means, joint_variances, other_units
from tacit.protocols.settings import Protected
from tacit.protocols.sums.atoms import in_large_classes
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import Protection, secure_sum

ENOUGH = 20  # values of a column before it can be taken for one of ids

RECORDS = Fact("columns.records", "holders", "count", "all", "how many records there are over all parties")


class TableCounts(Message, tells=(PRESENT, RECORDS)):
    """How many values of each column are present, and of how many records."""

    present: F64
    records: int


class Repeats(
    Message,
    tells=Fact(
        "columns.repeats",
        "holders",
        "membership",
        "column",
        "in which columns some party has a number twice, or one that is not whole",
    ),
):
    """A mark for every column in which somebody has a number twice, or one that is not whole."""

    marks: Flags


class TableColumns(Result):
    """What was found. `ids` and `few` are set aside; `crowded` have too many texts; `measured` have mean and var.

    `units` is by what factor a holder's own values are larger (`moments`), for each measured column.
    """

    records: int
    present: dict[str, float]
    ids: Names
    few: Names
    crowded: Names
    measured: Names
    mean: F64
    var: F64
    units: At[F64]
    categories: dict[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Kinds(Settings):
    """Which columns hold what; `listed` ones have declared values, and none of `no_ids` is taken for one of ids."""

    numbers: Names = ()
    dates: Names = ()
    texts: Names = ()
    listed: Names = ()
    no_ids: Names = ()

    @property
    def every(self) -> Names:
        """All of the columns."""
        return (*self.numbers, *self.dates, *self.texts, *self.listed)


class OwnTable(State):
    """What is known of one column at its owner; mean and variance of numbers, texts of texts."""

    records: int
    present: int
    repeats: bool
    mean: float
    var: float
    texts: tuple[str, ...]


class Outline(State):
    """What everybody has to know of a column: whether it looks like ids, has too few values, or gaps; its categories.

    ids: whole numbers, none of them twice. few: fewer than min_count values. gaps: at least min_count are missing.
    categories: how many texts at least min_count records share.
    """

    ids: bool
    few: bool
    gaps: bool
    categories: int


OUTLINES = Fact(
    "columns.outlines",
    "holder",
    "membership",
    "column",
    "of each holder's columns whether it looks like ids, has fewer than min_count values or lacks as many, and how many"
    " texts min_count records share, but not which",
)


class Outlines(Message, tells=OUTLINES, ragged=True):
    """What becomes of each of the sender's columns."""

    columns: dict[str, Outline]


class OwnTables(Result):
    """At each holder what is known of its own columns; and what everybody knows of all, if their holders tell it."""

    columns: At[dict[str, OwnTable]]
    outlines: dict[str, Outline] | None = None


@choreography(
    opens={
        Everyone: (
            PRESENT,
            RECORDS,
            Fact("columns.like_ids", "holders", "membership", "column", "which columns look like ids"),
            Fact(
                "columns.prepared_by",
                "holders",
                "aggregate",
                "column",
                "mean and variance of numbers and dates, and the texts that min_count records have, where min_count"
                " values are present",
            ),
        )
    }
)
def table_columns(run: Run, data: At[TextCells], *, kinds: Kinds, fewest: Fewest, protected: Protected) -> TableColumns:
    """Return what has to be known of each column before the table can be prepared."""
    by, min_count, min_rows = protected.protect(run, to=Coordinator), fewest.min_count, fewest.min_rows
    counts = count_table(run, data, names=kinds.every, min_rows=min_rows, by=by)
    present = dict(zip(kinds.every, counts.present.tolist(), strict=True))
    few = tuple(name for name in kinds.every if present[name] < min_count)
    enough = tuple(name for name in kinds.numbers if present[name] >= max(ENOUGH, min_count))
    asked = tuple(name for name in enough if name not in kinds.no_ids)
    ids = find_ids(run, data, names=asked, min_rows=min_rows, by=by) if asked else ()
    measured = tuple(name for name in (*kinds.numbers, *kinds.dates) if name not in (*few, *ids))
    values = run.local(Holder, own_values, data, measured, min_rows, run.who(Holder))
    there = np.array([present[name] for name in measured])
    mean = joint_means(run, values, there, by=by) if measured else np.empty(0)
    var = joint_variances(run, values, there, mean, by=by) if measured else np.empty(0)
    units = run.local(Holder, other_units, values, there, mean, var)
    texts = tuple(name for name in kinds.texts if name not in few)
    told = Discovered(categories={}, crowded=())
    if texts:
        told = discover_categories(run, data, names=texts, fewest=fewest, protected=protected, by=by)
    return TableColumns(
        records=counts.records,
        present=present,
        ids=ids,
        few=few,
        crowded=told.crowded,
        measured=measured,
        mean=mean,
        var=var,
        units=units,
        categories=told.categories,
    )


@choreography(opens={Everyone: (PRESENT, RECORDS)})
def count_table(run: Run, data: At[TextCells], *, names: Names, min_rows: int, by: Protection) -> TableCounts:
    """Publish how many values of each column are present, and how many records there are."""
    held = run.local(Holder, count_cells, data, names, min_rows, run.who(Holder))
    total = secure_sum(run, held, to=Coordinator, by=by, what="present values and records")
    return run.publish(TableCounts, run.local(Coordinator, make_table_counts, total))


@choreography(
    opens={
        Everyone: Fact(
            "columns.repeated",
            "holders",
            "membership",
            "column",
            "in which columns of whole numbers some party has a number twice",
        )
    }
)
def find_ids(run: Run, data: At[TextCells], *, names: Names, min_rows: int, by: Protection) -> Names:
    """Return the columns of whole numbers that no holder has twice."""
    own = run.local(Holder, mark_repeats, data, names, min_rows, run.who(Holder))
    marked = secure_or(run, own, to=Coordinator, by=by, what="repeated numbers")
    repeats = run.publish(Repeats, run.local(Coordinator, Repeats, marked)).marks
    return tuple(name for name, mark in zip(names, repeats, strict=True) if not mark)


@choreography(
    opens={
        Holder: Fact(
            "columns.own_table",
            "reader",
            "aggregate",
            "column",
            "what is found about its own columns, and nothing about the columns of others",
        )
    }
)
def own_table(run: Run, data: At[TextCells], *, names: Names, min_count: int = 5, tell: bool = False) -> OwnTables:
    """Return the same of each holder's own columns among `names`, which it finds alone."""
    found = run.local(Holder, describe_own, data, names, min_count, run.who(Holder))
    return OwnTables(columns=found, outlines=tell_outlines(run, found, min_count=min_count) if tell else None)


@choreography(opens={Everyone: OUTLINES})
def tell_outlines(run: Run, found: At[dict[str, OwnTable]], *, min_count: int) -> dict[str, Outline]:
    """Return what everybody has to know of all columns."""
    told = run.publish_all(Outlines, run.local(Holder, outline_own, found, min_count))
    return {name: each for own in told.values() for name, each in own.columns.items()}


# Steps at the holders


def count_cells(part: TextCells, names: Names, min_rows: int, me: str) -> U64:
    """Return how many values of each column this holder has, and of how many records."""
    values = own_values(part, names, min_rows, me)
    # where cells have owners, a record counts where its first cell is
    own = len(values) if part.owned is None else part.owned[in_large_classes(part, min_rows), 0].sum()
    return np.append(count_present(values), np.uint64(own))


def mark_repeats(part: TextCells, names: Names, min_rows: int, me: str) -> Flags:
    """Return for each column whether this holder has a number twice, or one that is not whole."""
    return np.array([has_repeats(column) for column in own_values(part, names, min_rows, me).T], dtype=np.bool_)


def has_repeats(column: F64) -> bool:
    """Whether a number occurs twice, or is not whole."""
    present = column[~np.isnan(column)]
    return bool((present != np.round(present)).any() or len(np.unique(present)) < len(present))


def describe_own(part: TextCells, names: Names, min_count: int, me: str) -> dict[str, OwnTable]:
    """Return what is known of every named column that the holder has."""
    mine = tuple(name for name in names if name in part.features)
    texts = count_texts(part, tuple(name for name in mine if name in part.texts), 1, me)
    return {
        name: _describe(column, texts.get(name, {}), min_count)
        for name, column in zip(mine, all_values(part, mine).T, strict=True)
    }


def outline_own(found: dict[str, OwnTable], min_count: int) -> Outlines:
    """Return what everybody has to know of the holder's own columns."""
    return Outlines({name: outline(each, min_count) for name, each in found.items()})


def outline(found: OwnTable, min_count: int) -> Outline:
    """Return what everybody has to know of a column."""
    return Outline(
        ids=not found.repeats and found.present >= max(ENOUGH, min_count),
        few=found.present < min_count,
        gaps=found.records - found.present >= min_count,
        categories=len(found.texts),
    )


def _describe(column: F64, texts: dict[str, int], min_count: int) -> OwnTable:
    x = column[~np.isnan(column)]
    return OwnTable(
        records=len(column),
        present=len(x),
        repeats=has_repeats(column),
        mean=float(x.mean()) if len(x) else 0.0,
        var=float(x.var()) if len(x) else 0.0,
        texts=tuple(sorted(text for text, n in texts.items() if n >= min_count)),
    )


# Steps at the coordinator


def make_table_counts(total: U64) -> TableCounts:
    """Return the counts as numbers to reckon with."""
    return TableCounts(total[:-1].astype(np.float64), int(total[-1]))


TABLE_COLUMNS = Declaration(table_columns, parameters=OF_COLUMNS)
OWN_TABLE = Declaration(own_table, parameters=OF_COLUMNS)
