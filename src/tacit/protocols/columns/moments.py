"""Mean and variance of every column over rows that many hold, some of whose values may be missing.

The problem. P_kj are the present values of column j at holder k, n_j how many there are over all holders
(`columns.counts`).

    mean_j = sum_k sum_{x in P_kj} x / n_j                                                                         (1)
    var_j = sum_k sum_{x in P_kj} (x - mean_j)^2 / n_j                                                             (2)

in two sums, (2) after (1) is published, since sums of squares around zero lose their digits. Units are not known, so
the sums are of wide numbers (`numeric.ring.wide`), which fit whatever they are.

Whether its units are the others' own a holder finds out alone: it subtracts its part from n, (1) and (2) and compares
the size of its mean m and its deviation s with those of the rest. Another unit multiplies both by the same factor:

    m / m', s / s' both >= 5 or both <= 1/5, and within a factor of 2 of each other                                (3)

Where a mean is lost in the spread, |m| < s / 3, on both sides, there is s alone to go by; where it is on one side only,
the column is rarer or centred there, and nothing is said. Nor is it where the deviation of the holder's own values
comes from a few of them, as in columns that are rarely not 0 or have a long tail, whose deviations differ by chance:

    s <= Q, or s <= Q / 2 where means are lost;     Q: between the tenth and the ninetieth percentile              (4)

A factor of ten is found as long as the records are alike within a factor of two and there are 20 on both sides. Nothing
is sent for it.

Roles. Holder: rows. Coordinator: opens the sums, publishes (1) and (2).
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: M - 1 holders together have the last one's count, mean
and variance; of two, each has the other's.
Source: ours; two passes as in Chan, Golub and LeVeque, The American Statistician 37, 1983.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.arrays import F64, U64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import Declaration
from tacit.numeric.ring.wide import Z256, decode, encode
from tacit.protocols.column_parameters import BINS, OF_COLUMNS
from tacit.protocols.columns.counts import PRESENT, Cells, Fewest, Names, mark_present, own_values, present_counts
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_sum import Protection, secure_sum
from tacit.scratch import ROWS, blocks, release
from tacit.sparse import each, is_sparse

MEAN = Fact("columns.mean", "holders", "aggregate", "column", "the mean of every column over all parties")
VARIANCE = Fact("columns.variance", "holders", "aggregate", "column", "the variance of every column over all parties")

FACTOR, ALIKE, LOST, ENOUGH = 5.0, 2.0, 3.0, 20  # of (3)
OUTER, STRICT = (0.1, 0.9), 0.5  # of (4)


class Means(Message, tells=MEAN):
    """The mean of every column, (1)."""

    values: F64


class Variances(Message, tells=VARIANCE):
    """The variance of every column, (2)."""

    values: F64


class Moments(Result):
    """Mean and variance of each column; `units` is by what factor a holder's own values are larger, (3)."""

    present: F64
    mean: F64
    var: F64
    units: At[F64]


@choreography(
    opens={
        Everyone: (
            PRESENT,
            Fact(
                "columns.moments",
                "holders",
                "aggregate",
                "column",
                "mean and variance of each column that has min_count values",
            ),
        )
    }
)
def column_moments(
    run: Run,
    data: At[Cells],
    *,
    names: Names,
    fewest: Fewest,
    protected: Protected,
    by: Protection | None = None,
) -> Moments:
    """Publish (1) and (2); each holder learns for itself which of its columns (3) is true of."""
    values = run.local(Holder, own_values, data, names, fewest.min_rows, run.who(Holder))
    by = by or protected.protect(run, to=Coordinator)
    present = present_counts(run, values, names=names, by=by, min_count=fewest.min_count)
    mean = joint_means(run, values, present, by=by)
    variance = joint_variances(run, values, present, mean, by=by)
    units = run.local(Holder, other_units, values, present, mean, variance)
    return Moments(present=present, mean=mean, var=variance, units=units)


@choreography(opens={Everyone: MEAN})
def joint_means(run: Run, values: At[F64], present: F64, *, by: Protection) -> F64:
    """Return the means (1) of columns that have enough values."""
    sums = run.local(Holder, sum_values, values, run.who(Holder))
    total = secure_sum(run, sums, to=Coordinator, by=by, what="column sums", ring=Z256)
    return run.publish(Means, run.local(Coordinator, means, total, present)).values


@choreography(opens={Everyone: VARIANCE})
def joint_variances(run: Run, values: At[F64], present: F64, mean: F64, *, by: Protection) -> F64:
    """Return the variances (2), once the means are known."""
    squares = run.local(Holder, sum_squares, values, mean, run.who(Holder))
    total = secure_sum(run, squares, to=Coordinator, by=by, what="squared differences", ring=Z256)
    return run.publish(Variances, run.local(Coordinator, variances, total, present)).values


# Steps at the holders


def sum_values(values: F64, me: str) -> U64:
    """Return this holder's part of (1)."""
    return encode(add_up(values, sum_present), f"column sums of {me}")


def sum_squares(values: F64, mean: F64, me: str) -> U64:
    """Return this holder's part of (2)."""
    squares = add_up(values, lambda block: sum_present(each(block - mean, np.square)))
    return encode(squares, f"squared differences of {me}")


def sum_present(values: F64) -> F64:
    """Return the sum of the values that each column has; sparse rows have all."""
    found: F64 = values.sum(axis=0) if is_sparse(values) else np.nansum(values, axis=0)
    return found


def add_up(values: F64, of: Callable[[F64], Array]) -> F64:
    """Return the sum over all rows of what is computed of blocks of them, column by column."""
    return sum((of(block) for _, block in blocks(values, ROWS)), np.zeros(values.shape[1]))


def other_units(values: F64, present: F64, mean: F64, variance: F64) -> F64:
    """Return by what factor a column is larger here than at the others, (3), (4); 1 where nothing is wrong."""
    n = add_up(values, lambda block: mark_present(block).sum(axis=0))
    sums = add_up(values, sum_present)
    squares = add_up(values, lambda block: sum_present(each(block, np.square)))
    own = _mean_and_spread(n, sums, squares)
    rest = _mean_and_spread(present - n, present * mean - sums, present * (variance + mean**2) - squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost, lost_there = own[0] < own[1] / LOST, rest[0] < rest[1] / LOST
        s = own[1] / rest[1]
        m = np.where(lost, s, own[0] / rest[0])
        apart = (np.minimum(m, s) >= FACTOR) | (np.maximum(m, s) <= 1 / FACTOR)
        alike = (np.maximum(m / s, s / m) <= ALIKE) & (lost == lost_there)
        found = apart & alike & (np.minimum(n, present - n) >= ENOUGH)
        Q = np.zeros(values.shape[1])
        for j in np.flatnonzero(found):  # one column is in memory at a time
            column = values[:, j : j + 1]
            column = column.toarray() if is_sparse(column) else column.copy()
            Q[j] = (quantile_of(column, OUTER[1]) - quantile_of(column, OUTER[0]))[0]
            release(values)
        found &= own[1] <= Q * np.where(lost, STRICT, 1.0)  # (4)
    return np.where(found, m, 1.0)


def quantile_of(values: F64, p: float) -> F64:
    """Return a quantile of the present values of each column; 0 for a column without any."""
    some = np.where(np.isnan(values).all(axis=0), 0.0, values)
    found: F64 = np.nanquantile(some, p, axis=0) if len(some) else np.zeros(values.shape[1])
    return found


def _mean_and_spread(n: F64, sums: F64, squares: F64) -> tuple[F64, F64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / n
        return np.abs(mean), np.sqrt(np.maximum(squares / n - mean**2, 0.0))


# Steps at the coordinator


def means(total: U64, present: F64) -> Means:
    """Return the means (1) from the sums."""
    return Means(decode(total) / present)


def variances(total: U64, present: F64) -> Variances:
    """Return the variances (2) from the sums."""
    return Variances(decode(total) / present)


COLUMN_MOMENTS = Declaration(column_moments, parameters=(*OF_COLUMNS, BINS), streams={}, sparse={})
