"""Control letters over a real nats-server with real TLS: sealed, each from whom it says, and none keeps the next from being heard."""

import shutil
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tacit.consortium.control import Control, settled
from tacit.consortium.members import Members
from tacit.consortium.names import CONTROL_STREAM, control_subject
from tacit.consortium.server import find_server
from tacit.errors import LocalError, MissingExtraError, PeerError
from tacit.runtimes.nats import Broker

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from control_network import ControlNetwork  # needs the extra

ALTERED = "PeerError: a message that claims to be from {} was altered, or is of another run: ask who runs the broker"


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
    clearing.control.refused.clear()
    return clearing


@pytest.fixture
def north(sites):
    return sites["north"]


def sent(site, receiver, kind, body):
    assert settled(site.control.send(receiver, kind, body), 10)


def between(network, sender, receiver):
    return control_subject(network.tokens[sender], network.tokens[receiver])


def test_letters_arrive_with_their_senders_name(clearing, sites, north):
    sent(north, "clearing", "answer", b"yes")
    assert clearing.hears("north", "answer", b"yes")
    sent(clearing, "north", "proposed", b"a job")
    assert north.hears("clearing", "proposed", b"a job")
    sent(sites["analyst"], "clearing", "propose", b"")
    assert clearing.hears("analyst", "propose", b"")
    assert clearing.control.refused == []


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


def test_the_broker_stores_no_plaintext(network, clearing, north):
    secret = b"the north clinic has 4711 patients with this rare disease"
    sent(north, "clearing", "answer in confidence", secret)
    assert clearing.hears("north", "answer in confidence", secret)
    stored = network.stored()
    assert between(network, "north", "clearing").encode() in stored  # it is the store, and it was read
    for plain in (secret, b"4711 patients", b"answer in confidence", b"north", b"analyst"):
        assert plain not in stored
    for identity in network.sites.values():
        assert identity.sealing_private not in stored


def test_what_the_stream_hands_out_is_a_step_long_and_never_the_same(network, clearing, north):
    for body in (b"99", b"100", b"100"):
        sent(north, "clearing", "count", body)
    assert clearing.waits(lambda me: sum(kind == "count" for _, kind, _ in me.heard) == 3)
    js = clearing.broker.client.jetstream()
    last = clearing.broker.call(js.stream_info(CONTROL_STREAM)).state.last_seq
    letters = [clearing.broker.call(js.get_msg(CONTROL_STREAM, seq)) for seq in range(last - 2, last + 1)]
    assert {letter.subject for letter in letters} == {between(network, "north", "clearing")}
    assert len({letter.data for letter in letters}) == 3
    assert {len(letter.data) for letter in letters} == {12 + 256 + 16}
    assert not any(letter.headers for letter in letters)


def test_a_letter_that_cannot_be_opened_is_counted_and_the_next_is_heard(network, clearing, north):
    subject = between(network, "north", "clearing")
    good = north.control._sealer("clearing").seal("clearing", msgspec.msgpack.encode(("replayed", b"once")))
    flipped = good[:50] + bytes([good[50] ^ 4]) + good[51:]
    for letter in (flipped, b"", b"x", good[:-1], good + b"x", bytes(300)):
        north.raw(subject, letter)
    assert clearing.refuses(ALTERED.format("north"), times=6)
    assert len(clearing.control.refused) == 6
    sent(north, "clearing", "answer", b"after bad ones")
    assert clearing.hears("north", "answer", b"after bad ones")
    assert not [kind for _, kind, _ in clearing.heard if kind == "replayed"]


def test_a_letter_of_another_member_is_refused_under_ones_own_name(network, clearing, north):
    with network.site("south") as south:
        theirs = south.control._sealer("clearing").seal("clearing", msgspec.msgpack.encode(("stolen", b"of south")))
        north.raw(between(network, "north", "clearing"), theirs)
        assert clearing.refuses(ALTERED.format("north"))
        sent(south, "clearing", "answer", b"by south itself")
        assert clearing.hears("south", "answer", b"by south itself")
    assert not [kind for _, kind, _ in clearing.heard if kind == "stolen"]


def test_a_letter_to_another_is_not_for_this_one(network, clearing, north):
    letter = north.control._sealer("south").seal("south", msgspec.msgpack.encode(("astray", b"for south")))
    north.raw(between(network, "north", "clearing"), letter)
    assert clearing.refuses(ALTERED.format("north"))


def test_a_letter_of_another_consortium_is_refused(network, clearing, north):
    twin = Members(msgspec.structs.replace(network.members.content, consortium="Twin"), network.members.signed)
    control = Control(north.broker, network.sites["north"], twin, north.handle)
    letter = control._sealer("clearing").seal("clearing", msgspec.msgpack.encode(("foreign", b"")))
    north.raw(between(network, "north", "clearing"), letter)
    assert clearing.refuses(ALTERED.format("north"))


def test_a_letter_that_opens_to_nonsense_is_counted(network, clearing, north):
    sealer = north.control._sealer("clearing")
    for plain in (b"", b"\xc1", msgspec.msgpack.encode(("a kind",)), msgspec.msgpack.encode((1, b"")), msgspec.msgpack.encode({})):
        north.raw(between(network, "north", "clearing"), sealer.seal("clearing", plain))
    assert clearing.waits(lambda me: len(me.control.refused) == 5)
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
    assert clearing.control.refused == ["PeerError: north may not"]


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
        with pytest.raises(PeerError, match=words.removeprefix("PeerError: ")):
            clearing.control.send("north", "news", b"")
    finally:
        clearing.control.renew(network.members)
    assert not [kind for _, kind, _ in clearing.heard if kind == "late"]


def test_letters_of_a_member_that_left_the_list_are_refused(network, clearing, north):
    entries = tuple(m for m in network.members if m.name != "north")
    clearing.control.renew(Members(msgspec.structs.replace(network.members.content, members=entries), b""))
    try:
        sent(north, "clearing", "late", b"of nobody")
        assert clearing.refuses("PeerError: a letter of no member arrived")
    finally:
        clearing.control.renew(network.members)


def test_a_letter_to_nobody_is_refused_before_it_is_sent(clearing):
    with pytest.raises(LocalError, match="'west' is no member of Northern hospitals"):
        clearing.control.send("west", "news", b"")


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
        assert not settled(pending, 0.2)
        shutil.rmtree(network.store / "jetstream")
        network.server.start(network.members)
        assert settled(pending, 30)
        assert clearing.waits(lambda me: ("north", "answer", b"during the outage") in me.heard, 30)
