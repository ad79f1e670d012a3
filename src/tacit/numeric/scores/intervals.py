"""Sampling intervals of figures: how far off they may be because other records might have been judged.

    share h / n     (h + z^2 / 2 + e z sqrt(h (n - h) / n + z^2 / 4)) / (n + z^2),    e = -1 and 1                   (1)
    area            A + e z sqrt(S_P / P + S_N / N),   on the scale of log(A / (1 - A))                             (2)

S_P is the variance over the records of the class of the share of others that score below them, S_N that over the others
of the share of the class above them; scores in one bin count as equal, which makes both a little smaller than they are.

Source: Wilson, JASA 22, 1927, for (1); DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988, for (2).
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import F64

Z = 1.959964  # of 95 %
LEVEL = "95 %"
Interval = tuple[float, float]
NONE: Interval = (math.nan, math.nan)


def interval_of_share(hits: float, records: float) -> Interval:
    """Return (1)."""
    if records <= 0 or not math.isfinite(hits):
        return NONE
    middle, square = hits + Z**2 / 2, hits * (records - hits) / records + Z**2 / 4
    half = Z * math.sqrt(square)
    low, high = ((middle + e * half) / (records + Z**2) for e in (-1.0, 1.0))
    return max(0.0, low), min(1.0, high)


def interval_of_area(P: F64, N: F64) -> Interval:
    """Return (2) of the area under the ROC curve, from counts of both sides by bin, the lowest scores first."""
    p, n = float(P.sum()), float(N.sum())
    if min(p, n) < 2:  # noqa: PLR2004 - a variance takes two
        return NONE
    below = (np.cumsum(N) - N / 2) / n
    above = (p - np.cumsum(P) + P / 2) / p
    A = float(P @ below) / p
    S_P = float(P @ np.square(below - A)) / (p - 1)
    S_N = float(N @ np.square(above - A)) / (n - 1)
    deviation = math.sqrt(S_P / p + S_N / n)
    inner = min(max(A, 0.5 / (p * n)), 1.0 - 0.5 / (p * n))
    middle, half = math.log(inner / (1.0 - inner)), Z * deviation / (inner * (1.0 - inner))
    low, high = (1.0 / (1.0 + math.exp(-min(max(middle + e * half, -700.0), 700.0))) for e in (-1.0, 1.0))
    return low, high
