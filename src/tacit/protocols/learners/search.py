"""A search in shares: how good a machine is with each candidate's parameters; one rounded number of each is revealed.

    1. sizes, names of classes         public                                                     `learners.targets`
    2. folds                           fixed; the size of each is public                          `learners.scoring`
    3. of each map (kernel, gamma, layer), on few features:
         least squares                 without each fold, for all alpha at once               `learners.fold_squares`
         hinge                         without each of some folds, for all C at once              `learners.hinge`
    4. scores                          of records that were left out                              `learners.scoring`

No model leaves the shares, nor a class's size, nor which record is given which class. The best candidate is trained
anew, by a run of its own. `alpha="auto"` stands for the best of `MENU`. Scores of classes are of `SAMPLE` records at
most, those of numbers of all.

Roles, threat: as `learners.svm`. NOT protected: many searches tell more about the records; whoever knows all records
but one compares scores with those of its own guesses, up to the noise of `learners.scoring`.
Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Everyone, Holder, Labeller, Result, Run, State, choreography
from tacit.choreo.declaration import Items, Named, Switch, parameter
from tacit.choreo.protocol import SMALL, Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.ring.triangle import pack
from tacit.numeric.ring.words import Z64, Ring
from tacit.numeric.shares.hinge_plan import Z_BITS, choose_exponent, plan_hinge, suit_exponent
from tacit.numeric.shares.ridge_plan import CLASS_DIGITS, NUMBER_DIGITS, P_BITS, STEEPEST, RidgePlan, plan_ridge
from tacit.protocols.facts import BALANCE, CLASSES, LANDMARKS, MODEL, SCORES, SIZES
from tacit.protocols.features.coin import seed_of, toss_coin
from tacit.protocols.features.landmarks import Distribution
from tacit.protocols.features.local import add_rows
from tacit.protocols.features.maps import FOURIER, PublicMap, map_layer
from tacit.protocols.features.rows import map_shared
from tacit.protocols.features.shared import OwnTargets
from tacit.protocols.learners.elm import choose_activation, choose_nodes
from tacit.protocols.learners.fitting import (
    Task,
    count_table,
    describe_side,
    encode,
    map_rows,
    own_labels,
    share_cells,
    share_rows,
)
from tacit.protocols.learners.fold_squares import FoldShare, FoldWeights, find_errors, solve_folds
from tacit.protocols.learners.hinge import OwnRows, train_moving, weights_of
from tacit.protocols.learners.hinge_search import Search, hold_out
from tacit.protocols.learners.menu import COUNT
from tacit.protocols.learners.menu import MENU as CHOICES
from tacit.protocols.learners.scoring import (
    FOLDS,
    Folded,
    Lines,
    count_right,
    fold_records,
    step_of,
    take_best,
    tell_scores,
)
from tacit.protocols.learners.svm import HINGE, Learner, caps_of, choose_map, choose_size, place_points
from tacit.protocols.learners.targets import (
    MOST_WEIGHT,
    Aim,
    Classes,
    agree_on_names,
    check_labels,
    check_weights,
    find_reach,
    labellers_of,
    publish_sizes,
    weigh_classes,
)
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import Held, Names, Records, by_cells
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.gates import square_each, triangle_size, truncate
from tacit.protocols.shares.held_rows import multiply_itself
from tacit.protocols.shares.owned import I16, Shape, open_rows, prepare, transpose_times

SEARCHED, MOST_SEARCHED = 100, 300  # features while searching: by default, and where candidates name a number
SAMPLE = 2000  # records of classes that are scored
MENU = (0.03, 0.3, 3.0)  # of alpha, where it is open
FEW = 2  # candidates of a rehearsal
ITERATIONS = 20  # of the hinge
HINGE_ROOM = 20_000  # values of a hinge search: records, candidates, problems and folds
SHORT_BITS = 14  # after the point, of weights that are multiplied by rows
RING = 48
T_BITS = 16  # after the point, of targets that are multiplied by rows in shares
ROOT_BITS = 20  # of 1 / sqrt(n)
OF_NUMBERS = 64.0  # a record two spreads off changes E by so much less than one of a class: a reach is 16 spreads

CANDIDATE = Named({**CHOICES, "n_hidden": COUNT})


@dataclass(frozen=True, kw_only=True)
class Tried(Learner):
    """What is tried: parameters that change the others of the learner; and the layer of an ELM, which has no kernel."""

    settings: tuple[Mapping[str, Any], ...] = parameter(
        (), Items(CANDIDATE, 0, 1000), "what is tried: of each a rounded score is told", opens=True
    )
    layered: bool = parameter(
        False,  # noqa: FBT003 - a default
        Switch(),
        "whether candidates are extreme learning machines",
        opens=True,
    )
    activation: str = "auto"
    n_hidden: int | None = None
    scale: float = 1.0


class Searched(Result):
    """The score of each candidate, in their order; to which step, on how many records and in how many folds."""

    scores: F64
    step: float
    records: int
    folds: int


@dataclass(frozen=True)
class Goal:
    """What is public of a task: the map, targets and how many problems there are; where sums are made."""

    the_map: PublicMap
    aim: Aim
    problems: int
    device: str


@dataclass(frozen=True)
class Bench:
    """What all candidates of a map are trained on. labeller: who has all labels; None by rows."""

    run: Run
    dealing: Dealing
    task: Task
    folded: Folded
    rows: int
    unit: float
    labeller: str | None

    @property
    def goal(self) -> Goal:
        """What steps at holders are told of the task."""
        return Goal(self.task.the_map, self.task.aim, self.task.problems, self.task.device)


@choreography(opens={Everyone: (SIZES, CLASSES, LANDMARKS, BALANCE, MODEL, SCORES)})
def search_machine(
    run: Run,
    data: At[Held],
    *,
    partition: str,
    kernel: AnyKernel,
    tried: Tried,
    classify: bool = True,
    classes: Names | None = None,
    target_range: tuple[float, float] | None = None,
) -> Searched:
    """Tell everyone the score of each candidate."""
    check_dealer(run)
    if tried.loss == HINGE and not classify:
        raise LocalError("a search with loss='hinge' counts errors of classes: search with loss='least_squares'")
    run.local(Holder, check_labels, data, classify, run.who(Holder), labellers_of(run, partition))
    run.local(Holder, check_weights, data, MOST_WEIGHT if tried.between_sites else tried.weight_cap, run.who(Holder))
    sizes = publish_sizes(run, data)
    rows, columns = count_table(sizes, partition)
    labeller = None if partition == "horizontal" else run.roster[Labeller][0]
    dealing = agree_with_dealer(run)
    found = agree_on_names(run, dealing, data, classes, tried.least_class) if classify else Classes()
    counts = {party: size[0] for party, size in sizes.items()}
    if tried.layered:
        points, seed = None, seed_of(toss_coin(run, data)) if tried.repeat is None else tried.repeat
    else:
        points = place_points(run, dealing, data, partition, counts, rows, columns, tried.repeat)
        seed = points.seed
    data, folded = fold_records(run, data, partition, labeller, seed)
    middle, reach = (0.0, 1.0) if classify else find_reach(run, dealing, data, rows, target_range)
    weights = weigh_classes(run, dealing, data, found.names, tried, rows)
    problems = len(found.names) if len(found.names) > 2 else 1  # noqa: PLR2004 - two classes are one problem
    cap = sizes.cap(tried)
    unit = cap * (1.0 if weights is None else max(float(weights.max()), 1.0))
    aim = Aim(found, middle, reach, weights, cap, partial=True)
    scores = np.full(len(tried.settings), np.nan)
    step = 0.0
    for key, places in group_trials(tried).items():
        the_map = make_map(dict(key), kernel, tried, points, seed, rows, columns, partition)
        caps = np.full(columns, 1.0) if points is None else caps_of(points)
        task = Task(data, the_map, aim, partition, sizes, caps, problems, device=tried.device)
        bench = Bench(run, dealing, task, folded, rows, unit, labeller)
        score = score_hinge if tried.loss == HINGE else score_squares
        scores[list(places)], step = score(bench, [tried.settings[i] for i in places], tried)
    run.note(records=rows, candidates=len(tried.settings))
    return Searched(scores=scores, step=step, records=rows, folds=FOLDS)


def group_trials(tried: Tried) -> dict[tuple[tuple[str, Any], ...], list[int]]:
    """Return which candidates have the same map, by what they say of it."""
    found: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for i, each in enumerate(tried.settings):
        found.setdefault(name_map(each), []).append(i)
    return found


def name_map(candidate: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return what a candidate says of its map."""
    return tuple(sorted((name, value) for name, value in candidate.items() if name not in {"alpha", "C"}))


def make_map(
    given: dict[str, Any],
    kernel: AnyKernel,
    tried: Tried,
    points: Distribution | None,
    seed: int,
    rows: int,
    columns: int,
    partition: str,
) -> PublicMap:
    """Return the map of a candidate, with fewer features than the model will have."""
    named = next((given[name] for name in ("features", "n_hidden") if given.get(name, "auto") != "auto"), None)
    most = SEARCHED if named is None else MOST_SEARCHED
    if points is None:
        activation = choose_activation(given.get("activation", tried.activation), partition)
        nodes = min(most, given.get("n_hidden") or tried.n_hidden or choose_nodes(rows))
        nodes = max(1, nodes // 2) if activation == FOURIER else nodes
        return map_layer(activation, nodes, given.get("scale", tried.scale), seed, columns)
    own = {name: given[name] for name in ("kernel", "gamma", "degree", "coef0") if name in given}
    size = min(most, choose_size(given.get("features", tried.features), rows))
    return choose_map(points, replace(kernel, **own), size)


# Least squares


def score_squares(bench: Bench, trials: Sequence[Mapping[str, Any]], tried: Tried) -> tuple[F64, float]:
    """Return the scores of candidates with the same map, and to which step they are rounded."""
    run, dealing, task = bench.run, bench.dealing, bench.task
    wanted = [list(MENU) if a == "auto" else [float(a)] for a in (t.get("alpha", tried.alpha) for t in trials)]
    alphas = tuple(a / bench.unit for a in sorted({a for each in wanted for a in each}))
    digits = CLASS_DIGITS if task.aim.names else NUMBER_DIGITS
    asked = partial(plan_ridge, bench.rows, task.the_map.size, task.problems, alphas, digits)
    if bench.labeller is None:
        plan = asked()
        sums = run.local(
            Holder, share_folds, task.data, bench.goal, plan, bench.folded, run.who(Holder), run.roster[Holder]
        )
        sums = run.local(Holder, add_one, sums, plan, dealing.first)
        mapped = None
    else:
        mapped = map_cells(bench)
        plan = asked(longer=2 * max(0, math.ceil(math.log2(mapped.length / math.sqrt(2.0)) - 0.1)))
        sums = sum_cells(bench, mapped, plan)
    solved = solve_folds(run, dealing, sums, plan, FOLDS)
    choices = tuple(tuple(place_alpha(a / bench.unit, plan) for a in each) for each in wanted)
    if not task.aim.names:
        return score_numbers(bench, sums, solved, plan, choices)
    at = bench.folded.sample(SAMPLE, FOLDS)
    if mapped is None:
        counts = bench.folded.count(at)
        labels = run.local(
            Holder, map_sample, bench.goal, task.data, at, bench.folded, run.who(Holder), run.roster[Holder]
        )
        narrow = replace(dealing, ring=Ring(1 << RING))
        matrix: Any = open_rows(run, narrow, run.local(Holder, take_rows, labels), Shape(counts, plan.size, RING))
        numbers = np.arange(len(at))
    else:
        labels, matrix, counts, numbers = mapped.labels, mapped.matrix, bench.folded.rows, at
    m, A = task.problems, len(plan.resolvents)
    shifted = Part(A * FOLDS * plan.size * m, 64, max(0, plan.bits - SHORT_BITS))
    short = cut_each(run, dealing, run.local(Holder, turn_weights, solved.W, (A, FOLDS, plan.size, m)), (shifted,))
    fold = bench.folded.fold[at]
    columns = (np.arange(A)[:, None, None] * FOLDS + fold) * m + np.arange(m)[None, :, None]
    lines = Lines(numbers, counts, columns, A, m)
    right = count_right(run, dealing, matrix, short, labels, lines, k=RING, columns=A * FOLDS * m)
    best = take_best(run, dealing, right, choices)
    whole = run.local(Holder, share_number, len(at), dealing.first)
    told = tell_scores(run, dealing, best, whole, tried=len(trials), bits=0, records=len(at), low=0.0)
    return told, step_of(len(at))


def score_numbers(
    bench: Bench, sums: At[FoldShare], solved: FoldWeights, plan: RidgePlan, choices: tuple[tuple[int, ...], ...]
) -> tuple[F64, float]:
    """Return R^2 of candidates, from sums over the records that were left out."""
    run, dealing, n = bench.run, bench.dealing, bench.rows
    errors = find_errors(run, dealing, sums, solved, plan, FOLDS)
    t = run.local(Holder, sum_targets, sums, plan.size)
    short = truncate(run, dealing, t, max(0, 2 * plan.bits - T_BITS), size=1)
    root = round(math.ldexp(1.0 / math.sqrt(n), ROOT_BITS))
    scaled = truncate(run, dealing, run.local(Holder, times, short, root), ROOT_BITS, size=1)
    square = square_each(run, dealing, scaled, size=1)
    bits = min(T_BITS, 45 - plan.K)
    parts = (
        Part(len(plan.resolvents), 64, plan.error_bits - bits),
        Part(1, 64, plan.error_bits - bits),
        Part(1, 64, 2 * T_BITS - bits),
    )
    cut = cut_each(run, dealing, run.local(Holder, join_moments, errors, sums, square), parts)
    whole, gains = (run.local(Holder, spread_of, cut, len(plan.resolvents), gains) for gains in (False, True))
    best = take_best(run, dealing, gains, choices)
    told = tell_scores(
        run, dealing, best, whole, tried=len(choices), bits=bits, records=n, low=-1.0, unit=1.0 / OF_NUMBERS
    )
    return told, step_of(n)


def place_alpha(alpha: float, plan: RidgePlan) -> int:
    """Return which resolvent of the plan is that of an alpha, which may have been raised."""
    return int(np.argmin(np.abs(np.log(plan.alphas) - math.log(max(alpha, 2.0**plan.K / STEEPEST)))))


# Over columns and cells


@dataclass(frozen=True)
class Mapped:
    """Rows of features in shares, with labels at who has them, and how long rows are."""

    matrix: Any
    labels: At[OwnRows]
    length: float


def map_cells(bench: Bench) -> Mapped:
    """Return the rows of all records, times roots of their weights."""
    run, task, labeller = bench.run, bench.task, str(bench.labeller)
    side = describe_side(run, task.sizes, task.partition, task.caps, weighted=task.aim.weighted)
    labels = run.local(Holder, own_labels, task.data, task.aim, task.problems, run.who(Holder), labeller)
    roots = run.local(Holder, take_roots, labels)
    found = map_shared(run, bench.dealing, task.data, roots, task.the_map, side, bench.rows)
    return Mapped(found.matrix, labels, found.length)


def sum_cells(bench: Bench, mapped: Mapped, plan: RidgePlan) -> At[FoldShare]:
    """Return shares of the sums of each fold, by products of rows that are in shares."""
    run, dealing, task = bench.run, replace(bench.dealing, ring=Z64), bench.task
    at = run.roster[Holder].index(str(bench.labeller))
    folds, m = bench.folded.own(at), task.problems
    grams = [multiply_itself(run, dealing, mapped.matrix, rows=part) for part in folds]
    targets = run.local(
        Holder, weigh_targets, task.data, bench.goal, folds, run.who(Holder), bench.labeller, bench.rows
    )
    batch = prepare(run, dealing, mapped.matrix, products=1, m=FOLDS * m)
    H = transpose_times(run, dealing, batch, 0, run.local(Holder, take_lines_of, targets))
    size, K = triangle_size(plan.size), plan.K
    up = P_BITS - K - 2 * Z_BITS
    parts = (Part(FOLDS * size, 64, 2 * Z_BITS - plan.bits), Part(size, 64, max(0, -up)))
    both = cut_each(run, dealing, run.local(Holder, join_grams, *grams), parts)
    return run.local(Holder, join_cells, both, H, targets, plan, FOLDS * size, max(0, up), dealing.first)


# Hinge


def score_hinge(bench: Bench, trials: Sequence[Mapping[str, Any]], tried: Tried) -> tuple[F64, float]:
    """Return the scores of candidates with the same map, and to which step they are rounded."""
    run, dealing, task, m = bench.run, bench.dealing, bench.task, bench.task.problems
    costs = [float(t.get("C", tried.C)) for t in trials]
    used = int(np.clip(HINGE_ROOM // (bench.rows * len(tried.settings) * m), 1, FOLDS))
    search = Search(bench.folded.rows, bench.folded.fold, used, tuple(range(m)), len(costs))
    asked = partial(plan_hinge, bench.folded.rows, task.the_map.size)
    if bench.labeller is None:
        table, rough = share_rows(run, dealing, task, asked, None)
    else:
        table, rough = share_cells(run, dealing, task, bench.labeller, bench.rows)
    suited = math.exp(sum(map(math.log, costs)) / len(costs))
    exponent = suit_exponent(suited, 1, rough.length) if rough.measured else choose_exponent(suited, 1)
    each = tuple(float(c) * bench.unit for c in np.repeat(costs, used * m))
    plan = asked(
        len(each),
        min(costs) * bench.unit,
        longest=rough.length,
        reach=rough.reach,
        measured=rough.measured,
        partial=True,
        costs=each,
        iterations=ITERATIONS,
        exponent=exponent,
    )
    labels = run.local(Holder, hold_out, table.labels, search, run.who(Holder), run.roster[Holder])
    moving = train_moving(run, dealing, replace(table, labels=labels), plan)
    part = Part(plan.columns * plan.problems, 64, plan.w_bits - plan.short_bits)
    short = cut_each(run, replace(dealing, ring=Z64), run.local(Holder, weights_of, moving), (part,))
    at = bench.folded.sample(SAMPLE, used)
    columns = (np.arange(len(costs))[:, None, None] * used + bench.folded.fold[at]) * m + np.arange(m)[None, :, None]
    lines = Lines(at, bench.folded.rows, columns, len(costs), m)
    right = count_right(run, dealing, table.matrix, short, table.labels, lines, k=plan.window.k, columns=plan.problems)
    whole = run.local(Holder, share_number, len(at), dealing.first)
    told = tell_scores(run, dealing, right, whole, tried=len(trials), bits=0, records=len(at), low=0.0)
    return told, step_of(len(at))


# Steps at the holders


def share_folds(
    part: Records, task: Goal, plan: RidgePlan, folded: Folded, me: str, holders: tuple[str, ...]
) -> FoldShare:
    """Return the sums of each fold of a holder's own rows; `start` is less S / 2^K."""
    T, q = task.aim.targets(part)
    ones = np.eye(task.problems)
    each = [
        add_rows(part.X[own], T[own], None if q is None else q[own], task.the_map, ones, task.device)
        for own in folded.own(holders.index(me))
    ]
    whole = np.sum([fold.S for fold in each], axis=0)
    return FoldShare(
        S=np.concatenate([encode(pack(fold.S, 0), plan.bits) for fold in each]),
        H=np.concatenate([encode(fold.H.ravel(), 2 * plan.bits) for fold in each]),
        squares=encode(np.array([fold.squares.sum() for fold in each]), plan.error_bits),
        start=encode(pack(np.ldexp(-whole, -plan.K), 0), P_BITS),
    )


def add_one(sums: FoldShare, plan: RidgePlan, first: bool) -> FoldShare:  # noqa: FBT001 - a step
    """Return the sums with I - S / 2^K."""
    if not first:
        return sums
    start, i = sums.start.copy(), np.arange(plan.size)
    start[i * (i + 3) // 2] += np.uint64(1 << P_BITS)
    return FoldShare(sums.S, sums.H, sums.squares, start)


def map_sample(task: Goal, part: Records, at: I64, folded: Folded, me: str, holders: tuple[str, ...]) -> OwnRows:
    """Return a holder's rows of features that are scored, with their signs."""
    rows = map_rows(part, task.the_map, task.aim, None)
    start = sum(folded.rows[: holders.index(me)])
    own = at[(at >= start) & (at < start + len(rows.signs))] - start
    return OwnRows(np.ascontiguousarray(rows.Z[own]), rows.signs[own], None)


def take_rows(rows: OwnRows) -> I16:
    """Return the rows."""
    return rows.Z


def turn_weights(W: U64, shape: tuple[int, int, int, int]) -> U64:
    """Return weights as a row for each feature, with the columns of all a and folds side by side."""
    return np.ascontiguousarray(W.reshape(shape).transpose(2, 0, 1, 3)).ravel()


def share_number(number: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of a public number."""
    return np.array([number if first else 0], dtype=np.uint64)


def take_roots(labels: OwnRows) -> OwnTargets:
    """Return by what rows of features are multiplied: roots of their prices."""
    q = np.ones(len(labels.signs)) if labels.price is None else labels.price
    return OwnTargets(np.empty((len(q), 0)), np.sqrt(q), np.empty(0))


class WeighedTargets(State):
    """Targets times roots of weights, a line for each fold and problem, as words; and the squares of each fold."""

    lines: U64
    squares: F64


def weigh_targets(
    part: Records, task: Goal, folds: list[slice], me: str, labeller: str | None, n: int
) -> WeighedTargets:
    """Return the labeller's targets; zeros of the others."""
    found, squares = np.zeros((FOLDS, task.problems, n)), np.zeros(FOLDS)
    if me == labeller:
        T, q = task.aim.targets(part)
        T = T if q is None else T * np.sqrt(q)[:, None]
        for f, own in enumerate(folds):
            found[f, :, own] = T[own].T
            squares[f] = np.square(T[own]).sum()
    return WeighedTargets(encode(found.reshape(-1, n), T_BITS).ravel(), squares)


def take_lines_of(targets: WeighedTargets) -> U64:
    """Return the lines."""
    return targets.lines


def join_grams(*grams: U64) -> U64:
    """Return the grams of all folds, and their sum."""
    return np.concatenate([*grams, np.sum(grams, axis=0, dtype=np.uint64)])


def join_cells(
    both: U64,
    H: U64,
    targets: WeighedTargets,
    plan: RidgePlan,
    size: int,
    up: int,
    first: bool,  # noqa: FBT001 - a step
) -> FoldShare:
    """Return the sums of each fold."""
    start = np.uint64(0) - (both[size:] << np.uint64(up))
    table = H.reshape(plan.size, FOLDS, plan.columns).transpose(1, 0, 2)
    lifted = np.ascontiguousarray(table).ravel() << np.uint64(2 * plan.bits - Z_BITS - T_BITS)
    found = FoldShare(both[:size].copy(), lifted, encode(targets.squares, plan.error_bits), start)
    return add_one(found, plan, first)


def sum_targets(sums: FoldShare, size: int) -> U64:
    """Return the share of the sum of all targets: what the constant feature adds up."""
    return np.atleast_1d(sums.H.reshape(FOLDS, size, -1)[:, -1, 0].sum(dtype=np.uint64))


def times(x: U64, factor: int) -> U64:
    """Return a multiple of the share."""
    return x * np.uint64(factor)


def join_moments(errors: U64, sums: FoldShare, square: U64) -> U64:
    """Return the errors of all a, sum t^2, and (sum t)^2 / n."""
    return np.concatenate([errors, np.atleast_1d(sums.squares.sum(dtype=np.uint64)), square])


def spread_of(cut: U64, tried: int, gains: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of V, or of V less each of the errors."""
    V = cut[tried : tried + 1] - cut[tried + 1 :]
    return V - cut[:tried] if gains else V


# As a job


def estimate(planned: Planned) -> Cost:
    """Estimate the cost by rehearsals of the candidates of one map and of two; each map more costs as much."""
    maps = split_trials(planned.complete["settings"])
    one, two = (planned.rehearse(SMALL, settings=[each for own in maps[:k] for each in own]) for k in (1, 2))
    more = max(1.0, planned.records / SMALL)

    def extend(first: int, second: int) -> int:
        return first + max(0, len(maps) - 1) * (second - first)

    moved = map(extend, planned.traffic(one), planned.traffic(two))
    traffic = zip(planned.roster.parties, moved, strict=True)
    return Cost(
        rounds=extend(one.rounds, two.rounds), bytes={party: round(n * min(more, 200.0)) for party, n in traffic}
    )


def split_trials(trials: Sequence[Any]) -> list[list[Any]]:
    """Return the candidates of each map, as they are written; all are written in the same way."""
    found: dict[str, list[Any]] = {}
    for each in trials:
        said = dict(each["pairs"]) if set(each) == {"pairs"} else each
        found.setdefault(repr(name_map(said)), []).append(each)
    return list(found.values())


def shrink(params: Params) -> Params:
    """Return what a rehearsal takes instead: a few candidates, of one map."""
    maps = split_trials(params["settings"])
    return {"settings": maps[0][:FEW]} if maps else {}


SEARCH_MACHINE = Declaration(search_machine, rehearsal=Rehearsal(by_cells, shrink, estimate), dealt=True, menu=CHOICES)
