"""Landmarks from the pooled rows, without parties, sums or fixed point: what the protocols must come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tacit.numeric.landmarks import centres, centres_of_cells
from tacit.protocols.landmarks import how_many


def rows_of(names: Iterable[str], d: int = 4) -> dict[str, Any]:
    """Rows around a few places, more at each next holder; the last of three or more has none."""
    rng, names = np.random.default_rng(5), tuple(names)
    places = rng.normal(scale=4, size=(6, d))
    parts = {p: places[rng.integers(0, 6, 40 + 9 * i)] + rng.normal(size=(40 + 9 * i, d)) for i, p in enumerate(names)}
    return {p: X[:0] if p == names[-1] and len(names) > 2 else X for p, X in parts.items()}


def in_order(table: Any) -> Any:
    return table[np.lexsort(np.round(table, 6).T[::-1])]


def local_oracle(parts: Mapping[str, Any], *, share: float | None, count: int | None, min_cluster: int) -> Any:
    """The union of what each holder finds for itself."""
    rows = sum(map(len, parts.values()))
    found = [centres(X, how_many(share, count, len(X), rows, min_cluster), min_cluster, 0)[0] for X in parts.values()]
    return in_order(np.concatenate(found))


def joint_oracle(X: Any, size: int, min_cluster: int, rounds: int = 15) -> Any:
    """Cells as lists of rows, cut one by one."""
    means, sizes = joint_cells(X, size, min_cluster, rounds)
    return centres_of_cells(means, sizes, size, 0)


def joint_cells(X: Any, size: int, min_cluster: int, rounds: int = 15) -> tuple[Any, Any]:
    cells: list[Any] = [np.arange(len(X))]
    tried: list[set[int]] = [set()]
    for _ in range(rounds):
        spread = [np.square(X[c] - X[c].mean(axis=0)).sum(axis=0) for c in cells]
        may = [i for i, c in enumerate(cells) if len(c) >= 2 * min_cluster and len(tried[i]) < 3]
        widest = sorted(may, key=lambda i: -spread[i].sum())[: 4 * size - len(cells)]
        for i in sorted(widest):
            column = max((j for j in range(X.shape[1]) if j not in tried[i]), key=lambda j: spread[i][j])
            upper = X[cells[i], column] > X[cells[i], column].mean()
            if min_cluster <= upper.sum() <= len(upper) - min_cluster:
                cells.append(cells[i][upper])
                cells[i] = cells[i][~upper]
                tried.append(set())
                tried[i] = set()
            else:
                tried[i].add(column)
    return np.array([X[c].mean(axis=0) for c in cells]), np.array([len(c) for c in cells])
