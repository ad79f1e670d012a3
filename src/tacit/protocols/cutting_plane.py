"""Cutting planes: linear SVMs over rows that many hold, from sums over the rows within the margin.

The problem. Holder h has rows f_i of a common feature space with signs y_i and weights s_i. For every problem

    min_{w,b}  J = 1/2 |w|^2 + C R(w,b),     R(w,b) = sum_i s_i max(0, 1 - y_i (f_i.w + b))                      (1)

R is convex, so every set V of rows gives a lower bound, tight where V are the rows within the margin:

    R(w,b) >= c - a.w - d b,      c = sum_V s_i,   a = sum_V s_i y_i f_i,   d = sum_V s_i y_i                    (2)

The coordinator minimises J under the cuts (2) so far. Its dual has one variable per cut, which is all that grows:

    min_x  1/2 |sum_t x_t a_t|^2 - sum_t x_t c_t,   x >= 0,   sum_t x_t + slack = C,   sum_t x_t d_t = 0         (3)

with w_a = sum_t x_t a_t, b_a the multiplier of the last equation, and the value of (3) a bound from below on J. From the
best model so far, w_b, the holders look along the line to w_a (`numeric.line_search`): the best point on it becomes
w_b, and the next cut is taken a little further on. All problems advance together, and stop when (J_best - bound) /
J_best <= tol. The first cuts are the two classes of each problem: both together bound b.

What is opened, in this order, so that nothing is opened before it is known to be harmless:
  sizes     how many rows each class of each problem has; then the sums (2) of the classes that have `min_count`
  counts    at every step of the line, how many rows are within the margin; at the steps where a cut may be taken, by how
            many rows that set differs from each set whose rows were summed before, the empty one among them; where
            several problems have a class each, how many rows of each class are in it
  losses    R, only at steps with at least `min_count` rows within the margin
  rows      (2), at a step where all differences are at least `min_count`, also from every union of classes, whose sums
            other problems open: else the rows' sum, or its difference from an earlier one, would be a few records. A
            problem for which there is no such step ends where it is.

Roles. Holder: rows. Coordinator: solves (3). With `witness`, the sums are open to the holders too, who repeat every step
of the coordinator and stop if it differs.

Threat. Semi-honest; coalitions as `secure_sum`. `min_count` is of the rows of all holders: who has rows and sees the sums,
that is a holder that colludes with the coordinator, and with `witness` every holder, can take its own off. A coordinator
that does not follow the protocol can publish what is allowed as it likes, or choose iterates that isolate a record
although every count is large (`attacks.chosen_iterate`); a witnessed run stops both.
Not protected: what follows from combinations of more than two of the opened sums, of cuts of different problems, or of
other runs over almost the same rows; the
loss at neighbouring steps, whose difference can be one row's margin; what the model itself reveals.

Source: 004 section 3.2.2.3, Algorithms 2 and 3, corrected (docs/methods/pan_svm.md); Franc and Sonnenburg, ICML 2008. The hold-back
rules and the witness are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from tacit.choreo import F64, I64, Array, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.line_search import CUTS, STEPS, along, best_steps, violating
from tacit.protocols.plane_rows import Bits, Rows, bits, class_sizes, class_sums, margins, origin, sums_of
from tacit.protocols.planes import Planes, advanced, first_planes, minimum, objectives, relative_gap
from tacit.protocols.secure_sum import Protection
from tacit.protocols.witness import Voice

BLOCK = 1 << 20  # words of a temporary


class Start(Message, tells="for every problem, whether each of its classes has at least min_count rows"):
    """1 if the cuts of both classes may be opened; 0 if only that of all rows."""

    both: I64


class Direction(Message, tells="the minimum under the cuts so far of every problem that goes on; objectives and bounds of all"):
    """w_a and b_a of the problems that go on."""

    live: I64
    w: F64
    b: F64
    objective: F64
    bound: F64


class Allowed(Message, tells="at which steps enough rows are within the margin, and at which a cut may be taken"):
    """1 or 0 by problem and step."""

    losses: I64
    cuts: I64


class Step(Message, tells="the best step on the line, and the step of the next cut, of every problem that goes on"):
    """Numbers of steps; -1 where no cut may be taken."""

    best: I64
    cut: I64


class Solution(State):
    """The best models evaluated; `held`: which problems ended for want of a harmless sum."""

    w: F64
    b: F64
    objective: F64
    bound: F64
    rounds: int
    held: tuple[int, ...]


class Models(Message, tells="the models, their objectives with bounds from below, and which problems ended for want of a harmless sum"):
    """The end."""

    solution: Solution


class Standing(State):
    """Where a holder is: margins at w_b and w_a; counts and losses on the line between; the sets of rows summed so far, as bits."""

    margin: F64
    ahead: F64
    counts: F64
    losses: F64
    summed: tuple[Bits, ...]


@choreography(
    opens={
        Coordinator: "how many rows each class has; along every line of the search, how many rows are within the margin and by how many"
        " the sets of these rows differ; the summed loss of at least min_count of them; at every cut the sum of at least min_count rows,"
        " no two sums differing by fewer; the sums of the classes that have so many",
        Everyone: "every iterate and step, objectives and bounds, the models; with witness=True all that the coordinator learns",
    }
)
def cutting_plane(
    run: Run,
    rows: At[Rows],
    *,
    by: Protection,
    fixed: FixedPoint,
    C: float,
    tol: float = 1e-3,
    max_rounds: int = 500,
    min_count: int = 5,
    witness: bool = False,
    classes: int = 0,
) -> Solution:
    """Solve (1) for all problems at once; everyone learns the models. The first `classes` are one class each against the rest."""
    voice = Voice(run, by, fixed, witness)
    added, told, who = voice.added, voice.told, voice.who
    sizes = added(class_sizes, rows)
    start = told(Start, may_start, sizes, min_count)
    s = run.carry(
        planes=run.local(who, first_planes, added(class_sums, rows, start.both), start.both, C),
        standing=run.local(Holder, at_origin, rows, start.both),
        sets=tuple(4 if both else 2 for both in start.both),  # summed so far, the empty one among them
    )
    for t in run.rounds(max_rounds, s):
        s.planes = run.local(who, minimise, s.planes, C, tol)
        go = told(Direction, direction, s.planes, tol, t + 1 == max_rounds)
        run.note(objective=float(go.objective.sum()), bound=float(go.bound.sum()), gap=_gap(go), problems=len(go.live))
        if not len(go.live):
            break
        s.standing = run.local(Holder, look_ahead, rows, s.standing, go)
        allowed = told(Allowed, allow, added(counted, rows, s.standing, go.live, classes), go.live, s.sets, min_count, sizes, classes)
        losses = added(lost, s.standing, allowed)
        step = told(Step, choose, s.planes, losses, go, allowed, C)
        sums = added(cut_sums, rows, s.standing, go.live, step)
        s.planes = run.local(who, advance, s.planes, losses, sums, go, step, C)
        s.standing = run.local(Holder, move, s.standing, go.live, step)
        s.sets = more_sets(s.sets, go.live, step)
    return told(Models, models, s.planes, t + 1, tol).solution


# Steps at the holders


def at_origin(rows: Rows, both: I64) -> Standing:
    """At w = 0, b = 0; nothing but the classes is summed."""
    nothing = np.zeros(len(rows.F), bool)
    sets = [[nothing, y != 0, *([y > 0, y < 0] if both[k] else [])] for k, y in enumerate(rows.signs.T)]
    margin = origin(rows)
    none = np.empty((0, len(STEPS)))
    return Standing(margin, margin[:, :0], none, none, tuple(bits(np.array(each)) for each in sets))


def look_ahead(rows: Rows, standing: Standing, go: Direction) -> Standing:
    """Margins at w_a, and counts and losses on the way there."""
    ahead = margins(rows, go.live, go.w, go.b)
    counts, losses = along(standing.margin[:, go.live].T, ahead.T, rows.weight)
    return dataclasses.replace(standing, ahead=ahead, counts=counts, losses=losses)


def counted(rows: Rows, standing: Standing, live: I64, classes: int) -> F64:
    """How many rows are within the margin; by how many that set differs from each one that was summed; how many of each class are in it."""
    of_class = bits(rows.signs[:, :classes].T > 0)
    found = []
    for i, k in enumerate(live):
        V = bits(violating(standing.margin[:, k], standing.ahead[:, i], STEPS[CUTS][:, None]))
        found += [standing.counts[i], _differences(V, standing.summed[k]), np.bitwise_count(of_class[:, None] & V).sum(axis=2).ravel()]
    return np.concatenate(found).astype(np.float64)


def _differences(V: Bits, summed: Bits) -> Array:
    step = max(1, BLOCK // max(1, V.size))
    parts = [np.bitwise_count(summed[t : t + step, None] ^ V).sum(axis=2) for t in range(0, len(summed), step)]
    return np.concatenate(parts).ravel()


def lost(standing: Standing, allowed: Allowed) -> F64:
    """R on the line, where it may be told."""
    return np.where(allowed.losses == 1, standing.losses, 0.0)


def cut_sums(rows: Rows, standing: Standing, live: I64, step: Step) -> F64:
    """(2) at the step of the next cut, where there is one."""
    cuts = np.flatnonzero(step.cut >= 0)
    return sums_of(rows, live[cuts], violating(standing.margin[:, live[cuts]], standing.ahead[:, cuts], STEPS[step.cut[cuts]]))


def move(standing: Standing, live: I64, step: Step) -> Standing:
    """To the best point on the line; what was summed is noted."""
    margin, summed = standing.margin.copy(), list(standing.summed)
    for i, k in enumerate(live):
        if step.cut[i] >= 0:
            V = violating(margin[:, k], standing.ahead[:, i], STEPS[step.cut[i]])
            summed[k] = np.vstack([summed[k], bits(V[None])])
        margin[:, k] += STEPS[step.best[i]] * (standing.ahead[:, i] - margin[:, k])
    return dataclasses.replace(standing, margin=margin, summed=tuple(summed))


# Steps at the coordinator, and at witnesses


def may_start(sizes: F64, min_count: int) -> Start:
    """Whether each problem has rows enough, and each of its classes."""
    for k, problem in enumerate(sizes):
        if 0 < problem.sum() < min_count:
            raise LocalError(
                f"problem {k + 1} of {len(sizes)} has {problem.sum():.0f} rows over all parties, and no sum of fewer than"
                f" min_count={min_count} is opened: bring more rows, or lower min_count"
            )
    return Start((sizes.min(axis=1) >= max(1, min_count)).astype(np.int64))


def minimise(planes: tuple[Planes, ...], C: float, tol: float) -> tuple[Planes, ...]:
    """(3), from where it was solved last."""
    return tuple(p if p.stuck or p.gap <= tol else minimum(p, C) for p in planes)


def direction(planes: tuple[Planes, ...], tol: float, last: bool) -> Direction:  # noqa: FBT001 - a step
    """Where to look next; nowhere in the last round, which only evaluates."""
    live = [k for k, p in enumerate(planes) if not (last or p.stuck or p.gap <= tol)]
    minima = np.array([planes[k].minimum for k in live]).reshape(len(live), planes[0].minimum.size)
    figures = (np.array([p.objective for p in planes]), np.array([p.bound for p in planes]))
    return Direction(np.array(live, dtype=np.int64), minima[:, :-1].copy(), minima[:, -1:].ravel().copy(), *figures)


def allow(counts: F64, live: I64, sets: tuple[int, ...], min_count: int, sizes: F64, classes: int) -> Allowed:
    """Losses of enough rows or of none; cuts whose set differs enough from all that were summed, and from every union of classes."""
    least, size = max(1, min_count), np.rint(sizes[:classes, :1])
    losses, cuts = np.zeros((len(live), len(STEPS)), dtype=np.int64), np.zeros((len(live), len(CUTS)), dtype=np.int64)
    for i, (n, differences, within) in enumerate(_split(np.rint(counts), live, sets, classes)):
        losses[i] = (n == 0) | (n >= least)
        nearest = np.minimum(within, size - within).sum(axis=0)  # the union of classes that differs least from the set
        cuts[i] = np.all(differences >= least, axis=0) & ((nearest >= least) | (classes == 0))
    return Allowed(losses, cuts)


def _split(counts: F64, live: I64, sets: tuple[int, ...], classes: int) -> Iterator[tuple[F64, F64, F64]]:
    at = 0
    for k in live:
        n, of_sets, of_classes = np.split(counts[at:], np.cumsum([len(STEPS), sets[k] * len(CUTS), classes * len(CUTS)]))[:3]
        at += len(STEPS) + (sets[k] + classes) * len(CUTS)
        yield n, of_sets.reshape(sets[k], len(CUTS)), of_classes.reshape(classes, len(CUTS))


def choose(planes: tuple[Planes, ...], losses: F64, go: Direction, allowed: Allowed, C: float) -> Step:
    """The least J on the line; the wanted step for a cut, or the nearest that is allowed."""
    best, cut = np.zeros(len(go.live), dtype=np.int64), np.full(len(go.live), -1)
    for i, J in enumerate(_objectives(planes, losses, go, C)):
        best[i], wanted = best_steps(np.where(allowed.losses[i] == 1, J, np.inf))
        open_ = wanted[allowed.cuts[i][np.searchsorted(CUTS, wanted)] == 1]
        cut[i] = open_[0] if len(open_) else -1
    return Step(best, cut.astype(np.int64))


def _objectives(planes: tuple[Planes, ...], losses: F64, go: Direction, C: float) -> Iterator[F64]:
    for i, k in enumerate(go.live):
        yield objectives(planes[k], go.w[i], losses[i], C)


def advance(planes: tuple[Planes, ...], losses: F64, sums: F64, go: Direction, step: Step, C: float) -> tuple[Planes, ...]:
    """Go to the best step, take up the cut; a problem that can do neither is stuck."""
    after, cuts = list(planes), iter(sums)
    for i, (k, J) in enumerate(zip(go.live, _objectives(planes, losses, go, C), strict=True)):
        after[k] = advanced(planes[k], go.w[i], float(go.b[i]), J, step.best[i], next(cuts) if step.cut[i] >= 0 else None)
    return tuple(after)


def models(planes: tuple[Planes, ...], rounds: int, tol: float) -> Models:
    """The best model of every problem."""
    found = Solution(
        w=np.array([p.w for p in planes]),
        b=np.array([p.b for p in planes]),
        objective=np.array([p.objective for p in planes]),
        bound=np.array([p.bound for p in planes]),
        rounds=rounds,
        held=tuple(k for k, p in enumerate(planes) if p.stuck and p.gap > tol),
    )
    return Models(found)


# Public bookkeeping


def more_sets(sets: tuple[int, ...], live: I64, step: Step) -> tuple[int, ...]:
    """How many sets of each problem have been summed."""
    more = {int(k): int(cut >= 0) for k, cut in zip(live, step.cut, strict=True)}
    return tuple(n + more.get(k, 0) for k, n in enumerate(sets))


def _gap(go: Direction) -> float:
    return float(np.max(relative_gap(go.objective, go.bound)))
