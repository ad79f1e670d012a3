"""The local pass: what least squares needs of a party's own rows, block by block, wherever the rows lie.

    S = sum_i q_i z_i z_i',    H = sum_i q_i z_i t_i',    and of random sums of targets their squares                (1)

Rows are in memory, sparse, or on disk (a Parquet stream leaves them there); blocks go to the processor or a GPU. This
is the one place of the core that knows. Lengths of rows are bounded here too: |z| <= 1 beside the constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.counted import counted
from tacit.numeric.devices import CPU, Device, Held, device_of
from tacit.protocols.features.maps import FOURIER, LINEAR, PublicMap, place
from tacit.scratch import release
from tacit.sparse import is_sparse

ROOM = 1 << 22  # raw features of a block


@dataclass(frozen=True)
class Moments:
    """S and H of (1), and the sum of q (signs' t)^2 for each random sum."""

    S: F64
    H: F64
    squares: F64


def add_rows(X: F64, T: F64, weight: F64 | None, the_map: PublicMap, signs: F64, device: str = "cpu") -> Moments:
    """Return (1) of all rows; `signs` has a column for each random sum of targets."""
    on = device_of(device)
    V, m = the_map.width, T.shape[1]
    S, H, squares = np.zeros((V, V)), np.zeros((V, m)), np.zeros(signs.shape[1])
    for rows, raw, long in raw_blocks(X, the_map, on):
        t = T[rows]
        q = np.ones(len(t)) if weight is None else weight[rows]
        root = np.sqrt(q)
        scaled = raw * on.put(root)[:, None]
        if long is not None:
            scaled[:, :-1] *= on.put(long)[:, None]
        S += on.get(scaled.T @ scaled)
        H += on.get(scaled.T @ on.put(np.ascontiguousarray(t * root[:, None])))
        squares += (q[:, None] * np.square(t @ signs)).sum(axis=0)
    return Moments(the_map.fold(the_map.fold(S).T), the_map.fold(H), squares)


def raw_blocks(X: F64, the_map: PublicMap, on: Device = CPU) -> Iterator[tuple[slice, Held, F64 | None]]:
    """Yield blocks of raw features, and by what they are to be multiplied so that |z| <= 1; None if they fit anyway."""
    raw = place(the_map, on)
    step = max(1, max(ROOM, on.block) // the_map.width)
    for start in counted(range(0, len(X), step)):
        rows = slice(start, min(start + step, len(X)))
        block = X[rows]
        V = raw(on.put(block @ np.eye(X.shape[1]) if is_sparse(block) and the_map.kernel == LINEAR else block))
        yield rows, V, shorten(V, the_map, on)
        release(block)


def shorten(V: Held, the_map: PublicMap, on: Device) -> F64 | None:
    """Return the factor of each row, 1 for most; None where no row can be too long."""
    if the_map.kernel == "rbf" or the_map.activation == FOURIER:
        return None
    Z = V[:, :-1] if the_map.basis.size == 0 else V[:, :-1] @ on.put(the_map.basis)
    long = np.sqrt(on.get(on.xp.sum(Z * Z, axis=1))) / the_map.radius
    return np.asarray(1.0 / np.maximum(long, 1.0))
