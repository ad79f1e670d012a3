"""The lean gates beside plain arithmetic: clips and comparisons of values at, beside and far from whole numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.shares.lean import Lean, design
from tacit.protocols.shares.dealing import agree_with_dealer
from tacit.protocols.shares.lean_clip import clip_and_cut, lean_clip, reaches_one
from tacit.runtimes.together import Together

RNG = np.random.default_rng(5)
WIDE = Lean(24, 20, 11)


class Shares:
    """A run of so many holders, and values in shares of a window's ring between them."""

    def __init__(self, holders, window) -> None:
        self.names, self.window = tuple(f"p{i}" for i in range(holders)), window
        roster = Roster({Holder: self.names, Coordinator: ("dealer",)})
        self.run = Together(roster, job=b"lean", entropy=RootEntropy([*self.names, "dealer"], b"lean"))
        self.dealing = agree_with_dealer(self.run)

    def split(self, x):
        """Words of every holder, and of the dealer, that add up to x."""
        words = np.asarray(x, dtype=np.int64).view(np.uint64)
        parts = [RNG.integers(0, 2**64, words.shape, dtype=np.uint64) for _ in range(len(self.names) - 1)]
        return [*parts, words - np.sum(parts, axis=0, dtype=np.uint64)]

    def hold(self, x):
        return self.run.hold(Holder, dict(zip(self.names, self.split(x), strict=True)))

    def read(self, at):
        unused = np.uint64(64 - self.window.k)
        total = np.sum(list(entries_of(at).values()), axis=0, dtype=np.uint64)
        return (total << unused).view(np.int64) >> np.int64(unused)

    def use(self, gate, x, **given):
        found = gate(self.run, self.dealing, self.hold(x), self.window, size=len(x), **given)
        return [self.read(each) for each in found] if isinstance(found, tuple) else self.read(found)


@pytest.fixture(params=[2, 3, 5])
def holders(request):
    return request.param


def values(window, count, room=1):
    """Whole numbers of units 2^-F: at, beside and far from whole numbers, and within 0 and 1."""
    one, most = 1 << window.F, (1 << (window.k - room)) - (1 << window.F) - 1
    beside = np.add.outer([0, one], [-1, 0, 1]).ravel()
    near = RNG.integers(-3, 4, count) * one + RNG.integers(-4, 5, count)
    whole = RNG.integers(-(most // one), most // one + 1, count) * one + RNG.integers(-1, 2, count)
    parts = [near, whole, RNG.integers(-one, 2 * one, count), RNG.integers(-most, most + 1, count), beside]
    return np.concatenate([*(np.clip(each, -most, most) for each in parts), [0, most, -most]])


WINDOWS = [
    WIDE,
    Lean(27, 20, 11),
    Lean(20, 20, 9, looked=3),
    Lean(24, 12, 11),
    Lean(24, 20, 11, digit=5),
    Lean(24, 7, 11, digit=6, looked=2),
    Lean(30, 33, 12),
    Lean(6, 3, 6, digit=1, looked=6),
    Lean(60, 4, 28, looked=7),
    Lean(50, 14, 21, digit=6, joined=True),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_clip_is_off_by_less_than_a_unit_and_by_nothing_on_average(holders, window):
    shares, x = Shares(holders, window), values(window, 2500)
    unit = 2.0**window.s
    off = shares.use(lean_clip, x) - np.clip(x, 0, 1 << window.F) / unit
    assert np.abs(off).max() < 1
    assert abs(off.mean()) < 5 / np.sqrt(x.size)


def test_of_many_values_the_mean_of_the_error_is_below_a_thousandth_of_a_unit():
    shares, most = Shares(2, WIDE), 2.0**18.9
    x = np.concatenate([values(WIDE, 50000), np.rint(RNG.uniform(-most, most, 5600) * 2**24).astype(np.int64)])
    off = shares.use(lean_clip, x) - np.clip(x, 0, 1 << 24) / 2**13
    assert np.abs(off).max() < 1
    assert abs(off.mean()) < 1e-3


@pytest.mark.parametrize("window", [*WINDOWS, Lean(0, 10, 0), Lean(0, 2, 0, digit=1)], ids=str)
def test_a_comparison_is_exact(holders, window):
    x = values(window, 500)
    np.testing.assert_array_equal(Shares(holders, window).use(reaches_one, x) & 1, x >= 1 << window.F)


@pytest.mark.parametrize("gate", [lean_clip, reaches_one])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 65])
def test_any_number_of_values_goes_through_a_gate(gate, size):
    x = values(WIDE, 20)[:size]
    found = Shares(2, WIDE).use(gate, x)
    np.testing.assert_allclose(found, np.clip(x / 2**13, 0, 2**11) if gate is lean_clip else x >= 2**24, atol=1)


@pytest.mark.parametrize("gate", [lean_clip, reaches_one])
def test_words_that_only_the_dealer_knows_are_part_of_the_value(holders, gate):
    shares, x = Shares(holders, WIDE), values(WIDE, 300)
    hidden = RNG.integers(-(2**63), 2**63, x.size)
    absorbed = shares.run.hold(Coordinator, {"dealer": hidden.view(np.uint64)})
    found = shares.use(gate, x - hidden, absorbed=absorbed)
    np.testing.assert_allclose(found, np.clip(x / 2**13, 0, 2**11) if gate is lean_clip else x >= 2**24, atol=1)


@pytest.mark.parametrize(
    "window",
    [Lean(52, 12, 21, looked=6), Lean(50, 14, 21, digit=6, joined=True), Lean(60, 4, 28, looked=7), WIDE],
    ids=str,
)
def test_the_value_itself_is_rounded_from_the_same_opening(holders, window):
    x = values(window, 2500, room=2)
    clipped, cut = Shares(holders, window).use(clip_and_cut, x)
    assert np.abs(clipped - np.clip(x, 0, 1 << window.F) / 2.0**window.s).max() < 1
    off = (cut - (x >> window.s)).astype(float) - (x % (1 << window.s)) / 2.0**window.s
    assert np.abs(off).max() < 1
    assert abs(off.mean()) < 5 / np.sqrt(x.size)


def test_a_value_is_dealt_44_bytes_and_opens_ten():
    size, shares = 6400, Shares(2, WIDE)
    start = len(shares.run.ledger)
    shares.use(lean_clip, np.zeros(size, np.int64))
    rows = [row for row in shares.run.ledger.rows[start:] if row.sender != row.receiver]
    dealt = sum(row.bytes for row in rows if (row.sender, row.receiver) == ("dealer", "p1"))
    opened = sum(row.bytes for row in rows if (row.sender, row.receiver) == ("p0", "p1"))
    assert 43.7 < dealt / size < 43.8
    assert 9.3 <= opened / size < 9.5, "six bytes of c and 27 bits"


def test_bits_of_the_openings_are_those_of_the_plan():
    circuit = design(WIDE, clips=True)
    assert circuit.masks == (18, 7, 2)
    assert circuit.planes == (128, 21, 9)
    joined = design(replace(WIDE, joined=True), clips=True)
    assert joined.masks == (20, 2)
    assert joined.planes == (128, 710)


@pytest.mark.parametrize("given", [(1, 1, 2), (60, 5, 11), (4, 1, 0), (4, 4, 2, 7)])
def test_a_window_that_cannot_be_is_refused(given):
    with pytest.raises(ValueError, match="no window"):
        Lean(*given)
