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
from tacit.numeric.shares.dual_plan import Q_BITS, RELAX, ROW_BITS, DualPlan
from tacit.numeric.shares.ring_product import ring_symmetric
from tacit.protocols.blind.goals import SideShare
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import Dealing, Share, deal
from tacit.protocols.shares.gates import open_masked, subtract_mask, truncate
from tacit.protocols.shares.lean_clip import clip_and_cut
from tacit.protocols.shares.matrices import Applied, Opened


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
