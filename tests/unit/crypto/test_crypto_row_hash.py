"""Many rows are hashed as Python's own library hashes each of them, and found again."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest

from tacit.crypto.sets import row_hash

rng = np.random.default_rng(0)


def drawn(rows: int, width: int) -> np.ndarray:
    return rng.integers(0, 256, (rows, width), dtype=np.uint8)


@pytest.mark.parametrize("size", [1, 16, 31, 40, 64])
@pytest.mark.parametrize("width", [8, 32, 88, 128])
@pytest.mark.parametrize("key", [b"", b"k" * 32, b"a key of the largest size".ljust(64, b".")])
def test_machine_code_and_library_give_the_same_bytes(size, width, key):
    rows = drawn(row_hash.MANY + 3, width)
    found = row_hash.hashes(rows, size, use=b"a use", key=key)
    for i in (0, 1, 7, 8, 100, len(rows) - 1):
        assert found[i].tobytes() == blake2b(rows[i].tobytes(), digest_size=size, key=key, person=b"a use").digest()


@pytest.mark.parametrize("width", [9, 130, 136])
def test_rows_that_are_no_block_of_whole_words_are_hashed_too(width):
    rows = drawn(row_hash.MANY, width)

    assert row_hash.hashes(rows, 16, use=b"u")[-1].tobytes() == blake2b(rows[-1], digest_size=16, person=b"u").digest()


def test_rows_are_found_where_they_stand():
    rows = drawn(300, 16)
    wanted = np.vstack([rows[[7, 299, 0]], drawn(2, 16)])
    assert row_hash.find_rows(rows, wanted).tolist() == [7, 299, 0, -1, -1]
    assert row_hash.find_rows(rows[:0], wanted).tolist() == [-1] * 5


def test_rows_that_begin_alike_are_told_apart():
    rows = np.repeat(drawn(1, 16), 5, axis=0)
    rows[:, 12] = [3, 1, 4, 0, 5]
    assert row_hash.find_rows(rows, rows[[2, 0]]).tolist() == [2, 0]
    assert row_hash.order_of(rows).tolist() == [3, 1, 0, 2, 4]
    assert not row_hash.has_repeats(rows)
    assert row_hash.has_repeats(rows[[0, 1, 0]])
