"""A broker that alters, cuts, replays, swaps or invents messages: an error that names it, or nothing at all.

Never a word more.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pytest

from conformance.cases import CASES
from organisations.relay import COORDINATOR, Meeting, Relay
from tacit.choreo import encode
from tacit.errors import PeerError
from tacit.runtimes.nats import network as nats
from tacit.runtimes.nats.intake import frame

PLACE = "/somewhere/Masked"
ALTERED = "altered, or is of another run"


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    with Relay(tmp_path_factory.mktemp("relay"), ["p1", "p2", "p3", "p4"]) as relay:
        yield relay


@dataclass
class Handed:
    """What the server hands out."""

    subject: str
    data: bytes


class Scene:
    """p1 and p2 in a run; the broker is in the hands of somebody who has p1's connection, but not its keys."""

    def __init__(self, relay, stack) -> None:
        self.meeting = Meeting(relay, CASES["template"].roster(3))
        self.relay = relay
        self.seats = {p: stack.enter_context(self.meeting.seat(p)) for p in (COORDINATOR, "p1", "p2")}
        _, self.p1, _ = self.seats["p1"]
        _, self.p2, self.journal = self.seats["p2"]
        self.frames = encode(np.arange(150_000.0))
        self.chunks = self.p1.seal(PLACE, "p2", self.frames)

    def inject(self, *letters):
        subject = f"t.{self.meeting.run}.{self.relay.tokens['p1']}.{self.relay.tokens['p2']}"
        broker = self.relay.brokers["p1"]
        for letter in letters:
            broker.call(_until_taken(broker, subject, letter))

    def failure(self):
        end = time.monotonic() + 10
        while self.p2.failure is None and time.monotonic() < end:
            time.sleep(0.01)
        return self.p2.failure

    def arrived(self):
        end = time.monotonic() + 10
        while (chunks := self.journal.incoming(PLACE, "p1")) is None and time.monotonic() < end:
            time.sleep(0.01)
        return chunks


async def _until_taken(broker, subject, letter):
    """The stream is made by the coordinator in its own time."""
    for _ in range(100):
        try:
            return await broker.client.jetstream().publish(subject, letter, timeout=1)
        except Exception:  # noqa: BLE001 - not yet
            await nats.asyncio.sleep(0.05)
    raise AssertionError("the stream was never made")


@pytest.fixture
def scene(relay):
    with ExitStack() as stack:
        scene = Scene(relay, stack)
        yield scene
    scene.meeting.close()


def flipped(scene):
    return scene.chunks[0][:100] + bytes([scene.chunks[0][100] ^ 1]) + scene.chunks[0][101:]


def truncated(scene):
    return scene.chunks[0][:-1]


def of_another_run(scene):
    twin = Meeting(scene.relay, scene.meeting.roster)
    return twin.sealer("p1").seal("p2", b"x" * 100)


def of_another_party(scene):
    return scene.meeting.sealer("p3").seal("p2", b"x" * 100)


def to_another_party(scene):
    return scene.p1.seal(PLACE, "p3", scene.frames)[0]


def reflected(scene):
    return scene.p2.seal(PLACE, "p1", scene.frames)[0]


def invented(scene):
    del scene
    return b"\0" * 284


@pytest.mark.parametrize(
    "forged", [flipped, truncated, of_another_run, of_another_party, to_another_party, reflected, invented]
)
def test_what_p1_did_not_seal_for_p2_ends_the_run_and_is_not_kept(scene, forged):
    scene.inject(forged(scene))
    error = scene.failure()
    assert isinstance(error, PeerError)
    assert ALTERED in str(error)
    assert scene.journal.incoming(PLACE, "p1") is None
    assert scene.journal.received() == {}


def test_replayed_and_reordered_chunks_are_harmless(scene):
    first, second, third, *others = scene.chunks
    scene.inject(third, first, third, *others, second, first)
    assert scene.arrived() == scene.chunks
    assert scene.p2.unseal("p1", "p2", scene.arrived()).join() == scene.frames.join()
    assert scene.p2.failure is None


def test_a_missing_chunk_is_waited_for(scene):
    first, missing, *others = scene.chunks
    scene.inject(first, *others)
    time.sleep(0.3)
    assert scene.journal.incoming(PLACE, "p1") is None
    scene.inject(missing)
    assert scene.arrived() == scene.chunks


def test_two_forms_of_one_message_end_the_run(scene):
    scene.inject(scene.chunks[0], scene.p1.seal(PLACE, "p2", scene.frames)[0])
    assert "p1 sent other bytes than before" in str(scene.failure())


MALFORMED = [
    b"",
    b"\xff\xff\xff\xff",
    b"\x05\0\0\0" + b"\x91" * 5,
    frame(("message",)),
    frame((1, 2, 3, 4)),
    frame(("stop", "", 1, 0), b"\xc1"),
]


@pytest.mark.parametrize("plain", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_letter_of_a_party_ends_the_run_in_its_name(scene, plain):
    scene.inject(scene.meeting.sealer("p1").seal("p2", plain))
    assert str(scene.failure()) == "p1 sent a malformed letter: does it run the same version?"


def test_an_impossible_chunk_of_a_party_ends_the_run_in_its_name(scene):
    scene.inject(scene.meeting.sealer("p1").seal("p2", frame(("message", PLACE, 5, 3))))
    assert str(scene.failure()).startswith("p1 sent chunk 5 of 3 at /somewhere/Masked, which cannot be")


def test_who_is_not_in_a_run_cannot_end_it_nor_store_anything_in_it(relay, scene, caplog):
    scene.inject(scene.chunks[0])  # the stream is there by now
    stranger, run = relay.brokers["p4"], scene.meeting.run
    for letter in (b"", b"x" * 300, scene.chunks[0], scene.meeting.sealer("p1").seal("p2", frame(("stop", "", 1, 0)))):
        with pytest.raises(Exception, match="no response from stream"):
            stranger.call(
                stranger.client.jetstream().publish(
                    f"t.{run}.{relay.tokens['p4']}.{relay.tokens['p2']}", letter, timeout=2
                )
            )
    for letter in (b"", b"x" * 300, scene.chunks[0]):  # and where a broker hands them out nevertheless
        scene.p2._take([Handed(f"t.{run}.{relay.tokens['p4']}.{relay.tokens['p2']}", letter)])
    scene.inject(*scene.chunks)
    assert scene.arrived() == scene.chunks
    assert scene.p2.failure is None
    assert scene.p2.strangers == 3
    assert caplog.text.count("letters of somebody who is not in this run are dropped") == 1


def test_a_replayed_stop_of_an_earlier_attempt_is_not_heard(scene):
    scene.p2._attempt = 2
    scene.p1.stop(("p1", PLACE, "LocalError"))
    scene.inject(*scene.chunks)
    assert scene.arrived()
    assert scene.p2.failure is None


def test_sizes_are_steps(scene):
    sizes = {len(scene.p1.seal(PLACE, "p2", encode(np.zeros(n)))[0]) for n in (90, 91, 95, 99, 100)}
    assert sizes == {1024 + 28}
    assert {len(chunk) for chunk in scene.chunks[:-1]} == {256 * 1024 + 28}
