"""How many values of each column are present over all parties, and how many are which of the declared ones.

The problem. Holder k has rows, or cells, of a table in which values may be missing. P_kj are the values of column j
that it has.

    n_j = sum_k |P_kj|                                                                                             (1)
    n_jv = sum_k |{x in P_kj: x = v}|          for the values v that were declared for column j                    (2)

Every sum over values of a column waits for (1): if n_j < min_count, it is about so few records that nothing of it is
opened. Where a constant is to stand for missing values, so few others would be left alone beside it in later sums; none
at all are none to tell. A holder with a few rows is refused before anything is sent: all others together could subtract
their parts from every sum. Rows of a class of which their holder has fewer than min_rows are left out, as in every
training by rows: else these sums less those would be theirs.

Roles. Holder: rows. Coordinator: opens (1) and (2), publishes (1) and the most frequent value.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: n_j of a column with a few values, and the counts (2),
which the coordinator has however small they are; that a column's fit differs from an earlier one by the records that
came in between.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.declaration import Settings
from tacit.errors import LocalError
from tacit.protocols.part import OwnCells
from tacit.protocols.sums.atoms import in_large_classes
from tacit.protocols.sums.secure_sum import Protection, secure_sum
from tacit.scratch import ROWS, blocks, is_on_disk, take_columns, take_rows
from tacit.sparse import each, is_sparse

PRESENT = Fact(
    "columns.present", "holders", "count", "column", "how many values of each column are present over all parties"
)

Names = tuple[str, ...]


class Cells(OwnCells, Protocol):
    """What a holder brings along: cells with the names of their columns; missing values are NaN."""

    @property
    def features(self) -> Names:
        """The names of the columns."""
        ...


@dataclass(frozen=True, kw_only=True)
class Fewest(Settings):
    """Of how many values of a column, and of how many rows of a party, the sums are, at least."""

    min_count: int = 5
    min_rows: int = 5


class Present(Message, tells=PRESENT):
    """How many values of each column are present, (1)."""

    counts: F64


class Modes(
    Message,
    tells=Fact(
        "columns.mode",
        "holders",
        "aggregate",
        "column",
        "which declared value of each column is the most frequent one over all parties",
    ),
):
    """The numbers of the most frequent declared values, by (2)."""

    numbers: I64


class Modal(Result):
    """The most frequent value of each column."""

    modes: F64


@choreography(opens={Everyone: PRESENT})
def present_counts(
    run: Run, values: At[F64], *, names: Names, by: Protection, min_count: int, empty: bool = False
) -> F64:
    """Return how many values are present, (1); raise for columns that have too few.

    With `empty`, a column without any value is no error.
    """
    total = secure_sum(run, run.local(Holder, count_present, values), to=Coordinator, by=by, what="present values")
    counts = run.publish(Present, run.local(Coordinator, make_counts, total)).counts
    refuse_few(counts, names, min_count, empty=empty)
    return counts


@choreography(
    opens={
        Coordinator: Fact(
            "columns.value_counts",
            "holders",
            "count",
            "column",
            "how many records have which of the declared values of a column, over all parties",
        ),
        Everyone: Fact(
            "columns.most_frequent", "holders", "aggregate", "column", "the most frequent declared value of each column"
        ),
    }
)
def column_modes(
    run: Run,
    data: At[Cells],
    *,
    names: Names,
    categories: Mapping[str, Sequence[float]],
    fewest: Fewest,
    by: Protection,
) -> Modal:
    """Return the most frequent of the values declared for each column, by (2); the smallest of several."""
    declared = tuple(tuple(sorted(float(v) for v in categories[name])) for name in names)
    values = run.local(Holder, own_values, data, names, fewest.min_rows, run.who(Holder))
    run.local(Holder, check_declared, values, names, declared, run.who(Holder))
    held = run.local(Holder, count_declared, values, declared)
    total = secure_sum(run, held, to=Coordinator, by=by, what="declared values")
    numbers = run.publish(Modes, run.local(Coordinator, most_frequent, total, names, fewest.min_count)).numbers
    return Modal(modes=np.array([column[k] for column, k in zip(declared, numbers, strict=True)]))


def refuse_few(counts: F64, names: Names, min_count: int, *, empty: bool = False) -> None:
    """Raise if a column has fewer than min_count values, so that no sum over them is opened."""
    for name, count in zip(names, counts, strict=True):
        if count < min_count and not (empty and count == 0):
            raise LocalError(
                f"column '{name}' has {int(count)} present values over all parties, fewer than min_count={min_count}:"
                " nothing of it is opened; leave the column out, or lower min_count"
            )


# Steps at the holders


def own_values(part: Cells, names: Names, min_rows: int, me: str) -> F64:
    """Return the holder's own cells of these columns, NaN elsewhere, of rows that may be summed.

    Raises for a table of a few rows.
    """
    check_rows(part, min_rows, me)
    use = in_large_classes(part, min_rows)
    if is_on_disk(part.X) or is_sparse(part.X):
        at = _places(part, names)
        X = part.X if at == list(range(part.X.shape[1])) else take_columns(part.X, at)
        return X if use.all() else take_rows(X, np.flatnonzero(use))
    return all_values(part, names)[use]


def check_rows(part: Cells, min_rows: int, me: str) -> None:
    """Raise if a holder has a few rows only."""
    if 0 < len(part.X) < min_rows:
        raise LocalError(
            f"{me} has {len(part.X)} records, fewer than min_rows={min_rows}: the others could subtract all records but"
            " these from every sum; let it join another site, or lower min_rows"
        )


def all_values(part: Cells, names: Names) -> F64:
    """Return the holder's own cells of these columns, NaN elsewhere."""
    at = _places(part, names)
    own = part.X if part.owned is None else np.where(part.owned, part.X, np.nan)
    return np.ascontiguousarray(own[:, at])


def _places(part: Cells, names: Names) -> list[int]:
    """Return which of the holder's columns have these names."""
    place = {name: j for j, name in enumerate(part.features)}
    return [place[name] for name in names]


def check_declared(values: F64, names: Names, declared: tuple[tuple[float, ...], ...], me: str) -> None:
    """Raise if a value is none of those declared, without quoting it: it may be a patient's."""
    for name, column, allowed in zip(names, values.T, declared, strict=True):
        wrong = ~np.isnan(column) & ~np.isin(column, allowed)
        if wrong.any():
            raise LocalError(
                f"{me} has {int(wrong.sum())} values of column '{name}' that nobody declared (first in row"
                f" {int(wrong.argmax()) + 1}): correct them, or declare them in categories at every party"
            )


def mark_present(values: F64) -> F64:
    """Return 1 for every cell that has a value, and 0 for one that has none."""
    return each(values, lambda cells: ~np.isnan(cells) + 0)


def count_present(values: F64) -> U64:
    """Return this holder's part of (1)."""
    present = (mark_present(block).sum(axis=0) for _, block in blocks(values, ROWS))
    return np.asarray(sum(present, np.zeros(values.shape[1], dtype=np.int64)), dtype=np.uint64)


def count_declared(values: F64, declared: tuple[tuple[float, ...], ...]) -> U64:
    """Return this holder's part of (2), with zeros behind the last declared value of a column."""
    counts = np.zeros((len(declared), max(map(len, declared), default=0)), dtype=np.uint64)
    for row, column, allowed in zip(counts, values.T, declared, strict=True):
        row[: len(allowed)] = [(column == v).sum() for v in allowed]
    return counts


# Steps at the coordinator


def make_counts(total: U64) -> Present:
    """Return the counts as numbers to reckon with."""
    return Present(total.astype(np.float64))


def most_frequent(total: U64, names: Names, min_count: int) -> Modes:
    """Return the first of the largest counts of (2)."""
    refuse_few(total.sum(axis=1).astype(np.float64), names, min_count)
    return Modes(total.argmax(axis=1).astype(np.int64))
