"""Cutting planes along prices: all SVMs of a grid over rows that many hold, from one pool of cuts for every set of rows.

The problem. (1) to (3) of `cutting_plane`, for T tables of features of the same rows, one for each kernel, for S columns of
signs, one for each fold and class, and at prices C_1 < C_2 < ...: T S pools, each solved at all of its prices.

The cut (2) of a set of rows does not depend on C, which enters (3) only. So a pool keeps its cuts when it goes on to its next
price C', and starts there from the model that it has: R at w_b is known, and x is feasible once it is stretched,

    J'(w_b) = 1/2 |w_b|^2 + C'/C (J(w_b) - 1/2 |w_b|^2),      x' = C'/C x,      bound' >= bound                    (4)

All pools advance together, and each goes on by itself: a grid costs the rounds of its longest pool.

What is opened. Cuts of different pools are sums over the same rows: two sets that differ by one row would show it, whether they
are of two folds, of two prices, or of two kernels, whose images of a row follow from each other more nearly than one would
like (docs/adr/0013). So here all sets are compared with all. `cell` says which class and fold a row is of; the sums of all cells
follow from the sums of the classes, fold by fold. In this order, in every round:
  counts      at every step of the line, how many rows are within the margin; at those where a cut may be taken, of each cell
  differences sets whose counts differ by `min_count` in all differ by as many rows; of the others, by how many they differ;
              losses, at steps with at least `min_count` rows within the margin
  rows        (2), where V differs by at least `min_count` rows from every union of cells, from every set summed before and
              from those summed in the same round; if rows have other signs in other pools, from their negatives too.
A pool for which there is no such step goes on to its next price.

Roles, threat, witnesses: as in `cutting_plane`. Not protected: what follows from three of the opened sums or more; that many
numbers are opened of the same rows, for each kernel as many as it has features; losses at neighbouring steps; the models.

Source: 004 section 3.2.2.3, Algorithms 2 and 3, corrected; Franc and Sonnenburg, ICML 2008. Paths and rules are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.line_search import CUTS, STEPS, along, best_steps, violating
from tacit.protocols.cutting_plane import Start, Step, may_start
from tacit.protocols.plane_rows import Bits, Rows, bits, class_sizes, class_sums, margins, origin, sums_of
from tacit.protocols.planes import Planes, advanced, first_planes, minimum, objectives, relative_gap
from tacit.protocols.secure_sum import Protection
from tacit.protocols.witness import Voice


class Heading(Message, tells="of every pool that goes on, its price and the minimum under its cuts so far; objectives and bounds"):
    """w_a and b_a of the pools that go on, one after the other."""

    live: I64
    price: I64
    w: F64
    b: F64
    objective: F64
    bound: F64


class Close(Message, tells="at which steps enough rows are within the margin; which sets of rows may be nearly the same"):
    """Losses and cuts as 1 or 0 by pool and step; pairs of sets, the later one from the candidates, and whether to be added."""

    losses: I64
    cuts: I64
    pairs: I64


class Optima(Message, tells="the models of all pools at all prices, their objectives with bounds from below, and which ended early"):
    """One after the other, by pool and price."""

    w: F64
    b: F64
    objective: F64
    bound: F64
    held: I64
    rounds: int


class Path(State):
    """A pool: its planes at the price `at`, for how many rounds; of the prices before, w and b, objective, bound, whether stuck."""

    planes: Planes
    prices: tuple[float, ...]
    at: int
    age: int
    w: F64
    figures: F64

    @property
    def price(self) -> float:
        """C at hand."""
        return self.prices[min(self.at, len(self.prices) - 1)]

    def settled(self, tol: float, max_rounds: int) -> bool:
        """Whether nothing more is done at this price."""
        return self.planes.stuck or self.planes.gap <= tol or self.age >= max_rounds


class Line(State):
    """Where a holder is: margins at w_b and w_a; counts and losses on the line between; the sets at which a cut may be taken."""

    margin: F64
    ahead: F64
    counts: F64
    losses: F64
    sets: Bits
    cells: F64


@dataclass(frozen=True)
class Summed:
    """All sets that were ever summed: as bits at the holders; how many rows of each cell are in each, with the sums' readers."""

    sets: At[Bits]
    counts: At[F64]
    number: int


@dataclass(frozen=True)
class Paths:
    """Of every pool, table by table, its models: a row for each price."""

    w: tuple[F64, ...]
    b: tuple[F64, ...]
    objective: tuple[F64, ...]
    bound: tuple[F64, ...]
    held: tuple[I64, ...]
    rounds: int


def nothing_summed(run: Run, rows: At[Any], *, cells: int, signed: bool, witness: bool = False) -> Summed:
    """Before the first sum."""
    who = Everyone if witness else Coordinator
    return Summed(run.local(Holder, no_sets, rows, signed), run.local(who, no_counts, cells), 0)


@choreography(
    opens={
        Coordinator: "how many rows each cell, that is each class in each fold, has, and their sum; along every line of the search, for"
        " each kernel, how many rows of each cell are within the margin, and by how many sets of them differ that may differ by few;"
        " the summed loss of at least min_count of them; at every cut the sum of at least min_count rows, no two sums of the whole"
        " search differing by fewer",
        Everyone: "every iterate and step, objectives and bounds, which sets of rows may differ by few, the models of all folds and"
        " candidates; with witness=True all that the coordinator learns",
    }
)
def plane_paths(
    run: Run,
    rows: At[tuple[Rows, ...]],
    cell: At[I64],
    summed: Summed,
    *,
    prices: tuple[tuple[float, ...], ...],
    widths: tuple[int, ...],
    columns: int,
    cells: int,
    signed: bool,
    by: Protection,
    fixed: FixedPoint,
    tol: float = 1e-3,
    max_rounds: int = 500,
    min_count: int = 5,
    witness: bool = False,
) -> tuple[Paths, Summed]:
    """Solve all pools at all prices; `prices` and `widths` by table, `columns` of signs. Pools are numbered table by table."""
    voice = Voice(run, by, fixed, witness)
    who, each = voice.who, tuple(width for width in widths for _ in range(columns))
    size = voice.added(cell_sizes, cell, cells)
    start = voice.told(Start, may_start, voice.added(sides, rows), min_count)
    first = voice.added(first_sums, rows, start.both)
    s = run.carry(
        paths=run.local(who, first_paths, first, start.both, prices, widths, tol, max_rounds),
        line=run.local(Holder, begin, rows),
        sets=summed.sets,
        counts=summed.counts,
        number=summed.number,
        rounds=0,
    )
    for _ in run.rounds(max_rounds * max(map(len, prices)) + 1, s):
        go = voice.told(Heading, heading, s.paths)
        run.note(gap=_gap(go), pools=len(go.live), price=int(go.price.min(initial=max(map(len, prices)))) + 1)
        if not len(go.live):
            break
        s.line = run.local(Holder, look_ahead, rows, s.line, go, each, cell, cells, signed)
        counts = voice.added(counted, s.line)
        close = voice.told(Close, compare, counts, s.counts, size, min_count, signed)
        apart = voice.added(differences, s.line, s.sets, close, signed)
        step = voice.told(Step, choose, s.paths, apart, go, close, s.number, min_count, each)
        sums = voice.added(cut_sums, rows, s.line, go.live, step)
        s.paths = run.local(who, advance, s.paths, apart, sums, go, close, step, each, tol, max_rounds)
        s.sets = run.local(Holder, more_sets, s.sets, s.line, step)
        s.counts = run.local(who, more_counts, s.counts, counts, step)
        s.line = run.local(Holder, move, s.line, go.live, step)
        s.number, s.rounds = s.number + int(np.sum(step.cut >= 0)), s.rounds + 1
    found = voice.told(Optima, optima, s.paths, s.rounds, tol)
    return split_up(found, prices, each, columns), Summed(s.sets, s.counts, s.number)


# Steps at the holders


def no_sets(rows: tuple[Rows, ...], signed: bool) -> Bits:  # noqa: FBT001 - a step
    """None."""
    return _marked(np.zeros((0, len(rows[0].F)), bool), rows[0].signs[:, 0], signed=signed)


def cell_sizes(cell: I64, cells: int) -> F64:
    """Rows of each cell."""
    return np.bincount(cell[cell >= 0], minlength=cells).astype(np.float64)


def sides(rows: tuple[Rows, ...]) -> F64:
    """Rows of each sign in each column, the same in every table."""
    return class_sizes(rows[0])


def first_sums(rows: tuple[Rows, ...], both: I64) -> F64:
    """(2) of the classes, one table after the other."""
    return np.concatenate([class_sums(table, both).ravel() for table in rows])


def begin(rows: tuple[Rows, ...]) -> Line:
    """At w = 0, b = 0 in every table."""
    margin, none = np.tile(origin(rows[0]), (1, len(rows))), np.empty((0, len(STEPS)))
    return Line(margin, margin[:, :0], none, none, np.zeros((0, 0), np.uint64), none)


def look_ahead(rows: tuple[Rows, ...], line: Line, go: Heading, widths: tuple[int, ...], cell: I64, cells: int, signed: bool) -> Line:  # noqa: FBT001 - a step
    """Margins at w_a; counts and losses on the way there; the sets at the steps for a cut."""
    S, n = rows[0].signs.shape[1], len(cell)
    margin, signs = line.margin[:, go.live], rows[0].signs[:, go.live % S]
    ahead, each = np.empty(margin.shape), _parts(go.w, go.live, widths)
    for t in np.unique(go.live // S):
        mine = np.flatnonzero(go.live // S == t)
        ahead[:, mine] = margins(rows[t], go.live[mine] % S, np.stack([each[i] for i in mine]), go.b[mine])
    counts, losses = along(margin.T, ahead.T, rows[0].weight)
    V = violating(margin.T[:, None], ahead.T[:, None], STEPS[CUTS][:, None]).reshape(len(go.live) * len(CUTS), n)
    within = V.astype(np.float32) @ (cell[:, None] == np.arange(cells)).astype(np.float32)
    sets = _marked(V, np.repeat(signs.T, len(CUTS), axis=0) if signed else signs, signed=signed)
    return Line(line.margin, ahead, counts, losses, sets, within.astype(np.float64))


def _marked(V: NDArray[np.bool_], y: NDArray[np.int8], *, signed: bool) -> Bits:
    """Sets of rows as bits; where a row's sign depends on the pool, first the positive ones, then the negative ones."""
    return np.hstack([bits(V & (y > 0)), bits(V & (y < 0))]) if signed else bits(V)


def counted(line: Line) -> F64:
    """Rows within the margin at every step; of each cell at those for a cut."""
    return np.concatenate([line.counts.ravel(), line.cells.ravel()])


def differences(line: Line, sets: Bits, close: Close, signed: bool) -> F64:  # noqa: FBT001 - a step
    """R on the line, where it may be told; how many rows are left of each pair of sums when one is taken off, or added."""
    every, (first, second, added) = np.concatenate([sets, line.sets]), close.pairs.T
    left, half = every[len(sets) + first], every.shape[1] // 2
    if signed:
        apart = left ^ np.where(added[:, None] == 1, np.roll(every[second], half, axis=1), every[second])
        apart = apart[:, :half] | apart[:, half:]
    else:
        apart = left ^ every[second]
    rows = np.bitwise_count(apart).sum(axis=1)
    return np.concatenate([np.where(close.losses == 1, line.losses, 0.0).ravel(), rows.astype(np.float64)])


def cut_sums(rows: tuple[Rows, ...], line: Line, live: I64, step: Step) -> F64:
    """(2) at the step of the next cut of every pool that takes one; all of a table in one pass over its features."""
    S, found = rows[0].signs.shape[1], [np.empty(0)]
    cuts = np.flatnonzero(step.cut >= 0)
    for t, table in enumerate(rows):
        mine = cuts[live[cuts] // S == t]
        V = violating(line.margin[:, live[mine]], line.ahead[:, mine], STEPS[step.cut[mine]])
        found.append(sums_of(table, live[mine] % S, V).ravel())
    return np.concatenate(found)


def more_sets(sets: Bits, line: Line, step: Step) -> Bits:
    """With those that were summed."""
    return np.concatenate([sets, line.sets[_taken(step)]])


def move(line: Line, live: I64, step: Step) -> Line:
    """To the best point of every line."""
    margin = line.margin.copy()
    margin[:, live] += STEPS[step.best] * (line.ahead - margin[:, live])
    return dataclasses.replace(line, margin=margin)


# Steps at the coordinator, and at witnesses


def no_counts(cells: int) -> F64:
    """None."""
    return np.empty((0, cells))


def first_paths(
    sums: F64, both: I64, prices: tuple[tuple[float, ...], ...], widths: tuple[int, ...], tol: float, max_rounds: int
) -> tuple[Path, ...]:
    """Every pool at its first price."""
    ends = np.cumsum([2 * len(both) * (width + 2) for width in widths])
    paths: list[Path] = []
    for C, width, part in zip(prices, widths, np.split(sums, ends[:-1]), strict=True):
        first = first_planes(part.reshape(-1, width + 2), both, C[0])
        paths += [minimised(Path(p, C, 0, 0, np.empty((0, width)), np.empty((0, 4))), tol, max_rounds) for p in first]
    return tuple(paths)


def minimised(path: Path, tol: float, max_rounds: int) -> Path:
    """(3), from where it was solved last; a pool that is through with a price goes on to its next."""
    while path.at < len(path.prices):
        if not path.settled(tol, max_rounds):
            path = dataclasses.replace(path, planes=minimum(path.planes, path.price))
        if not path.settled(tol, max_rounds):
            break
        path = _next(path)
    return path


def _next(path: Path) -> Path:
    """(4)."""
    p = path.planes
    w, figures = np.vstack([path.w, p.w]), np.vstack([path.figures, [p.b, p.objective, p.bound, float(p.stuck)]])
    after = dataclasses.replace(path, at=path.at + 1, age=0, w=w, figures=figures)
    grown, square = after.price / path.price, 0.5 * float(p.w @ p.w)
    objective = square + grown * (p.objective - square)
    return dataclasses.replace(after, planes=dataclasses.replace(p, x=grown * p.x, objective=objective, stuck=False))


def heading(paths: tuple[Path, ...]) -> Heading:
    """Where every pool looks next."""
    live = [k for k, path in enumerate(paths) if path.at < len(path.prices)]
    minima = [paths[k].planes.minimum for k in live]
    figures = (np.array([getattr(paths[k].planes, name) for k in live]) for name in ("objective", "bound"))
    at = np.array([paths[k].at for k in live], dtype=np.int64)
    w, b = np.concatenate([np.empty(0), *(m[:-1] for m in minima)]), np.array([m[-1] for m in minima])
    return Heading(np.array(live, dtype=np.int64), at, w, b, *figures)


def compare(counts: F64, known: F64, size: F64, min_count: int, signed: bool) -> Close:  # noqa: FBT001 - a step
    """Losses of enough rows or of none; sets that are far from every union of cells; of which pairs of those the counts are close."""
    least, cells = max(1, min_count), known.shape[1]
    live = counts.size // (len(STEPS) + len(CUTS) * cells)
    n, within = np.rint(counts[: live * len(STEPS)]), np.rint(counts[live * len(STEPS) :]).reshape(-1, cells)
    losses = (n == 0) | (n >= least)
    cuts = np.minimum(within, np.rint(size) - within).sum(axis=1) >= least  # the union of cells that differs least from the set
    pairs = np.argwhere((cdist(within, np.concatenate([known, within]), "cityblock") < least) & cuts[:, None])
    new = pairs[:, 1] - len(known)
    # of two candidates the later one is compared with the earlier, unless both are of one pool, which takes one of them
    pairs = pairs[(new < 0) | ((new // len(CUTS) < pairs[:, 0] // len(CUTS)) & cuts[np.maximum(new, 0)])]
    both = [np.column_stack([pairs, np.full(len(pairs), added)]) for added in range(1 + signed)]
    return Close(losses.reshape(live, -1).astype(np.int64), cuts.reshape(live, -1).astype(np.int64), np.concatenate(both))


def choose(paths: tuple[Path, ...], apart: F64, go: Heading, close: Close, number: int, min_count: int, widths: tuple[int, ...]) -> Step:
    """The least J on every line; the wanted step for a cut, or the nearest that is harmless."""
    best, cut = np.zeros(len(go.live), dtype=np.int64), np.full(len(go.live), -1)
    few = close.pairs[np.rint(apart[close.losses.size :]) < max(1, min_count), :2]
    before = few[:, 1] < number
    open_, near = close.cuts.ravel().copy(), few[~before] - (0, number)
    open_[few[before, 0]] = 0
    for i, J in enumerate(_objectives(paths, apart, go, close, widths)):
        best[i], wanted = best_steps(np.where(close.losses[i] == 1, J, np.inf))
        at = len(CUTS) * i + np.searchsorted(CUTS, wanted)
        free = np.flatnonzero(open_[at])
        if len(free):
            cut[i] = wanted[free[0]]
            open_[near[near[:, 1] == at[free[0]], 0]] = 0  # nobody after it takes nearly the same set
    return Step(best, cut.astype(np.int64))


def _objectives(paths: tuple[Path, ...], apart: F64, go: Heading, close: Close, widths: tuple[int, ...]) -> Iterator[F64]:
    losses = apart[: close.losses.size].reshape(close.losses.shape)
    for k, w, lost in zip(go.live, _parts(go.w, go.live, widths), losses, strict=True):
        yield objectives(paths[k].planes, w, lost, paths[k].price)


def advance(
    paths: tuple[Path, ...],
    apart: F64,
    sums: F64,
    go: Heading,
    close: Close,
    step: Step,
    widths: tuple[int, ...],
    tol: float,
    max_rounds: int,
) -> tuple[Path, ...]:
    """Every pool to its best step, with its cut, and its next minimum."""
    cuts = dict(zip(go.live[step.cut >= 0], _parts(sums, go.live[step.cut >= 0], [w + 2 for w in widths]), strict=True))
    after, lines = list(paths), zip(go.live, _parts(go.w, go.live, widths), _objectives(paths, apart, go, close, widths), strict=True)
    for i, (k, w, J) in enumerate(lines):
        planes = advanced(paths[k].planes, w, float(go.b[i]), J, step.best[i], cuts.get(k))
        after[k] = minimised(dataclasses.replace(paths[k], planes=planes, age=paths[k].age + 1), tol, max_rounds)
    return tuple(after)


def more_counts(known: F64, counts: F64, step: Step) -> F64:
    """With those of the sets that were summed."""
    within = np.rint(counts[len(step.cut) * len(STEPS) :]).reshape(-1, known.shape[1])
    return np.concatenate([known, within[_taken(step)]])


def optima(paths: tuple[Path, ...], rounds: int, tol: float) -> Optima:
    """What came of all prices."""
    b, objective, bound, stuck = np.concatenate([path.figures for path in paths]).T.copy()
    held = (stuck > 0) & (relative_gap(objective, bound) > tol)
    return Optima(np.concatenate([path.w.ravel() for path in paths]), b, objective, bound, held.astype(np.int64), rounds)


# Public bookkeeping


def _parts(flat: F64, pools: I64, widths: Sequence[int]) -> list[F64]:
    """What stands one after the other, by pool."""
    return np.split(flat, np.cumsum([widths[k] for k in pools]))[: len(pools)]


def _taken(step: Step) -> I64:
    """Which of all candidates are the sets that were summed."""
    cuts = np.flatnonzero(step.cut >= 0)
    return np.asarray(len(CUTS) * cuts + np.searchsorted(CUTS, step.cut[cuts]), dtype=np.int64)


def split_up(found: Optima, prices: tuple[tuple[float, ...], ...], widths: tuple[int, ...], columns: int) -> Paths:
    """By pool; a row of w for every price."""
    steps = [len(C) for C in prices for _ in range(columns)]
    w = np.split(found.w, np.cumsum([n * width for n, width in zip(steps, widths, strict=True)])[:-1])
    b, objective, bound, held = (
        tuple(np.split(getattr(found, name), np.cumsum(steps)[:-1])) for name in ("b", "objective", "bound", "held")
    )
    return Paths(tuple(each.reshape(n, -1) for each, n in zip(w, steps, strict=True)), b, objective, bound, held, found.rounds)


def _gap(go: Heading) -> float:
    return float(np.max(relative_gap(go.objective, go.bound), initial=0.0))
