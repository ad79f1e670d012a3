"""Pools in step.

They move only where a bound shows that it helps, all prices are reached in time, and bounds are allowed and counted.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conformance.planes import Tapped, blobs, grouped, kinds_of, played, rows_of, shared
from tacit.attacks.coordinator import OwnCoordinator
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.groups.least_count import MARGIN
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.planes import cutting_plane as protocol
from tacit.protocols.planes.allowance import FEWEST, ROUNDS, allowance, reserve
from tacit.protocols.planes.cutting_plane import Direction, Step, cutting_plane
from tacit.protocols.planes.lockstep import (
    SHORTEST,
    STILL,
    TRIES,
    first_pace,
    move_together,
    objective,
    scale,
    settle_growth,
    slacks,
    width,
)
from tacit.protocols.planes.pool import first_planes, minimise
from tacit.protocols.planes.rows import Rows
from tacit.protocols.sums.atoms import BOUNDS, Atoms, HoldBack, Told, begin, counted_shares, reserve_bounds, spend
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice

NEEDED = 10_000  # bounds, more than these rows allow


def pools(*prices: tuple[float, ...], rounds: int = 10) -> Any:
    """A pool for each, of 25 rows of both classes with one feature."""
    sums = np.array([[30.0, 25.0, 25.0], [30.0, -25.0, 25.0]])
    return settle_growth(tuple(minimise(first_planes(sums, each, exact=False)) for each in prices), rounds)


# Moves


def test_all_pools_move_where_a_bound_is_lower_and_none_where_it_is_not():
    before = pools((1.0,), (3.0,))
    pace = first_pace(before, 10, 1)
    after, faster, length, at = move_together(before, pace, np.array([0.5]), 1e-9)
    assert (length, at, faster.loss, faster.still) == (1.0, 1.0, 0.5, 0)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(new.w, old.minimum[:-1])
    same, slower, length, at = move_together(before, pace, np.array([5.0]), 1e-9)
    assert (length, at, slower.step, slower.loss, slower.still) == (0.0, 1.0, 0.5, pace.loss, 1)
    for old, new in zip(before, same, strict=True):
        np.testing.assert_array_equal(new.w, old.w)


def test_of_two_bounds_the_better_one_counts():
    before = pools((1.0,))
    pace = first_pace(before, 10, 2)
    np.testing.assert_array_equal(pace.steps, TRIES)
    _, shorter, length, _ = move_together(before, pace, np.array([0.9, 0.2]), 1e-9)
    assert length == TRIES[1]
    assert TRIES[1] < shorter.step <= 1.0
    assert move_together(before, pace, np.array([0.2, 0.9]), 1e-9)[2] == 1.0


def test_steps_have_a_least_length_and_cuts_are_rounded_closely_where_nothing_moves():
    now, pace = pools((1.0,), rounds=1000), first_pace(pools((1.0,)), 1000, 1)
    shares = []
    for _ in range(STILL + 3):
        now, pace, _, _ = move_together(now, pace, np.array([9.0]), 1e-9)
        shares.append(slacks(now, pace, 3)[0])
    assert shares[STILL - 1] > 0
    assert shares[STILL] == 0
    for _ in range(10):
        now, pace, _, _ = move_together(now, pace, np.array([9.0]), 1e-9)
    assert pace.step == SHORTEST


def test_objectives_share_the_gap_of_all_and_add_up_to_what_is_known():
    now, pace, _, _ = move_together(
        pools((1.0,), (3.0,)), first_pace(pools((1.0,), (3.0,)), 10, 1), np.array([0.5]), 1e-9
    )
    each = [(p.objective - p.bound) / scale(p) for p in now]
    assert each[0] == pytest.approx(each[1])
    assert sum(each) == pytest.approx(width(now, pace.loss))
    assert sum(p.objective / scale(p) for p in now) == pytest.approx(objective(now, pace.loss, 0.0))


# Prices


@pytest.mark.parametrize("rounds", [2, 6, 60])
def test_prices_are_reached_in_half_of_the_rounds_of_a_stage(rounds):
    now = pools((7.0,), rounds=rounds)
    pace = first_pace(now, rounds, 1)
    for _ in range(max(1, rounds // 2)):
        assert not now[0].done
        now, pace, _, _ = move_together(now, pace, np.array([9.0]), 1e-9)
    assert now[0].now == pytest.approx(7.0)


def test_all_pools_go_through_their_prices_together():
    now = pools((1.0, 2.0, 4.0), (5.0,), rounds=3)
    pace, places = first_pace(now, 3, 1), []
    while not all(p.done for p in now):
        now, pace, _, _ = move_together(now, pace, np.array([9.0]), 1e-9)
        places.append(tuple(p.at for p in now))
    assert places == [(0, 0)] * 2 + [(1, 0)] * 3 + [(2, 0)] * 3 + [(3, 1)], (
        "one without a further price stays at its last"
    )
    assert [len(p.figures) for p in now] == [3, 1]


@pytest.mark.parametrize(("prices", "max_rounds"), [((0.5, 2.0), 5), ((1.0,), 5), ((0.5, 1.0, 2.0), 4)])
def test_a_run_takes_no_more_rounds_than_were_agreed_on(prices, max_rounds):
    done = played(blobs(n=60), C=prices, min_count=3, max_rounds=max_rounds, tol=1e-9)
    assert done.paths.rounds <= max_rounds * len(prices)
    assert all(len(go.steps) <= len(TRIES) for go in done.run.of(Direction))


def test_all_pools_of_a_run_move_by_the_same_step():
    rows = rows_of(blobs(n=80).F, np.random.default_rng(0).choice([-1, 1], size=(80, 3)))
    for step in played(rows, min_count=3).run.of(Step):
        assert len(set(step.length)) == len(set(step.at)) == 1


# How many bounds there are


def holding(
    n: int = 60, columns: int = 4, problems: int = 1, rule: HoldBack | None = None, weight: Any = None
) -> tuple[Any, Atoms]:
    rng = np.random.default_rng(0)
    F, signs = (
        rng.normal(size=(n, columns)),
        np.where(np.arange(n)[:, None] % 2, 1, -1) * np.ones((1, problems), dtype=int),
    )
    part = SimpleNamespace(X=F, weight=weight, past=None)
    atoms = begin(part, np.arange(n) % 2, Told((("test", columns),)), rule or HoldBack("auto"))
    return (Rows(F, np.where(atoms.group[:, None] < 0, 0, signs).astype(np.int8), atoms.weight),), atoms


def test_half_of_what_may_still_be_told_is_allowed_between_all_trainings():
    tables, atoms = holding()
    left = 1 / MARGIN - 4 / (5 * 4)
    assert allowance(tables, atoms, 1, NEEDED).allowed == int(left / 2 * 60 * 4)
    assert allowance(tables, atoms, 4, NEEDED).allowed == int(left / 8 * 60 * 4)
    after = reserve(tables, atoms, 60)
    assert after.bounds == 60
    assert counted_shares(after.past).sum() == pytest.approx(4 / 20 + 60 / 240)
    assert allowance(tables, after, 1, NEEDED).allowed == int((left - 60 / 240) / 2 * 60 * 4)


def test_however_many_trainings_follow_one_another_bounds_never_outnumber_the_unknowns():
    tables, atoms = holding()
    opened = 0
    for _ in range(30):
        allowed = allowance(tables, atoms, 1, NEEDED).allowed
        atoms, opened = reserve(tables, atoms, allowed), opened + allowed
    assert opened + 4 * 60 / 5 <= 60 * 4 / MARGIN
    assert allowance(tables, atoms, 1, NEEDED).allowed < FEWEST


def test_the_smallest_problem_and_the_heavy_rows_decide():
    (rows,), atoms = holding(problems=2)
    fold = Rows(
        rows.F, np.where((np.arange(60)[:, None] < 20) & [False, True], 0, rows.signs).astype(np.int8), rows.weight
    )
    assert allowance((fold,), atoms, 1, NEEDED).allowed == allowance((rows,), atoms, 1, NEEDED).allowed * 2 // 3
    light = dataclasses.replace(rows, weight=np.where(np.arange(60) % 2, 1.0, 1e-6))
    assert allowance((light,), atoms, 1, NEEDED).allowed == allowance((rows,), atoms, 1, NEEDED).allowed // 2


def test_a_holder_of_which_no_row_takes_part_allows_anything():
    tables, atoms = holding(n=4)
    assert not tables[0].signs.any()
    assert allowance(tables, atoms, 1, NEEDED).allowed == NEEDED
    assert counted_shares(reserve(tables, atoms, 60).past).sum() == counted_shares(atoms.past).sum()
    assert allowance(*holding(rule=HoldBack(3, accept_risk=True)), 1, NEEDED).allowed == NEEDED


def run_of(parts: list[Rows], rule: HoldBack, run: Any = Tapped, steps: Any = None, **params: Any) -> Any:
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    held = {}
    for name, rows in zip(names, parts, strict=True):
        part = SimpleNamespace(X=rows.F, weight=None, past=None)
        atoms = begin(part, kinds_of(rows), Told((("test", rows.F.shape[1]),)), rule)
        held[name] = (
            (Rows(rows.F, np.where(atoms.group[:, None] < 0, 0, rows.signs).astype(np.int8), rows.weight),),
            atoms,
        )
    with run(roster, job=b"step", entropy=RootEntropy(roster.parties, b"step")) as tapped:
        tapped.steps, fixed = steps or {}, FixedPoint(32, terms=len(names))
        voice = Voice(tapped, protect(tapped, to=Coordinator), fixed)
        data = [tapped.hold(Holder, {p: both[i] for p, both in held.items()}) for i in (0, 1)]
        prices = params.pop("prices", ((1.0,),))
        width = parts[0].F.shape[1]
        paths, _ = cutting_plane(tapped, *data, voice=voice, prices=prices, widths=(width,), columns=1, **params)
    return paths, tapped


def test_the_holder_of_the_fewest_rows_limits_the_rounds_of_all():
    rows = blobs(n=150)
    few = shared(rows, np.split(np.arange(150), [20, 80]))
    smallest = min(allowance(*grouped_auto(part), 1, NEEDED).allowed for part in few)
    paths, tapped = run_of(few, HoldBack("auto"), tol=1e-9)
    assert paths.rounds <= smallest < ROUNDS
    assert {len(go.steps) for go in tapped.of(Direction)} == {1}, "where rounds are few, one bound each"
    many, plenty = run_of(shared(blobs(n=900), 3), HoldBack("auto"), tol=1e-9)
    assert many.rounds <= ROUNDS
    assert {len(go.steps) for go in plenty.of(Direction)} == {2}


def grouped_auto(rows: Rows) -> tuple[Any, Atoms]:
    part = SimpleNamespace(X=rows.F, weight=None, past=None)
    atoms = begin(part, kinds_of(rows), Told((("test", rows.F.shape[1]),)), HoldBack("auto"))
    return (Rows(rows.F, np.where(atoms.group[:, None] < 0, 0, rows.signs).astype(np.int8), rows.weight),), atoms


def test_too_few_bounds_are_refused_in_one_line_and_the_remedies_work():
    rows = shared(blobs(n=60), 3)
    words = (
        "the rows of p1, p2, p3 allow fewer than 90 bounds on losses to be opened, with all that was opened of them"
        " before: bring more"
    )
    prices = tuple(float(i) for i in range(1, 31))
    with pytest.raises(LocalError, match=words) as refused:
        run_of(rows, HoldBack("auto"), prices=(prices,))
    assert "\n" not in str(refused.value)
    run_of(shared(blobs(n=900), 3), HoldBack("auto"), prices=(prices,), max_rounds=1)
    run_of(rows, HoldBack("auto"), prices=(prices[:3],), max_rounds=1)
    run_of(rows, HoldBack(5, accept_risk=True), prices=(prices,), max_rounds=1)


def test_holders_count_the_bounds_that_they_give():
    _, atoms = grouped((blobs(n=40),), kinds_of(blobs(n=40)), 3)
    agreed = reserve_bounds(atoms, 3, 0.1)
    assert spend(spend(agreed, 2), 1).bounds == 0
    with pytest.raises(
        PeerError, match="the coordinator asks for more bounds on losses than this site allows: stop and ask it"
    ):
        spend(spend(agreed, 2), 2)
    assert dict(zip(agreed.past.maps, agreed.past.told, strict=True))[BOUNDS] == pytest.approx(0.1)


def test_a_coordinator_that_asks_at_more_steps_is_stopped():
    def greedy(*args: Any) -> Direction:
        honest = protocol.direction(*args)
        return dataclasses.replace(honest, steps=np.linspace(0, 1, 50))

    with pytest.raises(PeerError, match="asks for more bounds on losses than this site allows"):
        run_of(
            shared(blobs(n=90), 3),
            HoldBack("auto"),
            run=OwnCoordinator,
            steps={"direction": greedy, "choose": lambda *_: _still(1)},
        )


def _still(pools: int) -> Step:
    return Step(np.zeros(pools), np.ones(pools, dtype=np.int64), np.ones(pools), np.zeros(pools))
