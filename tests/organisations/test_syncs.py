"""Between organisations: nothing leaves a party before it is on its disk, neither messages nor acknowledgements."""

from __future__ import annotations

import errno
import os
import threading
import time

import numpy as np
import pytest

from organisations.relay import COORDINATOR, Meeting, Relay
from tacit.arrays import F64
from tacit.choreo import Coordinator, Fact, Holder, Message, Roster
from tacit.consortium.journal.store import Store
from tacit.errors import LocalError
from tacit.runtimes.nats.durable import Limits

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
        admin = relay.brokers[COORDINATOR]
        asking = admin.client.jetstream().consumer_info(f"R{meeting.run}", relay.tokens[COORDINATOR])
        return admin.call(asking).num_ack_pending

    def part(me, run):
        greet(run)
        if me != COORDINATOR:
            holding.wait(60)
            return send_up(run)
        holding.set()
        send_up(run)
        held = count_unacknowledged()
        gate.set()
        until = time.monotonic() + 60
        while count_unacknowledged() and time.monotonic() < until:
            time.sleep(0.02)
        return held, count_unacknowledged()

    played = meeting.play(part)
    meeting.close()
    assert meeting.errors == {}
    held, after = played[COORDINATOR]
    assert held >= 2
    assert after == 0
