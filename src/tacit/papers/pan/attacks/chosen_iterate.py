"""Chosen iterate: a coordinator that picks its own models cuts the rows along a line, as finely as it likes.

Holders sum the rows within the margin of whatever model they are told. Along a unit vector u, with f.w + b = S (f.u -
t) + 1 and S large, these are

    V(t) = the positive rows with f.u < t and the negative ones with f.u > t                                        (1)

and for t1 < t2, since a negative row that leaves V takes its -f with it,

    a(V(t2)) - a(V(t1)) = sum of the f with t1 < f.u < t2,        d(V(t2)) - d(V(t1)) = how many these are          (2)

The coordinator halves the stretch that holds the fewest rows, until (2) says that one row is alone in it: (2) is that
row. Nobody can tell these models from those of the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.learners import Point, Points
from tacit.papers.pan.attacks.coordinator import Steps, deal_rows, play
from tacit.papers.pan.cutting_plane import LineStep, Minima, Planes, SignedRows

SHARP = 2e5  # S times the radius: larger, and losses do not fit into fixed point
LIMIT = 24  # rounds
TRIALS = 4


@dataclass(frozen=True)
class Isolated:
    """The fewest rows that two sums differ by, their mean, and after how many rounds."""

    features: F64
    rows: int
    rounds: int


@dataclass
class Chooser:
    """The coordinator: along which line it cuts, where it has cut, and the sums that it got there."""

    radius: float
    u: F64
    at: list[float] = field(default_factory=list)
    sums: list[F64] = field(default_factory=list)

    def steps(self) -> Steps:
        """Return the steps at which it departs from the protocol."""
        names = ("list_minima", "list_steps", "move_pools", "cut_pools", "list_planes")
        return {name: getattr(self, name) for name in names}

    def list_minima(self, pools: Any, tol: float) -> Minima:
        """Return the model that cuts the rows by (1) at the next place; none once a row is alone."""
        del pools, tol
        if len(self.at) == LIMIT or self.find_fewest()[1] == 1:
            return Minima(np.empty(0, dtype=np.int64), np.empty((0, len(self.u) + 1)), np.ones(1), np.ones(1))
        self.at.append(self.choose_place())
        scale = SHARP / self.radius
        w = np.append(scale * self.u, 1.0 - scale * self.at[-1])[None]
        return Minima(np.zeros(1, dtype=np.int64), w, np.ones(1), np.zeros(1))

    def choose_place(self) -> float:
        """Return where to cut next: at the ends, then in the middle of the stretch with the fewest rows but some."""
        if len(self.at) < 2:  # noqa: PLR2004 - a stretch has two ends
            return (-self.radius, self.radius)[len(self.at)]
        t, between = self.count_between()
        if not (between > 0).any():
            best = int(np.argmax(np.diff(t)))
        else:  # of equals the widest
            best = int(np.argmin(np.where(between > 0, between - 1e-3 * np.diff(t) / self.radius, np.inf)))
        return float(t[best] + t[best + 1]) / 2.0

    def count_between(self) -> tuple[F64, F64]:
        """Return where it has cut, in order, and how many rows are between, (2)."""
        order = np.argsort(self.at)
        return np.array(self.at)[order], np.rint(np.diff(np.array(self.sums)[order][:, -2]))

    def find_fewest(self) -> tuple[int, int]:
        """Return the stretch with the fewest rows but some, and how many these are; 0 before there is one."""
        if len(self.sums) < 2:  # noqa: PLR2004 - a stretch has two ends
            return 0, 0
        between = self.count_between()[1]
        some = np.flatnonzero(between > 0)
        return (int(some[np.argmin(between[some])]), int(between[some].min())) if len(some) else (0, 0)

    def move_pools(self, pools: Any, losses: F64, live: I64) -> Any:
        """Return the pools as they are: losses are of no use."""
        del losses, live
        return pools

    def list_steps(self, pools: Any, live: I64) -> LineStep:
        """Return a step that stays at w = 0, and cuts at the published model."""
        del pools
        return LineStep(np.zeros(len(live)), np.ones(len(live)))

    def cut_pools(self, pools: Any, cuts: F64, live: I64) -> Any:
        """Remember the sum of (1)."""
        del live
        self.sums.append(cuts[0])
        return pools

    def list_planes(self, pools: Any, rounds: int) -> Planes:
        """Return some model, to end with."""
        return Planes(np.zeros((len(pools), len(self.u) + 1)), np.ones(1), np.ones(1), rounds)


def isolate(rows: Mapping[str, SignedRows], *, radius: float, seed: int = 0) -> Isolated | None:
    """Return the fewest rows that a coordinator tells apart from all others, where all have |f| <= radius."""
    u: F64 = np.random.default_rng(seed).normal(size=next(iter(rows.values())).F.shape[1] - 1)
    own = Chooser(radius, u / np.linalg.norm(u))
    play(own.steps(), rows, rounds=LIMIT + 1)
    at, few = own.find_fewest()
    if not few:
        return None
    difference = np.diff(np.array(own.sums)[np.argsort(own.at)], axis=0)[at]
    return Isolated(difference[:-2] / few, few, len(own.at))


def study(X: F64, y: I64) -> Points:
    """Yield how far from a record that is which a coordinator isolates, in a few draws of the line."""
    radius = float(np.linalg.norm(X, axis=1).max())
    for seed in range(TRIALS):
        found = isolate(deal_rows(X, y), radius=radius, seed=seed)
        far = np.linalg.norm(X - found.features, axis=1) if found else np.linalg.norm(X, axis=1)
        yield Point("chosen models", seed, min(1.0, float(far.min() / np.linalg.norm(X[far.argmin()]))))
