"""Records of a partition.

Values, messages and text come back as they were, with arrays where a processor likes them.
"""

import numpy as np
import pytest

from tacit.arrays import U64
from tacit.choreo import ChoreographyError, Each, Fact, Message, PeerError, State, decode, encode
from tacit.protocols.sums.secure_sum import Masked
from tacit.runtimes.spark import partition
from tacit.runtimes.spark.partition import Outbox, TooLargeError, merge, pack, unpack


class PackedRows(State):
    X: np.ndarray
    y: np.ndarray | None
    inner: tuple


class Masked2(Message, tells=Fact("tests.nothing_a_test", "nobody", "nothing", "none", "nothing: a test")):
    words: U64


def test_values_come_back_with_their_messages_and_every_array_is_aligned():
    message = Masked(np.arange(5, dtype=np.uint64), (5,))
    values = {
        "a": (1, {"b": message}),
        "flags": np.array([True]),
        "c": np.ones(3),
        "each": Each({"p1": message}),
        "none": None,
    }
    found = unpack(pack(values))
    assert isinstance(found["each"], Each)
    assert found["each"]["p1"].words.tolist() == [0, 1, 2, 3, 4]
    assert type(found["a"][1]["b"]) is Masked
    assert found["c"].flags.aligned
    assert not found["c"].flags.writeable
    assert found["none"] is None


@pytest.mark.parametrize(
    "y",
    [
        np.array(["ill", "well", "", "å"]),
        np.array(["x", "yy"], dtype=object),
        np.array([1, 2]),
        np.array([True]),
        np.empty(0, "<U3"),
        None,
    ],
)
def test_labels_of_a_state_may_be_text(y):
    found = unpack(pack({"rows": PackedRows(np.ones((2, 2)), y, (np.zeros(1),))}))["rows"]
    assert type(found) is PackedRows
    assert (None if y is None else list(y)) == (None if found.y is None else found.y.tolist())


def test_zipped_layers_are_nested_pairs():
    a, b, c = (pack({name: n}) for n, name in enumerate("abc"))
    assert merge([((a, b), c)]) == {"a": 0, "b": 1, "c": 2}


def test_two_classes_of_one_name_are_refused():
    other = type(
        "Masked",
        (Message,),
        {"__annotations__": {"n": int}, "__module__": __name__},
        tells=Fact("tests.nothing", "nobody", "nothing", "none", "nothing"),
    )
    with pytest.raises(ChoreographyError, match="values of two classes of one name"):
        pack({"a": other(1), "b": Masked(np.zeros(1, np.uint64), (1,))})


def test_a_record_that_spark_could_not_count_is_refused(monkeypatch):
    monkeypatch.setattr(partition, "MOST", 1000)
    with pytest.raises(TooLargeError, match=r"takes over 2 GB.*use more partitions"):
        pack({"a": np.zeros(200)})


def test_an_outbox_hands_out_the_wanted_slots_and_nothing_else():
    message = Masked(np.arange(2, dtype=np.uint64), (2,))
    (frame,) = Outbox(("m",))(0, [pack({"m": message, "secret": b"key", "spent": (b"mark",), "cpu": 0.5})])
    told = decode(frame)
    assert set(told) == {"spent", "cpu", "frames"}
    assert set(told["frames"]) == {"m"}


def test_a_value_is_read_back_with_messages_of_known_classes_only():
    frame = encode((1, {"m": Masked2(np.zeros(1, np.uint64))}))
    assert type(decode(frame, kinds={"Masked2": Masked2})[1]["m"]) is Masked2
    with pytest.raises(PeerError, match="a message where a value was expected"):
        decode(frame, kinds={"Masked": Masked})
