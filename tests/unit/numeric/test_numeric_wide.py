"""Wide numbers: sums are exact whatever the units, and a pad comes off as it went on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import LocalError
from tacit.numeric.ring.wide import LIMBS, Z256, decode, encode

REAL = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-18)


def as_number(words) -> int:
    return int.from_bytes(np.asarray(words, dtype="<u8").tobytes(), "little")


@given(st.lists(REAL, min_size=1, max_size=6))
def test_a_sum_of_encodings_is_the_sum_rounded_once(values):
    total = Z256.total([encode(np.array([x]), "x").ravel() for x in values])
    assert decode(total.reshape(1, LIMBS))[0] == float(sum(map(Fraction, values)))


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1), st.sampled_from([1, -1]))
def test_the_ring_adds_and_subtracts_modulo_2_to_the_256(a, b, sign):
    left, right = (np.frombuffer(n.to_bytes(32, "little"), dtype="<u8").astype(np.uint64) for n in (a, b))
    assert as_number(Z256.add(left.copy(), [right[:1], right[1:]], sign)) == (a + sign * b) % 2**256
    assert as_number(Z256.add(Z256.add(left.copy(), [right], 1), [right], -1)) == a


def test_words_behind_the_last_number_add_up_by_themselves():
    words = Z256.add(
        np.array([2**64 - 1, 0, 0, 0, 2**64 - 1], dtype=np.uint64), [np.array([1, 0, 0, 0, 3], dtype=np.uint64)]
    )
    assert words.tolist() == [0, 1, 0, 0, 2]


def test_shapes_come_back():
    x = np.array([[1.5, -2.25, 0.0], [1e-9, 3e20, -7.0]])
    assert encode(x, "x").shape == (2, 3, LIMBS)
    np.testing.assert_array_equal(decode(encode(x, "x")), x)


@pytest.mark.parametrize("bad", [1e36, -1e40, np.inf, np.nan])
def test_what_is_too_large_or_no_number_is_refused_by_name(bad):
    with pytest.raises(LocalError, match=r"column sums of ann: a value is 1e\+36 or larger, or not a number"):
        encode(np.array([1.0, bad]), "column sums of ann")


def test_chunks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="chunks cover 4 of 5 words"):
        Z256.add(np.zeros(5, np.uint64), [np.zeros(4, np.uint64)])
