"""Triangles: a symmetric matrix survives packing, whole or in bands."""

import numpy as np
import pytest

from tacit.numeric.ring.triangle import pack, unpack
from tacit.papers.columns import bands

SIZES = [*range(1, 13), 40, 511, 512, 513, 1025]


def symmetric(n, dtype):
    rng = np.random.default_rng(n)
    if dtype == np.uint64:
        a = rng.integers(0, (1 << 64) - 1, size=(n, n), dtype=np.uint64, endpoint=True)
    else:
        a = rng.normal(size=(n, n)).astype(dtype)
    return np.tril(a) + np.tril(a, -1).T


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
def test_a_matrix_comes_back_from_its_triangle_to_the_bit(n, dtype):
    full = symmetric(n, dtype)
    packed = pack(full, 0)
    assert packed.shape == (n * (n + 1) // 2,)
    back = unpack([packed], n)
    assert back.dtype == full.dtype
    assert np.array_equal(back, full)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 40, 513])
@pytest.mark.parametrize("entries", [1, 2, 3, 5, 10, 100, 10**6])
@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
def test_a_matrix_comes_back_from_its_bands(n, entries, dtype):
    full = symmetric(n, dtype)
    packed = [pack(full[start:stop, :stop], start) for start, stop in bands(n, entries)]
    assert np.array_equal(unpack(packed, n), full)
    assert np.array_equal(np.concatenate(packed), pack(full, 0))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 40, 200])
@pytest.mark.parametrize("entries", [0, 1, 2, 3, 10, 100, 10**6])
def test_bands_cover_the_rows_in_order_within_the_limit_and_no_smaller_than_they_must_be(n, entries):
    cuts = bands(n, entries)
    assert [row for start, stop in cuts for row in range(start, stop)] == list(range(n))
    for start, stop in cuts:
        size = sum(range(start + 1, stop + 1))
        assert size <= entries or stop == start + 1
        if stop < n:
            assert size + stop + 1 > entries


def test_packing_takes_rows_at_or_below_the_diagonal():
    a = np.array([[1, 2, 4], [2, 3, 5], [4, 5, 6]])
    assert pack(a, 0).tolist() == [1, 2, 3, 4, 5, 6]
    assert pack(a[1:], 1).tolist() == [2, 3, 4, 5, 6]


def test_what_is_above_the_diagonal_does_not_matter():
    full = symmetric(6, np.float64)
    spoilt = full.copy()
    spoilt[np.triu_indices(6, 1)] = np.nan
    assert np.array_equal(unpack([pack(spoilt, 0)], 6), full)


def test_a_band_without_rows_is_empty():
    assert pack(np.empty((0, 4)), 0).size == 0


def test_a_band_without_rows_keeps_its_type():
    assert pack(np.empty((0, 4), dtype=np.uint64), 0).dtype == np.uint64


def test_a_matrix_without_rows_is_one():
    assert unpack([], 0).shape == (0, 0)


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_missing_rows_are_refused_with_their_number(rows):
    packed = [pack(symmetric(rows, np.float64), 0)]
    with pytest.raises(ValueError, match=f"bands hold {rows} rows of 5"):
        unpack(packed, 5)


def test_a_row_cut_short_is_refused():
    with pytest.raises(ValueError, match=r".+"):
        unpack([np.arange(5.0)], 3)


@pytest.mark.parametrize("entries", [2, 4, 10])
def test_a_triangle_of_another_size_is_refused(entries):
    n = 3 if entries == 4 else 2
    with pytest.raises(ValueError, match="rows"):
        unpack([np.arange(float(entries))], n)
