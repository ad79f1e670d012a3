"""Fixed point: the error of a sum is what it says, and nothing wraps silently."""

from fractions import Fraction

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import CHUNK, FixedPoint
from tacit.numeric.ring.words import Z64

PROPERTIES = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@st.composite
def sums(draw):
    """M vectors that fit, with the fixed point for their sum."""
    fixed = FixedPoint(draw(st.integers(0, 52)), draw(st.integers(1, 40)))
    below = np.nextafter(fixed.bound, 0)
    reals = (
        st.floats(-below, below)
        | st.floats(-1, 1).filter(lambda v: abs(v) <= below)
        | st.sampled_from([below, -below, 0.0])
    )
    return fixed, [draw(hnp.arrays(np.float64, 3, elements=reals)) for _ in range(fixed.terms)]


def centred(words):
    return [int(w) - (1 << 64) * (int(w) >> 63) for w in words]


@given(sums())
@PROPERTIES
def test_a_sum_in_the_ring_is_off_by_at_most_half_a_unit_per_term_and_never_wraps(case):
    fixed, parts = case
    total = centred(Z64.total([fixed.encode(p, "x") for p in parts]))
    for got, column in zip(total, zip(*parts, strict=True), strict=True):
        exact = sum(map(Fraction, column))
        assert abs(Fraction(got, 1 << fixed.bits) - exact) <= Fraction(fixed.terms, 1 << (fixed.bits + 1))
        assert fixed.error == fixed.terms * 2.0 ** -(fixed.bits + 1)


@given(sums())
@PROPERTIES
def test_a_decoded_sum_is_off_by_no_more_than_that_and_a_doubles_own_rounding(case):
    fixed, parts = case
    total = fixed.decode(Z64.total([fixed.encode(p, "x") for p in parts]))
    for got, column in zip(total, zip(*parts, strict=True), strict=True):
        exact = sum(map(Fraction, column))
        assert abs(Fraction(got) - exact) <= Fraction(fixed.error) + Fraction(np.spacing(abs(got))) / 2


@given(hnp.arrays(np.float64, 5, elements=st.floats(-1000, 1000)), st.integers(1, 16), st.integers(1, 40))
@PROPERTIES
def test_small_values_sum_to_within_the_stated_error(x, terms, bits):
    fixed = FixedPoint(bits, terms)
    total = fixed.decode(Z64.total([fixed.encode(x * (k + 1) / terms, "x") for k in range(terms)]))
    exact = [sum(Fraction(v * (k + 1) / terms) for k in range(terms)) for v in x]
    assert all(abs(Fraction(got) - want) <= Fraction(fixed.error) for got, want in zip(total, exact, strict=True))


@pytest.mark.parametrize("terms", [1, 2, 3, 5, 7, 100, 12345])
@pytest.mark.parametrize("bits", [0, 1, 16, 32, 52])
def test_the_largest_values_that_pass_do_not_wrap_even_if_everybody_has_them(bits, terms):
    fixed = FixedPoint(bits, terms)
    top = np.nextafter(fixed.bound, 0)
    for x in (top, -top):
        (word,) = centred(fixed.encode(np.array([x]), "x"))
        assert abs(terms * word) < 1 << 63
        assert np.sign(word) == np.sign(x)


@pytest.mark.parametrize("terms", [1, 3, 12345])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_bound_itself_is_refused(terms, sign):
    fixed = FixedPoint(32, terms)
    with pytest.raises(LocalError, match="does not fit into fixed point"):
        fixed.encode(np.array([sign * fixed.bound]), "x")


def test_the_bound_is_what_a_sum_can_hold():
    assert FixedPoint(32, 1).bound == 2.0**31
    assert FixedPoint(0, 1 << 40).bound == (1 << 23) - 1
    assert FixedPoint(32, 4).bound <= 2.0**29


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 3, 6])
def test_what_is_no_finite_number_is_refused_with_array_and_remedy(bad, at):
    x = np.zeros(7)
    x[at] = bad
    with pytest.raises(LocalError) as caught:
        FixedPoint(32, 4).encode(x, "column sums of ann")
    words = "column sums of ann: a value is not a finite number: impute or remove it before anything is summed"
    assert str(caught.value) == words


@pytest.mark.parametrize("bad", [1e300, -1e300, 2.0**31])
@pytest.mark.parametrize("at", [0, 3, 6])
def test_what_does_not_fit_is_refused_with_array_bound_and_remedy(bad, at):
    x = np.zeros(7)
    x[at] = bad
    with pytest.raises(LocalError) as caught:
        FixedPoint(32, 4).encode(x, "column sums of ann")
    text = str(caught.value)
    assert text.startswith(
        f"column sums of ann: a value of size {abs(bad):.3g} does not fit into fixed point with 32 fraction bits for 4"
        " parties"
    )
    assert "(limit 5.37e+08)" in text
    assert text.endswith("scale the features")


def test_nothing_is_written_when_a_value_is_refused():
    out = np.full(3, 9, dtype=np.uint64)
    with pytest.raises(LocalError):
        FixedPoint().encode(np.array([1.0, np.nan, 2.0]), "x", out=out)
    assert out.tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    ("bits", "x", "word"),
    [
        (0, 0.0, 0), (0, -0.0, 0), (0, 1.0, 1), (0, -1.0, (1 << 64) - 1), (0, 0.5, 0), (0, 1.5, 2), (0, -0.5, 0),
        (0, -1.5, (1 << 64) - 2),
        (1, 0.5, 1), (32, 1.0, 1 << 32), (32, -1.0, (1 << 64) - (1 << 32)), (32, 2.0**-32, 1), (32, 2.0**-33, 0),
        (32, 3 * 2.0**-33, 2),
        (52, 1.0, 1 << 52), (52, 2.0**-52, 1), (0, 2.0**62, 1 << 62), (0, -(2.0**63 - 1024), (1 << 63) + 1024),
        (32, 5e-324, 0),
    ],
)  # fmt: skip
def test_known_values_have_known_words(bits, x, word):
    assert FixedPoint(bits).encode(np.array([x]), "x").tolist() == [word]


@given(st.integers(-(1 << 53), 1 << 53), st.integers(0, 52))
@PROPERTIES
def test_multiples_of_the_unit_come_back_exactly(k, bits):
    fixed = FixedPoint(bits)
    x = np.array([np.ldexp(float(k), -bits)])
    assert fixed.decode(fixed.encode(x, "x")).tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3), (2, 3, 4)])
def test_encoding_keeps_the_shape(shape):
    x = np.full(shape, 0.25)
    words = FixedPoint().encode(x, "x")
    assert words.shape == shape
    assert np.array_equal(FixedPoint().decode(words), x)


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3])
def test_sizes_around_the_chunk_are_encoded_whole(size):
    x = np.arange(size, dtype=np.float64) - size / 2
    out = np.zeros(size, dtype=np.uint64)
    assert np.array_equal(FixedPoint(8).encode(x, "x"), FixedPoint(8).encode(x, "x", out=out))
    assert np.array_equal(FixedPoint(8).decode(out), x)


def test_arrays_of_any_layout_and_type_are_encoded_by_value():
    x = np.arange(24).reshape(4, 6)
    for form in (x.T, x[::2, ::-1], x.astype(np.float32), x.astype(">f8"), np.asfortranarray(x, dtype=np.float64)):
        assert np.array_equal(FixedPoint().decode(FixedPoint().encode(form, "x")), form)


def test_the_input_is_left_as_it_was():
    x = np.array([0.3, -0.7])
    FixedPoint().encode(x, "x")
    assert x.tolist() == [0.3, -0.7]


@pytest.mark.parametrize(("bits", "terms"), [(-1, 1), (53, 1), (32, 0), (32, -3)])
def test_a_fixed_point_that_makes_no_sense_is_refused(bits, terms):
    with pytest.raises(LocalError, match=f"needs 0 to 52 fraction bits and at least one term, got {bits} and {terms}"):
        FixedPoint(bits, terms)


def test_an_out_of_another_size_is_refused():
    for size in (0, 1, 3, 5):
        out = np.full(size, 9, dtype=np.uint64)
        with pytest.raises(ValueError, match=rf"^2 values do not fit into {size} words$"):
            FixedPoint().encode(np.array([1.0, 2.0]), "x", out=out)
        assert out.tolist() == [9] * size


def test_a_whole_number_a_double_cannot_hold_is_refused_or_exact():
    x = np.array([(1 << 53) + 1])
    try:
        words = FixedPoint(0).encode(x, "x")
    except LocalError:
        return
    assert words.tolist() == x.tolist()
