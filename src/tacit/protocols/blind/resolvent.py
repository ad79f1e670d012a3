"""The resolvent of a centred kernel matrix, in shares.

    n^2 PKP = n^2 K - n (S 1' + 1 S') + 1'S,      S = K 1                  whole numbers, at each holder by itself   (1)
    p_0 = I - n^2 PKP scale / 2^shift,            p_(j+1) = p_j^2          opened, then squared                      (2)
    Z = rho (PKP + rho I)^-1 = c_0 I + sum_j c_(j+1) p_j                   (`numeric.shares.squares`)                (3)

Roles, threat: as `shares.dealing`. Nothing is opened but values under masks. Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.shares.dual_plan import K_BITS, DualPlan
from tacit.numeric.shares.squares import BITS
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import triangle_size, truncate
from tacit.protocols.shares.matrices import Opened
from tacit.protocols.shares.squarings import open_all, open_quotient, open_square


@choreography(opens={Holder: UNIFORM})
def resolve(run: Run, dealing: Dealing, K: At[U64], plan: DualPlan) -> Opened:
    """Return Z, with `plan.z_bits` after the point, opened under a mask, from shares of K, a triangle."""
    n, first = plan.n, dealing.first
    moved = truncate(run, dealing, run.local(Holder, centre, K, n, plan.scale), plan.shift, size=triangle_size(n))
    start = run.local(Holder, take_from_one, moved, n, K_BITS, first)
    return open_squares(run, dealing, start, plan.squares.weights, n=n, bits=plan.z_bits)


@choreography(opens={Holder: UNIFORM})
def open_squares(run: Run, dealing: Dealing, start: At[U64], c: tuple[int, ...], *, n: int, bits: int) -> Opened:
    """Return (3) with so many bits after the point, opened under a mask, from shares of p_0, a triangle of n rows."""
    return open_quotient(run, dealing, sum_squares(run, dealing, start, c, n=n), K_BITS + BITS - bits, n=n)


@choreography(opens={Holder: UNIFORM})
def add_squares(run: Run, dealing: Dealing, start: At[U64], c: tuple[int, ...], *, n: int, bits: int) -> At[U64]:
    """Return shares of (3) with so many bits after the point, from shares of p_0, a triangle of n rows."""
    total = sum_squares(run, dealing, start, c, n=n)
    return truncate(run, dealing, total, K_BITS + BITS - bits, size=triangle_size(n))


def sum_squares(run: Run, dealing: Dealing, start: At[U64], c: tuple[int, ...], *, n: int) -> At[U64]:
    """Return shares of (3) with `K_BITS` + `BITS` after the point."""
    (p,) = open_all(run, dealing, start, n=n)
    total = run.local(Holder, begin_sum, start, n, c[0], c[1], dealing.first)
    for weight in c[2:]:
        p = open_square(run, dealing, p, K_BITS + 1, n=n)
        total = run.local(Holder, add_weighted, total, p.D, p.own, weight, dealing.first)
    return total


# Steps at the holders


def centre(K: U64, n: int, scale: int) -> U64:
    """Return the share of n^2 PKP times `scale`, (1)."""
    full = unpack([K], n)
    S = full.sum(axis=0)
    N = np.uint64(n)
    moved = N * N * full - N * (S[:, None] + S[None, :]) + S.sum()
    return pack(moved * np.uint64(scale), 0)


def take_from_one(moved: U64, n: int, bits: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of I less a matrix, with so many bits after the point."""
    found = np.uint64(0) - moved
    if first:
        found[_diagonal(n)] += np.uint64(1 << bits)
    return found


def begin_sum(p: U64, n: int, c0: int, c1: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of c_0 I + c_1 p_0."""
    found = p * _word(c1)
    if first:
        found[_diagonal(n)] += _word(c0 << K_BITS)
    return found


def add_weighted(Z: U64, D: U64, own: U64, c: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of Z so far, with one more square, (3), which was opened under a mask."""
    return Z + (D + own if first else own) * _word(c)


def _word(value: int) -> np.uint64:
    return np.uint64(value % (1 << 64))


def _diagonal(n: int) -> np.ndarray:
    i = np.arange(n)
    return i * (i + 3) // 2
