"""How columns are brought to one scale when nobody may see a single record: by noisy sums of integers.

Without declared ranges a histogram of magnitudes says how large the values of a column are:

    c_je = U times the number of records with 2^(e-1) <= |x_j| < 2^e     one record: U in one bin per column       (1)
    bound of column j = 2^e of the three bins in a row that hold most                                              (2)

Then, with u = round(U (x - middle) / half) clipped to +-U, the sums of u and of u^2 give centre and width:

    sum of U u_j and of u_j^2                            one record: a squared length of 2 d U^4 at most           (3)

A column whose width is lost in the noise gets the width of the noise, so that it is not blown up. What is computed of a
record depends on that record alone; a record with a value that is not finite is blank, and adds zero to every sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Flags

R = 4096


def shorten(rows: F64, most: int) -> F64:
    """Return rows of whole numbers with lengths of `most` at most: longer ones point in the same direction."""
    squares = np.einsum("ij,ij->i", rows, rows)  # exact: whole numbers below 2^53
    factor = np.minimum(1.0, most / np.sqrt(np.maximum(squares, 1.0)))
    short: F64 = np.trunc(rows * factor[:, None])
    over = np.einsum("ij,ij->i", short, short) > most * most  # by the rounding of the factor
    short[over] = np.trunc(short[over] * (1 - 2.0**-20))
    return short


U = 256  # the grid of a scaled value
LOWEST, HIGHEST = -16, 24  # exponents of magnitudes; smaller and larger ones count as these
WINDOW = 3  # bins in a row
SEEN = 2.5  # standard deviations, above which a window is not noise
USUAL = 1  # the exponent of a column whose magnitudes are lost in the noise
FARTHEST = 4.0  # widths from the centre, where values are clipped


@dataclass(frozen=True)
class Bounds:
    """Between which numbers the values of each column are, as middle and half; what lies outside is clipped."""

    middle: F64
    half: F64


def mark_finite(X: F64) -> Flags:
    """Return which records have finite values only; the others are blank."""
    return np.asarray(np.isfinite(X).all(axis=1))


def count_magnitudes(X: F64) -> I64:
    """Return the histogram (1), a row per column; a zero has no magnitude."""
    columns, bins = X.shape[1], HIGHEST - LOWEST + 1
    place = np.clip(np.frexp(X)[1], LOWEST, HIGHEST) - LOWEST + bins * np.arange(columns)
    return U * np.bincount(place[X != 0], minlength=columns * bins).reshape(columns, bins)


def magnitude_sensitivity(columns: int) -> int:
    """Return by which squared length one record changes (1) at most."""
    return columns * U**2


def choose_bounds(counts: F64, deviation: float) -> Bounds:
    """Return the bounds (2) of every column; `deviation` is that of the noise in a bin."""
    past = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)
    windows = past[:, WINDOW:] - past[:, :-WINDOW]
    chosen = windows.argmax(axis=1) + LOWEST + WINDOW - 1
    exponents = np.where(windows.max(axis=1) > SEEN * np.sqrt(WINDOW) * deviation, chosen, USUAL)
    return Bounds(np.zeros(len(counts)), np.ldexp(1.0, exponents))


def bounds_of(ranges: F64) -> Bounds:
    """Return the bounds that were declared, a row of two numbers per column."""
    low, high = ranges[:, 0], ranges[:, 1]
    return Bounds((low + high) / 2, np.where(high > low, (high - low) / 2, 1.0))


def grid_of(X: F64, bounds: Bounds) -> F64:
    """Return u of every value: a whole number from -U to U."""
    inside = np.clip(X, bounds.middle - bounds.half, bounds.middle + bounds.half)
    return np.rint(np.clip((inside - bounds.middle) / bounds.half, -1.0, 1.0) * U)
