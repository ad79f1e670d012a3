"""Chosen iterate: a coordinator that picks its own iterates cuts the rows along a line, as finely as it likes.

Holders sum the rows within the margin of whatever model they are told. Along a unit vector u, with f.w + b = S (f.u -
t) + 1 and S large, these are

    V(t) = the positive rows with f.u < t and the negative ones with f.u > t                                      (1)

and for t1 < t2, since a negative row that leaves V takes its -f with it,

    a(V(t2)) - a(V(t1)) = sum of the f with t1 < f.u < t2,        d(V(t2)) - d(V(t1)) = how many these are          (2)

The coordinator halves the stretch that holds the fewest rows, until (2) says that one row is alone in it: (2) is that
row. Holders that round their sets to groups of at least `min_count` rows give it sums over groups, whatever it asks
for. Holders that see the sums (`witness=True`) repeat the solver's steps and stop at the first direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.attacks.coordinator import Steps, play
from tacit.protocols.planes import cutting_plane
from tacit.protocols.planes.cutting_plane import Direction, Optima, Step
from tacit.protocols.planes.rows import Rows

SHARP = 2e5  # S times the radius: larger, and the sums of squares do not fit into fixed point
LIMIT = 24  # rounds


@dataclass(frozen=True)
class Isolated:
    """The fewest rows that two sums differ by, their mean, and after how many rounds."""

    features: F64
    rows: int
    rounds: int


@dataclass
class Chooser:
    """The coordinator: where it has cut, and the sums that it got there."""

    radius: float
    u: F64
    at: list[float] = field(default_factory=list)
    sums: list[F64] = field(default_factory=list)
    rounds: int = 0

    def steps(self) -> Steps:
        """Return the coordinator's own steps: `direction` and `choose` deviate, `advance` remembers."""
        return {"direction": self.direction, "choose": self.choose, "advance": self.advance, "optima": self.optima}

    def direction(self, pools: Any, pace: Any, exact: bool) -> Direction:  # noqa: FBT001 - as the step it replaces
        """Return the model that cuts the rows by (1) at the next place."""
        honest = cutting_plane.direction(pools, pace, exact)
        live = np.arange(int(self.rounds < LIMIT and self.fewest()[1] != 1), dtype=np.int64)
        scale = SHARP / self.radius
        if len(live):
            self.at.append(self.next_place())
            self.rounds += 1
            w, b = (scale * self.u), np.array([1.0 - scale * self.at[-1]])
        else:
            w, b = np.empty(0), np.empty(0)
        few = slice(len(live))
        told = (honest.price[few], w, b, honest.objective[few], honest.bound[few])
        return Direction(live, *told, honest.steps, honest.share[few])

    def next_place(self) -> float:
        """Return where to cut next: the ends first, then the middle of a stretch.

        That is the stretch that holds the fewest rows but some, or else the widest.
        """
        if len(self.at) < 2:  # noqa: PLR2004 - a stretch has two ends
            return (-self.radius, self.radius)[len(self.at)]
        t, between = self.stretches()
        some = np.flatnonzero(between > 0)
        best = (
            some[np.argmin(between[some] - 1e-3 * np.diff(t)[some] / self.radius)]
            if len(some)
            else int(np.argmax(np.diff(t)))
        )
        return float(t[best] + t[best + 1]) / 2.0

    def stretches(self) -> tuple[F64, F64]:
        """Return where it has cut, in order, and by (2) how many rows are between."""
        order = np.argsort(self.at)
        return np.array(self.at)[order], np.rint(np.diff(np.array(self.sums)[order][:, -2]))

    def fewest(self) -> tuple[int, int]:
        """Return the stretch with the fewest rows but some, and how many these are; 0 before there is one."""
        if len(self.sums) < 2:  # noqa: PLR2004 - a stretch has two ends
            return 0, 0
        between = self.stretches()[1]
        some = np.flatnonzero(between > 0)
        return (0, 0) if not len(some) else (int(some[np.argmin(between[some])]), int(between[some].min()))

    def choose(self, pools: Any, pace: Any, losses: F64, go: Direction, *rest: Any) -> Step:
        """Return a step that stays at the origin and cuts at the published model, as closely as can be."""
        del pools, pace, losses, rest
        n = len(go.live)
        return Step(np.zeros(n), np.ones(n, dtype=np.int64), np.ones(n), np.zeros(n))

    def advance(self, pools: Any, pace: Any, losses: F64, sums: F64, *rest: Any) -> Any:
        """Remember the sum of (1)."""
        del losses, rest
        self.sums.append(sums)
        return pools, pace

    def optima(self, pools: Any, rounds: int) -> Optima:
        """Return some model, to end with."""
        one = np.zeros(1)
        return Optima(np.zeros(pools[0].a.shape[1]), one, one, one, np.zeros(1, dtype=np.int64), rounds)


def chosen_iterate(
    rows: Mapping[str, Rows], *, radius: float, min_count: int = 5, seed: int = 0, witness: bool = False
) -> Isolated | None:
    """Return the fewest rows that a coordinator can tell apart from all others, where all have |f| <= radius.

    None if it finds none.
    """
    u: F64 = np.random.default_rng(seed).normal(size=(next(iter(rows.values())).F.shape[1],))
    u /= np.linalg.norm(u)
    own = Chooser(radius, u)
    play(own.steps(), rows, C=1.0, min_count=min_count, witness=witness, max_rounds=LIMIT + 1)
    at, few = own.fewest()
    if not few:
        return None
    order = np.argsort(own.at)
    a = np.diff(np.array(own.sums)[order], axis=0)[at]
    return Isolated(a[:-2] / few, few, own.rounds)
