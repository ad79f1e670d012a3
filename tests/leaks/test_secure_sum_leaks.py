"""What every coalition learns from two secure sums, exactly: all inputs, all pads, in Z_2 and Z_3."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from leaks.enumeration import Enumerated, EnumeratedEntropy, coalitions, enumerate_sums
from tacit.choreo import Coordinator, Fact, Holder, LocalError, Message, PeerError, Role, Roster, Run, choreography
from tacit.choreo.codec import Frames, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.protocols.sums.secure_sum import protect, secure_sum
from tacit.runtimes.apart import Apart, in_threads
from tacit.runtimes.together import Together

P1 = Role("holder", single=True, party="p1")


def pairwise_allows(done: Enumerated, coalition: tuple[str, ...], to: str) -> Any:
    """The design's table: with the receiver in it, the sum; without, nothing."""
    return lambda t: [done.sums(done.holders, t)] if to in coalition else []


CASES = {
    "pairwise-3-Z3": ({"holders": 3, "q": 3}, pairwise_allows),
    "pairwise-4-Z2": ({"holders": 4, "q": 2}, pairwise_allows),
    "pairwise-3-Z3-to-holder": ({"holders": 3, "q": 3, "to": P1}, pairwise_allows),
}


LONG = ("pairwise-4-Z2",)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in CASES])
def test_the_view_of_every_coalition_depends_only_on_what_the_table_allows(name):
    setting, allows = CASES[name]
    done = enumerate_sums(**setting)
    to = (setting.get("to") or Coordinator).party or "coordinator"
    for coalition in coalitions(done.run.roster.parties):
        assert done.depends_only_on(coalition, allows(done, coalition, to)), coalition


@pytest.mark.parametrize(("holders", "q"), [(3, 3), (4, 3), (5, 2)])
def test_pairwise_pads_hide_every_honest_holder_s_value_from_coalitions_of_all_sizes_up_to_m_minus_2(holders, q):
    """With the coordinator among them: they have the sum over the others, and no value of any of these.

    M - 1 have the last one's.
    """
    done = enumerate_sums(holders, q, rounds=1)
    for size in range(holders):
        for group in combinations(done.holders, size):
            coalition, honest = ("coordinator", *group), [p for p in done.holders if p not in group]
            assert done.depends_only_on(coalition, lambda t, honest=honest: [done.sums(honest, t)])
            assert not done.depends_only_on(coalition, lambda _t: [])  # so it does see the sum
            alone = done.tells(coalition, honest[0])
            assert alone == (size == holders - 1), group


def test_a_broken_mask_is_caught():
    class NoPad(EnumeratedEntropy):
        def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
            return np.zeros_like(super().pad(party, seed, tag, words))

    done = enumerate_sums(3, 2, entropy=NoPad)
    assert not done.depends_only_on(("coordinator",), pairwise_allows(done, ("coordinator",), "coordinator"))


def test_a_mask_used_in_both_rounds_is_caught_though_each_round_alone_is_safe():
    class SamePad(EnumeratedEntropy):
        def key(self, seed: bytes, tag: bytes, piece: int) -> Any:
            del tag
            return (seed, piece)

    done = enumerate_sums(3, 3, entropy=SamePad)
    assert not done.depends_only_on(("coordinator",), pairwise_allows(done, ("coordinator",), "coordinator"))
    del done.run.seen[len(done.holders) :]
    assert done.depends_only_on(("coordinator",), pairwise_allows(done, ("coordinator",), "coordinator"))


def test_putting_one_pad_on_two_values_raises():
    roster = Roster({Holder: ("p1", "p2", "p3"), Coordinator: ("coordinator",)})
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        by = protect(run)
        tag = run.tag()

        def wear(pads: Any) -> int:
            return sum(len(chunk) for name in pads.seeds for chunk in pads.put_on(name, 3))

        run.local(Holder, wear, run.pads(by.seeds, tag))
        with pytest.raises(LocalError, match="same pad on two values"):
            run.local(Holder, wear, run.pads(by.seeds, tag))


class Told(
    Message, tells=Fact("tests.what_the_coordinator_says", "holders", "aggregate", "all", "what the coordinator says")
):
    word: str


@choreography(opens={Coordinator: Fact("tests.the_sum", "holders", "aggregate", "all", "the sum")})
def told_then_summed(run: Run, x: Any) -> Any:
    by = protect(run)
    run.publish(Told, run.local(Coordinator, Told, "the same to all"))
    return secure_sum(run, x, to=Coordinator, by=by)


class TwoFaced(Apart):
    """A coordinator that tells p2 something else."""

    def _exchange(self, place: str, outbox: Mapping[Any, Frames], wanted: Any, missing: int) -> Any:
        if place.endswith("/Told") and self.me == "coordinator":
            outbox = {(s, r): encode(Told("something else")) if r == "p2" else f for (s, r), f in outbox.items()}
        return super()._exchange(place, outbox, wanted, missing)


def test_a_coordinator_that_tells_parties_different_things_gets_an_error_instead_of_a_sum(monkeypatch):
    roster = Roster({Holder: ("p1", "p2", "p3"), Coordinator: ("coordinator",)})
    x = {p: np.full(5, i, dtype=np.uint64) for i, p in enumerate(roster[Holder])}

    def play(run: Run) -> Any:
        return told_then_summed(run, run.hold(Holder, x))._entries.get("coordinator")

    def fresh(me: str) -> RootEntropy:
        return RootEntropy([me], b"r")

    honest = in_threads(roster, play, job=b"j", entropy=fresh)
    np.testing.assert_array_equal(honest["coordinator"], [3, 3, 3, 3, 3])
    monkeypatch.setattr("tacit.runtimes.apart.Apart", TwoFaced)
    with pytest.raises(PeerError, match="the pads do not cancel: the parties were told different things"):
        in_threads(roster, play, job=b"j", entropy=fresh)


def test_a_coordinator_that_tells_parties_different_things_learns_nothing_at_all():
    """Pads bound to different transcripts are independent: enumerate them, and even the sum stays hidden."""

    class Equivocated(EnumeratedEntropy):
        def pads(self, party: str, seeds: Mapping[str, bytes], tag: bytes) -> Any:
            return super().pads(party, seeds, tag + b"other" if party == "p2" else tag)

    done = enumerate_sums(3, 2, entropy=Equivocated, right=False)
    assert done.depends_only_on(("coordinator",), lambda _t: [])
