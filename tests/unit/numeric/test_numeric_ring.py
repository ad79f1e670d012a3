"""The ring's laws, in Z_2^64 and in rings small enough to enumerate."""

import itertools

import numpy as np
import pytest

from tacit.numeric.ring.words import Z64, Ring

MODULI = [2, 3, 5, 256, (1 << 31) - 1, 1 << 63, 1 << 64]


def drawn(modulus, size, seed=0):
    rng = np.random.default_rng([seed, modulus % (1 << 32)])
    return rng.integers(0, modulus - 1, size=size, dtype=np.uint64, endpoint=True)


def chunks(vector, length):
    return (vector[i : i + length] for i in range(0, vector.size, length))


@pytest.mark.parametrize("modulus", MODULI)
def test_what_is_added_and_subtracted_again_leaves_the_value(modulus):
    ring, x, pad = Ring(modulus), drawn(modulus, 1000), drawn(modulus, 1000, seed=1)
    hidden = ring.add(x.copy(), [pad])
    assert not np.array_equal(hidden, x)
    assert np.array_equal(ring.add(hidden, [pad], sign=-1), x)


@pytest.mark.parametrize("modulus", MODULI)
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_and_differences_are_those_of_whole_numbers(modulus, sign):
    a, b = drawn(modulus, 300), drawn(modulus, 300, seed=1)
    expected = [(int(x) + sign * int(y)) % modulus for x, y in zip(a, b, strict=True)]
    assert [int(v) for v in Ring(modulus).add(a.copy(), [b], sign=sign)] == expected


@pytest.mark.parametrize("modulus", [2, 3, 5])
def test_a_small_ring_is_right_for_every_pair_of_elements(modulus):
    ring = Ring(modulus)
    for x, y in itertools.product(range(modulus), repeat=2):
        for sign in (1, -1):
            got = ring.add(np.array([x], dtype=np.uint64), [np.array([y], dtype=np.uint64)], sign=sign)
            assert got.tolist() == [(x + sign * y) % modulus]


@pytest.mark.parametrize("modulus", [3, 1 << 64])
@pytest.mark.parametrize("length", [1, 7, 99, 100, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_it_does_not_matter_how_a_pad_is_cut_into_chunks(modulus, length, sign):
    ring, x, pad = Ring(modulus), drawn(modulus, 100), drawn(modulus, 100, seed=1)
    assert np.array_equal(ring.add(x.copy(), chunks(pad, length), sign=sign), ring.add(x.copy(), [pad], sign=sign))


def test_adding_is_done_in_place_and_returns_the_same_array():
    x = np.array([1, 2], dtype=np.uint64)
    assert Z64.add(x, [np.array([3, 4], dtype=np.uint64)]) is x
    assert x.tolist() == [4, 6]


def test_a_chunk_is_left_as_it_was():
    pad = drawn(3, 10)
    before = pad.copy()
    Ring(3).add(drawn(3, 10, seed=1), [pad], sign=-1)
    assert np.array_equal(pad, before)


@pytest.mark.parametrize("covered", [0, 3, 6])
def test_chunks_that_do_not_cover_the_vector_are_refused(covered):
    with pytest.raises(ValueError, match=f"chunks cover {covered} of 5 words"):
        Z64.add(np.zeros(5, dtype=np.uint64), chunks(np.ones(covered, dtype=np.uint64), 1))


def test_an_empty_vector_takes_no_chunks():
    assert Z64.add(np.empty(0, dtype=np.uint64), []).size == 0


@pytest.mark.parametrize("modulus", MODULI)
def test_a_total_is_the_sum_of_whole_numbers_in_any_order(modulus):
    parts = [drawn(modulus, 50, seed) for seed in range(6)]
    expected = [sum(map(int, column)) % modulus for column in zip(*parts, strict=True)]
    assert [int(v) for v in Ring(modulus).total(parts)] == expected
    assert [int(v) for v in Ring(modulus).total(iter(parts[::-1]))] == expected


def test_a_total_is_a_new_vector():
    first = np.array([1], dtype=np.uint64)
    assert Z64.total([first, first]).tolist() == [2]
    assert first.tolist() == [1]


def test_words_of_the_default_ring_wrap_at_2_to_the_64():
    top = np.array([(1 << 64) - 1], dtype=np.uint64)
    assert Z64.add(top.copy(), [np.array([1], dtype=np.uint64)]).tolist() == [0]
    assert Z64.add(np.array([0], dtype=np.uint64), [np.array([1], dtype=np.uint64)], sign=-1).tolist() == top.tolist()


@pytest.mark.parametrize("modulus", [0, -1, 1, (1 << 63) + 29, (1 << 64) + 1])
def test_a_modulus_it_cannot_compute_with_is_refused(modulus):
    with pytest.raises(ValueError, match="modulus"):
        Ring(modulus)


@pytest.mark.parametrize("modulus", [2, 3, 4, 1 << 48, 1 << 63, 1 << 64])
def test_centred_residues_are_the_integers_of_least_size(modulus):
    whole = np.array([0, 1, -1, modulus // 2 - 1, -((modulus - 1) // 2)], dtype=object)
    whole = whole[2 * np.abs(whole) < modulus]
    words = (whole % modulus).astype(np.uint64)
    np.testing.assert_array_equal(Ring(modulus).centred(words), whole.astype(np.int64))
