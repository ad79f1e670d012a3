"""A key-value store gives every key its value, other keys noise, and keeps its keys to itself."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.crypto.sets import key_value_store as store
from tacit.errors import LocalError, PeerError

rng = np.random.default_rng(0)


def drawn(rows: int, columns: int, kind: type = np.uint64) -> np.ndarray:
    top = np.iinfo(kind).max
    return rng.integers(0, top, (rows, columns), dtype=kind, endpoint=True)


@pytest.mark.parametrize("n", [1, 2, 7, 63, 300, pytest.param(5000, marks=pytest.mark.slow)])
def test_every_key_reads_its_value_and_no_other_does(n):
    keys, values, columns = drawn(n, 32, np.uint8), drawn(n, 2), store.count_columns(n)
    noise = drawn(columns, 2)
    made = store.fill(store.place_bands(keys, b"salt", columns), values, noise)
    np.testing.assert_array_equal(store.read(made, store.place_bands(keys, b"salt", columns)), values)
    for others in (
        store.place_bands(drawn(n, 32, np.uint8), b"salt", columns),
        store.place_bands(keys, b"another salt", columns),
    ):
        assert not (store.read(made, others) == values).any()
    assert (made == noise).all(axis=1).sum() == columns - n, "columns without a pivot are noise"


def test_many_small_stores_have_a_solution():
    for _ in range(300):
        n = int(rng.integers(1, 40))
        keys, values = drawn(n, 32, np.uint8), drawn(n, 1)
        rows = store.place_bands(keys, b"s", store.count_columns(n))
        np.testing.assert_array_equal(store.read(store.fill(rows, values, drawn(rows.columns, 1)), rows), values)


def test_uniform_values_make_a_uniform_store_exactly():
    """Two keys over three columns, one bit each: of the 2^5 values and noises, every store comes from equally many."""
    rows = store.Bands(np.array([0, 0]), np.array([[0b011], [0b110]], np.uint64), 3)
    seen = []
    for bits in range(32):
        values = np.array([[bits & 1], [bits >> 1 & 1]], np.uint64)
        noise = np.array([[bits >> i & 1] for i in (2, 3, 4)], np.uint64)
        seen.append(tuple(store.fill(rows, values, noise)[:, 0]))
    assert {seen.count(one) for one in seen} == {4}


def test_a_key_that_is_there_twice_has_no_store():
    keys = np.repeat(drawn(1, 32, np.uint8), 2, axis=0)
    rows = store.place_bands(keys, b"s", store.count_columns(2))
    with pytest.raises(LocalError, match="no key-value store holds these ids"):
        store.fill(rows, drawn(2, 2), drawn(rows.columns, 2))


def test_a_store_that_is_too_small_is_a_peer_s_fault():
    with pytest.raises(PeerError, match="at least 256 columns, in whole words of 64, this one 9"):
        store.place_bands(drawn(1, 32, np.uint8), b"s", 9)


@pytest.mark.parametrize("columns", [257, 300, 319])
def test_so_is_one_that_ends_within_a_word(columns):
    with pytest.raises(PeerError, match=f"in whole words of 64, this one {columns}"):
        store.place_bands(drawn(1, 32, np.uint8), b"s", columns)


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_values_may_have_any_number_of_words(width):
    keys, values = drawn(500, 32, np.uint8), drawn(500, width)
    rows = store.place_bands(keys, b"s", store.count_columns(500))
    made = store.fill(rows, values, drawn(rows.columns, width))
    np.testing.assert_array_equal(store.read(made, rows), values)


def test_reads_are_linear():
    """The sum of two stores reads the sum of their values, which the blind function of an alignment rests on."""
    keys, (a, b) = drawn(50, 32, np.uint8), drawn(2, store.count_columns(50) * 7).reshape(2, -1, 7)
    rows = store.place_bands(keys, b"s", len(a))
    np.testing.assert_array_equal(store.read(a ^ b, rows), store.read(a, rows) ^ store.read(b, rows))


def test_bands_at_both_ends_of_a_store_stay_within_it():
    rows = store.Bands(np.array([0, 1, 63, 64]), np.full((4, 4), 2**64 - 1, np.uint64), 320)
    table = drawn(320, 2)
    want = [np.bitwise_xor.reduce(table[start : start + 256]) for start in rows.starts]
    np.testing.assert_array_equal(store.read(table, rows), want)
