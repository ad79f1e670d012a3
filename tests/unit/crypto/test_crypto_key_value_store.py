"""A key-value store gives every key its value, other keys noise, and keeps its keys to itself."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.crypto import key_value_store as store
from tacit.errors import LocalError, PeerError

rng = np.random.default_rng(0)


def drawn(rows: int, columns: int, kind: type = np.uint64) -> np.ndarray:
    top = np.iinfo(kind).max
    return rng.integers(0, top, (rows, columns), dtype=kind, endpoint=True)


@pytest.mark.parametrize("n", [1, 2, 7, 63, 300, 5000])
def test_every_key_reads_its_value_and_no_other_does(n):
    keys, values, columns = drawn(n, 32, np.uint8), drawn(n, 2), store.width(n)
    noise = drawn(columns, 2)
    made = store.filled(store.bands(keys, b"salt", columns), values, noise)
    np.testing.assert_array_equal(store.read(made, store.bands(keys, b"salt", columns)), values)
    for others in (store.bands(drawn(n, 32, np.uint8), b"salt", columns), store.bands(keys, b"another salt", columns)):
        assert not (store.read(made, others) == values).any()
    assert (made == noise).all(axis=1).sum() == columns - n, "columns without a pivot are noise"


def test_many_small_stores_have_a_solution():
    for _ in range(300):
        n = int(rng.integers(1, 40))
        keys, values = drawn(n, 32, np.uint8), drawn(n, 1)
        rows = store.bands(keys, b"s", store.width(n))
        np.testing.assert_array_equal(store.read(store.filled(rows, values, drawn(rows.columns, 1)), rows), values)


def test_uniform_values_make_a_uniform_store_exactly():
    """Two keys over three columns, one bit each: of the 2^5 values and noises, every store comes from equally many."""
    rows = store.Bands(np.array([0, 0]), np.array([[0b011], [0b110]], np.uint64), 3)
    seen = []
    for bits in range(32):
        values = np.array([[bits & 1], [bits >> 1 & 1]], np.uint64)
        noise = np.array([[bits >> i & 1] for i in (2, 3, 4)], np.uint64)
        seen.append(tuple(store.filled(rows, values, noise)[:, 0]))
    assert {seen.count(one) for one in seen} == {4}


def test_a_key_that_is_there_twice_has_no_store():
    keys = np.repeat(drawn(1, 32, np.uint8), 2, axis=0)
    rows = store.bands(keys, b"s", store.width(2))
    with pytest.raises(LocalError, match="no key-value store holds these ids"):
        store.filled(rows, drawn(2, 2), drawn(rows.columns, 2))


def test_a_store_that_is_too_small_is_a_peer_s_fault():
    with pytest.raises(PeerError, match="at least 256 columns, this one 9"):
        store.bands(drawn(1, 32, np.uint8), b"s", 9)
