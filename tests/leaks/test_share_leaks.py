"""What a holder sees of gates on shares, exactly: the real choreographies in Z_16, with all that the holders draw.

Gates work entry by entry, so one run holds every combination of what is drawn. A holder sees its own draws, what it is
dealt and what the other one opens; that must have the same distribution whatever the other holder's shares are. The
dealer is sent nothing, so that its view is its own draws.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Ring
from tacit.protocols.blind.iterate import apply_fixed
from tacit.protocols.shares import gates, matrices
from tacit.protocols.shares.dealing import Dealt, agree_with_dealer
from tacit.protocols.shares.gates import OpenedBits, Opening, multiply, share_anew, square_each, truncate
from tacit.protocols.shares.matrices import Crossed, multiply_matrices, open_once
from tacit.runtimes.together import Together

Q, CUT = 16, 1
PARTIES = ("p1", "p2")
KINDS = {"Dealt": Dealt, "Opening": Opening, "OpenedBits": OpenedBits}


class Digits(RootEntropy):
    """In place of AES: what the holders draw, one word after the other, are the digits of the number of the entry."""

    def __init__(self, size) -> None:
        super().__init__([*PARTIES, "dealer"], b"leak test")
        self.size, self.drawn, self.owner = size, {}, {}

    def pads(self, party, seeds, tag):
        return Given(self, party, seeds, tag)

    def words(self, party, key, count):
        if party in PARTIES:
            self.owner[key] = party
        if key not in self.drawn:
            first = sum(len(each) for each in self.drawn.values())
            entry = np.arange(self.size, dtype=np.uint64)
            digits = [entry // np.uint64(Q ** (first + i)) % np.uint64(Q) for i in range(count // self.size)]
            self.drawn[key] = np.array(digits, dtype=np.uint64).reshape(-1, self.size)
        return self.drawn[key].ravel()


class Given:
    def __init__(self, source, party, seeds, tag) -> None:
        self.source, self.party, self.seeds, self.tag = source, party, seeds, tag

    def put_on(self, name, words):
        return iter([self.source.words(self.party, (self.seeds[name], self.tag), words)])

    take_off = put_on


class Tapped(Together):
    """Keeps what each holder receives."""

    def _exchange(self, place, outbox, wanted, missing):
        kind = KINDS.get(place.rpartition("/")[2].partition("#")[0])
        for (sender, receiver), frames in outbox.items() if kind else ():
            assert receiver != "dealer"
            if sender != receiver:
                message = decode_as(kind, frames)
                self.seen.setdefault(receiver, []).append(getattr(message, "words", getattr(message, "bits", None)))
        return super()._exchange(place, outbox, wanted, missing)


def play(gate, drawn, *shares):
    """How often each holder sees what, and what the gate leaves, where each value has these two shares."""
    size = Q**drawn
    entropy = Digits(size)
    with Tapped(Roster({Holder: PARTIES, Coordinator: ("dealer",)}), job=b"leak test", entropy=entropy) as run:
        run.seen = {}
        dealing = agree_with_dealer(run, ring=Ring(Q))
        held = [
            run.hold(Holder, {p: np.full(size, v, np.uint64) for p, v in zip(PARTIES, x, strict=True)}) for x in shares
        ]
        left = entries_of(gate(run, dealing, *held, size=size))
    assert sum(len(each) for each in entropy.drawn.values()) == drawn
    found = {}
    for p in PARTIES:
        own = [line for key, lines in entropy.drawn.items() if entropy.owner[key] == p for line in lines]
        received = [line for words in run.seen[p] if words.size for line in words.reshape(-1, size)]
        found[p] = Counter(np.ravel_multi_index([*own, *received], (Q,) * (len(own) + len(received))).tolist())
    return found, sum(left.values()) % np.uint64(Q)


def cut(run, dealing, x, *, size):
    return truncate(run, dealing, x, CUT, size=size)


GATES = {
    "product": (multiply, 5, [((3, 9), (1, 5)), ((3, 0), (1, 15)), ((3, 4), (1, 8))]),
    "square": (square_each, 3, [((3, 9),), ((3, 0),), ((3, 15),)]),
    "truncation": (cut, 4, [((1, 2),), ((1, 0),), ((1, 13),)]),
}


@pytest.mark.parametrize("name", [pytest.param("product", marks=pytest.mark.slow), "square", "truncation"])
def test_what_a_holder_sees_does_not_depend_on_the_other_ones_shares(name):
    gate, drawn, cases = GATES[name]
    seen = [play(gate, drawn, *each)[0] for each in cases]
    mirrored = [play(gate, drawn, *(pair[::-1] for pair in each))[0] for each in cases]
    for first, other in pairwise(seen):
        assert first["p1"] == other["p1"]
    for first, other in pairwise(mirrored):
        assert first["p2"] == other["p2"]


def test_gates_leave_shares_of_what_they_compute_whatever_is_drawn():
    assert (play(multiply, 5, (3, 9), (1, 5))[1] == 12 * 6 % Q).all()
    assert (play(square_each, 3, (3, 9))[1] == 12 * 12 % Q).all()
    halves = play(cut, 4, (1, 2))[1]  # 3 / 2, rounded at random
    assert set(halves.tolist()) == {1, 2}
    assert halves.mean() == 1.5
    below = play(cut, 4, (15, 14))[1]  # -3 / 2
    assert set(below.tolist()) == {14, 15}


# matrices: a column of entries times one number, whose masks are the same for all entries of a run

COLUMN = np.arange(Q**3, dtype=np.uint64)  # the masks of either holder, and what the first one draws of the product


class Columns(Digits):
    """Every mask of an entry, and these two of the number."""

    def __init__(self, masks) -> None:
        super().__init__(COLUMN.size)
        self.masks = masks

    def words(self, party, key, count):
        del party
        if key not in self.drawn:
            first, own = not self.drawn, self.masks[len(self.drawn)]
            lines = [COLUMN % Q, [own], COLUMN // (Q * Q)] if first else [COLUMN // Q % Q, [own]]
            self.drawn[key] = np.concatenate(lines).astype(np.uint64)
        assert self.drawn[key].size == count
        return self.drawn[key]


def matrix_view(x, y, numbers=range(Q)):
    """How often each holder sees which draws of its own, which dealt words and which openings; and the product.

    numbers: the masks that each holder may draw of the number.
    """
    seen, left = {"p1": np.zeros((Q,) * 4, np.int64), "p2": np.zeros((Q,) * 5, np.int64)}, set()
    for own in numbers:
        for other in numbers:
            entropy = Columns((own, other))
            with Tapped(Roster({Holder: PARTIES, Coordinator: ("dealer",)}), job=b"leak test", entropy=entropy) as run:
                run.seen = {}
                dealing = agree_with_dealer(run, ring=Ring(Q))
                X = run.hold(Holder, {p: np.full(Q**3, v, np.uint64) for p, v in zip(PARTIES, x, strict=True)})
                Y = run.hold(Holder, {p: np.array([v], np.uint64) for p, v in zip(PARTIES, y, strict=True)})
                found = entries_of(multiply_matrices(run, dealing, X, Y, Crossed(Q**3, 1, 1)))
            left |= set((sum(found.values()) % np.uint64(Q)).tolist())
            opened = run.seen["p1"][-1]
            np.add.at(seen["p1"], (COLUMN % Q, own, opened[:-1], opened[-1]), 1)
            dealt, opened = run.seen["p2"]
            np.add.at(seen["p2"], (COLUMN // Q % Q, other, dealt, opened[:-1], opened[-1]), 1)
    return seen, left


@pytest.mark.slow
def test_of_a_product_of_matrices_a_holder_sees_uniform_words_whatever_the_other_one_has():
    for x, y in (((3, 9), (1, 5)), ((3, 0), (1, 15))):
        seen, left = matrix_view(x, y)
        assert left == {sum(x) * sum(y) % Q}
        assert set(seen["p1"].ravel().tolist()) == {Q**5 // Q**4}
        assert set(seen["p2"].ravel().tolist()) == {1}


# a matrix that is opened once and serves two vectors: one number, whose masks are the same for all entries of a run

SMALL = 4  # elements of the ring: both holders draw six words for each entry
ENTRIES = np.arange(SMALL**6, dtype=np.uint64)
PLACES = [(0, 1), (2,), (3, 4), (5,)]  # digits of an entry that are drawn: for each vector by p1, then by p2


class Reused(Digits):
    """Every mask of an entry of both vectors, and these two of the number."""

    def __init__(self, masks) -> None:
        super().__init__(ENTRIES.size)
        self.masks = masks

    def words(self, party, key, count):
        if party in PARTIES:
            self.owner[key] = party
        if key not in self.drawn:
            at = len(self.drawn)  # the dealer draws for all holders, in their order: of the number, then of each vector
            digits = [ENTRIES // SMALL**k % SMALL for k in PLACES[at - 2]]
            self.drawn[key] = np.concatenate(digits if at > 1 else [self.masks[at : at + 1]]).astype(np.uint64)
        assert self.drawn[key].size == count
        return self.drawn[key]


def reused_view(matrix, *vectors):
    """How often each holder sees what, where a number with these shares is multiplied with two vectors."""
    seen = {p: Counter() for p in PARTIES}
    plan = SimpleNamespace(n=1, problems=ENTRIES.size, z_bits=0)
    for masks in product(range(SMALL), repeat=2):
        entropy = Reused(masks)
        with Tapped(Roster({Holder: PARTIES, Coordinator: ("dealer",)}), job=b"leak test", entropy=entropy) as run:
            run.seen = {}
            dealing = agree_with_dealer(run, ring=Ring(SMALL))
            Z = run.hold(Holder, {p: np.array([v], np.uint64) for p, v in zip(PARTIES, matrix, strict=True)})
            once = open_once(run, dealing, Z, 1)
            for shares in vectors:
                q = {p: np.full(ENTRIES.size, v, np.uint64) for p, v in zip(PARTIES, shares, strict=True)}
                apply_fixed(run, dealing, once, run.hold(Holder, q), plan)
        for p in PARTIES:
            own = [each for key, each in entropy.drawn.items() if entropy.owner[key] == p]
            coded = np.zeros(ENTRIES.size, dtype=np.uint64)
            for words in (*own, *run.seen[p]):
                for line in words.reshape(-1, ENTRIES.size) if words.size > 1 else words:
                    coded = coded * np.uint64(SMALL) + line
            seen[p].update(coded.tolist())
    return seen


def test_of_a_matrix_that_serves_two_vectors_a_holder_sees_the_same_whatever_the_other_one_has():
    cases = [((1, 0), (2, 0), (3, 0)), ((1, 3), (2, 1), (3, 2)), ((1, 2), (2, 2), (3, 2))]
    first = [reused_view(*case)["p1"] for case in cases]
    second = [reused_view(*(pair[::-1] for pair in case))["p2"] for case in cases]
    assert first[0] == first[1] == first[2]
    assert second[0] == second[1] == second[2]


def test_a_mask_that_is_on_two_vectors_is_noticed(monkeypatch):
    monkeypatch.setattr(f"{__name__}.PLACES", [(0, 1), (2,), (0, 4), (2,)])
    assert reused_view((1, 0), (2, 0), (3, 0))["p1"] != reused_view((1, 0), (2, 1), (3, 0))["p1"]


# coalitions: of three holders any two together, in rings that are small enough for what three of them draw


class Three(Digits):
    """As `Digits`, for three holders and a ring of so many elements."""

    def __init__(self, size, ring) -> None:
        RootEntropy.__init__(self, ["p1", "p2", "p3", "dealer"], b"leak test")
        self.size, self.ring, self.drawn, self.owner = size, ring, {}, {}

    def words(self, party, key, count):
        if party != "dealer":
            self.owner[key] = party
        if key not in self.drawn:
            first = sum(len(each) for each in self.drawn.values())
            entry = np.arange(self.size, dtype=np.uint64)
            digits = [entry // np.uint64(self.ring ** (first + i)) % self.ring for i in range(count // self.size)]
            self.drawn[key] = np.array(digits, dtype=np.uint64)
        return self.drawn[key].ravel()


def pair_view(gate, ring, drawn, pair, *shares):
    """What two of three holders see together, each view as often as it is seen, in order."""
    names, size = ("p1", "p2", "p3"), ring**drawn
    entropy = Three(size, ring)
    with Tapped(Roster({Holder: names, Coordinator: ("dealer",)}), job=b"leak test", entropy=entropy) as run:
        run.seen = {}
        dealing = agree_with_dealer(run, ring=Ring(ring))
        held = [
            run.hold(Holder, {p: np.full(size, v, np.uint64) for p, v in zip(names, x, strict=True)}) for x in shares
        ]
        gate(run, dealing, *held, size=size)
    own = [line for key, lines in entropy.drawn.items() if entropy.owner[key] in pair for line in lines]
    assert sum(len(each) for each in entropy.drawn.values()) == drawn
    received = [line for p in pair for words in run.seen[p] if words.size for line in words.reshape(-1, size)]
    coded = np.zeros(size, dtype=np.uint64)
    for line in (*own, *received):
        coded = coded * np.uint64(ring) + line
    return np.sort(coded)


@pytest.mark.parametrize(
    ("gate", "ring", "drawn"),
    [(multiply, 4, 8), (square_each, 8, 5), pytest.param(cut, 8, 7, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("pair", [("p1", "p2"), ("p1", "p3"), ("p2", "p3")])
def test_what_two_of_three_holders_see_together_does_not_depend_on_the_third_ones_shares(pair, gate, ring, drawn):
    hidden = next(i for i, p in enumerate(("p1", "p2", "p3")) if p not in pair)
    seen = []
    for third in (0, 1, 3):
        x = [2, 1, 3]
        x[hidden] = third
        seen.append(pair_view(gate, ring, drawn, pair, *([x, x] if gate is multiply else [x])))
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])


def test_shares_anew_tell_the_value_and_nobodys_part_of_it():
    seen = []
    for parts in ((3, 9), (12, 0), (5, 7)):
        roster = Roster({Holder: PARTIES, Coordinator: ("dealer",)})
        with Together(roster, job=b"leak test", entropy=Digits(Q)) as run:
            dealing = agree_with_dealer(run, ring=Ring(Q))
            held = run.hold(Holder, {p: np.full(Q, v, np.uint64) for p, v in zip(PARTIES, parts, strict=True)})
            left = entries_of(share_anew(run, dealing, held, size=Q))
        seen.append(Counter(zip(*(left[p].tolist() for p in PARTIES), strict=True)))
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == Q


def open_x(x, y, dealt, ring):
    return np.concatenate([x, (y - dealt.masks[1]) % np.uint64(ring.modulus)])


def open_square(x, dealt, ring):
    return (x - (dealt.masks[0] & np.uint64(7))) % np.uint64(ring.modulus)


def open_cut(x, dealt, first, ring):
    return (x + np.uint64(2) * dealt.masks[0] + np.uint64(4 * first)) % np.uint64(ring.modulus)


BROKEN = {  # a value without its mask, a mask that lacks a bit, and a mask that is even
    "product": (gates, "mask_factors", open_x),
    "square": (gates, "subtract_mask", open_square),
    "truncation": (gates, "add_mask", open_cut),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_gate_whose_mask_is_missing_or_too_small_is_noticed(name, monkeypatch):
    monkeypatch.setattr(*BROKEN[name])
    gate, drawn, cases = GATES[name]
    seen = [play(gate, drawn, *each)[0] for each in cases]
    assert any(first["p1"] != other["p1"] for first, other in pairwise(seen))


def open_first(X, Y, dealt, ring):
    return np.concatenate([X, (Y - dealt.masks[1]) % np.uint64(ring.modulus)])


def test_a_product_of_matrices_that_opens_one_without_its_mask_is_noticed(monkeypatch):
    def views():
        return [matrix_view((3, other), (1, 5), numbers=range(2))[0]["p1"] for other in (9, 0)]

    np.testing.assert_array_equal(*views())
    monkeypatch.setattr(matrices, "mask_both", open_first)
    assert not np.array_equal(*views())
