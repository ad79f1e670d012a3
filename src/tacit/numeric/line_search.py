"""All hinge losses along a line at once.

Between two models the margin of a row is m_i(k) = m_i + k (a_i - m_i), so on the grid of steps k it is below 1 on one
side of k_i = (1 - m_i) / (a_i - m_i). Counting rows by where k_i falls gives, at every step of the grid,

    n(k) = #{i: m_i(k) < 1},      R(k) = sum_i s_i max(0, 1 - m_i(k))                      (1)

in time n log(grid), not n times grid. The ratio of neighbouring steps is 2^(1/3): refining it would cost a further sum
in every round to save hardly any.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.numeric.kernels import F64

STEPS: F64 = np.concatenate([[0.0], 2.0 ** (np.arange(-30, 1) / 3), [1.25, 1.5, 2.0, 3.0]])
CUTS: NDArray[np.intp] = np.flatnonzero(STEPS >= 1 / 16)[::2]  # the steps at which a cut may be taken
BEYOND = 0.1  # how far beyond the best step towards the new model a cut is taken (Franc and Sonnenburg's mu)


def along(margin: F64, ahead: F64, weight: F64, steps: F64 = STEPS) -> tuple[F64, F64]:
    """n(k) and R(k) of (1) at every step, for one line or many: the last axis is over the rows."""
    slope = ahead - margin
    still = slope == 0.0
    crossing = np.where(still, np.where(margin < 1.0, np.inf, -np.inf), (1.0 - margin) / np.where(still, 1.0, slope))
    rising = slope >= 0.0  # violates before its crossing, the others after it
    at = np.where(rising, np.searchsorted(steps, crossing), np.searchsorted(steps, crossing, side="right"))
    count = _until(at, rising, np.ones(margin.shape), len(steps))
    level = _until(at, rising, weight * (1.0 - margin), len(steps))
    tilt = _until(at, rising, weight * slope, len(steps))
    return count, np.maximum(level - steps * tilt, 0.0)


def _until(at: NDArray[np.intp], rising: NDArray[np.bool_], values: F64, steps: int) -> F64:
    """Sum of values over the rows that violate at each step."""
    lines = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    bins = at.reshape(lines.shape) + np.arange(len(lines))[:, None] * (steps + 1)
    change = np.bincount(bins.ravel(), np.where(rising, -values, values).ravel(), minlength=len(lines) * (steps + 1)).astype(np.float64)
    change = change.reshape(-1, steps + 1)
    change[:, 0] += [line[up].sum() for line, up in zip(lines, rising.reshape(lines.shape), strict=True)]
    summed: F64 = np.cumsum(change, axis=1)[:, :steps]
    return summed.reshape(*values.shape[:-1], steps)


def violating(margin: F64, ahead: F64, step: float | F64) -> NDArray[np.bool_]:
    """Which rows are within the margin at this step, or at each of these steps."""
    return margin + step * (ahead - margin) < 1.0


def best_steps(objective: F64) -> tuple[int, NDArray[np.intp]]:
    """Of the objective on the grid: where it is least, and the steps for a cut, most wanted first."""
    best = int(np.argmin(objective))
    wanted = STEPS[best] + BEYOND * (1.0 - STEPS[best])
    return best, CUTS[np.argsort(np.abs(STEPS[CUTS] - wanted), kind="stable")]
