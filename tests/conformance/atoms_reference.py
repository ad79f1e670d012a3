"""Cutting planes over groups of rows, on one table and in plain loops: what the parties' training must equal.

A group is a list of row numbers, of one holder and one class; every holder has a list of them. Equations are those of
`numeric.groups.atoms`, `cutting_plane` and `lockstep`. Only the small quadratic programme (3) is solved by the
project's own solver, which has tests of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.numeric.groups.rounding import NOTHING
from tacit.numeric.svm.active_set import solve
from tacit.protocols.planes.allowance import ROUNDS
from tacit.protocols.planes.lockstep import FASTER, SHORTEST, SLOWER, STILL, TRIES
from tacit.protocols.planes.pool import BEYOND, BIAS, FIRST, FLAT, GROWTH, LEVEL, PATIENCE, SHRINK, SLACK, STEPS

Groups = dict[str, list[list[int]]]  # by holder


# Groups


def by_class(holders: dict[str, Sequence[int]], y: Any, least: int) -> Groups:
    """Each holder's rows by class, and no class of which it has fewer than `least`."""
    found: Groups = {}
    for name, rows in holders.items():
        classes = [[i for i in rows if y[i] == c] for c in np.unique(y)]
        found[name] = [[i] for i in rows] if least == 1 else [own for own in classes if len(own) >= least]
    return found


def split_by(groups: Groups, part: Any) -> Groups:
    """Every group by the number that each row has."""
    return {
        name: [[i for i in group if part[i] == p] for group in own for p in sorted({part[i] for i in group})]
        for name, own in groups.items()
    }  # fmt: skip


def rows_in(groups: Groups) -> list[int]:
    """All rows that are in a group, in order."""
    return sorted(i for own in groups.values() for group in own for i in group)


def as_numbers(groups: Sequence[Sequence[int]], rows: Sequence[int]) -> Any:
    """Which group each of a holder's rows is in; -1 where it is in none."""
    return np.array([next((g for g, group in enumerate(groups) if i in group), -1) for i in rows])


def same_groups(numbers: Any, groups: Sequence[Sequence[int]], rows: Sequence[int]) -> bool:
    """Whether rows with one number are one group, whatever the numbers are."""
    theirs = {frozenset(int(rows[j]) for j in np.flatnonzero(numbers == g)) for g in np.unique(numbers[numbers >= 0])}
    return theirs == {frozenset(map(int, group)) for group in groups}


def deal(groups: Groups, y: Any, number: int, least: int, seed: int) -> dict[int, int]:
    """The fold of every row.

    Pieces of at least `least` rows, dealt round class by class, each holder by its own draws.
    """
    fold: dict[int, int] = {}
    for name, own in groups.items():
        draw = np.random.default_rng((seed, *name.encode()))
        for c in sorted({y[group[0]] for group in own}):
            mine = [group for group in own if y[group[0]] == c]
            order = list(draw.permutation(sorted(i for group in mine for i in group)))
            pieces = []
            for group in mine:
                shuffled = [i for i in order if i in group]
                pieces += np.array_split(shuffled, max(1, min(number, len(shuffled) // least)))
            first = int(draw.integers(number))
            for i, j in enumerate(draw.permutation(len(pieces))):
                fold.update(dict.fromkeys(map(int, pieces[j]), (first + i) % number))
    return fold


def most_folds(groups: Groups, y: Any, most: int, least: int, seed: int) -> tuple[int, dict[int, int]]:
    """The most folds of which each has rows of every class."""
    for number in range(most, 1, -1):
        fold = deal(groups, y, number, least, seed)
        if {(fold[i], y[i]) for i in fold} == {(q, c) for q in range(number) for c in {y[i] for i in fold}}:
            return number, fold
    return 0, {}


def stages(groups: Groups, shares: Sequence[float], least: int, seed: int) -> dict[int, int]:
    """From which stage on each row takes part."""
    stage: dict[int, int] = {}
    for name, own in groups.items():
        draw = np.random.default_rng((seed, 1, *name.encode()))
        for group in own:
            rows, start = [int(i) for i in draw.permutation(sorted(group))], 0
            stage.update(dict.fromkeys(rows, len(shares) - 1))
            for s, share in enumerate(shares[:-1]):
                end = math.ceil(share * len(rows) - 1e-9)
                if end - start >= least and len(rows) - end >= least:
                    stage.update(dict.fromkeys(rows[start:end], s))
                    start = end
            if not start and len(rows) < 2 * least:
                at = draw.random()
                stage.update(dict.fromkeys(rows, next(s for s, share in enumerate(shares) if share >= at)))
    return stage


def split_by_value(groups: Groups, value: Any, least: int, close: float) -> Groups:
    """Every group in pieces of at least `least` rows with about the same value."""
    found: Groups = {}
    for name, own in groups.items():
        pieces = []
        for group in own:
            rows = sorted(group, key=lambda i: value[i])
            piece = []
            for at, i in enumerate(rows):
                if len(piece) >= least and len(rows) - at >= least and value[i] - value[piece[0]] > close:
                    pieces.append(piece)
                    piece = []
                piece.append(i)
            pieces.append(piece)
        found[name] = pieces
    return found


def means(groups: Groups, value: Any) -> dict[int, float]:
    """Every row's value is the mean of its group."""
    return {i: float(np.mean([value[j] for j in group])) for own in groups.values() for group in own for i in group}


# What is opened


def upper_bound(groups: Sequence[Sequence[int]], h: Any, weight: Any) -> float:
    """(1): at least the weighted hinge loss."""
    total = 0.0
    for group in groups:
        S, Q, n = sum(h[i] for i in group), sum(h[i] ** 2 for i in group), len(group)
        total += weight[group[0]] * (S + math.sqrt(max(n * Q, S * S))) / 2
    return total


def round_set(
    groups: list[list[int]], inside: Any, h: Any, least: int, slack: float
) -> tuple[list[int], list[list[int]]]:
    """A holder's rows that stand for those with h > 0, by (2) and (3), and its groups after the splits.

    `inside` is the problem.
    """
    here = [g for g, group in enumerate(groups) if inside[group[0]]]
    tiny = NOTHING * max((abs(h[i]) for g in here for i in groups[g]), default=0.0) if least > 1 else 0.0
    whole = {g: max(0.0, sum(h[i] for i in groups[g])) for g in here}
    missing = sum(max(0.0, h[i]) for g in here for i in groups[g]) - sum(whole.values())
    gains = []
    for g in here:
        rows = sorted(groups[g], key=lambda i: -h[i])
        violating = sum(h[i] > tiny for i in rows)
        if len(rows) >= 2 * least and 0 < violating < len(rows):
            k = min(max(violating, least), len(rows) - least)
            gains.append((sum(h[i] for i in rows[:k]) - whole[g], g, rows[:k]))
    chosen: dict[int, list[int]] = {}
    for gain, g, top in sorted(gains, key=lambda each: -each[0]):
        if least == 1 or missing <= slack or gain <= tiny:
            break
        chosen[g] = top
        missing -= gain
    marked = [i for g in here for i in (chosen[g] if g in chosen else groups[g] if whole[g] > tiny else [])]
    after = [[i for i in group if i not in chosen.get(g, ())] for g, group in enumerate(groups)]
    return marked, [*after, *chosen.values()]


# The training


class Pool:
    """One problem at one price after the other, as its coordinator sees it."""

    def __init__(self, F: Any, signs: Any, weight: Any, prices: Sequence[float], *, exact: bool) -> None:
        self.F, self.y, self.weight, self.prices = F, signs, weight, prices
        self.cuts: list[tuple[Any, float, float, float]] = [
            (np.zeros(F.shape[1]), 0.0, 0.0, 1.0)
        ]  # a, d, c, counts in the sum of (3)
        if not (signs > 0).any() or not (signs < 0).any():
            self.cuts += [(np.zeros(F.shape[1]), side, -BIAS, 0.0) for side in (1.0, -1.0)]
        for side in ((signs > 0), (signs < 0), (signs != 0)):
            self.cut(np.flatnonzero(side))
        self.at, self.age, self.now = 0, 0, prices[0] if exact else FIRST * prices[0]
        self.w, self.b, self.bound, self.found = (
            np.zeros(F.shape[1]),
            0.0,
            0.0,
            list[tuple[Any, float, float, float, bool]](),
        )
        self.objective = prices[0] * float(weight[signs != 0].sum())
        self.minimise()

    @property
    def done(self) -> bool:
        return self.at == len(self.prices)

    @property
    def price(self) -> float:
        return self.prices[min(self.at, len(self.prices) - 1)]

    def cut(self, rows: Any) -> None:
        """(2) of `cutting_plane`."""
        signed = self.weight[rows] * self.y[rows]
        self.cuts.append((signed @ self.F[rows], float(signed.sum()), float(self.weight[rows].sum()), 1.0))

    def minimise(self) -> None:
        """(3), at the price that rises, and as a bound at the price that is asked for."""
        self.ahead, b, value = self.solved(self.now)
        self.ahead_b = self.nearest(b)
        self.bound = max(self.bound, value if self.now >= self.price else self.solved(self.price)[2])

    def solved(self, C: float) -> tuple[Any, float, float]:
        """w, one of the best b, and the value."""
        a, d, c, e = (np.array([cut[i] for cut in self.cuts]) for i in range(4))
        start = np.zeros(len(c))
        start[0] = C
        found = solve(a @ a.T, c, np.stack([e, d]), np.array([C, 0.0]), start, start > 0)
        w = found.x @ a
        return w, float(found.multipliers[1]), float(c @ found.x - w @ w / 2)

    def nearest(self, b: float) -> float:
        """Of all b at which no cut lies higher than the highest lies at this one, the nearest to where the pool is."""
        highest = max(c - a @ self.ahead - d * b for a, d, c, e in self.cuts if e)
        slack = LEVEL * max(c for _, _, c, _ in self.cuts)
        level = max(0.0, highest) + slack
        ends = [
            ((c - a @ self.ahead - (level if e else slack)) / d, d)
            for a, d, c, e in self.cuts
            if abs(d) > FLAT * abs(c)
        ]
        lowest, highest_b = max(end for end, d in ends if d > 0), min(end for end, d in ends if d < 0)
        return min(max(self.b, lowest), highest_b)

    def on_line(self, step: float) -> tuple[Any, float]:
        """The model there."""
        return self.w + step * (self.ahead - self.w), self.b + step * (self.ahead_b - self.b)

    def h(self, step: float) -> Any:
        """1 - y f on the line."""
        w, b = self.on_line(step)
        return 1.0 - self.y * (self.F @ w + b)

    def loss(self, step: float, groups: Groups) -> float:
        """The upper bound on R, over all groups of the problem."""
        here = [group for own in groups.values() for group in own if self.y[group[0]] != 0]
        return upper_bound(here, self.h(step), self.weight)

    def move(self, length: float, at: float) -> None:
        """So far along the line; the next cut is taken at another step of it."""
        self.residual = self.weight * self.h(at)
        self.w, self.b = self.on_line(length)

    def to_next_price(self, tol: float) -> None:
        """Write down what came of this one."""
        gap = (self.objective - self.bound) / max(self.objective, 1e-300)
        self.found.append((self.w, self.b, self.objective, self.bound, bool(gap > tol)))
        before, square = self.price, self.w @ self.w / 2
        self.at, self.age = self.at + 1, 0
        self.objective = square + self.price / before * (self.objective - square)


class Alone:
    """Groups of single rows: every pool by itself, along its whole line."""

    def __init__(self, pools: list[Pool], tol: float, max_rounds: int, bounds: int) -> None:
        del bounds
        self.pools, self.tol, self.max_rounds = pools, tol, max_rounds

    def move(self, groups: Groups) -> None:
        for pool in (pool for pool in self.pools if not pool.done):
            J = [
                w @ w / 2 + pool.price * pool.loss(step, groups)
                for step, (w, _) in ((step, pool.on_line(step)) for step in STEPS)
            ]
            best = int(np.argmin(J))
            pool.move(STEPS[best], STEPS[best] + BEYOND * (1 - STEPS[best]) if best else 1.0)
            pool.objective, pool.age = float(J[best]), pool.age + 1
            if (pool.objective - pool.bound) / max(pool.objective, 1e-300) <= self.tol or pool.age >= self.max_rounds:
                pool.to_next_price(self.tol)
            pool.now = pool.price

    def slack(self, pool: Pool, holders: int) -> float:
        del pool, holders
        return 0.0


class InStep:
    """Larger groups.

    One number a round, or two if so many are allowed, say whether all pools move, (1) and (2) of `lockstep`.
    """

    def __init__(self, pools: list[Pool], tol: float, max_rounds: int, bounds: int) -> None:
        self.pools, self.tol = pools, tol
        self.stages = max(len(pool.prices) for pool in pools)
        rounds = self.stages * min(max_rounds, ROUNDS)
        self.tries = TRIES if bounds >= len(TRIES) * rounds else TRIES[:1]
        self.rounds = min(rounds, bounds // len(self.tries)) // self.stages
        self.n = [float(pool.weight[pool.y != 0].sum()) or 1.0 for pool in pools]
        self.stage, self.step, self.still, self.age, self.waited, self.narrowest = 0, 1.0, 0, 0, 0, np.inf
        self.loss = float(sum((pool.y != 0).any() for pool in pools))
        self.set_growth()

    def set_growth(self) -> None:
        """Prices reach what is asked for in half of the rounds of a stage."""
        half = max(1.0, self.rounds / 2)
        self.growth = [max(GROWTH, (pool.price / pool.now) ** (1 / half)) for pool in self.pools]

    def total(self, loss: float, step: float) -> float:
        """(2)."""
        squares = 0.0
        for pool, n in zip(self.pools, self.n, strict=True):
            w, _ = pool.on_line(step)
            squares += w @ w / (2 * pool.price * n)
        return loss + squares

    def width(self) -> float:
        return max(
            0.0,
            self.total(self.loss, 0.0)
            - sum(pool.bound / (pool.price * n) for pool, n in zip(self.pools, self.n, strict=True)),
        )

    def move(self, groups: Groups) -> None:
        steps = [self.step * share for share in self.tries]
        losses = [
            sum(pool.loss(step, groups) / n for pool, n in zip(self.pools, self.n, strict=True)) for step in steps
        ]
        J = [self.total(loss, step) for loss, step in zip(losses, steps, strict=True)]
        best = int(np.argmin(J))
        loss, step, moves = losses[best], steps[best], J[best] < self.total(self.loss, 0.0)
        for pool in self.pools:
            pool.move(step if moves else 0.0, step + BEYOND * (1 - step) if moves else step)
        if moves:
            self.loss = loss
        self.step = min(1.0, FASTER * step) if moves else max(SHORTEST, SLOWER * self.step)
        self.still, self.age = 0 if moves else self.still + 1, self.age + 1
        apart = self.width()
        for pool, n in zip(self.pools, self.n, strict=True):
            pool.objective = pool.bound + apart / len(self.pools) * pool.price * n
        if all(pool.now >= pool.price for pool in self.pools):
            self.waited = 0 if apart < SHRINK * self.narrowest else self.waited + 1
            self.narrowest = min(apart, self.narrowest)
        if apart <= self.tol * self.total(self.loss, 0.0) or self.waited >= PATIENCE or self.age >= self.rounds:
            self.next_stage()
        for pool, growth in zip(self.pools, self.growth, strict=True):
            pool.now = min(pool.price, pool.now * growth)

    def next_stage(self) -> None:
        """All pools go on to their next prices; those that have none stay, and all are done after the last."""
        self.stage += 1
        for pool in self.pools:
            if self.stage == self.stages or self.stage < len(pool.prices):
                pool.to_next_price(self.tol)
        self.age, self.waited, self.narrowest = 0, 0, np.inf
        self.set_growth()

    def slack(self, pool: Pool, holders: int) -> float:
        n = self.n[self.pools.index(pool)]
        return 0.0 if self.still > STILL else SLACK * self.width() / (len(self.pools) * holders) * n


def planes(
    groups: Groups,
    tables: Sequence[tuple[Any, Sequence[float]]],
    signs: Any,
    weight: Any = None,
    *,
    least: int,
    tol: float,
    max_rounds: int = 500,
    bounds: int = 1 << 40,
) -> tuple[list[Pool], Groups, int]:
    """Solve every problem (a column of signs) in every table (features, prices): pools, groups after splits, rounds.

    `bounds`: how many on losses the holders allow.
    """
    use = rows_in(groups)
    signs = np.where(np.isin(np.arange(len(signs)), use)[:, None], signs, 0)
    weight = np.ones(len(signs)) if weight is None else weight
    groups = {name: [list(group) for group in own] for name, own in groups.items()}
    pools = [Pool(F, y, weight, C, exact=least == 1) for F, C in tables for y in signs.T]
    way, rounds = (Alone if least == 1 else InStep)(pools, tol, max_rounds, bounds), 0
    while live := [pool for pool in pools if not pool.done]:
        way.move(groups)
        cutting = [(pool, list[int](), way.slack(pool, len(groups))) for pool in live if not pool.done]
        for name in groups:
            for pool, rows, slack in cutting:
                marked, groups[name] = round_set(groups[name], pool.y != 0, pool.residual, least, slack)
                rows.extend(marked)
        for pool, rows, _ in cutting:
            pool.cut(sorted(rows))
            pool.minimise()
        rounds += 1
    return pools, groups, rounds
