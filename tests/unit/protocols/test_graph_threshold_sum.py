"""Threshold sums along a graph: whoever stays away, the sum is over the survivors; and no holder is opened twice."""

from __future__ import annotations

import dataclasses
import secrets
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit.runtimes.apart as apart_module
from tacit.choreo import Coordinator, Each, Holder, LocalError, PeerError, Role, Roster, entries_of
from tacit.choreo.codec import decode_as, encode
from tacit.choreo.run import Present
from tacit.crypto.pads import agreement
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.cells.ring_graph import RingGraph
from tacit.protocols.sums import graph_threshold_sum as protocol
from tacit.protocols.sums.dropouts import Dealt, Revealed
from tacit.protocols.sums.graph_threshold_sum import PAIR, SELF, graph_threshold_sum, list_needed, set_thresholds
from tacit.protocols.sums.secure_sum import describe_protection, protect, secure_sum
from tacit.runtimes.apart import Apart, in_threads
from tacit.runtimes.together import Together

GATHERS = ("Offered", "Covered", "Confirmed", "Revealed")
P1 = Role("holder", single=True, party="p1")
NAMES = tuple(f"p{i + 1}" for i in range(9))


def summed(parties: int, absent: Any = None, *, sums: int = 1, to: Role = Coordinator, **options: Any) -> Any:
    """Sums of random words, each with its survivors and the words."""
    names = tuple(f"p{i + 1}" for i in range(parties))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    absent = absent or (lambda _place, _party: False)
    with Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run"), absent=absent) as run:
        by = protect(run, to=to, method="graph_threshold", **options)
        done = []
        for _ in range(sums):
            x = {p: np.frombuffer(secrets.token_bytes(40), dtype=np.uint64) for p in names}
            total, survivors = graph_threshold_sum(run, run.hold(Holder, x), to=to, by=by)
            done.append((x, entries_of(total)[to.party or to.name], survivors))
        return done, run


@st.composite
def drops(draw: Any) -> Any:
    """Of nine holders, with five around each place of whom one may be missing: who is away from which step."""
    somebody, away = st.sets(st.sampled_from(NAMES), max_size=1), {}
    for n in ("", "#1"):
        first, steps = draw(somebody), draw(st.sets(st.sampled_from(GATHERS[:2]), min_size=1))
        for kind in GATHERS:
            away[f"/graph_threshold_sum{n}/{kind}"] = (
                draw(somebody) if kind in GATHERS[2:] else first if kind in steps else set()
            )
    return away, draw(st.sampled_from([Coordinator, P1]))


@given(drops())
@settings(deadline=None, max_examples=15)
def test_whoever_stays_away_from_which_step_the_sum_is_over_the_published_survivors(drawn):
    away, to = drawn
    done, run = summed(9, lambda place, p: p in away.get(place, ()), sums=2, to=to, neighbours=4, threshold=4)
    late = [
        set().union(*(away[f"/graph_threshold_sum{n}/{kind}"] for kind in GATHERS[:2])) - {to.party} for n in ("", "#1")
    ]
    for (x, total, survivors), gone in zip(done, late, strict=True):
        assert survivors == tuple(p for p in x if p not in gone)
        np.testing.assert_array_equal(total, np.sum([x[p] for p in survivors], axis=0))
    assert [entry["missing"] for entry in run.history if "missing" in entry] == [min(gone) for gone in late if gone]


@pytest.mark.parametrize("kind", GATHERS)
def test_with_few_holders_as_many_may_stay_away_as_under_threshold_and_one_more_ends_the_sum(kind):
    done, _ = summed(7, lambda place, party: place.endswith(kind) and party in ("p2", "p5"))
    x, total, survivors = done[0]
    np.testing.assert_array_equal(total, np.sum([x[p] for p in survivors], axis=0))
    with pytest.raises(PeerError, match=rf"p1, p2, p3 did not answer at /graph_threshold_sum/{kind}, 2 may be missing"):
        summed(7, lambda place, party: place.endswith(kind) and int(party[1:]) <= 3)


@pytest.mark.parametrize("kind", GATHERS)
def test_holders_that_are_few_in_all_but_too_many_around_one_place_end_the_sum(kind):
    with pytest.raises(LocalError, match="nobody is away"):
        _away_around_p5(kind, 0)
    _away_around_p5(kind, 1)
    with pytest.raises(PeerError, match=rf"did not answer with {kind}: 3 of the 5 holders around p\d+ are left, 4 are"):
        _away_around_p5(kind, 2)


def _away_around_p5(kind: str, count: int) -> None:
    """Let so many neighbours on the ring stay away."""
    gone: list[str] = []
    names = tuple(f"p{i + 1}" for i in range(12))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})

    def absent(place: str, party: str) -> bool:
        return place.endswith(kind) and party in gone

    with Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run"), absent=absent) as run:
        by = protect(run, to=Coordinator, method="graph_threshold", neighbours=4, threshold=4)
        gone += by.rings[0][3 : 3 + count]
        x = run.hold(Holder, dict.fromkeys(names, np.ones(2, dtype=np.uint64)))
        total, _ = graph_threshold_sum(run, x, to=Coordinator, by=by)
        left = 12 - count if kind in GATHERS[:2] else 12
        assert list(entries_of(total)["coordinator"]) == [left, left]
    if not gone:
        raise LocalError("nobody is away")


def test_who_is_away_from_the_agreement_or_a_sum_is_left_out_of_all_that_follows():
    roster = Roster({Holder: NAMES, Coordinator: ("coordinator",)})
    away = {"/protect/Commitment": "p3", "/secure_sum/graph_threshold_sum/Covered": "p7"}
    with Together(
        roster,
        job=b"job",
        entropy=RootEntropy(roster.parties, b"run"),
        absent=lambda place, p: away.get(place) == p,
    ) as run:
        by = protect(run, to=Coordinator, method="graph_threshold")
        x = run.hold(Holder, {p: np.full(2, 10**i, dtype=np.uint64) for i, p in enumerate(NAMES)})
        totals = [entries_of(secure_sum(run, x, to=Coordinator, by=by))["coordinator"][0] for _ in range(2)]
    assert totals == [110_111_011] * 2
    assert [note["missing"] for note in run.history if "missing" in note] == ["p3", "p7"]
    assert run.roster.absent == ("p3", "p7")


def test_the_history_says_how_many_neighbours_and_how_likely_it_fails_or_stops():
    _, run = summed(103)
    chosen = set_thresholds(103, None, None)
    assert run.history == [
        {
            "place": "/protect",
            "neighbours": chosen.k,
            "threshold": chosen.t,
            "failure": chosen.failure,
            "stop": chosen.stop,
        }
    ]
    assert chosen.k < 102
    boxes = [row for row in run.ledger if row.type == "PublicKey"]
    assert len(boxes) == 103 * chosen.k  # to neighbours alone


def test_a_threshold_of_two_thirds_or_less_is_refused():
    with pytest.raises(LocalError, match="secure_sum='graph_threshold' needs more than two thirds of the 5 holders"):
        summed(9, neighbours=4, threshold=3)


def test_protection_in_words():
    assert "at most a fifth of the data holders collude" in describe_protection("graph_threshold")


# One step at a time


@dataclasses.dataclass
class Stage:
    """Seven holders on a ring with four neighbours each, as far as their shares are dealt."""

    graph: RingGraph
    mine: dict[str, Dealt]
    secret: dict[str, bytes]
    offers: dict[str, Any]
    handed: Each


def stage() -> Stage:
    names, t = NAMES[:7], 4
    graph = RingGraph(names, 4)
    pairs = {frozenset((p, q)): secrets.token_bytes(32) for p in names for q in graph.around(p) if p != q}
    seeds = {p: {q: pairs[frozenset((p, q))] for q in graph.around(p) if q != p} for p in names}
    secret = {p: secrets.token_bytes(32) for p in names}
    dealt = {
        p: protocol.deal_two(seeds[p], secret[p], bytes(32), secrets.token_bytes(32), b"tag", p, graph.around(p), t)
        for p in names
    }
    offers = {p: protocol.offer(dealt[p], secret[p]) for p in names}
    return Stage(graph, dealt, secret, offers, protocol.hand_on(offers, graph, names))


def test_a_holder_reveals_one_of_the_two_seeds_of_each_dealer_around_it():
    for survivors in (frozenset(NAMES), frozenset(NAMES[:6]), frozenset()):
        needed = list_needed(NAMES, survivors)
        assert [k for k, _ in needed] == list(NAMES)  # each dealer once
        assert {k for k, name in needed if name == SELF} == survivors
        assert {k for k, name in needed if name == PAIR} == set(NAMES) - survivors


def test_a_holder_opens_nothing_before_t_around_it_confirmed_what_it_was_told():
    at = stage()
    taken = protocol.take(at.mine["p1"], at.handed["p1"], frozenset(NAMES[:7]))
    votes = {p: protocol.confirm(at.mine[p], b"told") for p in NAMES[:7]}
    macs = protocol.pass_on(votes, at.graph, NAMES[:7])["p1"]
    everybody = frozenset(NAMES[:7])
    revealed = protocol.reveal(at.mine["p1"], taken, everybody, b"told", macs)
    assert set(revealed.shares) == {(p, SELF) for p in at.graph.around("p1")}
    with pytest.raises(PeerError, match=r"p\d did not confirm the survivors that p1 was told of"):
        protocol.reveal(at.mine["p1"], taken, everybody, b"something else", macs)
    few = dataclasses.replace(macs, macs=dict(list(macs.macs.items())[:2]))
    with pytest.raises(PeerError, match="3 holders confirmed the survivors, 4 are needed before p1 unmasks anything"):
        protocol.reveal(at.mine["p1"], taken, everybody, b"told", few)


def test_a_key_that_was_changed_on_the_way_does_not_open_the_shares_that_came_with_it():
    at = stage()
    there = frozenset(NAMES[:7])
    handed = at.handed["p1"]
    forged = dataclasses.replace(handed, keys={**handed.keys, "p2": agreement.public_key(bytes(31) + b"\x01")})
    with pytest.raises(PeerError, match="the shares that p2 sealed for p1 do not open"):
        protocol.take(at.mine["p1"], forged, there)
    lacking = dataclasses.replace(handed, boxes={p: box for p, box in handed.boxes.items() if p != "p2"})
    with pytest.raises(PeerError, match=r"p1 got shares of .*, expected those of p2"):
        protocol.take(at.mine["p1"], lacking, there)


def test_neighbours_only_get_shares_and_confirmations():
    at = stage()
    offers = {**at.offers, "p3": dataclasses.replace(at.offers["p3"], boxes={})}
    with pytest.raises(PeerError, match="p3 sent confirmations or shares for nobody, expected all neighbours"):
        protocol.hand_on(offers, at.graph, NAMES[:7])
    votes = {"p3": dataclasses.replace(protocol.confirm(at.mine["p3"], b"told"), macs={"p7": b""})}
    with pytest.raises(PeerError, match="p3 sent confirmations or shares for p7, expected all neighbours"):
        protocol.pass_on(votes, at.graph, NAMES[:7])


def test_a_holder_that_went_and_had_dealt_shares_of_another_key_is_named():
    at, there = stage(), frozenset(NAMES[:7])
    survivors = there - {"p4"}
    taken = {p: protocol.take(at.mine[p], at.handed[p], there) for p in there}
    answers = {
        p: Revealed({seed: taken[p].shares[seed] for seed in list_needed(at.graph.around(p), survivors)})
        for p in NAMES[:7]
    }
    left = protocol.open_pads(answers, at.offers, survivors, at.graph, 4)
    assert set(left) == {*((p, p) for p in survivors), *((p, "p4") for p in at.graph.around("p4") if p != "p4")}
    keys = {q: at.offers[q].key for q in at.graph.around("p4") if q != "p4"}
    assert left["p2", "p4"] == agreement.pair_seeds(at.secret["p4"], keys, b"secure sum")["p2"]
    other = dataclasses.replace(at.offers["p4"], key=at.offers["p5"].key)
    with pytest.raises(PeerError, match="p4 dealt shares of another key than the one that it offered"):
        protocol.open_pads(answers, {**at.offers, "p4": other}, survivors, at.graph, 4)


def test_nothing_secret_is_printed():
    at = stage()
    taken = protocol.take(at.mine["p1"], at.handed["p1"], frozenset(NAMES[:7]))
    assert f"{at.offers['p1']!r} {at.handed['p1']!r} {taken!r}" == (
        "Offered(key, boxes) Handed(keys, boxes) Taken(keys, shares)"
    )


# Every party apart


def apart(kind: type[Apart], monkeypatch: Any, names: tuple[str, ...] = NAMES[:7]) -> Any:
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    x = {p: np.full(3, 10**i, dtype=np.uint64) for i, p in enumerate(names)}

    def play(run: Any) -> Any:
        by = protect(run, to=Coordinator, method="graph_threshold", neighbours=4, threshold=4)
        sums = [graph_threshold_sum(run, run.hold(Holder, x), to=Coordinator, by=by) for _ in range(2)]
        return [(entries_of(total).get("coordinator"), survivors) for total, survivors in sums]

    monkeypatch.setattr(apart_module, "Apart", kind)
    return in_threads(roster, play, job=b"j", entropy=lambda me: RootEntropy([me], b"r"))


class SlowOnce(Apart):
    """p2 sends its first vector when it hears that the others go on without it."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        if place == "/graph_threshold_sum/Covered" and self.me == "p2":
            assert self._collect(time.monotonic() + 10)
        return super()._exchange(place, outbox, wanted, missing)


def test_a_slow_holder_misses_one_sum_and_is_back_in_the_next(monkeypatch):
    done = apart(SlowOnce, monkeypatch)
    others = tuple(p for p in NAMES[:7] if p != "p2")
    assert {tuple(s for _, s in sums) for sums in done.values()} == {(others, NAMES[:7])}
    np.testing.assert_array_equal([total for total, _ in done["coordinator"]], [[1_111_101] * 3, [1_111_111] * 3])


class TwoFaced(Apart):
    """A coordinator that tells p2 alone that p4 did not survive, after the offers or after the vectors."""

    lies_at: str = ""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        if place == self.lies_at and self.me == "coordinator":
            outbox = {(s, r): _without_p4(f) if r == "p2" else f for (s, r), f in outbox.items()}
        return super()._exchange(place, outbox, wanted, missing)


def _without_p4(frames: Any) -> Any:
    return encode(Present(tuple(p for p in decode_as(Present, frames).parties if p != "p4")))


@pytest.mark.parametrize("place", ["Present", "Present#1"])
def test_a_coordinator_that_tells_of_two_sets_of_survivors_gets_no_share(monkeypatch, place):
    monkeypatch.setattr(TwoFaced, "lies_at", f"/graph_threshold_sum/{place}")
    with pytest.raises(PeerError, match=r"did not confirm the survivors that p\d was told of|p2 got shares of"):
        apart(TwoFaced, monkeypatch)
