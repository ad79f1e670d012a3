"""What lies between the network thread and the run: who is woken when, and what need not be opened twice."""

import threading
import time

import pytest

from tacit.runtimes.nats import intake as module
from tacit.runtimes.nats.intake import Arrival, Intake

PLACE = "/sum/Masked"


def arrival(sender, kind="message", *, place=PLACE, of=1, body=b"x"):
    return Arrival(sender, (kind, place, 0, of), memoryview(body), None)


@pytest.fixture
def intake():
    return Intake()


@pytest.fixture
def waiting(intake):
    """Somebody who waits for two messages; set when the wait is over."""
    over = threading.Event()

    def wait():
        intake.wait([(PLACE, "a"), (PLACE, "b")], 30)
        over.set()

    thread = threading.Thread(target=wait)
    thread.start()
    until = time.monotonic() + 30
    while intake._awaited is None and time.monotonic() < until:
        time.sleep(0.001)
    yield over
    intake.tell()
    thread.join()


def test_who_waits_is_woken_once_all_is_here(intake, waiting):
    intake.lay([arrival("a"), arrival("c")])
    intake.lay([arrival("b", place="/sum/Other")])
    assert not waiting.wait(0.05)
    intake.lay([arrival("b")])
    assert waiting.wait(30)
    assert [each.sender for each in intake.take()] == ["a", "c", "b", "b"]
    assert intake.take() == []


@pytest.mark.parametrize("letter", [arrival("a", "stop"), arrival("a", "want"), arrival("a", of=2)])
def test_who_waits_is_woken_at_once_for_what_is_no_whole_message(intake, waiting, letter):
    intake.lay([letter])
    assert waiting.wait(30)


def test_who_waits_hears_of_a_failure_also_of_one_before_the_wait(intake, waiting):
    intake.tell()
    assert waiting.wait(30)
    intake.tell()
    start = time.monotonic()
    intake.wait([(PLACE, "a")], 30)
    assert time.monotonic() - start < 10


def test_what_lies_here_is_not_waited_for(intake):
    intake.lay([arrival("a")])
    start = time.monotonic()
    intake.wait([(PLACE, "a"), (PLACE, "b")], 30)
    assert time.monotonic() - start < 10


def test_a_message_is_ready_once_and_many_bytes_are_left_to_the_journal(intake, monkeypatch):
    monkeypatch.setattr(module, "READY", 10)
    intake.keep_ready([arrival("a", body=b"12345678"), arrival("b", body=b"123"), arrival("c", of=2)])
    assert bytes(intake.fetch_ready((PLACE, "a"))) == b"12345678"
    assert [intake.fetch_ready((PLACE, sender)) for sender in "abc"] == [None] * 3
    intake.keep_ready([arrival("b", body=b"123")])
    assert bytes(intake.fetch_ready((PLACE, "b"))) == b"123"
