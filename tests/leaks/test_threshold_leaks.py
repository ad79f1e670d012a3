"""What every coalition learns from two threshold sums with a drop in each, exactly: all inputs, all pads.

With M holders of whom t must answer, and the vectors of the dropped ones in the receiver's hands all the same (late):

    receiver and fewer than t holders    in each sum, the sum over that sum's survivors (and so over the honest ones)
    receiver and t holders or more       no claim; every vector is open, as a test shows
    any holders without the receiver     nothing

A coalition has the vectors it sent and received, its own inputs, and the pads of every seed that it made itself or
of which it can put together t shares: shares are opened and put together by the protocol's own functions, from the
bytes that crossed a border. A seed once known is known under every tag.

Three holders (t = 2, below what `protect` allows, which makes no difference to this) are enumerated one by one in Z_2.
From four on the pads are eliminated (`dropped`). Both ways are compared.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from leaks import dropped
from leaks.dropped import Basis, NoSelfMask, Seeds, nothing
from leaks.enumeration import ROUNDS, Digits, coalitions
from tacit.choreo import Coordinator, Holder, Role, Roster, entries_of
from tacit.crypto.pads.sharing import reconstruct
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums import threshold_sum as protocol
from tacit.protocols.sums.secure_sum import protect

KINDS = {kind.__name__: kind for kind in (protocol.Veiled, protocol.Request, protocol.Revealed)}
PLACES = ("/threshold_sum/", "/threshold_sum#1/")
P1 = Role("holder", single=True, party="p1")
Drops = Sequence[tuple[str, ...]]


class Tapped(dropped.Tapped):
    """Listens to threshold sums."""

    KINDS, PLACES = KINDS, PLACES


@dataclass
class Played(dropped.Played):
    """Two threshold sums over everything."""

    VECTORS = protocol.Veiled

    def seeds(self, members: set[str]) -> set[bytes]:
        """Those that members made, or can put together."""
        shares: dict[Any, set[bytes]] = defaultdict(set)
        for t, s, r, m in self.messages(protocol.Revealed):
            if members & {s, r}:
                for name, share in m.shares.items():
                    shares[t, name].add(share)
        for t, dealer, me, box in self.boxes(members):
            kept = dict.fromkeys(self.holders, b"")
            mine = protocol.Dealt(me, self.holders, self.t, self.entropy.tags[t], self.pairs[me], kept, {})
            for name, share in protocol.open_box(mine, dealer, box).items():
                shares[t, (dealer, name)].add(share)
        rebuilt = {reconstruct(tuple(found), self.t) for found in shares.values() if len(found) >= self.t}
        return rebuilt.union(*(self.entropy.worn[p] for p in members))

    def boxes(self, members: set[str]) -> Iterable[tuple[int, str, str, bytes]]:
        """Sealed shares for members: handed on to them, or in the hands of a receiver who is one of them."""
        for t, _, me, m in self.messages(protocol.Request):
            if me in members:
                yield from ((t, dealer, me, box) for dealer, box in m.boxes.items())
        for t, dealer, _, m in self.messages(protocol.Veiled):
            if self.to in members:
                yield from ((t, dealer, me, box) for me, box in m.boxes.items() if me in members)

    def allowed(self, coalition: Iterable[str]) -> Callable[[int], list[Any]]:
        """What the docstring says."""
        return lambda t: [self.sums(self.survivors[t], t)] if self.to in coalition else []


class Linear(dropped.Linear, Played):
    """The same verdict by elimination."""


def two_sums(
    holders: int,
    t: int,
    drops: Drops,
    *,
    q: int = 2,
    to: Role = Coordinator,
    kind: type[Played] = Linear,
    entropy: type[Seeds] = Seeds,
) -> Any:
    """Two sums, in which `drops` come too late: a first run counts the pads, a second one has their values."""
    names = tuple(f"p{i + 1}" for i in range(holders))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    digits = (Basis if kind is Linear else Digits)(q, ROUNDS * holders)

    def late(place: str, party: str) -> bool:
        return any(place == f"{p}Veiled" and party in dropped for p, dropped in zip(PLACES, drops, strict=True))

    for _ in ("count", "play"):
        source = entropy(roster.parties, digits)
        with Tapped(roster, job=b"leak test", entropy=source, absent=late) as run:
            by = dataclasses.replace(protect(run, to=to, method="threshold"), threshold=t)
            done = kind(run, source, digits, names, (), ROUNDS, t, to.party or to.name, entries_of(by.seeds))
            for i in range(ROUNDS):
                x = run.hold(Holder, {p: done.input(p, i) for p in names})
                total, survivors = protocol.threshold_sum(run, x, to=to, by=by, ring=Ring(q))
                assert survivors == tuple(p for p in names if p not in drops[i])
                np.testing.assert_array_equal(entries_of(total)[done.to], done.sums(survivors, i))
                done.survivors.append(survivors)
        digits.pads = len(source.numbers)
        digits.freeze()
    return done


def check_statement(done: Any) -> None:
    for coalition in coalitions(done.run.roster.parties):
        if done.colluders(coalition) < done.t or done.to not in coalition:
            assert done.depends_only_on(coalition, done.allowed(coalition)), coalition


def test_three_holders_one_by_one_with_a_drop_in_each_sum():
    done = two_sums(3, 2, [("p3",), ("p1",)], kind=Played)
    assert done.digits.size == 2**18
    check_statement(done)


@pytest.mark.parametrize(
    "drops", [[(a,), (b,)] for a, b in permutations(("p1", "p2", "p3", "p4"), 2)], ids=lambda d: f"{d[0][0]}-{d[1][0]}"
)
def test_four_holders_with_a_drop_in_each_sum(drops):
    check_statement(two_sums(4, 3, drops, q=3))


@pytest.mark.parametrize(
    ("holders", "t", "drops"),
    [(3, 3, [(), ()]), (4, 3, [(), ("p2",)]), (5, 4, [("p1",), ("p5",)]), (7, 5, [("p1", "p2"), ("p2", "p7")])],
)
def test_other_sizes_and_no_drops(holders, t, drops):
    check_statement(two_sums(holders, t, drops))


def test_the_receiver_may_be_a_holder():
    check_statement(two_sums(4, 3, [("p2",), ("p4",)], q=3, to=P1))


def test_elimination_and_enumeration_give_the_same_verdict():
    drops = [("p3",), ("p1",)]
    listed, solved = (two_sums(3, 2, drops, kind=kind) for kind in (Played, Linear))
    verdicts = set()
    for coalition in coalitions(listed.run.roster.parties):
        for says in ("allowed", "nothing"):
            told = [done.allowed(coalition) if says == "allowed" else nothing for done in (listed, solved)]
            verdict = listed.depends_only_on(coalition, told[0])
            assert solved.depends_only_on(coalition, told[1]) == verdict, (coalition, says)
            verdicts.add(verdict)
    assert verdicts == {True, False}


def test_the_receiver_and_t_holders_open_every_vector():
    """The limit that the docstring states is a real one."""
    done = two_sums(4, 3, [("p4",), ("p3",)])
    everyone_else = ("coordinator", "p1", "p2", "p3")
    assert not done.depends_only_on(everyone_else, done.allowed(everyone_else))


@pytest.mark.parametrize(("holders", "t", "kind"), [(3, 2, Played), (4, 3, Linear)])
def test_without_a_self_mask_a_late_vector_is_laid_open_and_caught(holders, t, kind):
    done = two_sums(holders, t, [("p3",), ("p1",)], kind=kind, entropy=NoSelfMask)
    assert not done.depends_only_on(("coordinator",), done.allowed(("coordinator",)))
    seen = list(zip(done.run.rounds_seen, done.run.seen, strict=True))
    in_time = [(i, m) for i, m in seen if m[0] in (*done.survivors[i], "coordinator")]
    done.run.rounds_seen, done.run.seen = map(list, zip(*in_time, strict=True))
    assert done.depends_only_on(("coordinator",), done.allowed(("coordinator",))), "only the late vectors gave it away"


@pytest.mark.parametrize(("holders", "t", "kind"), [(3, 2, Played), (4, 3, Linear)])
def test_shares_of_the_pair_seed_itself_are_caught_in_the_second_sum(holders, t, kind, monkeypatch):
    def lasting(pairs: Mapping[str, bytes], fresh: bytes, tag: bytes, me: str) -> dict[str, bytes]:
        del tag
        return {**pairs, me: fresh}

    monkeypatch.setattr(protocol, "round_seeds", lasting)
    done = two_sums(holders, t, [("p3",), ("p1",)], kind=kind)
    assert not done.depends_only_on(("coordinator",), done.allowed(("coordinator",)))
    still = two_sums(holders, t, [("p3",), ("p3",)], kind=kind)
    assert still.depends_only_on(("coordinator",), still.allowed(("coordinator",))), (
        "one party away for good gives nothing away"
    )


def test_answering_for_two_sets_of_survivors_is_caught(monkeypatch):
    """What the confirmations prevent: p3 taken for missing and for present in one sum."""
    honest = protocol.list_needed

    def for_both(survivors: tuple[str, ...], holders: tuple[str, ...]) -> list[tuple[str, str]]:
        return list(
            dict.fromkeys([*honest(survivors, holders), *honest(tuple(p for p in survivors if p != "p3"), holders)])
        )

    monkeypatch.setattr(protocol, "list_needed", for_both)
    monkeypatch.setattr(protocol, "recover", honest_recovery(honest))
    done = two_sums(4, 3, [(), ()])
    assert not done.depends_only_on(("coordinator",), done.allowed(("coordinator",)))


def honest_recovery(honest: Callable[..., list[tuple[str, str]]]) -> Callable[..., Any]:
    """The receiver computes the right sum from what it needs, and keeps the rest."""

    def recover(answers: Mapping[str, Any], wanted: Mapping[str, Any], t: int) -> Any:
        holders = tuple(wanted)
        return {seed: reconstruct([a.shares[seed] for a in answers.values()], t) for seed in honest(holders, holders)}

    return recover
