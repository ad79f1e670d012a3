"""Extreme learning machine: a hidden layer that is drawn, and output weights by least squares.

    S = X W + b                 sign, sigmoid, tanh, relu                                  (003, 11)
    S_ij = |x_i - w_j|^2 / d    rbf, of d columns: squares add up over columns, distances do not
    H = g(S)                    g(s) = exp(-s) for rbf                                     (003, 6)
    beta = (A + r I)^-1 B,      A = H'H,   B = H'T                                         (003, 5), by r a ridge
    GCV(r) = n |T - H beta|^2 / (n - df)^2,   df = sum_i l_i / (l_i + r),   l the eigenvalues of A

With r = 0 beta is the pseudo-inverse's, without the directions whose eigenvalue is below `CUTOFF` of the largest. Of the rows only A, B,
T'T and n are needed, which are sums over rows: `moments` writes them as one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tacit.numeric.draws import F64, U64, uniform
from tacit.numeric.triangle import pack, unpack

I64 = NDArray[np.int64]
ACTIVATIONS: dict[str, Callable[[F64], F64]] = {
    "sigmoid": expit,
    "tanh": np.tanh,
    "sign": lambda S: np.where(S >= 0.0, 1.0, -1.0),  # 0 has a side too
    "relu": lambda S: np.maximum(S, 0.0),
    "rbf": lambda S: np.exp(-S),
}
CUTOFF = 1e-9  # of A's largest eigenvalue: below, sums in fixed point say nothing
RIDGES = 4.0 ** np.arange(-5, 11)  # tried by cross-validation
NEAR = 0.1  # of the largest distance from the median: rows that are no nearer hide each other
BLOCK = 1 << 22  # entries of H at a time


@dataclass(frozen=True)
class Output:
    """The output weights (L x K), the ridge that was taken, and how many directions of A it rests on."""

    beta: F64
    ridge: float
    rank: int


def words_needed(columns: int, nodes: int) -> int:
    """How many words the weights of so many columns take."""
    return (columns + 1) * nodes


def layer_of(words: U64, nodes: int, activation: str, scale: float, columns: int) -> tuple[F64, F64]:
    """W and b of some of `columns` columns: S varies by about `scale` where columns vary by 1; rbf nodes lie among such records."""
    drawn = 2.0 * uniform(words).reshape(-1, nodes) - 1.0
    b, W = scale * drawn[0], np.sqrt(3.0) * scale * drawn[1:]
    return (W, np.zeros(nodes)) if activation == "rbf" else (W / np.sqrt(columns), b)


def reach(X: F64, W: F64, b: F64, activation: str, columns: int) -> F64:
    """S, or the part of S that these columns of all `columns` give."""
    if activation != "rbf":
        return X @ W + b
    squares: F64 = np.einsum("ij,ij->i", X, X)[:, None] - 2.0 * (X @ W) + np.einsum("ij,ij->j", W, W)
    return np.maximum(squares, 0.0, out=squares) / columns


def activate(S: F64, activation: str) -> F64:
    """H = g(S)."""
    return ACTIVATIONS[activation](S)


def hidden(X: F64, W: F64, b: F64, activation: str) -> F64:
    """H of whole records."""
    return activate(reach(X, W, b, activation, X.shape[1]), activation)


def lone_nodes(X: F64, weight: F64 | None, W: F64, b: F64, activation: str, least: float) -> NDArray[np.bool_]:
    """Which nodes are `NEAR` as far from their median as they ever are for fewer than `least` rows."""
    found, step = np.zeros(len(b), bool), max(1, BLOCK // max(1, len(X)))
    for j in range(0, len(b) if len(X) else 0, step):
        nodes = slice(j, j + step)
        H = hidden(X, W[:, nodes], b[nodes], activation)
        distance = np.abs(H - np.median(H, axis=0)) * (1.0 if weight is None else np.sqrt(weight)[:, None])
        found[nodes] = (distance >= NEAR * distance.max(axis=0)).sum(axis=0) < least
    return found


def targets_of(codes: I64, classes: int) -> F64:
    """+1 for a record's own class and -1 for every other; of two classes the second's column alone."""
    signs = np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)
    return signs[:, 1:] if classes == 2 else signs  # noqa: PLR2004 - one column separates two


def moments(H: F64, T: F64, weight: F64 | None) -> F64:
    """A's triangle, B, T'T of every column, and the weight of all rows, as one vector."""
    if weight is not None:
        H, T = H * np.sqrt(weight)[:, None], T * np.sqrt(weight)[:, None]
    total = float(len(H)) if weight is None else float(weight.sum())
    return np.concatenate([pack(H.T @ H, 0), (H.T @ T).reshape(-1), np.einsum("ij,ij->j", T, T), [total]])


def size_of(nodes: int, outputs: int) -> int:
    """Length of `moments`."""
    return nodes * (nodes + 1) // 2 + nodes * outputs + outputs + 1


def blockwise(X: F64, T: F64, weight: F64 | None, layer: Callable[[F64], F64], nodes: int) -> F64:
    """`moments` of many rows, in blocks."""
    step, total = max(1, BLOCK // nodes), np.zeros(size_of(nodes, T.shape[1]))
    for i in range(0, len(X), step):
        rows = slice(i, i + step)
        total += moments(layer(X[rows]), T[rows], None if weight is None else weight[rows])
    return total


def solve(sums: F64, nodes: int, outputs: int, ridge: float | str) -> Output:
    """Beta of `moments`; ridge "gcv" is the one of `RIDGES` whose GCV is smallest."""
    cut = nodes * (nodes + 1) // 2
    A, B = unpack([sums[:cut]], nodes), sums[cut : cut + nodes * outputs].reshape(nodes, outputs)
    values, V = np.linalg.eigh(A)
    kept = values > CUTOFF * max(float(values[-1]), 0.0)
    values, V = values[kept], V[:, kept]
    coordinates = V.T @ B
    r = _least(values, coordinates, float(sums[-1 - outputs : -1].sum()), float(sums[-1])) if ridge == "gcv" else float(ridge)
    return Output(V @ (coordinates / (values + r)[:, None]), r, len(values))


def _least(values: F64, coordinates: F64, squares: float, n: float) -> float:
    energy = np.square(coordinates).sum(axis=1)
    scores = [_gcv(values, energy, squares, n, r) for r in RIDGES]
    return float(RIDGES[int(np.argmin(scores))])


def _gcv(values: F64, energy: F64, squares: float, n: float, r: float) -> float:
    """|T - H beta|^2 = T'T - sum_i e_i (l_i + 2r) / (l_i + r)^2."""
    rest = squares - float(np.sum(energy * (values + 2.0 * r) / np.square(values + r)))
    free = n - float(np.sum(values / (values + r)))
    return n * max(rest, 0.0) / free**2 if free > 0.0 else np.inf
