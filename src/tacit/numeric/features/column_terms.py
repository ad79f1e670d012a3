"""Terms of a rounded mean, scale and quantile of every column, at public thresholds, for one party's values.

With c and s a coarse centre and scale (`column_digits`), taken to a multiple of s / 16 and a power of the square root
of two, and u = (x - c) / s, cut to |u| <= R = sqrt(n / k):

    the mean reaches   c + t s            if  sum_i u_i - t n >= 0,              t = -31/16 .. 31/16                (1)
    the scale reaches  S = s 2^(j/2)      if  sum_i min(((x_i - mean) / S)^2, n / k) - n >= 0,     j = -3 .. 1      (2)
    quantile q         is below t         if  |{x < t}| - q n >= 0,              t = c + s i / 16,  |i| <= 256      (3)

n counts the values that are present, at all parties. k is of how many records everything is, at least: fewer than k
lie beyond R. So figures are rounded to numbers that do not depend on how many records there are: a scale to a power of
the square root of two, a mean and a quantile to a sixteenth of such a number. Values of (1) have 10 bits after the
point, so that all sums are whole numbers, and of two thresholds the smaller one is reached first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import F64, I64
from tacit.numeric.features.column_digits import UNIT, Crowd, count_below, sum_within

BITS, PARTS = 10, 16  # after the point of u; of a scale
MEANS = np.arange(-2 * PARTS + 1, 2 * PARTS) << (BITS - 4)  # t of (1)
BESIDE = np.arange(-3, 2)  # j of (2)
CELLS = 32 * PARTS  # of (3)
DIGITS = (16, 32)  # by which a cell is found
WHOLE = 10_000  # a quantile of 1

Columns = Sequence[F64]


def terms_of_means(columns: Columns, centre: F64, scale: F64, reach: float) -> I64:
    """Return (1) for every t, a line for each column."""
    most = reach * (1 << BITS)
    found = np.zeros((len(columns), MEANS.size), dtype=np.int64)
    for j, (x, c, s) in enumerate(zip(columns, centre, scale, strict=True)):
        u = np.rint(np.clip((x - c) * ((1 << BITS) / s), -most, most))
        found[j] = int(u.sum()) - MEANS * x.size
    return found


def means_of(times: I64, centre: F64, scale: F64) -> F64:
    """Return the means, in the middle of their steps, from how many t each of them reaches."""
    return centre + scale * (times - 2 * PARTS + 0.5) / PARTS


def terms_of_scales(columns: Columns, centre: F64, scale: F64, crowd: Crowd) -> I64:
    """Return (2) for every j, in units of k records, a line for each column."""
    widths = scale[:, None] * np.exp2(BESIDE / 2.0) / crowd.share
    found = [
        sum_within(x, c, B, crowd) - round(UNIT * crowd.least * x.size / crowd.rows)
        for x, c, B in zip(columns, centre, widths, strict=True)
    ]
    return np.array(found, dtype=np.int64).reshape(len(columns), BESIDE.size)


def scales_between(times: I64, scale: F64) -> F64:
    """Return the scales, in the middle of their steps, from how many S each of them reaches."""
    found: F64 = scale * np.exp2((BESIDE[0] + times - 0.5) / 2.0)
    return found


def round_scale(scale: F64) -> F64:
    """Return scales as powers of the square root of two."""
    found: F64 = np.exp2(np.rint(2.0 * np.log2(scale)) / 2.0)
    return found


def round_centre(centre: F64, scale: F64) -> F64:
    """Return centres as multiples of a sixteenth of their scales."""
    step = scale / PARTS
    found: F64 = np.rint(centre / step) * step
    return found


def terms_of_quantiles(columns: Columns, quantiles: I64, thresholds: F64) -> I64:
    """Return (3) for thresholds, a table of quantiles and thresholds for each column."""
    found = np.zeros(thresholds.shape, dtype=np.int64)
    for j, (x, edges) in enumerate(zip(columns, thresholds, strict=True)):
        for i, (q, t) in enumerate(zip(quantiles.tolist(), edges, strict=True)):
            found[j, i] = WHOLE * count_below(x, t) - q * x.size
    return found


def edges_of(cells: I64, centre: F64, scale: F64) -> F64:
    """Return where cells of (3) begin; `cells` has a line for each column, or a table."""
    shape = (-1,) + (1,) * (cells.ndim - 1)
    return centre.reshape(shape) + scale.reshape(shape) * (cells - CELLS // 2) / PARTS


def quantiles_of(cells: I64, centre: F64, scale: F64) -> F64:
    """Return the quantiles, in the middle of their cells."""
    return edges_of(cells, centre, scale) + scale[:, None] * (0.5 / PARTS)


def choose_quantiles(percents: Sequence[int], crowd: Crowd) -> I64:
    """Return quantiles as whole numbers, none nearer to an end than k records of all rows."""
    room = min(crowd.least / max(crowd.rows, 1), 0.5)
    return np.rint(np.clip(np.array(percents) / 100.0, room, 1.0 - room) * WHOLE).astype(np.int64)


def points_of_counts(crowd: Crowd, least: int) -> I64:
    """Return the public numbers between which a count of all rows is told: where a share is rounded as a mean is.

    n sin^2(i / 32) is a share to 1/16 of the deviation of a column that is 1 for it and 0 for the others. A count below
    the first, or from the last on, is that of fewer than k records, or of all but fewer than k.
    """
    n = crowd.rows
    if n < 2 * least:
        return np.empty(0, dtype=np.int64)
    shares = np.square(np.sin(np.arange(1, round(np.pi * PARTS) + 1) / (2 * PARTS)))
    return np.unique(np.clip(np.ceil(n * shares).astype(np.int64), least, n - least + 1))
