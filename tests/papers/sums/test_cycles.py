"""Edge-disjoint rings of parties."""

from __future__ import annotations

import itertools
import sys

import pytest

from tacit.papers.sums.cycles import disjoint_cycles, most


def edges(cycle):
    return [frozenset(e) for e in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]


@pytest.mark.parametrize("n", [*range(3, 17), 36, 101])
def test_every_ring_passes_every_vertex_once_and_no_two_share_an_edge(n):
    for q in {1, most(n) // 2 or 1, most(n)}:
        cycles = disjoint_cycles(n, q)
        assert len(cycles) == q
        assert all(sorted(cycle) == list(range(n)) for cycle in cycles)
        used = list(itertools.chain.from_iterable(map(edges, cycles)))
        assert len(set(used)) == len(used) == q * n
        neighbours = [len({e for e in used if vertex in e}) for vertex in range(n)]
        assert set(neighbours) == {2 * q}


def test_more_rings_than_there_are_are_refused():
    for n in range(-1, 17):
        for q in {most(max(n, 1)) + 1, 0, -1}:
            with pytest.raises(ValueError, match=f"{n} vertices have {max(most(n), 0)} edge-disjoint rings, asked for"):
                disjoint_cycles(n, q)


def test_rings_are_found_without_a_long_search():
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
