"""Landmarks from the pooled rows, without parties, sums or fixed point: what the protocols must come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tacit.numeric.features.landmarks import centres_of_cells, clusters_of_groups


def rows_of(names: Iterable[str], d: int = 4) -> dict[str, Any]:
    """Rows around a few places, more at each next holder; the last of three or more has none."""
    rng, names = np.random.default_rng(5), tuple(names)
    places = rng.normal(scale=4, size=(6, d))
    parts = {p: places[rng.integers(0, 6, 40 + 9 * i)] + rng.normal(size=(40 + 9 * i, d)) for i, p in enumerate(names)}
    return {p: X[:0] if p == names[-1] and len(names) > 2 else X for p, X in parts.items()}


def kinds_of(X: Any) -> Any:
    """Two classes."""
    return (X[:, 0] > X[:, 1]).astype(np.int64)


def numbered(kind: Any, least: int) -> Any:
    """Groups of one kind, if these are at least so many rows; -1 elsewhere."""
    return np.where(np.bincount(kind)[kind] >= least, kind, -1)


def in_order(table: Any) -> Any:
    return table[np.lexsort(np.round(table, 6).T[::-1])]


def local_oracle(
    parts: Mapping[Any, Any], *, count: int, min_cluster: int, kinds: Mapping[Any, Any] | None = None, least: int = 1
) -> Any:
    """The union of what each holder finds for itself, over its groups.

    The rows of each kind, if these are at least so many.
    """
    X, at, groups = np.concatenate(list(parts.values())), 0, {}
    for name, own in parts.items():
        kind = np.zeros(len(own), int) if kinds is None else kinds[name]
        of_kinds = [list(np.flatnonzero(kind == k) + at) for k in np.unique(kind)]
        groups[name] = [each for each in of_kinds if len(each) >= least]
        at += len(own)
    cluster = local_clusters(X, groups, count, max(min_cluster, least), {name: len(own) for name, own in parts.items()})
    return in_order(
        np.array([X[[i for i in cluster if cluster[i] == c]].mean(axis=0) for c in sorted(set(cluster.values()))])
    )


def local_clusters(
    X: Any, groups: Mapping[Any, Any], count: int, least: int, rows: Mapping[Any, int]
) -> dict[int, int]:
    """The number of the landmark that each row is part of.

    Each holder has a share of them by its rows, of its groups or their pieces.
    """
    found: dict[int, int] = {}
    number = 0
    for name, own in groups.items():
        use = sorted(i for group in own for i in group)
        if len(use) < least:
            continue
        group = np.array([next(g for g, each in enumerate(own) if i in each) for i in use])
        wanted = max(1, int(count * rows[name] / sum(rows.values()) + 0.5))
        label = clusters_of_groups(X[use], group, wanted, least, 0)
        found.update({i: number + int(c) for i, c in zip(use, label, strict=True)})
        number += int(label.max()) + 1
    return found


def joint_oracle(X: Any, size: int, min_cluster: int, rounds: int = 15, group: Any = None, least: int = 1) -> Any:
    """Cells as lists of rows, cut one by one."""
    means, sizes = joint_cells(X, size, min_cluster, rounds, group, least)[:2]
    return centres_of_cells(means, sizes, size, 0)


def joint_cells(
    X: Any, size: int, min_cluster: int, rounds: int = 15, group: Any = None, least: int = 1
) -> tuple[Any, Any, Any]:
    """Means and sizes of the cells, and the groups after all cuts; groups below 0 are of rows that take no part."""
    group = np.arange(len(X)) if group is None else group.copy()
    cells: list[Any] = [np.flatnonzero(group >= 0)]
    tried: list[set[int]] = [set()]
    for _ in range(rounds):
        spread = [np.square(X[c] - X[c].mean(axis=0)).sum(axis=0) for c in cells]
        may = [i for i, c in enumerate(cells) if len(c) >= 2 * min_cluster and len(tried[i]) < 3]
        widest = sorted(may, key=lambda i: -spread[i].sum())[: 4 * size - len(cells)]
        for i in sorted(widest):
            column = max((j for j in range(X.shape[1]) if j not in tried[i]), key=lambda j: spread[i][j])
            upper = upper_side(X[cells[i], column] - X[cells[i], column].mean(), cells[i], group, least)
            if min_cluster <= upper.sum() <= len(upper) - min_cluster:
                cells.append(cells[i][upper])
                cells[i] = cells[i][~upper]
                tried.append(set())
                tried[i] = set()
            else:
                tried[i].add(column)
    return np.array([X[c].mean(axis=0) for c in cells]), np.array([len(c) for c in cells]), group


def upper_side(off: Any, cell: Any, group: Any, least: int) -> Any:
    """Which rows of a cell go up: groups as a whole, where their mean lies.

    One is split, there and then, if both pieces are large.
    """
    upper = np.zeros(len(cell), bool)
    for g in np.unique(group[cell]):
        own = group[cell] == g
        high = own & (off > 0)
        if high.sum() >= least and own.sum() - high.sum() >= least:
            upper |= high
            group[cell[high]] = group.max() + 1
        elif off[own].sum() > 0:
            upper |= own
    return upper
