"""Chosen iterate: a coordinator that picks its own iterates isolates a record, although every count is large.

Holders sum the rows within the margin of whatever model they are told. From w = 0, b = 0 a step k towards (w, b) has the
rows with y (f.w + b) < 1/k within the margin. Along a unit vector u, with f.w + b = S (f.u - t) + 1/k and S large, these are

    V(t) = the positive rows with f.u < t and the negative ones with f.u > t                                      (1)

and with -u the other way round, W(t). A row between t1 < t2 is in neither V(t1) nor W(t2) if it is positive, and in both
if it is negative; every other row is in one of them. So if x is the only one between,

    f_x = a_all - a(V(t1)) - a(W(t2)),         a_all = the sum of both classes, which the start opens             (2)

To find t1, t2 the coordinator probes: one round tells how many rows are within the margin at 35 steps k, that is 35
distances from t. V(t1), W(t2) and all rows are large sets that differ by many rows, so the rule of `min_count` has nothing
to object to: the coordinator publishes every `Allowed` as it should, and only `Direction` and `Step` are not what the
solver would take. Holders that see the sums (`witness=True`) repeat the solver's steps and stop at the first direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.attacks.coordinator import Steps, play
from tacit.choreo import F64, I64
from tacit.numeric.line_search import CUTS, STEPS
from tacit.protocols import cutting_plane as honest
from tacit.protocols.cutting_plane import Allowed, Direction, Step
from tacit.protocols.plane_rows import Rows
from tacit.protocols.planes import Planes, first_planes

ONE = int(np.flatnonzero(STEPS == 1.0)[0])
DISTANCES: F64 = 1.0 / STEPS[:0:-1]  # rising
SHARP = 2e5  # the largest S times the radius: larger, and the losses do not fit into fixed point
LIMIT = 10  # rounds
ALL = -1


@dataclass(frozen=True)
class Isolated:
    """The row; how many rows the smallest opened sum was over, by how many two sums differ at least, rounds."""

    features: F64
    least_rows: int
    least_difference: int
    rounds: int


@dataclass
class Stretch:
    """f.u from `low` to `high`, and how many rows are said to be there: a negative one as far below the probe looks the same."""

    low: float
    high: float
    rows: int = 0


@dataclass
class Chooser:
    """The coordinator. Stretches to look into, the best last; the one at whose ends it cuts; the sums it has, and over how many rows."""

    radius: float
    u: F64
    look: list[Stretch]
    lone: Stretch | None = None
    cutting: bool = False  # this round is no probe
    rounds: int = 0
    classes: list[F64] = field(default_factory=list)
    cuts: list[F64] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    apart: list[float] = field(default_factory=list)
    last: tuple[float, float] = (0.0, 0.0)  # rows within the margin at k = 1, and the least difference of that set from all before

    def steps(self) -> Steps:
        """`direction` and `choose` deviate, the others remember."""
        return {f.__name__: f for f in (self.may_start, self.first_planes, self.direction, self.allow, self.choose, self.advance)}

    @property
    def done(self) -> bool:
        """Every row but a positive one is in just one of the last two sums."""
        return len(self.cuts) == 2 and sum(self.sizes[-2:]) == sum(self.sizes[:2]) - 1  # noqa: PLR2004 - V and W

    def may_start(self, sizes: F64, min_count: int) -> Any:
        """Class sizes."""
        self.sizes += [*np.rint(sizes[0])]
        return honest.may_start(sizes, min_count)

    def first_planes(self, sums: F64, both: I64, C: float) -> Any:
        """Class sums."""
        self.classes += [*sums]
        return first_planes(sums, both, C)

    def direction(self, planes: tuple[Planes, ...], tol: float, last: bool) -> Direction:  # noqa: ARG002, FBT001 - as the step it replaces
        """Probe, then (1) at either end, then no more."""
        if not self.done and (len(self.cuts) == 2 or not self.lone):  # noqa: PLR2004 - V and W
            self.lone, self.cuts = None, []
        self.cutting = self.lone is not None
        live = np.arange(int(self.rounds < LIMIT and not self.done and bool(self.lone or self.look)))
        self.rounds += len(live)
        w, b = self.iterate() if len(live) else (self.u, 0.0)
        return Direction(live, w[None][: len(live)], np.full(len(live), b), np.array([planes[0].objective]), np.zeros(1))

    def iterate(self) -> tuple[F64, float]:
        """f.w + b is 1 at the end where the cut is, or the least distance at the beginning of the stretch."""
        if self.lone:
            at, scale, value = (self.lone.high, -SHARP / self.radius, 1.0) if self.cuts else (self.lone.low, SHARP / self.radius, 1.0)
        else:
            at, scale, value = self.look[-1].low, self.probe()[1], float(DISTANCES[0])
        return scale * self.u, value - scale * at

    def probe(self) -> tuple[int, float]:
        """How many distances lie on the stretch, and S."""
        stretch = self.look[-1]
        scales = (DISTANCES - DISTANCES[0]) / (stretch.high - stretch.low)
        ends = int(np.flatnonzero(scales * self.radius <= SHARP)[-1])
        return ends, float(scales[ends])

    def allow(self, counts: F64, live: I64, sets: tuple[int, ...], min_count: int, sizes: F64, classes: int) -> Allowed:
        """As it should be; the counts are what a probe is for."""
        n = np.rint(counts)
        self.last = n[ONE], n[len(STEPS) :].reshape(-1, len(CUTS))[:, np.searchsorted(CUTS, ONE)].min()
        if not self.lone:
            self.probed(n[len(STEPS) - 1 : 0 : -1])
        return honest.allow(counts, live, sets, min_count, sizes, classes)

    def probed(self, n: F64) -> None:
        """`n`: rows within each distance: first where rows are at all, then from their middle on, then where one is alone."""
        ends, scale = self.probe()
        stretch = self.look.pop()
        edges, rows = stretch.low + (DISTANCES - DISTANCES[0]) / scale, np.diff(n[: ends + 1])
        inner = [Stretch(float(edges[i]), float(edges[i + 1]), int(rows[i])) for i in np.flatnonzero(rows)]
        if stretch.rows == ALL:
            starts = inner[0].low + (inner[-1].high - inner[0].low) * np.array([0.6, 0.4, 0.5])
            self.look = [Stretch(float(start), inner[-1].high) for start in starts]
        elif stretch.rows == 1:
            self.lone = inner[0] if inner else None  # none: it was a negative one
        else:
            self.look += sorted((s for s in inner if s.rows == 1), key=lambda s: s.high - s.low)

    def choose(self, planes: Any, losses: F64, go: Direction, allowed: Allowed, C: float) -> Step:  # noqa: ARG002 - as the step it replaces
        """Stay at the origin; a cut at k = 1 if it is one and allowed."""
        taken = self.cutting and bool(allowed.cuts[0][np.searchsorted(CUTS, ONE)])
        if self.cutting and not taken:
            self.lone = None
        return Step(np.zeros(1, dtype=np.int64), np.array([ONE if taken else -1]))

    def advance(self, planes: Any, losses: F64, sums: F64, go: Direction, step: Step, C: float) -> Any:
        """The sums of (2)."""
        self.cuts += [*sums]
        self.sizes += [self.last[0]] * len(sums)
        self.apart += [self.last[1]] * len(sums)
        return honest.advance(planes, losses, sums, go, step, C)


def chosen_iterate(rows: Mapping[str, Rows], *, radius: float, min_count: int = 5, seed: int = 0, witness: bool = False) -> Isolated | None:
    """Isolate a row of honest holders, whose rows have |f| <= radius; None if ten rounds are too few."""
    u: F64 = np.random.default_rng(seed).normal(size=(next(iter(rows.values())).F.shape[1],))
    u /= np.linalg.norm(u)
    own = Chooser(radius, u, [Stretch(-radius, radius, ALL)])
    play(own.steps(), rows, C=1.0, min_count=min_count, witness=witness, max_rounds=LIMIT + 1)
    if not own.done:
        return None
    features = np.sum(own.classes, axis=0) - np.sum(own.cuts, axis=0)  # (2)
    return Isolated(features[:-2], int(min(own.sizes)), int(min(own.apart)), own.rounds)
