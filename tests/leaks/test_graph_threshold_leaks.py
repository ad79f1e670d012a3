"""What every coalition learns from two threshold sums along a graph with a drop in each, exactly: all inputs, all pads.

As in `test_threshold_leaks`, whose tools are used here: the vectors of dropped holders are in the receiver's hands all
the same, and a coalition has the pads of every seed that it made itself, that it can put together from shares, or that
follows from a secret that it put together and the public keys. Drops are between the offers and the vectors, and before
the offers. With n holders around each place, t of whom must answer:

    receiver and fewer than t holders around anybody    in each sum, the sum over each part of the other survivors that
                                                        the graph still joins: one sum, if they are joined
    any holders without the receiver                    nothing
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from leaks import dropped
from leaks.dropped import Basis, NoSelfMask, Seeds, nothing
from leaks.enumeration import ROUNDS, coalitions
from tacit.choreo import Coordinator, Holder, Role, Roster, entries_of
from tacit.crypto.pads.sharing import reconstruct
from tacit.numeric.cells.ring_graph import RingGraph
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums import graph_threshold_sum as protocol
from tacit.protocols.sums.dropouts import Dealt, Revealed, open_box, recover
from tacit.protocols.sums.graph_threshold_sum import PAIR, SELF, Covered, Handed, Offered
from tacit.protocols.sums.secure_sum import pair_seeds, protect

KINDS = {kind.__name__: kind for kind in (Offered, Handed, Covered, Revealed)}
PLACES = ("/graph_threshold_sum/", "/graph_threshold_sum#1/")
P1 = Role("holder", single=True, party="p1")


class Tapped(dropped.Tapped):
    """Listens to sums along a graph."""

    KINDS, PLACES = KINDS, PLACES


@dataclass
class Along(dropped.Linear):
    """Two sums along a graph."""

    VECTORS = Covered
    graph: RingGraph = field(default_factory=lambda: RingGraph((), 2))

    def seeds(self, members: set[str]) -> set[bytes]:
        """Those that members made, can put together, or can derive from what they put together."""
        shares: dict[Any, set[bytes]] = defaultdict(set)
        for t, s, r, m in self.messages(Revealed):
            if members & {s, r}:
                for name, share in m.shares.items():
                    shares[t, name].add(share)
        for t, dealer, me, box, key in self.boxes(members):
            tag = self.run.tags[len(self.run.tags) // ROUNDS * t]  # the first of a sum
            mine = Dealt(me, self.graph.around(me), self.t, tag, self.pairs[me], {PAIR: b"", SELF: b""}, {})
            for name, share in open_box(mine, dealer, box, key).items():
                shares[t, (dealer, name)].add(share)
        known = {at: reconstruct(tuple(found), self.t) for at, found in shares.items() if len(found) >= self.t}
        worn = set().union(*(self.entropy.worn[p] for p in members))
        return worn | {seed for (_, (_, name)), seed in known.items() if name == SELF} | self.derived(known)

    def derived(self, known: Mapping[Any, bytes]) -> set[bytes]:
        """Seeds of pads from the secrets of their one end and the public keys of the other."""
        keys = {(t, s): m.key for t, s, _, m in self.messages(Offered)}
        return {
            seed
            for (t, (dealer, name)), secret in known.items()
            if name == PAIR
            for seed in pair_seeds(secret, {p: keys[t, p] for p in self.graph.around(dealer)}, dealer).values()
        }

    def boxes(self, members: set[str]) -> Iterable[tuple[int, str, str, bytes, bytes]]:
        """Sealed shares for members: handed on to them, or in the hands of a receiver who is one of them."""
        for t, _, me, m in self.messages(Handed):
            if me in members:
                yield from ((t, dealer, me, box, m.keys[dealer]) for dealer, box in m.boxes.items())
        for t, dealer, _, m in self.messages(Offered):
            if self.to in members:
                yield from ((t, dealer, me, box, m.key) for me, box in m.boxes.items() if me in members)

    def allowed(self, coalition: Iterable[str]) -> Callable[[int], list[Any]]:
        """What the docstring says."""
        members = set(coalition)
        if self.to not in members:
            return nothing
        return lambda t: [self.sums(part, t) for part in self.parts({*self.survivors[t]} - members)]

    def parts(self, left: set[str]) -> list[set[str]]:
        found = []
        while left:
            part, todo = set(), [min(left)]
            while todo:
                part.add(at := todo.pop())
                todo += [p for p in self.graph.around(at) if p in left and p not in part]
            found.append(part)
            left = left - part
        return found

    def most_around(self, coalition: Iterable[str]) -> int:
        others = (p for p in self.graph.order if p not in coalition)
        return max((sum(q in coalition for q in self.graph.around(p)) for p in others), default=0)


def two_sums(
    holders: int,
    k: int,
    t: int,
    drops: Sequence[Sequence[int]],
    *,
    step: str = "Covered",
    q: int = 2,
    to: Role = Coordinator,
    entropy: type[Seeds] = Seeds,
) -> Along:
    """Two sums, in which `drops`, by place on the ring, come too late: a first run counts pads, a second has values."""
    names = tuple(f"p{i + 1}" for i in range(holders))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    digits, order = Basis(q, ROUNDS * holders), list[str]()

    def late(place: str, party: str) -> bool:
        return any(place == p + step and order.index(party) in d for p, d in zip(PLACES, drops, strict=True))

    for _ in ("count", "play"):
        source = entropy(roster.parties, digits)
        with Tapped(roster, job=b"leak test", entropy=source, absent=late) as run:
            by = dataclasses.replace(protect(run, to=to, method="graph_threshold", neighbours=k), threshold=t)
            order[:] = by.rings[0]
            assert by.seeds is not None
            done = Along(run, source, digits, names, (), ROUNDS, t, to.party or to.name, entries_of(by.seeds))
            done.graph = RingGraph(by.rings[0], k)
            for i in range(ROUNDS):
                x = run.hold(Holder, {p: done.input(p, i) for p in names})
                total, survivors = protocol.graph_threshold_sum(run, x, to=to, by=by, ring=Ring(q))
                assert survivors == tuple(p for p in names if order.index(p) not in drops[i])
                np.testing.assert_array_equal(entries_of(total)[done.to], done.sums(survivors, i))
                done.survivors.append(survivors)
        digits.pads = len(source.numbers)
        digits.freeze()
    return done


def check_statement(done: Along, most: int = 10) -> None:
    held = 0
    for coalition in coalitions(done.run.roster.parties):
        if len(coalition) <= most and (done.to not in coalition or done.most_around(coalition) < done.t):
            assert done.depends_only_on(coalition, done.allowed(coalition)), coalition
            held += 1
    assert held > len(done.holders)


@pytest.mark.parametrize("step", ["Offered", "Covered"])
@pytest.mark.parametrize("drops", [[(0,), (3,)], [(), (4,)]])
def test_five_holders_with_two_neighbours_each(drops, step):
    check_statement(two_sums(5, 2, 2, drops, q=3, step=step))


@pytest.mark.slow
@pytest.mark.parametrize("drops", [[(0,), (3,)], [(1,), (1,)]])
def test_seven_holders_with_four_neighbours_each(drops):
    check_statement(two_sums(7, 4, 4, drops), most=4)


def test_the_receiver_may_be_a_holder():
    done = two_sums(5, 2, 2, [(), ()], to=P1)
    at = done.graph.order.index("p1")
    check_statement(two_sums(5, 2, 2, [((at + 2) % 5,), ((at + 3) % 5,)], to=P1))


def test_the_receiver_with_t_holders_around_another_opens_its_vector():
    """The limit that (b) of the bound is about is a real one."""
    done = two_sums(5, 2, 2, [(), ()])
    ring = done.graph.order
    coalition = ("coordinator", ring[0], ring[2])
    together = {*done.survivors[0]} - set(coalition)
    assert not done.depends_only_on(coalition, lambda t: [done.sums(together, t)])


def test_survivors_that_colluders_and_drops_cut_off_are_laid_open_and_nobody_else_is():
    """The limit that (a) of the bound is about is a real one: three neighbours collude and the fourth is away."""
    done = two_sums(8, 4, 4, [(3,), (3,)])
    ring = done.graph.order
    coalition = ("coordinator", ring[0], ring[1], ring[4])
    others = {*done.survivors[0]} - set(coalition)
    assert done.most_around(coalition) < done.t
    assert sorted(map(len, done.parts(others))) == [1, len(others) - 1]
    assert done.depends_only_on(coalition, done.allowed(coalition))
    assert not done.depends_only_on(coalition, lambda t: [done.sums(others, t)])


def test_without_a_self_mask_a_late_vector_is_laid_open_and_caught():
    done = two_sums(5, 2, 2, [(0,), (3,)], entropy=NoSelfMask)
    assert not done.depends_only_on(("coordinator",), done.allowed(("coordinator",)))


def test_opening_both_seeds_of_one_holder_is_caught(monkeypatch):
    """The rule that protects: of each holder its neighbours open the self-mask or the pads, never both."""
    honest = protocol.list_needed

    def both(dealers: Iterable[str], survivors: frozenset[str]) -> list[tuple[str, str]]:
        given = list(dealers)
        return [*honest(given, survivors), *((k, PAIR) for k in given if k == "p3" and k in survivors)]

    def open_one(answers: Mapping[str, Any], wanted: Mapping[str, Any], t: int) -> Any:
        """The receiver takes off what it has to, and keeps the rest."""
        found = recover(answers, wanted, t)
        return {seed: value for seed, value in found.items() if seed != ("p3", PAIR)}

    monkeypatch.setattr(protocol, "list_needed", both)
    monkeypatch.setattr(protocol, "recover", open_one)
    done = two_sums(5, 2, 2, [(), ()])
    assert not done.depends_only_on(("coordinator",), done.allowed(("coordinator",)))
    monkeypatch.undo()
    kept = two_sums(5, 2, 2, [(), ()])
    assert kept.depends_only_on(("coordinator",), kept.allowed(("coordinator",)))


def test_a_secret_that_lasts_for_two_sums_is_caught_in_the_second(monkeypatch):
    def lasting(me: str) -> bytes:
        return me.encode().ljust(32, b".")

    deal, offer, seeds = protocol.deal_two, protocol.offer, protocol.round_seeds
    monkeypatch.setattr(
        protocol, "deal_two", lambda s, _a, b, d, tag, me, *more: deal(s, lasting(me), b, d, tag, me, *more)
    )
    monkeypatch.setattr(protocol, "offer", lambda mine, _a: offer(mine, lasting(mine.me)))
    monkeypatch.setattr(protocol, "round_seeds", lambda _a, b, taken, me: seeds(lasting(me), b, taken, me))
    done = two_sums(5, 2, 2, [(), (3,)])
    assert not done.depends_only_on(("coordinator",), done.allowed(("coordinator",)))
    still = two_sums(5, 2, 2, [(3,), (3,)])
    assert still.depends_only_on(("coordinator",), still.allowed(("coordinator",))), "of one that never was in a sum"
