"""Cutting planes: linear SVMs over rows that many hold, from sums over groups of their rows.

The problem. Holder h has rows f_i of a common feature space with signs y_i and weights s_i. For every problem

    min_{w,b}  J = 1/2 |w|^2 + C R(w,b),     R(w,b) = sum_i s_i max(0, 1 - y_i (f_i.w + b))                      (1)

R is convex, so every set V of rows gives a lower bound, tight where V are the rows within the margin:

    R(w,b) >= c - a.w - d b,      c = sum_V s_i,   a = sum_V s_i y_i f_i,   d = sum_V s_i y_i                    (2)

The coordinator minimises J under the cuts (2) so far. Its dual has one variable per cut, which is all that grows:

    min_x  1/2 |sum_t x_t a_t|^2 - sum_t x_t c_t,   x >= 0,   sum_t x_t + slack = C,   sum_t x_t d_t = 0         (3)

with w_a = sum_t x_t a_t, b_a the multiplier of the last equation, and the value of (3) a bound from below on J. From
the best model so far, w_b, the holders look along the line to w_a: the best point on it becomes w_b, and the next cut
is taken a little further on.

Many problems are solved at once: T tables of features of the same rows, one for each kernel; S columns of signs, one
for each fold and class; prices C_1 < C_2 < ... A cut does not depend on C, so each of the T S pools keeps its cuts from
price to price. All pools advance together.

What is opened is a function of sums over groups of rows (`atoms`): each of one class at one holder, and of at least
`least` rows.
  classes   (2) of each side of every problem
  line      in each round one number, or two where rows are many: the upper bound (1) of `numeric.groups.atoms` on R
            at a step of the line, summed over all groups and all problems (`lockstep`): from the groups' counts, sums
            and sums of squares of h. Holders allow only so many of them that these, and all else that was opened of
            their rows, are fewer than the unknowns
  cuts      (2) over a union of groups, to which every holder rounds its rows within the margin by (2) and (3) of
            `numeric.groups.atoms`
Why this suffices. Every number that leaves a holder depends on its rows only through sums over the groups that it has
at that moment: sums of f, and of f f' where it is a bound. Later groups are pieces of these, so all numbers of all runs
are functions of the sums over the last groups. Two tables with the same groups and the same sums over them give the
same view.

How it ends. With groups of more than one row J is known between bounds only, and a gap of `tol` may be out of reach. A
pool ends where its gap is `tol`, or where objective and bound have come no closer by 2 % in fifteen rounds. Directions
are sought at a price that rises to C, which spends splits on the rows that matter at every price. With groups of one
row (min_count=1) all bounds are tight, and the price is C from the start, bounds are opened at twelve steps for each
problem, and nothing is counted: min_count=1 accepts that risk.

Roles. Holder: rows. Coordinator: solves (3). With `witness`, the sums are open to the holders too, who repeat every
step of the coordinator and stop if it differs.

Threat. Semi-honest; coalitions as `secure_sum`: all holders but one, with the coordinator, have the sums over unions of
that one's own groups. A coordinator that publishes other models than (3) gives spoils the model, and learns nothing but
sums over groups too. Not protected: what the sums over a group tell of its rows (`attacks.atom_inversion`, which
`min_count="auto"` keeps out of reach), which rows are near the margin of each iterate as far as groups show it, and
what the model itself reveals.

Source: 004 section 3.2.2.3, Algorithms 2 and 3, corrected (docs/methods/pan_svm.md); Franc and Sonnenburg, ICML 2008.
Groups, the upper bound, prices and the witness are ours.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.numeric.devices import CPU
from tacit.numeric.groups.atoms import losses_along, upper_losses
from tacit.numeric.groups.numbering import OUT, largest_of
from tacit.numeric.groups.rounding import round_to_groups
from tacit.protocols.planes.allowance import allowed_rounds, reserve
from tacit.protocols.planes.lockstep import Pace, first_pace, move_together, settle_growth, slacks, weight_of
from tacit.protocols.planes.pool import (
    STEPS,
    Planes,
    add_cut,
    cut_step,
    first_planes,
    minimise,
    move_along,
    relative_gap,
)
from tacit.protocols.planes.rows import Rows, Tables, class_sums, margins, origin, sums_of, sums_of_groups
from tacit.protocols.planes.track import Track, begin_track, lines_of, look_along, losses_of, mark_within, move_on
from tacit.protocols.sums.atoms import Atoms, keep, regroup, spend
from tacit.protocols.witness import WITNESSED, Voice
from tacit.protocols.work import SOLVER, usual_rounds
from tacit.scratch import empty_like, fill, is_on_disk, release, side_by_side


class Direction(
    Message,
    tells=(
        Fact(
            "planes.minimum",
            "holders",
            "model",
            "all",
            "the minimum under the cuts so far of every problem that goes on",
        ),
        Fact("planes.objectives", "holders", "aggregate", "all", "objectives and bounds"),
    ),
):
    """Where the pools that go on look next: w_a and b_a, one after the other.

    `steps` are those of the line at which bounds are opened; `share` is 1 / n_p of each pool.
    """

    live: I64
    price: I64
    w: F64
    b: F64
    objective: F64
    bound: F64
    steps: F64
    share: F64


class Step(
    Message,
    tells=Fact(
        "planes.step",
        "holders",
        "model",
        "all",
        "how far every problem that goes on moves along its line, and where and how closely it takes its next cut",
    ),
):
    """How far each pool moves and where it takes its next cut.

    `cut` is 1 for a pool that takes one; `slack` is how much of the loss a holder's cut may miss.
    """

    length: F64
    cut: I64
    at: F64
    slack: F64


class Optima(
    Message,
    tells=Fact(
        "planes.optima",
        "holders",
        "model",
        "all",
        "the models of all problems at all prices, their objectives with bounds from below, and which ended early",
    ),
):
    """The models of all pools at all prices, one after the other."""

    w: F64
    b: F64
    objective: F64
    bound: F64
    held: I64
    rounds: int


class Solution(State):
    """The models of some problems at one price.

    `objective` is an upper bound on J, with groups of all problems together; `held` names the problems that ended
    before `tol`.
    """

    w: F64
    b: F64
    objective: F64
    bound: F64
    rounds: int
    held: tuple[int, ...]


class Line(State):
    """Where a holder stands: the margins of its rows at w_b of every pool, and at w_a of those that go on."""

    margin: F64
    ahead: F64


class Cut(State):
    """A holder's atoms after its sets were rounded, and which rows are in each: a column for every pool that cuts.

    With a `Track`, the place on the line of each of these pools within whose margin they are.
    """

    atoms: Atoms
    rows: Flags
    lines: tuple[F64, ...] = ()


@dataclass(frozen=True)
class Paths:
    """The models of every pool, table by table, with a row for each price."""

    w: tuple[F64, ...]
    b: tuple[F64, ...]
    objective: tuple[F64, ...]
    bound: tuple[F64, ...]
    held: tuple[I64, ...]
    rounds: int

    def solution(self, pools: Sequence[int], at: int = 0) -> Solution:
        """Return the models of these pools at their price number `at`."""
        w, b, objective, bound = (
            np.stack([each[k][at] for k in pools]) for each in (self.w, self.b, self.objective, self.bound)
        )
        held = tuple(i for i, k in enumerate(pools) if self.held[k][at])
        return Solution(w, b, objective, bound, self.rounds, held)


@choreography(
    opens={
        Coordinator: (
            Fact(
                "planes.side_sums",
                "holders",
                "aggregate",
                "class",
                "the sum of the rows on each side of each two-class problem",
            ),
            Fact(
                "planes.cut_sum",
                "holder",
                "aggregate",
                "group",
                "in every round the sum over a union of groups of rows, and bounds on the loss along a line that are"
                " functions of the groups' sums: every group is of at least min_count rows of one class at one holder,"
                " and no two sums, of whatever problem, fold, price, kernel or run, differ by less than a group",
            ),
        ),
        Everyone: (
            Fact(
                "planes.iterates",
                "holders",
                "model",
                "all",
                "the model after every round, step lengths, objectives and bounds, and the final models",
            ),
            WITNESSED,
        ),
    }
)
def cutting_plane(
    run: Run,
    tables: At[Tables],
    atoms: At[Atoms],
    *,
    voice: Voice,
    prices: tuple[tuple[float, ...], ...],
    widths: tuple[int, ...],
    columns: int,
    exact: bool = False,
    tol: float = 1e-3,
    max_rounds: int = 500,
    trainings: int = 1,
) -> tuple[Paths, At[Atoms]]:
    """Solve (1) in all pools at all prices. Pools are numbered table by table.

    `prices` and `widths` are by table, `columns` is the number of columns of signs. With `exact` groups are single
    rows, so the price need not rise. `trainings` is how many trainings, this one included, the run has room for.
    """
    who, each, holders = voice.who, tuple(width for width in widths for _ in range(columns)), len(run.roster[Holder])
    stages = max(map(len, prices))
    run.phase(SOLVER)
    rounds, tries = stages * max_rounds, 0
    if not exact:
        rounds, tries = allowed_rounds(run, tables, atoms, stages=stages, most=max_rounds, trainings=trainings)
    atoms = run.local(Holder, reserve, tables, atoms, rounds * tries)
    keep(run, atoms)
    first = voice.add_up(first_sums, tables)
    pools = run.local(who, first_pools, first, prices, widths, columns, exact)
    s = run.carry(
        pools=pools if exact else run.local(who, settle_growth, pools, rounds // stages),
        pace=run.local(who, first_pace, pools, rounds // stages, tries),
        line=run.local(Holder, begin, tables, each, exact),
        atoms=atoms,
        rounds=0,
    )
    for _ in run.rounds(rounds + 1, s, usual=usual_rounds(stages), until=tol if exact else None):
        go = voice.announce(Direction, direction, s.pools, s.pace, exact)
        run.note(objective=float(go.objective.sum()), bound=float(go.bound.sum()), gap=_gap(go), problems=len(go.live))
        if not len(go.live):
            break
        s.line = run.local(Holder, look_ahead, tables, s.line, go, each)
        if not exact:
            s.atoms = run.local(Holder, spend, s.atoms, len(go.steps))
        losses = voice.add_up(bounds_along, tables, s.line, s.atoms, go)
        step = voice.announce(Step, choose, s.pools, s.pace, losses, go, tol, max_rounds, holders)
        cut = run.local(Holder, round_sets, tables, s.line, s.atoms, go.live, step)
        if not exact:  # single rows are split no further
            s.atoms = run.local(Holder, atoms_of, cut)
            keep(run, s.atoms)
        sums = voice.add_up(cut_sums, tables, cut, go.live, step)
        after = run.local(who, advance, s.pools, s.pace, losses, sums, go, step, each, tol, max_rounds)
        s.pools, s.pace = run.local(who, pools_of, after), run.local(who, pace_of, after)
        s.line = run.local(Holder, move, s.line, go.live, step)
        s.rounds = s.rounds + 1
    found = voice.announce(Optima, optima, s.pools, s.rounds)
    return split_up(found, prices, each, columns), s.atoms


# Steps at the holders


def first_sums(tables: Tables) -> F64:
    """Return (2) of the classes, one table after the other."""
    return np.concatenate([class_sums(table).ravel() for table in tables])


def begin(tables: Tables, widths: tuple[int, ...], exact: bool) -> Line | Track:  # noqa: FBT001 - a step
    """Return the margins at w = 0, b = 0 in every table; a track where single rows are on a device."""
    if exact and tables[0].device is not CPU:
        return begin_track(widths)
    return Line(origin(tables[0], len(tables)), np.empty((0, 0)))


def look_ahead(tables: Tables, line: Line | Track, go: Direction, widths: tuple[int, ...]) -> Line | Track:
    """Return the line with the margins at w_a."""
    if isinstance(line, Track):
        return look_along(line, _parts(go.w, go.live, widths), go.b)
    if len(tables) == 1:
        return dataclasses.replace(line, ahead=margins(tables[0], go.live, go.w.reshape(len(go.live), -1), go.b))
    S, ahead, done = tables[0].signs.shape[1], np.empty((len(line.margin), len(go.live))), 0
    for t, mine in _by_table(go.live // S):
        shape = mine.stop - mine.start, widths[t * S]
        w = go.w[done : done + math.prod(shape)].reshape(shape)
        ahead[:, mine] = margins(tables[t], go.live[mine] % S, w, go.b[mine])
        done += w.size
    return dataclasses.replace(line, ahead=ahead)


def bounds_along(tables: Tables, line: Line | Track, atoms: Atoms, go: Direction) -> F64:
    """Return upper bounds on R at the steps of every line; of all pools together, where each has a share."""
    if isinstance(line, Track):
        return losses_of(tables, line, go.live, go.steps)
    if atoms.least == 1 and not is_on_disk(line):
        return _losses_of_rows(tables[0], line, go)
    S, found = tables[0].signs.shape[1], np.empty((len(go.live), len(go.steps)))
    for i, k in enumerate(go.live):
        group = _here(tables[0], atoms.group, k % S)
        h, beyond = _lost(line.margin, k), _lost(line.ahead, i)
        found[i] = upper_losses(group, h, beyond, tables[0].weight, go.steps)
    return found if not len(go.share) else go.share @ found


def _losses_of_rows(rows: Rows, line: Line, go: Direction) -> F64:
    """Return R at the steps of every line, all pools at once: a row that is not in a problem is never violated."""
    h = 1.0 - line.margin[:, go.live]
    return losses_along(h, 1.0 - line.ahead - h, rows.weight, go.steps)


def round_sets(tables: Tables, line: Line | Track, atoms: Atoms, live: I64, step: Step) -> Cut:
    """Return the rows within the margin at the step of the next cut, rounded to groups, pool after pool."""
    S, group = tables[0].signs.shape[1], atoms.group
    cuts = np.flatnonzero(step.cut)
    if isinstance(line, Track):
        return Cut(atoms, np.empty((0, len(cuts)), bool), lines_of(line, live, cuts, step.at))
    if atoms.least == 1 and not is_on_disk(line):
        return Cut(atoms, _mark_rows(tables[0], line, live[cuts], cuts, step.at[cuts]))
    rows = empty_like(group, (len(group), len(cuts)), np.bool_)
    for j, i in enumerate(cuts):
        h = _lost_between(tables[0], line, int(live[i]), int(i), float(step.at[i]))
        own, fresh = _here(tables[0], group, live[i] % S), largest_of(group) + 1
        marked, finer = round_to_groups(own, h, atoms.least, step.slack[i], fresh)
        for at, (chosen,) in side_by_side(marked):
            rows[at, j] = chosen
            release(rows[at])
        group = fill(lambda new, old, first=fresh: np.where(new >= first, new, old), finer, group, dtype=np.int64)
    return Cut(regroup(atoms, group), rows)


def _mark_rows(rows: Rows, line: Line, pools: I64, columns: I64, at: F64) -> Flags:
    """Return which single rows are within the margin of these pools, all at once; in `columns` is their way ahead."""
    before = line.margin[:, pools]
    within = 1.0 - (before + at * (line.ahead[:, columns] - before)) > 0.0
    marked: Flags = within & (rows.signs[:, pools % rows.signs.shape[1]] != 0)
    return marked


def atoms_of(cut: Cut) -> Atoms:
    """Return the atoms after the sets were rounded."""
    return cut.atoms


def cut_sums(tables: Tables, cut: Cut, live: I64, step: Step) -> F64:
    """Return (2) of every pool that takes a cut; all of a table in one pass over its features."""
    S, found = tables[0].signs.shape[1], [np.empty(0)]
    pools = live[np.flatnonzero(step.cut)]
    for t, mine in _by_table(pools // S):
        found.append(_sum_cut(tables[t], cut, mine, pools[mine] % S).ravel())
    return np.concatenate(found)


def _sum_cut(rows: Rows, cut: Cut, mine: slice, problems: I64) -> F64:
    """Return (2) of these cuts."""
    if cut.atoms.least > 1:
        return sums_of_groups(rows, problems, cut.rows[:, mine], cut.atoms.group)
    if cut.lines:
        return sums_of(rows, problems, mark_within(rows, problems, cut.lines[mine]))
    return sums_of(rows, problems, rows.device.put(cut.rows[:, mine]))


def move(line: Line | Track, live: I64, step: Step) -> Line | Track:
    """Return the line with every pool at its best point."""
    if isinstance(line, Track):
        return move_on(line, live, step.length)

    def move_block(margin: F64, ahead: F64) -> F64:
        moved = margin.copy()
        moved[:, live] += step.length * (ahead - margin[:, live])
        return moved

    margin = fill(move_block, line.margin, line.ahead, dtype=np.float64, width=line.margin.shape[1])
    return dataclasses.replace(line, margin=margin)


def _here(rows: Rows, group: I64, problem: int) -> I64:
    """Return the groups of the rows of a problem; OUT for all others."""
    return fill(lambda signs, own: np.where(signs[:, problem] != 0, own, OUT), rows.signs, group, dtype=np.int64)


def _lost(margin: F64, column: int) -> F64:
    """Return h, what every row lacks to the margin in one problem."""
    return fill(lambda some: 1.0 - some[:, column], margin, dtype=np.float64)


def _lost_between(rows: Rows, line: Line, pool: int, i: int, at: float) -> F64:
    """Return s h of every row, at a step of the line of the pool that goes on as the i-th."""

    def between(weight: F64, margin: F64, ahead: F64) -> F64:
        start = margin[:, pool]
        return weight * (1.0 - (start + at * (ahead[:, i] - start)))

    return fill(between, rows.weight, line.margin, line.ahead, dtype=np.float64)


# Steps at the coordinator, and at witnesses


def first_pools(
    sums: F64,
    prices: tuple[tuple[float, ...], ...],
    widths: tuple[int, ...],
    columns: int,
    exact: bool,  # noqa: FBT001
) -> tuple[Planes, ...]:
    """Return every pool at its first price, with (3) solved."""
    ends, pools = np.cumsum([2 * columns * (width + 2) for width in widths]), []
    for C, width, part in zip(prices, widths, np.split(sums, ends[:-1]), strict=True):
        pools += [minimise(first_planes(each, C, exact=exact)) for each in part.reshape(columns, 2, width + 2)]
    return tuple(pools)


def direction(pools: tuple[Planes, ...], pace: Pace, exact: bool) -> Direction:  # noqa: FBT001 - a step
    """Return where every pool looks next."""
    live = [k for k, pool in enumerate(pools) if not pool.done]
    minima = [pools[k].minimum for k in live]
    objective, bound = (np.array([getattr(pools[k], name) for k in live]) for name in ("objective", "bound"))
    at = np.array([pools[k].at for k in live], dtype=np.int64)
    w, b = np.concatenate([np.empty(0), *(m[:-1] for m in minima)]), np.array([m[-1] for m in minima])
    steps, share = (STEPS, np.empty(0)) if exact else (pace.steps, np.array([1.0 / weight_of(pools[k]) for k in live]))
    return Direction(np.array(live, dtype=np.int64), at, w, b, objective, bound, steps, share)


def choose(
    pools: tuple[Planes, ...], pace: Pace, losses: F64, go: Direction, tol: float, max_rounds: int, holders: int
) -> Step:
    """Return how far every pool moves; one that is through with its last price takes no more cut."""
    if len(go.share):
        after, pace, length, at = move_together(pools, pace, losses, tol)
        lengths, places, slack = [length] * len(after), [at] * len(after), slacks(after, pace, holders)
    else:
        ways = [move_along(pools[k], lost, tol, max_rounds) for k, lost in zip(go.live, losses, strict=True)]
        after, lengths = tuple(pool for pool, _ in ways), [float(STEPS[best]) for _, best in ways]
        places, slack = [cut_step(best) for _, best in ways], [0.0] * len(ways)
    cut = np.array([int(not pool.done) for pool in after], dtype=np.int64)
    return Step(np.array(lengths), cut, np.array(places), np.array(slack))


def advance(
    pools: tuple[Planes, ...],
    pace: Pace,
    losses: F64,
    sums: F64,
    go: Direction,
    step: Step,
    widths: tuple[int, ...],
    tol: float,
    max_rounds: int,
) -> tuple[tuple[Planes, ...], Pace]:
    """Return every pool where it moved to, with its cut and its next minimum."""
    after, cutting = list(pools), go.live[step.cut == 1]
    if len(go.share):
        moves, pace, _, _ = move_together(pools, pace, losses, tol)
        after = list(moves)
    else:
        for k, lost in zip(go.live, losses, strict=True):
            after[k] = move_along(pools[k], lost, tol, max_rounds)[0]
    for k, cut in zip(cutting, _parts(sums, cutting, [width + 2 for width in widths]), strict=True):
        after[k] = minimise(add_cut(after[k], cut))
    return tuple(after), pace


def pools_of(after: tuple[tuple[Planes, ...], Pace]) -> tuple[Planes, ...]:
    """Return the pools after a round."""
    return after[0]


def pace_of(after: tuple[tuple[Planes, ...], Pace]) -> Pace:
    """Return the pace after a round."""
    return after[1]


def optima(pools: tuple[Planes, ...], rounds: int) -> Optima:
    """Return what came of all prices."""
    b, objective, bound, held = np.concatenate([pool.figures for pool in pools]).T.copy()
    return Optima(
        np.concatenate([pool.w_at.ravel() for pool in pools]), b, objective, bound, held.astype(np.int64), rounds
    )


# Public bookkeeping


def _by_table(table: I64) -> Iterator[tuple[int, slice]]:
    """Yield each table and where its pools stand, which are in order."""
    for start, stop in pairwise([*np.flatnonzero(np.diff(table, prepend=-1)).tolist(), len(table)]):
        yield int(table[start]), slice(start, stop)


def _parts(flat: F64, pools: I64, widths: Sequence[int]) -> list[F64]:
    """Split what stands one after the other, by pool."""
    return np.split(flat, np.cumsum([widths[k] for k in pools]))[: len(pools)]


def split_up(found: Optima, prices: tuple[tuple[float, ...], ...], widths: tuple[int, ...], columns: int) -> Paths:
    """Return the models by pool; a row of w for every price."""
    steps = [len(C) for C in prices for _ in range(columns)]
    w = np.split(found.w, np.cumsum([n * width for n, width in zip(steps, widths, strict=True)])[:-1])
    b, objective, bound, held = (
        tuple(np.split(getattr(found, name), np.cumsum(steps)[:-1])) for name in ("b", "objective", "bound", "held")
    )
    return Paths(
        tuple(each.reshape(n, -1) for each, n in zip(w, steps, strict=True)), b, objective, bound, held, found.rounds
    )


def _gap(go: Direction) -> float:
    return float(np.max(relative_gap(go.objective, go.bound), initial=0.0))
