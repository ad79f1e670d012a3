"""Extreme learning machine: a hidden layer that is drawn, and output weights by least squares.

    S = X W + b                 sign, sigmoid, tanh, relu                                  (003, 11)
    S_ij = |x_i - w_j|^2 / d    rbf, of d columns: squares add up over columns, distances do not
    H = g(S)                    g(s) = exp(-s) for rbf                                     (003, 6)
    beta = (A + r I)^-1 B,      A = H'H,   B = H'T                                         (003, 5), by r a ridge
    GCV(r) = n |T - H beta|^2 / (n - df)^2,   df = sum_i l_i / (l_i + r),   l the eigenvalues of A

With r = 0 beta is the pseudo-inverse's, without the directions whose eigenvalue is below `CUTOFF` of the largest. Of
the rows only A, B, T'T and n are needed, which are sums over rows: `moments` writes them as one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from tacit.arrays import F64, I64, U64
from tacit.numeric.devices import CPU, Device, Held, positive_part, square_rows
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.ring.words import uniform
from tacit.scratch import release

ACTIVATIONS: dict[str, Callable[[Held, Any], Held]] = {  # of an array, with the functions for arrays of its device
    "sigmoid": lambda S, xp: expit(S) if isinstance(S, np.ndarray) else (1.0 + xp.tanh(S / 2.0)) / 2.0,
    "tanh": lambda S, xp: xp.tanh(S),
    "sign": lambda S, xp: xp.where(S >= 0.0, xp.ones_like(S), -1.0),  # 0 has a side too
    "relu": lambda S, xp: xp.where(S > 0.0, S, 0.0),
    "rbf": lambda S, xp: xp.exp(-S),
}
CUTOFF = 1e-9  # of A's largest eigenvalue: below, sums in fixed point say nothing
RIDGES = 4.0 ** np.arange(-5, 11)  # tried by cross-validation
NEAR = 0.1  # of the largest distance from the median: rows that are no nearer hide each other
BLOCK = 1 << 22  # entries of H at a time
AT_ONCE = 32  # nodes that are looked at in one pass over rows that lie on disk
FOLDS = 5  # that records are left out in, for probabilities


@dataclass(frozen=True)
class Output:
    """The output weights (L x K), the ridge that was taken, and how many directions of A it rests on."""

    beta: F64
    ridge: float
    rank: int


def words_needed(columns: int, nodes: int) -> int:
    """Return how many words the weights of so many columns take."""
    return (columns + 1) * nodes


def layer_of(words: U64, nodes: int, activation: str, scale: float, columns: int) -> tuple[F64, F64]:
    """Return W and b of some of `columns` columns: S varies by about `scale` where columns vary by 1.

    Rbf nodes lie among such records.
    """
    drawn = 2.0 * uniform(words).reshape(-1, nodes) - 1.0
    b, W = scale * drawn[0], np.sqrt(3.0) * scale * drawn[1:]
    return (W, np.zeros(nodes)) if activation == "rbf" else (W / np.sqrt(columns), b)


def reach(X: Held, W: Held, b: Held, activation: str, columns: int, xp: Any = np) -> Held:
    """Return S, or the part of S that these columns of all `columns` give; `xp` is as in `ACTIVATIONS`."""
    if activation != "rbf":
        return X @ W + b
    squares = square_rows(X, xp)[:, None] - 2.0 * (X @ W) + square_rows(W.T, xp)
    return positive_part(squares, xp) / columns


def activate(S: Held, activation: str, xp: Any = np) -> Held:
    """Return H = g(S)."""
    return ACTIVATIONS[activation](S, xp)


def hidden(X: Held, W: Held, b: Held, activation: str, xp: Any = np) -> Held:
    """Return the hidden layer H of whole records."""
    return activate(reach(X, W, b, activation, X.shape[1], xp), activation, xp)


def _among(use: I64, at: slice) -> I64:
    """Return which of these rows, in rising order, are in a block, counted from its beginning."""
    first, last = np.searchsorted(use, (at.start, at.stop))
    found: I64 = use[first:last] - at.start
    release(use)
    return found


def targets_of(codes: I64, classes: int) -> F64:
    """Return +1 for a record's own class and -1 for every other; of two classes the second's column alone."""
    signs = np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)
    return signs[:, 1:] if classes == 2 else signs  # noqa: PLR2004 - one column separates two


def moments(H: Held, T: F64, weight: F64 | None, device: Device = CPU) -> F64:
    """Return A's triangle, B, T'T of every column, and the weight of all rows, as one vector; H is on a device."""
    if weight is not None:
        root = np.sqrt(weight)[:, None]
        H, T = H * device.put(root), T * root
    total = float(len(T)) if weight is None else float(weight.sum())
    A, B = device.get(H.T @ H), device.get(H.T @ device.put(T))
    return np.concatenate([pack(A, 0), B.reshape(-1), np.einsum("ij,ij->j", T, T), [total]])


def size_of(nodes: int, outputs: int) -> int:
    """Return the length of `moments`."""
    return nodes * (nodes + 1) // 2 + nodes * outputs + outputs + 1


def solve(sums: F64, nodes: int, outputs: int, ridge: float | str) -> Output:
    """Return the output weights from `moments`; ridge "gcv" is the one of `RIDGES` whose GCV is smallest."""
    cut = nodes * (nodes + 1) // 2
    A, B = unpack([sums[:cut]], nodes), sums[cut : cut + nodes * outputs].reshape(nodes, outputs)
    values, V = np.linalg.eigh(A)
    kept = values > CUTOFF * max(float(values[-1]), 0.0)
    values, V = values[kept], V[:, kept]
    coordinates = V.T @ B
    if ridge == "gcv":
        r = _least(values, coordinates, float(sums[-1 - outputs : -1].sum()), float(sums[-1]))
    else:
        r = float(ridge)
    return Output(V @ (coordinates / (values + r)[:, None]), r, len(values))


def _least(values: F64, coordinates: F64, squares: float, n: float) -> float:
    energy = np.square(coordinates).sum(axis=1)
    scores = [_gcv(values, energy, squares, n, r) for r in RIDGES]
    return float(RIDGES[int(np.argmin(scores))])


def _gcv(values: F64, energy: F64, squares: float, n: float, r: float) -> float:
    """Return GCV(r), with |T - H beta|^2 = T'T - sum_i e_i (l_i + 2r) / (l_i + r)^2."""
    rest = squares - float(np.sum(energy * (values + 2.0 * r) / np.square(values + r)))
    free = n - float(np.sum(values / (values + r)))
    return n * max(rest, 0.0) / free**2 if free > 0.0 else np.inf
