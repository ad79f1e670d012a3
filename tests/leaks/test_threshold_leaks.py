"""What every coalition learns from two threshold sums with a drop in each, exactly: all inputs, all pads.

With M holders of whom t must answer, and the vectors of the dropped ones in the receiver's hands all the same (late):

    receiver and fewer than t holders    in each sum, the sum over that sum's survivors (and so over the honest ones)
    receiver and t holders or more       no claim; every vector is open, as a test shows
    any holders without the receiver     nothing

A coalition has the vectors it sent and received, its own inputs, and the pads of every seed that it made itself or
of which it can put together t shares: shares are opened and put together by the protocol's own functions, from the
bytes that crossed a border. A seed once known is known under every tag.

Three holders (t = 2, below what `protect` allows, which makes no difference to this) are enumerated one by one in Z_2.
From four on that is too much, and not needed: what parties see is linear in inputs and pads, so one run in which entry
e has variable e at 1 and all others at 0 gives the matrix of the view, and elimination of the pads leaves exactly what
the view tells about the inputs. Further entries with random values check that it is linear. Both ways are compared.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from leaks.enumeration import ROUNDS, Digits, Enumerated, EnumeratedEntropy, coalitions
from tacit.choreo import Coordinator, Holder, Role, Roster, decode_as, entries_of
from tacit.crypto.pads.sharing import reconstruct
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums import threshold_sum as protocol
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

KINDS = {kind.__name__: kind for kind in (protocol.Veiled, protocol.Request, protocol.Revealed)}
PLACES = ("/threshold_sum/", "/threshold_sum#1/")
P1 = Role("holder", single=True, party="p1")
Drops = Sequence[tuple[str, ...]]


class Basis(Digits):
    """Entry e has variable e at 1 and the others at 0; the last entries have all at 0, then at random."""

    RANDOM = 20

    def __init__(self, q: int, inputs: int) -> None:
        super().__init__(q, inputs)
        self.freeze()

    @property
    def variables(self) -> int:
        return self.inputs + self.pads

    def freeze(self) -> None:
        self.size = self.variables + 1 + self.RANDOM

    def of(self, i: int) -> Any:
        column = np.zeros(self.size, dtype=np.uint64)
        column[i % self.size] = 1
        column[-self.RANDOM :] = np.random.default_rng(i).integers(0, self.q, self.RANDOM)
        return column


class Seeds(EnumeratedEntropy):
    """Remembers who wore which seeds in which sum."""

    def __init__(self, parties: Sequence[str], digits: Digits) -> None:
        super().__init__(parties, digits)
        self.worn: dict[str, set[bytes]] = defaultdict(set)
        self.tags: list[bytes] = []

    def pads(self, party: str, seeds: Mapping[Any, bytes], tag: bytes) -> Any:
        self.worn[party] |= set(seeds.values())
        self.tags += [tag] if tag not in self.tags else []
        return super().pads(party, seeds, tag)


class Tapped(Together):
    """Keeps what crossed every border, and what was sent in vain."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[str, str, Any]] = []
        self.rounds_seen: list[int] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        kind = KINDS.get(place.rsplit("/", 1)[-1])
        if kind is not None:
            self.seen += [(s, r, decode_as(kind, frames)) for (s, r), frames in outbox.items()]
            self.rounds_seen += [next(t for t, p in enumerate(PLACES) if place.startswith(p))] * len(outbox)
        return super()._exchange(place, outbox, wanted, missing)


@dataclass
class Played(Enumerated):
    """Two threshold sums over everything."""

    run: Tapped
    entropy: Seeds
    t: int = 0
    to: str = "coordinator"
    pairs: Mapping[str, dict[str, bytes]] = field(default_factory=dict)
    survivors: list[tuple[str, ...]] = field(default_factory=list)

    def messages(self, kind: type) -> Iterable[tuple[int, str, str, Any]]:
        seen = zip(self.run.rounds_seen, self.run.seen, strict=True)
        return ((t, s, r, m) for t, (s, r, m) in seen if isinstance(m, kind))

    def columns(self, coalition: Iterable[str]) -> list[Any]:
        """Everything the coalition has."""
        members, n = set(coalition), self.digits.size
        vectors = [m.words[:n] for _, s, r, m in self.messages(protocol.Veiled) if members & {s, r}]
        known = self.seeds(members)
        pads = [self.digits.of(self.digits.inputs + i) for key, i in self.entropy.numbers.items() if key[0] in known]
        return [*vectors, *pads, *self.own(members)]

    def own(self, members: Iterable[str]) -> list[Any]:
        return [self.input(p, t) for p in self.holders if p in members for t in range(ROUNDS)]

    def view(self, coalition: Iterable[str]) -> Any:
        return self._code(self.columns(coalition))

    def seeds(self, members: set[str]) -> set[bytes]:
        """Those that members made, or can put together."""
        shares: dict[Any, set[bytes]] = defaultdict(set)
        for t, s, r, m in self.messages(protocol.Revealed):
            if members & {s, r}:
                for name, share in m.shares.items():
                    shares[t, name].add(share)
        for t, dealer, me, box in self.boxes(members):
            mine = protocol.Dealt(me, self.holders, self.t, self.entropy.tags[t], self.pairs[me], {}, {})
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

    def colluders(self, coalition: Iterable[str]) -> int:
        return sum(p in self.holders for p in coalition)


class Linear(Played):
    """The same verdict by elimination."""

    def depends_only_on(self, coalition: Iterable[str], allowed: Callable[[int], list[Any]]) -> bool:
        members = tuple(coalition)
        view, known = (
            self.matrix(self.columns(members)),
            self.matrix([*self.own(members), *(a for t in range(ROUNDS) for a in allowed(t))]),
        )
        n, q = self.digits.inputs, self.digits.q
        # the pads first: rows that keep none of them are what the view tells about the inputs
        reduced = echelon(np.roll(view, -n, axis=1), q)
        told = [row[-n:] for row in reduced if not row[:-n].any()]
        known = known[:, :n]
        return len(echelon(np.vstack([known, *told]), q)) == len(echelon(known, q))

    def matrix(self, columns: Sequence[Any]) -> Any:
        """A row per column of the view, by variable; random entries show that this says it all."""
        whole = np.array(columns, dtype=np.int64).reshape(len(columns), self.digits.size)
        n = self.digits.variables
        values = np.array([self.digits.of(i)[n:] for i in range(n)], dtype=np.int64)
        assert np.array_equal(whole[:, :n] @ values % self.digits.q, whole[:, n:])
        return whole[:, :n]


def echelon(rows: Any, q: int) -> Any:
    """Independent rows of the same span, modulo the prime q, each with its first nonzero entry at 1."""
    left, done = [row % q for row in rows], []
    for column in range(rows.shape[1]):
        pivot = next((row for row in left if row[column]), None)
        if pivot is not None:
            pivot = pivot * pow(int(pivot[column]), -1, q) % q
            left = [(row - row[column] * pivot) % q for row in left]
            done.append(pivot)
    return np.array(done, dtype=np.int64).reshape(len(done), rows.shape[1])


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


def nothing(_t: int) -> list[Any]:
    return []


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


class NoSelfMask(Seeds):
    """The seed under a holder's own name gives a pad of zeros."""

    def __init__(self, parties: Sequence[str], digits: Digits) -> None:
        super().__init__(parties, digits)
        self.bare: set[bytes] = set()

    def pads(self, party: str, seeds: Mapping[Any, bytes], tag: bytes) -> Any:
        self.bare |= {seeds[party]} if party in seeds else set()
        return super().pads(party, seeds, tag)

    def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
        values = super().pad(party, seed, tag, words)
        return np.zeros_like(values) if seed in self.bare else values


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

    def recover(answers: Mapping[str, Any], survivors: tuple[str, ...], holders: tuple[str, ...], t: int) -> Any:
        return {seed: reconstruct([a.shares[seed] for a in answers.values()], t) for seed in honest(survivors, holders)}

    return recover
