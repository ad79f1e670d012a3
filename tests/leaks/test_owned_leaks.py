"""What one holder sees of products with the other one's rows, or with rows in shares, and of values cut, exactly.

For other data of the honest holder there are other pads of it, one for each, that leave all that the other holder sees
as it was, to the byte: they are moved by the difference of the data. So its view has the same distribution whatever the
data are. The dealer is sent nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Ring
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import DEALER, Dealt, agree_with_dealer
from tacit.protocols.shares.factors import draw_words
from tacit.protocols.shares.held_rows import multiply_itself, open_held
from tacit.protocols.shares.owned import Shape, forward, open_rows, prepare, transpose_times
from tacit.runtimes.together import Together

PARTIES = ("p0", "p1")  # p1 is the last one, which is dealt words
RNG = np.random.default_rng(17)
SHAPE, M, PRODUCTS = Shape((5, 4), 3, 64), 2, 2
LINES = M * PRODUCTS
PARTS = (Part(4, 64, 20), Part(3, 47, 5))


class Moved(RootEntropy):
    """Pads of the honest holder, at both ends, moved by some words. Tags are numbered as they are first used."""

    def __init__(self, honest, by) -> None:
        parties = (*PARTIES, "dealer")
        super().__init__(parties, b"leak test", {p: p.encode().ljust(32, b".") for p in parties})
        self.honest, self.by, self.tags = honest, by, []

    def pads(self, party, seeds, tag):
        if tag not in self.tags:
            self.tags.append(tag)
        return MovedPads(super().pads(party, seeds, tag), party, self)


class MovedPads:
    def __init__(self, pads, party, source) -> None:
        self.inner, self.party, self.source, self.seeds = pads, party, source, pads.seeds

    def put_on(self, name, words):
        return self.move(name, words)

    def take_off(self, name, words):
        return self.move(name, words)

    def move(self, name, words):
        chunks = [np.empty(0, np.uint64), *(chunk.copy() for chunk in self.inner.take_off(name, words))]
        drawn = np.concatenate(chunks)
        if words and self.source.honest in (self.party, name):
            drawn += self.source.by.get(self.source.tags.index(self.inner.tag), np.uint64(0))
        return iter([drawn])


class Tapped(Together):
    """Keeps what reaches one holder."""

    def _exchange(self, place, outbox, wanted, missing):
        self.seen += [(place, s, frames.join()) for (s, r), frames in outbox.items() if r == self.spy != s]
        assert all("PublicKey" in place for s, r in outbox if r == "dealer" != s)
        return super()._exchange(place, outbox, wanted, missing)


def play(gate, honest, data, by):
    """What the other holder sees, where the honest one brings these data and has its pads moved."""
    with Tapped(
        Roster({Holder: PARTIES, Coordinator: ("dealer",)}), job=b"leak test", entropy=Moved(honest, by)
    ) as run:
        run.seen, run.spy = [], PARTIES[honest == "p0"]
        gate(
            run,
            agree_with_dealer(run, ring=Ring(1 << 64)),
            lambda i: run.hold(Holder, {p: data[p][i] for p in PARTIES}),
        )
    return run.seen


def multiply(run, dealing, hold):
    """Open rows, and multiply them with both vectors of each product."""
    multiply_both(run, dealing, open_rows(run, dealing, hold(0), SHAPE), hold)


def multiply_held(run, dealing, hold):
    """Open rows that are in shares, multiply them with themselves, and with both vectors of each product."""
    matrix = open_held(run, dealing, hold(0), n=SHAPE.n, columns=SHAPE.columns)
    multiply_itself(run, dealing, matrix)
    multiply_both(run, dealing, matrix, hold)


def multiply_both(run, dealing, matrix, hold):
    batch = prepare(run, dealing, matrix, products=PRODUCTS, m=M)
    for j in range(PRODUCTS):
        forward(run, batch, j, hold(1 + 2 * j), run.local(Holder, np.zeros, 0, np.uint64))
        transpose_times(run, dealing, batch, j, hold(2 + 2 * j))


def bring_rows(party):
    """Rows of one holder, and its shares of what they are multiplied with."""
    Z = RNG.integers(-(2**13), 2**13, (SHAPE.rows[PARTIES.index(party)], 3)).astype(np.int16)
    shares = [
        RNG.integers(0, 2**64, 3 * M if j % 2 == 0 else SHAPE.n * M, dtype=np.uint64) for j in range(2 * PRODUCTS)
    ]
    return [Z, *shares]


def bring_shares(party):
    """Shares of rows, and of what they are multiplied with."""
    return [RNG.integers(0, 2**64, SHAPE.n * 3, dtype=np.uint64), *bring_rows(party)[1:]]


def move_for_rows(old, new):
    """By how much pads move: A, then b and c of all products, a line for each column."""
    Z, *shares = [
        a.astype(np.int64).view(np.uint64) - b.astype(np.int64).view(np.uint64) for a, b in zip(new, old, strict=True)
    ]
    b = np.concatenate([each.reshape(-1, M).T.ravel() for each in shares[::2]])
    return {0: Z.ravel(), 1: np.concatenate([b, *shares[1::2]])}, (2,)


def move_for_shares(old, new):
    """By how much pads move: A, then b and c; the square of A is made in between."""
    by, _ = move_for_rows(old, new)
    return {0: by[0], 2: by[1]}, (1, 3)


def cut(run, dealing, hold):
    cut_each(run, dealing, hold(0), PARTS)


def bring_values(party):
    del party
    return [RNG.integers(0, 2**64, sum(part.size for part in PARTS), dtype=np.uint64)]


def move_for_values(old, new):
    """By how much pads move: the mask, with what is made after it."""
    return {0: old[0] - new[0]}, (0,)


def dealt_to(seen):
    """The words of each message of the dealer."""
    return [decode_as(Dealt, content).words for place, _, content in seen if "/Dealt" in place]


@pytest.mark.parametrize("honest", PARTIES)
@pytest.mark.parametrize(
    ("gate", "bring", "move"),
    [
        (multiply, bring_rows, move_for_rows),
        (multiply_held, bring_shares, move_for_shares),
        (cut, bring_values, move_for_values),
    ],
)
def test_other_data_look_the_same_under_other_pads(gate, bring, move, honest):
    data = {p: bring(p) for p in PARTIES}
    other = data | {honest: bring(honest)}
    before = play(gate, honest, data, {})
    by, made = move(data[honest], other[honest])
    if honest == "p0":  # what is made of other pads is other words: those that the honest holder draws take it up
        for tag, words in zip(made, dealt_to(before), strict=True):
            by[tag] = np.concatenate([by.get(tag, np.empty(0, np.uint64)), np.zeros_like(words)])
        found = dealt_to(play(gate, honest, other, by))
        for tag, new, old in zip(made, found, dealt_to(before), strict=True):
            by[tag][by[tag].size - old.size :] += new - old
    assert play(gate, honest, other, {}) != before
    assert play(gate, honest, other, by) == before


def test_no_two_words_of_a_mask_are_alike_however_many_there_are():
    """Words of a pad come in chunks that overwrite each other: kept as they are, all would be those of the last."""
    pads = RootEntropy(("p0",), b"leak test").pads("p0", {DEALER: b"k" * 32}, b"tag")
    assert np.unique(draw_words(pads, DEALER, 50_000, Ring(1 << 64))).size == 50_000


def test_a_mask_of_rows_in_shares_is_not_repeated_from_row_to_row():
    """Equal rows look different under the mask: no difference of two opened rows is that of the rows."""
    n, columns = 3000, 8
    roster, parties = Roster({Holder: PARTIES, Coordinator: ("dealer",)}), (*PARTIES, "dealer")
    with Together(roster, job=b"leak test", entropy=RootEntropy(parties, b"leak test")) as run:
        dealing = agree_with_dealer(run)
        zero = run.hold(Holder, dict.fromkeys(PARTIES, np.zeros(n * columns, np.uint64)))
        matrix = open_held(run, dealing, zero, n=n, columns=columns)
        held = entries_of(matrix.held)["p0"]
    assert np.unique(held.D).size == n * columns
