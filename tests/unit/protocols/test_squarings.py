"""Squares of matrices in shares, opened one after the other, compared with squares in doubles."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.triangle import pack, unpack
from tacit.protocols.shares.dealing import agree_with_dealer
from tacit.protocols.shares.squarings import SPARE, open_all, open_quotient, open_square
from tacit.runtimes.together import Together

N, BITS, LEVELS = 7, 30, 5
NAMES = ("p1", "p2", "p3")


def contraction():
    """A symmetric matrix with eigenvalues from 0 to 1, both ends included."""
    U = np.linalg.qr(np.random.default_rng(1).normal(size=(N, N)))[0]
    return (U * np.r_[0.0, 1.0, np.linspace(0.2, 0.999, N - 2)]) @ U.T


def split(words, count, *, wide):
    """Return shares; those that are not wide differ little from each other, as sums of clear rows do."""
    rng = np.random.default_rng(2)
    shares = rng.integers(0, 2**64 if wide else 2**20, (count - 1, words.size), dtype=np.uint64)
    return [*shares, words - shares.sum(axis=0, dtype=np.uint64)]


def start(names):
    roster = Roster({Holder: names, Coordinator: ("dealer",)})
    return Together(roster, job=b"squarings", entropy=RootEntropy(roster.parties, b"squarings"))


def value_of(opened):
    """Return the matrix that was opened: D is the same at all holders, and A adds up to the dealer's."""
    D, own, A = (entries_of(each) for each in (opened.D, opened.own, opened.A))
    first, *others = D.values()
    assert all(np.array_equal(first, each) for each in others)
    assert np.array_equal(sum(own.values()), next(iter(A.values()))[0])
    return np.ldexp(unpack([first + sum(own.values())], N).view(np.int64).astype(float), -BITS)


@pytest.mark.parametrize("names", [NAMES[:2], NAMES, tuple(f"p{i}" for i in range(9))])
@pytest.mark.parametrize("wide", [True, False])
def test_squares_follow_each_other_exactly(names, wide):
    P = contraction()
    words = pack(np.rint(np.ldexp(P, BITS)).astype(np.int64), 0).view(np.uint64)
    with start(names) as run:
        dealing = agree_with_dealer(run)
        held = run.hold(Holder, dict(zip(names, split(words, len(names), wide=wide), strict=True)))
        (opened,) = open_all(run, dealing, held, n=N)
        np.testing.assert_array_equal(value_of(opened), np.rint(np.ldexp(P, BITS)) * 2.0**-BITS)
        for _ in range(LEVELS):
            before = value_of(opened)
            opened = open_square(run, dealing, opened, BITS + 1, n=N)
            off = np.ldexp(value_of(opened) - before @ before, BITS)
            assert np.abs(off).max() < 1 + len(names) * 2.0**-SPARE


def test_what_is_cut_has_no_bias():
    names, size = NAMES, N * (N + 1) // 2
    off = []
    with start(names) as run:
        dealing = agree_with_dealer(run)
        for i in range(60):
            y = np.random.default_rng(i).integers(-(2**61), 2**61, size).view(np.uint64)
            held = run.hold(Holder, dict(zip(names, split(y, 3, wide=True), strict=True)))
            exact = unpack([y.view(np.int64).astype(float)], N) * 2.0 ** -(BITS + 1)
            off.append(np.ldexp(value_of(open_quotient(run, dealing, held, BITS + 1, n=N)), BITS) - exact)
    assert abs(np.mean(off)) < 5 * np.std(off) / np.sqrt(np.size(off))
    assert np.std(off) < 0.6


def test_a_level_sends_nine_bytes_an_entry_to_each_other_holder():
    names, size = NAMES, N * (N + 1) // 2
    with start(names) as run:
        dealing = agree_with_dealer(run)
        zero = run.hold(Holder, dict.fromkeys(names, np.zeros(size, dtype=np.uint64)))
        (opened,) = open_all(run, dealing, zero, n=N)
        sent = [row.bytes for row in run.ledger if row.sender == "p1"]
        open_square(run, dealing, opened, BITS + 1, n=N)
        rows = [row for row in run.ledger if row.sender == "p1"][len(sent) :]
    openings = [row for row in rows if row.receiver in names]
    assert len({row.place for row in openings}) == 2
    assert 9 * size <= sum(row.bytes for row in openings) / 2 < 9 * size + 300
