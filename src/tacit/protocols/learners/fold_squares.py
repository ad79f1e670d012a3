"""Least squares without each fold in turn, for several a: one preconditioner serves all folds.

    S_f, H_f             of the records of each fold, in shares;    S = sum_f S_f,    S_-f = S - S_f
    Q_a ~ (S + a I)^-1   from the powers of p_0 = I - S / 2^K, opened under a mask            (2) of `ridge_plan`
    W <- W + 3/2 Q_a (H_-f - S_-f W - a W),    `PASSES` times, for all folds and a at once                          (1)

S_-f is between a fifth and all of S for any direction in which folds are alike, so a pass of (1) leaves half of what is
missing, and `PASSES` leave a thousandth: enough to compare candidates, of which the best is trained anew. Its fixed
point is the solution, whatever Q_a is off by. All products with S_-f, and all with Q_a, are one opening each.

    E_f = T_f'T_f - 2 W'H_f + W'S_f W        the squared error of the records that were left out                    (2)

Roles, threat: as `learners.least_squares`. Source: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run, State, choreography
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.ridge_plan import P_BITS, RidgePlan
from tacit.numeric.shares.ring_product import ring_symmetric
from tacit.protocols.facts import UNIFORM
from tacit.protocols.learners.least_squares import join_masks, make_powers, open_resolvent, words_of
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import multiply, open_masked, subtract_mask, truncate
from tacit.protocols.shares.matrices import Opened
from tacit.protocols.shares.squarings import open_all

PASSES = 10
ROOM = 2  # bits that a rest has less, so that 3 Q R fits
WORD = 64
HALF, TIMES = 1, np.uint64(3)  # 3 / 2


class FoldShare(State):
    """A holder's shares of the sums of each fold, one after the other.

    S: triangles, with the bits of the plan. H: a row for each feature, with twice these. squares: T'T over all
    problems, with `plan.error_bits`. start: p_0 of all folds, with `P_BITS`.
    """

    S: U64
    H: U64
    squares: U64
    start: U64


@dataclass(frozen=True)
class AppliedBatch(Correlation):
    """b of so many matrices of n rows and m columns, and A_j b_j for masks A_j that were dealt before."""

    n: int
    m: int
    count: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and the products."""
        size = self.n * self.m * self.count
        return Sizes(masks=(size,), made=(size,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return A_j b_j for every j."""
        del bits, ring
        b = masks[0].reshape(self.count, self.n, self.m)
        return (np.concatenate([ring_symmetric(A, each).ravel() for A, each in zip(kept, b, strict=True)]),), ()


@dataclass(frozen=True)
class FoldWeights:
    """Shares of W with `plan.bits`, by a, fold, feature and problem; and of S_f W, with twice as many."""

    W: At[U64]
    SW: At[U64]


@choreography(opens={Holder: UNIFORM})
def solve_folds(run: Run, dealing: Dealing, sums: At[FoldShare], plan: RidgePlan, folds: int) -> FoldWeights:
    """Return the solutions without each fold, (1), for every a of the plan."""
    D, m, tried = plan.size, plan.columns, len(plan.resolvents)
    start = run.local(Holder, take_first, sums)
    others = [run.local(Holder, leave_out, sums, f, folds) for f in range(folds)]
    whole = run.local(Holder, leave_out, sums, folds, folds)
    p_0, S, *S_f = open_all(run, dealing, start, whole, *others, n=D)
    powers = make_powers(run, dealing, p_0, plan)
    Q = [open_resolvent(run, dealing, powers, each, D) for each in plan.resolvents]
    bits = plan.rest_bits(0) - ROOM
    H = run.local(Holder, other_sums, sums, folds, D * m, tried)
    W = run.local(Holder, no_words, tried * folds * D * m)
    size, shape = tried * folds * D * m, (tried, folds, D, m)
    cuts = tuple(Part(folds * D * m, WORD, P_BITS + each.down + bits - plan.bits + HALF) for each in plan.resolvents)
    for i in range(PASSES):
        rest = H
        if i:
            SW = apply_batch(run, dealing, S_f, run.local(Holder, by_fold, W, shape), n=D, m=tried * m)
            rest = run.local(Holder, subtract_all, H, SW, W, plan, shape)
        cut = truncate(run, dealing, rest, 2 * plan.bits - bits, size=size)
        steps = apply_batch(run, dealing, Q, run.local(Holder, by_alpha, cut, shape), n=D, m=folds * m)
        W = run.local(Holder, add_steps, W, cut_each(run, dealing, run.local(Holder, thrice, steps), cuts), shape)
    own = apply_batch(run, dealing, [S] * folds, run.local(Holder, by_fold, W, shape), n=D, m=tried * m)
    SW = apply_batch(run, dealing, S_f, run.local(Holder, by_fold, W, shape), n=D, m=tried * m)
    return FoldWeights(W, run.local(Holder, unfold_difference, own, SW, shape))


@choreography(opens={Holder: UNIFORM})
def find_errors(
    run: Run, dealing: Dealing, sums: At[FoldShare], solved: FoldWeights, plan: RidgePlan, folds: int
) -> At[U64]:
    """Return shares of the sum of (2) over all folds and problems for each a, with `plan.error_bits`."""
    D, m, tried = plan.size, plan.columns, len(plan.resolvents)
    size = tried * folds * D * m
    fit = run.local(Holder, less_twice_all, solved.SW, sums, tried)
    short = truncate(run, dealing, fit, plan.fit_cut, size=size)
    products = multiply(run, dealing, solved.W, short, size=size)
    return run.local(Holder, add_all, products, sums, tried)


@choreography(opens={Holder: UNIFORM})
def apply_batch(run: Run, dealing: Dealing, matrices: list[Opened], X: At[U64], *, n: int, m: int) -> At[U64]:
    """Return shares of the product of each matrix with its own X of m columns, one after the other."""
    of = AppliedBatch(n, m, len(matrices))
    dealt, _ = deal(run, dealing, of, kept=dealing.dealer.compute(run, join_masks, *(each.A for each in matrices)))
    e = open_masked(run, run.local(Holder, subtract_mask, X, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, combine_batch, e, X, dealt, of, *words_of(tuple(matrices)))


# Steps at the holders


def take_first(sums: FoldShare) -> U64:
    """Return the share of p_0."""
    return sums.start


def leave_out(sums: FoldShare, f: int, folds: int) -> U64:
    """Return the share of S without a fold; with all of them for a number that none has."""
    each = sums.S.reshape(folds, -1)
    total: U64 = each.sum(axis=0, dtype=np.uint64)
    return total - each[f] if f < folds else total


def other_sums(sums: FoldShare, folds: int, size: int, tried: int) -> U64:
    """Return the shares of H without each fold, once for each a."""
    each = sums.H.reshape(folds, size)
    return np.tile((each.sum(axis=0, dtype=np.uint64) - each).ravel(), tried)


def no_words(size: int) -> U64:
    """Return shares of zero."""
    return np.zeros(size, dtype=np.uint64)


def by_fold(W: U64, shape: tuple[int, int, int, int]) -> U64:
    """Return what is ordered by a and fold as a matrix for each fold, with the columns of all a side by side."""
    return np.ascontiguousarray(W.reshape(shape).transpose(1, 2, 0, 3)).ravel()


def from_folds(words: U64, shape: tuple[int, int, int, int]) -> U64:
    """Return the same in the order of a and fold."""
    tried, folds, D, m = shape
    return np.ascontiguousarray(words.reshape(folds, D, tried, m).transpose(2, 0, 1, 3)).ravel()


def by_alpha(rest: U64, shape: tuple[int, int, int, int]) -> U64:
    """Return a matrix for each a, with the columns of all folds side by side."""
    return np.ascontiguousarray(rest.reshape(shape).transpose(0, 2, 1, 3)).ravel()


def subtract_all(H: U64, SW: U64, W: U64, plan: RidgePlan, shape: tuple[int, int, int, int]) -> U64:
    """Return the share of H_-f - S_-f W - a W, with a in the bits of S."""
    a = np.array([round(math.ldexp(each.alpha, plan.bits)) for each in plan.resolvents], dtype=np.int64)
    scaled = W.reshape(shape) * a.view(np.uint64)[:, None, None, None]
    return np.asarray(H - from_folds(SW, shape) - scaled.ravel())


def thrice(steps: U64) -> U64:
    """Return three times the steps."""
    return TIMES * steps


def add_steps(W: U64, steps: U64, shape: tuple[int, int, int, int]) -> U64:
    """Return the share of W with a step."""
    tried, folds, D, m = shape
    found = np.ascontiguousarray(steps.reshape(tried, D, folds, m).transpose(0, 2, 1, 3))
    return W + found.ravel()


def unfold_difference(whole: U64, others: U64, shape: tuple[int, int, int, int]) -> U64:
    """Return the share of S_f W in the order of a and fold."""
    return from_folds(whole - others, shape)


def less_twice_all(SW: U64, sums: FoldShare, tried: int) -> U64:
    """Return the share of S_f W - 2 H_f."""
    return SW - np.tile(np.uint64(2) * sums.H, tried)


def add_all(products: U64, sums: FoldShare, tried: int) -> U64:
    """Return the share of (2), summed, for each a."""
    total: U64 = products.reshape(tried, -1).sum(axis=1, dtype=np.uint64)
    return np.asarray(total + sums.squares.sum(dtype=np.uint64))


def combine_batch(e: U64, X: U64, dealt: Share, of: AppliedBatch, *matrices: U64) -> U64:
    """Return the share of every D_j X_j + A_j e_j + A_j b_j."""
    shape = (of.count, of.n, of.m)
    parts = zip(matrices[::2], matrices[1::2], X.reshape(shape), e.reshape(shape), strict=True)
    found = [ring_symmetric(D, own).ravel() + ring_symmetric(A, opened).ravel() for D, A, own, opened in parts]
    return np.concatenate(found) + dealt.made[0]
