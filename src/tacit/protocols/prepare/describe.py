"""What a table looks like before anybody trains on it: where columns lie, and how many records hold what, rounded.

    all columns        how many values are present; at which party fewer than k are
    numbers, dates     mean, scale and quantiles                                        (`prepare.columns`)
    texts, labels      of every declared category v, how many records have it

A count is told as the public numbers that it lies between (`numeric.features.column_terms`): a count of fewer than k
records, or of all but fewer than k, is suppressed, and so is what its complement would be. Classes count as declared
where a party has k records of them. Every holder says in which of its columns its own values are unlike all, and how:

    larger, smaller    median and interquartile range both 5 times those of the others, or a fifth, alike within a
                       factor of 2, or the latter alone where both medians are lost in the range; the others' follow
                       from what is told of all and its own,  F_others = (N F - n F_own) / (N - n)                 (1)
    coded otherwise    sum_v min(p_v, q_v) < 1/20,      p, q: shares of categories, its own and of the others      (2)

Roles. Holder: rows, columns or cells. Coordinator: the dealer, which holds no data.
Threat. As `prepare.columns`: what a run opens follows from its result.
Source: ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Everyone, Holder, Result, Run, State, choreography
from tacit.choreo.declaration import Number, Settings, Switch, parameter
from tacit.choreo.protocol import Declaration
from tacit.numeric.features.column_terms import PARTS as STEPS
from tacit.numeric.features.column_terms import WHOLE, choose_quantiles, points_of_counts
from tacit.protocols.column_parameters import MENU, OF_COLUMNS
from tacit.protocols.facts import COLUMNS, DESCRIPTION, SIZES, UNLIKE
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.protocols.part import Records, hidden_of
from tacit.protocols.prepare.cells import (
    ENOUGH,
    DescriptionShare,
    DescriptionWords,
    Names,
    Ready,
    TextCells,
    Unlike,
    Values,
    count_present,
    count_values,
)
from tacit.protocols.prepare.columns import Table, collect_categories, find_marks, measure, open_table, place_categories
from tacit.protocols.shares.revealing import compare

LABELS = "(labels)"  # how the labels are called among the columns
FEW, NEARLY_ALL = -1, -2  # stand for a count that is suppressed: fewer than k, or all but fewer than k
FACTOR, ALIKE = 5.0, 2.0  # of (1)
APART, SAID = 0.05, 0.5  # of (2): how much both have in common at most, and which share of its values is told at least
USUAL, LARGER, SMALLER, CODED, EMPTY = range(5)  # what a holder says of a column
WORDS = {LARGER: "larger", SMALLER: "smaller", CODED: "coded otherwise", EMPTY: "empty"}
QUARTILES = tuple(MENU.index(q) for q in (25, 50, 75))
PARTS = (0.25, 0.5, 0.75)


class Labelled(TextCells, Records, Protocol):
    """What a holder brings along: cells with their texts, and labels where it has them."""


@dataclass(frozen=True, eq=False)
class Lying:
    """Where columns lie, as everybody knows it: quantiles of these levels, scales, and how many values there are."""

    quantiles: F64
    scale: F64
    levels: F64
    present: I64


class Summary(State):
    """What is told of a column.

    present: how many records have a value. mean, scale, quantiles (`MENU`): of numbers and dates with k values.
    values, times: of categories, and how many records have each; FEW or NEARLY_ALL where that is suppressed. crowded:
    whether there are too many texts for categories.
    """

    present: int
    mean: float
    scale: float
    quantiles: F64
    values: Values
    times: I64
    crowded: bool


class Overview(Result):
    """What is told of each column, of how many records; `unlike` has each holder's words about its own columns."""

    records: int
    columns: dict[str, Summary]
    unlike: dict[str, dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class Looked(Settings):
    """Which columns are described.

    names: numbers and dates. texts: whose categories parties declare. categories: those that are declared by the job.
    With `labels` these are one more column of texts.
    """

    names: Names = ()
    texts: Names = ()
    categories: Mapping[str, Sequence[Any]] | None = None
    labels: bool = parameter(default=False, kind=Switch(), says="whether the labels are described too", follows=True)
    fewest: int = parameter(
        LEAST_CLASS,
        Number(1, whole=True, job_least=LEAST_CLASS, job_most=LEAST_CLASS),
        "of how many records everything is that is told of columns",
        opens=True,
        follows=True,
    )

    @property
    def listed(self) -> dict[str, Values]:
        """The declared values of columns."""
        return {name: tuple(values) for name, values in (self.categories or {}).items()}

    @property
    def worded(self) -> Names:
        """The columns of texts, the labels among them."""
        return (*self.texts, *([LABELS] if self.labels else []))

    @property
    def every(self) -> Names:
        """All of the columns."""
        return (*self.names, *self.worded, *self.listed)


@choreography(opens={Everyone: (SIZES, COLUMNS, COLUMNS, DESCRIPTION, UNLIKE)})
def describe_table(run: Run, data: At[Labelled], *, partition: str, looked: Looked) -> Overview:
    """Tell everyone what the columns look like over all parties."""
    data = run.local(Holder, add_labels, data, looked.fewest) if looked.labels else data
    table = open_table(run, data, partition, looked.every, looked.fewest)
    known, crowded = collect_categories(run, data, looked.worded, looked.listed)
    enough, _ = find_marks(table)
    mean, scale, quantiles = measure(table, looked.names, enough, MENU)
    which = place_categories(table, known)
    sizes = [len(values) for _, _, values in which]
    counts = find_counts(table, which)
    present, *times = np.split(counts, np.cumsum([len(table.names), *sizes])[:-1])
    told = {name: (values, own) for (_, name, values), own in zip(which, times, strict=True)}
    columns = {}
    for j, name in enumerate(table.names):
        values, own = told.get(name, ((), np.empty(0, dtype=np.int64)))
        lies = float(mean[j]), float(scale[j]), quantiles[j]
        columns[name] = Summary(int(present[j]), *lies, values, own, name in crowded)
    held = np.where(present == NEARLY_ALL, table.rows, present)
    lying = Lying(quantiles, scale, choose_quantiles(MENU, table.crowd) / WHOLE, held)
    marks = run.local(Holder, mark_unlike, table.ready, lying, which, tuple(times), table.least)
    said = run.publish_all(Unlike, marks)
    unlike = {
        party: {name: WORDS[mark] for name, mark in zip(table.names, m.marks.tolist(), strict=True) if mark}
        for party, m in said.items()
    }
    return Overview(records=table.rows, columns=columns, unlike=unlike)


def find_counts(table: Table, which: Sequence[tuple[int, str, Values]]) -> I64:
    """Return rounded counts of the present values of all columns, and of their categories."""
    points = points_of_counts(table.crowd, table.least)
    size = len(table.names) + sum(len(values) for _, _, values in which)
    if not points.size:
        return np.full(size, FEW, dtype=np.int64)
    counts = table.run.local(Holder, repeat_counts, table.ready, which, points.size)
    targets = np.tile(points, size)
    shares = DescriptionShare, DescriptionWords
    reached = compare(table.run, table.dealing, counts, targets, *shares, largest=table.rows).reshape(size, -1)
    return read_counts(reached.sum(axis=1), points)


def read_counts(times: I64, points: I64) -> I64:
    """Return the middle between the numbers that counts lie between, from how many of them each count reaches."""
    middle = (points[:-1] + points[1:] - 1) // 2
    return np.concatenate([[FEW], middle, [NEARLY_ALL]])[times]


# Steps at the holders


def add_labels(part: Labelled, least: int) -> Labelled:
    """Return a holder's part with its labels as one more column of texts; one without a value where it has none.

    Classes of fewer than k of its records are named by nobody.
    """
    names, codes = ((), ()) if part.y is None else np.unique(part.y, return_inverse=True)
    texts = tuple(map(str, np.asarray(names).tolist()))
    column = np.full(len(part.X), np.nan) if part.y is None else np.asarray(codes, dtype=np.float64).ravel()
    column[hidden_of(part)] = np.nan
    times = [np.count_nonzero(column == code) for code in range(len(texts))]
    owned = None if part.owned is None else np.column_stack([part.owned, np.full(len(part.X), part.y is not None)])
    large = tuple(text for text, n in zip(texts, times, strict=True) if n >= least)
    return dataclasses.replace(
        part,  # type: ignore[type-var]  # whoever holds records has them as a record
        X=np.column_stack([part.X, column]),
        features=(*part.features, LABELS),
        owned=owned,
        texts={**part.texts, LABELS: texts},
        dictionary={**part.dictionary, LABELS: large},
    )


def repeat_counts(ready: Ready, which: Sequence[tuple[int, str, Values]], times: int) -> I64:
    """Return how many values are present in each column, and how many are of each category, each so many times."""
    return np.repeat(np.concatenate([count_present(ready)[:, 0], count_values(ready, which)]), times)


def mark_unlike(
    ready: Ready, told: Lying, which: Sequence[tuple[int, str, Values]], times: Sequence[I64], least: int
) -> Unlike:
    """Return what the holder says of its own columns, (1) and (2)."""
    marks, counts = np.full(ready.at.size, USUAL, dtype=np.int64), count_present(ready)[:, 0]
    for j in np.flatnonzero(~np.isnan(told.quantiles).any(axis=1)).tolist():
        marks[j] = compare_sizes(ready, j, told)
    ends = np.cumsum([len(values) for _, _, values in which])[:-1]
    own = np.split(count_values(ready, which), ends) if which else []
    for (j, _, _), mine, all_of_it in zip(which, own, times, strict=True):
        marks[j] = CODED if is_coded_otherwise(mine, all_of_it) else USUAL
    marks[(ready.at >= 0) & (counts < least)] = EMPTY
    return Unlike(marks)


def compare_sizes(ready: Ready, j: int, told: Lying) -> int:
    """Return whether a column is far larger or smaller here than at the others, (1), who have other values of all."""
    x = np.concatenate([np.empty(0), *(found[0] for found in ready.read(np.array([j])))])
    x, N = np.sort(x[~np.isnan(x)]), int(told.present[j])
    if min(x.size, N - x.size) < ENOUGH:
        return USUAL
    q, half = told.quantiles[j], told.scale[j] / (2 * STEPS)
    mine = (np.searchsorted(x, q - half) + np.searchsorted(x, q + half)) / 2.0  # a quantile is somewhere in its cell
    below = (N * told.levels - mine) / (N - x.size)
    others = np.interp(PARTS, np.maximum.accumulate(below), q)
    own = np.quantile(x, PARTS)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = (own[2] - own[0]) / (others[2] - others[0])
        lost = [abs(each[1]) < (each[2] - each[0]) / 2 for each in (own, others)]
        high = wide if all(lost) else own[1] / others[1]
        alike = lost[0] == lost[1] and max(wide / high, high / wide) <= ALIKE
    if not alike:
        return USUAL
    return LARGER if min(wide, high) >= FACTOR else SMALLER if 0 < max(wide, high) <= 1 / FACTOR else USUAL


def is_coded_otherwise(own: I64, told: I64) -> bool:
    """Return whether a holder's categories are others than those of the other holders, (2)."""
    shown = told >= 0
    mine, others = own[shown].astype(np.float64), np.maximum(told[shown] - own[shown], 0).astype(np.float64)
    if mine.sum() < max(ENOUGH, SAID * own.sum()) or others.sum() < ENOUGH:
        return False
    return bool(np.minimum(mine / mine.sum(), others / others.sum()).sum() < APART)


DESCRIBE_TABLE = Declaration(describe_table, parameters=OF_COLUMNS, dealt=True, takes_gaps=True)
