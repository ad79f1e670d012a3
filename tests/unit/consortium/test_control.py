"""Control letters over a real nats-server with real TLS.

Sealed, each from whom it says, and none keeps the next from being heard.
"""

import contextlib
import secrets
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tacit.consortium.broker import control
from tacit.consortium.broker.control import Control
from tacit.consortium.broker.control_stream import CONTROL_BYTES, per_subject
from tacit.consortium.broker.letters import Notices, cut
from tacit.consortium.broker.server import find_server
from tacit.consortium.membership.members import Members
from tacit.consortium.membership.names import CONTROL_STREAM, control_subject
from tacit.errors import LocalError, MissingExtraError, PeerError
from tacit.runtimes.nats.intake import SEALED_CHUNK, frame
from tacit.runtimes.nats.network import Broker

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from control_network import ControlNetwork  # needs the extra

ALTERED = "PeerError: a message that claims to be from {} was altered, or is of another run: ask the broker's people"


def wait_for(sending, seconds):
    """Whether a letter leaves in time."""
    with contextlib.suppress(TimeoutError):
        sending.result(timeout=seconds)
        return True
    return False


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    with ControlNetwork(tmp_path_factory.mktemp("control")).serving() as made:
        yield made


@pytest.fixture(scope="module")
def sites(network):
    with network.site("clearing") as clearing, network.site("north") as north, network.site("analyst") as analyst:
        yield {"clearing": clearing, "north": north, "analyst": analyst}


@pytest.fixture
def clearing(sites):
    clearing = sites["clearing"]
    clearing.control.notices = Notices()
    clearing.lines.clear()
    return clearing


@pytest.fixture
def north(sites):
    return sites["north"]


def sent(site, receiver, kind, body):
    assert wait_for(site.control.send(receiver, kind, body), 10)


def chunk(site, receiver, kind, body):
    """A letter of one chunk, sealed."""
    return site.control._sealer(receiver).seal(receiver, next(cut(kind, body)))


def between(network, sender, receiver):
    return control_subject(network.tokens[sender], network.tokens[receiver])


def test_letters_arrive_with_their_senders_name(clearing, sites, north):
    sent(north, "clearing", "answer", b"yes")
    assert clearing.hears("north", "answer", b"yes")
    sent(clearing, "north", "proposed", b"a job")
    assert north.hears("clearing", "proposed", b"a job")
    sent(sites["analyst"], "clearing", "propose", b"")
    assert clearing.hears("analyst", "propose", b"")
    assert clearing.control.notices.refused == 0


def test_letters_of_one_sender_arrive_in_order(clearing, north):
    for i in range(40):
        sent(north, "clearing", "ordered", b"%d" % i)
    assert clearing.waits(lambda me: sum(kind == "ordered" for _, kind, _ in me.heard) == 40)
    assert [body for _, kind, body in clearing.heard if kind == "ordered"] == [b"%d" % i for i in range(40)]


def test_a_letter_that_a_site_was_killed_over_is_heard_soon_after_its_next_start(network, clearing):
    sent(clearing, "south", "proposed", b"a job")
    identity, token = network.sites["south"], network.tokens["south"]

    async def taken(client):
        inbox = await client.jetstream().pull_subscribe_bind(consumer=token, stream=CONTROL_STREAM)
        return await inbox.fetch(1, timeout=5)

    with Broker([network.server.url], identity.tls(network.members.authority), token) as broker:
        assert broker.call(taken(broker.client))  # and never acknowledged
    with network.site("south") as south:
        assert south.hears("clearing", "proposed", b"a job")


def test_the_broker_stores_no_plaintext(network, north):
    secret = b"the north clinic has 4711 patients with this rare disease"
    sent(north, "east", "answer in confidence", secret)  # who is away
    stored = network.stored()
    assert between(network, "north", "east").encode() in stored  # it is the store, and it was read
    for plain in (secret, b"4711 patients", b"answer in confidence", b"north", b"analyst"):
        assert plain not in stored
    for identity in network.sites.values():
        assert identity.sealing_private not in stored


def test_what_the_stream_hands_out_is_a_step_long_and_never_the_same(network, clearing, north):
    for body in (b"99", b"100", b"100"):
        sent(north, "east", "count", body)  # who is away
    js = clearing.broker.client.jetstream()
    last = clearing.broker.call(js.stream_info(CONTROL_STREAM)).state.last_seq
    letters = [clearing.broker.call(js.get_msg(CONTROL_STREAM, seq)) for seq in range(last - 2, last + 1)]
    assert {letter.subject for letter in letters} == {between(network, "north", "east")}
    assert len({letter.data for letter in letters}) == 3
    assert {len(letter.data) for letter in letters} == {12 + 256 + 16}
    assert not any(letter.headers for letter in letters)


def test_a_letter_that_cannot_be_opened_is_counted_and_the_next_is_heard(network, clearing, north):
    subject = between(network, "north", "clearing")
    good = chunk(north, "clearing", "replayed", b"once")
    flipped = good[:50] + bytes([good[50] ^ 4]) + good[51:]
    for letter in (flipped, b"", b"x", good[:-1], good + b"x", bytes(300)):
        north.raw(subject, letter)
    assert clearing.refuses(ALTERED.format("north"), times=6)
    assert clearing.control.notices.refused == 6
    sent(north, "clearing", "answer", b"after bad ones")
    assert clearing.hears("north", "answer", b"after bad ones")
    assert not [kind for _, kind, _ in clearing.heard if kind == "replayed"]


def test_a_letter_of_another_member_is_refused_under_ones_own_name(network, clearing, north):
    with network.site("south") as south:
        theirs = chunk(south, "clearing", "stolen", b"of south")
        north.raw(between(network, "north", "clearing"), theirs)
        assert clearing.refuses(ALTERED.format("north"))
        sent(south, "clearing", "answer", b"by south itself")
        assert clearing.hears("south", "answer", b"by south itself")
    assert not [kind for _, kind, _ in clearing.heard if kind == "stolen"]


def test_a_letter_to_another_is_not_for_this_one(network, clearing, north):
    north.raw(between(network, "north", "clearing"), chunk(north, "south", "astray", b"for south"))
    assert clearing.refuses(ALTERED.format("north"))


def test_a_letter_of_another_consortium_is_refused(network, clearing, north):
    twin = Members(msgspec.structs.replace(network.members.content, consortium="Twin"), network.members.signed)
    of_twin = Control(north.broker, network.sites["north"], twin, north.handle)
    letter = of_twin._sealer("clearing").seal("clearing", next(cut("foreign", b"")))
    north.raw(between(network, "north", "clearing"), letter)
    assert clearing.refuses(ALTERED.format("north"))


def test_a_letter_that_opens_to_nonsense_is_counted(network, clearing, north):
    sealer = north.control._sealer("clearing")
    for plain in (
        b"",
        b"\xc1",
        frame(("a kind",)),
        frame((1, b"", 0, 1)),
        frame({}),
        frame(("a kind", "id", 5, 3)),
    ):
        north.raw(between(network, "north", "clearing"), sealer.seal("clearing", plain))
    assert clearing.waits(lambda me: me.control.notices.refused == 6)
    sent(north, "clearing", "answer", b"after nonsense")
    assert clearing.hears("north", "answer", b"after nonsense")


def test_a_handler_that_refuses_a_letter_hears_the_next(network, clearing, north):
    del network
    real = clearing.control._handle

    def strict(sender, kind, body):
        if body == b"forbidden":
            raise PeerError(f"{sender} may not")
        real(sender, kind, body)

    clearing.control._handle = strict
    try:
        sent(north, "clearing", "try", b"forbidden")
        sent(north, "clearing", "try", b"allowed")
        assert clearing.hears("north", "try", b"allowed")
    finally:
        clearing.control._handle = real
    assert clearing.control.notices.take() == ["a letter was refused: PeerError: north may not"]


def without(network, name, **changes):
    """The list of members as the registrar signs it after a change to one of them."""
    entries = tuple(msgspec.structs.replace(m, **changes) if m.name == name else m for m in network.members)
    content = msgspec.structs.replace(network.members.content, version=network.members.version + 1, members=entries)
    return Members.sign(content, network.consortium.registrar.identity)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"revoked": True}, "PeerError: the key of north was revoked by the registrar: north needs a new one"),
        ({"not_after": datetime.now(UTC) - timedelta(days=1)}, "PeerError: the certificate of north expired on"),
    ],
    ids=["revoked", "expired"],
)
def test_letters_of_a_member_that_is_one_no_longer_are_refused(network, clearing, sites, north, changes, words):
    clearing.control.renew(without(network, "north", **changes))
    try:
        sent(north, "clearing", "late", b"too late")
        assert clearing.refuses(words)
        sent(sites["analyst"], "clearing", "ask", words.encode())
        assert clearing.hears("analyst", "ask", words.encode())
        for _ in range(3):
            with pytest.raises(PeerError, match=words.removeprefix("PeerError: ")):
                clearing.control.send("north", "start", b"").result(1)
        assert clearing.logs(words)
        assert sum("a letter to north cannot be sent" in line for line in clearing.lines) == 1
    finally:
        clearing.control.renew(network.members)
    assert not [kind for _, kind, _ in clearing.heard if kind == "late"]


def test_letters_of_a_member_that_left_the_list_are_refused(network, clearing, north):
    entries = tuple(m for m in network.members if m.name != "north")
    clearing.control.renew(Members(msgspec.structs.replace(network.members.content, members=entries), b""))
    try:
        sent(north, "clearing", "late", b"of nobody")
        assert clearing.refuses("PeerError: a letter arrived whose sender is not a member")
    finally:
        clearing.control.renew(network.members)


def test_a_letter_to_nobody_is_an_error_and_one_line_for_each_list_of_members(network, clearing):
    for members in (network.members, without(network, "south", revoked=True)):
        clearing.control.renew(members)
        for _ in range(3):
            with pytest.raises(LocalError, match="'west' is not a member of Northern hospitals"):
                clearing.control.send("west", "start", b"").result(1)
    clearing.control.renew(network.members)
    lines = clearing.control.notices.take()
    assert len(lines) == 2
    assert all(line.startswith("a letter to west cannot be sent: 'west' is not a member") for line in lines)


def test_letters_wait_for_a_receiver_that_is_away(network, clearing):
    sent(clearing, "east", "proposed", b"while you were away")
    with network.site("east") as east:
        assert east.hears("clearing", "proposed", b"while you were away")
    with network.site("east") as again:
        sent(clearing, "east", "proposed", b"afterwards")
        assert again.hears("clearing", "proposed", b"afterwards")
        assert again.heard == [("clearing", "proposed", b"afterwards")]  # what was heard does not come twice


def test_a_server_that_was_wiped_and_started_again_costs_no_letter(tmp_path):
    network = ControlNetwork(tmp_path)
    with network.serving(), network.site("clearing") as clearing, network.site("north") as north:
        network.server.stop()
        pending = north.control.send("clearing", "answer", b"during the outage")
        assert not wait_for(pending, 0.2)
        shutil.rmtree(network.store / "jetstream")
        network.server.start(network.members)
        assert wait_for(pending, 30)
        assert clearing.waits(lambda me: ("north", "answer", b"during the outage") in me.heard, 30)


def test_a_letter_of_50_mb_arrives_whole_and_one_under_way_is_not_sent_twice(network, clearing, north):
    del network
    body = secrets.token_bytes(50_000_000)
    sending = clearing.control.send("north", "start", body)
    assert clearing.control.send("north", "start", body) is sending
    assert wait_for(sending, 60)
    assert north.waits(lambda me: ("clearing", "start", body) in me.heard, 60)
    assert sum(kind == "start" and len(heard) == len(body) for _, kind, heard in north.heard) == 1
    assert north.control._desk.held == 0
    js = clearing.broker.client.jetstream()
    assert clearing.waits(lambda me: me.broker.call(js.stream_info(CONTROL_STREAM)).state.bytes < 1_000_000)


def test_a_letter_that_is_too_large_is_an_error_before_anything_of_it_is_sent(north):
    with pytest.raises(LocalError, match="a letter of 16777217 bytes to clearing is too large: no more than 16777216"):
        north.control.send("clearing", "answer", bytes((16 << 20) + 1)).result(1)


@pytest.fixture
def alone(tmp_path):
    """A coordinator that nobody has written to."""
    with ControlNetwork(tmp_path).serving() as network, network.site("clearing") as clearing:
        clearing.broker.call(clearing.control.prepare())
        yield network, clearing


def test_letters_to_somebody_who_never_reads_wait_are_told_once_and_go_on_later(alone, monkeypatch):
    network, clearing = alone
    monkeypatch.setattr(control, "LONGEST_RETRY", 0.4)
    sendings = [clearing.control.send("east", "proposed", b"%d" % i) for i in range(per_subject(4) + 8)]
    assert clearing.logs("letters to east wait (maximum messages per subject exceeded): does it run, and read them?")
    assert not sendings[-1].done()
    with network.site("east") as east:
        assert east.waits(lambda me: ("clearing", "proposed", b"%d" % (len(sendings) - 1)) in me.heard, 20)
    assert all(wait_for(sending, 5) for sending in sendings)
    assert sum("letters to east wait" in line for line in [*clearing.lines, *clearing.control.notices.take()]) == 1


def test_a_letter_that_the_broker_does_not_take_is_given_up_with_an_error(alone, monkeypatch):
    network, clearing = alone
    monkeypatch.setattr(control, "GIVE_UP", 1.0)
    for i in range(per_subject(4)):
        sent(clearing, "south", "proposed", b"%d" % i)
    with pytest.raises(PeerError, match="south took no letters for 1 s"):
        clearing.control.send("south", "proposed", b"one more").result(20)
    assert clearing.logs("a letter to south cannot be sent: south took no letters")
    with network.site("south") as south:
        assert south.hears("clearing", "proposed", b"0")


def test_an_analyst_gets_no_letters(clearing):
    with pytest.raises(LocalError, match="analyst is an analyst and gets no letters: wait until it asks"):
        clearing.control.send("analyst", "start", b"").result(1)


def test_questions_and_replies_are_heard_by_who_listens_and_leave_nothing(network, clearing, sites):
    del network
    before = clearing.broker.call(clearing.broker.client.jetstream().stream_info(CONTROL_STREAM)).state.last_seq
    sites["analyst"].control.say("clearing", "ask", b"how far?")
    assert clearing.hears("analyst", "ask", b"how far?")
    large = secrets.token_bytes(3_000_000)
    clearing.control.say("analyst", "told", large)
    assert sites["analyst"].hears("clearing", "told", large)
    assert clearing.broker.call(clearing.broker.client.jetstream().stream_info(CONTROL_STREAM)).state.last_seq == before


def test_a_stream_of_an_older_configuration_is_made_anew_and_letters_arrive(tmp_path):
    from nats.js.api import StorageType, StreamConfig  # noqa: PLC0415 - needs the extra

    network = ControlNetwork(tmp_path)
    with network.serving():
        identity, token = network.sites["clearing"], network.tokens["clearing"]
        with Broker([network.server.url], identity.tls(network.members.authority), token) as broker:
            js = broker.client.jetstream()
            old = StreamConfig(name=CONTROL_STREAM, subjects=["c.>"], storage=StorageType.FILE, max_age=24 * 3600.0)
            broker.call(js.add_stream(old))
        with network.site("clearing") as clearing, network.site("north") as north:
            sent(north, "clearing", "answer", b"yes")
            assert clearing.hears("north", "answer", b"yes")
            js = clearing.broker.client.jetstream()
            config = clearing.broker.call(js.stream_info(CONTROL_STREAM)).config
            assert (config.retention, config.discard, config.discard_new_per_subject) == ("workqueue", "new", True)
            assert (config.max_bytes, config.max_msgs_per_subject) == (CONTROL_BYTES, per_subject(4))
            clearing.broker.call(clearing.control.prepare())  # once more changes nothing
            sent(north, "clearing", "answer", b"still")
            assert clearing.hears("north", "answer", b"still")


def test_a_server_whose_store_is_too_small_for_letters_is_told(tmp_path):
    network = ControlNetwork(tmp_path)
    network.settings = replace(network.settings, store_bytes=64 << 20)
    with network.serving(), network.site("clearing") as clearing:
        assert clearing.logs(
            "the server does not keep letters (insufficient storage resources available): is its store large enough?"
        )


@pytest.mark.parametrize(("receivers", "letters"), [(1, 32), (4, 32), (20, 25), (64, 7), (10_000, 1)])
def test_one_sender_alone_fills_a_quarter_of_the_stream_at_most(receivers, letters):
    assert per_subject(receivers) == letters
    assert letters == 1 or receivers * letters * SEALED_CHUNK <= CONTROL_BYTES / 4
