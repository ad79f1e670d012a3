"""Words of small rings in as few bytes as they need."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numeric.ring.words import narrow, widen

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("k", [1, 4, 8, 9, 16, 24, 40, 44, 47, 48, 56, 57, 63, 64])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_words_come_back_from_as_few_bytes_as_they_need(k, size):
    words = (
        RNG.integers(0, 2**k, size, dtype=np.uint64) if k < 64 else RNG.integers(0, 2**64 - 1, size, dtype=np.uint64)
    )
    content = narrow(words, k)
    assert content.nbytes == size * -(-k // 8)
    np.testing.assert_array_equal(widen(content, k), words)


def test_words_of_eight_bytes_are_not_copied():
    words = np.arange(5, dtype=np.uint64)
    assert narrow(words, 64) is words
    assert np.shares_memory(widen(words, 60), words)


@pytest.mark.parametrize(
    ("content", "k"),
    [
        (np.zeros(7, np.uint8), 48),
        (np.zeros(6, np.uint64), 48),
        (np.zeros((2, 6), np.uint8), 48),
        (np.zeros(8, np.uint8), 64),
        (np.zeros((2, 2), np.uint64), 64),
    ],
)
def test_other_content_is_refused(content, k):
    with pytest.raises(ValueError, match="belong here"):
        widen(content, k)
