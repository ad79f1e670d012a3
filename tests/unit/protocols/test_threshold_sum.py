"""Threshold sums: whoever stays away, the sum is over the survivors; and nobody answers for two sets of them."""

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
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Role, Roster, entries_of
from tacit.choreo.codec import encode
from tacit.choreo.run import Present
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.sums.dropouts import Dealt, Revealed, recover
from tacit.protocols.sums.secure_sum import describe_protection, protect, secure_sum
from tacit.protocols.sums.threshold_sum import (
    Request,
    ask,
    confirm,
    deal_all,
    list_needed,
    reveal,
    round_seeds,
    threshold_sum,
)
from tacit.runtimes.apart import Apart, in_threads
from tacit.runtimes.together import Together

GATHERS = ("Veiled", "Confirmed", "Revealed")
P1 = Role("holder", single=True, party="p1")
FOUR = ("p1", "p2", "p3", "p4")


def summed(
    parties: int, absent: Any = None, *, sums: int = 1, to: Role = Coordinator, t: int | None = None, n: int = 5
) -> Any:
    """Sums of random words, each with its survivors and the words."""
    names = tuple(f"p{i + 1}" for i in range(parties))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    absent = absent or (lambda _place, _party: False)
    with Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run"), absent=absent) as run:
        by = protect(run, to=to, method="threshold", threshold=t)
        done = []
        for _ in range(sums):
            x = {p: np.frombuffer(secrets.token_bytes(8 * n), dtype=np.uint64) for p in names}
            total, survivors = threshold_sum(run, run.hold(Holder, x), to=to, by=by)
            done.append((x, entries_of(total)[to.party or to.name], survivors))
        return done, run


@st.composite
def drops(draw: Any) -> Any:
    """How many parties, t, and who stays away from which step of which of two sums."""
    parties = draw(st.integers(2, 7))
    t = draw(st.integers(2 * parties // 3 + 1, parties))
    some = st.sets(st.integers(1, parties), max_size=parties - t)
    away = {f"/threshold_sum{n}/{kind}": {f"p{i}" for i in draw(some)} for n in ("", "#1") for kind in GATHERS}
    return parties, t, away, draw(st.sampled_from([Coordinator, P1]))


@given(drops())
@settings(deadline=None, max_examples=60)
def test_whoever_stays_away_from_which_step_the_sum_is_over_the_published_survivors(drawn):
    parties, t, away, to = drawn
    done, run = summed(parties, lambda place, party: party in away.get(place, ()), sums=2, to=to, t=t)
    for (x, total, survivors), n in zip(done, ("", "#1"), strict=True):
        late = away[f"/threshold_sum{n}/Veiled"] - ({"p1"} if to == P1 else set())
        assert survivors == tuple(p for p in x if p not in late)
        np.testing.assert_array_equal(total, np.sum([x[p] for p in survivors], axis=0))
    missing = [", ".join(p for p in x if p not in survivors) for x, _, survivors in done if len(survivors) < parties]
    assert [entry["missing"] for entry in run.history] == missing


@pytest.mark.parametrize("kind", GATHERS)
@pytest.mark.parametrize(("parties", "away"), [(3, 1), (4, 2), (7, 3)])
def test_one_more_than_may_stay_away_ends_the_sum(kind, parties, away):
    with pytest.raises(PeerError, match=rf"p1.* did not answer at /threshold_sum/{kind}"):
        summed(parties, lambda place, party: place.endswith(kind) and int(party[1:]) <= away)


@pytest.mark.parametrize(("parties", "least"), [(2, 2), (3, 3), (4, 3), (5, 4), (6, 5), (7, 5), (10, 7)])
def test_the_default_is_the_smallest_t_over_two_thirds(parties, least):
    roster = Roster({Holder: tuple(f"p{i}" for i in range(parties)), Coordinator: ("coordinator",)})
    with Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run")) as run:
        assert protect(run, to=Coordinator, method="threshold").threshold == least
        assert 3 * least > 2 * parties >= 3 * (least - 1)


@pytest.mark.parametrize("t", [0, 2, 4, 7])
def test_two_thirds_or_less_and_more_than_all_are_refused(t):
    with pytest.raises(LocalError, match=rf"more than two thirds of the 6 holders, from 5 to 6; got threshold={t}"):
        summed(6, t=t)


def test_reals_and_symmetric_matrices_are_summed_as_under_pairwise():
    x = {p: np.array([[1.5, -2.0], [-2.0, i]]) for i, p in enumerate(FOUR)}
    roster = Roster({Holder: FOUR, Coordinator: ("coordinator",)})
    with Together(
        roster,
        job=b"job",
        entropy=RootEntropy(roster.parties, b"run"),
        absent=lambda place, p: p == "p4" and place.endswith("Veiled"),
    ) as run:
        by = protect(run, to=Coordinator, method="threshold")
        total = secure_sum(run, run.hold(Holder, x), to=Coordinator, by=by, fixed=FixedPoint(32, 4), symmetric=True)
    np.testing.assert_array_equal(entries_of(total)["coordinator"], [[4.5, -6.0], [-6.0, 3.0]])


def test_protection_in_words():
    assert "fewer than t of the M data holders collude, t > 2M/3" in describe_protection("threshold")


# One step at a time


def dealt(holders: tuple[str, ...] = FOUR, t: int = 3) -> dict[str, Dealt]:
    """What each holder keeps in a sum."""
    pairs: dict[str, dict[str, bytes]] = {p: {} for p in holders}
    for i, a in enumerate(holders):
        for b in holders[i + 1 :]:
            pairs[a][b] = pairs[b][a] = secrets.token_bytes(32)
    seeds = {p: round_seeds(pairs[p], secrets.token_bytes(32), b"tag", p) for p in holders}
    return {p: deal_all(pairs[p], seeds[p], secrets.token_bytes(32), b"tag", p, holders, t) for p in holders}


def asked(mine: dict[str, Dealt], survivors: tuple[str, ...], voters: tuple[str, ...] = FOUR) -> Any:
    """The requests of a receiver that follows the protocol."""
    votes = {p: confirm(mine[p], survivors) for p in voters}
    # boxes are all it reads
    return ask({p: mine[p] for p in survivors}, votes, survivors, FOUR)  # type: ignore[arg-type]


def test_a_holder_answers_for_the_set_it_confirmed_and_for_no_other_in_the_same_sum():
    mine, first, second = dealt(), ("p1", "p2", "p3"), ("p1", "p2", "p4")
    assert set(reveal(mine["p1"], first, asked(mine, first)["p1"]).shares) == set(list_needed(first, FOUR))
    with pytest.raises(
        PeerError,
        match=r"p1 is asked to unmask the sum over p1, p2, p4, but confirmed p1, p2, p3: a holder answers for one",
    ):
        reveal(mine["p1"], first, asked(mine, second)["p1"])
    disguised = dataclasses.replace(asked(mine, second)["p1"], survivors=first)
    with pytest.raises(PeerError, match="p2 did not confirm the survivors that p1 was told of"):
        reveal(mine["p1"], first, disguised)


def test_no_answer_opens_both_the_self_mask_and_all_pads_of_anybody():
    for survivors in (FOUR, ("p1", "p2", "p3"), ("p2", "p4")):
        wanted = list_needed(survivors, FOUR)
        assert {k for k, name in wanted if k == name} == set(survivors)
        assert not [(k, name) for k, name in wanted if k != name and name in survivors]
        assert not [k for k, _ in wanted if k not in survivors]


def test_fewer_than_t_survivors_are_not_confirmed():
    with pytest.raises(PeerError, match="p1 was told of 2 survivors, 3 are needed"):
        confirm(dealt()["p1"], ("p1", "p2"))


def test_fewer_than_t_confirmations_unmask_nothing():
    mine, survivors = dealt(), ("p1", "p2", "p3")
    with pytest.raises(PeerError, match="2 holders confirmed the survivors, 3 are needed before p1 unmasks anything"):
        reveal(mine["p1"], survivors, asked(mine, survivors, ("p1", "p2"))["p1"])
    request = asked(mine, survivors, ("p2", "p3"))["p1"]
    assert reveal(mine["p1"], survivors, request), "its own is the third"


def test_a_confirmation_cannot_be_made_up_turned_around_or_kept_for_another_sum():
    mine, survivors = dealt(), ("p1", "p2", "p3")
    request = asked(mine, survivors)["p1"]
    back = confirm(mine["p1"], survivors).macs["p2"]
    other_sum = confirm(dataclasses.replace(mine["p2"], tag=b"another"), survivors).macs["p1"]
    for mac in (bytes(32), b"", back, other_sum):
        with pytest.raises(PeerError, match="p2 did not confirm the survivors that p1 was told of"):
            reveal(mine["p1"], survivors, dataclasses.replace(request, macs={**request.macs, "p2": mac}))
    with pytest.raises(PeerError, match="p1 did not confirm"):
        reveal(mine["p1"], survivors, dataclasses.replace(request, macs={**request.macs, "p1": back}))


def test_shares_must_be_of_the_survivors_and_unaltered():
    mine, survivors = dealt(), ("p1", "p2", "p3")
    request = asked(mine, survivors)["p1"]
    bad = request.boxes["p2"][:-1] + bytes([request.boxes["p2"][-1] ^ 1])
    with pytest.raises(PeerError, match="the shares that p2 sealed for p1 do not open: they were altered"):
        reveal(mine["p1"], survivors, dataclasses.replace(request, boxes={**request.boxes, "p2": bad}))
    with pytest.raises(PeerError, match="the shares that p2 sealed for p1 do not open"):
        reveal(
            mine["p1"], survivors, dataclasses.replace(request, boxes={**request.boxes, "p2": mine["p2"].boxes["p3"]})
        )
    with pytest.raises(PeerError, match="p1 got shares of p2, p3, p4, expected those of p2, p3"):
        reveal(
            mine["p1"], survivors, dataclasses.replace(request, boxes={**request.boxes, "p4": mine["p4"].boxes["p1"]})
        )
    with pytest.raises(PeerError, match="p1 got shares of nobody, expected those of p2, p3"):
        reveal(mine["p1"], survivors, dataclasses.replace(request, boxes={}))


def test_the_receiver_refuses_shares_it_did_not_ask_for_and_shares_that_are_none():
    mine, survivors = dealt(), ("p1", "p2", "p3")
    requests = asked(mine, survivors)
    answers = {p: reveal(mine[p], survivors, requests[p]) for p in FOUR}
    wanted = dict.fromkeys(FOUR, list_needed(survivors, FOUR))
    seeds = recover(answers, wanted, 3)
    assert seeds["p1", "p4"] == seeds_of(mine, "p1", "p4")
    short = Revealed({name: share for name, share in answers["p2"].shares.items() if name != ("p1", "p1")})
    with pytest.raises(PeerError, match="p2 revealed other shares than it was asked for"):
        recover({**answers, "p2": short}, wanted, 3)
    doubled = {**answers, "p2": answers["p1"]}
    with pytest.raises(PeerError, match="the shares of p1, p2, p3, p4 do not open the sum: a share is there twice"):
        recover(doubled, wanted, 3)


def seeds_of(mine: dict[str, Dealt], k: str, name: str) -> bytes:
    return round_seeds(mine[k].pairs, b"", b"tag", k)[name]


def test_nothing_secret_is_printed():
    mine = dealt()
    request = asked(mine, FOUR)["p1"]
    shown = f"{mine['p1']!r} {request!r} {reveal(mine['p1'], FOUR, request)!r}"
    assert shown == "Dealt(me, holders, t, tag, pairs, kept, boxes) Request(survivors, macs, boxes) Revealed(shares)"


def test_confirmations_and_shares_are_for_all_other_holders():
    mine = dealt()
    votes = {p: confirm(mine[p], FOUR) for p in FOUR}
    short = dataclasses.replace(votes["p2"], macs={p: mac for p, mac in votes["p2"].macs.items() if p != "p4"})
    with pytest.raises(PeerError, match="p2 sent confirmations or shares for p1, p3, expected all other holders"):
        ask(mine, {**votes, "p2": short}, FOUR, FOUR)  # type: ignore[arg-type] - boxes are all it reads
    bare = dataclasses.replace(mine["p3"], boxes={})
    with pytest.raises(PeerError, match="p3 sent confirmations or shares for nobody"):
        ask({**mine, "p3": bare}, votes, FOUR, FOUR)  # type: ignore[arg-type] - as above


def test_a_request_is_a_message_of_its_own_for_each_holder():
    mine = dealt()
    requests = asked(mine, FOUR)
    assert isinstance(requests["p1"], Request)
    assert set(requests["p1"].boxes) == {"p2", "p3", "p4"}
    assert requests["p1"].boxes["p2"] != requests["p3"].boxes["p2"]


# Every party apart


def apart(kind: type[Apart], monkeypatch: Any) -> Any:
    roster = Roster({Holder: FOUR, Coordinator: ("coordinator",)})
    x = {p: np.full(3, 10**i, dtype=np.uint64) for i, p in enumerate(FOUR)}

    def play(run: Any) -> Any:
        by = protect(run, to=Coordinator, method="threshold")
        sums = [threshold_sum(run, run.hold(Holder, x), to=Coordinator, by=by) for _ in range(2)]
        return [(entries_of(total).get("coordinator"), survivors) for total, survivors in sums]

    monkeypatch.setattr(apart_module, "Apart", kind)
    return in_threads(roster, play, job=b"j", entropy=lambda me: RootEntropy([me], b"r"))


class SlowOnce(Apart):
    """p2 sends its first vector when it hears that the others go on without it."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        if place == "/threshold_sum/Veiled" and self.me == "p2":
            assert self._collect(time.monotonic() + 10)
        return super()._exchange(place, outbox, wanted, missing)


def test_a_slow_holder_misses_one_sum_and_is_back_in_the_next(monkeypatch):
    done = apart(SlowOnce, monkeypatch)
    assert {tuple(s for _, s in sums) for sums in done.values()} == {(("p1", "p3", "p4"), FOUR)}
    np.testing.assert_array_equal([total for total, _ in done["coordinator"]], [[1101] * 3, [1111] * 3])


class TwoFaced(Apart):
    """A coordinator that tells p2 alone that p4 did not survive."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        if place == "/threshold_sum/Present" and self.me == "coordinator":
            outbox = {(s, r): encode(Present(("p1", "p2", "p3"))) if r == "p2" else f for (s, r), f in outbox.items()}
        return super()._exchange(place, outbox, wanted, missing)


def test_a_coordinator_that_tells_of_two_sets_of_survivors_gets_no_share(monkeypatch):
    with pytest.raises(
        PeerError,
        match=r"p2 did not confirm the survivors that p. was told of: they were told|is asked to unmask the sum",
    ):
        apart(TwoFaced, monkeypatch)
