"""Between organisations: nothing leaves a party before it is on its disk, neither messages nor acknowledgements."""

from __future__ import annotations

import errno
import os
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from organisations.relay import COORDINATOR, Meeting, Relay
from tacit.arrays import F64
from tacit.choreo import Coordinator, Fact, Holder, Message, Roster, encode
from tacit.consortium.journal.store import Store
from tacit.errors import LocalError
from tacit.runtimes.nats import courier
from tacit.runtimes.nats.courier import NatsCourier
from tacit.runtimes.nats.durable import Limits
from tacit.runtimes.nats.network import PENDING

ROSTER = Roster({Holder: ("p1", "p2"), Coordinator: (COORDINATOR,)})


class Value(Message, tells=Fact("tests.all_of_it", "holders", "aggregate", "all", "all of it")):
    """A number."""

    values: F64


@pytest.fixture
def relay(tmp_path):
    with Relay(tmp_path, ["p1", "p2"]) as relay:
        yield relay


def greet(run):
    """Wait until everybody is there."""
    run.publish_all(Value, run.local(Holder, lambda: Value(np.zeros(1))))


def send_up(run):
    return run.send(Value, Holder >> Coordinator, run.local(Holder, lambda: Value(np.ones(2))))


def letters_for(name, meeting):
    """What the broker holds for a party."""
    admin = meeting.relay.brokers[COORDINATOR]
    consumer = meeting.relay.tokens[name]
    return admin.call(admin.client.jetstream().consumer_info(f"R{meeting.run}", consumer))


def wait_until(true, seconds):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)


def test_what_a_disk_did_not_take_does_not_leave_and_the_run_says_why(relay, monkeypatch):
    broken = threading.Event()

    def sync(self, written=None, sync=Store.sync):
        if broken.is_set() and self.folder.name == "p1":
            raise LocalError(f"the journal cannot be written ({os.strerror(errno.EIO)})")
        sync(self, written)

    monkeypatch.setattr(Store, "sync", sync)
    meeting = Meeting(relay, ROSTER, limits=Limits(silence=3.0))

    def part(me, run):
        greet(run)
        if me == "p1":
            broken.set()
        send_up(run)
        run.publish(Value, run.local(Coordinator, lambda: Value(np.zeros(1))))  # which all wait for

    meeting.play(part)
    assert "cannot be written (Input/output error)" in str(meeting.errors["p1"])
    assert "p1 has been silent for over 3 s at /Value" in str(meeting.errors[COORDINATOR])


def test_a_letter_is_acknowledged_when_it_is_on_the_disk_and_the_run_does_not_wait_for_that(relay, monkeypatch):
    holding, gate = threading.Event(), threading.Event()

    def sync(self, written=None, sync=Store.sync):
        if holding.is_set() and self.folder.name == COORDINATOR:
            gate.wait(60)
        sync(self, written)

    monkeypatch.setattr(Store, "sync", sync)
    meeting = Meeting(relay, ROSTER)

    def count_unacknowledged():
        return letters_for(COORDINATOR, meeting).num_ack_pending

    def part(me, run):
        greet(run)
        if me != COORDINATOR:
            holding.wait(60)
            return send_up(run)
        holding.set()
        send_up(run)
        held = count_unacknowledged()
        gate.set()
        wait_until(lambda: not count_unacknowledged(), 60)
        return held, count_unacknowledged()

    played = meeting.play(part)
    meeting.close()
    assert meeting.errors == {}
    held, after = played[COORDINATOR]
    assert held >= 2
    assert after == 0


def test_what_a_courier_took_and_did_not_keep_is_there_for_the_next_one_at_once(relay, monkeypatch):
    """The broker hands out no more than `PENDING` letters, and waits ten seconds before it hands one out again."""
    meeting = Meeting(relay, ROSTER)
    with meeting.seat(COORDINATOR), meeting.seat("p1") as (_, sender, _):
        with monkeypatch.context() as patch, meeting.seat("p2"):
            patch.setattr(courier, "LINGER", 60.0)  # it comes to acknowledge nothing
            for _ in range(2 * PENDING):
                sender.want("/nowhere", "p2")
            wait_until(lambda: letters_for("p2", meeting).num_ack_pending == PENDING, 30)
        left = letters_for("p2", meeting)
        assert left.num_pending > PENDING // 2  # so that the next one has to be handed some of them again
        with meeting.seat("p2"):
            wait_until(lambda: letters_for("p2", meeting).num_pending == 0, 5)
            assert letters_for("p2", meeting).num_pending == 0
    meeting.close()


@contextmanager
def standstill(broker):
    """A network thread that gets to nothing meanwhile."""
    gate = threading.Event()

    async def stand():
        gate.wait(60)

    broker.begin(stand())
    try:
        yield
    finally:
        gate.set()


def test_all_leaves_that_is_committed_before_the_network_thread_gets_to_any_of_it(relay):
    meeting, places = Meeting(relay, ROSTER), ("/first", "/second", "/third")
    with (
        meeting.seat(COORDINATOR),
        meeting.seat("p2") as (_, receiver, _),
        meeting.seat("p1") as (_, sender, journal),
    ):
        wait_until(lambda: sender._resting, 30)
        with standstill(relay.brokers["p1"]):
            for place in places:
                journal.commit_outgoing(place, "p2", sender.seal(place, "p2", encode(place)))
                sender.publish()
        wait_until(lambda: all(receiver._mailbox.incoming(place, "p1") for place in places), 5)
        assert [place for place in places if receiver._mailbox.incoming(place, "p1")] == list(places)
    meeting.close()


def test_a_letter_is_acknowledged_that_a_run_was_still_writing_down_when_the_others_were(relay, monkeypatch):
    """The run sends nothing, and no letter comes that would remind anybody of that one."""
    meeting, here = Meeting(relay, ROSTER), threading.current_thread()

    def write_late(self, arrivals, write=NatsCourier._write_down):
        if threading.current_thread() is here:  # which plays p2
            time.sleep(5 * courier.LINGER)
        write(self, arrivals)

    monkeypatch.setattr(courier, "BEAT", 60.0)
    with meeting.seat(COORDINATOR), meeting.seat("p1") as (_, sender, _), meeting.seat("p2") as (_, receiver, _):
        wait_until(lambda: not receiver.ungreeted and not letters_for("p2", meeting).num_ack_pending, 30)
        receiver.wait("/nothing", ["p1"], 0)  # so that the next wait is for what comes then
        monkeypatch.setattr(NatsCourier, "_write_down", write_late)
        sender.want("/nowhere", "p2")
        receiver.wait("/nothing", ["p1"], 5)
        wait_until(lambda: not letters_for("p2", meeting).num_ack_pending, 5)  # it would come again after ten seconds
        assert letters_for("p2", meeting).num_ack_pending == 0
    meeting.close()
