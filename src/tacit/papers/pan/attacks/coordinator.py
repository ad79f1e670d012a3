"""A coordinator of one's own in `cut_planes`: it keeps what its steps are given, or takes other steps."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Holder, Role, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.papers.pan import cutting_plane as honest
from tacit.papers.pan.cutting_plane import Planes, SignedRows, Solver, cut_planes
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

Steps = Mapping[str, Callable[..., Any]]
PARTIES = 3


class OwnCoordinator(Together):
    """All parties in one process; `steps` stand in for the coordinator's steps of the same name, for nobody else's."""

    steps: Steps = MappingProxyType({})

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """Play a step as usual, or the coordinator's own version of it."""
        own = self.steps.get(step.__name__) if role == Coordinator else None
        return super().local(role, functools.wraps(step)(functools.partial(own)) if own else step, *args, **kwargs)


def play(
    steps: Steps, rows: Mapping[str, SignedRows], *, C: float = 1.0, tol: float = 1e-6, rounds: int = 500
) -> Planes:
    """Return what honest holders of these rows train under this coordinator."""
    roster, job = Roster({Holder: tuple(rows), Coordinator: ("coordinator",)}), secrets.token_bytes(16)
    with OwnCoordinator(roster, job=job, entropy=RootEntropy(roster.parties, job)) as run:
        run.steps = steps
        how = Solver(C, tol, rounds, protect(run), FixedPoint(32, terms=len(rows)))
        return cut_planes(run, run.hold(Holder, rows), how=how)


def listen(rows: Mapping[str, SignedRows], **params: Any) -> F64:
    """Return all sums (a, d, m) that an honest coordinator reads of its first problem, a line each."""
    heard: list[F64] = []

    def start_pools(first: F64, C: float) -> honest.Pools:
        heard.extend(first[0])
        return honest.start_pools(first, C)

    def cut_pools(pools: honest.Pools, cuts: F64, live: I64) -> honest.Pools:
        heard.append(cuts[0])
        return honest.cut_pools(pools, cuts, live)

    play({"start_pools": start_pools, "cut_pools": cut_pools}, rows, **params)
    return np.array(heard)


def deal_rows(F: F64, y: F64 | I64) -> dict[str, SignedRows]:
    """Return rows of two classes, the larger label being positive, dealt round to a few holders."""
    F = np.column_stack([F, np.ones(len(F))])
    signs = np.where(y == y.max(), 1, -1).astype(np.int8)[:, None]
    held = {f"p{i + 1}": slice(i, None, PARTIES) for i in range(PARTIES)}
    return {p: SignedRows(np.ascontiguousarray(F[at]), signs[at], np.ones(len(F[at]))) for p, at in held.items()}
