"""Few violators: a row that alone is within the margin, or alone tells two cuts apart, is there for the coordinator to read.

    a_V - a_W = +-s y f,   d_V - d_W = +-s y,   c_V - c_W = +-s      where V and W differ by one row, W perhaps empty     (1)

so f is the first over the second, and y the second over the third. The paper's solver opens such sums all the time: near
the optimum a round moves a few rows over the margin. The coordinator follows the protocol; it only remembers. `min_count`
holds such sums back. From f the record follows: with landmarks the kernel values k = f B^+ are distances or dot products
with public points, which d + 1 of them turn into x; with Fourier features x solves a small least-squares problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from tacit.attacks.coordinator import Steps, play
from tacit.choreo import F64, I64
from tacit.numeric.line_search import CUTS, STEPS
from tacit.protocols import cutting_plane as honest
from tacit.protocols.feature_map import FeatureMap, map_records
from tacit.protocols.plane_rows import Rows
from tacit.protocols.planes import first_planes

FAR = 1e-9  # a kernel value below this is rounding
STARTS = 12


@dataclass(frozen=True)
class Violator:
    """A row that was laid open: of which problem, what the holder had in it."""

    problem: int
    features: F64
    sign: int
    weight: float


@dataclass
class Listener:
    """An honest coordinator that remembers: all sums of every problem, and by how many rows each new one differs from them."""

    sums: list[list[F64]] = field(default_factory=list)
    differences: list[F64] = field(default_factory=list)
    alone: list[Violator] = field(default_factory=list)

    def steps(self) -> Steps:
        """Those at which there is something to remember."""
        return {"first_planes": self.first_planes, "allow": self.allow, "advance": self.advance}

    def first_planes(self, sums: F64, both: I64, C: float) -> Any:
        """In the order in which holders note what was summed: nothing, all rows, and the two classes."""
        for k, two in enumerate(both):
            plus, minus = sums[2 * k : 2 * k + 2]
            self.sums.append([np.zeros_like(plus), plus + minus, *([plus, minus] if two else [])])
        return first_planes(sums, both, C)

    def allow(self, counts: F64, live: I64, sets: tuple[int, ...], min_count: int, sizes: F64, classes: int) -> Any:
        """After the counts on the line, for every problem, the differences of candidates from what was summed."""
        ends = np.cumsum([len(STEPS) + (sets[k] + classes) * len(CUTS) for k in live])
        parts = np.split(np.rint(counts), ends[:-1])
        self.differences = [part[len(STEPS) :].reshape(-1, len(CUTS))[: sets[k]] for k, part in zip(live, parts, strict=True)]
        return honest.allow(counts, live, sets, min_count, sizes, classes)

    def advance(self, planes: Any, losses: F64, sums: F64, go: Any, step: Any, C: float) -> Any:
        """(1), for every new sum."""
        opened = iter(sums)
        for i, k in enumerate(go.live):
            if step.cut[i] >= 0:
                new, far = next(opened), self.differences[i][:, np.searchsorted(CUTS, step.cut[i])]
                self.alone += [violator(int(k), new - self.sums[k][j]) for j in np.flatnonzero(far == 1)]
                self.sums[k].append(new)
        return honest.advance(planes, losses, sums, go, step, C)


def few_violators(rows: Mapping[str, Rows], **params: Any) -> list[Violator]:
    """Train with honest parties; what the coordinator could read on the way."""
    listener = Listener()
    play(listener.steps(), rows, **params)
    return listener.alone


def violator(problem: int, difference: F64) -> Violator:
    """(1)."""
    a, d, c = difference[:-2], difference[-2], difference[-1]
    return Violator(problem, a / d, int(np.sign(d * c)), float(abs(c)))


def record_of(the_map: FeatureMap, features: F64, columns: int) -> F64:
    """The record that has these features."""
    if the_map.source == "identity":
        return features
    if the_map.source == "fourier":
        starts = [np.zeros(columns), *np.random.default_rng(0).normal(size=(STARTS, columns))]
    else:
        starts = [located(the_map, features @ np.linalg.pinv(the_map.basis))]
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    found = [least_squares(lambda x: map_records(the_map, x[None])[0] - features, start, **tight) for start in starts]
    record: F64 = min(found, key=lambda done: done.cost).x
    return record


def located(the_map: FeatureMap, k: F64) -> F64:
    """Where the record is, from its kernel values k with the landmarks: |x - L_j|^2, or x.L_j, is known for every j."""
    L = the_map.centres
    if the_map.kernel == "rbf":
        near, first = k > FAR, int(np.argmax(k))
        left = np.einsum("ij,ij->i", L, L) + np.log(np.clip(k, FAR, 1.0)) / the_map.gamma  # 2 x.L_j - |x|^2
        A, right = 2.0 * (L - L[first])[near], (left - left[first])[near]
    else:
        power = np.sign(k) * np.abs(k) ** (1.0 / max(1, the_map.degree))
        inner = power if the_map.kernel == "poly" else np.arctanh(np.clip(k, -1.0 + FAR, 1.0 - FAR))
        A, right = L, (inner - the_map.coef0) / the_map.gamma
    found: F64 = np.linalg.lstsq(A, right, rcond=None)[0]
    return found
