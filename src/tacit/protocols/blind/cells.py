"""Dot products and the RBF kernel over rows and cells, in shares.

The whole table X is in shares from the start: each holder has its own cells, and zeros elsewhere. With the cells
multiplied by sqrt(gamma) first,

    X X' from one opening of X - A, and A A' from the dealer                                                         (1)
    d_ij = |x_i|^2 + |x_j|^2 - 2 x_i . x_j,        v = d / 2^m                at each holder by itself               (2)
    exp(-d) = (1 - v + v^2 / 2)^(2^m)              m + 1 times a square, entry by entry                              (3)

m is such that v <= 1: no cell is larger than 2^e, so that d <= 4 gamma columns 4^e. e is declared, or agreed on
(`blind.owners.agreed_range`). The relative error of (3) is below d^3 / (6 4^m).

Roles, threat: as `shares.dealing`. Who owns which cells is public. Source: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.triangle import pack
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.dual_plan import K_BITS
from tacit.numeric.shares.ring_product import ring_product
from tacit.protocols.facts import UNIFORM
from tacit.protocols.part import Table
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import open_masked, reduce, square_each, subtract_mask, triangle_size, truncate
from tacit.protocols.shares.matrices import Crossed, multiply_matrices

SQUARINGS = range(8, 16)  # at least, since (3) is only as exact; more would round off too much
ROOM = 60  # bits of a distance


@dataclass(frozen=True)
class Scaled:
    """How cells become words: times sqrt(gamma), with `bits` after the point."""

    root: float
    bits: int


@dataclass(frozen=True)
class Exponent(Scaled):
    """How cells become an exponential, and how often (3) is squared."""

    squarings: int

    @property
    def cut(self) -> int:
        """How many bits of a distance are cut to make v."""
        return 2 * self.bits + self.squarings - K_BITS


def scale_cells(gamma: float, columns: int, exponent: int) -> Exponent:
    """Return how cells of at most 2^exponent become words; refuse a kernel that is zero almost everywhere."""
    largest = math.log2(max(1.0, 4.0 * gamma * columns)) + 2 * exponent
    squarings = max(SQUARINGS[0], math.ceil(largest))
    if squarings not in SQUARINGS:
        raise LocalError(
            f"gamma={gamma:.3g} and cells of up to {2.0**exponent:.3g} make exponents of {2.0**largest:.3g}, too large"
            " for shares: scale the columns, or lower gamma"
        )
    return Exponent(math.sqrt(gamma), (ROOM - squarings) // 2, squarings)


@dataclass(frozen=True)
class Grams(Correlation):
    """A of rows x columns, and A A' as a triangle."""

    rows: int
    columns: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and its gram matrix."""
        return Sizes(masks=(self.rows * self.columns,), made=(triangle_size(self.rows),))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return A A'."""
        del bits, kept
        A = masks[0].reshape(self.rows, self.columns)
        return (reduce(pack(ring_product(A, A.T), 0), ring),), ()


@choreography(opens={Holder: UNIFORM})
def cell_kernel(run: Run, dealing: Dealing, data: At[Table], owners: Owners, scaled: Exponent) -> At[U64]:
    """Return shares of K as a triangle, with `K_BITS` after the point."""
    G, rows = multiply_cells(run, dealing, data, owners, scaled), owners.shape[0]
    return exponential(run, dealing, run.local(Holder, own_distances, G), scaled, size=triangle_size(rows))


@choreography(opens={Holder: UNIFORM})
def cell_dots(run: Run, dealing: Dealing, data: At[Table], owners: Owners, scaled: Scaled, bits: int) -> At[U64]:
    """Return shares of (1) as a triangle, with so many bits after the point."""
    G = run.local(Holder, fold, multiply_cells(run, dealing, data, owners, scaled))
    return truncate(run, dealing, G, 2 * scaled.bits - bits, size=triangle_size(owners.shape[0]))


def multiply_cells(run: Run, dealing: Dealing, data: At[Table], owners: Owners, scaled: Scaled) -> At[U64]:
    """Return shares of (1), as a whole matrix with twice the bits of a cell after the point."""
    rows, columns = owners.shape
    X = run.local(Holder, own_table, data, owners, scaled, run.who(Holder))
    dealt, _ = deal(run, dealing, Grams(rows, columns))
    opened = open_masked(run, run.local(Holder, subtract_mask, X, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, own_dots, opened, dealt, rows, dealing.first)


@choreography(opens={Holder: UNIFORM})
def cross_kernel(
    run: Run, dealing: Dealing, new: At[Table], old: At[Table], between: tuple[Owners, Owners], scaled: Exponent
) -> At[U64]:
    """Return shares of the kernel between new and old records, row by row, with `K_BITS` after the point."""
    (m, columns), n = between[0].shape, between[1].shape[0]
    Z, X = own_tables(run, new, old, between, scaled)
    squares = [lengths(run, dealing, each, size, columns) for each, size in ((Z, m), (X, n))]
    products = multiply_matrices(run, dealing, Z, X, Crossed(m, n, columns))
    d = run.local(Holder, cross_distances, products, squares[0], squares[1])
    return exponential(run, dealing, d, scaled, size=m * n)


@choreography(opens={Holder: UNIFORM})
def cross_dots(
    run: Run,
    dealing: Dealing,
    new: At[Table],
    old: At[Table],
    between: tuple[Owners, Owners],
    scaled: Scaled,
    bits: int,
) -> At[U64]:
    """Return shares of the dot products of new and old records, row by row, with so many bits after the point."""
    (m, columns), n = between[0].shape, between[1].shape[0]
    products = multiply_matrices(run, dealing, *own_tables(run, new, old, between, scaled), Crossed(m, n, columns))
    return truncate(run, dealing, products, 2 * scaled.bits - bits, size=m * n)


def own_tables(
    run: Run, new: At[Table], old: At[Table], between: tuple[Owners, Owners], scaled: Scaled
) -> tuple[At[U64], At[U64]]:
    """Return shares of both tables."""
    me = run.who(Holder)
    return (
        run.local(Holder, own_table, new, between[0], scaled, me),
        run.local(Holder, own_table, old, between[1], scaled, me),
    )


@choreography(opens={Holder: UNIFORM})
def lengths(run: Run, dealing: Dealing, X: At[U64], rows: int, columns: int) -> At[U64]:
    """Return shares of |x_i|^2."""
    return run.local(Holder, add_columns, square_each(run, dealing, X, size=rows * columns), rows)


@choreography(opens={Holder: UNIFORM})
def exponential(run: Run, dealing: Dealing, d: At[U64], scaled: Exponent, *, size: int) -> At[U64]:
    """Return shares of exp(-d) by (3), with `K_BITS` after the point."""
    v = truncate(run, dealing, d, scaled.cut, size=size)
    half = truncate(run, dealing, square_each(run, dealing, v, size=size), K_BITS + 1, size=size)
    s = run.carry(p=run.local(Holder, begin_power, v, half, dealing.first))
    for _ in run.rounds(scaled.squarings, s):
        s.p = truncate(run, dealing, square_each(run, dealing, s.p, size=size), K_BITS, size=size)
    power: At[U64] = s.p
    return power


# Steps at the holders


def own_table(part: Table, owners: Owners, scaled: Scaled, me: str) -> U64:
    """Return the holder's share of the whole table: its own cells, and zeros."""
    table = np.zeros(owners.shape)
    table[np.ix_(owners.rows[me], owners.columns[me])] = np.where(owners.masks[me], part.X, 0.0) * scaled.root
    return FixedPoint(scaled.bits).encode(table, f"cells of {me}").ravel()


def own_dots(opened: U64, dealt: Share, rows: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of (1), as a whole matrix."""
    D, A = opened.reshape(rows, -1), dealt.masks[0].reshape(rows, -1)
    S = ring_product(D, A.T)
    G = S + S.T + _unfold(dealt.made[0], rows)
    if first:
        G += ring_product(D, D.T)
    return G


def own_distances(G: U64) -> U64:
    """Return the share of (2) as a triangle, from (1)."""
    own = np.diagonal(G)
    return pack(own[:, None] + own[None, :] - np.uint64(2) * G, 0)


def fold(G: U64) -> U64:
    """Return a symmetric matrix as its triangle."""
    return pack(G, 0)


def _unfold(triangle: U64, rows: int) -> U64:
    found = np.zeros((rows, rows), dtype=np.uint64)
    at = np.tril_indices(rows)
    found[at] = triangle
    found.T[at] = triangle
    return found


def cross_distances(products: U64, new: U64, old: U64) -> U64:
    """Return the share of the distances between new and old records."""
    return (new[:, None] + old[None, :]).ravel() - np.uint64(2) * products


def add_columns(squares: U64, rows: int) -> U64:
    """Return the sum of every row."""
    found: U64 = squares.reshape(rows, -1).sum(axis=1)
    return found


def begin_power(v: U64, half: U64, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of 1 - v + v^2 / 2."""
    return half - v + np.uint64(1 << K_BITS) * np.uint64(first)
