"""Kernel matrices in shares.

By columns the RBF kernel is a product of what each holder knows by itself, and no exponential is taken in shares:

    K_ij = exp(-gamma |x_i - x_j|^2) = prod_p F^p_ij,        F^p_ij = exp(-gamma |x_ip - x_jp|^2)                    (1)

The factors are multiplied two by two, ceil(log2 M) times a product and a truncation.

gamma='scale' needs the variance of all cells. It is computed in shares from the holders' sums and squares, and only
this one number is opened:

    var = sum_p s_p / N - (sum_p c_p / N)^2,        c_p, s_p: sums of a holder's cells and of their squares          (2)

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import K_BITS
from tacit.protocols.facts import MAGNITUDES, UNIFORM
from tacit.protocols.part import Table
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, truncate

MEAN_BITS = 20  # after the point, of a mean of cells; twice as many of its square


class VarianceShare(Message, tells=MAGNITUDES):
    """A holder's share of (2), which all of them together open."""

    word: U64


@choreography(opens={Everyone: MAGNITUDES})
def scale_gamma(run: Run, dealing: Dealing, data: At[Table], cells: int, columns: int) -> float:
    """Return scikit-learn's gamma='scale', by (2)."""
    mean = run.local(Holder, own_mean, data, cells, run.who(Holder))
    squares = run.local(Holder, own_squares, data, cells, run.who(Holder))
    product = multiply(run, dealing, mean, mean, size=1)
    told = run.publish_all(VarianceShare, run.local(Holder, share_variance, squares, product))
    word = Z64.total(message.word for message in told.values())
    variance = float(FixedPoint(2 * MEAN_BITS).decode(word)[0])
    return 1.0 / (columns * variance) if variance > 0 else 1.0


@choreography(opens={Holder: UNIFORM})
def multiply_factors(run: Run, dealing: Dealing, factors: At[U64], *, size: int, bits: int = K_BITS) -> At[U64]:
    """Return shares of (1) with `bits` after the point, from each holder's own factor with `K_BITS`."""
    M = len(run.roster[Holder])
    stack = run.local(Holder, own_row, factors, run.who(Holder), run.roster[Holder])
    while M > 1:
        half, after = M // 2, K_BITS if M > 2 else bits  # noqa: PLR2004 - the last product of two
        x, y = run.local(Holder, take_lines, stack, 0, half), run.local(Holder, take_lines, stack, half, 2 * half)
        product = multiply(run, dealing, x, y, size=half * size)
        cut = truncate(run, dealing, product, 2 * K_BITS - after, size=half * size)
        stack, M = run.local(Holder, replace_pairs, cut, stack, half), M - half
    return run.local(Holder, take_lines, stack, 0, 1)


# Steps at the holders


def own_mean(part: Table, cells: int, me: str) -> U64:
    """Return the holder's part of the mean of all cells."""
    return FixedPoint(MEAN_BITS, terms=1 << (MEAN_BITS - 8)).encode(np.array([part.X.sum() / cells]), f"cells of {me}")


def own_squares(part: Table, cells: int, me: str) -> U64:
    """Return the holder's part of the mean of all squares."""
    found = np.array([np.einsum("ij,ij->", part.X, part.X) / cells])
    return FixedPoint(2 * MEAN_BITS, terms=4).encode(found, f"squares of {me}")


def share_variance(squares: U64, product: U64) -> VarianceShare:
    """Return the holder's share of (2)."""
    return VarianceShare(squares - product)


def triangle_factor(part: Table, gamma: float) -> U64:
    """Return a holder's F^p of (1), as a triangle."""
    own = squared_distances(part.X, part.X)
    return _encode(np.exp(-gamma * own)[np.tril_indices(len(own))])


def new_factor(part: Table, train: Table, gamma: float) -> U64:
    """Return a holder's factors between new records and those of the training, row by row."""
    return _encode(np.exp(-gamma * squared_distances(part.X, train.X)).ravel())


def _encode(values: F64) -> U64:
    if not np.isfinite(values).all():
        raise LocalError("a cell is not a finite number: impute or remove it")
    return np.rint(np.ldexp(values, K_BITS)).astype(np.int64).view(np.uint64)


def own_row(factor: U64, me: str, holders: tuple[str, ...]) -> U64:
    """Return shares of all factors, a line each: its own, and zeros."""
    stack = np.zeros((len(holders), factor.size), dtype=np.uint64)
    stack[holders.index(me)] = factor
    return stack


def take_lines(stack: U64, start: int, stop: int) -> U64:
    """Return some of the lines, one after the other."""
    return stack[start:stop].ravel()


def replace_pairs(product: U64, stack: U64, half: int) -> U64:
    """Return the lines that are left: the products of `half` pairs, and a last line that had no partner."""
    return np.concatenate([product.reshape(half, -1), stack[2 * half :]])


def squared_distances(A: F64, B: F64) -> F64:
    """Return |a_i - b_j|^2."""
    lengths = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)[None, :]
    found: F64 = np.maximum(lengths - 2.0 * (A @ B.T), 0.0)
    return found
