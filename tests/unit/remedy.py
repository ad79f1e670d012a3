"""What the cases of remedies share: tables, federations, and what a case is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.federation import read

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
NAMES = list("abcd")
FRAME = pd.DataFrame(X, columns=NAMES)
TEXTS = FRAME.assign(sex=np.where(X[:, 3] > 0, "f", "m"))
GAPS = FRAME.mask(RNG.random(FRAME.shape) < 0.05)
THIRDS = [slice(0, 80), slice(80, 160), slice(160, 240)]
EXACT = {"min_count": 1, "accept_risk": True}


def by_rows(**how: Any) -> Any:
    return tacit.simulate(X, Y, parties=3, **how)


def by_columns(**how: Any) -> Any:
    return tacit.simulate(X, Y, parties=3, partition="vertical", **how)


def parts_of(frame: Any, **how: Any) -> Any:
    return tacit.from_parts([(frame[s], Y[s]) for s in THIRDS], partition="horizontal", **how)


def columns_of(*widths: int, **how: Any) -> Any:
    return tacit.from_parts(np.split(X, np.cumsum(widths)[:-1], axis=1), partition="vertical", **{"y": Y, **how})


@dataclass(frozen=True)
class Case:
    """What a user does wrong, the end of what is said, and what the user then does."""

    wrong: Callable[[], Any]
    says: str
    right: Callable[[], Any]


def write(file: str, frame: pd.DataFrame) -> Any:
    """Write a file and read it."""
    frame.to_csv(file, index=False)
    return read(file)
