"""One party on its own, and what it believes of the others' bytes."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tacit.arrays import F64
from tacit.choreo import (
    ChoreographyError,
    Coordinator,
    Each,
    Everyone,
    Fact,
    Holder,
    LocalError,
    Message,
    PeerError,
    Roster,
    choreography,
    decode,
    encode,
    entries_of,
)  # fmt: skip
from tacit.choreo.run import Present
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.apart import Apart, StoppedError, in_threads, queue_posts

SECRET = "the patient is 47"  # noqa: S105 - no password


class Figure(Message, tells=Fact("tests.a_figure", "holders", "aggregate", "all", "a figure")):
    x: float


class Vector(Message, tells=Fact("tests.a_vector", "holders", "aggregate", "all", "a vector")):
    values: F64


class Other(Message, tells=Fact("tests.something_else", "holders", "aggregate", "all", "something else")):
    x: float


def fresh(me):
    return RootEntropy([me], b"job")


def threads(roster, play):
    return in_threads(roster, play, job=b"job", entropy=fresh)


def errors(roster, play, patience=5.0):
    """What each party raised."""
    posts = queue_posts(roster.parties)

    def one(me):
        run = Apart(me, roster, posts[me], job=b"job", entropy=fresh(me), patience=patience)
        try:
            play(run)
        except Exception as error:  # noqa: BLE001 - the error is what the test looks at
            run.stop(error)
            return error

    with ThreadPoolExecutor(len(roster.parties)) as pool:
        found = dict(zip(roster.parties, pool.map(one, roster.parties), strict=True))
    return {party: error for party, error in found.items() if error is not None}


def figure():
    return Figure(1.0)


def collected(run):
    return run.send(Figure, Holder >> Coordinator, run.local(Holder, figure))


def told(run):
    return run.send(Figure, Coordinator >> Holder, run.local(Coordinator, figure))


def failing(who, at_round=1):
    """Everybody tells everybody a figure in each round; one fails in its step."""

    def step(me, t):
        if me == who and t == at_round:
            raise ValueError(SECRET)
        return Figure(1.0)

    @choreography(opens={Everyone: Fact("tests.figures", "holders", "aggregate", "all", "figures")})
    def train(run):
        for t in run.rounds(3, run.carry()):
            run.publish_all(Figure, run.local(Everyone, step, run.who(Everyone), t))

    return train


def test_all_parties_play_at_once_and_each_gets_its_own_result(roster):
    assert threads(roster, lambda run: run.me) == {p: p for p in ("ann", "ben", "cat", "hub")}


def test_a_link_delivers_in_order_in_both_directions():
    posts = queue_posts(("ann", "ben"))
    for data in (b"1", b"2"):
        posts["ann"].put("ben", data)
    posts["ben"].put("ann", b"back")
    assert [posts["ben"].get(0.1) for _ in range(2)] == [("ann", b"1"), ("ann", b"2")]
    assert posts["ann"].get(0.1) == ("ben", b"back")


def test_a_party_sends_only_to_those_the_text_names(ann):
    collected(ann.run)
    sent = ann.sent()
    assert list(sent) == ["hub"]
    kind, place, data = decode(sent["hub"][0])
    assert (kind, place) == ("message", "/Figure")
    assert data.tobytes() == encode(Figure(1.0)).join()


@pytest.mark.parametrize("who", ["ann", "hub"])
def test_when_a_party_stops_all_others_get_a_peer_error_that_names_it_and_the_class_of_its_error(roster, who):
    found = errors(roster, failing(who))
    assert isinstance(found.pop(who), ValueError)
    assert len(found) == 3
    for error in found.values():
        assert isinstance(error, PeerError)
        assert str(error).startswith(f"{who} stopped at ")
        assert str(error).endswith("(ValueError): see its own log")


@pytest.mark.parametrize("who", ["ann", "hub"])
def test_when_a_party_stops_the_text_of_its_error_reaches_nobody(roster, who):
    found = errors(roster, failing(who))
    found.pop(who)
    assert found
    assert all(SECRET not in str(error) for error in found.values())


def test_the_text_of_an_error_never_leaves_the_party(ann):
    ann.run.stop(LocalError(SECRET))
    sent = ann.sent()
    assert sorted(sent) == ["ben", "cat", "hub"]
    for (data,) in sent.values():
        assert SECRET.encode() not in data
        assert decode(data) == ("stop", "ann", "the start", "LocalError")


def test_the_text_of_a_chained_or_noted_error_never_leaves_the_party_either(ann):
    error = LocalError(SECRET)
    error.__cause__ = ValueError(SECRET)
    error.add_note(SECRET)
    ann.run.stop(error)
    sent = ann.sent()
    assert sorted(sent) == ["ben", "cat", "hub"]
    assert all(SECRET.encode() not in b"".join(data) for data in sent.values())


def test_a_stop_that_was_heard_is_passed_on_as_it_was(ann):
    ann.raw("hub", encode(("stop", "ben", "/train/round[1]/step()", "ValueError")).join())
    with pytest.raises(StoppedError) as caught:
        told(ann.run)
    assert str(caught.value) == "ben stopped at /train/round[1]/step() (ValueError): see its own log"
    ann.run.stop(caught.value)
    assert {decode(data) for (data,) in ann.sent().values()} == {
        ("stop", "ben", "/train/round[1]/step()", "ValueError")
    }


def test_when_a_party_stops_the_others_learn_at_which_place(roster):
    found = errors(roster, failing("ben"))
    assert "/train/round[1]" in str(found["hub"])


def test_a_party_that_waits_for_another_learns_who_really_stopped(roster):
    def text(run):
        first, second, third = run.members(Holder)

        def fail():
            raise ValueError(SECRET)

        passed = run.send(Figure, first >> second, run.local(first, fail))
        run.send(Figure, second >> third, passed)

    assert str(errors(roster, text)["cat"]).startswith("ann stopped")


@pytest.mark.parametrize("who", ["ann", "ben", "cat"])
def test_a_stop_names_the_first_culprit_at_every_party(roster, who):
    """Along a ring each waits for the one before; only its neighbour meets the culprit itself."""

    def text(run):
        ring = run.members(Everyone)
        for t in run.rounds(3, run.carry()):
            for one, other in zip(ring, (*ring[1:], ring[0]), strict=True):
                run.send(Figure, one >> other, run.local(one, step, run.who(one), t))

    def step(me, t):
        if me == who and t == 1:
            raise ValueError(SECRET)
        return Figure(1.0)

    found = errors(roster, text)
    assert isinstance(found.pop(who), ValueError)
    place = f"/round[1]/step(){'#' * (who != 'ann')}{roster.parties.index(who) or ''}"
    assert {p: str(e) for p, e in found.items()} == {
        p: f"{who} stopped at {place} (ValueError): see its own log" for p in roster.parties if p != who
    }


def test_in_threads_raises_the_cause_and_not_its_echoes(roster):
    with pytest.raises(ValueError, match=SECRET):
        threads(roster, failing("cat"))


def test_a_party_that_stays_silent_is_named_with_the_place(hub):
    hub.deliver("ann", "/Figure", Figure(1.0))
    with pytest.raises(PeerError, match="hub waited at /Figure for ben, cat, and nothing came: is it running"):
        collected(hub.run)


def test_a_message_for_another_place_is_refused_with_both_places(hub):
    hub.deliver("ann", "/train/round[7]/Figure", Figure(1.0))
    with pytest.raises(
        PeerError, match=r"hub expected /Figure from ann, got /train/round\[7\]/Figure: do both run the same version"
    ):
        collected(hub.run)


def test_a_message_sent_twice_is_refused_at_the_next_place(hub):
    for sender in ("ann", "ben", "cat"):
        for _ in range(2):
            hub.deliver(sender, "/Figure", Figure(1.0))
    collected(hub.run)
    with pytest.raises(PeerError, match="hub expected /Figure#1 from ann, got /Figure"):
        collected(hub.run)


def test_a_message_of_another_type_is_refused_with_both_parties_and_both_types(hub):
    for sender in ("ann", "ben", "cat"):
        hub.deliver(sender, "/Figure", Other(1.0) if sender == "ben" else Figure(1.0))
    with pytest.raises(PeerError, match="ben sent hub a bad Figure at /Figure: expected Figure, got 'Other'"):
        collected(hub.run)


def test_a_message_with_a_field_of_another_type_is_refused_by_name(ann):
    ann.deliver("hub", "/Figure", Figure("x"))
    with pytest.raises(
        PeerError, match="hub sent ann a bad Figure at /Figure: field x of Figure is not of its declared type"
    ):
        told(ann.run)


GOOD = np.frombuffer(encode(Figure(1.0)).join(), np.uint8)
ENVELOPES = [
    5, ("message", "/Figure"), ("message", 5, GOOD), ("message", "/Figure", "x"),
    ("message", "/Figure", GOOD.tobytes()),
    ("message", "/Figure", GOOD.astype(np.int64)), ("message", "/Figure", GOOD, 1), ("post", "/Figure", GOOD),
    ("stop",), ("stop", "hub", "/Figure"), ("stop", "hub", "/Figure", b"ValueError"),
    ("stop", 5, "/Figure", "ValueError"),
    ("stop", "hub", None, "ValueError"), ("stop", "hub", "/Figure", "ValueError", SECRET), {"stop": "hub"}, "stop",
    Figure(1.0),
]  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"junk", *(encode(v).join() for v in ENVELOPES)])
def test_bytes_that_are_no_envelope_are_blamed_on_their_sender(ann, data):
    ann.raw("hub", data)
    with pytest.raises(PeerError, match=r"^hub sent (ann )?a malformed envelope") as caught:
        told(ann.run)
    assert not isinstance(caught.value, StoppedError)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"junk",
        bytes(9),
        bytes(200),
        GOOD.tobytes()[:-1],
        GOOD.tobytes() + b"x",
        encode(5).join(),
        encode(("x", 1.0)).join(),
    ],
    ids=["nothing", "junk", "a prefix of zeros", "zeros", "truncated", "surplus", "a number", "a tuple"],
)
def test_bytes_that_are_no_message_are_blamed_on_their_sender(ann, body):
    ann.deliver("hub", "/Figure", body)
    with pytest.raises(PeerError, match="hub"):
        told(ann.run)


@pytest.mark.parametrize(
    "body", [np.array(3, np.uint8), np.zeros((0, 3), np.uint8), np.zeros((5, 9), np.uint8), GOOD.reshape(1, -1)]
)
def test_a_body_of_another_shape_is_a_peer_error(ann, body):
    ann.raw("hub", encode(("message", "/Figure", body)).join())
    with pytest.raises(PeerError, match="hub"):
        told(ann.run)


def test_the_text_a_peer_puts_into_a_place_is_cut_short(ann):
    ann.deliver("hub", "/" + "x" * 10_000, Figure(1.0))
    with pytest.raises(PeerError) as caught:
        told(ann.run)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "place", ["/" + "x" * 10_000, "/a\n2026-01-01 ann: all is well\x1b[2J"], ids=["long", "control characters"]
)
def test_the_text_a_stopping_peer_puts_into_a_place_is_cut_and_escaped(ann, place):
    for stop in (("hub", place, "ValueError"), (place, "/Figure", "ValueError"), ("hub", "/Figure", place)):
        ann.raw("hub", encode(("stop", *stop)).join())
        with pytest.raises(StoppedError) as caught:
            told(ann.run)
        assert len(str(caught.value)) < 300
        assert str(caught.value).isprintable()
        ann.run.stop(caught.value)
        assert all(len(data) < 600 for sent in ann.sent().values() for data in sent)


def test_a_stop_is_heard_from_whomever_it_comes(hub):
    for sender in ("ann", "ben"):
        hub.deliver(sender, "/Figure", Figure(1.0))
    hub.stop("ann", "/Figure", "MemoryError")
    with pytest.raises(StoppedError, match=r"^ann stopped at /Figure \(MemoryError\): see its own log$"):
        collected(hub.run)  # still waits for cat


def gathered(run, at_least=2):
    return run.gather(Figure, Holder >> Coordinator, run.local(Holder, figure), at_least=at_least)[1]


@pytest.mark.parametrize(
    "claimed",
    [(), ("ann",), ("ann", "ann"), ("ann", "zed"), ("ann", "hub"), ("ann", "ben", "cat", "hub")],
    ids=["nobody", "too few", "one twice", "a stranger", "no sender", "one too many"],
)
def test_who_answered_is_believed_only_if_it_can_be_true(ann, claimed):
    ann.deliver("hub", "/Present", Present(claimed))
    with pytest.raises(PeerError, match="hub"):
        gathered(ann.run)


def test_who_answered_is_believed_if_it_can_be_true(ann):
    ann.deliver("hub", "/Present", Present(("ann", "cat")))
    assert gathered(ann.run) == ("ann", "cat")


def test_a_coordinator_that_tells_parties_different_things_gives_them_different_tags(wire):
    tags = []
    for told_x in (1.0, 1.0, 2.0):
        ann = wire("ann")
        ann.deliver("hub", "/Figure", Figure(told_x))
        ann.run.publish(Figure, ann.run.local(Coordinator, figure))
        tags.append(entries_of(ann.run.tag())["ann"])
    assert tags[0] == tags[1] != tags[2]


def test_the_text_cannot_tell_parties_different_things_when_it_publishes(roster):
    def text(run):
        run.publish(
            Figure, run.local(Coordinator, lambda: Each({p: Figure(float(p == "ann")) for p in run.roster.parties}))
        )

    with pytest.raises(ChoreographyError, match="publish Figure tells everyone the same: Each is for send"):
        threads(roster, text)


def test_parties_of_another_job_have_other_tags():
    roster = Roster({Holder: ("ann", "ben")})
    posts = queue_posts(roster.parties)
    tags = {
        job: Apart("ann", roster, posts["ann"], job=job, entropy=fresh("ann")).tag()._entries["ann"]
        for job in (b"one", b"two")
    }
    assert tags[b"one"] != tags[b"two"]


@pytest.mark.parametrize("words", [(1 << 21) - 64, 1 << 21, (1 << 21) + 1, 1 << 22])
def test_a_message_of_more_than_16_mebibytes_arrives(roster, words):
    def text(run):
        first, second, _ = run.members(Holder)
        sent = run.local(first, lambda: Vector(np.arange(words, dtype=np.float64)))
        arrived = run.send(Vector, first >> second, sent)
        (row,) = run.ledger
        found = run.local(second, lambda m: (m.values.size, float(m.values[-1]), float(m.values.sum())), arrived)
        return dict(entries_of(found)), row.bytes

    found = threads(roster, text)
    assert found["ben"][0] == {"ben": (words, words - 1.0, words * (words - 1) / 2)}
    assert found["ben"][1] == found["ann"][1] > 8 * words
    assert found["cat"] == ({}, None)


def test_published_messages_of_more_than_16_mebibytes_arrive_from_everybody_at_once(roster):
    def text(run):
        told = run.publish_all(Vector, run.local(Everyone, lambda: Vector(np.ones((1 << 21) + 1))))
        return {p: m.values.sum() for p, m in told.items()}

    assert threads(roster, text) == {p: dict.fromkeys(roster.parties, (1 << 21) + 1.0) for p in roster.parties}


def test_two_parties_can_send_each_other_large_messages_at_once(roster):
    def text(run):
        sent = run.local(Holder, lambda: Vector(np.zeros(1 << 17)))
        arrived = run.send(Vector, Holder >> Holder, sent)
        return run.local(Holder, lambda inbox: sum(m.values.size for m in inbox.values()), arrived)._entries

    assert threads(roster, text)["ann"] == {"ann": 2 << 17}


def test_a_slow_party_is_waited_for(roster):
    def slow(me):
        time.sleep(0.15 if me == "ben" else 0.0)
        return Figure(1.0)

    def text(run):
        arrived = run.send(Figure, Holder >> Coordinator, run.local(Holder, slow, run.who(Holder)))
        return run.local(Coordinator, tuple, arrived)._entries

    assert threads(roster, text)["hub"] == {"hub": ("ann", "ben", "cat")}
