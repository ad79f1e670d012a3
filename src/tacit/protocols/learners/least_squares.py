"""Least squares in shares: (S + a I) W = H for all columns of H at once, and scores of several a.

    p_0 = I - S / 2^K,    p_(j+1) = p_j^2          p_j - A_j is opened for each (`shares.squarings`)               (1)
    p_j R                                          from these openings: only R is opened anew, under one mask        (2)
    W += Q R,    Q = (1/a) (c_0 I + sum_j c_(j+1) p_j),    R = H - S W - a W,    a few times (`ridge_plan`)          (3)

Q is made and opened once, so that a pass costs one product. (1) and (2) do not depend on a: solutions for several a
cost one pass of (3) together, with the p_j in place of Q. A solution is scored by generalised cross-validation, which
needs no fold:

    score(a) = E / (1 - d / N)^2,    E = T'T - 2 W'H + W'SW,    d = D - sum_j c_j tr p_j                             (4)

Scores are compared in shares, and which a has the least one is all that is revealed: E_i r_j < E_j r_i for every
pair, with r = (1 - d / N)^2 and noise on all E. Where this is as large as E, a small r would make noise decide: so two
deviations of it are added to E. With many columns E is that of a few random sums of them, by signs that
everybody knows, which has the same mean.

Probabilities follow from five averages of f and t over all records, which are revealed rounded and with noise of some
records (`learners.noise`); no record is left out for them. With the mean leverage h = d / N, decision values of records
that are left out are about (f - h t) / (1 - h),

    logit p = (m+ - m-) / s^2 (f - (m+ + m-) / 2) + log(n+ / n-)                                                    (5)

with their means m+ and m- over both classes, and variance s^2 within them: it never falls with f.

Roles, threat: as `shares.dealing`. All openings have sizes and rounds that are public before the run.
Source: ours; (4) is Golub, Heath and Wahba, Technometrics 21, 1979; (5) Fisher's, Annals of Eugenics 7, 1936.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Everyone, Holder, Run, State, choreography
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.lean import Lean
from tacit.numeric.shares.ridge_plan import P_BITS, PASSES, Resolvent, RidgePlan
from tacit.numeric.shares.ring_product import ring_symmetric
from tacit.numeric.shares.squares import BITS
from tacit.protocols.facts import MODEL, UNIFORM
from tacit.protocols.learners.noise import CLOSE, add_common_noise, add_noise
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.shares.cut_each import Part, Parts, cut_each
from tacit.protocols.shares.dealing import Correlation, Dealing, Share, Sizes, Words, deal
from tacit.protocols.shares.gates import multiply, open_masked, subtract_mask, truncate
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.matrices import Opened
from tacit.protocols.shares.squarings import open_all, open_quotient, open_square

TRACE_BITS, TRACE_CUT = 12, P_BITS - 12  # after the point, of a trace
FREE_BITS = 12  # after the point, of D - d
LEFT_BITS = 20  # of N - d, in units of 2^K
WORD = 64
COMPARED = Lean(F=0, I=WORD, q=0)
WON = Lean(F=0, I=8, q=0, joined=True)  # of how many others each is better than
CLEAR = 2.0  # deviations of all noise on E that are added to it, so that it is hardly ever negative
NEAR = 1.0  # records: the deviation of a holder's noise on averages; with five, (5) of 200 records is of noise
SIZED = 4.0  # the same of the sum of targets, to which a record adds 1 or -1: it tells how large a class is
AVERAGE_BITS = 9  # of an average over all records, below the next power of two
MOST_FREEDOM, MOST_SIDED, LEAST_SPREAD = 0.95, 0.999, 1e-4  # so that (5) is finite


class RidgeShare(State):
    """A holder's share of what least squares needs, as words.

    S: a triangle, with as many bits as the plan says. start: p_0, a triangle, with `P_BITS`. H: a row for each feature,
    with the bits of S and W together. squares: T'T of the probes, with the bits of S and W together.
    """

    S: U64
    start: U64
    H: U64
    squares: U64


@dataclass(frozen=True)
class AppliedEach(Correlation):
    """b, n x m, and A_j b for every A_j that was dealt before."""

    n: int
    m: int
    count: int

    @property
    def sizes(self) -> Sizes:
        """Return the sizes of a mask b, and of each product with it."""
        return Sizes(masks=(self.n * self.m,), made=(self.n * self.m,) * self.count)

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return A_j b for every j."""
        del bits, ring
        b = masks[0].reshape(self.n, self.m)
        return tuple(ring_symmetric(A, b).ravel() for A in kept), ()


@dataclass(frozen=True)
class Solved:
    """A solution: shares of W with `plan.bits` after the point, a row for each feature; what else it is looked at by.

    S: opened under its mask. traces: of the p_j.
    """

    W: At[U64]
    resolvent: Resolvent
    S: Opened
    traces: At[U64]


@choreography(opens={Holder: UNIFORM})
def solve_ridge(
    run: Run,
    dealing: Dealing,
    sums: At[RidgeShare],
    plan: RidgePlan,
    *,
    opened: tuple[Opened, Opened] | None = None,
    check: Callable[[Opened, Resolvent], None] | None = None,
) -> Solved:
    """Return the solution, with the a of the plan that scores best.

    opened: S and p_0, where they were opened under masks before. check: called with Q before it is used.
    """
    D, m = plan.size, plan.columns
    both = run.local(Holder, take_S, sums), run.local(Holder, take_start, sums)
    S, start = open_all(run, dealing, *both, n=D) if opened is None else opened
    powers = make_powers(run, dealing, start, plan)
    traces = run.local(Holder, trace_each, dealing.first, D, *words_of(powers))
    resolvent = plan.resolvents[0]
    W, cut = run.local(Holder, no_words, D * m), None
    if len(plan.resolvents) > 1:
        best, tried, left = choose_alpha(run, dealing, sums, S, powers, traces, plan)
        resolvent = plan.resolvents[best]
        if plan.probes == m:  # what was tried is the first pass of (3)
            W, cut = (run.local(Holder, take_columns, each, best, D, m) for each in (tried, left))
    H = run.local(Holder, take_H, sums)
    Q = open_resolvent(run, dealing, powers, resolvent, D)
    if check is not None:
        check(Q, resolvent)
    for i in range(0 if cut is None else 1, PASSES):
        if cut is None:
            cut = cut_rest(run, dealing, S, H, W, resolvent, plan, i=i)
        step = apply_each(run, dealing, (Q,), cut, n=D, m=m)
        shift = P_BITS + resolvent.down + plan.rest_bits(i) - plan.bits
        W = run.local(Holder, add_words, W, truncate(run, dealing, step, shift, size=D * m))
        cut = None
    return Solved(W, resolvent, S, traces)


@choreography(opens={Everyone: MODEL})
def calibrate(run: Run, dealing: Dealing, sums: At[RidgeShare], solved: Solved, plan: RidgePlan) -> F64:
    """Return A and B of the probabilities 1 / (1 + exp(A f + B)), a line for each problem, by rounded averages, (5)."""
    D, m, S = plan.size, plan.columns, solved.S
    SW = apply_each(run, dealing, (S,), solved.W, n=D, m=m)
    both = run.local(Holder, join_words, SW, run.local(Holder, take_H, sums))
    short = truncate(run, dealing, both, plan.fit_cut, size=2 * D * m)
    twice = run.local(Holder, join_words, solved.W, solved.W)
    products = multiply(run, dealing, twice, short, size=2 * D * m)
    inner = run.local(Holder, add_products, products, D, m)  # sums of f^2 and f t
    near = add_noise(run, inner, size=2 * m, bits=plan.error_bits, deviation=NEAR)
    plain = (
        (run.local(Holder, take_values, SW, D, m), NEAR),
        (run.local(Holder, take_targets, sums, D, m), SIZED),
        (run.local(Holder, take_weights, sums, m, plan.bits), NEAR),
    )
    far = [add_noise(run, each, size=m, bits=2 * plan.bits, deviation=noise) for each, noise in plain]
    short = truncate(run, dealing, solved.traces, TRACE_CUT, size=plan.levels + 1)
    lost = run.local(Holder, weigh_traces, short, (solved.resolvent,), dealing.first, D)
    free = add_noise(run, lost, size=1, bits=TRACE_BITS + BITS, deviation=NEAR)
    parts = (
        Part(2 * m, WORD, plan.error_bits + plan.K - AVERAGE_BITS),
        Part(3 * m, WORD, 2 * plan.bits + plan.K - AVERAGE_BITS),
        Part(1, WORD, TRACE_BITS + BITS),
    )
    told = cut_each(run, dealing, run.local(Holder, join_words, near, *far, free), parts)
    found = reveal(run, dealing, MODEL, told, size=5 * m + 1)
    freedom = max(0.0, D - float(found[-1]))
    noise = NEAR * math.sqrt(len(run.roster[Holder])) / max(plan.rows, 1)
    return fit_sigmoids(found[:-1].reshape(5, m), min(freedom / max(plan.rows, 1), MOST_FREEDOM), noise)


def fit_sigmoids(averages: F64, h: float, noise: float = 0.0) -> F64:
    """Return A and B of (5) from sums of f^2, f t, f, t and 1 over all records, each in the same unit; h is d / N.

    noise: the deviation of that on the mean of f^2, below which no variance is told from 0.
    """
    squares, along, f, t, n = averages
    n = np.maximum(n, 1.0)
    squares, along, f, t = squares / n, along / n, f / n, np.clip(t / n, -MOST_SIDED, MOST_SIDED)
    squares = (squares - 2.0 * h * along + h * h) / (1.0 - h) ** 2  # of records that are left out, by the mean leverage
    along, f = (along - h) / (1.0 - h), (f - h * t) / (1.0 - h)
    share = (1.0 + t) / 2.0
    above, below = (f + along) / (1.0 + t), (f - along) / (1.0 - t)  # means of both classes
    spread = np.maximum(squares - share * above**2 - (1.0 - share) * below**2, max(LEAST_SPREAD, noise))
    slope = np.maximum(above - below, 0.0) / spread
    return np.column_stack([-slope, slope * (above + below) / 2.0 - np.log(share / (1.0 - share))])


@choreography(opens={Holder: UNIFORM})
def make_powers(run: Run, dealing: Dealing, start: Opened, plan: RidgePlan) -> tuple[Opened, ...]:
    """Return every p_j of (1) as it was opened under its mask."""
    found = [start]
    for _ in range(plan.levels):
        found.append(open_square(run, dealing, found[-1], P_BITS + 1, n=plan.size))
    return tuple(found)


@choreography(opens={Holder: UNIFORM})
def open_resolvent(run: Run, dealing: Dealing, powers: tuple[Opened, ...], resolvent: Resolvent, D: int) -> Opened:
    """Return Q of (3), 2^down times, as it is opened under a mask."""
    whole = run.local(Holder, add_powers, resolvent, dealing.first, D, *words_of(powers))
    return open_quotient(run, dealing, whole, P_BITS + 1, n=D)


@choreography(opens={Holder: UNIFORM})
def apply_each(run: Run, dealing: Dealing, matrices: tuple[Opened, ...], X: At[U64], *, n: int, m: int) -> At[U64]:
    """Return shares of the products of several matrices with one X of m columns, one after the other, (2)."""
    kept = dealing.dealer.compute(run, join_masks, *(each.A for each in matrices))
    dealt, _ = deal(run, dealing, AppliedEach(n, m, len(matrices)), kept=kept)
    e = open_masked(run, run.local(Holder, subtract_mask, X, dealt, dealing.ring), ring=dealing.ring)
    return run.local(Holder, combine_each_product, e, X, dealt, n, m, *words_of(matrices))


def words_of(matrices: tuple[Opened, ...]) -> list[At[U64]]:
    """Return D and the holders' parts of A of every matrix, one after the other."""
    return [each for matrix in matrices for each in (matrix.D, matrix.own)]


@choreography(opens={Holder: UNIFORM})
def cut_rest(
    run: Run, dealing: Dealing, S: Opened, H: At[U64], W: At[U64], resolvent: Resolvent, plan: RidgePlan, *, i: int
) -> At[U64]:
    """Return shares of H - S W - a W before pass i of (3), with the bits of that pass; W is 0 before the first."""
    size = plan.size * plan.columns
    rest = H
    if i > 0:
        SW = apply_each(run, dealing, (S,), W, n=plan.size, m=plan.columns)
        rest = run.local(Holder, subtract_fit, H, SW, W, (resolvent,), plan)
    return truncate(run, dealing, rest, 2 * plan.bits - plan.rest_bits(i), size=size)


@choreography(opens={Everyone: MODEL})
def choose_alpha(
    run: Run,
    dealing: Dealing,
    sums: At[RidgeShare],
    S: Opened,
    powers: tuple[Opened, ...],
    traces: At[U64],
    plan: RidgePlan,
) -> tuple[int, At[U64], At[U64]]:
    """Return which a of the plan has the least score (4); of every a, side by side, W and what is left after a pass.

    What W and what traces need is truncated in the same rounds.
    """
    D, few, tried, bits = plan.size, plan.probes, len(plan.resolvents), plan.rest_bits(0)
    one = D * few
    size, levels, half = one * tried, plan.levels + 1, plan.halvings
    H = run.local(Holder, mix_columns, run.local(Holder, take_H, sums), D, plan.signs)
    parts: Parts = (Part(one, WORD, half), Part(one, WORD, 2 * plan.bits - bits + half), Part(levels, WORD, TRACE_CUT))
    cut = cut_each(run, dealing, run.local(Holder, join_words, H, H, traces), parts)
    H, rest, short = (run.local(Holder, take_part, cut, parts, k) for k in range(3))
    products = apply_each(run, dealing, powers, rest, n=D, m=few)
    lost = run.local(Holder, weigh_traces, short, plan.resolvents, dealing.first, D)
    parts = (Part(levels * one, WORD, P_BITS), Part(tried, WORD, TRACE_BITS + BITS - FREE_BITS))
    cut = cut_each(run, dealing, run.local(Holder, join_words, products, lost), parts)
    products, lost = (run.local(Holder, take_part, cut, parts, k) for k in range(2))
    W = run.local(Holder, weigh_products, rest, products, plan.resolvents, one)
    left = run.local(Holder, add_left, lost, plan, dealing.first)
    parts = (
        *(Part(one, WORD, each.down + BITS + bits - plan.bits) for each in plan.resolvents),
        Part(tried, WORD, max(0, plan.K + FREE_BITS - LEFT_BITS)),
    )
    cut = cut_each(run, dealing, run.local(Holder, join_words, W, left), parts)
    W = run.local(Holder, place_side_by_side, cut, D, few, tried)
    left = run.local(Holder, take_part, cut, parts, tried)
    SW = apply_each(run, dealing, (S,), W, n=D, m=few * tried)
    fit = run.local(Holder, less_twice, SW, H, D, tried)
    rest = run.local(Holder, subtract_fit, H, SW, W, plan.resolvents, plan)
    parts = (Part(size, WORD, plan.fit_cut), Part(size, WORD, 2 * plan.bits - plan.rest_bits(1)))
    cut = cut_each(run, dealing, run.local(Holder, join_words, fit, rest), parts)
    fit, rest = (run.local(Holder, take_part, cut, parts, k) for k in range(2))
    factors = (run.local(Holder, join_words, each, left) for each in (W, fit))
    product = multiply(run, dealing, *factors, size=size + tried)
    room = round(math.ldexp(CLEAR * CLOSE * math.sqrt(len(run.roster[Holder])), plan.error_bits))
    errors = run.local(Holder, add_errors, product, sums, D, few, tried, room, dealing.first)
    errors = add_common_noise(run, errors, lines=1, width=tried, bits=plan.error_bits)  # no record decides alone
    parts = (Part(tried, WORD, plan.error_cut), Part(tried, WORD, LEFT_BITS))
    cut = cut_each(run, dealing, run.local(Holder, join_last, errors, product, tried), parts)
    E, squared = (run.local(Holder, take_part, cut, parts, k) for k in range(2))
    return find_least(run, dealing, E, squared, tried), W, rest


@choreography(opens={Everyone: MODEL})
def find_least(run: Run, dealing: Dealing, E: At[U64], squared: At[U64], tried: int) -> int:
    """Return for which a E / squared is least: only this is revealed, and no score."""
    pairs = tuple((i, j) for i in range(tried) for j in range(i + 1, tried))
    size = len(pairs)
    one, other = run.local(Holder, take_pairs, E, pairs), run.local(Holder, take_pairs, squared, pairs, swap=True)
    products = multiply(run, dealing, one, other, size=2 * size)
    ahead = reaches_one(run, dealing, run.local(Holder, compare_pairs, products), COMPARED, size=size)
    wins = run.local(Holder, count_wins, ahead, pairs, tried, dealing.first)
    best = reaches_one(run, dealing, wins, WON, size=tried)
    few = replace(dealing, ring=Ring(1 << WON.k))
    return int(np.argmax(reveal(run, few, MODEL, best, size=tried)))


# Steps at the holders


def add_left(
    lost: U64,
    plan: RidgePlan,
    first: bool,  # noqa: FBT001 - a step
) -> U64:
    """Return the share of N - d for each a; where there are few records with more bits, to `LEFT_BITS` of N."""
    found = lost + np.uint64((plan.rows - plan.size << FREE_BITS) % (1 << 64)) if first else lost
    up = LEFT_BITS - FREE_BITS - plan.K
    return found << np.uint64(up) if up > 0 else found


def take_pairs(x: U64, pairs: tuple[tuple[int, int], ...], *, swap: bool = False) -> U64:
    """Return the second of each pair, then the first; swapped, the first and then the second."""
    one, other = (x[[pair[k] for pair in pairs]] for k in ((0, 1) if swap else (1, 0)))
    return np.concatenate([one, other])


def compare_pairs(products: U64) -> U64:
    """Return the share of E_j r_i - E_i r_j for each pair: 1 or more if i is better."""
    one, other = np.split(products, 2)
    return one - other


def count_wins(
    ahead: U64,
    pairs: tuple[tuple[int, int], ...],
    tried: int,
    first: bool,  # noqa: FBT001 - a step
) -> U64:
    """Return the share of how many others each is better than, less what all but the best reach."""
    of = np.zeros((tried, len(pairs)), dtype=np.int64)
    for k, (i, j) in enumerate(pairs):
        of[i, k], of[j, k] = 1, -1
    wins = of.view(np.uint64) @ ahead
    sure = (of < 0).sum(axis=1) - (tried - 2)  # whoever is not better than the other one is worse
    wins = wins + sure.astype(np.int64).view(np.uint64) if first else wins
    return wins & np.uint64((1 << WON.k) - 1)


def take_S(sums: RidgeShare) -> U64:  # noqa: N802 - the letter of the equations
    """Return the share of S."""
    return sums.S


def take_start(sums: RidgeShare) -> U64:
    """Return the share of p_0."""
    return sums.start


def take_H(sums: RidgeShare) -> U64:  # noqa: N802 - the letter of the equations
    """Return the share of H."""
    return sums.H


def no_words(size: int) -> U64:
    """Return shares of zero."""
    return np.zeros(size, dtype=np.uint64)


def add_words(x: U64, y: U64) -> U64:
    """Return the share of a sum."""
    return x + y


def join_words(*parts: U64) -> U64:
    """Return words one after the other."""
    return np.concatenate(parts)


def trace_each(first: bool, n: int, *words: U64) -> U64:  # noqa: FBT001 - a step
    """Return the shares of the traces of matrices of n rows that were opened."""
    i = np.arange(n)
    traces = np.array([each[i * (i + 3) // 2].sum(dtype=np.uint64) for each in words], dtype=np.uint64)
    return traces[::2] + traces[1::2] if first else traces[1::2]


def add_powers(resolvent: Resolvent, first: bool, n: int, *words: U64) -> U64:  # noqa: FBT001 - a step
    """Return the share of (3)'s Q, 2^down times, with 2 `P_BITS` + 1 bits after the point, as a triangle."""
    c_0, *weights = to_words(tuple(c << P_BITS + 1 - BITS for c in resolvent.weights))
    found = np.zeros_like(words[0])
    for c, D, own in zip(weights, words[::2], words[1::2], strict=True):
        found += c * (D + own if first else own)
    if first:
        i = np.arange(n)
        found[i * (i + 3) // 2] += c_0 << np.uint64(P_BITS)
    return found


def combine_each_product(e: U64, X: U64, dealt: Share, n: int, m: int, *matrices: U64) -> U64:
    """Return the share of every D_j X + A_j e + A_j b, one after the other, (2)."""
    own, opened = X.reshape(n, m), e.reshape(n, m)
    pairs = zip(matrices[::2], matrices[1::2], dealt.made, strict=True)
    return np.concatenate(
        [ring_symmetric(D, own).ravel() + ring_symmetric(A, opened).ravel() + made for D, A, made in pairs]
    )


def weigh_products(rest: U64, products: U64, resolvents: tuple[Resolvent, ...], size: int) -> U64:
    """Return the share of c_0 R + sum_j c_(j+1) p_j R for each a, one after the other."""
    lines = np.concatenate([rest, products]).reshape(-1, size)
    return np.concatenate([to_words(each.weights) @ lines for each in resolvents])


def to_words(numbers: tuple[int, ...]) -> U64:
    """Return whole numbers as words."""
    return np.array(numbers, dtype=np.int64).view(np.uint64)


def take_part(words: U64, parts: Parts, k: int) -> U64:
    """Return the words of the part of that number."""
    start = sum(part.size for part in parts[:k])
    return words[start : start + parts[k].size]


def take_columns(words: U64, k: int, D: int, m: int) -> U64:
    """Return m columns of a matrix of D rows."""
    return np.ascontiguousarray(words.reshape(D, -1)[:, k * m : (k + 1) * m]).ravel()


def place_side_by_side(words: U64, D: int, m: int, count: int) -> U64:
    """Return the first matrices of D rows and m columns side by side."""
    return np.ascontiguousarray(words[: count * D * m].reshape(count, D, m).transpose(1, 0, 2)).ravel()


def subtract_fit(H: U64, SW: U64, W: U64, resolvents: tuple[Resolvent, ...], plan: RidgePlan) -> U64:
    """Return the share of H - S W - a W for each a side by side, with a in the bits of S."""
    shape = (plan.size, len(resolvents), -1)
    alphas = to_words(tuple(round(math.ldexp(each.alpha, plan.bits)) for each in resolvents))
    found: U64 = H.reshape(plan.size, 1, -1) - SW.reshape(shape) - alphas[:, None] * W.reshape(shape)
    return found.ravel()


def add_products(products: U64, D: int, m: int) -> U64:
    """Return shares of sums of two products over all features, one after the other, for each problem."""
    found: U64 = products.reshape(2, D, m).sum(axis=1, dtype=np.uint64)
    return found.ravel()


def take_values(SW: U64, D: int, m: int) -> U64:
    """Return shares of what the constant feature adds up of values: f over all records, for each problem."""
    found: U64 = SW.reshape(D, m)[-1].copy()
    return found


def take_targets(sums: RidgeShare, D: int, m: int) -> U64:
    """Return shares of what it adds up of targets, for each problem: how large classes are."""
    found: U64 = sums.H.reshape(D, m)[-1].copy()
    return found


def take_weights(sums: RidgeShare, m: int, bits: int) -> U64:
    """Return shares of what it adds up of itself: the weights of all records, for each problem."""
    return np.repeat(sums.S[-1:] << np.uint64(bits), m)


def mix_columns(H: U64, D: int, signs: I64) -> U64:
    """Return the share of some random sums of columns."""
    return (H.reshape(D, -1) @ signs.view(np.uint64)).ravel()


def less_twice(SW: U64, H: U64, D: int, tried: int) -> U64:
    """Return the share of S W - 2 H, for each a side by side."""
    found: U64 = SW.reshape(D, tried, -1) - np.uint64(2) * H.reshape(D, 1, -1)
    return found.ravel()


def add_errors(
    product: U64,
    sums: RidgeShare,
    D: int,
    few: int,
    tried: int,
    room: int,
    first: bool,  # noqa: FBT001 - a step
) -> U64:
    """Return the share of E of (4) for each a, and room for noise."""
    total: U64 = product[: D * tried * few].reshape(D, tried, few).sum(axis=(0, 2), dtype=np.uint64)
    found = np.asarray(total + sums.squares.sum(dtype=np.uint64))
    return found + np.uint64(room) if first else found


def join_last(errors: U64, product: U64, tried: int) -> U64:
    """Return E of each a, and the last products: r of each a."""
    return np.concatenate([errors, product[-tried:]])


def weigh_traces(traces: U64, resolvents: tuple[Resolvent, ...], first: bool, D: int) -> U64:  # noqa: FBT001 - a step
    """Return the share of c_0 D + sum_j c_(j+1) tr p_j for each a."""
    found = np.array([(to_words(each.plain[1:]) * traces).sum(dtype=np.uint64) for each in resolvents])
    if first:
        found = found + np.array([each.plain[0] * D << TRACE_BITS for each in resolvents], dtype=np.int64).view(
            np.uint64
        )
    return found


# Steps at the dealer


def join_masks(*masks: Words) -> Words:
    """Return the masks of several matrices."""
    return tuple(each for held in masks for each in held)
