"""Which columns matter, in shares: half of the columns are left out at a time, those with the smallest weights.

    1. sizes, names of classes, centres and scales of columns               as `learners.svm` has them
    2. of more than `WIDEST` columns, those that go along with the targets  by h = Z'T, noisy and in shares
    3. w = (S + a I)^-1 H of the columns that are left                      least squares in shares
    4. half of them are kept: those with the largest |w|, noisy             by comparisons in shares
    5. 3 and 4 again, until as few are left as are asked for; or until one is, and the number that scores best is told

S and H are made once: those of fewer columns are entries of them. So no step needs the records again. Weights never
leave the shares. Every holder adds noise of about a 32nd of their size, and what is told follows from noisy weights,

    |w_j + sum_p g_p| >= t,   var(g_p) = (2 step)^2 / (M - 1),    step as of a model (`learners.rounding`)          (1)

the t of two digits at which enough columns are left, and which columns these are. So a round tells less than a model
whose noise is twice as large would. Scores are those of `least_squares` (4), with common noise, and which number
of columns has the best is all that is told of them.

Roles, threat: as `learners.svm`. NOT protected: a column that the targets of a single record decide on is told from
others if the record outweighs the noise; so it would be by a model. Source: ours, after Guyon et al., Machine Learning
46, 2002, who leave out columns by the weights of a linear machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Everyone, Holder, Result, Run, Site, choreography
from tacit.choreo.declaration import Either, Number, OneOf, parameter
from tacit.choreo.protocol import COLUMNS, Cost, Declaration, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.lean import Lean
from tacit.numeric.shares.ridge_plan import MENU, RidgePlan
from tacit.numeric.shares.squares import BITS
from tacit.protocols.facts import BALANCE, CLASSES, LANDMARKS, MODEL, SCORES, SIZES, UNIFORM
from tacit.protocols.features.landmarks import Distribution
from tacit.protocols.features.local import raw_blocks
from tacit.protocols.features.maps import PublicMap, map_columns
from tacit.protocols.learners.fitting import Task, alphas_of, count_table, encode, gather_sums, share_squares
from tacit.protocols.learners.least_squares import (
    CLEAR,
    FREE_BITS,
    LEFT_BITS,
    TRACE_BITS,
    TRACE_CUT,
    WORD,
    RidgeShare,
    Solved,
    add_errors,
    add_left,
    apply_each,
    find_least,
    join_last,
    join_words,
    less_twice,
    mix_columns,
    solve_ridge,
    take_H,
    take_part,
    weigh_traces,
)
from tacit.protocols.learners.menu import MENU as CHOICES
from tacit.protocols.learners.noise import CLOSE, add_common_noise
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.learners.rounding import FINE, add_noise, bound_squares, find_size, note_told
from tacit.protocols.learners.svm import caps_of, estimate_squares, place_points, spread_of
from tacit.protocols.learners.targets import (
    MOST_WEIGHT,
    Aim,
    Classes,
    Fit,
    agree_on_names,
    check_labels,
    check_weights,
    find_reach,
    labellers_of,
    publish_sizes,
    weigh_classes,
)
from tacit.protocols.part import Held, Names, Records, by_cells
from tacit.protocols.shares.cut_each import Part, Parts, cut_each
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.deposits import gather
from tacit.protocols.shares.gates import multiply, reduce, square_each, truncate
from tacit.protocols.shares.lean_clip import reaches_one

WIDEST = 256  # columns whose weights are compared; of more, those that go along with the targets
COARSER = 1  # binary digits that (1) is coarser than a model
BASE, DIGITS = 64, 2  # of t
ALONG_BITS = 30  # after the point, of Z'T / N
COMPARED = Lean(F=0, I=40, q=0)
COUNTED = Lean(F=0, I=16, q=0)

Moved = Callable[[float], float]  # how far a record moves weights at most, by their length


@dataclass(frozen=True, kw_only=True)
class Chooser(Fit):
    """How many columns are left, and how small weights are kept."""

    n_features_to_select: int | str = parameter(
        "auto",
        Either((OneOf(("auto",)), Number(1, WIDEST, whole=True))),
        "how many columns are kept; 'auto' finds the best of halves of halves, in shares",
        opens=True,
    )


class Chosen(Result):
    """Which columns were kept.

    sizes: how many were left after each round, beginning with those that were weighed at first. rounds: of every
    column, in how many of them it was left. best: the number of the round that is taken.
    """

    sizes: tuple[int, ...]
    rounds: I64
    best: int
    records: int


@choreography(opens={Everyone: (SIZES, CLASSES, LANDMARKS, BALANCE, MODEL, SCORES)})
def select_columns(
    run: Run,
    data: At[Held],
    *,
    partition: str,
    chooser: Chooser,
    classify: bool = True,
    classes: Names | None = None,
    target_range: tuple[float, float] | None = None,
) -> Chosen:
    """Tell everyone which columns are kept, of halves of halves."""
    check_dealer(run)
    run.local(Holder, check_labels, data, classify, run.who(Holder), labellers_of(run, partition))
    most = MOST_WEIGHT if chooser.between_sites else chooser.weight_cap
    run.local(Holder, check_weights, data, most, run.who(Holder))
    sizes = publish_sizes(run, data)
    rows, columns = count_table(sizes, partition)
    if columns > WIDEST and partition != "horizontal":
        raise LocalError(
            f"{columns} columns of several owners are too many to weigh: leave some out, down to {WIDEST}, or select"
            " over rows"
        )
    dealing = agree_with_dealer(run)
    found = agree_on_names(run, dealing, data, classes, chooser.least_class) if classify else Classes()
    counts = {party: size[0] for party, size in sizes.items()}
    points = place_points(run, dealing, data, partition, counts, rows, columns, chooser.repeat)
    middle, reach = (0.0, 1.0) if classify else find_reach(run, dealing, data, rows, target_range)
    weights = weigh_classes(run, dealing, data, found.names, chooser, rows)
    problems = len(found.names) if len(found.names) > 2 else 1  # noqa: PLR2004 - two classes are one problem
    cap = sizes.cap(chooser)
    unit = cap * (1.0 if weights is None else max(float(weights.max()), 1.0))
    aim = Aim(found, middle, reach, weights, cap)
    alphas = alphas_of(chooser.alpha, unit, MENU)
    known = np.arange(columns)
    if columns > WIDEST:
        known = pick_likely(run, dealing, data, aim, points, rows, problems)
        data, points = run.local(Site, take_cells, data, known), take_points(points, known)
    the_map = map_columns(points.centre, points.scale > 0, spread_of(points))
    task = Task(data, the_map, aim, partition, sizes, caps_of(points), problems, device=chooser.device)
    sums, plan, own = share_squares(run, dealing, task, alphas, rows)
    sums = sums if own is None else gather_sums(run, dealing, sums, plan)
    left, best = halve(run, dealing, sums, plan, chooser.n_features_to_select)
    run.note(records=rows, columns=columns)
    rounds = np.zeros(columns, dtype=np.int64)
    for each in left:
        rounds[known[each]] += 1
    return Chosen(sizes=tuple(len(each) for each in left), rounds=rounds, best=best, records=rows)


def halve(
    run: Run, dealing: Dealing, sums: At[RidgeShare], plan: RidgePlan, wanted: int | str
) -> tuple[list[I64], int]:
    """Return which columns were left after each round, and the number of the round that is taken."""
    left, scores = [np.arange(plan.size - 1)], []
    fewest = 1 if isinstance(wanted, str) else min(int(wanted), len(left[0]))
    while True:
        own = replace(plan, size=len(left[-1]) + 1)
        part = run.local(Holder, take_sums, sums, left[-1], plan.size)
        last = len(left[-1]) <= fewest
        if last and not isinstance(wanted, str):
            return left, len(left) - 1
        solved = solve_ridge(run, dealing, part, own)
        plan = replace(plan, resolvents=(solved.resolvent,))
        if isinstance(wanted, str):
            scores.append(score_solution(run, dealing, part, solved, replace(own, resolvents=plan.resolvents)))
        if last:
            return left, compare_scores(run, dealing, scores, own) if len(scores) > 1 else 0
        w = run.local(Holder, leave_out_constant, solved.W, own.columns)
        kept = keep_largest(
            run, dealing, w, columns=own.size - 1, problems=own.columns, bits=own.bits,
            keep=max(fewest, (len(left[-1]) + 1) // 2),
            moved=partial(bound_squares, alpha=solved.resolvent.alpha, problems=own.columns),
        )  # fmt: skip
        left.append(left[-1][kept])


@choreography(opens={Everyone: (MODEL, SCORES)})
def keep_largest(
    run: Run, dealing: Dealing, w: At[U64], *, columns: int, problems: int, bits: int, keep: int, moved: Moved
) -> I64:
    """Return the numbers of the columns with the largest weights, of which each problem has a line, (1)."""
    size = columns * problems
    e = find_size(run, dealing, w, size=size, bits=bits)
    cut = max(0, bits + e - FINE + COARSER)
    others = max(1, len(run.roster[Holder]) - 1)
    noisy = run.local(Holder, add_noise, w, run.random(Holder), size, (1 << 2 * cut) // others)
    short = truncate(run, dealing, noisy, cut, size=size) if cut else noisy
    note_told(run, moved(math.sqrt(size) * 2.0 ** (e + 1)), math.ldexp(1.0, cut - bits))
    squares = run.local(Holder, add_lines, square_each(run, dealing, short, size=size), columns)
    least = 0
    for place in range(DIGITS - 1, -1, -1):
        limits = tuple((least + i * BASE**place) ** 2 for i in range(1, BASE))
        reached = compare_with(run, dealing, squares, limits, size=columns)
        enough = run.local(Holder, compare_counts, reached, len(limits), keep, dealing.first)
        found = reaches_one(run, dealing, enough, COUNTED, size=len(limits))
        least += BASE**place * int(tell(run, dealing, found, COUNTED, size=len(limits)).sum())
    found = compare_with(run, dealing, squares, (least**2, (least + 1) ** 2), size=columns)
    reached = tell(run, dealing, found, COMPARED, size=2 * columns).reshape(2, -1).sum(axis=0)
    order = np.argsort(-reached, kind="stable")  # of columns that are level with t, the first ones
    return np.sort(order[:keep])


def compare_with(run: Run, dealing: Dealing, squares: At[U64], limits: tuple[int, ...], *, size: int) -> At[U64]:
    """Return shares of whether squares reach limits, a line for each of them, in the ring of `COMPARED`."""
    values = run.local(Holder, subtract_limits, squares, limits, dealing.first)
    return reaches_one(run, dealing, values, COMPARED, size=size * len(limits))


def tell(run: Run, dealing: Dealing, bits: At[U64], window: Lean, *, size: int) -> F64:
    """Tell everyone what bits of a comparison are."""
    return reveal(run, replace(dealing, ring=Ring(1 << window.k)), SCORES, bits, size=size)


@choreography(opens={Everyone: (MODEL, SCORES)})
def pick_likely(
    run: Run, dealing: Dealing, data: At[Held], aim: Aim, points: Distribution, rows: int, problems: int
) -> I64:
    """Return which of many columns go along with the targets most, by rows."""
    the_map, columns = map_columns(points.centre, points.scale > 0, spread_of(points)), len(points.centre)
    along = run.local(Site, multiply_targets, data, the_map, aim, rows)
    along = gather(run, dealing, along, size=columns * problems)
    return keep_largest(
        run, dealing, along, columns=columns, problems=problems, bits=ALONG_BITS, keep=WIDEST,
        moved=lambda _: math.sqrt(2.0 * problems) / rows,
    )  # fmt: skip


@choreography(opens={Holder: UNIFORM})
def score_solution(run: Run, dealing: Dealing, sums: At[RidgeShare], solved: Solved, plan: RidgePlan) -> At[U64]:
    """Return shares of E and of (N - d)^2 of (4) of `least_squares`."""
    D, m, few, half = plan.size, plan.columns, plan.probes, plan.halvings
    SW = apply_each(run, dealing, (solved.S,), solved.W, n=D, m=m)
    fit = run.local(Holder, less_twice, SW, run.local(Holder, take_H, sums), D, 1)
    mixed = [run.local(Holder, mix_columns, each, D, plan.signs) for each in (solved.W, fit)]
    size, levels = D * few, plan.levels + 1
    parts: Parts = (Part(size, WORD, half), Part(size, WORD, plan.fit_cut + half), Part(levels, WORD, TRACE_CUT))
    cut = cut_each(run, dealing, run.local(Holder, join_words, *mixed, solved.traces), parts)
    W, fit, traces = (run.local(Holder, take_part, cut, parts, k) for k in range(3))
    lost = run.local(Holder, weigh_traces, traces, plan.resolvents, dealing.first, D)
    lost = truncate(run, dealing, lost, TRACE_BITS + BITS - FREE_BITS, size=1)
    left = run.local(Holder, add_left, lost, plan, dealing.first)
    down = max(0, plan.K + FREE_BITS - LEFT_BITS)
    left = truncate(run, dealing, left, down, size=1) if down else left
    factors = (run.local(Holder, join_words, each, left) for each in (W, fit))
    product = multiply(run, dealing, *factors, size=size + 1)
    room = round(math.ldexp(CLEAR * CLOSE * math.sqrt(len(run.roster[Holder])), plan.error_bits))
    errors = run.local(Holder, add_errors, product, sums, D, few, 1, room, dealing.first)
    return run.local(Holder, join_last, errors, product, 1)


@choreography(opens={Everyone: MODEL})
def compare_scores(run: Run, dealing: Dealing, scores: list[At[U64]], plan: RidgePlan) -> int:
    """Return which of several solutions has the least score, which is all that is told."""
    tried = len(scores)
    both = run.local(Holder, stack_scores, *scores)
    both = run.local(Holder, join_words, add_common_noise(run, run.local(Holder, take_half, both, 0), lines=1,
        width=tried, bits=plan.error_bits), run.local(Holder, take_half, both, 1))  # fmt: skip
    parts: Parts = (Part(tried, WORD, plan.error_cut), Part(tried, WORD, LEFT_BITS))
    cut = cut_each(run, dealing, both, parts)
    E, squared = (run.local(Holder, take_part, cut, parts, k) for k in range(2))
    return find_least(run, dealing, E, squared, tried)


# Steps at the holders


def multiply_targets(part: Records, the_map: PublicMap, aim: Aim, rows: int) -> U64:
    """Return the share of Z'T / N: the sums of a holder's own rows, without the constant feature."""
    T, q = aim.targets(part)
    found = np.zeros((the_map.size, T.shape[1]))
    for at, raw, long in raw_blocks(part.X, the_map):
        price = np.ones(len(T[at])) if q is None else q[at]
        found += raw.T @ (T[at] * (price if long is None else price * long)[:, None])
    return encode(the_map.fold(found)[:-1].ravel() / rows, ALONG_BITS)


def take_cells(part: Any, kept: I64) -> Any:
    """Return a party's records with some columns only."""
    names = tuple(part.features[j] for j in kept)
    return replace(part, X=np.ascontiguousarray(part.X[:, kept]), features=names)


def take_points(points: Distribution, kept: I64) -> Distribution:
    """Return the distribution of some columns, as if they were independent."""
    own = np.sqrt(np.square(points.root).sum(axis=0)) if points.root.ndim > 1 else points.root
    return replace(points, centre=points.centre[kept], scale=points.scale[kept], root=own[kept])


def take_sums(sums: RidgeShare, kept: I64, size: int) -> RidgeShare:
    """Return the share of the sums of some columns and of the constant."""
    at = np.append(kept, size - 1)
    S, start = (pack(np.ascontiguousarray(unpack([each], size)[np.ix_(at, at)]), 0) for each in (sums.S, sums.start))
    return RidgeShare(S, start, sums.H.reshape(size, -1)[at].ravel(), sums.squares)


def leave_out_constant(W: U64, problems: int) -> U64:
    """Return the share of the weights of columns."""
    return W[:-problems]


def add_lines(squares: U64, columns: int) -> U64:
    """Return the share of the sum over all problems for each column."""
    found: U64 = squares.reshape(columns, -1).sum(axis=1, dtype=np.uint64)
    return found


def subtract_limits(squares: U64, limits: tuple[int, ...], first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of squares less limits, plus 1, a line for each limit."""
    lines = np.tile(squares, (len(limits), 1))
    if first:
        lines = lines - np.array([limit - 1 for limit in limits], dtype=np.int64).view(np.uint64)[:, None]
    return reduce(lines.ravel(), Ring(1 << COMPARED.k))


def compare_counts(reached: U64, lines: int, keep: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of how many columns reach each limit, less how many are kept, plus 1."""
    found = reached.reshape(lines, -1).sum(axis=1, dtype=np.uint64)
    return reduce(found - np.uint64(keep - 1) if first else found, Ring(1 << COUNTED.k))


def stack_scores(*scores: U64) -> U64:
    """Return E of all solutions, then what they are divided by."""
    return np.concatenate([np.array([each[k] for each in scores]) for k in range(2)])


def take_half(words: U64, k: int) -> U64:
    """Return the first half of some words, or the second one."""
    return np.split(words, 2)[k]


# As a job


def estimate(planned: Planned) -> Cost:
    """Estimate the cost: a solution for all columns, and as much again for all smaller ones."""
    whole = estimate_squares(planned, COLUMNS)
    return Cost(rounds=whole.rounds, bytes={party: 2 * n for party, n in whole.bytes.items()})


SELECT_COLUMNS = Declaration(
    select_columns, rehearsal=Rehearsal(by_cells, lambda _: {}, estimate), dealt=True, menu=CHOICES
)
