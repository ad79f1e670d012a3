"""Douglas and Rachford's iteration for the dual of an SVM, in shares: (2) of `numeric.shares.dual_plan`.

Z is opened once under a mask A that the dealer keeps, and serves every iteration:

    D = Z - A opened once;      e = q - b opened;      Z q = D q + A e + A b          A b from the dealer           (1)

An iteration has four openings: e, and the three of `clip_and_cut`. Openings have the same size in every iteration, and
the number of iterations is public before the run. So nothing tells how near the solution is.

Roles, threat: as `shares.dealing`. Source: ours, after Lions and Mercier, 1979.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, choreography
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.shares.dual_plan import K_BITS, Q_BITS, RELAX, ROW_BITS, DualPlan
from tacit.numeric.shares.ring_product import ring_symmetric
from tacit.numeric.shares.squares import BITS
from tacit.protocols.blind.goals import SideShare
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Dealing, Share, deal
from tacit.protocols.shares.gates import open_masked, subtract_mask, triangle_size, truncate
from tacit.protocols.shares.lean_clip import clip_and_cut
from tacit.protocols.shares.matrices import Applied, Opened
from tacit.protocols.shares.squarings import open_all, open_quotient, open_square


@choreography(opens={Holder: UNIFORM})
def iterate(run: Run, dealing: Dealing, matrix: Opened, sides: At[SideShare], plan: DualPlan) -> At[U64]:
    """Return shares of the last q, or of the mean of the last ones, with `Q_BITS` after the point."""
    size = plan.n * plan.problems
    zero = run.local(Holder, no_words, plan.n, plan.problems)
    s = run.carry(t=zero, z=zero, q=run.local(Holder, first_q, sides), total=zero)
    for j in run.rounds(plan.rounds, s):
        a = apply_fixed(run, dealing, matrix, s.q, plan)
        s.t = run.local(Holder, step, s.t, a, s.z, plan)
        v = run.local(Holder, above_edges, s.t, sides, plan)
        clipped, cut = clip_and_cut(run, dealing, v, plan.clipping, size=size * plan.loss.pieces)
        s.z = run.local(Holder, add_pieces, clipped, sides, plan)
        s.q = run.local(Holder, next_q, s.z, cut, sides)
        if plan.rounds - j <= 1 << plan.averaged:
            s.total = run.local(Holder, add, s.total, s.q)
    q: At[U64] = truncate(run, dealing, s.total, plan.averaged, size=size) if plan.averaged else s.total
    return q


@choreography(opens={Holder: UNIFORM})
def apply_fixed(run: Run, dealing: Dealing, matrix: Opened, q: At[U64], plan: DualPlan) -> At[U64]:
    """Return shares of a = Z q - mean(q), (1), with `plan.z_bits` + `Q_BITS` after the point."""
    dealt, _ = deal(run, dealing, Applied(plan.n, plan.problems), kept=matrix.A)
    e = open_masked(run, run.local(Holder, subtract_mask, q, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, combine, matrix.D, matrix.own, e, dealt, q, plan)


# Steps


def no_words(n: int, m: int) -> U64:
    """Return shares of zero."""
    return np.zeros(n * m, dtype=np.uint64)


def add(total: U64, q: U64) -> U64:
    """Return the share of a sum."""
    return total + q


def combine(D: U64, own: U64, e: U64, dealt: Share, q: U64, plan: DualPlan) -> U64:
    """Return the share of a, (1)."""
    shape = (plan.n, plan.problems)
    Zq = ring_symmetric(D, q.reshape(shape)) + ring_symmetric(own, e.reshape(shape)) + dealt.made[0].reshape(shape)
    mean = q.reshape(shape).sum(axis=0) * np.uint64(round(2**plan.z_bits / plan.n))
    found: U64 = (Zq - mean).ravel()
    return found


def step(t: U64, a: U64, z: U64, plan: DualPlan) -> U64:
    """Return the share of t + 15/8 (a - z); t has three bits more after the point than a."""
    raised: U64 = np.left_shift(z, np.uint64(plan.z_bits))
    return t + np.uint64(RELAX) * (a - raised)


def above_edges(t: U64, sides: SideShare, plan: DualPlan) -> U64:
    """Return the share of t - e_j, for every j."""
    up = np.uint64(plan.window.F - Q_BITS)
    found: U64 = (t - (sides.edges << up)).ravel()
    return found


def add_pieces(clipped: U64, sides: SideShare, plan: DualPlan) -> U64:
    """Return the share of z = l + sum_j s_j clip(t - e_j)."""
    signs = np.array(plan.loss.signs, dtype=np.int64).view(np.uint64)
    found: U64 = sides.lower + (signs[:, None] * clipped.reshape(signs.size, -1)).sum(axis=0)
    return found


def next_q(z: U64, cut: U64, sides: SideShare) -> U64:
    """Return the share of q = 2 z - t + y / (rho C), from t - e_1 with `Q_BITS` after the point."""
    found: U64 = np.uint64(2) * z - sides.edges[0] - cut[: z.size] + sides.pull
    return found


def first_q(sides: SideShare) -> U64:
    """Return the share of q where z and t are 0."""
    return sides.pull


def repeat(means: U64, m: int) -> U64:
    """Return every mean once for each problem."""
    return np.repeat(means, m)


def subtract_means(product: U64, q: U64, sides: SideShare, plan: DualPlan) -> U64:
    """Return the share of rho mean(q) less the sums of a product over its rows, for each problem."""
    each = np.uint64(round(plan.rho * 2**ROW_BITS / plan.n))  # a whole number, by the choice of rho
    total = q.reshape(plan.n, -1).sum(axis=0) + np.uint64(plan.n) * sides.middle
    found: U64 = total * each - product.reshape(-1, plan.problems).sum(axis=0)
    return found


# The resolvent of a centred kernel matrix, in shares.
#
#     n^2 PKP = n^2 K - n (S 1' + 1 S') + 1'S,      S = K 1                whole numbers, at each holder by itself   (1)
#     p_0 = I - n^2 PKP scale / 2^shift,            p_(j+1) = p_j^2          opened, then squared                    (2)
#     Z = rho (PKP + rho I)^-1 = c_0 I + sum_j c_(j+1) p_j                   (`numeric.shares.squares`)              (3)


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
