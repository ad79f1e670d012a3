"""A small table of three columns, split by rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.federation.part import Part

N = 75


def labelled(classes: int) -> tuple[Any, Any]:
    """Records that a plane separates not quite."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(N, 3))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=N)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def split(parties: Sequence[str]) -> dict[str, Any]:
    """Unequal shares."""
    cuts = np.cumsum(np.arange(1, len(parties)) * N // (len(parties) * (len(parties) + 1) // 2))
    return dict(zip(parties, np.split(np.arange(N), cuts), strict=True))


def parts_at(parties: Sequence[str], classes: int) -> dict[str, Part]:
    """The parts of each party."""
    X, y = labelled(classes)
    return {p: Part(X[i], y[i], None, ("a", "b", "c"), None) for p, i in split(parties).items()}
