"""Products in shares as conformance cases: the integer product of the parties' matrices is the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.choreo import At, Holder, Run
from tacit.crypto.products.engines import Block, Plan, make_engine
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Ring
from tacit.protocols.products.secure_product import integers, multiply, offer, own_columns, secure_product

ROWS, COLUMNS = 7, 4
FIXED = FixedPoint(12)
RING = Ring(1 << 48)
PLAN = Plan((ROWS,) * COLUMNS, (Block((0, 2), ROWS), Block((3,), ROWS)))  # as where two parties share some columns only


def matrices(parties: Sequence[str]) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {p: rng.uniform(-9, 9, (ROWS, COLUMNS)) for p in parties}


def play_pair(run: Run, x: At[Any], *, by: str) -> Any:
    """The first holder with the last."""
    p, *_, q = run.members(Holder)
    key, other = secure_product(run, x, x, p=p, q=q, shape=(ROWS, ROWS, COLUMNS), by=by, fixed=FIXED)
    return {"key": key, "other": other}


def play_many(run: Run, x: At[Any], *, by: str) -> Any:
    """One upload of the first holder, for all others."""
    p, *others = run.members(Holder)
    way = make_engine(by, COLUMNS)
    offered = offer(run, run.local(p, own_columns, x, FIXED, way.bound, (ROWS, COLUMNS), run.who(p)), p=p, way=way)
    found = {}
    for q in others:
        key, other = multiply(run, offered, run.local(q, parts_of, x), p=p, q=q, plan=PLAN, way=way)
        found[str(q)] = {"key": key, "other": other}
    return found


def parts_of(x: Any) -> tuple[Any, ...]:
    whole = integers(x, FIXED, "x")
    return tuple(np.ascontiguousarray(whole[:, list(block.columns)]) for block in PLAN.blocks)


def check_pair(result: Any, held: Mapping[str, Any]) -> None:
    p, *_, q = held
    A, B = (integers(held[party], FIXED, "x") for party in (p, q))
    np.testing.assert_array_equal(RING.centred(RING.total([result["key"][p], result["other"][q]])), A @ B.T)


def check_many(result: Any, held: Mapping[str, Any]) -> None:
    p, *others = held
    for q in others:
        for block, mine, theirs in zip(PLAN.blocks, result[q]["key"][p], result[q]["other"][q], strict=True):
            A, B = (integers(held[party], FIXED, "x")[:, list(block.columns)] for party in (p, q))
            np.testing.assert_array_equal(RING.centred(RING.total([mine, theirs])), A @ B.T)
