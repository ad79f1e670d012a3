"""The codec: what goes in comes out, read-only, and only as what the receiver expects."""

import collections
import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.arrays import F64, I64, U64, Array
from tacit.choreo import ChoreographyError, Fact, Frames, Message, PeerError, State, decode, decode_as, encode
from tacit.choreo.codec import DTYPES, seal_arrays
from tacit.choreo.message import shapes

ROUND_TRIPS = settings(max_examples=150, deadline=None, derandomize=True, database=None)


class Point(State):
    xy: tuple[float, float]
    weight: F64 | None


class Labelled(State):
    labels: Array


class Stroke(State):
    start: Point
    end: Point


class Everything(Message, tells=Fact("tests.one_of_each", "holders", "aggregate", "all", "one of each")):
    flag: bool
    count: int
    size: float
    name: str
    key: bytes
    words: U64
    codes: I64
    any_array: Array
    pair: tuple[int, str]
    many: tuple[float, ...]
    by_name: dict[str, int]
    mapped: Mapping[str, F64]
    maybe: F64 | None
    point: Point
    anything: Any


def everything(**changes):
    fields = {
        "flag": True, "count": -3, "size": 2.5, "name": "å", "key": b"\x00\xff",
        "words": np.array([1, (1 << 64) - 1], dtype=np.uint64),
        "codes": np.array([-1, 2]), "any_array": np.array([[True, False]]), "pair": (1, "x"), "many": (1.0, 2.0, 3.0),
        "by_name": {"a": 1, "b": 2}, "mapped": {"k": np.array([0.5])}, "maybe": None,
        "point": Point((1.0, 2.0), np.ones(3)), "anything": (None, {"x": 1}),
    }  # fmt: skip
    return Everything(**{**fields, **changes})


def same(a, b):
    """Equal in type, shape and bits."""
    if isinstance(a, np.ndarray):
        little = a.dtype.newbyteorder("<")
        return (
            isinstance(b, np.ndarray)
            and (little, a.shape) == (b.dtype, b.shape)
            and a.astype(little).tobytes() == b.tobytes()
        )
    if isinstance(a, (State, Message)):
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in a.field_names())
    if isinstance(a, tuple):
        return type(b) is tuple and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(v, b[k]) for k, v in a.items())
    return type(a) is type(b) and (a == b or (math.isnan(a) and math.isnan(b)))


dtypes = st.sampled_from([np.dtype(d) for d in sorted(DTYPES)])
arrays = dtypes.flatmap(
    lambda d: hnp.arrays(
        st.sampled_from([d, d.newbyteorder(">")]), hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
    )
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8)
)
keys = (
    st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.tuples(st.integers(0, 3), st.text(max_size=2))
)
points = st.builds(
    Point, st.tuples(st.floats(), st.floats()), st.none() | hnp.arrays(np.float64, hnp.array_shapes(min_side=0))
)
values = st.recursive(
    scalars | arrays | points,
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.builds(Stroke, points, points)
    ),
    max_leaves=12,
)


@given(values)
@ROUND_TRIPS
def test_every_wire_form_value_comes_back_as_it_went_in(value):
    frames = encode(value)
    assert same(value, decode(frames))
    assert same(value, decode(frames.join()))
    assert same(value, decode(memoryview(frames.join())))


@given(values)
@ROUND_TRIPS
def test_a_frame_is_as_long_as_it_says_and_has_the_digest_of_its_bytes_and_the_shapes_of_its_arrays(value):
    frames = encode((value, "long " * 300, {"a": value, "long " * 300: 1}))
    assert frames.shapes == 2 * shapes(value)
    assert frames.nbytes == len(frames.join())
    assert frames.digest == hashlib.sha256(frames.join()).digest() == Frames.split(frames.join()).digest


@given(values)
@ROUND_TRIPS
def test_what_was_read_back_is_written_to_the_same_bytes(value):
    data = encode(value).join()
    assert encode(decode(data)).join() == data


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize(
    "shaped",
    [
        lambda a: a.reshape(4, 6).T,
        lambda a: a.reshape(4, 6)[::2, ::-3],
        lambda a: a[:0],
        lambda a: a[:0].reshape(3, 0, 2),
        lambda a: np.asfortranarray(a.reshape(2, 3, 4)),
        lambda a: np.broadcast_to(a[:1], (5,)),
        lambda a: a.astype(a.dtype.newbyteorder(">")),
    ],
    ids=["transposed", "strided", "empty", "empty with sides", "fortran", "broadcast", "big-endian"],
)
def test_arrays_of_any_layout_come_back_with_their_values(dtype, shaped):
    array = shaped(np.arange(24).astype(dtype))
    back = decode(encode((array, array)).join())
    assert same((array, array), back)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_an_array_without_dimensions_comes_back_without(dtype):
    assert decode(encode(np.array(1, dtype=dtype)).join()).shape == ()


@pytest.mark.parametrize(
    "scalar",
    [np.float64(0.1), np.float32(0.5), np.int8(-5), np.uint64((1 << 64) - 1), np.bool_(1), np.str_("s")],
)
def test_numpy_scalars_come_back_as_pythons(scalar):
    back = decode(encode(scalar))
    assert back == scalar
    assert type(back) is type(scalar.item())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 5e-324])
def test_special_floats_keep_their_bits(value):
    back = decode(encode((value, np.array([value]))))
    assert np.float64(back[0]).tobytes() == back[1].tobytes() == np.float64(value).tobytes()


@pytest.mark.parametrize(
    "form", [lambda f: f, lambda f: f.join(), lambda f: bytearray(f.join()), lambda f: memoryview(f.join())]
)
def test_decoded_arrays_are_read_only_whatever_they_were_read_from(form):
    decoded = decode(form(encode((np.zeros(3), {"k": np.zeros((0, 2))}, Point((0.0, 0.0), np.zeros(2))))))
    for array in (decoded[0], decoded[1]["k"], decoded[2].weight):
        assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        decoded[0][0] = 1.0


def test_a_message_comes_back_as_the_expected_type_with_all_its_fields():
    message = everything()
    assert same(message, decode_as(Everything, encode(message)))
    assert same(message, decode_as(Everything, encode(message).join()))


def test_a_message_is_no_value_until_somebody_expects_it():
    with pytest.raises(PeerError, match=r"^a message where a value was expected$"):
        decode(encode(everything()))


@pytest.mark.parametrize(
    "wrap", [lambda m: (m,), lambda m: {"k": m}, lambda m: ({"k": (m,)},)], ids=["tuple", "dict", "deeper"]
)
def test_a_message_hidden_in_a_value_is_no_value_either(wrap):
    with pytest.raises(PeerError):
        decode(encode(wrap(everything())))


def test_a_message_of_another_type_is_refused_with_both_names():
    class Other(Message, tells=Fact("tests.x", "holders", "aggregate", "all", "x")):
        x: int

    with pytest.raises(PeerError, match="expected Other, got 'Everything'"):
        decode_as(Other, encode(everything()))


def test_a_state_is_no_message():
    with pytest.raises(PeerError, match="expected Everything, got Point"):
        decode_as(Everything, encode(Point((1.0, 2.0), None)))


def test_a_value_that_is_no_record_is_refused():
    with pytest.raises(PeerError, match="expected Everything, got tuple"):
        decode_as(Everything, encode((1, 2)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("flag", 1), ("flag", None), ("count", True), ("count", 1.0), ("count", "1"), ("size", "x"), ("size", True),
        ("name", b"x"), ("name", 1),
        ("key", "x"), ("words", np.array([1])), ("words", np.array([1.0])), ("words", 1),
        ("codes", np.array([1], dtype=np.uint64)),
        ("any_array", 1.0), ("pair", (1,)), ("pair", ("x", 1)), ("pair", (1, "x", 2)), ("many", (1.0, "x")),
        ("many", 1.0),
        ("by_name", {"a": "x"}), ("by_name", {1: 1}), ("by_name", ()), ("mapped", {"k": 1.0}), ("maybe", 0.0),
        ("maybe", np.array([1])), ("point", None), ("point", (1.0, 2.0)),
    ],
)  # fmt: skip
def test_a_field_that_is_not_of_its_declared_type_is_refused_by_name(field, value):
    with pytest.raises(PeerError, match=rf"^field {field} of Everything is not of its declared type$"):
        decode_as(Everything, encode(everything(**{field: value})))


def test_a_field_of_a_state_inside_a_message_is_checked_too():
    with pytest.raises(PeerError, match=r"^field weight of Point is not of its declared type$"):
        decode_as(Everything, encode(everything(point=Point((1.0, 2.0), "heavy"))))


@pytest.mark.parametrize(
    ("field", "value"), [("size", 3), ("many", ()), ("by_name", {}), ("maybe", np.zeros(2)), ("anything", "x")]
)
def test_a_field_takes_what_its_declared_type_allows(field, value):
    assert same(value, getattr(decode_as(Everything, encode(everything(**{field: value}))), field))


@pytest.mark.parametrize("fields", [0, 1, 3])
def test_another_number_of_fields_is_refused(fields, monkeypatch):
    class Two(State):
        a: int
        b: int

    data = encode(tuple(range(fields))).join().replace(b"\xa1t", b"\xa1s\xa3Two", 1)
    head = bytearray(data)
    head[5] += 4  # the header grew by the name
    head[10] += 1  # and the list by one
    monkeypatch.setitem(State.registry, "Two", Two)
    with pytest.raises(PeerError, match=f"Two with {fields} fields, expected 2"):
        decode(bytes(head))


@pytest.mark.parametrize("fields", [1, 2])
def test_a_state_that_was_written_before_it_had_its_last_field_has_the_default(fields, monkeypatch):
    class New(State):
        a: int
        b: int = 7

    data = bytearray(encode(tuple(range(fields))).join().replace(b"\xa1t", b"\xa1s\xa3New", 1))
    data[5] += 4  # the header grew by the name
    data[10] += 1  # and the list by one
    monkeypatch.setitem(State.registry, "New", New)
    found = decode(bytes(data))
    assert (found.a, found.b) == (0, 7 if fields == 1 else 1)


def test_an_unknown_state_is_refused(monkeypatch):
    data = encode(Point((1.0, 2.0), None)).join()
    monkeypatch.delitem(State.registry, "Point")
    with pytest.raises(PeerError, match=r"^unknown kind of value$"):
        decode(data)


def test_a_message_over_the_limit_is_refused_before_it_is_read():
    data = encode(np.zeros(100)).join()
    assert decode(data, limit=len(data)).shape == (100,)
    with pytest.raises(PeerError, match=f"message of {len(data)} bytes is over the limit of {len(data) - 1}"):
        decode(data, limit=len(data) - 1)


@pytest.mark.parametrize(
    "value", [[1], {1, 2}, object(), 1j, (1, [2]), {"k": {3}}, np.array([object()]), np.array(["x"]), np.float16([1])]
)
def test_what_has_no_wire_form_is_refused_when_written(value):
    with pytest.raises(ChoreographyError, match="no wire form"):
        encode(value)


@pytest.mark.parametrize(
    "value",
    [
        1 << 64,
        -(1 << 63) - 1,
        "\ud800",
        np.complex128(1j),
        np.datetime64("2020-01-01"),
        np.longdouble(1),
        np.ma.masked_array([1.0], mask=[True]),
    ],
)
def test_what_cannot_be_written_or_read_back_is_refused_when_written(value):
    with pytest.raises(ChoreographyError):
        encode(value)


def test_a_dict_of_any_kind_is_written_as_a_dict():
    for kind in (collections.OrderedDict, collections.Counter, lambda d: collections.defaultdict(int, d)):
        assert same({"a": 1, "b": 2}, decode(encode(kind({"a": 1, "b": 2}))))


def test_a_value_of_too_many_parts_is_refused_when_written():
    for value in (tuple(range(1 << 20)), (np.zeros(1),) * ((1 << 12) + 1)):
        with pytest.raises(ChoreographyError, match="no wire form: put its numbers into arrays"):
            encode(value)


@pytest.mark.parametrize(
    "value", ["x" * (1 << 21), "é" * 1023, "é" * 1024, b"\x00\xff" * (1 << 20), b"x" * 1024, b"x" * 1023]
)
def test_long_texts_and_bytes_come_back(value):
    assert same(value, decode(encode((value, {value: value})).join())[0])


def test_a_message_in_a_field_comes_back():
    class Inner(Message, tells=Fact("tests.x", "holders", "aggregate", "all", "x")):
        x: int

    class Outer(Message, tells=Fact("tests.y", "holders", "aggregate", "all", "y")):
        inner: Inner

    assert decode_as(Outer, encode(Outer(Inner(3)))).inner.x == 3


def test_the_error_of_a_bad_field_does_not_show_its_value():
    with pytest.raises(PeerError) as caught:
        decode_as(Everything, encode(everything(count="hunter2")))
    assert "hunter2" not in str(caught.value)


def test_texts_may_stand_in_a_state_that_its_party_keeps_and_in_nothing_that_is_sent():
    held = Labelled(np.array(["ill", "well"]))
    kept = seal_arrays(held, "a step", kept=True)
    assert kept.labels.tolist() == ["ill", "well"]
    assert not kept.labels.flags.writeable
    for refused in (lambda: encode(kept), lambda: seal_arrays(held.labels, "a step", kept=True)):
        with pytest.raises(ChoreographyError, match="an array of <U4, which has no wire form"):
            refused()


def test_a_record_that_was_checked_passes_later_steps_as_it_is_and_a_changed_one_is_checked_anew():
    stroke = seal_arrays(Stroke(Point((0.0, 0.0), np.ones(2)), Point((1.0, 1.0), np.ones(2))), "a step", kept=True)
    assert seal_arrays((stroke,), "a step", kept=True)[0] is stroke
    moved = seal_arrays(replace(stroke, end=Point((2.0, 1.0), np.zeros(3))), "a step", kept=True)
    assert moved.start is stroke.start
    assert not moved.end.weight.flags.writeable
    with pytest.raises(ChoreographyError, match="a object, which has no wire form"):
        seal_arrays(replace(stroke, end=object()), "a step", kept=True)
