"""Quantiles of every column over rows that many hold, from histograms that narrow down on them.

The problem. Of the n_j present values of column j, sorted, numpy's quantile q lies between those of rank floor(q (n_j -
1)) and ceil(q (n_j - 1)). The range [low_j, high_j] of the column is cut into B^2 cells. For each of these ranks, at
first for the whole range and then for the one B-th of it that the rank is in,

    h_c = sum_k |{x in P_kj: x in the c-th of B parts}|                                                            (1)
    the rank is in the first part at which the counts, added up, exceed it                                         (2)

A part with fewer than min_count values is not cut again. The value is taken to be the middle of its cell, so it is off
by at most

    (high_j - low_j) / (2 B^2),      or (high_j - low_j) / (2 B) where the cell was not cut again                  (3)

and so is a quantile, which is a mean of two of them. Ranges are declared, or follow from mean and variance
(`column_moments`): no value of a rank is further from the mean than `numeric.scores.histogram.reach` says. Neither
opens anybody's extreme.

Roles. Holder: rows. Coordinator: opens (1), publishes (2).
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: the counts, however small, which the coordinator has:
the number of records in each B-th of the range, and in each B-th of those B-ths that a quantile is in.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.numeric.scores.histogram import cells_of, ranks_of, reach
from tacit.protocols.column_parameters import BINS, OF_COLUMNS
from tacit.protocols.columns.counts import PRESENT, Cells, Fewest, Names, own_values, present_counts
from tacit.protocols.columns.moments import joint_means, joint_variances, other_units
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_sum import Protection, secure_sum

Ranges = Mapping[str, tuple[float, float]]
LEVELS = 2
SLACK = 1e-9  # of a range that follows from moments, which are rounded


@dataclass(frozen=True, kw_only=True)
class Histogram(Settings):
    """The ranges that are declared for columns, if any are, and into how many parts a range is cut."""

    ranges: Ranges | None = None
    bins: int = 32


HISTOGRAM = Fact(
    "columns.histogram",
    "holders",
    "count",
    "column",
    "of every column a histogram of its range over all parties, and one of each part that a quantile lies in"
    " and that has min_count values",
)


class Parts(
    Message,
    tells=Fact(
        "columns.quantile_part",
        "holders",
        "aggregate",
        "column",
        "in which part of its range each quantile of a column lies, and whether that part is cut again",
    ),
):
    """In which part of its range each rank lies, (2), and whether that part is cut again."""

    cells: I64
    again: Flags


class Narrowed(State):
    """What the coordinator knows of each column and rank.

    The part it is in, how many values are before and in it, and how often it was cut.
    """

    cells: I64
    before: F64
    inside: F64
    cuts: I64


class Quantiles(Result):
    """The quantiles, a row for each column, with their bin errors (3); `units` is as in `moments`."""

    present: F64
    quantiles: F64
    error: F64
    units: At[F64]


@choreography(
    opens={
        Coordinator: HISTOGRAM,
        Everyone: (
            PRESENT,
            Fact(
                "columns.moments_without_range",
                "holders",
                "aggregate",
                "column",
                "mean and variance of each column for which no range is declared",
            ),
            Fact(
                "columns.quantile_cell",
                "holders",
                "aggregate",
                "column",
                "in which cell of its range each quantile lies",
            ),
        ),
    }
)
def column_quantiles(
    run: Run,
    data: At[Cells],
    *,
    names: Names,
    probabilities: tuple[float, ...],
    histogram: Histogram,
    fewest: Fewest,
    protected: Protected,
    by: Protection | None = None,
) -> Quantiles:
    """Publish the quantiles, a row per column, with their bin errors (3)."""
    values = run.local(Holder, own_values, data, names, fewest.min_rows, run.who(Holder))
    ranges, bins = histogram.ranges, histogram.bins
    if ranges is not None:
        run.local(Holder, check_ranges, values, names, ranges, run.who(Holder))
    by = by or protected.protect(run, to=Coordinator)
    present = present_counts(run, values, names=names, by=by, min_count=fewest.min_count)
    if ranges is None:
        mean = joint_means(run, values, present, by=by)
        variance = joint_variances(run, values, present, mean, by=by)
        low, high = find_range(present, mean, variance, probabilities)
        units = run.local(Holder, other_units, values, present, mean, variance)
    else:
        low, high = np.array([ranges[name] for name in names], dtype=np.float64).T
        units = run.local(Holder, all_alike, values)
    held, ranks = run.local(Holder, cells_of, values, low, high, bins**LEVELS), list_ranks(present, probabilities)
    cells, cuts = narrow(run, held, ranks, bins, fewest.min_count, by)
    quantiles, error = interpolate(cells, cuts, low, high, bins, present, probabilities)
    return Quantiles(present=present, quantiles=quantiles, error=error, units=units)


@choreography(
    opens={
        Coordinator: Fact(
            "columns.rank_counts",
            "holders",
            "count",
            "column",
            "how many values are in each part of a range, and in each part of the parts that a rank is in",
        ),
        Everyone: Fact(
            "columns.rank_cell", "holders", "aggregate", "column", "in which cell of its range each rank lies"
        ),
    }
)
def narrow(run: Run, cells: At[I64], ranks: I64, bins: int, min_count: int, by: Protection) -> tuple[I64, I64]:
    """Return the cell of each rank of each column, and how often the range was cut for it."""
    s = run.carry(
        cells=np.zeros_like(ranks),
        again=np.ones(ranks.shape, bool),
        known=run.local(Coordinator, start_narrowing, ranks),
    )
    for t in run.rounds(LEVELS, s):
        counted = run.local(Holder, parts_of, cells, s.cells, s.again, t, bins)
        total = secure_sum(run, counted, to=Coordinator, by=by, what="histograms")
        s.known = run.local(Coordinator, narrow_down, s.known, total, ranks, s.again)
        told = run.publish(Parts, run.local(Coordinator, parts, s.known, t, min_count))
        s.cells, s.again = told.cells, told.again
    return s.cells, np.where(s.again, LEVELS, 1)


def find_range(present: F64, mean: F64, variance: F64, probabilities: tuple[float, ...]) -> tuple[F64, F64]:
    """Return a range of each column that the values of all ranks are in."""
    farthest = np.max([reach(present, q) for q in probabilities], axis=0)
    away = farthest * np.sqrt(variance) * (1 + SLACK) + SLACK * np.abs(mean)
    return mean - away, mean + away


def list_ranks(present: F64, probabilities: tuple[float, ...]) -> I64:
    """Return the ranks that the quantiles lie between: (columns x ranks)."""
    return np.column_stack([rank for q in probabilities for rank in ranks_of(present, q)[:2]])


def interpolate(
    cells: I64, cuts: I64, low: F64, high: F64, bins: int, present: F64, probabilities: tuple[float, ...]
) -> tuple[F64, F64]:
    """Return the quantiles from the middles of cells, and their errors (3)."""
    width = (high - low)[:, None] / float(bins) ** cuts
    at = low[:, None] + (cells + 0.5) * width
    along = np.column_stack([ranks_of(present, q)[2] for q in probabilities])
    return at[:, ::2] + (at[:, 1::2] - at[:, ::2]) * along, np.maximum(width[:, ::2], width[:, 1::2]) / 2


# Steps at the holders


def check_ranges(values: F64, names: Names, ranges: Ranges, me: str) -> None:
    """Raise if a value is outside its declared range, without quoting it."""
    for name, column in zip(names, values.T, strict=True):
        low, high = ranges[name]
        out = (column < low) | (column > high)
        if out.any():
            raise LocalError(
                f"{me} has {int(out.sum())} values of column '{name}' outside its declared range [{low:g}, {high:g}]"
                f" (first in row {int(out.argmax()) + 1}): check the unit, or declare a wider range"
            )


def parts_of(cells: I64, prefix: I64, again: Flags, t: int, bins: int) -> U64:
    """Return this holder's part of (1) for the t-th digit of its cells: (columns x ranks x bins)."""
    counts = np.zeros((*prefix.shape, bins), dtype=np.uint64)
    head = np.where(cells >= 0, cells // bins ** (LEVELS - 1 - t), -1)  # the digits up to the t-th
    for j, k in zip(*np.nonzero(again), strict=True):
        here = head[:, j][(head[:, j] >= 0) & (head[:, j] // bins == prefix[j, k])]
        counts[j, k] = np.bincount(here % bins, minlength=bins)
    return counts


def all_alike(values: F64) -> F64:
    """Return 1 for every column: units are checked by the declared ranges."""
    return np.ones(values.shape[1])


# Steps at the coordinator


def start_narrowing(ranks: I64) -> Narrowed:
    """Return what is known before the first cut."""
    return Narrowed(np.zeros_like(ranks), np.zeros(ranks.shape), np.zeros(ranks.shape), np.zeros_like(ranks))


def narrow_down(known: Narrowed, total: U64, ranks: I64, again: Flags) -> Narrowed:
    """Return the part that each rank is in after one more cut, (2)."""
    counts = total.astype(np.float64)
    upto = known.before[..., None] + np.cumsum(counts, axis=-1)
    part = np.minimum((upto <= ranks[..., None]).sum(axis=-1), counts.shape[-1] - 1)
    inside = np.take_along_axis(counts, part[..., None], axis=-1)[..., 0]
    before = np.take_along_axis(upto, part[..., None], axis=-1)[..., 0] - inside
    return Narrowed(
        cells=np.where(again, known.cells * counts.shape[-1] + part, known.cells),
        before=np.where(again, before, known.before),
        inside=np.where(again, inside, known.inside),
        cuts=known.cuts + again,
    )


def parts(known: Narrowed, t: int, min_count: int) -> Parts:
    """Return what is published: after the last cut, which cells were cut that often."""
    deep = known.cuts == LEVELS if t == LEVELS - 1 else known.inside >= min_count
    return Parts(known.cells, deep)


COLUMN_QUANTILES = Declaration(column_quantiles, parameters=(*OF_COLUMNS, BINS))
