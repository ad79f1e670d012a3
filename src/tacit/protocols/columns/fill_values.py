"""What missing values are replaced by, over rows that many hold: one run for all columns, of whatever kind.

    mean             `column_moments`, without the variance
    median           `column_quantiles`, within its bin error
    most frequent    `column_modes`, of the values that were declared
    constant         nothing to find; that enough values are present is seen to all the same (`columns.counts`)
    indicators       `secure_or`: whether anybody lacks a value of the column

Roles. Holder: rows. Coordinator: opens what these do.
Threat. As those protocols.
Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.protocols.column_parameters import BINS, OF_COLUMNS
from tacit.protocols.columns.counts import Cells, Fewest, Modal, Names, column_modes, own_values, present_counts
from tacit.protocols.columns.moments import joint_means
from tacit.protocols.columns.own_columns import Declared, check_columns
from tacit.protocols.columns.quantiles import Histogram, Quantiles, column_quantiles
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_or import Marks, secure_or
from tacit.protocols.sums.secure_sum import Protection


@dataclass(frozen=True, kw_only=True)
class Filling(Settings):
    """Which columns are filled by what, and of which it is told whether they lack a value."""

    mean: Names = ()
    median: Names = ()
    most_frequent: Names = ()
    constant: Names = ()
    indicators: Names = ()

    @property
    def columns(self) -> Names:
        """All columns that are named."""
        return (*self.mean, *self.median, *self.most_frequent, *self.constant, *self.indicators)


class Gaps(
    Message, tells=Fact("columns.gaps", "holders", "membership", "column", "which columns lack a value at some party")
):
    """A mark for every column that lacks a value somewhere."""

    marks: Marks


class Means(Result):
    """How many values are present in each column, and their mean."""

    present: F64
    mean: F64


class Constants(Result):
    """How many values are present in each column that a constant fills."""

    present: F64


class Fills(Result):
    """What was found for the columns of each kind, where there are any."""

    mean: Means | None = None
    median: Quantiles | None = None
    most_frequent: Modal | None = None
    constant: Constants | None = None
    indicators: Marks | None = None


@choreography(
    opens={
        Everyone: (
            Fact(
                "columns.fill_values",
                "holders",
                "aggregate",
                "column",
                "what stands for the missing values of each column: a mean, a median or the most frequent value over"
                " all parties",
            ),
            Fact("columns.present_count", "holders", "count", "column", "how many values of each column are present"),
            Fact(
                "columns.indicated_gaps",
                "holders",
                "membership",
                "column",
                "with indicators, which columns lack a value somewhere",
            ),
        )
    }
)
def fill_values(
    run: Run,
    data: At[Cells],
    *,
    filling: Filling,
    declared: Declared,
    bins: int = 32,
    fewest: Fewest,
    protected: Protected,
) -> Fills:
    """Return what each kind of filling found, under its name; every column is named once."""
    run.local(Holder, check_columns, data, filling.columns, fewest.min_rows, declared, run.who(Holder))
    by = protected.protect(run, to=Coordinator)
    mean = median = modes = constant = marks = None
    if filling.mean:
        mean = means_of(run, data, filling.mean, fewest=fewest, by=by)
    if filling.median:
        median = column_quantiles(
            run,
            data,
            names=filling.median,
            probabilities=(0.5,),
            histogram=Histogram(ranges=declared.ranges, bins=bins),
            fewest=fewest,
            protected=protected,
            by=by,
        )
    if filling.most_frequent:
        known = declared.categories or {}
        modes = column_modes(run, data, names=filling.most_frequent, categories=known, fewest=fewest, by=by)
    if filling.constant:
        constant = count_constants(run, data, filling.constant, fewest=fewest, by=by)
    if filling.indicators:
        marks = find_gaps(run, data, filling.indicators, by=by)
    return Fills(mean=mean, median=median, most_frequent=modes, constant=constant, indicators=marks)


def means_of(run: Run, data: At[Cells], names: Names, *, fewest: Fewest, by: Protection) -> Means:
    """Return the means of columns that have enough values."""
    values = run.local(Holder, own_values, data, names, fewest.min_rows, run.who(Holder))
    present = present_counts(run, values, names=names, by=by, min_count=fewest.min_count)
    return Means(present=present, mean=joint_means(run, values, present, by=by))


def count_constants(run: Run, data: At[Cells], names: Names, *, fewest: Fewest, by: Protection) -> Constants:
    """Return how many values are present beside a constant: none, or enough."""
    values = run.local(Holder, own_values, data, names, fewest.min_rows, run.who(Holder))
    return Constants(present=present_counts(run, values, names=names, by=by, min_count=fewest.min_count, empty=True))


def find_gaps(run: Run, data: At[Cells], names: Names, *, by: Protection) -> Marks:
    """Return for each column whether anybody lacks a value of it."""
    lacking = secure_or(run, run.local(Holder, gaps, data, names), to=Coordinator, by=by, what="gaps")
    return run.publish(Gaps, run.local(Coordinator, Gaps, lacking)).marks


def gaps(part: Cells, names: Names) -> Marks:
    """Return for each column whether one of the holder's own cells has no value."""
    at = [part.features.index(name) for name in names]
    missing = np.isnan(part.X[:, at]) if part.owned is None else np.isnan(part.X[:, at]) & part.owned[:, at]
    return np.asarray(missing.any(axis=0))


FILL_VALUES = Declaration(fill_values, parameters=(*OF_COLUMNS, BINS))
