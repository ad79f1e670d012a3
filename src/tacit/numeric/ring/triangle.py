"""Symmetric matrices as their lower triangle, row by row, whole or a band of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import Array


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
