"""A member that floods the broker fills its own subjects: runs complete, and the letters of all others arrive."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack

import pytest

from conformance.case import merged, of_party
from conformance.cases import CASES
from organisations.relay import COORDINATOR, Meeting, Relay
from tacit.consortium.broker import control_stream
from tacit.consortium.broker.control import Control
from tacit.consortium.membership.names import CONTROL_STREAM, control_subject
from tacit.runtimes.nats import network

STORE = 64 << 20
LETTER = bytes(500 << 10)


@pytest.fixture
def relay(tmp_path, monkeypatch):
    monkeypatch.setattr(control_stream, "CONTROL_BYTES", STORE // 2)
    monkeypatch.setattr(network, "RUN_BYTES", STORE // 4)
    with Relay(tmp_path, ["p1", "p2", "p3", "flooder"], store_bytes=STORE) as relay:
        yield relay


def listening(stack, relay, name, heard):
    members = relay.consortium.members
    control = Control(
        relay.brokers[name],
        relay.identities[name],
        members,
        lambda *letter: heard.append(letter),
        admin=name == COORDINATOR,
    )
    return stack.enter_context(control)


def flood(relay, letters=70):
    """All that a member may publish, to members, to somebody made up, and at any size; how much the broker took.

    What it took for the coordinator does not count: the coordinator listens, so its letters make room for the next.
    """
    broker, own, taken = relay.brokers["flooder"], relay.tokens["flooder"], 0
    for receiver in (*relay.tokens.values(), *(f"{i:016x}" for i in range(20))):
        for data in (*[LETTER] * letters, b"x"):
            with contextlib.suppress(Exception):
                broker.call(broker.client.jetstream().publish(control_subject(own, receiver), data, timeout=2))
                taken += len(data) if receiver != relay.tokens[COORDINATOR] else 0
                continue
            break  # refused, and so is the next
    return taken


def test_a_member_that_floods_the_control_stream_hinders_no_run_and_no_letter(relay):
    heard = []
    with ExitStack() as stack:
        coordinator = listening(stack, relay, COORDINATOR, heard)
        relay.brokers[COORDINATOR].call(coordinator.prepare())
        taken = flood(relay)
        assert taken < STORE // 4
        state = (
            relay.brokers[COORDINATOR]
            .call(relay.brokers[COORDINATOR].client.jetstream().stream_info(CONTROL_STREAM))
            .state
        )
        assert state.bytes < STORE // 4
        p1 = listening(stack, relay, "p1", [])
        p1.send(COORDINATOR, "answer", b"yes").result(10)
        p1.send("p2", "note", b"to a site that is away").result(10)
        case = CASES["template"]
        meeting, inputs = Meeting(relay, case.roster(3)), case.inputs(case.roster(3))
        played = meeting.play(lambda me, run: case.run(run, of_party(inputs, me)))
        assert meeting.errors == {}
        case.check(merged(played), inputs)
        while ("p1", "answer", b"yes") not in heard:
            coordinator.due.wait(10)
            coordinator.due.clear()
