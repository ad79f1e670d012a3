"""The smallest and the largest value of every column over rows that many hold, without saying whose they are.

The problem. Doubles, written as 64-bit keys whose order is theirs, are searched byte by byte from the front. K_kj is
the largest key of column j at holder k, and of -x for the smallest; p the bytes found so far. For every next byte c =
1, ..., 255

    b_kc = 1 if K_kj begins with p and goes on with c or more, else 0                                              (1)
    the next byte is the number of c that anybody has marked, by `secure_or`                                       (2)

Marks are of all c up to the next byte, which is published, so they tell nothing else: not how many holders or records
come near.

Roles. Holder: rows. Coordinator: opens the marks, publishes (2).
Threat. Semi-honest; coalitions as `secure_or`. Not protected: the extremes themselves, each of which is a value of
somebody's record; of two holders, the one whose own is less extreme knows whose. The holder of an extreme, together
with the coordinator, takes its own marks off and sees the others' extreme up to the first byte in which it differs.
Declared ranges open nothing.
Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import Declaration
from tacit.protocols.column_parameters import BINS, OF_COLUMNS
from tacit.protocols.columns.counts import PRESENT, Cells, Fewest, Names, own_values, present_counts
from tacit.protocols.columns.moments import FACTOR, OUTER, quantile_of
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_or import Marks, secure_or
from tacit.protocols.sums.secure_sum import Protection

BYTES, BASE = 8, 256
NEAR = 3.0  # times the ninetieth percentile: how far extremes are from most values at the most, to be compared
SIGN = np.uint64(1 << 63)


class NextByte(
    Message,
    tells=Fact(
        "columns.extreme_byte",
        "holders",
        "record",
        "cell",
        "one more byte of the smallest and the largest value of every column over all parties",
    ),
):
    """The next byte of every extreme, (2)."""

    digits: I64


class Extremes(Result):
    """The extremes of each column; `small` is how far a holder's own stay below them."""

    present: F64
    min: F64
    max: F64
    small: At[F64]


@choreography(
    opens={
        Everyone: (
            PRESENT,
            Fact(
                "columns.extremes",
                "holders",
                "record",
                "cell",
                "the smallest and the largest value of each column that has min_count values",
            ),
        )
    }
)
def column_extremes(
    run: Run,
    data: At[Cells],
    *,
    names: Names,
    fewest: Fewest,
    protected: Protected,
    by: Protection | None = None,
) -> Extremes:
    """Publish the extremes; each holder learns for itself whether its own are far smaller."""
    values = run.local(Holder, own_values, data, names, fewest.min_rows, run.who(Holder))
    by = by or protected.protect(run, to=Coordinator)
    present = present_counts(run, values, names=names, by=by, min_count=fewest.min_count)
    found = largest_keys(run, run.local(Holder, own_keys, values), count=2 * len(names), by=by)
    low, high = -numbers_of(found[: len(names)]), numbers_of(found[len(names) :])
    small = run.local(Holder, compare_extremes, values, low, high)
    return Extremes(present=present, min=low, max=high, small=small)


@choreography(
    opens={
        Everyone: Fact(
            "columns.largest_keys", "holders", "record", "cell", "the largest of all parties' keys, for each of several"
        )
    }
)
def largest_keys(run: Run, keys: At[U64], *, count: int, by: Protection) -> U64:
    """Return the largest of all parties' keys, found byte by byte."""
    s = run.carry(found=np.zeros(count, dtype=np.uint64))
    for t in run.rounds(BYTES, s):
        marks = secure_or(run, run.local(Holder, mark_reached, keys, s.found, t), to=Coordinator, by=by)
        digits = run.publish(NextByte, run.local(Coordinator, next_byte, marks)).digits
        s.found = s.found | (digits.astype(np.uint64) << _shift(t))
    found: U64 = s.found
    return found


def keys_of(x: F64) -> U64:
    """Return words in the order of the numbers.

    A negative number has all its bits turned, any other its sign.
    """
    words = (x + 0.0).view(np.uint64)  # + 0.0: there is one zero
    return np.where(words & SIGN, ~words, words | SIGN)


def numbers_of(keys: U64) -> F64:
    """Return the numbers of such words."""
    return np.where(keys & SIGN, keys & ~SIGN, ~keys).astype(np.uint64).view(np.float64)


def _shift(t: int) -> np.uint64:
    return np.uint64(8 * (BYTES - 1 - t))


# Steps at the holders


def own_keys(values: F64) -> U64:
    """Return the largest key of -x and of x; 0, which is no number's, where there is no value."""
    held = ~np.isnan(values).all(axis=0)
    both = np.concatenate([-values, values], axis=1)
    most = np.fmax.reduce(both, axis=0, initial=-np.inf)
    return np.where(np.tile(held, 2), keys_of(most), np.uint64(0))


def mark_reached(keys: U64, found: U64, t: int) -> Marks:
    """Return the marks (1) of this holder for the next byte."""
    same = np.ones(len(keys), bool) if t == 0 else keys >> _shift(t - 1) == found >> _shift(t - 1)
    digit = np.where(same, (keys >> _shift(t)) & np.uint64(BASE - 1), 0)
    return digit[:, None] >= np.arange(1, BASE, dtype=np.uint64)


def compare_extremes(values: F64, low: F64, high: F64) -> F64:
    """Return by what factor each column stays below the joint extremes here; 1 where it is not much.

    A small factor hints at another unit, unless the holder's own extremes are far from most of its values: then others'
    may be as far from theirs by chance.
    """
    most, joint = np.fmax.reduce(np.abs(values), axis=0, initial=0.0), np.maximum(np.abs(low), np.abs(high))
    even = most <= NEAR * quantile_of(np.abs(values), OUTER[1])
    with np.errstate(invalid="ignore"):
        ratio = np.where(joint > 0, most / joint, 1.0)
    return np.where((ratio <= 1 / FACTOR) & (ratio > 0) & even, ratio, 1.0)


# Steps at the coordinator


def next_byte(marks: Marks) -> NextByte:
    """Return the next byte of every key, (2)."""
    return NextByte(marks.sum(axis=1).astype(np.int64))


COLUMN_EXTREMES = Declaration(column_extremes, parameters=(*OF_COLUMNS, BINS))
