"""Landmark exposure: a cluster of one record has that record as its centre, and landmarks are public.

    for every landmark: the nearest record and how far it is;      0 is a record laid open

004 section 3.2 counts on k-means to mask the data. At 15 % landmarks up to a third of the clusters are of one record.
With min_cluster records in every cluster nothing lies at 0, unless as many records are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.numeric.features.landmarks import nearest


@dataclass(frozen=True)
class Exposure:
    """Of every landmark the nearest record and its distance, in units of the records' spread.

    The share that are records.
    """

    record: I64
    distance: F64
    share: float


def landmark_exposure(landmarks: F64, truth: F64, tolerance: float = 1e-6) -> Exposure:
    """Return which landmarks are records; `truth` only tells.

    The tolerance is more than the fixed point's rounding.
    """
    middle = truth.mean(axis=0)
    spread = float(np.sqrt(np.square(truth - middle).sum(axis=1).mean())) or 1.0
    record = nearest(landmarks - middle, truth - middle)
    distance = np.linalg.norm(landmarks - truth[record], axis=1) / spread
    return Exposure(record, distance, float(np.mean(distance <= tolerance)) if len(distance) else 0.0)
