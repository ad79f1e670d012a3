"""Bytes from a stranger: a value or a PeerError, in little memory and little time, whatever they are."""

import contextlib
import datetime as dt
import sys
import tracemalloc

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
from hypothesis import Phase, given, settings

from tacit.arrays import F64, Array
from tacit.choreo import Fact, Frames, Message, PeerError, State, decode, decode_as, encode
from tacit.choreo.codec import HEADER_LIMIT, MAGIC, PREFIX, VERSION

CONSTANT = 1 << 20
# lists in lists: Python 3.14 reads as deep as its stack is long, some 30,000 levels of 64 bytes; others stop before
DEPTH = CONSTANT if sys.version_info >= (3, 14) else 0
FUZZ = settings(max_examples=300, deadline=None, derandomize=True, database=None)


class Corner(State):
    name: str
    xy: F64


class Parcel(Message, tells=Fact("tests.a_bit_of_everything", "holders", "aggregate", "all", "a bit of everything")):
    words: Array
    more: tuple[F64, ...]
    named: dict[str, int]
    corner: Corner
    text: str
    figure: float | None


VALID = encode(
    Parcel(
        np.arange(4, dtype=np.uint64),
        (np.ones(2), np.zeros((0, 3))),
        {"a": 1, "b": -7},
        Corner("c", np.zeros((2, 1))),
        "é",
        0.5,
    )
).join()


def framed(header, body=b""):
    packed = header if isinstance(header, bytes) else msgspec.msgpack.encode(header)
    return PREFIX.pack(MAGIC, VERSION, len(packed)) + packed + body


def tried(data):
    """Read as a parcel and as any value; only PeerError may come out of it."""
    for read in (lambda: decode_as(Parcel, data), lambda: decode(data)):
        with contextlib.suppress(PeerError):
            read()


def peak(data):
    """Bytes allocated at the worst moment of reading."""
    tracemalloc.start()
    try:
        tried(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_frame_that_is_damaged_below_is_whole():
    assert decode_as(Parcel, VALID).corner.name == "c"


@given(st.binary(max_size=200))
@FUZZ
def test_any_bytes_are_a_value_or_a_peer_error(data):
    tried(data)


@given(st.binary(max_size=200), st.binary(max_size=64))
@FUZZ
def test_any_bytes_in_a_frame_are_a_value_or_a_peer_error(header, body):
    tried(framed(header, body))


def test_every_truncation_is_a_peer_error():
    for n in range(len(VALID)):
        with pytest.raises(PeerError):
            decode_as(Parcel, VALID[:n])


@pytest.mark.parametrize("surplus", [b"\x00", b"TACT", VALID])
def test_surplus_bytes_are_a_peer_error(surplus):
    with pytest.raises(PeerError):
        decode_as(Parcel, VALID + surplus)


def test_every_flipped_bit_gives_a_message_or_a_peer_error():
    for at in range(8 * len(VALID)):
        data = bytearray(VALID)
        data[at // 8] ^= 1 << at % 8
        tried(bytes(data))


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), min_size=2, max_size=6))
@FUZZ
def test_several_changed_bytes_give_a_message_or_a_peer_error(changes):
    data = bytearray(VALID)
    for at, byte in changes:
        data[at] = byte
    tried(bytes(data))


names = st.sampled_from(["a", "t", "d", "s", "m", "Parcel", "Corner"])
leaves = (
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | names | st.binary(max_size=3)
)


def branches(inner):
    lists = st.lists(inner, max_size=5)
    tagged = st.builds(lambda tag, rest: [tag, *rest], st.sampled_from("atdsm"), lists)
    return tagged | lists | st.dictionaries(st.text(max_size=2) | st.integers(-9, 9), inner, max_size=2)


trees = branches(st.recursive(leaves, branches, max_leaves=8))
tables = st.lists(
    st.tuples(
        st.sampled_from(["<f8", "<u8", "|b1", "|O", ">f8", "<c16", "<U4", ""]),
        st.lists(st.integers(-2, (1 << 64) - 1), max_size=4),
    ),
    max_size=3,
)


@given(trees, tables, st.binary(max_size=32))
@settings(FUZZ, max_examples=600, phases=[Phase.generate])
def test_any_well_formed_header_is_a_value_or_a_peer_error(tree, table, body):
    tried(framed([tree, table], body))


@pytest.mark.parametrize(
    "tree",
    [
        [], ["z"], [None], [["t"]], ["a"], ["a", 0, 0], ["a", "0"], ["a", True], ["a", -1], ["a", 1], ["d", 1],
        ["d", ["k"]],
        ["d", ["k", 1, 2]], ["d", [["a", 0], 1]], ["s", "Nobody"], ["s", 5], ["s", ["t"]], ["s", "Corner"],
        ["m", "Parcel"], ["m", "Parcel", 1, 2, 3, 4, 5, 6],
    ],
)  # fmt: skip
def test_a_tree_that_is_no_value_is_a_peer_error(tree):
    with pytest.raises(PeerError):
        decode_as(Parcel, framed([tree, [["|u1", [3]]]], b"abc"))


@pytest.mark.parametrize("tree", [["m"], ["s"], ["m", 5], ["m", None], ["m", {}]])
def test_a_record_without_a_proper_name_is_a_peer_error(tree):
    with pytest.raises(PeerError):
        decode_as(Parcel, framed([tree, []]))


@pytest.mark.parametrize(
    "tree",
    [{"k": [1, 2]}, msgspec.msgpack.Ext(5, b"x"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
    ids=["a raw map", "an extension", "a time"],
)
def test_what_encode_never_writes_is_a_peer_error(tree):
    with pytest.raises(PeerError):
        decode(framed([tree, []]))


def test_a_bool_array_with_other_bytes_than_0_and_1_is_a_peer_error():
    with pytest.raises(PeerError):
        decode(framed([["a"], [["|b1", [2]]]], b"\x02\x01"))


@pytest.mark.parametrize(
    ("table", "body"),
    [
        ([["|O", [1]]], bytes(8)), ([["<U2", [1]]], bytes(8)), ([["<c16", [1]]], bytes(16)), ([[">f8", [1]]], bytes(8)),
        ([["f8", [1]]], bytes(8)),
        ([["<f8", [-1]]], b""), ([["<f8", [-1, -1]]], bytes(8)), ([["<f8", [2]]], bytes(8)),
        ([["<f8", [1]]], bytes(16)), ([["<f8", []]], b""),
        ([["<f8", [1 << 62, 1 << 62, 0]]], b""), ([["<f8", [0] * 70]], b""), ([["<f8", [1.5]]], bytes(8)),
        ([["<f8"]], bytes(8)), ([5], b""), ({}, b""),
        ([["<f8", [1 << 61, 8]]], b""),
    ],
)  # fmt: skip
def test_an_array_table_that_does_not_fit_the_bytes_is_a_peer_error(table, body):
    with pytest.raises(PeerError):
        decode(framed([["a"], table], body))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xc0",
        b"\x90",
        b"\x91\xc0",
        b"\x93\xc0\x90\x90",
        b"\x92\xc0\x90\x00",
        b"\x92\xc1\x90",
        b"\x92\xa2\xff\xff\x90",
    ],
)
def test_a_header_that_is_no_tree_and_table_is_a_peer_error(header):
    with pytest.raises(PeerError):
        decode(framed(header))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "truncated"),
        (b"TACT\x01", "truncated"),
        (b"PACT" + VALID[4:], "not a tacit message of this version"),
        (VALID[:4] + b"\x01" + VALID[5:], "not a tacit message of this version"),
        (PREFIX.pack(MAGIC, VERSION, 1) , "truncated or its header is over the limit"),
        (PREFIX.pack(MAGIC, VERSION, (1 << 32) - 1) + bytes(100), "truncated or its header is over the limit"),
        (PREFIX.pack(MAGIC, VERSION, HEADER_LIMIT + 1) + bytes(HEADER_LIMIT + 1), "header is over the limit"),
    ],
    ids=["nothing", "half a prefix", "magic", "version", "no header", "huge header", "header over the limit"],
)  # fmt: skip
def test_a_bad_prefix_is_refused_with_its_reason(data, words):
    with pytest.raises(PeerError, match=words):
        Frames.split(data)


def test_an_error_in_a_message_shows_none_of_its_bytes():
    with pytest.raises(PeerError) as caught:
        decode(framed([["d", [["t", ["d"]], "hunter2"]], []]))
    assert str(caught.value) == "malformed message (TypeError)"


HUGE = {
    "a huge array": framed([["a"], [["<f8", [1 << 40]]]]),
    "many huge arrays": framed([["a"], [["<f8", [1 << 40]]] * 50]),
    "a huge empty array": framed([["a"], [["<f8", [1 << 40, 0]]]]),
    "a huge list": framed(b"\xdd\xff\xff\xff\xff"),
    "a huge list inside": framed(b"\x92\xdd\xff\xff\xff\xff\xc0"),
    "huge bytes": framed(b"\x92\xc6\xff\xff\xff\xff\xc0"),
    "a huge text": framed(b"\x92\xdb\xff\xff\xff\xff\xc0"),
    "a huge map": framed(b"\x92\xdf\xff\xff\xff\xff\xc0"),
    "a huge extension": framed(b"\x92\xc9\xff\xff\xff\xff\x05\xc0"),
    "a huge table": framed(b"\x92\xc0\xdd\xff\xff\xff\xff\x92"),
    "deep lists": framed(b"\x92" + b"\x91" * 100_000 + b"\xc0\x90"),
    "deep tuples": framed(b"\x92" + b"\x92\xa1t" * 100_000 + b"\xc0\x90"),
    "deep maps": framed(b"\x92" + b"\x81\xc0" * 100_000 + b"\xc0\x90"),
    "as deep as Python goes": framed(b"\x92" + b"\x92\xa1t" * 900 + b"\xc0\x90"),
}


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE.keys())
def test_what_declares_more_than_it_brings_allocates_next_to_nothing(data):
    assert peak(data) < 2 * len(data) + CONSTANT + DEPTH


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE.keys())
def test_what_declares_more_than_it_brings_is_a_peer_error(data):
    if data == HUGE["a huge empty array"]:
        assert decode(data).size == 0
    else:
        with pytest.raises(PeerError):
            decode(data)


def test_large_arrays_are_read_without_a_copy():
    data = encode((np.zeros(1 << 20), np.zeros(1 << 20, dtype=np.uint8))).join()
    tracemalloc.start()
    try:
        first, second = decode(data)
        assert tracemalloc.get_traced_memory()[1] < CONSTANT
    finally:
        tracemalloc.stop()
    assert (first.nbytes, second.nbytes) == (1 << 23, 1 << 20)


@given(st.binary(max_size=300))
@settings(FUZZ, max_examples=100)
def test_any_header_allocates_no_more_than_a_constant(header):
    assert peak(framed(header)) < CONSTANT


def filled(item, table=b"\x90"):
    """The longest header that is a list of this item."""
    n = (HEADER_LIMIT - 16) // len(item)
    return framed(b"\x92\xdd" + (n + 1).to_bytes(4, "big") + b"\xa1t" + item * n + table)


LONGEST = {
    "empty lists": filled(b"\x90"),
    "empty maps": filled(b"\x80"),
    "empty tuples": filled(b"\x91\xa1t"),
    "messages": filled(b"\x92\xa1m\xa1x"),
    "numbers": filled(b"\xcd\x7f\xff"),
    "empty arrays": framed([None, [["|b1", [0]]] * ((HEADER_LIMIT - 16) // 7)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("data", LONGEST.values(), ids=LONGEST.keys())
def test_the_longest_header_allocates_at_most_about_a_hundredfold(data):
    assert HEADER_LIMIT - 64 < len(data) <= HEADER_LIMIT + PREFIX.size
    assert HEADER_LIMIT <= 1 << 20
    assert peak(data) < 130 * len(data)


@pytest.mark.parametrize("tag", ["b", "u"])
def test_a_buffer_that_is_referred_to_many_times_is_not_copied_many_times(tag):
    data = framed([["t"] + [[tag, 0]] * 40, [["|u1", [1 << 20]]]], bytes(1 << 20))
    assert peak(data) < 2 * len(data) + CONSTANT


def test_a_shape_of_very_many_sides_is_refused_before_they_are_multiplied():
    data = framed([["a"], [["<f8", [(1 << 63) - 1] * 20_000]]])
    with pytest.raises(PeerError, match="too many arrays or dimensions"):
        decode(data)
