"""What studies of attacks are made of: points, and how far to step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64

ERROR = "relative error"


@dataclass(frozen=True)
class Point:
    """What came out: under which variant of the method, with so much known."""

    variant: str
    knows: float
    found: float


Points = Iterator[Point]


def steps(top: int) -> list[int]:
    """Return how much is known in a study: from nothing to enough, and one short of that."""
    return sorted({0, top // 4, top // 2, 3 * top // 4, top - 1, top})


def scale(X: F64, top: int) -> I64:
    """Return the values as whole numbers of up to that size."""
    return np.asarray(np.rint(X / np.abs(X).max() * top), np.int64)
