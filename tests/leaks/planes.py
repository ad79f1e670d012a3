"""Cutting planes under observation: what the coordinator is told, which sets of rows were summed, and references for the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.svm import SVC

from tacit.choreo import Coordinator, Holder, Message, Roster, decode_as
from tacit.crypto.entropy import RootEntropy
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.line_search import STEPS, violating
from tacit.protocols import cutting_plane as protocol
from tacit.protocols.secure_sum import Masked, protect
from tacit.runtimes.together import Together

PUBLISHED = {kind.__name__: kind for kind in (protocol.Start, protocol.Direction, protocol.Allowed, protocol.Step, protocol.Models)}


class Tapped(Together):
    """Keeps what the coordinator learns: every published message, and every sum as it reads it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.published: list[Message] = []
        self.sums: list[tuple[str, Any]] = []
        self.fixed = FixedPoint(32)

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        name = place.rsplit("/", 1)[-1].split("#", maxsplit=1)[0]
        to_coordinator = {s: frames for (s, r), frames in outbox.items() if r == "coordinator"}
        if name in PUBLISHED:
            self.published += [decode_as(PUBLISHED[name], frames) for frames in to_coordinator.values()]
        if name == "Masked":
            masked = [decode_as(Masked, frames) for frames in to_coordinator.values()]
            words = np.sum([m.words for m in masked], axis=0, dtype=np.uint64)[:-1]
            self.sums.append((place, self.fixed.decode(words).reshape(masked[0].shape)))
        return super()._exchange(place, outbox, wanted, missing)

    def of(self, kind: type) -> list[Any]:
        return [m for m in self.published if isinstance(m, kind)]


@dataclass
class Played:
    """A run and its result; rows of all holders in one place, which nobody in the run has."""

    run: Tapped
    solution: Any
    rows: Any
    params: Mapping[str, Any] = field(default_factory=dict)

    def sets(self, problem: int = 0) -> list[Any]:
        """Which rows were summed, worked out from what was published: nothing, all, both classes, then every cut."""
        both = self.run.of(protocol.Start)[0].both[problem]
        y = self.rows.signs[:, problem]
        sets = [np.zeros(len(y), bool), y != 0, *([y > 0, y < 0] if both else [])]
        margin = np.where(y == 0, 2.0, 0.0)
        for go, step in zip(self.run.of(protocol.Direction), self.run.of(protocol.Step), strict=False):
            if problem in go.live:
                i = list(go.live).index(problem)
                ahead = np.where(y == 0, 2.0, y * (self.rows.F @ go.w[i] + go.b[i]))
                if step.cut[i] >= 0:
                    sets.append(violating(margin, ahead, STEPS[step.cut[i]]))
                margin = margin + STEPS[step.best[i]] * (ahead - margin)
        return sets

    def opened_rows(self) -> list[Any]:
        """The sums (2) that the coordinator read: of the classes, then of each round."""
        width = self.rows.F.shape[1] + 2
        return [total for _, total in self.run.sums if total.ndim == 2 and total.shape[1] == width]


def rows_of(F: Any, y: Any, weight: Any = None) -> protocol.Rows:
    """A holder's rows; y of one column or several."""
    signs = np.asarray(y, dtype=np.int8).reshape(len(F), -1)
    return protocol.Rows(np.asarray(F), signs, np.ones(len(F)) if weight is None else np.asarray(weight, dtype=float))


def shared(rows: protocol.Rows, parties: int | Sequence[Any]) -> list[protocol.Rows]:
    """Split between so many, or as the index arrays say."""
    parts = np.array_split(np.arange(len(rows.F)), parties) if isinstance(parties, int) else parties
    return [protocol.Rows(rows.F[i], rows.signs[i], rows.weight[i]) for i in parts]


def played(rows: protocol.Rows, parties: int | Sequence[Any] = 3, run: type[Tapped] = Tapped, **params: Any) -> Played:
    """Train over these rows, split between the parties."""
    parts = shared(rows, parties)
    order = np.arange(len(rows.F)) if isinstance(parties, int) else np.concatenate(parties)
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    with run(roster, job=b"planes", entropy=RootEntropy(roster.parties, b"planes")) as tapped:
        tapped.fixed = FixedPoint(32, terms=len(names))
        by = protect(tapped, to=Coordinator)
        held = tapped.hold(Holder, dict(zip(names, parts, strict=True)))
        solution = protocol.cutting_plane(tapped, held, by=by, fixed=tapped.fixed, **{"C": 1.0, **params})
    pooled = protocol.Rows(rows.F[order], rows.signs[order], rows.weight[order])
    return Played(tapped, solution, pooled, params)


def objective(rows: protocol.Rows, w: Any, b: float, C: float, problem: int = 0) -> float:
    """(1)."""
    y = rows.signs[:, problem]
    hinge = np.where(y == 0, 0.0, np.maximum(0.0, 1.0 - y * (rows.F @ w + b)))
    return float(0.5 * w @ w + C * rows.weight @ hinge)


def bracket(rows: protocol.Rows, C: float, problem: int = 0, tol: float = 1e-6) -> tuple[float, float]:
    """The optimum is between scikit-learn's dual and primal objectives."""
    use = rows.signs[:, problem] != 0
    y = rows.signs[use, problem]
    svc = SVC(kernel="linear", C=C, tol=tol, cache_size=50).fit(rows.F[use], y, sample_weight=rows.weight[use])
    w, b = svc.coef_[0], float(svc.intercept_[0])
    flip = 1.0 if svc.classes_[1] > 0 else -1.0
    dual = np.abs(svc.dual_coef_).sum() - 0.5 * w @ w
    return float(dual), objective(rows, flip * w, flip * b, C, problem)


def blobs(n: int = 150, columns: int = 5, seed: int = 0, noise: float = 1.0) -> protocol.Rows:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, columns))
    return rows_of(F, np.where(F[:, 0] + 0.5 * F[:, 1] + noise * rng.normal(size=n) > 0, 1, -1))
