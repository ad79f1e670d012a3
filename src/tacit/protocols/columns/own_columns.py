"""What a holder does with its columns alone: statistics of those that are all its own, and checks.

    vertical       each column's owner has all of its values, and so all of its statistics
    tell           which of its columns lack a value, where each of these gets a column that marks the gaps and no
                   process has all of them
    declared       ranges, categories and constants need no statistics; each holder checks its values against them

Roles. Holder: columns, or rows.
Threat: none beside the holder itself.
Source: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Everyone, Fact, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.protocols.column_parameters import BINS, OF_COLUMNS
from tacit.protocols.columns.counts import Cells, Names, all_values, check_declared, check_rows
from tacit.protocols.columns.quantiles import Ranges, check_ranges

LACKING = Fact(
    "columns.lacking",
    "holder",
    "membership",
    "column",
    "which of each holder's columns lack a value: each of them gets a column that marks the gaps",
)


class Lacking(Message, tells=LACKING, ragged=True):
    """The sender's columns that lack a value."""

    names: Names


@dataclass(frozen=True, kw_only=True)
class Declared(Settings):
    """What is declared of columns: the range of a column, or the values that it may have."""

    ranges: Ranges | None = None
    categories: Mapping[str, Sequence[float]] | None = None


class Statistics(State):
    """What is known of one column from its present values."""

    present: float
    mean: float
    var: float
    min: float
    max: float
    mode: float
    quantiles: F64


class OwnColumns(Result):
    """At each holder the statistics of its own columns by name, and which of its columns lack a value.

    lacking: which columns of all holders do, if they tell it.
    """

    columns: At[dict[str, Statistics]]
    gaps: At[Names]
    lacking: Names | None = None


class AsDeclared(Result):
    """That all columns are as declared, and nothing else."""


@choreography(
    opens={
        Holder: Fact(
            "columns.own_statistics",
            "reader",
            "aggregate",
            "column",
            "the statistics of its own columns, and nothing about the columns of others",
        )
    }
)
def own_columns(
    run: Run,
    data: At[Cells],
    *,
    names: tuple[str, ...],
    probabilities: tuple[float, ...] = (0.5,),
    ranges: Ranges | None = None,
    gaps: tuple[str, ...] = (),
    tell: bool = False,
) -> OwnColumns:
    """Return the statistics of each holder's own columns among `names`, and which columns of `gaps` lack a value."""
    run.local(Holder, check_columns, data, names, 1, Declared(ranges=ranges), run.who(Holder))
    found = run.local(Holder, statistics, data, names, probabilities, run.who(Holder))
    own = run.local(Holder, list_gaps, data, gaps)
    return OwnColumns(columns=found, gaps=own, lacking=tell_gaps(run, own) if tell and gaps else None)


@choreography(opens={Everyone: LACKING})
def tell_gaps(run: Run, own: At[Names]) -> Names:
    """Return which columns lack a value at their owners."""
    told = run.publish_all(Lacking, run.local(Holder, Lacking, own))
    return tuple(name for each in told.values() for name in each.names)


@choreography(opens={Holder: Fact("columns.nothing", "nobody", "nothing", "none", "nothing")})
def checked_columns(
    run: Run,
    data: At[Cells],
    *,
    names: tuple[str, ...],
    declared: Declared,
    min_rows: int = 5,
) -> AsDeclared:
    """Let each holder check its values against what is declared."""
    run.local(Holder, check_columns, data, names, min_rows, declared, run.who(Holder))
    return AsDeclared()


def check_columns(part: Cells, names: tuple[str, ...], min_rows: int, declared: Declared, me: str) -> None:
    """Raise if a column that this holder has is not as declared."""
    ranges, categories = declared.ranges or {}, declared.categories or {}
    bounded, listed = (tuple(n for n in names if n in part.features and n in known) for known in (ranges, categories))
    check_rows(part, min_rows, me)
    check_ranges(all_values(part, bounded), bounded, ranges, me)
    check_declared(all_values(part, listed), listed, tuple(tuple(categories[n]) for n in listed), me)


def statistics(part: Cells, names: tuple[str, ...], probabilities: tuple[float, ...], me: str) -> dict[str, Statistics]:
    """Return the statistics of every named column that the holder has."""
    mine = tuple(name for name in names if name in part.features)
    columns = all_values(part, mine).T
    return {
        name: _statistics(column[~np.isnan(column)], name, probabilities, me)
        for name, column in zip(mine, columns, strict=True)
    }


def list_gaps(part: Cells, names: Names) -> Names:
    """Return the holder's own columns with a missing value."""
    columns = zip(part.features, part.X.T, strict=True)
    return tuple(name for name, column in columns if name in names and np.isnan(column).any())


def _statistics(x: F64, name: str, probabilities: tuple[float, ...], me: str) -> Statistics:
    if not len(x):
        raise LocalError(
            f"column '{name}' of {me} has no present value: there is nothing to learn from it; leave the column out"
        )
    values, counts = np.unique(x, return_counts=True)
    return Statistics(
        present=float(len(x)),
        mean=float(x.mean()),
        var=float(x.var()),
        min=float(values[0]),
        max=float(values[-1]),
        mode=float(values[counts.argmax()]),
        quantiles=np.quantile(x, probabilities),
    )


OWN_COLUMNS = Declaration(own_columns, parameters=(*OF_COLUMNS, BINS))
CHECKED_COLUMNS = Declaration(checked_columns, parameters=(*OF_COLUMNS, BINS))
