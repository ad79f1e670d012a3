"""Letters in chunks.

Whatever is cut comes together again, and whatever somebody makes up stays small and does no harm.
"""

import hypothesis.strategies as st
import msgspec
import pytest
from consortium_study import Study
from hypothesis import HealthCheck, given, settings

from tacit.consortium.broker import letters
from tacit.consortium.broker.control import LARGEST, Control
from tacit.consortium.broker.letters import (
    FORGET,
    LINES,
    LONGEST_LINE,
    PERIOD,
    SHOWN,
    UNFINISHED,
    Desk,
    Notices,
    chunks_of,
    cut,
)
from tacit.consortium.membership.names import control_subject, question_subject
from tacit.errors import PeerError
from tacit.runtimes.nats.intake import CHUNK, frame

MIB = 1 << 20


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def desk(clock):
    return Desk(clock)


def taken(desk, *chunks, sender="north", largest=16 * MIB):
    return [letter for chunk in chunks if (letter := desk.take(sender, chunk, largest))]


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_what_is_cut_comes_together_in_any_order(desk, size):
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    chunks = list(cut("answer", body))
    assert len(chunks) == chunks_of(size)
    for order in (chunks, chunks[::-1], [*chunks[:1], *chunks]):
        assert ("answer", body) in taken(desk, *order)
    assert desk.held <= CHUNK


def test_letters_of_two_senders_and_of_one_do_not_mix(desk):
    first, second = list(cut("a", b"1" * 2 * CHUNK)), list(cut("b", b"2" * 2 * CHUNK))
    assert taken(desk, first[0], second[0]) == []
    assert taken(desk, first[1], sender="south") == []
    assert taken(desk, second[1], first[1]) == [("b", b"2" * 2 * CHUNK), ("a", b"1" * 2 * CHUNK)]


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (("answer", "id", 5, 3), 10),
        (("answer", "id", -1, 3), CHUNK),
        (("answer", "id", 0, 0), 0),
        (("answer", "id", 0, 10**9), CHUNK),
        (("answer", "id", 0, 2), CHUNK - 1),
        (("answer", "id", 0, 2), CHUNK + 1),
        (("answer", "id", 0, 1), CHUNK + 1),
        (("x" * 33, "id", 0, 1), 1),
        (("answer", "x" * 33, 0, 2), CHUNK),
    ],
)
def test_a_chunk_that_cannot_be_is_an_error_of_its_sender(desk, head, size):
    with pytest.raises(PeerError, match="north sent a piece of a letter that is not valid"):
        taken(desk, frame(head, bytes(size)))
    assert desk.held == 0


def test_chunks_of_two_letters_under_one_id_are_an_error(desk):
    taken(desk, frame(("answer", "id", 0, 3), bytes(CHUNK)))
    with pytest.raises(PeerError, match="north sent pieces of two letters under one id"):
        taken(desk, frame(("answer", "id", 1, 4), bytes(CHUNK)))


def test_who_begins_letters_without_end_fills_no_memory_and_hinders_nobody(desk):
    largest, other = 4 * CHUNK, list(cut("answer", bytes(2 * CHUNK)))
    taken(desk, other[0], sender="south")
    for i in range(200):
        taken(desk, frame(("answer", f"{i}", i % 3, 4), bytes(CHUNK)), largest=largest)
        taken(desk, frame(("answer", f"short {i}", 3, 4), b"x"), largest=largest)
        assert desk.held <= largest + CHUNK
        assert len(desk._begun["north"]) <= UNFINISHED
    assert taken(desk, other[1], sender="south") == [("answer", bytes(2 * CHUNK))]


def test_a_letter_that_is_never_completed_is_dropped_after_a_while(desk, clock):
    taken(desk, next(cut("answer", bytes(2 * CHUNK))))
    assert desk.held == CHUNK
    clock.now = FORGET
    taken(desk, *cut("answer", b""), sender="south")
    assert desk.held == 0


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def clearing(study):
    """A coordinator's control without a network, with a handler that fails in many ways."""

    def handle(sender, kind, body):
        del sender
        raise {"a": ValueError, "b": PeerError, "c": RecursionError, "d": MemoryError}.get(
            kind, msgspec.ValidationError
        )(body.decode())

    return Control(None, study.sites["clearing"], study.members, handle)


@pytest.fixture(scope="module")
def sealers(study):
    return {
        name: Control(None, identity, study.members, print)._sealer("clearing")
        for name, identity in study.sites.items()
    }


heads = st.tuples(
    st.one_of(st.sampled_from("abcd"), st.text(), st.integers(), st.none()),
    st.one_of(st.sampled_from(["one", "two"]), st.text(), st.binary()),
    st.integers(-3, 6) | st.integers(),
    st.integers(-3, 6) | st.integers(),
).filter(lambda head: all(not isinstance(n, int) or -(2**63) <= n < 2**64 for n in head))
plains = st.one_of(
    st.binary(max_size=300),
    st.builds(frame, heads, st.sampled_from([b"", b"x", b"\xff", bytes(CHUNK)])),
    st.builds(lambda plain, end: plain[:end], st.builds(frame, heads), st.integers(0, 30)),
)
subjects = st.sampled_from(["north", "analyst", "clearing", "nobody"])


@given(st.lists(st.tuples(subjects, plains, st.booleans(), st.booleans()), max_size=20))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_bytes_of_anybody_stop_a_site_or_stay_in_it(study, clearing, sealers, given):
    for sender, plain, sealed, word in given:
        token = study.members.token(sender)
        data = sealers[sender].seal("clearing", plain) if sealed and sender in sealers else plain
        clearing._open((question_subject if word else control_subject)(token, study.members.token("clearing")), data)
    for subject in ("", "c", "c.x", "c.x.y.z", "."):
        clearing._open(subject, b"")
    assert clearing._desk.held <= sum(LARGEST[m.kind] for m in study.members)
    assert all(len(begun) <= UNFINISHED for begun in clearing._desk._begun.values())
    lines = clearing.notices.take()
    assert len(lines) <= LINES
    assert all(len(line) <= LONGEST_LINE and line.isprintable() for line in lines)


def test_ten_thousand_bad_letters_are_a_few_lines_and_a_count(clock):
    notices = Notices(clock)
    for _ in range(10_000):
        notices.refuse("north", "nonsense\nof several lines " + "x" * 9999)
    notices.refuse("south", "something else")
    lines = notices.take()
    assert len(lines) == SHOWN + 1
    assert lines[-1] == "a letter was refused: something else"
    assert all("\n" not in line and len(line) <= LONGEST_LINE for line in lines)
    assert notices.take() == []
    clock.now = PERIOD
    assert notices.take() == [f"{10_000 - SHOWN} more letters of north were refused in 600 s"]
    assert (notices.take(), notices.refused) == ([], 10_001)


def test_a_state_is_said_once_until_it_changes_or_is_settled():
    notices = Notices()
    for state in (1, 1, 2, 2):
        notices.once("to west", state, f"list {state}")
    notices.settle("to west")
    notices.once("to west", 2, "again")
    assert notices.take() == ["list 1", "list 2", "again"]


def test_heads_fit_into_a_step():
    chunk = next(cut("k" * letters.LONGEST_NAME, bytes(2 * CHUNK)))
    assert len(chunk) + 8 <= 512 * 1024
