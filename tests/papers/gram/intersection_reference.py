"""Gram matrices of binary records by a plain product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.choreo import At, Coordinator, Run
from tacit.federation import Federation
from tacit.papers.gram.intersection import gram_intersection


def binary(partition: str, parties: Sequence[str]) -> Federation:
    X = (np.random.default_rng(6).random((12, 7)) < 0.4).astype(float)
    return Federation.simulate(X, parties=parties, partition=partition, seed=2)  # type: ignore[arg-type]


def play_intersection(run: Run, data: At[Any], *, partition: str) -> Any:
    return gram_intersection(run, data, partition=partition)


def check_intersection(result: Any, parts: dict[str, Any], *, partition: str) -> None:
    tables = [part.X for part in parts.values()]
    by_rows = partition == "horizontal"
    whole = np.vstack(tables) if by_rows else np.hstack(tables) if partition == "vertical" else np.sum(tables, axis=0)
    np.testing.assert_array_equal(result[Coordinator.name], whole @ whole.T)
