"""Polynomial kernels in shares.

    G_ij = x_i . x_j                        by columns the sum of what each holder knows by itself; by rows and cells
                                            from one opening (`blind.cells`)                                         (1)
    K_ij = (gamma G_ij + coef0)^degree      a product and a truncation for every degree but the first                (2)
    k = sum_i K_ii / n                      opened, one number, as gamma='scale' opens one                           (3)

2^E is the smallest power of two that is at least k. Then K / 2^E has a diagonal whose mean is at most 1, and so
eigenvalues of at most n, like the RBF kernel: `numeric.shares.dual_plan` holds. The range of the cells bounds the
eigenvalues too, but some hundred times too high where a few cells are large, and as many bits would be lost.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.powers import Powers
from tacit.protocols.facts import MAGNITUDES, UNIFORM
from tacit.protocols.part import Table
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, share_anew, truncate


class DiagonalShare(Message, tells=MAGNITUDES):
    """A holder's share of the sum of (3), which all of them together open."""

    word: U64


@choreography(opens={Holder: UNIFORM})
def raise_dots(run: Run, dealing: Dealing, dots: At[U64], powers: Powers, *, size: int) -> At[U64]:
    """Return shares of (2) from shares of gamma G, both with `powers.bits` after the point."""
    g = run.local(Holder, add_constant, dots, powers, dealing.first)
    power = g
    for _ in range(powers.degree - 1):
        product = multiply(run, dealing, power, g, size=size)
        power = truncate(run, dealing, product, powers.bits, size=size)
    return power


@choreography(opens={Everyone: MAGNITUDES})
def mean_diagonal(run: Run, dealing: Dealing, K: At[U64], n: int, bits: int) -> float:
    """Open the mean of the diagonal of K, (3), and return it."""
    own = share_anew(run, dealing, run.local(Holder, add_diagonal, K, n), size=1)
    told = run.publish_all(DiagonalShare, run.local(Holder, DiagonalShare, own))
    return float(FixedPoint(bits).decode(Z64.total(message.word for message in told.values()))[0]) / n


@choreography(opens={Holder: UNIFORM})
def move_point(run: Run, dealing: Dealing, K: At[U64], down: int, *, size: int) -> At[U64]:
    """Return shares of K / 2^down, by a truncation, or at each holder by itself where nothing is cut."""
    return truncate(run, dealing, K, down, size=size) if down > 0 else run.local(Holder, shift_up, K, -down)


# Steps at the holders


def triangle_dots(part: Table, powers: Powers, me: str) -> U64:
    """Return the holder's share of gamma G over columns, as a triangle: its own dot products."""
    return _encode((part.X @ part.X.T)[np.tril_indices(len(part.X))], powers, me)


def new_dots(part: Table, train: Table, powers: Powers, me: str) -> U64:
    """Return the holder's share of gamma times the dot products of new and old records over columns, row by row."""
    return _encode((part.X @ train.X.T).ravel(), powers, me)


def _encode(dots: F64, powers: Powers, me: str) -> U64:
    return FixedPoint(powers.bits).encode(powers.gamma * dots, f"dot products of {me}")


def add_constant(dots: U64, powers: Powers, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of gamma G + coef0."""
    return dots + np.uint64(first) * np.uint64(round(np.ldexp(powers.coef0, powers.bits)))


def add_diagonal(K: U64, n: int) -> U64:
    """Return the share of the sum of K's diagonal."""
    i = np.arange(n)
    found: U64 = K[i * (i + 3) // 2].sum(keepdims=True)
    return found


def shift_up(K: U64, by: int) -> U64:
    """Return the share with more bits after the point."""
    found: U64 = np.left_shift(K, np.uint64(by))
    return found
