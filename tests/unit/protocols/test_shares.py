"""Gates on shares with a dealer, compared with plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import PeerError
from tacit.choreo import Coordinator, Holder, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import choose_window, plan_dual
from tacit.numeric.shares.losses import HINGE, INSENSITIVE, WEIGHTED
from tacit.protocols.blind.goals import SideShare
from tacit.protocols.blind.iterate import above_edges, add_pieces
from tacit.protocols.shares.dealing import Dealt, agree_with_dealer, draw_own
from tacit.protocols.shares.gates import (
    MANY,
    Opening,
    Triple,
    add_openings,
    join_parts,
    multiply,
    open_masked,
    share_anew,
    truncate,
)
from tacit.protocols.shares.lean_clip import clip_and_cut
from tacit.runtimes.together import Together

RNG = np.random.default_rng(0)


class Shares:
    """A run of so many holders, and values in shares between them."""

    def __init__(self, holders) -> None:
        self.names = tuple(f"p{i}" for i in range(holders))
        roster = Roster({Holder: self.names, Coordinator: ("dealer",)})
        self.run = Together(roster, job=b"shares", entropy=RootEntropy([*self.names, "dealer"], b"shares"))
        self.dealing = agree_with_dealer(self.run)

    def hold(self, x):
        words = np.asarray(x, dtype=np.int64).view(np.uint64)
        parts = [RNG.integers(0, 2**64, words.shape, dtype=np.uint64) for _ in self.names[1:]]
        parts.append(words - np.sum(parts, axis=0, dtype=np.uint64))
        return self.run.hold(Holder, dict(zip(self.names, parts, strict=True)))

    def read(self, at):
        return np.sum(list(entries_of(at).values()), axis=0, dtype=np.uint64).view(np.int64)


@pytest.fixture(params=[2, 3, 5])
def shares(request):
    return Shares(request.param)


def test_products(shares):
    x, y = RNG.integers(-(2**31), 2**31, (2, 200))
    found = multiply(shares.run, shares.dealing, shares.hold(x), shares.hold(y), size=200)
    np.testing.assert_array_equal(shares.read(found), x * y)


@pytest.mark.parametrize("s", [1, 20, 40])
def test_truncation_is_off_by_less_than_one_and_by_nothing_on_average(shares, s):
    x = np.append(RNG.integers(-(2**61), 2**61, 5000), [2**62 - 1, 1 - 2**62, 0, -1])
    found = shares.read(truncate(shares.run, shares.dealing, shares.hold(x), s, size=x.size))
    off = found - x / 2**s if s > 10 else (found - (x >> s)).astype(float) - (x % 2**s) / 2**s
    assert np.abs(off).max() < 1 + 1e-6
    assert abs(off.mean()) < 0.05


@pytest.mark.parametrize("reach", [2.5, 60.0, 500.0, 2000.0, 2.0**17])
def test_clipping_in_the_window_of_a_plan(shares, reach):
    window = choose_window(reach, HINGE)
    v = np.concatenate(
        [RNG.uniform(-1, 2, 300), RNG.uniform(-reach, reach, 300), [0, 1, -1e-9, 1e-9, 1 - 1e-9, 1 + 1e-9]]
    )
    held = shares.hold(np.rint(np.ldexp(v, window.F)).astype(np.int64))
    clipped, cut = clip_and_cut(shares.run, shares.dealing, held, window, size=v.size)
    np.testing.assert_allclose(np.ldexp(shares.read(clipped), -21), np.clip(v, 0, 1), atol=2**-15)
    np.testing.assert_allclose(np.ldexp(shares.read(cut), -21), v, atol=2**-20)


def test_a_box_whose_width_is_in_shares_is_a_difference_of_two_maxima(shares):
    plan = plan_dual(455, 1, 10.0, loss=WEIGHTED)
    v = np.concatenate([RNG.uniform(-1, 2, 300), RNG.uniform(-900, 900, 300), [0, 0.3, -1e-9, 1e-9]])
    word = np.rint(np.ldexp(np.concatenate([v, v - 0.3]), plan.window.F)).astype(np.int64)
    clipped, cut = clip_and_cut(shares.run, shares.dealing, shares.hold(word), plan.clipping, size=2 * v.size)
    above, beyond = np.split(np.ldexp(shares.read(clipped), -21), 2)
    np.testing.assert_allclose(above - beyond, np.clip(v, 0, 0.3), atol=2**-11)
    np.testing.assert_allclose(np.ldexp(shares.read(cut)[: v.size], -21), v, atol=2**-20)


def test_shares_anew_are_others_of_the_same_value(shares):
    x = shares.hold([7, -7])
    anew = share_anew(shares.run, shares.dealing, x, size=2)
    np.testing.assert_array_equal(shares.read(anew), [7, -7])
    assert not any((entries_of(anew)[p] == entries_of(x)[p]).any() for p in shares.names)


def test_a_dealer_or_a_holder_that_sends_another_number_of_words_is_stopped(shares):
    entropy = RootEntropy(["p0"], b"x")
    pads = entropy.pads("p0", {"dealer": bytes(32)}, b"tag")
    with pytest.raises(PeerError, match="the dealer sent 3 words of 4"):
        draw_own(
            Triple(4), pads, Dealt(np.zeros(3, np.uint64), np.zeros(0, np.uint64)), "p0", "p0", shares.dealing.ring
        )
    with pytest.raises(PeerError, match="p1 opened 3 words where 4 belong"):
        add_openings({"p1": Opening(np.zeros(3, np.uint64))}, np.zeros(4, np.uint64), shares.dealing.ring)


def test_the_dealer_is_sent_public_keys_and_nothing_else(shares):
    multiply(shares.run, shares.dealing, shares.hold([1]), shares.hold([2]), size=1)
    received = {row.type for row in shares.run.ledger.rows if row.receiver == "dealer" != row.sender}
    assert received == {"PublicKey"}


def test_a_soft_threshold_and_a_clip_are_a_sum_of_two_clips(shares):
    plan, k = plan_dual(455, 1, 1.0, loss=INSENSITIVE), 0.3
    t = np.concatenate([RNG.uniform(-2, 2, 300), RNG.uniform(-900, 900, 300), [0, k, -k, 1 + k, -1 - k]])
    edges = np.rint(np.ldexp(np.outer([k, -1.0 - k], np.ones(t.size)), 21)).astype(np.int64).view(np.uint64)
    lower = np.full(t.size, -(1 << 21), dtype=np.int64).view(np.uint64)
    sides = SideShare(np.zeros_like(lower), lower, edges, np.zeros(1, np.uint64))
    word = np.rint(np.ldexp(t, plan.window.F)).astype(np.int64).view(np.uint64)
    v = shares.hold(above_edges(word, sides, plan).view(np.int64))
    clipped, _ = clip_and_cut(shares.run, shares.dealing, v, plan.clipping, size=2 * t.size)
    z = add_pieces(shares.read(clipped).view(np.uint64), sides, plan).view(np.int64)
    soft = np.sign(t) * np.maximum(np.abs(t) - k, 0.0)
    np.testing.assert_allclose(np.ldexp(z.astype(np.float64), -21), np.clip(soft, -1, 1), atol=2**-14)


def test_many_words_are_opened_in_parts_of_which_every_holder_adds_up_one(shares):
    x, ring, holders = RNG.integers(-(2**62), 2**62, MANY + 1), shares.dealing.ring, len(shares.names)
    held, before = shares.hold(x), len(shares.run.ledger.rows)
    found = entries_of(open_masked(shares.run, held, ring=ring, size=x.size))
    assert all((words.view(np.int64) == x).all() for words in found.values())
    sent = [row.bytes for row in shares.run.ledger.rows[before:] if row.sender == "p0"]
    whole = (holders - 1) * 8 * x.size
    assert sum(sent) == pytest.approx(whole if holders == 2 else 2 / holders * whole, rel=0.01)
    assert {row.type for row in shares.run.ledger.rows[before:]} == {"Opening"}


def test_a_sum_of_another_size_is_refused():
    told = {"p1": Opening(np.zeros(3, np.uint64))}
    with pytest.raises(PeerError, match="p1 opened 3 words where 4 belong"):
        join_parts(told, np.zeros(4, np.uint64), ("p0", "p1"), 8, Z64)
