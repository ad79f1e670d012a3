"""What a table looks like before anybody trains on it: of each column how much there is, where it lies, what it holds.

    all columns        how many values are present, of how many records (`columns.describe.count_table`)
    numbers, dates     mean and variance (`columns.moments`); with s the deviation, of [mean - 4 s, mean + 4 s] cut into
                       B = 32 parts, values beyond it in the first and the last,

        h_c = sum_k |{x in P_kj: x in the c-th part}|                                                              (1)
        a histogram of halves of the range, halves of these, ..., each with no value or min_count at least         (2)
        the quartiles, by the part that each rank is in, and the B-th of it (`columns.quantiles`)                  (3)

    texts              those that min_count records have (`columns.categories`), and declared values:

        n_v = sum_k |{x in P_kj: x = v}|,    told where n_v >= min_count                                           (4)

                       If all the others together are fewer than min_count, but some, the rarest of those is not told
                       either: else the number present, less those that are told, would be theirs.
    every holder       in which of its columns its own values are unlike the others', and how: far larger or smaller
                       (`columns.moments`, (3)), or of other categories,

        sum_v min(p_v, q_v) < 1/20     p, q: shares of the values that are told, of its own and of the others'     (5)

Where parts begin depends on the records alone, so that runs with another min_count tell unions of the same parts (2).
A column with fewer than min_count values over all parties is set aside: nothing more of it is opened. Over columns each
owner does (1) to (4) alone, and tells what they leave.

Roles. Holder: rows, cells or columns. Coordinator: opens (1) and (4), publishes (2), (3) and what is told of (4).
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: the counts (1) and (4), however small, which the
coordinator has; M - 1 holders together have the last one's part of all that is told; the difference of two runs whose
present values of a column differ by a few records.
Source: ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.arrays import F64, I64, U64, Array, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings, Switch, parameter
from tacit.choreo.protocol import Declaration
from tacit.numeric.scores.histogram import cells_of, join_cells
from tacit.protocols.column_parameters import OF_COLUMNS
from tacit.protocols.columns.categories import Counts, TextCells, can_be_named, count_texts, discover_categories
from tacit.protocols.columns.counts import PRESENT, Fewest, Names, all_values, count_declared, count_present, own_values
from tacit.protocols.columns.describe import RECORDS, count_table
from tacit.protocols.columns.moments import ENOUGH, joint_means, joint_variances, other_units
from tacit.protocols.columns.own_columns import Declared, check_columns
from tacit.protocols.columns.quantiles import (
    HISTOGRAM,
    LEVELS,
    Narrowed,
    Parts,
    interpolate,
    list_ranks,
    narrow_down,
    parts,
    parts_of,
    start_narrowing,
)
from tacit.protocols.part import Records
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_sum import Protection, secure_sum

BINS, REACH = 32, 4.0  # B, and how many deviations the range reaches to either side
QUARTILES = (0.25, 0.5, 0.75)
APART, SAID = 0.05, 0.5  # of (5): how much both have in common at most, and which share of its values is told at least
HIDDEN = -1  # stands for a count that is not told
LABELS = "(labels)"  # how the labels are called among the columns
ALIKE, LARGER, SMALLER, CODED = range(4)  # what a holder says of a column
UNLIKE = {LARGER: "larger", SMALLER: "smaller", CODED: "coded otherwise"}

Values = tuple[str, ...] | tuple[float, ...]


class Labelled(TextCells, Records, Protocol):
    """What a holder brings along: cells with their texts, and labels where it has them."""


class Shapes(
    Message,
    tells=Fact(
        "columns.shape",
        "holders",
        "count",
        "column",
        "a histogram of each column over all parties, in parts that hold no value or at least min_count values",
    ),
):
    """Where the parts of (2) begin among those of (1), and how many values each holds; 0 elsewhere."""

    begins: Flags
    counts: F64


class ValueCounts(
    Message,
    tells=Fact(
        "columns.told_counts",
        "holders",
        "count",
        "column",
        "how many records have which value of a column of categories, where min_count or more have it",
    ),
):
    """The counts (4) that are told, and HIDDEN."""

    counts: I64


class Unlike(
    Message,
    tells=Fact(
        "columns.unlike",
        "holder",
        "membership",
        "column",
        "in which columns the sender's values are far larger or smaller than the others', or have other categories",
    ),
):
    """What a holder finds of its own columns, (5): ALIKE, LARGER, SMALLER or CODED."""

    marks: I64


class Summary(State):
    """What is told of a column.

    Of numbers and dates mean, variance, quartiles with their errors, and the histogram (2): where its parts begin and
    end, and how many values each holds; the first and the last are open to their side. Of categories the values, and
    how many records have each; HIDDEN where that is not told. `crowded` if there are too many texts for categories.
    """

    present: int
    mean: float = np.nan
    var: float = np.nan
    quartiles: F64 = dataclasses.field(default_factory=lambda: np.empty(0))
    error: F64 = dataclasses.field(default_factory=lambda: np.empty(0))
    edges: F64 = dataclasses.field(default_factory=lambda: np.empty(0))
    counts: F64 = dataclasses.field(default_factory=lambda: np.empty(0))
    values: Values = ()
    times: I64 = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    crowded: bool = False


class OwnSummaries(
    Message,
    tells=Fact(
        "columns.told_by_owner",
        "holder",
        "aggregate",
        "column",
        "of each of the sender's own columns with min_count values: how many are present, mean, variance, in which cell"
        " of its range the quartiles lie, a histogram and counts of categories, each over no record or min_count",
    ),
    ragged=True,
):
    """What an owner tells of its columns, and how many records it has."""

    records: int
    columns: dict[str, Summary]


class Overview(Result):
    """What is told of each column, of how many records; `unlike` has each holder's marks of its columns."""

    records: int
    columns: dict[str, Summary]
    unlike: dict[str, dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class Looked(Settings):
    """Which columns hold what; those with declared `categories` hold these only. With `labels` these are one more."""

    numbers: Names = ()
    dates: Names = ()
    texts: Names = ()
    categories: Mapping[str, Sequence[float]] | None = None
    labels: bool = parameter(default=False, kind=Switch(), says="whether the labels are described too", follows=True)

    @property
    def listed(self) -> dict[str, tuple[float, ...]]:
        """The declared values of columns, in order."""
        return {name: tuple(sorted(float(v) for v in values)) for name, values in (self.categories or {}).items()}

    @property
    def worded(self) -> Names:
        """The columns of texts, the labels among them."""
        return (*self.texts, *([LABELS] if self.labels else []))

    @property
    def every(self) -> Names:
        """All of the columns."""
        return (*self.numbers, *self.dates, *self.worded, *self.listed)


@dataclass(frozen=True)
class Measured:
    """Columns of numbers with enough values, and what is public of them."""

    names: Names
    present: F64
    mean: F64
    var: F64

    @property
    def range(self) -> tuple[F64, F64]:
        """From where to where the parts of (1) are."""
        away = REACH * np.sqrt(self.var)
        return self.mean - away, self.mean + away

    @property
    def ranks(self) -> I64:
        """The ranks that the quartiles lie between."""
        return list_ranks(self.present, QUARTILES)

    def summarize(self, shapes: Shapes, told: Parts) -> dict[str, Summary]:
        """Return what is told of each column: (2) and (3)."""
        low, high = self.range
        cuts = np.where(told.again, LEVELS, 1)
        quartiles, error = interpolate(told.cells, cuts, low, high, BINS, self.present, QUARTILES)
        grid = low[:, None] + (high - low)[:, None] * np.arange(BINS + 1) / BINS
        return {
            name: Summary(
                present=int(self.present[j]),
                mean=float(self.mean[j]),
                var=float(self.var[j]),
                quartiles=quartiles[j],
                error=error[j],
                edges=np.append(grid[j][:-1][shapes.begins[j]], grid[j][-1]),
                counts=shapes.counts[j][shapes.begins[j]],
            )
            for j, name in enumerate(self.names)
        }


@choreography(
    opens={
        Coordinator: (
            HISTOGRAM,
            Fact(
                "columns.category_counts",
                "holders",
                "count",
                "column",
                "how many records have which category, and how often rarer texts occur, without these texts",
            ),
        ),
        Everyone: (
            PRESENT,
            RECORDS,
            Fact(
                "columns.described",
                "holders",
                "aggregate",
                "column",
                "of columns with min_count values: mean, variance, quartiles within a bin error, a histogram, and the"
                " texts that min_count records have with their counts; each count is of no record or of min_count",
            ),
            Fact(
                "columns.unlike_others",
                "holder",
                "membership",
                "column",
                "at which holder a column is far larger or smaller than at the others, or has other categories",
            ),
        ),
    }
)
def describe_table(run: Run, data: At[Labelled], *, looked: Looked, fewest: Fewest, protected: Protected) -> Overview:
    """Tell everyone what the columns look like over all parties."""
    data = run.local(Holder, add_labels, data) if looked.labels else data
    declared = Declared(categories=looked.listed)
    run.local(Holder, check_columns, data, tuple(looked.listed), fewest.min_rows, declared, run.who(Holder))
    by, min_rows = protected.protect(run, to=Coordinator), fewest.min_rows
    counts = count_table(run, data, names=looked.every, min_rows=min_rows, by=by)
    present = dict(zip(looked.every, counts.present.tolist(), strict=True))
    enough = {name: n for name, n in present.items() if n >= fewest.min_count}
    names = tuple(name for name in (*looked.numbers, *looked.dates) if name in enough)
    values = run.local(Holder, own_values, data, names, min_rows, run.who(Holder))
    there = np.array([present[name] for name in names])
    mean = joint_means(run, values, there, by=by) if names else np.empty(0)
    measured = Measured(names, there, mean, joint_variances(run, values, there, mean, by=by) if names else mean)
    found = {name: Summary(present=int(n)) for name, n in present.items()}
    if names:
        found |= measured.summarize(*find_shapes(run, values, measured, fewest.min_count, by))
    worded = tuple(name for name in looked.worded if name in enough)
    categories: dict[str, Values] = {name: each for name, each in looked.listed.items() if name in enough}
    if worded:
        told = discover_categories(run, data, names=worded, fewest=fewest, protected=protected, by=by)
        categories |= told.categories
        found |= {name: Summary(present=int(present[name]), crowded=True) for name in told.crowded}
    categories = {name: known for name, known in categories.items() if known}
    if categories:
        found |= count_values(run, data, categories, enough, fewest, by)
    told_of = {name: found[name] for name in categories}
    marks = run.local(Holder, find_unlike, data, values, measured, told_of, min_rows, run.who(Holder))
    said, named = run.publish_all(Unlike, marks), (*names, *told_of)
    unlike = {
        party: {name: UNLIKE[int(mark)] for name, mark in zip(named, m.marks, strict=True) if mark}
        for party, m in said.items()
    }
    return Overview(records=counts.records, columns={name: found[name] for name in looked.every}, unlike=unlike)


@choreography(
    opens={
        Coordinator: HISTOGRAM,
        Everyone: Fact(
            "columns.shape_and_quartiles",
            "holders",
            "aggregate",
            "column",
            "a histogram of each column in parts of no value or at least min_count values, and in which cell"
            " each quartile lies",
        ),
    }
)
def find_shapes(run: Run, values: At[F64], measured: Measured, min_count: int, by: Protection) -> tuple[Shapes, Parts]:
    """Return the histograms (2), and the parts that the quartiles are in, (3)."""
    low, high = measured.range
    held, ranks = run.local(Holder, cells_of, values, low, high, BINS**LEVELS), measured.ranks
    none, first = np.zeros((len(measured.names), 1), dtype=np.int64), np.ones((len(measured.names), 1), dtype=np.bool_)
    total = secure_sum(
        run, run.local(Holder, parts_of, held, none, first, 0, BINS), to=Coordinator, by=by, what="histograms"
    )
    shapes = run.publish(Shapes, run.local(Coordinator, join_parts, total, min_count))
    known = run.local(Coordinator, find_ranks, total, ranks)
    begun = run.publish(Parts, run.local(Coordinator, parts, known, 0, min_count))
    again = run.local(Holder, parts_of, held, begun.cells, begun.again, 1, BINS)
    total = secure_sum(run, again, to=Coordinator, by=by, what="histograms of parts")
    known = run.local(Coordinator, narrow_down, known, total, ranks, begun.again)
    return shapes, run.publish(Parts, run.local(Coordinator, parts, known, 1, min_count))


def count_values(
    run: Run,
    data: At[TextCells],
    categories: dict[str, Values],
    present: dict[str, float],
    fewest: Fewest,
    by: Protection,
) -> dict[str, Summary]:
    """Return how many records have which of the categories, (4), where that is told."""
    held = run.local(Holder, count_categories, data, categories, fewest.min_rows, run.who(Holder))
    total = secure_sum(run, held, to=Coordinator, by=by, what="categories")
    there = np.array([present[name] for name in categories])
    sizes = tuple(map(len, categories.values()))
    told = run.publish(ValueCounts, run.local(Coordinator, show_counts, total, there, sizes, fewest.min_count)).counts
    return {
        name: Summary(present=int(present[name]), values=known, times=told[j, : len(known)])
        for j, (name, known) in enumerate(categories.items())
    }


@choreography(
    opens={
        Everyone: Fact(
            "columns.described_by_owner",
            "holder",
            "aggregate",
            "column",
            "what each owner tells of its columns with min_count values: number present, mean, variance, quartiles"
            " within a bin error, a histogram and counts of categories, each over no record or min_count",
        )
    }
)
def describe_columns(run: Run, data: At[Labelled], *, looked: Looked, fewest: Fewest) -> Overview:
    """Have every owner tell what its columns look like, by the same rules."""
    data = run.local(Holder, add_labels, data) if looked.labels else data
    declared = Declared(categories=looked.listed)
    run.local(Holder, check_columns, data, tuple(looked.listed), fewest.min_rows, declared, run.who(Holder))
    told = run.publish_all(OwnSummaries, run.local(Holder, describe_alone, data, looked, fewest, run.who(Holder)))
    found = {name: each for own in told.values() for name, each in own.columns.items()}
    columns = {name: found[name] for name in looked.every if name in found}
    return Overview(records=max(own.records for own in told.values()), columns=columns, unlike={})


# Steps at the holders


def add_labels(part: Labelled) -> Labelled:
    """Return a holder's part with its labels as one more column of texts; one without a value where it has none."""
    texts = () if part.y is None else tuple(map(str, np.unique(part.y).tolist()))
    codes = np.full(len(part.X), np.nan) if part.y is None else _codes(part.y)
    owned = None if part.owned is None else np.column_stack([part.owned, np.full(len(part.X), part.y is not None)])
    return dataclasses.replace(
        part,  # type: ignore[type-var]  # whoever holds records has them as a record
        X=np.column_stack([part.X, codes]),
        features=(*part.features, LABELS),
        owned=owned,
        texts={**part.texts, LABELS: texts},
    )


def _codes(y: Array) -> F64:
    return np.asarray(np.unique(y, return_inverse=True)[1].ravel(), dtype=np.float64)


def count_categories(part: TextCells, categories: dict[str, Values], min_rows: int, me: str) -> U64:
    """Return this holder's part of (4), with zeros behind the last category of a column."""
    counts = np.zeros((len(categories), max(map(len, categories.values()))), dtype=np.uint64)
    for row, (name, known) in zip(counts, categories.items(), strict=True):
        row[: len(known)] = _count_known(part, name, known, min_rows, me)
    return counts


def _count_known(part: TextCells, name: str, known: Values, min_rows: int, me: str) -> U64:
    if isinstance(known[0], str):
        own = count_texts(part, (name,), min_rows, me)[name] if name in part.texts else {}
        return np.array([own.get(str(text), 0) for text in known], dtype=np.uint64)
    declared = tuple(float(value) for value in known)
    counts: U64 = count_declared(own_values(part, (name,), min_rows, me), (declared,))[0]
    return counts


def find_unlike(
    part: TextCells, values: F64, measured: Measured, told: dict[str, Summary], min_rows: int, me: str
) -> Unlike:
    """Return which of the holder's own columns are unlike the others', by their size or by (5)."""
    factors = other_units(values, measured.present, measured.mean, measured.var) if measured.names else np.empty(0)
    marks = np.where(factors > 1, LARGER, np.where(factors < 1, SMALLER, ALIKE))
    coded = [
        CODED if is_coded_otherwise(_count_known(part, name, each.values, min_rows, me), each) else ALIKE
        for name, each in told.items()
    ]
    return Unlike(np.append(marks, coded).astype(np.int64))


def is_coded_otherwise(own: U64, told: Summary) -> bool:
    """Return whether a holder's categories are others than those of the other holders, (5)."""
    shown = told.times >= 0
    mine, others = own[shown].astype(np.float64), (told.times[shown] - own[shown].astype(np.int64)).astype(np.float64)
    if mine.sum() < max(ENOUGH, SAID * own.sum()) or others.sum() < ENOUGH:
        return False
    return bool(np.minimum(mine / mine.sum(), others / others.sum()).sum() < APART)


def describe_alone(part: TextCells, looked: Looked, fewest: Fewest, me: str) -> OwnSummaries:
    """Return what an owner tells of its columns: (1) to (4) of its own values."""
    del me
    mine = tuple(name for name in looked.every if name in part.features and (name != LABELS or part.texts[LABELS]))
    cells = all_values(part, mine)
    present = dict(zip(mine, count_present(cells).tolist(), strict=True))
    found = {name: Summary(present=int(n)) for name, n in present.items()}
    enough = {name: float(n) for name, n in present.items() if n >= fewest.min_count}
    numbers = tuple(name for name in (*looked.numbers, *looked.dates) if name in enough)
    if numbers:
        found |= _summarize_alone(all_values(part, numbers), numbers, fewest.min_count)
    for name in (each for each in enough if each in part.texts or each in looked.listed):
        found[name] = _count_alone(part, name, looked.listed.get(name), enough[name], fewest.min_count)
    return OwnSummaries(len(part.X), found)


def _summarize_alone(values: F64, names: Names, min_count: int) -> dict[str, Summary]:
    """Return what is told of an owner's columns of numbers."""
    n = count_present(values).astype(np.float64)
    measured = Measured(names, n, np.nanmean(values, axis=0), np.nanvar(values, axis=0))
    low, high = measured.range
    held, ranks = cells_of(values, low, high, BINS**LEVELS), measured.ranks
    total = parts_of(held, np.zeros((len(names), 1), dtype=np.int64), np.ones((len(names), 1), dtype=np.bool_), 0, BINS)
    known = find_ranks(total, ranks)
    begun = parts(known, 0, min_count)
    known = narrow_down(known, parts_of(held, begun.cells, begun.again, 1, BINS), ranks, begun.again)
    return measured.summarize(join_parts(total, min_count), parts(known, 1, min_count))


def _count_alone(part: TextCells, name: str, listed: Values | None, present: float, min_count: int) -> Summary:
    """Return what is told of an owner's column of categories."""
    texts: Counts = {} if listed else count_texts(part, (name,), 1, "")
    frequent = sorted(text for text, n in texts.get(name, {}).items() if n >= min_count and can_be_named(text))
    known: Values = listed or tuple(frequent)
    if not known:
        return Summary(present=int(present))
    counts = _count_known(part, name, known, 1, "")[None]
    told = show_counts(counts, np.array([present]), (len(known),), min_count).counts[0]
    return Summary(present=int(present), values=known, times=told)


# Steps at the coordinator, or at an owner


def join_parts(total: U64, min_count: int) -> Shapes:
    """Return the histograms (2) from the counts (1), an array of columns, one, and parts."""
    counts = total[:, 0].astype(np.float64)
    begins, joined = np.zeros(counts.shape, dtype=np.bool_), np.zeros_like(counts)
    for j, row in enumerate(counts):
        for start, held in join_cells(row, min_count):
            begins[j, start], joined[j, start] = True, held
    return Shapes(begins, joined)


def find_ranks(total: U64, ranks: I64) -> Narrowed:
    """Return the part of (1) that each rank is in."""
    known = start_narrowing(ranks)
    whole = np.repeat(total, ranks.shape[1], axis=1)
    return narrow_down(known, whole, ranks, np.ones(ranks.shape, dtype=np.bool_))


def show_counts(total: U64, present: F64, sizes: tuple[int, ...], min_count: int) -> ValueCounts:
    """Return the counts (4) that may be told, HIDDEN for the others."""
    shown = np.full(total.shape, HIDDEN, dtype=np.int64)
    for row, counts, n, size in zip(shown, total.astype(np.int64), present, sizes, strict=True):
        told = np.flatnonzero(counts[:size] >= min_count)
        rest = int(n) - int(counts[told].sum())
        if 0 < rest < min_count and len(told):  # those few would be what is left
            told = np.delete(told, counts[told].argmin())
        row[told] = counts[told]
    return ValueCounts(shown)


DESCRIBE_TABLE = Declaration(describe_table, parameters=OF_COLUMNS)
DESCRIBE_COLUMNS = Declaration(describe_columns, parameters=OF_COLUMNS)
