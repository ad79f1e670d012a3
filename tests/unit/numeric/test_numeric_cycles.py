"""Edge-disjoint rings of parties."""

import itertools
import sys

import pytest

from tacit.numeric.cells.cycles import disjoint_cycles, most

CASES = [(n, q) for n in range(3, 17) for q in range(1, most(n) + 1)]


def edges(cycle):
    return [frozenset(e) for e in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]


@pytest.mark.parametrize(("n", "q"), CASES)
def test_every_ring_passes_every_vertex_once(n, q):
    cycles = disjoint_cycles(n, q)
    assert len(cycles) == q
    for cycle in cycles:
        assert sorted(cycle) == list(range(n))


@pytest.mark.parametrize(("n", "q"), CASES)
def test_no_two_rings_share_an_edge(n, q):
    for a, b in itertools.combinations(disjoint_cycles(n, q), 2):
        assert not set(edges(a)) & set(edges(b))


@pytest.mark.parametrize("n", range(3, 17))
def test_so_in_the_largest_set_everybody_has_twice_as_many_different_neighbours_as_there_are_rings(n):
    used = [e for cycle in disjoint_cycles(n, most(n)) for e in edges(cycle)]
    for vertex in range(n):
        assert len({e for e in used if vertex in e}) == 2 * most(n)


@pytest.mark.parametrize("n", range(3, 17))
def test_more_rings_than_there_are_is_refused(n):
    for q in (most(n) + 1, 0, -1):
        with pytest.raises(ValueError, match=f"{n} vertices have {most(n)} edge-disjoint rings, asked for {q}"):
            disjoint_cycles(n, q)


@pytest.mark.parametrize("n", [-1, 0, 1, 2])
def test_fewer_than_three_have_no_ring(n):
    with pytest.raises(ValueError, match=f"{n} vertices have 0 edge-disjoint rings, asked for 1"):
        disjoint_cycles(n, 1)


def test_an_odd_number_of_parties_finds_its_rings_however_many_they_are():
    cycles = disjoint_cycles(101, most(101))
    assert len({e for cycle in cycles for e in edges(cycle)}) == 101 * 50


def test_an_even_number_of_parties_finds_its_rings_without_a_long_search():
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        disjoint_cycles(36, most(36))
    finally:
        sys.setprofile(None)
    assert calls < 10_000
