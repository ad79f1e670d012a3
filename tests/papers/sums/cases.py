"""Sums on rings and in segments (`tacit.papers.sums`) as cases: the plain sum is the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.case import P1, Case, Inputs
from tacit.choreo import At, Coordinator, Holder, Role, Roster, Run
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.papers.sums.ring_sum import draw_rings, ring_sum


def arrays(roster: Roster, shape: tuple[int, ...]) -> Inputs:
    rng = np.random.default_rng(4)
    return {"x": (Holder, {p: rng.normal(size=shape) for p in roster[Holder]})}


def play(run: Run, x: At[Any], *, to: Role, segments: int) -> Any:
    """Twice: the second sum must be as good as the first."""
    rings, fixed = draw_rings(run, to=to, segments=segments), FixedPoint(32, terms=len(run.roster[Holder]))
    return {name: ring_sum(run, x, to=to, rings=rings, fixed=fixed) for name in ("first", "second")}


def check(result: Any, inputs: Inputs, *, to: str) -> None:
    total = sum(inputs["x"][1].values())
    for found in result.values():
        assert list(found) == [to]
        np.testing.assert_allclose(found[to], total, atol=1e-8)


def case(name: str, shape: tuple[int, ...], *, to: Role = Coordinator, segments: int = 1, least: int = 2) -> Case:
    asked = partial(play, to=to, segments=segments)
    return Case(f"ring_sum_{name}", partial(arrays, shape=shape), asked, partial(check, to=to.party or to.name), least)


CASES: tuple[Case, ...] = (
    case("vector", (17,)),
    case("to_holder", (5,), to=P1, least=3),
    case("segments", (3, 4), segments=2, least=5),
    case("segments_to_holder", (3, 4), segments=2, to=P1, least=5),
)
