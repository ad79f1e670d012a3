"""Landmark exposure: a cluster of one record has that record as its centre, and landmarks are public.

    for every landmark: how far the nearest record is;      0 is a record laid open

The paper counts on k-means to mask the records.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.learners import Point, Points
from tacit.papers.pan.attacks.coordinator import PARTIES
from tacit.papers.pan.ground import NumberedRecords
from tacit.papers.pan.kmeans import find_nearest
from tacit.papers.pan.landmarks import own_centres

NEAR = 1e-6  # of the records' spread; more than the rounding of fixed point
SHARES = (0.05, 0.15, 0.25, 0.5)
NONE: I64 = np.empty(0, dtype=np.int64)


def measure_exposure(landmarks: F64, truth: F64) -> float:
    """Return the share of the landmarks that are records."""
    middle = truth.mean(axis=0)
    spread = float(np.sqrt(np.square(truth - middle).sum(axis=1).mean())) or 1.0
    nearest = truth[find_nearest(landmarks - middle, truth - middle)]
    return float(np.mean(np.linalg.norm(landmarks - nearest, axis=1) <= NEAR * spread))


def study(X: F64, _: I64) -> Points:
    """Yield the share of landmarks that are records, by how many landmarks there are."""
    for share in SHARES:
        held = [own_centres(NumberedRecords(X[i::PARTIES], NONE, np.empty(0)), share) for i in range(PARTIES)]
        yield Point("each party's own k-means", share, measure_exposure(np.concatenate(held), X))
