"""Pads from 32 bits are found by search.

Pads from 256 are not in the space that is searched, nor in any that could be.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy, stream
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.papers.sums.attacks.weak_seed import SYSTEM, numpy_pad, weak_seed
from tacit.protocols.sums.secure_sum import mask, protect
from tacit.runtimes.together import Together

FIXED = FixedPoint(32, terms=3)
BOUND = 1 << 45  # reals below 2^13
SPACE = range(1 << 14)
RECORD = np.array([61.0, 1.0, 0.0, 143.5, -2.25, 17.0])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_seed_of_the_system_is_found_and_with_it_the_record(sign):
    words, pad = FIXED.encode(RECORD, "record"), numpy_pad(12_345, RECORD.size)
    found = weak_seed(words + pad if sign > 0 else words - pad, bound=BOUND, seeds=SPACE)
    assert found.seed == 12_345
    np.testing.assert_array_equal(FIXED.decode(found.words), RECORD)
    assert found.tried == 12_346
    assert 0 < found.hours == found.seconds / found.tried * SYSTEM / 3600


def test_the_whole_space_of_the_system_takes_days_at_most_on_one_core():
    words = FIXED.encode(RECORD, "record") + numpy_pad(SYSTEM - 1, RECORD.size)
    missed = weak_seed(words, bound=BOUND, seeds=range(1 << 12))
    assert missed.seed is None
    assert missed.hours < 24 * 10
    assert weak_seed(words, bound=BOUND, seeds=range(SYSTEM - 100, SYSTEM)).seed == SYSTEM - 1


def aes_pad(seed: int, words: int):
    """Our own pads, if their keys were small numbers."""
    return np.concatenate([chunk.copy() for chunk in stream(seed.to_bytes(32, "little"), words)])


@pytest.mark.parametrize("draw", [numpy_pad, aes_pad])
def test_the_same_search_finds_nothing_under_a_pad_of_ours(draw):
    pads = RootEntropy(["p1"], b"run").pads("p1", {"p2": secrets.token_bytes(32)}, b"tag")
    masked = mask(RECORD, pads, "p1", FIXED, "record", Z64).words[:-1]
    assert weak_seed(masked, bound=BOUND, seeds=range(1 << 12), draw=draw).seed is None


def test_the_search_is_not_blind_it_finds_a_small_key_of_our_cipher_too():
    masked = FIXED.encode(RECORD, "record") + aes_pad(777, RECORD.size)
    assert weak_seed(masked, bound=BOUND, seeds=range(1 << 10), draw=aes_pad).seed == 777


def test_pair_seeds_have_256_bits_that_no_two_pairs_share():
    roster = Roster({Holder: ("a", "b", "c"), Coordinator: ("coordinator",)})
    seen = set()
    for _ in range(5):
        job = secrets.token_bytes(16)
        with Together(roster, job=job, entropy=RootEntropy(roster.parties, job)) as run:
            by = protect(run)
            seeds = {seed for held in by.seeds._entries.values() for seed in held.values()}
        assert len(seeds) == 3
        assert {len(seed) for seed in seeds} == {32}
        assert not seeds & seen
        seen |= seeds
