"""Cutting planes in one process.

Rows of many holders with their groups, what the coordinator is told, and references for the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.svm import SVC

from tacit.choreo import Coordinator, Holder, Message, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.planes import cutting_plane as protocol
from tacit.protocols.planes.rows import Rows
from tacit.protocols.sums.atoms import Atoms, HoldBack, Told, begin
from tacit.protocols.sums.secure_sum import Masked, protect
from tacit.protocols.witness import Voice
from tacit.runtimes.together import Together

PUBLISHED = {kind.__name__: kind for kind in (protocol.Direction, protocol.Step, protocol.Optima)}


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
    """A run and its result.

    Rows of all holders in one place, which nobody in the run has, and each holder's last atoms.
    """

    run: Tapped
    paths: protocol.Paths
    rows: tuple[Rows, ...]
    atoms: dict[str, Atoms]

    @property
    def solution(self) -> protocol.Solution:
        """At the first price."""
        return self.paths.solution(range(len(self.paths.w)))


def rows_of(F: Any, y: Any, weight: Any = None) -> Rows:
    """A holder's rows; y of one column or several."""
    signs = np.asarray(y, dtype=np.int8).reshape(len(F), -1)
    return Rows(np.asarray(F), signs, np.ones(len(F)) if weight is None else np.asarray(weight, dtype=float))


def shared(rows: Rows, parties: int | Sequence[Any]) -> list[Rows]:
    """Split between so many, or as the index arrays say."""
    parts = np.array_split(np.arange(len(rows.F)), parties) if isinstance(parties, int) else parties
    return [Rows(rows.F[i], rows.signs[i], rows.weight[i]) for i in parts]


def kinds_of(rows: Rows) -> Any:
    """Rows of one sign in every problem are of one class; -1 where a row is in no problem."""
    _, kind = np.unique(rows.signs, axis=0, return_inverse=True)
    return np.where(rows.signs.any(axis=1), kind.ravel(), -1)


def grouped(tables: tuple[Rows, ...], kind: Any, least: int) -> tuple[tuple[Rows, ...], Atoms]:
    """A holder's rows in groups of one class, each of at least so many rows.

    Those without a group are in no problem.
    """
    part = SimpleNamespace(X=tables[0].F.astype(np.float64), weight=tables[0].weight, past=None)
    atoms = begin(part, kind, Told((("test", tables[0].F.shape[1]),)), HoldBack(least, accept_risk=True))
    signs = np.where(atoms.group[:, None] < 0, 0, tables[0].signs).astype(np.int8)
    return tuple(Rows(table.F, signs, atoms.weight) for table in tables), atoms


def tables_in(rows: Rows, least: int) -> tuple[Rows, ...]:
    """A holder's rows as the one table of a training."""
    return grouped((rows,), kinds_of(rows), least)[0]


def atoms_in(rows: Rows, least: int) -> Atoms:
    """A holder's groups."""
    return grouped((rows,), kinds_of(rows), least)[1]


def played(
    rows: Rows | tuple[Rows, ...],
    parties: int | Sequence[Any] = 3,
    run: type[Tapped] = Tapped,
    *,
    kind: Any = None,
    C: float | Sequence[float] = 1.0,
    min_count: int = 1,
    **params: Any,
) -> Played:
    """Train over these tables of rows, split between the parties, at one price or several."""
    tables = (rows,) if isinstance(rows, Rows) else rows
    kind = kinds_of(tables[0]) if kind is None else kind
    parts = np.array_split(np.arange(len(kind)), parties) if isinstance(parties, int) else parties
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    split = zip(*(shared(table, parts) for table in tables), strict=True)
    held = {p: grouped(each, kind[i], min_count) for p, each, i in zip(names, split, parts, strict=True)}
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    prices = tuple((C,) if isinstance(C, (int, float)) else tuple(C) for _ in tables)
    with run(roster, job=b"planes", entropy=RootEntropy(roster.parties, b"planes")) as tapped:
        tapped.fixed = FixedPoint(32, terms=len(names))
        voice = Voice(tapped, protect(tapped, to=Coordinator), tapped.fixed, params.pop("witness", False))
        paths, atoms = protocol.cutting_plane(
            tapped,
            *(tapped.hold(Holder, {p: both[i] for p, both in held.items()}) for i in (0, 1)),
            voice=voice,
            prices=prices,
            widths=tuple(table.F.shape[1] for table in tables),
            columns=tables[0].signs.shape[1],
            exact=min_count == 1,
            **params,
        )
        last = dict(entries_of(atoms))
    return Played(tapped, paths, tuple(_pooled([held[p][0][t] for p in names]) for t in range(len(tables))), last)


def _pooled(parts: Sequence[Rows]) -> Rows:
    return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("F", "signs", "weight")))


def objective(rows: Rows, w: Any, b: float, C: float, problem: int = 0) -> float:
    """(1)."""
    y = rows.signs[:, problem]
    hinge = np.where(y == 0, 0.0, np.maximum(0.0, 1.0 - y * (rows.F @ w + b)))
    return float(0.5 * w @ w + C * rows.weight @ hinge)


def bracket(rows: Rows, C: float, problem: int = 0, tol: float = 1e-6) -> tuple[float, float]:
    """The optimum is between scikit-learn's dual and primal objectives."""
    use = rows.signs[:, problem] != 0
    y = rows.signs[use, problem]
    svc = SVC(kernel="linear", C=C, tol=tol, cache_size=50).fit(rows.F[use], y, sample_weight=rows.weight[use])
    w, b = svc.coef_[0], float(svc.intercept_[0])
    flip = 1.0 if svc.classes_[1] > 0 else -1.0
    dual = np.abs(svc.dual_coef_).sum() - 0.5 * w @ w
    return float(dual), objective(rows, flip * w, flip * b, C, problem)


def blobs(n: int = 150, columns: int = 5, seed: int = 0, noise: float = 1.0) -> Rows:
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, columns))
    return rows_of(F, np.where(F[:, 0] + 0.5 * F[:, 1] + noise * rng.normal(size=n) > 0, 1, -1))


def sizes_of(atoms: Atoms) -> Any:
    """How many rows each of a holder's groups has."""
    return np.unique(atoms.group[atoms.group >= 0], return_counts=True)[1]
