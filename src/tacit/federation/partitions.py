"""Ways to split a table between parties, as index arrays.

A seed here is no secret: it only makes a simulation repeatable.
With fewer rows or columns than parties the surplus parties get an empty index.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import I64, Array
from tacit.choreo.declaration import wrong_value


def random_rows(n: int, parties: int, seed: int) -> list[I64]:
    """Shuffle rows and deal them in equal numbers."""
    return _deal(np.random.default_rng(seed).permutation(n), parties)


def dirichlet_rows(y: Array, parties: int, alpha: float, seed: int) -> list[I64]:
    """Deal each class in proportions drawn from Dirichlet(alpha): the smaller alpha, the less alike the parties.

    Every party gets a row as long as there are enough.
    """
    if not alpha > 0:
        raise wrong_value("alpha", "a Dirichlet split", "a float in the range (0.0, inf)", alpha)
    rng = np.random.default_rng(seed)
    owner = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        owner[rows] = _in_proportion(len(rows), rng.dirichlet(np.full(parties, alpha)))
    _fill_empty(owner, parties)
    return [np.flatnonzero(owner == k) for k in range(parties)]


def range_rows(values: Array, parties: int) -> list[I64]:
    """Deal rows by the value of one feature, lowest first, in equal numbers; equal values can meet at a border."""
    return _deal(np.argsort(values, kind="stable"), parties)


def column_rows(values: Array) -> dict[str, I64]:
    """Group rows by the value of a column such as `site`; the values, sorted, name the parties."""
    names = np.array([str(v) for v in values])
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}


def spread_columns(d: int, parties: int, seed: int | None) -> list[I64]:
    """Deal columns in equal numbers: shuffled by the seed, or neighbours together without one."""
    order = np.arange(d) if seed is None else np.random.default_rng(seed).permutation(d)
    return _deal(order, parties)


def cell_owners(n: int, d: int, parties: int, seed: int) -> I64:
    """Draw an owner for every cell: a matrix of party numbers."""
    return np.random.default_rng(seed).integers(parties, size=(n, d))


def _deal(order: I64, parties: int) -> list[I64]:
    """Return consecutive shares, each in the original order, so that a party's records keep theirs."""
    return [np.sort(share).astype(np.int64) for share in np.array_split(order, parties)]


def _in_proportion(count: int, shares: Array) -> I64:
    """Return `count` party numbers, about shares[k] of them k."""
    borders = np.rint(np.cumsum(shares)[:-1] * count)
    return np.searchsorted(borders, np.arange(count), side="right").astype(np.int64)


def _fill_empty(owner: I64, parties: int) -> None:
    """Move one row of the largest party to each empty one, while some party has two."""
    sizes = np.bincount(owner, minlength=parties)
    for k in np.flatnonzero(sizes == 0):
        largest = int(sizes.argmax())
        if sizes[largest] <= 1:
            return
        owner[np.flatnonzero(owner == largest)[0]] = k
        sizes[largest] -= 1
        sizes[k] += 1
