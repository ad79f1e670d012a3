"""Mean and variance of every column over rows that many hold, some of whose values may be missing.

The problem. P_kj are the present values of column j at holder k, n_j how many there are over all holders (`column_counts`).

    mean_j = sum_k sum_{x in P_kj} x / n_j                                                                         (1)
    var_j = sum_k sum_{x in P_kj} (x - mean_j)^2 / n_j                                                             (2)

in two sums, (2) after (1) is published, since sums of squares around zero lose their digits. Units are not known, so the sums
are of wide numbers (`numeric.wide`), which fit whatever they are.

Whether its units are the others' own a holder finds out alone: it subtracts its part from n, (1) and (2) and compares the size of its
mean m and its deviation s with those of the rest. Another unit multiplies both by the same factor:

    m / m', s / s' both >= 5 or both <= 1/5, and within a factor of 2 of each other                                (3)

Where a mean is lost in the spread, |m| < s / 3, on both sides, there is s alone to go by; where it is on one side only, the column is
rarer or centred there, and nothing is said. A factor of ten is found as long as the records are alike within a factor of two and there
are 20 on both sides. Nothing is sent for it.

Roles. Holder: rows. Coordinator: opens the sums, publishes (1) and (2).
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: M - 1 holders together have the last one's count, mean and variance;
of two, each has the other's.
Source: ours; two passes as in Chan, Golub and LeVeque, The American Statistician 37, 1983.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, U64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.numeric.wide import Z256, decode, encode
from tacit.protocols.column_counts import Names, own_values, present_counts
from tacit.protocols.secure_sum import Protection, protect, secure_sum

FACTOR, ALIKE, LOST, ENOUGH = 5.0, 2.0, 3.0, 20  # of (3)


class Means(Message, tells="the mean of every column over all parties"):
    """(1)."""

    values: F64


class Variances(Message, tells="the variance of every column over all parties"):
    """(2)."""

    values: F64


@choreography(
    opens={
        Everyone: "how many values of each column are present over all parties, and their mean and variance, where min_count are present"
    }
)
def column_moments(
    run: Run, data: At[Any], *, names: Names, min_count: int = 5, min_rows: int = 5, by: Protection | None = None,
    method: str = "pairwise", segments: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Everyone learns (1) and (2); each holder for itself which of its columns (3) is true of."""
    values = run.local(Holder, own_values, data, names, min_rows, run.who(Holder))
    by = by or protect(run, to=Coordinator, method=method, segments=segments)
    present = present_counts(run, values, names=names, by=by, min_count=min_count)
    mean = joint_means(run, values, present, by=by)
    variance = joint_variances(run, values, present, mean, by=by)
    return {"present": present, "mean": mean, "var": variance, "units": run.local(Holder, other_units, values, present, mean, variance)}


@choreography(opens={Everyone: "the mean of every column over all parties"})
def joint_means(run: Run, values: At[F64], present: F64, *, by: Protection) -> F64:
    """(1), of columns that have enough values."""
    total = secure_sum(run, run.local(Holder, summed, values, run.who(Holder)), to=Coordinator, by=by, what="column sums", ring=Z256)
    return run.publish(Means, run.local(Coordinator, means, total, present)).values


@choreography(opens={Everyone: "the variance of every column over all parties"})
def joint_variances(run: Run, values: At[F64], present: F64, mean: F64, *, by: Protection) -> F64:
    """(2), after (1)."""
    squares = run.local(Holder, squared, values, mean, run.who(Holder))
    total = secure_sum(run, squares, to=Coordinator, by=by, what="squared differences", ring=Z256)
    return run.publish(Variances, run.local(Coordinator, variances, total, present)).values


# Steps at the holders


def summed(values: F64, me: str) -> U64:
    """This holder's part of (1)."""
    return encode(np.nansum(values, axis=0), f"column sums of {me}")


def squared(values: F64, mean: F64, me: str) -> U64:
    """This holder's part of (2)."""
    return encode(np.nansum((values - mean) ** 2, axis=0), f"squared differences of {me}")


def other_units(values: F64, present: F64, mean: F64, variance: F64) -> F64:
    """(3): by which factor a column is larger here than at the others, 1 where nothing is wrong."""
    n, sums, squares = (~np.isnan(values)).sum(axis=0), np.nansum(values, axis=0), np.nansum(values**2, axis=0)
    own = _mean_and_spread(n, sums, squares)
    rest = _mean_and_spread(present - n, present * mean - sums, present * (variance + mean**2) - squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost, lost_there = own[0] < own[1] / LOST, rest[0] < rest[1] / LOST
        s = own[1] / rest[1]
        m = np.where(lost, s, own[0] / rest[0])
        apart = (np.minimum(m, s) >= FACTOR) | (np.maximum(m, s) <= 1 / FACTOR)
        found = apart & (np.maximum(m / s, s / m) <= ALIKE) & (lost == lost_there) & (np.minimum(n, present - n) >= ENOUGH)
    return np.where(found, m, 1.0)


def _mean_and_spread(n: F64, sums: F64, squares: F64) -> tuple[F64, F64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / n
        return np.abs(mean), np.sqrt(np.maximum(squares / n - mean**2, 0.0))


# Steps at the coordinator


def means(total: U64, present: F64) -> Means:
    """(1)."""
    return Means(decode(total) / present)


def variances(total: U64, present: F64) -> Variances:
    """(2)."""
    return Variances(decode(total) / present)
