"""A coordinator of one's own: it keeps what its steps are given, or takes other steps; every other party is as it is."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tacit.choreo import At, Coordinator, Holder, Role, Roster
from tacit.crypto.entropy import RootEntropy
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.cutting_plane import Solution, cutting_plane
from tacit.protocols.plane_rows import Rows
from tacit.protocols.secure_sum import protect
from tacit.runtimes.together import Together

Steps = Mapping[str, Callable[..., Any]]


class OwnCoordinator(Together):
    """All parties in one process; `steps` stand in for the coordinator's steps of the same name, and for nobody else's."""

    steps: Steps = MappingProxyType({})

    def local(self, role: Role, step: Callable[..., Any], *args: Any, **kwargs: Any) -> At[Any]:
        """As ever, but for the coordinator's own steps."""
        own = self.steps.get(step.__name__) if role == Coordinator else None
        return super().local(role, functools.wraps(step)(functools.partial(own)) if own else step, *args, **kwargs)


def play(steps: Steps, rows: Mapping[str, Rows], **params: Any) -> Solution:
    """The cutting planes of honest holders with these rows, under this coordinator."""
    roster, job = Roster({Holder: tuple(rows), Coordinator: ("coordinator",)}), secrets.token_bytes(16)
    with OwnCoordinator(roster, job=job, entropy=RootEntropy(roster.parties, job)) as run:
        run.steps = steps
        fixed = FixedPoint(32, terms=len(rows))
        return cutting_plane(run, run.hold(Holder, rows), by=protect(run, to=Coordinator), fixed=fixed, **params)
