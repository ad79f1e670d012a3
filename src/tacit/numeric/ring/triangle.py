"""Symmetric matrices as their lower triangle, row by row, whole or a band of rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.arrays import Array

EXACT = 4096  # bands that are counted one by one


def pack(band: Array, start: int) -> Array:
    """Return rows start.. of a symmetric matrix, columns 0..stop-1, as their entries at or below the diagonal."""
    rows = band.shape[0]
    return np.concatenate([band[i, : start + i + 1] for i in range(rows)]) if rows else np.empty(0, dtype=band.dtype)


def unpack(packed: Sequence[Array], n: int) -> Array:
    """Return the full symmetric matrix of the packed bands, in order."""
    full = np.empty((n, n), dtype=packed[0].dtype if packed else np.float64)
    i = 0
    for band in packed:
        at = 0
        while at < band.size:
            if i == n or at + i + 1 > band.size:
                raise ValueError(f"bands do not end with the rows of a triangle of {n}")
            full[i, : i + 1] = band[at : at + i + 1]
            at, i = at + i + 1, i + 1
    if i != n:
        raise ValueError(f"bands hold {i} rows of {n}")
    return _mirror(full)


def _mirror(lower: Array, tile: int = 64) -> Array:
    """Copy the lower triangle to the upper one, tile by tile, in place."""
    for start in range(0, len(lower), tile):
        stop = start + tile
        lower[start:stop, stop:] = lower[stop:, start:stop].T
        corner = np.tril(lower[start:stop, start:stop])
        lower[start:stop, start:stop] = corner + np.tril(corner, -1).T
    return lower


def bands(n: int, entries: int) -> tuple[tuple[int, int], ...]:
    """Return the rows of an n x n triangle in bands of at most `entries` packed entries (at least one row)."""
    cuts, start = [], 0
    while start < n:
        stop = start + 1
        while stop < n and (stop + 1) * (stop + 2) // 2 - start * (start + 1) // 2 <= entries:
            stop += 1
        cuts.append((start, stop))
        start = stop
    return tuple(cuts)


def count_bands(n: int, entries: int) -> int:
    """Return how many bands there are, in time that does not grow with n: exact up to `EXACT`, then about."""
    count, start = 0, 0
    while start < n and count < EXACT:
        room = entries + start * (start + 1) // 2
        start, count = max(start + 1, (math.isqrt(8 * room + 1) - 1) // 2), count + 1
    long = max(start, min(n, entries))  # from here on every row is a band of its own
    between = long * (long + 1) // 2 - start * (start + 1) // 2
    return count + (n - long + between // entries if start < n else 0)
