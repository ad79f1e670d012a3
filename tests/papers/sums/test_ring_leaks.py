"""What every coalition learns from two sums on rings, exactly: all inputs, all pads, in Z_2 and Z_3."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from leaks import enumeration
from leaks.enumeration import Digits, Enumerated, EnumeratedEntropy, coalitions
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Role, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Ring
from tacit.papers.sums.ring_sum import Commitment, OrderShare, Passed, draw_rings, ring_orders, ring_sum
from tacit.runtimes.together import Together

P1 = Role("holder", single=True, party="p1")
ROUNDS = 2


class Tapped(enumeration.Tapped):
    """Keeps every running sum."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        if place.rsplit("/", 1)[-1].split("#", maxsplit=1)[0] == "Passed":
            self.seen += [(s, r, decode_as(Passed, frames)) for (s, r), frames in outbox.items()]
        return super()._exchange(place, outbox, wanted, missing)


@dataclass
class OnRings(Enumerated):
    """One run over everything, and its rings."""

    rings: tuple[tuple[str, ...], ...] = ()


def enumerate_rings(
    holders: int, q: int, *, to: Role = Coordinator, segments: int = 1, entropy: Any = EnumeratedEntropy
) -> OnRings:
    """Two sums over all inputs and all pads: a first run counts the pads, a second one enumerates them."""
    names = tuple(f"p{i + 1}" for i in range(holders))
    roster, digits, ring = Roster({Holder: names, Coordinator: ("coordinator",)}), Digits(q, ROUNDS * holders), Ring(q)
    for _ in ("count", "enumerate"):
        source = entropy(roster.parties, digits)
        with Tapped(roster, job=b"leak test", entropy=source) as run:
            rings = draw_rings(run, to=to, segments=segments)
            for t in range(ROUNDS):
                x = run.hold(Holder, {p: digits.of(t * holders + i) for i, p in enumerate(names)})
                (total,) = ring_sum(run, x, to=to, rings=rings, ring=ring)._entries.values()
                expected = sum(digits.of(t * holders + i) for i in range(holders)) % np.uint64(q)
                np.testing.assert_array_equal(total, expected)
        digits.pads = len(source.numbers)
        digits.freeze()
    return OnRings(run, source, digits, names, ROUNDS, rings)


def allowed(done: OnRings, coalition: tuple[str, ...], to: str) -> Any:
    """The sum over every stretch of honest parties that colluders enclose, unless the receiver is in the stretch.

    With several rings: over everything that honest neighbours on any ring connect.
    """
    stretches = [s for s in connected(done.rings, set(coalition)) if to not in s]
    return lambda t: [done.sums([p for p in s if p in done.holders], t) for s in stretches]


def connected(rings: tuple[tuple[str, ...], ...], colluders: set[str]) -> list[set[str]]:
    """Components of the honest parties, joined where they are neighbours on a ring."""
    parts = [{p} for p in rings[0] if p not in colluders]
    for ring in rings:
        for a, b in pairwise((*ring, ring[0])):
            if a not in colluders and b not in colluders:
                one, other = (next(s for s in parts if p in s) for p in (a, b))
                parts = [s for s in parts if s not in (one, other)] + [one | other]
    return parts


SETTINGS: dict[str, dict[str, Any]] = {
    "3-Z3": {"holders": 3, "q": 3},
    "4-Z2": {"holders": 4, "q": 2},
    "4-Z2-to-holder": {"holders": 4, "q": 2, "to": P1},
    "segments-4-Z2": {"holders": 4, "q": 2, "segments": 2},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if "segments" in name else ()) for name in SETTINGS]
)
def test_the_view_of_every_coalition_depends_only_on_what_the_module_says(name):
    done = enumerate_rings(**SETTINGS[name])
    to = SETTINGS[name].get("to", Coordinator).party or "coordinator"
    for coalition in coalitions(done.run.roster.parties):
        assert done.depends_only_on(coalition, allowed(done, coalition, to)), coalition


def test_one_ring_gives_a_party_away_to_its_two_neighbours_and_two_rings_do_not():
    one = enumerate_rings(4, 2)
    victim = next(p for p in one.rings[0] if p in one.holders)
    at = one.rings[0].index(victim)
    neighbours = (one.rings[0][at - 1], one.rings[0][(at + 1) % len(one.rings[0])])
    assert not one.depends_only_on(neighbours, lambda _: [])
    roster = Roster({Holder: one.holders, Coordinator: ("coordinator",)})
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        rings = draw_rings(run, to=Coordinator, segments=2)
    for group in coalitions([p for p in roster.parties if p != victim]):
        if len(group) < 4:  # fewer than 2q
            assert {victim} not in connected(rings, set(group)), group


def test_a_broken_mask_is_caught():
    class NoPad(EnumeratedEntropy):
        def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
            return np.zeros_like(super().pad(party, seed, tag, words))

    done = enumerate_rings(3, 2, entropy=NoPad)
    assert not all(
        done.depends_only_on(c, allowed(done, c, "coordinator")) for c in coalitions(done.run.roster.parties)
    )


def test_what_cannot_be_summed_is_refused():
    def summed(x: dict[str, Any], to: Role = Coordinator, segments: int = 1, fixed: FixedPoint | None = None) -> None:
        roster = Roster({Holder: tuple(x), Coordinator: ("site",)})
        with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
            rings = draw_rings(run, to=to, segments=segments)
            ring_sum(run, run.hold(Holder, x), to=to, rings=rings, fixed=fixed, what="heights")

    words = {p: np.zeros(3, np.uint64) for p in ("p1", "p2", "p3")}
    with pytest.raises(LocalError, match="a ring needs at least 3 parties, got 2"):
        summed({p: words[p] for p in ("p1", "p2")}, to=P1)
    with pytest.raises(LocalError, match="4 parties have 1 edge-disjoint rings, segments=2 asks for more"):
        summed(words, segments=2)
    with pytest.raises(PeerError, match=r"a running sum of . words arrived, expected"):
        summed({**words, "p2": np.zeros(4, np.uint64)})
    with pytest.raises(LocalError, match=r"heights of p2: a value of size 1e\+18 does not fit"):
        summed({**{p: np.ones(1) for p in words}, "p2": np.array([1e18])}, fixed=FixedPoint(32, 3))


def test_a_party_that_opens_another_share_than_it_committed_to_is_named():
    honest = {p: OrderShare(p.encode()) for p in ("north", "south", "east")}
    digests = {p: Commitment(bytes(32)) for p in honest}
    with pytest.raises(PeerError, match="north opened another share of the ring order than it committed to"):
        ring_orders(tuple(honest), digests, honest, 1)
