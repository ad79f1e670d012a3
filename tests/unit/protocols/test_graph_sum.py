"""Sums along a graph: how many neighbours, how likely they fail, what a lying receiver gets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Role, Roster, Run
from tacit.choreo.codec import Frames, decode_as, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.cells.ring_graph import bound_failure, choose_degree, join_neighbours
from tacit.protocols.sums.graph_sum import Commitments, OrderShares, check_degree, order_holders
from tacit.protocols.sums.secure_sum import commit, describe_protection, protect, secure_sum
from tacit.runtimes.apart import Apart, in_threads
from tacit.runtimes.together import Together


def falls_apart(graph: Mapping[str, tuple[str, ...]], colluders: set[str]) -> bool:
    left = set(graph) - colluders
    reached, todo = set(), [min(left)]
    while todo:
        reached.add(at := todo.pop())
        todo += [p for p in graph[at] if p in left and p not in reached]
    return reached != left


@pytest.mark.parametrize(("n", "k"), [(7, 2), (9, 4), (10, 4), (12, 6)])
def test_the_bound_holds_for_every_number_of_colluders(n, k):
    """The order is drawn after the colluders are fixed: the same as drawing the colluders of a fixed ring."""
    graph = join_neighbours([f"p{i}" for i in range(n)], k)
    for count in range(1, n - 1):
        cases = [falls_apart(graph, set(chosen)) for chosen in combinations(graph, count)]
        assert sum(cases) / len(cases) <= bound_failure(n, count / n, k)
        assert any(cases) == (count >= k and n - count > 1)


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (6, 4), (9, 8), (11, 4), (100, 54)])
def test_neighbours_are_mutual_and_as_many_as_asked_or_all(n, k):
    graph = join_neighbours([f"p{i}" for i in range(n)], k)
    assert {len(others) for others in graph.values()} == {min(k, n - 1)}
    assert all(len(set(others)) == len(others) for others in graph.values())
    assert all(v in graph[u] and u != v for v, others in graph.items() for u in others)


def test_the_number_of_neighbours_grows_with_the_logarithm_of_the_parties():
    chosen = {n: choose_degree(n, 0.5, 2.0**-40) for n in (2, 53, 55, 1000, 10_000, 100_000)}
    assert chosen == {2: 2, 53: 52, 55: 52, 1000: 60, 10_000: 66, 100_000: 74}
    assert all(bound_failure(n, 0.5, k) <= 2.0**-40 for n, k in chosen.items())


def graph_run(n: int, **options: Any) -> tuple[Any, Together, RootEntropy]:
    names = tuple(f"p{i:03}" for i in range(n))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    entropy = RootEntropy(roster.parties, b"run")
    x = {p: np.full(10, i, dtype=np.uint64) for i, p in enumerate(names)}
    with Together(roster, job=b"job", entropy=entropy) as run:
        by = protect(run, to=Coordinator, method="graph", **options)
        total = secure_sum(run, run.hold(Holder, x), to=Coordinator, by=by)
    return total._entries["coordinator"], run, entropy


def test_a_hundred_parties_draw_54_pads_each_and_the_history_says_how_likely_it_fails():
    total, run, entropy = graph_run(100)
    assert (total == 99 * 100 // 2).all()
    assert entropy.words_drawn == 100 * 54 * 11
    assert run.history == [{"place": "/protect", "neighbours": 54, "failure": 100**2 * 0.5**54 / 2}]
    keys = [row for row in run.ledger if row.type == "PublicKey"]
    assert len(keys) == 100 * 54  # to neighbours alone


def test_up_to_53_parties_all_share_pads_and_nothing_can_fail():
    _, run, entropy = graph_run(53)
    assert entropy.words_drawn == 53 * 52 * 11
    assert run.history[0]["failure"] == 0


@pytest.mark.parametrize("degree", [-2, 0, 1, 3])
def test_an_odd_number_of_neighbours_is_refused(degree):
    with pytest.raises(LocalError, match=f"even number of neighbours, 2 or more; got {degree}"):
        check_degree(degree)


def test_the_report_says_when_it_protects():
    assert "at most half of the data holders collude" in describe_protection("graph")
    assert "except with probability 2^-40" in describe_protection("graph")


def test_a_share_that_was_not_committed_to_is_caught_and_so_is_one_that_lacks():
    shares = [hashlib.sha256(bytes([i])).digest() for i in range(3)]
    digests = Commitments(b"".join(commit(share).digest for share in shares))
    names = ("a", "b", "c")
    assert set(order_holders(names, digests, OrderShares(b"".join(shares)))) == set(names)
    with pytest.raises(PeerError, match="b opened another share of the ring order than it committed to"):
        order_holders(names, digests, OrderShares(b"".join((shares[0], shares[2], shares[2]))))
    with pytest.raises(PeerError, match="64 bytes of the ring order were published, expected 32 for each holder"):
        order_holders(names, digests, OrderShares(b"".join(shares[:2])))


class Liar(Apart):
    """A receiver that tells `p2` other commitments than the others, or all of them others than it got."""

    told: tuple[str, ...] = ()

    def _exchange(self, place: str, outbox: Mapping[Any, Frames], wanted: Any, missing: int) -> Any:
        if place.endswith("/Commitments") and self.me == "coordinator":
            outbox = {(s, r): _other(f) if r in self.told else f for (s, r), f in outbox.items()}
        return super()._exchange(place, outbox, wanted, missing)


def _other(frames: Frames) -> Frames:
    digests = decode_as(Commitments, frames).digests
    return encode(Commitments(digests[:32] + bytes(32) + digests[64:]))


@pytest.mark.parametrize(
    ("told", "match"),
    [
        (("p2",), "the commitment of p2 to the ring order was published as another one"),
        (("p1",), "p2 opened another share of the ring order than it committed to"),
    ],
)
def test_a_receiver_that_changes_a_commitment_is_found_out(monkeypatch, told, match):
    roster = Roster({Holder: ("p1", "p2", "p3", "p4"), Coordinator: ("coordinator",)})

    def play(run: Run) -> Any:
        protect(run, to=Coordinator, method="graph", neighbours=2)

    monkeypatch.setattr(Liar, "told", told)
    monkeypatch.setattr("tacit.runtimes.apart.Apart", Liar)
    with pytest.raises(PeerError, match=match):
        in_threads(roster, play, job=b"j", entropy=lambda me: RootEntropy([me], b"r"))


def test_the_receiver_may_be_a_holder():
    roster = Roster({Holder: ("p1", "p2", "p3", "p4", "p5")})
    to = Role("holder", single=True, party="p3")
    with Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run")) as run:
        x = run.hold(Holder, {p: np.arange(4, dtype=np.uint64) for p in roster.parties})
        by = protect(run, to=to, method="graph", neighbours=2)
        total = secure_sum(run, x, to=to, by=by)
    assert list(total._entries["p3"]) == [0, 5, 10, 15]
