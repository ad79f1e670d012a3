"""The rules of the running server: a real nats-server, real TLS, on loopback."""

import asyncio
import re
import socket
import ssl
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from consortium_sites import Consortium
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.consortium.broker import server as server_module
from tacit.consortium.broker.server import Server, find_server, start_server
from tacit.consortium.broker.server_config import ServerSettings, configuration
from tacit.consortium.membership.certificate_request import Request
from tacit.consortium.membership.identity import Identity, key_digest
from tacit.consortium.membership.names import CONTROL_STREAM, control_subject, inbox, question_subject
from tacit.errors import LocalError, MissingExtraError, TacitError, install_command

nats = pytest.importorskip("nats", reason="needs the extra 'nats'")
js_api = pytest.importorskip("nats.js.api")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

RUN = "run1"
STREAM = f"R{RUN}"
NAMES = {"clearing": "coordinator", "north": "party", "south": "party", "west": "party", "analyst": "analyst"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Network:
    """A consortium and its server."""

    def __init__(self, folder, **settings) -> None:
        self.consortium = Consortium(folder)
        self.sites = {name: self.consortium.join(name, kind) for name, kind in NAMES.items()}
        self.tokens = {name: self.members.token(name) for name in NAMES}
        store = folder / 'a "store" \\ of ü'  # whatever a path may contain
        self.settings = ServerSettings(self.sites["clearing"], store, f"127.0.0.1:{free_port()}", **settings)
        self.server = None

    @property
    def members(self):
        return self.consortium.members

    @asynccontextmanager
    async def dial(self, name, context=None):
        """A connection; `.refusals` collects what the server refuses."""
        refusals = []

        async def refused(error):
            refusals.append(str(error))

        client = await nats.connect(
            self.server.url,
            tls=context or self.sites[name].tls(self.members.authority),
            tls_handshake_first=True,
            inbox_prefix=inbox(self.tokens[name]).encode(),
            error_cb=refused,
            allow_reconnect=False,
            max_reconnect_attempts=0,
            connect_timeout=5,
        )
        client.refusals = refusals
        try:
            yield client
        finally:
            await client.close()

    async def refuses(self, name, context=None, because=""):
        """Whether the server lets nobody in with this context, and says why in its log."""
        before = len(self.log())
        try:
            async with self.dial(name, context) as client:
                await client.flush(2)
        except (TimeoutError, OSError, nats.errors.Error):
            for _ in range(100):
                if because in self.log()[before:]:
                    return True
                await asyncio.sleep(0.02)
        return False

    def log(self):
        return self.settings.log_file.read_text()

    def as_issued(self, identity, certificate):
        """The same key with another certificate."""
        file = identity.key_file.with_name("other.crt")
        file.write_bytes(certificate.public_bytes(Encoding.PEM))
        return Identity.load(identity.key_file, file)

    async def prepare(self):
        """Streams and consumers, as the coordinator makes them."""
        async with self.dial("clearing") as coordinator:
            js = coordinator.jetstream()
            await js.add_stream(js_api.StreamConfig(name=STREAM, subjects=[f"t.{RUN}.>"]))
            await js.add_stream(js_api.StreamConfig(name=CONTROL_STREAM, subjects=[control_subject("*", "*")]))
            for token in self.tokens.values():
                for where, subject in (
                    (STREAM, f"t.{RUN}.*.{token}"),
                    (CONTROL_STREAM, control_subject("*", token)),
                ):
                    await js.add_consumer(
                        where, js_api.ConsumerConfig(durable_name=token, filter_subject=subject, ack_policy="explicit")
                    )

    async def stored(self):
        """How many messages the run's stream holds."""
        async with self.dial("clearing") as coordinator:
            return (await coordinator.jetstream().stream_info(STREAM)).state.messages


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    made = Network(tmp_path_factory.mktemp("network"))
    with start_server(made.members, made.settings) as made.server:
        asyncio.run(made.prepare())
        yield made
    assert not made.server.alive
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(made.settings.addresses()["listen"], timeout=1)


@pytest.fixture
def own(tmp_path):
    """A network whose members a test may change."""
    made = Network(tmp_path)
    with start_server(made.members, made.settings) as made.server:
        yield made


async def fetch(client, where, consumer):
    subscription = await client.jetstream().pull_subscribe_bind(consumer=consumer, stream=where)
    (message,) = await subscription.fetch(1, timeout=5)
    await message.ack_sync()
    return message.data


def test_a_party_writes_under_its_own_name_and_reads_its_own_consumer(network):
    async def talk():
        north, south = network.tokens["north"], network.tokens["south"]
        async with network.dial("north") as sender, network.dial("south") as receiver:
            await sender.jetstream().publish(f"t.{RUN}.{north}.{south}", b"sealed")
            assert await fetch(receiver, STREAM, south) == b"sealed"
            await sender.jetstream().publish(control_subject(north, south), b"alive")
            assert await fetch(receiver, CONTROL_STREAM, south) == b"alive"
            assert sender.refusals == receiver.refusals == []

    asyncio.run(talk())


def test_an_analyst_proposes_to_the_coordinator_asks_it_and_hears_the_answer(network):
    async def talk():
        analyst, clearing = network.tokens["analyst"], network.tokens["clearing"]
        async with network.dial("analyst") as asking, network.dial("clearing") as answering:
            await asking.jetstream().publish(control_subject(analyst, clearing), b"proposal")
            assert await fetch(answering, CONTROL_STREAM, clearing) == b"proposal"
            questions = await answering.subscribe(question_subject("*", clearing))
            answers = await asking.subscribe(question_subject("*", analyst))
            await answering.flush(5)
            await asking.publish(question_subject(analyst, clearing), b"how far?")
            assert (await questions.next_msg(5)).data == b"how far?"
            await answering.publish(question_subject(clearing, analyst), b"half")
            assert (await answers.next_msg(5)).data == b"half"
            assert asking.refusals == answering.refusals == []

    asyncio.run(talk())


async def heard(client, words, times):
    """Wait until the server's refusals are here: the callback that collects them is a task of its own."""
    for _ in range(500):
        if len([told for told in client.refusals if words in told.lower()]) == times:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"the server refused {client.refusals}, not {times} times with {words!r}")


REFUSED_WRITES = [
    ("north", "t.run1.{south}.{clearing}", "spoof another's name in a run"),
    ("north", "c.{south}.{clearing}", "spoof another's name in control"),
    ("north", "$JS.API.CONSUMER.MSG.NEXT.Rrun1.{south}", "read another's consumer"),
    ("north", "$JS.API.CONSUMER.MSG.NEXT.CONTROL.{south}", "read another's control messages"),
    ("north", "$JS.ACK.Rrun1.{south}.1.1.1.1.1", "acknowledge in another's place"),
    ("north", "_INBOX_{south}.reply", "write into another's inbox"),
    ("north", "$JS.API.STREAM.CREATE.MINE", "create a stream"),
    ("north", "$JS.API.STREAM.UPDATE.Rrun1", "alter a stream"),
    ("north", "$JS.API.STREAM.DELETE.Rrun1", "delete a stream"),
    ("north", "$JS.API.STREAM.PURGE.Rrun1", "empty a stream"),
    ("north", "$JS.API.STREAM.MSG.GET.Rrun1", "read a stream"),
    ("north", "$JS.API.STREAM.MSG.DELETE.Rrun1", "delete a message"),
    ("north", "$JS.API.DIRECT.GET.Rrun1", "read a stream directly"),
    ("north", "$JS.API.STREAM.SNAPSHOT.Rrun1", "copy a stream"),
    ("north", "$JS.API.CONSUMER.CREATE.Rrun1.{north}", "create a consumer"),
    ("north", "$JS.API.CONSUMER.DELETE.Rrun1.{south}", "delete a consumer"),
    ("north", "$SYS.REQ.SERVER.PING", "ask the system"),
    ("analyst", "t.run1.{analyst}.{north}", "take part in a run"),
    ("analyst", "c.{analyst}.{north}", "write to a party"),
    ("analyst", "c.{north}.{clearing}", "spoof a party"),
    ("analyst", "q.{analyst}.{north}", "speak to a party"),
    ("analyst", "q.{clearing}.{analyst}", "spoof a coordinator's answer"),
    ("analyst", "$JS.API.CONSUMER.MSG.NEXT.CONTROL.{analyst}", "read letters"),
    ("north", "q.{north}.{analyst}", "speak to an analyst"),
    ("north", "q.{clearing}.{analyst}", "answer in the coordinator's place"),
    ("analyst", "$JS.API.CONSUMER.MSG.NEXT.Rrun1.{analyst}", "read a run"),
    ("analyst", "$JS.API.STREAM.CREATE.MINE", "create a stream"),
    ("clearing", "t.run1.{north}.{south}", "spoof a party, as the coordinator"),
    ("clearing", "c.{north}.{south}", "spoof a party in control, as the coordinator"),
]


@pytest.mark.parametrize(
    ("who", "subject", "what"), REFUSED_WRITES, ids=[f"{who}: {what}" for who, _, what in REFUSED_WRITES]
)
def test_the_server_refuses_to_let(network, who, subject, what):
    del what

    async def attempt():
        before = await network.stored()
        async with network.dial(who) as client:
            await client.publish(subject.format(**network.tokens), b"{}", reply=f"{inbox(network.tokens[who])}.x")
            await client.flush(5)
            await heard(client, "permissions violation for publish", 1)
        assert await network.stored() == before

    asyncio.run(attempt())


@pytest.mark.parametrize("who", ["north", "analyst", "clearing"])
def test_nobody_listens_to_more_than_its_own_inbox(network, who):
    async def attempt():
        south = network.tokens["south"]
        wanted = [">", "*.>", "*.*", "t.>", "c.>", "q.>", "$JS.>", "$SYS.>", "_INBOX.>"]
        wanted += [f"t.*.*.{south}", f"q.*.{south}", f"_INBOX_{south}.>"]
        async with network.dial(who) as client:
            for subject in wanted:
                await client.subscribe(subject)
                await client.subscribe(subject, queue="shared")
            await client.flush(5)
            await heard(client, "permissions violation for subscription", 2 * len(wanted))

    asyncio.run(attempt())


def test_an_expired_certificate_is_refused(network):
    registrar, north = network.consortium.registrar, network.sites["north"]
    present = registrar.now
    registrar.now = lambda: present() - timedelta(days=30)
    try:
        expired = registrar._issue(
            Request("north", "party", (), north.public, north.sealing), present() - timedelta(days=1)
        )
    finally:
        registrar.now = present
    context = network.as_issued(north, expired).tls(network.members.authority)
    assert asyncio.run(network.refuses("north", context, "certificate has expired"))


def test_a_certificate_of_another_registrar_is_refused_even_for_the_same_key(network, tmp_path):
    north = network.sites["north"]
    foreign = Consortium(tmp_path).registrar.sign(Request("north", "party", (), north.public, north.sealing), "party")
    context = network.as_issued(north, foreign).tls(network.members.authority)
    assert asyncio.run(network.refuses("north", context, "certificate signed by unknown authority"))


def test_a_key_that_the_list_does_not_name_is_refused_even_if_the_registrar_certified_it(network, tmp_path):
    registrar = network.consortium.registrar
    stranger = Identity.create(tmp_path, "north")
    issued = registrar._issue(
        Request("north", "party", (), stranger.public, stranger.sealing), registrar.now() + timedelta(days=1)
    )
    context = network.as_issued(stranger, issued).tls(network.members.authority)
    assert asyncio.run(network.refuses("north", context, "certificate not pinned"))


def test_a_client_without_a_certificate_is_refused(network):
    context = ssl.create_default_context(cadata=network.members.authority)
    assert asyncio.run(network.refuses("north", context, "client didn't provide a certificate"))


def test_a_client_without_tls_hears_nothing(network):
    with socket.create_connection(network.settings.addresses()["listen"], timeout=1) as plain:
        plain.settimeout(0.3)
        with pytest.raises(TimeoutError):
            plain.recv(1)


def test_a_revoked_member_is_disconnected_and_refused_and_the_others_stay(own):
    async def revoke():
        async with own.dial("north") as north, own.dial("south") as south:
            own.consortium.registrar.revoke("north")
            await asyncio.to_thread(own.server.reload, own.members)
            await south.flush(5)
            for _ in range(100):
                if north.is_closed:
                    break
                await asyncio.sleep(0.02)
            assert north.is_closed
        assert await own.refuses("north")

    asyncio.run(revoke())


def test_after_a_rotation_the_old_key_is_refused_and_the_new_one_serves(own):
    old = own.sites["north"]
    identity, request = own.consortium.request("north", folder="second")
    own.consortium.registrar.rotate(request)
    own.server.reload(own.members)
    assert asyncio.run(own.refuses("north", old.tls(own.members.authority)))
    new = own.consortium.fetch(identity)
    assert not asyncio.run(own.refuses("north", new.tls(own.members.authority)))


def test_a_new_member_is_let_in_after_a_reload(own):
    own.tokens["east"] = own.members.token("east")
    own.sites["east"] = own.consortium.join("east")
    assert asyncio.run(own.refuses("east"))
    own.server.reload(own.members)
    assert not asyncio.run(own.refuses("east"))
    own.server.reload(own.members)  # nothing new is no trouble
    assert not asyncio.run(own.refuses("east"))


def test_a_reload_that_the_server_rejects_is_told(own, monkeypatch):
    def broken(_members, settings):
        settings.config_file.write_text("max_payload: many")

    monkeypatch.setattr(server_module, "write_config", broken)
    with pytest.raises(LocalError, match=r"nats-server keeps its old configuration: .*; restart the coordinator"):
        own.server.reload(own.members)
    assert not asyncio.run(own.refuses("north"))


def test_a_taken_port_is_one_line_with_what_to_do(network, tmp_path):
    taken = network.settings.addresses()["listen"][1]
    settings = replace(network.settings, store_dir=tmp_path / "store")
    with (
        pytest.raises(
            LocalError, match=rf"^port {taken} on 127.0.0.1 is taken by another program: .* another port in listen$"
        ),
        start_server(network.members, settings),
    ):
        pytest.fail("started")


def test_two_coordinators_do_not_share_a_folder(network):
    with (
        pytest.raises(LocalError, match="another coordinator uses store_dir"),
        start_server(network.members, network.settings),
    ):
        pytest.fail("started")
    assert network.server.alive


def test_the_server_of_a_killed_coordinator_is_replaced(tmp_path):
    made = Network(tmp_path)
    made.settings.store_dir.mkdir()
    orphan = Server(find_server(), made.settings)
    try:
        orphan.start(made.members)
        with start_server(made.members, made.settings) as made.server:
            assert not orphan.alive
            assert not asyncio.run(made.refuses("north"))
    finally:
        orphan.stop()


def test_the_process_of_a_stale_number_is_left_alone(network, tmp_path):
    settings = replace(network.settings, store_dir=tmp_path)
    settings.pid_file.write_text(network.settings.pid_file.read_text())
    server_module.end_left_behind(tmp_path)
    assert network.server.alive


def test_a_server_that_cannot_start_says_why(tmp_path, monkeypatch):
    made = Network(tmp_path)
    monkeypatch.setattr(
        server_module, "write_config", lambda *_: made.settings.config_file.write_text("max_payload: many")
    )
    with (
        pytest.raises(LocalError, match=r"nats-server ended and did not start: .*; the full log is .*nats.log"),
        start_server(made.members, made.settings),
    ):
        pytest.fail("started")


def test_websockets_obey_the_same_rules(tmp_path):
    made = Network(tmp_path, websocket=f"127.0.0.1:{free_port()}")
    door = made.settings.addresses()["websocket"]
    old = made.sites["north"].tls(made.members.authority)
    with start_server(made.members, made.settings) as made.server:
        with websocket(door, old) as north:
            assert b"PONG" in greeted(north)
            stranger = ssl.create_default_context(cadata=made.members.authority)
            with pytest.raises(OSError, match=r"(?i)certificate|reset|pipe"), websocket(door, stranger) as nobody:
                greeted(nobody)
            _, request = made.consortium.request("north", folder="second")
            made.consortium.registrar.rotate(request)
            made.server.reload(made.members)
            assert b"Closed" in heard_until(north, b"Closed")
        with websocket(door, old) as north:
            assert b"-ERR 'Authorization Violation'" in greeted(north)


@contextmanager
def websocket(door, context):
    """A connection that became a websocket."""
    with (
        socket.create_connection(door, timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as tls,
    ):
        tls.sendall(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        heard_until(tls, b"INFO")
        yield tls


def greeted(tls):
    """What the server answers to a greeting."""
    words = b'CONNECT {"verbose":false}\r\nPING\r\n'
    tls.sendall(bytes([0x82, 0x80 | len(words), 0, 0, 0, 0]) + words)  # one binary frame, masked with zeros
    return heard_until(tls, b"PONG", b"-ERR")


def heard_until(tls, *ends):
    heard = b""
    while not any(end in heard for end in ends):
        more = tls.recv(4096)
        if not more:
            break
        heard += more
    return heard


def test_the_configuration_names_no_one_in_a_subject_and_opens_no_monitor(network):
    settings = replace(network.settings, listen="0.0.0.0:4222")
    config = configuration(network.members, settings, network.settings.config_file)
    assert not {"http", "https", "monitor_port"} & config.keys()
    assert config["max_payload"] == 1 << 20
    assert config["tls"]["pinned_certs"] == [key_digest(network.sites[name].public) for name in sorted(NAMES)]
    subjects = [
        s for user in config["authorization"]["users"] for side in user["permissions"].values() for s in side["allow"]
    ]
    assert not [s for s in subjects if any(name in s for name in NAMES)]
    assert {user["user"].split(",")[0] for user in config["authorization"]["users"]} == {f"CN={name}" for name in NAMES}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"listen": "nowhere"}, "listen = 'nowhere' needs a host and a port: write it like 0.0.0.0:4222"),
        ({"listen": "127.0.0.1:many"}, "needs a host and a port"),
        ({"listen": "192.0.2.1:4222"}, "listen cannot open port 4222 on 192.0.2.1: "),
    ],
)
def test_an_address_that_is_none_is_refused(network, tmp_path, change, words):
    with (
        pytest.raises(LocalError) as error,
        start_server(network.members, replace(network.settings, store_dir=tmp_path, **change)),
    ):
        pytest.fail("started")
    assert words in str(error.value)


def test_only_a_coordinators_certificate_serves(network, tmp_path):
    settings = replace(
        network.settings, store_dir=tmp_path, identity=network.sites["north"], listen=f"127.0.0.1:{free_port()}"
    )
    with (
        pytest.raises(TacitError, match="north is party: the server needs a coordinator's certificate"),
        start_server(network.members, settings),
    ):
        pytest.fail("started")


def test_a_missing_server_names_the_extra(monkeypatch):
    monkeypatch.setattr(server_module.shutil, "which", lambda *_args, **_kw: None)
    with pytest.raises(MissingExtraError, match=rf"needs the extra 'nats': {re.escape(install_command('nats'))}"):
        find_server()
