"""The ring graph of which some stay away: its bounds beside enumeration and simulation, and what is chosen."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from tacit.numeric.cells.ring_graph import RingGraph, join_neighbours
from tacit.numeric.cells.thinned_ring import (
    bound_apart,
    bound_stop,
    choose_thresholds,
    count_least,
    least_of,
    tail,
)

CHOICE = {"colluding": 0.2, "away": 0.05, "failure": 2.0**-40, "stop": 2.0**-20}


def ring(M: int, k: int) -> RingGraph:
    return RingGraph(tuple(f"p{i}" for i in range(M)), k)


def parts_of(graph: RingGraph, left: set[str]) -> int:
    """In how many pieces some vertices are joined."""
    near, pieces, todo = join_neighbours(graph.order, graph.k), 0, set(left)
    while todo:
        pieces, reached = pieces + 1, [todo.pop()]
        while reached:
            for v in near[reached.pop()]:
                if v in todo:
                    todo.remove(v)
                    reached.append(v)
    return pieces


@pytest.mark.parametrize(("M", "k"), [(5, 2), (9, 4), (12, 6), (6, 8)])
def test_around_a_place_stand_itself_and_its_neighbours_as_they_stand_on_the_ring(M, k):
    graph = ring(M, k)
    near = join_neighbours(graph.order, k)
    for v in graph.order:
        assert set(graph.around(v)) == {v, *near[v]}
        assert len(graph.around(v)) == min(k + 1, M)


@pytest.mark.parametrize(("M", "k"), [(9, 4), (11, 6), (5, 6)])
def test_the_sparsest_place_is_the_one_that_counting_finds(M, k):
    graph, rng = ring(M, k), np.random.default_rng(M)
    for _ in range(30):
        some = {v for v in graph.order if rng.random() < 0.6}
        place, found = graph.find_sparsest(some)
        assert found == len(some.intersection(graph.around(place)))
        assert found == min(len(some.intersection(graph.around(v))) for v in graph.order)


def test_the_tail_is_the_hypergeometric_one():
    exact = sum(comb(6, x) * comb(14, 5 - x) for x in range(3, 6)) / comb(20, 5)
    assert tail(20, 6, 5, 3) == pytest.approx(exact, rel=1e-12)
    assert tail(20, 6, 5, 0) == pytest.approx(1)
    assert tail(20, 6, 5, 6) == 0


@pytest.mark.parametrize(("M", "k", "t"), [(10, 4, 4), (11, 4, 4), (12, 6, 6)])
def test_the_bound_on_falling_apart_holds_for_every_set_of_colluders_and_every_set_that_may_be_away(M, k, t):
    """Whoever is away is chosen last, as a receiver that lies would choose; the first vertex may stand anywhere."""
    graph, n = ring(M, k), k + 1
    dense = [
        set(graph.order) - set(gone)
        for size in range(M - count_least(M, n, t) + 1)
        for gone in combinations(graph.order, size)
        if graph.find_sparsest(set(graph.order) - set(gone))[1] >= t
    ]
    assert len(dense) > M  # some are away
    for count in range(1, M - 1):
        broken = [
            any(parts_of(graph, survivors - set(some)) > 1 for survivors in dense)
            or any(
                len(set(some).intersection(graph.around(v)) - {v}) >= 2 * t - n for v in graph.order if v not in some
            )
            for some in combinations(graph.order, count)
        ]
        assert sum(broken) / len(broken) <= bound_apart(M, n, t, count / M)


@pytest.mark.parametrize(("M", "k", "t"), [(10, 4, 4), (11, 4, 4), (12, 6, 5)])
def test_the_bound_on_stopping_holds_for_every_number_away(M, k, t):
    graph = ring(M, k)
    for count in range(1, M):
        stopped = [
            graph.find_sparsest(set(graph.order) - set(gone))[1] < t for gone in combinations(graph.order, count)
        ]
        assert sum(stopped) / len(stopped) <= bound_stop(M, k + 1, t, count / M) + 1e-12


def test_the_bounds_hold_in_simulated_rings_and_are_not_far_off():
    M, n, t, g, d = 300, 31, 22, 0.15, 0.11
    rng, graph, runs = np.random.default_rng(5), ring(M, n - 1), 400
    stops, holds = 0, 0
    for _ in range(runs):
        away = set(rng.choice(graph.order, int(d * M), replace=False))
        colluders = set(rng.choice(graph.order, int(g * M), replace=False))
        stops += graph.find_sparsest(set(graph.order) - away)[1] < t
        holds += max(len(colluders.intersection(graph.around(v))) for v in graph.order[::5]) >= 2 * t - n
    assert 0.01 < stops / runs <= bound_stop(M, n, t, d) < 1
    assert holds / runs <= M * tail(M, int(g * M), n, 2 * t - n)


def test_n_grows_with_the_logarithm_of_the_parties_and_keeps_both_bounds():
    chosen = {M: choose_thresholds(M, **CHOICE) for M in (200, 1000, 10_000, 100_000)}
    assert {M: (c.n, c.t, c.k) for M, c in chosen.items()} == {
        200: (55, 45, 54),
        1000: (97, 77, 96),
        10_000: (125, 99, 124),
        100_000: (143, 113, 142),
    }
    for M, c in chosen.items():
        assert c.failure == bound_apart(M, c.n, c.t, 0.2) <= 2.0**-40
        assert c.stop == bound_stop(M, c.n, c.t, 0.05) <= 2.0**-20
        assert bound_apart(M, c.n, c.t - 1, 0.2) > 2.0**-40  # t is the smallest
        assert 3 * c.t > 2 * c.n


@pytest.mark.parametrize("M", [2, 3, 5, 20, 100])
def test_up_to_a_hundred_all_stand_around_each_and_t_is_that_of_threshold(M):
    chosen = choose_thresholds(M, **CHOICE)
    assert (chosen.n, chosen.t, chosen.failure, chosen.stop) == (M, 2 * M // 3 + 1, 0, 0)
    assert chosen.t == least_of(M) == count_least(M, chosen.n, chosen.t)
