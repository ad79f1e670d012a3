"""A coordinator of one's own: it keeps what its steps are given, or takes other steps.

Every other party is as it is.
"""

from __future__ import annotations

import dataclasses
import functools
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Holder, Role, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.planes import cutting_plane as honest
from tacit.protocols.planes.cutting_plane import Solution, cutting_plane
from tacit.protocols.planes.rows import Rows, make_single_table
from tacit.protocols.sums.atoms import HoldBack, Past, Told, begin
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice
from tacit.runtimes.together import Together

Steps = Mapping[str, Callable[..., Any]]


class OwnCoordinator(Together):
    """All parties in one process.

    `steps` stand in for the coordinator's steps of the same name, and for nobody else's.
    """

    steps: Steps = MappingProxyType({})

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """Play a step as usual, or the coordinator's own version of it."""
        own = self.steps.get(step.__name__) if role == Coordinator else None
        return super().local(role, functools.wraps(step)(functools.partial(own)) if own else step, *args, **kwargs)


def play(
    steps: Steps,
    rows: Mapping[str, Rows],
    *,
    C: float = 1.0,
    min_count: int = 5,
    past: dict[str, Past] | None = None,
    witness: bool = False,
    **params: Any,
) -> Solution:
    """Return what the cutting planes of honest holders with these rows give under this coordinator.

    `past` holds what earlier runs opened, by holder; what this one opens is written into it. Weights are taken as they
    are: only those that all rows of a class share are what a training would use.
    """
    kept = {} if past is None else past
    roster, job = Roster({Holder: tuple(rows), Coordinator: ("coordinator",)}), secrets.token_bytes(16)
    with OwnCoordinator(roster, job=job, entropy=RootEntropy(roster.parties, job), keep=kept.__setitem__) as run:
        run.steps = steps
        width, problems = _shape(rows)
        parts = {p: part_of(own.F, None, None, ()) for p, own in rows.items()}
        data = run.hold(Holder, {p: dataclasses.replace(part, past=kept.get(p)) for p, part in parts.items()})
        kind = run.hold(Holder, {p: _classes(own) for p, own in rows.items()})
        told, rule = Told((("features", width),)), HoldBack(min_count, accept_risk=True)
        atoms = run.local(Holder, begin, data, kind, told, rule)
        held = run.local(Holder, make_single_table, run.hold(Holder, rows))
        voice = Voice(run, protect(run, to=Coordinator), FixedPoint(32, terms=len(rows)), witness)
        paths, _ = cutting_plane(
            run,
            held,
            atoms,
            voice=voice,
            prices=((C,),),
            widths=(width,),
            columns=problems,
            exact=min_count == 1,
            **params,
        )
        return paths.solution(range(problems))


class Listener:
    """An honest coordinator that remembers all sums (2) of its first problem: the classes, then every cut."""

    def __init__(self) -> None:
        self.sums: list[F64] = []

    def steps(self) -> Steps:
        """Return the steps at which there is something to remember."""
        return {"first_pools": self.first_pools, "advance": self.advance}

    def first_pools(self, sums: F64, prices: Any, widths: tuple[int, ...], *rest: Any) -> Any:
        """Remember the sums of the two classes."""
        self.sums += [*sums.reshape(-1, widths[0] + 2)[:2]]
        return honest.first_pools(sums, prices, widths, *rest)

    def advance(self, pools: Any, pace: Any, losses: F64, sums: F64, *rest: Any) -> Any:
        """Remember the sum of a cut, if there is one."""
        if len(sums):
            self.sums.append(sums[: pools[0].a.shape[1] + 2])
        return honest.advance(pools, pace, losses, sums, *rest)


def opened_sums(rows: Mapping[str, Rows], **params: Any) -> F64:
    """Return all sums that an honest coordinator reads in one run, a line each: a, d, c."""
    listener = Listener()
    play(listener.steps(), rows, **params)
    return np.array(listener.sums)


def deal_rows(F: F64, y: F64 | I64, weight: F64 | None = None, parties: int = 4) -> dict[str, Rows]:
    """Return rows of two classes, the larger label being positive, dealt round to so many holders."""
    signs, weight = (
        np.where(y == y.max(), 1, -1).astype(np.int8)[:, None],
        np.ones(len(F)) if weight is None else weight,
    )
    return {
        f"p{i + 1}": Rows(np.ascontiguousarray(F[i::parties]), signs[i::parties], weight[i::parties])
        for i in range(parties)
    }


def _shape(rows: Mapping[str, Rows]) -> tuple[int, int]:
    first = next(iter(rows.values()))
    return first.F.shape[1], first.signs.shape[1]


def _classes(rows: Rows) -> I64:
    """Return the class of every row, from its signs; -1 if it has none."""
    code = np.unique(np.vstack([rows.signs, -rows.signs]), axis=0, return_inverse=True)[1].ravel()[: len(rows.F)]
    return np.where(np.any(rows.signs != 0, axis=1), code, -1).astype(np.int64)
