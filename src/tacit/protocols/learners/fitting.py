"""Weights of a linear machine on mapped records: shares of what it needs, a learner, and the rounded weights.

    by rows       each holder's own sums, or rows, are its share                   `features.local`, `learners.hinge`
    otherwise     features in shares, and sums of their products, or rows          `features.shared`, `features.rows`

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Giver, Holder, Labeller, Result, Run, Site, choreography
from tacit.errors import LocalError
from tacit.numeric.ring.triangle import pack
from tacit.numeric.shares.hinge_plan import (
    MOST_BITS,
    Z_BITS,
    HingePlan,
    choose_exponent,
    choose_iterations,
    plan_hinge,
    suit_exponent,
)
from tacit.numeric.shares.ridge_plan import CLASS_DIGITS, NUMBER_DIGITS, P_BITS, RidgePlan, plan_ridge
from tacit.numeric.shares.shared_plan import plan_shared
from tacit.protocols.facts import MODEL
from tacit.protocols.features.local import add_rows
from tacit.protocols.features.maps import PublicMap, features_of
from tacit.protocols.features.rows import map_shared, measure_length
from tacit.protocols.features.shared import OwnTargets, Side, add_shared, count_factors, fold_sums, measure_trace
from tacit.protocols.learners.bounds import HeldRows, check_brought
from tacit.protocols.learners.hinge import (
    HingeTable,
    OwnedTable,
    OwnRows,
    SharedTable,
    give_rows,
    open_table,
    share_gram,
    share_table,
    train_hinge,
)
from tacit.protocols.learners.hinge_search import COSTS, ITERATIONS, SUITED, Search, choose_cost, plan_search
from tacit.protocols.learners.least_squares import RidgeShare, Solved, calibrate, solve_ridge
from tacit.protocols.learners.rounding import bound_hinge, bound_squares, note_told, reveal_weights
from tacit.protocols.learners.targets import Aim, OwnSums
from tacit.protocols.part import Held, Names, Records
from tacit.protocols.shares.brought import bring, share_brought, take_opened
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.deposits import gather
from tacit.protocols.shares.gates import triangle_size
from tacit.scratch import ROWS, blocks

LONGEST = 1.5  # bound on the length of features with the constant one


class TrainedMachine(Result):
    """The model that everyone ends with.

    weights: a row for each feature, the constant last, and a column for each problem. step: to which they are rounded.
    middle, reach: of a regression, so that an answer is middle + reach f. alpha: of least squares. seed: of landmarks
    or a layer. class_weights: of each class, if they differ. sigmoids: Platt's A and B of probabilities, if these were
    asked for. own: what each holder keeps of its own rows, by rows. C: of the hinge.
    """

    classes: Names
    map: PublicMap
    weights: F64
    step: float
    middle: float
    reach: float
    alpha: float
    records: int
    seed: int
    class_weights: F64 | None = None
    sigmoids: F64 | None = None
    own: At[OwnSums] | None = None
    C: float = 0.0


@dataclass(frozen=True)
class Task:
    """What least squares is to be solved for: records, their map and targets, and how the table is split.

    tube: of numbers with the hinge, how large an error costs nothing.
    caps: how large values of columns may be in shares. kept: of rows that were learnt before, by rows.
    """

    data: At[Held]
    the_map: PublicMap
    aim: Aim
    partition: str
    sizes: dict[str, tuple[int, int]]
    caps: F64
    problems: int
    kept: At[OwnSums] | None = None
    device: str = "cpu"
    probability: bool = False
    tube: float | None = None


@dataclass(frozen=True)
class Learnt:
    """Rounded weights, the step, the a that was taken (0 with the hinge), and what holders keep of their own rows.

    sigmoids: A and B of probabilities, a line for each problem. C: of the hinge.
    """

    weights: F64
    step: float
    alpha: float = 0.0
    own: At[OwnSums] | None = None
    sigmoids: F64 | None = None
    C: float = 0.0


@choreography(opens={Everyone: MODEL})
def learn_squares(run: Run, dealing: Dealing, task: Task, alphas: tuple[float, ...], rows: int) -> Learnt:
    """Return the rounded weights of least squares."""
    sums, plan, own = share_squares(run, dealing, task, alphas, rows)
    solve = partial(solve_ridge)
    if own is not None:
        counts = {party: size[0] for party, size in task.sizes.items()}
        sums, solve = bind_sums(run, dealing, sums, plan, HeldRows(counts, task.aim.weighted))
    solved = solve(run, dealing, sums, plan)
    sigmoids = calibrate(run, dealing, sums, solved, plan) if task.probability else None
    found, step = reveal_weights(run, dealing, solved.W, size=plan.size * plan.columns, bits=plan.bits)
    note_told(run, bound_squares(float(np.linalg.norm(found)), solved.resolvent.alpha, plan.columns), step)
    return Learnt(found, step, solved.resolvent.alpha, own, sigmoids)


def share_squares(
    run: Run, dealing: Dealing, task: Task, alphas: tuple[float, ...], rows: int
) -> tuple[At[RidgeShare], RidgePlan, At[OwnSums] | None]:
    """Return what least squares needs, the plan for it, and by rows what holders keep of their own rows.

    By rows that is the sums of each site: `gather_sums` or `bind_sums` make shares of them.
    """
    own: At[OwnSums] | None = None
    data, the_map, aim = task.data, task.the_map, task.aim
    asked = partial(plan_ridge, rows, the_map.size, task.problems, alphas)
    plan = asked(CLASS_DIGITS if aim.names else NUMBER_DIGITS)
    if task.partition == "horizontal":
        own = run.local(Site, sum_rows, data, the_map, aim, plan, task.kept, task.device)
        return run.local(Site, share_sums, own, plan), plan, own
    side = describe_side(run, task.sizes, task.partition, task.caps, weighted=aim.weighted)
    targets = run.local(Holder, own_targets, data, aim, plan, run.who(Holder), side.labeller)
    shared = plan_shared(rows, the_map.width, count_factors(the_map, side))
    raw = add_shared(run, dealing, data, targets, the_map, side, shared, task.problems)
    plan = asked(plan.digits, longer=measure_trace(run, dealing, raw, the_map, side, shared))
    return fold_sums(run, dealing, raw, targets, the_map, side, shared, plan), plan, own


def gather_sums(run: Run, dealing: Dealing, sums: At[RidgeShare], plan: RidgePlan) -> At[RidgeShare]:
    """Return shares of the sums of all sites, at those who compute."""
    words = gather(run, dealing, run.local(Site, join_share, sums), size=sum(count_words(plan)))
    return run.local(Holder, split_share, words, plan, dealing.first)


def bind_sums(
    run: Run, dealing: Dealing, sums: At[RidgeShare], plan: RidgePlan, held: HeldRows
) -> tuple[At[RidgeShare], partial[Solved]]:
    """Return shares of the sums of all sites, to which each site is bound, and how to solve for them."""
    brought = bring(run, dealing, run.local(Site, join_share, sums), size=sum(count_words(plan)))
    bound = run.local(Holder, split_share, share_brought(run, dealing, brought), plan, dealing.first)
    n = triangle_size(plan.size)
    S, start = (take_opened(run, dealing, brought, at, at + n) for at in (0, n))
    start = replace(start, D=run.local(Holder, add_one, start.D, plan.size))
    check = partial(check_brought, run, dealing, brought, plan, held)
    return bound, partial(solve_ridge, opened=(S, start), check=check)


@choreography(opens={Everyone: MODEL})
def learn_hinge(run: Run, dealing: Dealing, task: Task, C: float | None, unit: float, rows: int, seed: int) -> Learnt:
    """Return the rounded weights of the hinge, with this C, or if there is none with one that is chosen.

    unit: what weights of records were divided by. seed: public, of the folds on which C is chosen.
    """
    aim, problems = task.aim, task.problems
    labeller = None if task.partition == "horizontal" else run.roster[Labeller][0]
    copies = 1 if task.tube is None else 2
    counts = tuple(copies * n if labeller is None else rows * (p == labeller) for p, (n, _) in task.sizes.items())
    asked = partial(plan_hinge, counts, task.the_map.size, margin=1.0 + (task.tube or 0.0))
    if labeller is None:
        table, rough = share_rows(run, dealing, task, asked, None if C is None else C * unit)
    else:
        table, rough = share_cells(run, dealing, task, labeller, rows)
    fits = partial(asked, longest=rough.length, reach=rough.reach, measured=rough.measured)
    if C is None:
        plan, C = search_cost(run, dealing, table, plan_search(counts, problems, seed), task, unit, rough, fits)
    else:
        exponent = suit_exponent(C, problems, rough.length) if rough.measured else None
        iterations = choose_iterations(C)
        plan = fits(problems, C * unit, partial=aim.partial, exponent=exponent, iterations=iterations)
    w = train_hinge(run, dealing, table, plan)
    found, step = reveal_weights(run, dealing, w, size=plan.columns * problems, bits=plan.w_bits)
    kappa = float(plan.kappas[0])
    note_told(run, bound_hinge(C * unit, rough.reach, problems), step * kappa)
    return Learnt(found * kappa, step * kappa, C=C)


def search_cost(
    run: Run,
    dealing: Dealing,
    table: HingeTable,
    search: Search,
    task: Task,
    unit: float,
    rough: Lengths,
    fits: Callable[..., HingePlan],
) -> tuple[HingePlan, float]:
    """Return the plan of a training with the best C of the menu, and this C; sizes do not depend on which it is."""
    exponent = suit_exponent(SUITED, 1, rough.length) if rough.measured else choose_exponent(SUITED, 1)
    fixed = partial(fits, C=COSTS[0] * unit, iterations=ITERATIONS, exponent=exponent)
    columns = search.columns
    each = tuple(float(c) * unit for c in np.repeat(COSTS, columns // len(COSTS)))
    best = COSTS[choose_cost(run, dealing, table, search, fixed(columns, partial=True, costs=each))]
    return fixed(task.problems, partial=task.aim.partial, costs=(best * unit,) * task.problems), best


@dataclass(frozen=True)
class Lengths:
    """How long rows of features are: as a root mean square, `measured` or not, and each of them, at most."""

    length: float
    reach: float
    measured: bool = False


def share_rows(
    run: Run, dealing: Dealing, task: Task, asked: Callable[..., HingePlan], C: float | None
) -> tuple[HingeTable, Lengths]:
    """Return the rows of all owners, opened once under masks, and how long they are. C: None if it is yet to choose."""
    weighted = task.aim.weighted
    plan = asked(task.problems, 1.0 if weighted or C is None else C, longest=LONGEST, partial=task.aim.partial)
    rows = run.local(Site, map_rows, task.data, task.the_map, task.aim, task.tube)
    table: OwnedTable | SharedTable
    if run.roster[Giver]:
        table = give_rows(run, dealing, rows, plan)
    else:
        table = open_table(run, dealing, rows, plan, k=MOST_BITS if weighted or C is None else 0)
    if not weighted:
        return table, Lengths(LONGEST, LONGEST)
    gram = run.local(Holder, share_gram, table.Z) if isinstance(table, OwnedTable) else table.gram
    length = measure_length(run, dealing, gram, rows=plan.n, size=plan.columns)
    return table, Lengths(length, LONGEST, measured=True)


def share_cells(run: Run, dealing: Dealing, task: Task, labeller: str, rows: int) -> tuple[HingeTable, Lengths]:
    """Return rows that nobody has as a whole, opened once under a mask, and how long they are."""
    side = describe_side(run, task.sizes, task.partition, task.caps, weighted=task.aim.weighted)
    labels = run.local(Holder, own_labels, task.data, task.aim, task.problems, run.who(Holder), labeller)
    prices = run.local(Holder, take_prices, labels)
    mapped = map_shared(run, dealing, task.data, prices, task.the_map, side, rows)
    return share_table(mapped, labels), Lengths(mapped.length, mapped.reach, mapped.measured)


def count_table(sizes: dict[str, tuple[int, int]], partition: str, *, least: int = 2) -> tuple[int, int]:
    """Return how many records and columns there are; refuse parties whose tables do not fit together."""
    rows, columns = ({p: size[k] for p, size in sizes.items()} for k in (0, 1))
    same, what = (columns, "columns") if partition == "horizontal" else (rows, "records")
    held = {p: n for p, n in same.items() if sizes[p] != (0, 0)}
    if len({*held.values()}) > 1:
        raise LocalError(f"the parties hold different numbers of {what} ({held}): align them first")
    total = sum(rows.values()) if partition == "horizontal" else max(rows.values())
    if total < least:
        raise LocalError(f"there are too few records ({total}): bring {least} at least")
    return total, sum(columns.values()) if partition == "vertical" else max(columns.values())


def describe_side(run: Run, sizes: dict[str, tuple[int, int]], partition: str, caps: F64, *, weighted: bool) -> Side:
    """Return what is public of a table whose records are between several owners."""
    holders, d = run.roster[Holder], len(caps)
    owners = tuple(p for p in holders if sizes[p][1])
    if partition == "vertical":
        starts = np.cumsum([0, *(sizes[p][1] for p in holders)])
        columns = {p: np.arange(starts[i], starts[i + 1]) for i, p in enumerate(holders)}
    else:
        columns = {p: np.arange(d) for p in holders}
    return Side(owners, columns, run.roster[Labeller][0], weighted, caps)


def alphas_of(alpha: float | str, unit: float, menu: tuple[float, ...]) -> tuple[float, ...]:
    """Return what is tried for a, where weights were divided by `unit`."""
    return tuple(a / unit for a in (menu if isinstance(alpha, str) else (float(alpha),)))


# Steps at the holders


def sum_rows(
    part: Records, the_map: PublicMap, aim: Aim, plan: RidgePlan, kept: OwnSums | None, device: str
) -> OwnSums:
    """Return the sums of a holder's own rows, with those that it learnt before."""
    T, q = aim.targets(part)
    found = add_rows(part.X, T, q, the_map, halve_signs(plan), device)
    if kept is None:
        return OwnSums(found.S, found.H, found.squares, len(T))
    if kept.S.shape != found.S.shape or kept.H.shape != found.H.shape:
        raise LocalError("the sums that were kept are of another layer or of other classes: fit again")
    return OwnSums(found.S + kept.S, found.H + kept.H, found.squares + kept.squares, len(T) + kept.rows)


def share_sums(own: OwnSums, plan: RidgePlan) -> RidgeShare:
    """Return what least squares needs of a site: the sums of its own rows. p_0 lacks 1, which is added later."""
    return RidgeShare(
        S=encode(pack(own.S, 0), plan.bits),
        start=encode(pack(np.ldexp(-own.S, -plan.K), 0), P_BITS),
        H=encode(own.H.ravel(), 2 * plan.bits),
        squares=encode(own.squares, plan.error_bits),
    )


def count_words(plan: RidgePlan) -> tuple[int, ...]:
    """Return how many words each part of a share has."""
    triangle = triangle_size(plan.size)
    return triangle, triangle, plan.size * plan.columns, plan.probes


def join_share(share: RidgeShare) -> U64:
    """Return all words of a share, one after the other."""
    return np.concatenate([share.S, share.start, share.H, share.squares])


def split_share(words: U64, plan: RidgePlan, first: bool) -> RidgeShare:  # noqa: FBT001 - a step
    """Return a share of these words."""
    S, start, H, squares = np.split(words, np.cumsum(count_words(plan))[:-1])
    return RidgeShare(S, add_one(start, plan.size) if first else start, H, squares)


def add_one(start: U64, size: int) -> U64:
    """Return p_0 with the 1 that no site brings."""
    i, found = np.arange(size), start.copy()
    found[i * (i + 3) // 2] += np.uint64(1 << P_BITS)
    return found


def map_rows(part: Records, the_map: PublicMap, aim: Aim, tube: float | None) -> OwnRows:
    """Return a holder's rows of features, as whole numbers, with their signs and prices; of numbers each row twice."""
    T, q = aim.targets(part)
    Z = np.empty((len(part.X), the_map.size), dtype=np.int16)
    for rows, block in blocks(part.X, ROWS):
        Z[rows] = np.rint(np.ldexp(features_of(the_map, block), Z_BITS)).astype(np.int16)
    if tube is None:
        return OwnRows(Z, T.astype(np.int8), q)  # 0 of a record that is of no class
    signs = np.repeat(np.array([[1], [-1]], dtype=np.int8), len(T), axis=0)
    margin = np.concatenate([T[:, 0] - tube, -T[:, 0] - tube])
    return OwnRows(np.vstack([Z, Z]), signs, None if q is None else np.tile(q, 2), margin)


def own_labels(part: Records, aim: Aim, problems: int, me: str, labeller: str) -> OwnRows:
    """Return the signs and prices of all records at the labeller; nothing at the others."""
    none = np.empty((0, 0), dtype=np.int16)
    if me != labeller:
        return OwnRows(none, np.empty((0, problems), dtype=np.int8))
    T, q = aim.targets(part)
    return OwnRows(none, T.astype(np.int8), q)


def take_prices(labels: OwnRows) -> OwnTargets:
    """Return by what rows of features are multiplied: their prices."""
    q = np.ones(len(labels.signs)) if labels.price is None else labels.price
    return OwnTargets(np.empty((len(q), 0)), q, np.empty(0))


def own_targets(part: Records, aim: Aim, plan: RidgePlan, me: str, labeller: str) -> OwnTargets:
    """Return what the labeller knows of targets and weights; nothing at the others."""
    if me != labeller:
        return OwnTargets(np.empty((0, plan.columns)), np.empty(0), np.zeros(plan.probes))
    T, q = aim.targets(part)
    root = np.ones(len(T)) if q is None else np.sqrt(q)
    T = T * root[:, None]
    return OwnTargets(T, root, np.square(T @ halve_signs(plan)).sum(axis=0))


def halve_signs(plan: RidgePlan) -> F64:
    """Return the signs of random sums of targets, so that none is larger than 1."""
    return np.ldexp(plan.signs.astype(np.float64), -plan.halvings)


def encode(x: F64, bits: int) -> U64:
    """Return numbers as words with so many bits after the point; they were bounded before."""
    return np.rint(np.ldexp(x, bits)).astype(np.int64).view(np.uint64)
