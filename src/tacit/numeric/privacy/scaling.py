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

U = 256  # the grid of a scaled value
LOWEST, HIGHEST = -16, 24  # exponents of magnitudes; smaller and larger ones count as these
WINDOW = 3  # bins in a row
SEEN = 2.5  # standard deviations, above which a window is not noise
USUAL = 1  # the exponent of a column whose magnitudes are lost in the noise
NARROWEST = 1e-4  # the square of the least width
FARTHEST = 4.0  # widths from the centre, where values are clipped


@dataclass(frozen=True)
class Bounds:
    """Between which numbers the values of each column are, as middle and half; what lies outside is clipped."""

    middle: F64
    half: F64


@dataclass(frozen=True)
class Scale:
    """What every value becomes: (u / U - centre) / width, of u within the bounds."""

    bounds: Bounds
    centre: F64
    width: F64


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


def sum_moments(X: F64, bounds: Bounds) -> I64:
    """Return the sums (3), those of U u before those of u^2."""
    u = grid_of(X, bounds).astype(np.int64)
    return np.concatenate([U * u.sum(axis=0), (u * u).sum(axis=0)])


def moment_sensitivity(columns: int) -> int:
    """Return by which squared length one record changes (3) at most."""
    return 2 * columns * U**4


def choose_scale(sums: F64, rows: int, deviation: float, bounds: Bounds) -> Scale:
    """Return centre and width of every column, from (3) with noise of this standard deviation.

    Centres are drawn towards each other as far as their spread is noise.
    """
    columns = len(sums) // 2
    mean, square = sums[:columns] / (rows * U**2), sums[columns:] / (rows * U**2)
    noise = deviation / (rows * U**2)
    spread = max(0.0, float(mean.var()) - noise**2)
    kept = spread / (spread + noise**2) if spread else 0.0
    centre = np.clip(mean.mean() + kept * (mean - mean.mean()), -1.0, 1.0)
    width = np.sqrt(np.maximum(square - centre**2, noise + NARROWEST))
    return Scale(bounds, centre, width)


def scale_records(X: F64, scale: Scale) -> F64:
    """Return the scaled values of records; those of a blank one are zeros."""
    finite = mark_finite(X)
    u = grid_of(np.where(finite[:, None], X, 0.0), scale.bounds)
    return np.clip((u / U - scale.centre) / scale.width, -FARTHEST, FARTHEST) * finite[:, None]
