"""Between organisations: what a run waits for goes before what is dealt ahead, and to all receivers in turns."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from organisations.relay import COORDINATOR, Meeting, Relay
from tacit.choreo import Coordinator, Holder, Roster, encode
from tacit.runtimes.nats.courier import LEAST, MOST, PARTS
from tacit.runtimes.nats.network import dealt_to, stream_of
from tacit.runtimes.nats.posting import Inbox, give_back

ROSTER = Roster({Holder: ("p1", "p2"), Coordinator: (COORDINATOR,)})
DEALT = 40


@pytest.fixture
def relay(tmp_path):
    with Relay(tmp_path, ["p1", "p2"]) as relay:
        yield relay


def post(courier, journal, receiver, place, size):
    """Commit a message of so many bytes, and let it leave."""
    frames = encode(np.zeros(size // 8))
    journal.commit_outgoing(place, receiver, courier.seal(place, receiver, frames))
    courier.publish()


async def read(client, meeting, consumer, *, gives_way):
    """The senders of the letters that a first request brings, which the broker gets back."""
    inbox = Inbox(client, stream_of(meeting.run), consumer, gives_way=gives_way)
    await inbox.open()
    letters = []
    while not letters:
        letters = await inbox.fetch()
    await inbox.close()
    await give_back(letters)
    return [letter.subject.split(".")[2] for letter in letters]


def test_dealt_bytes_lie_before_no_letter_of_the_others_and_are_asked_for_one_by_one_at_first(relay):
    meeting, tokens = Meeting(relay, ROSTER), relay.tokens
    with meeting.seat(COORDINATOR) as (_, dealer, its), meeting.seat("p1") as (_, holder, own):
        for k in range(DEALT):
            post(dealer, its, "p2", f"/deal#{k}/Dealt", 1 << 10)
        post(holder, own, "p2", "/open/Opening", 1 << 10)
        held = relay.brokers[COORDINATOR]
        jetstream = held.client.jetstream()
        for name in (tokens["p2"], dealt_to(tokens["p2"])):
            least = DEALT if name != tokens["p2"] else 1
            for _ in range(600):
                if held.call(jetstream.consumer_info(stream_of(meeting.run), name)).num_pending >= least:
                    break
                threading.Event().wait(0.05)
        broker = relay.brokers["p2"]
        others = broker.call(read(broker.client, meeting, tokens["p2"], gives_way=False))
        dealt = broker.call(read(broker.client, meeting, dealt_to(tokens["p2"]), gives_way=True))
    meeting.close()
    assert set(others) == {tokens["p1"]}
    assert dealt == [tokens[COORDINATOR]]


def test_every_receiver_is_sent_the_first_chunk_before_one_is_sent_the_second(relay):
    meeting, gate = Meeting(relay, ROSTER), threading.Event()
    with meeting.seat(COORDINATOR), meeting.seat("p2"), meeting.seat("p1") as (_, sender, journal):

        async def stand():  # so that nobody else draws what is committed
            gate.wait(60)

        relay.brokers["p1"].begin(stand())
        try:
            for receiver in ("p2", COORDINATOR):
                frames = encode(np.zeros(PARTS * LEAST // 8))
                journal.commit_outgoing("/open", receiver, sender.seal("/open", receiver, frames))
            drawn = [(receiver, chunk) for _, place, receiver, chunk, _ in sender._draw() if place == "/open"]
        finally:
            gate.set()
    meeting.close()
    assert [chunk for _, chunk in drawn] == sorted(chunk for _, chunk in drawn)
    assert {receiver for receiver, chunk in drawn if chunk == 0} == {"p2", COORDINATOR}
    assert max(chunk for _, chunk in drawn) >= PARTS - 1


def test_a_message_is_cut_into_few_chunks_that_are_not_too_small(relay):
    meeting = Meeting(relay, ROSTER)
    with meeting.seat(COORDINATOR), meeting.seat("p1") as (_, sender, _):
        cut = {size: len(sender.seal("/open", "p2", encode(bytes(size)))) for size in (1, LEAST // 2, MOST, 9 * MOST)}
    meeting.close()
    assert cut == {1: 1, LEAST // 2: 1, MOST: PARTS, 9 * MOST: 10}
