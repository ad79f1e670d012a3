"""What is told of scores and errors that were counted with noise, and what each holder brings along for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import State
from tacit.choreo.declaration import Settings
from tacit.numeric.scores.metrics import merge_bins, stretch


@dataclass(frozen=True, kw_only=True)
class Counting(Settings):
    """How many classes there are, and in how many bins scores are counted."""

    n_classes: int
    bins: int = 16


class ScoreCurve(State):
    """The histogram (2) of a column, from the lowest scores up, cut at these decision values; bounds of the areas."""

    cuts: F64
    positives: I64
    negatives: I64
    roc_auc: F64
    average_precision: F64


class Tally(State):
    """All that is published of scores."""

    confusion: I64
    curves: tuple[ScoreCurve, ...]


class Scored(State):
    """What a holder brings along.

    For each record its class, the class chosen, and decision values.
    """

    values: F64
    codes: I64
    chosen: I64


class ErrorTally(State):
    """All that is published of errors: n, their means, and a histogram from the lowest up, cut at these errors."""

    records: int
    means: F64
    cuts: F64
    counts: I64


class Answered(State):
    """What a holder brings along: for each record its target and the model's answer."""

    targets: F64
    answers: F64


def curve(P: F64, N: F64, area: F64, bins: int) -> ScoreCurve:
    """Return the histogram of a column, in bins that hold a record."""
    ends = merge_bins(P, N, 1)
    starts = np.concatenate([[0], ends[:-1]])
    positives, negatives = (np.add.reduceat(side, starts).astype(np.int64) for side in (P, N))
    return ScoreCurve(stretch(ends[:-1] / bins), positives, negatives, area[0].copy(), area[1].copy())
