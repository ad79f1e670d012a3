"""What a holder sees of gates on shares, exactly: the real choreographies in Z_16, with all that the holders draw.

Gates work entry by entry, so one run holds every combination of what is drawn. A holder sees its own draws, what it is
dealt and what the other one opens; that must have the same distribution whatever the other holder's shares are. The
dealer is sent nothing, so that its view is its own draws.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.clipping import Window
from tacit.protocols.blind.cells import square_each
from tacit.protocols.shares import gates
from tacit.protocols.shares.clip import clip
from tacit.protocols.shares.dealing import Dealt, agree_with_dealer
from tacit.protocols.shares.gates import OpenedBits, Opening, multiply, share_anew, truncate
from tacit.protocols.shares.matrices import Crossed, multiply_matrices
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
    "truncation": (cut, 4, [((1, 2),), ((1, 0),), ((1, 14),)]),
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


def matrix_view(x, y):
    """How often the first holder sees which draws of its own and which openings; and the product."""
    seen, left = np.zeros((Q,) * 4, np.int64), set()
    for own in range(Q):
        for other in range(Q):
            entropy = Columns((own, other))
            with Tapped(Roster({Holder: PARTIES, Coordinator: ("dealer",)}), job=b"leak test", entropy=entropy) as run:
                run.seen = {}
                dealing = agree_with_dealer(run, ring=Ring(Q))
                X = run.hold(Holder, {p: np.full(Q**3, v, np.uint64) for p, v in zip(PARTIES, x, strict=True)})
                Y = run.hold(Holder, {p: np.array([v], np.uint64) for p, v in zip(PARTIES, y, strict=True)})
                found = entries_of(multiply_matrices(run, dealing, X, Y, Crossed(Q**3, 1, 1)))
            left |= set((sum(found.values()) % np.uint64(Q)).tolist())
            opened = run.seen["p1"][-1]
            np.add.at(seen, (COLUMN % Q, own, opened[:-1], opened[-1]), 1)
    return seen, left


@pytest.mark.slow
def test_of_a_product_of_matrices_a_holder_sees_uniform_words_whatever_the_other_one_has():
    for x, y in (((3, 9), (1, 5)), ((3, 0), (1, 15))):
        seen, left = matrix_view(x, y)
        assert left == {sum(x) * sum(y) % Q}
        assert set(seen.ravel().tolist()) == {Q**5 // Q**4}


# clipping

WINDOW = Window(4, 3, 0)
MASKS = 64  # values of six masked bits
DRAWN = np.arange(Q * Q * MASKS, dtype=np.uint64)  # r of either holder, and the second one's masks of the bits


class Arranged(Digits):
    """Every r of both holders and every mask of the second; what else the first one draws is independent, and zero."""

    def words(self, party, key, count):
        if party in PARTIES:
            self.owner[key] = party
        if key not in self.drawn:
            first = not self.drawn  # the dealer draws for all holders, in their order
            own = [DRAWN % Q] if first else [DRAWN // Q % Q, DRAWN // (Q * Q)]
            self.drawn[key] = np.concatenate([*own, np.zeros(count - sum(map(len, own)), np.uint64)])
        return self.drawn[key]


def clip_view(v1, v2):
    """How often the first holder sees which r of its own, c and masked bits; and what is clipped."""
    with Tapped(
        Roster({Holder: PARTIES, Coordinator: ("dealer",)}), job=b"leak test", entropy=Arranged(DRAWN.size)
    ) as run:
        run.seen = {}
        dealing = agree_with_dealer(run, ring=Ring(Q))
        held = run.hold(Holder, {p: np.full(DRAWN.size, v, np.uint64) for p, v in zip(PARTIES, (v1, v2), strict=True)})
        clipped, _ = clip(run, dealing, held, WINDOW, size=DRAWN.size)
        found = sum(entries_of(clipped).values()) % np.uint64(Q)
    _, c, bits = run.seen["p1"]  # the first message deals nothing
    return Counter(zip((DRAWN % Q).tolist(), c.tolist(), bits.tolist(), strict=True)), set(found.tolist())


def test_of_clipping_a_holder_sees_uniform_words_and_bits_whatever_the_other_one_has():
    views = [clip_view(3, other) for other in (0, 13, 14, 15)]  # 3, 0, 1 and 2 together
    assert [left for _, left in views] == [{1}, {0}, {1}, {1}]
    for seen, _ in views:
        assert set(seen.values()) == {1}
        assert len(seen) == DRAWN.size


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


def test_a_gate_that_opens_a_value_without_its_mask_is_noticed(monkeypatch):
    monkeypatch.setattr(gates, "mask_factors", open_x)
    seen = [play(multiply, 5, *each)[0] for each in GATES["product"][2][:2]]
    assert seen[0]["p1"] != seen[1]["p1"]
