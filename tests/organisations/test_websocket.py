"""Dialling a real nats-server: by websocket, through a proxy, and what a person reads when it does not work."""

import asyncio
import base64
import contextlib
import socket
import socketserver
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit" / "consortium"))

from consortium_sites import Consortium

from tacit.consortium.broker.server import find_server, start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.errors import LocalError, MissingExtraError
from tacit.runtimes.nats.dialling import UnreachableError
from tacit.runtimes.nats.network import Broker

pytest.importorskip("nats", reason="needs the extra 'nats'")
pytest.importorskip("aiohttp", reason="needs the extra 'nats'")
api = pytest.importorskip("nats.js.api")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

BODY = bytes(range(256)) * 3000  # 768 kB, more than a websocket frame or a TLS record


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Proxy(socketserver.ThreadingTCPServer):
    """Knows CONNECT and nothing else; remembers what it was asked and what it carried."""

    daemon_threads = True

    def __init__(self, status=b"200 OK", leads_to=None) -> None:
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.leads_to, self.status, self.asked, self.carried = leads_to, status, [], bytearray()
        self.ends = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut(self):
        """Drop every connection that it carries."""
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def running(self):
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield self
        finally:
            self.cut()
            self.shutdown()
            thread.join()
            self.server_close()


class Tunnel(socketserver.BaseRequestHandler):
    def handle(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.request.recv(1)
        self.server.asked.append(head.decode())
        self.request.sendall(b"HTTP/1.1 " + self.server.status + b"\r\n\r\n")
        if not self.server.status.startswith(b"200"):
            return
        host, port = (self.server.leads_to or head.split()[1].decode()).split(":")
        with socket.create_connection((host, int(port))) as server:
            self.server.ends += [self.request, server]
            back = threading.Thread(target=self.pump, args=(server, self.request))
            back.start()
            self.pump(self.request, server)
            back.join()

    def pump(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.server.carried += data
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


class Site:
    """A consortium with a server that has both doors, and brokers for its members."""

    def __init__(self, folder) -> None:
        self.consortium = Consortium(folder / "ours")
        self.strangers = Consortium(folder / "theirs", "Strangers")
        self.sites = {
            name: self.consortium.join(name, kind) for name, kind in (("clearing", "coordinator"), ("north", "party"))
        }
        self.stranger = self.strangers.join("north")
        self.settings = ServerSettings(
            self.sites["clearing"], folder / "store", f"127.0.0.1:{free_port()}", websocket=f"127.0.0.1:{free_port()}"
        )

    @property
    def url(self):
        return f"wss://{self.settings.websocket}"

    def broker(self, name="clearing", proxy=None, authority=None, identity=None, url=None):
        members = self.consortium.members
        context = (identity or self.sites[name]).tls(authority or members.authority)
        return Broker([url or self.url], context, members.token(name), proxy=proxy)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("site"))
    with start_server(made.consortium.members, made.settings):
        yield made


async def written_and_read(broker, stream):
    js, own = broker.client.jetstream(), broker.token
    await js.add_stream(api.StreamConfig(name=stream, subjects=[f"t.{stream}.>"]))
    await js.add_consumer(stream, api.ConsumerConfig(durable_name=own, ack_policy="explicit"))
    await js.publish(f"t.{stream}.{own}.x", BODY)
    inbox = await js.pull_subscribe_bind(consumer=own, stream=stream)
    (letter,) = await inbox.fetch(1, timeout=5)
    await letter.ack()
    await js.delete_stream(stream)
    return letter.data


def test_a_broker_publishes_and_reads_over_a_websocket(site):
    with site.broker() as broker:
        assert broker.call(written_and_read(broker, "W1")) == BODY


def test_a_proxy_carries_the_websocket_and_sees_only_tls(site):
    with Proxy().running() as proxy:
        with site.broker(proxy=proxy.url) as broker:
            assert broker.call(written_and_read(broker, "W2")) == BODY
        assert proxy.asked[0].startswith(f"CONNECT {site.settings.websocket} HTTP/1.1\r\n")
        assert len(proxy.carried) > 2 * len(BODY)
        assert BODY[:64] not in proxy.carried
        assert b"CONNECT {" not in proxy.carried  # the first word of a NATS client


def test_the_name_and_password_of_a_proxy_reach_the_proxy_only(site):
    with Proxy().running() as proxy:
        with site.broker(proxy=proxy.url.replace("//", "//user:secret@")) as broker:
            assert broker.client.is_connected
        assert f"Proxy-Authorization: Basic {base64.b64encode(b'user:secret').decode()}" in proxy.asked[0]
        assert b"secret" not in proxy.carried


def test_a_connection_that_the_proxy_drops_is_made_again(site):
    with Proxy().running() as proxy, site.broker(proxy=proxy.url) as broker:
        proxy.cut()
        assert broker.call(reconnected(broker.client))
        assert broker.call(written_and_read(broker, "W3")) == BODY
        assert len(proxy.asked) >= 2


async def reconnected(client):
    for _ in range(100):
        if client.stats["reconnects"]:
            return True
        await asyncio.sleep(0.05)
    return False


def test_a_proxy_that_refuses_is_named_without_its_password(site):
    with Proxy(b"407 Proxy Authentication Required").running() as proxy:
        broker = site.broker(proxy=proxy.url.replace("//", "//user:secret@"))
        with pytest.raises(
            UnreachableError, match=r"through the proxy http://127.0.0.1:\d+ \(status 407\): have it allow CONNECT"
        ) as caught:
            broker.__enter__()
    assert "secret" not in str(caught.value)
    assert "secret" not in broker.trouble


@pytest.mark.parametrize("door", ["tls", "wss"])
def test_a_server_that_another_registrar_certified_is_refused(site, door):
    url = f"tls://{site.settings.listen}" if door == "tls" else site.url
    broker = site.broker(authority=site.strangers.members.authority, url=url)
    with pytest.raises(LocalError, match="is not who it should be") as caught:
        broker.__enter__()
    assert not isinstance(caught.value, UnreachableError)


@pytest.mark.parametrize("door", ["tls", "wss"])
def test_a_stranger_with_another_registrars_certificate_gets_no_connection(site, door):
    url = f"tls://{site.settings.listen}" if door == "tls" else site.url
    with pytest.raises(LocalError):
        site.broker(identity=site.stranger, url=url).__enter__()


def test_a_host_that_the_certificate_does_not_name_is_refused(site):
    with (
        Proxy(leads_to=site.settings.websocket).running() as proxy,
        pytest.raises(LocalError, match="is not who it should be"),
    ):
        site.broker(proxy=proxy.url, url="wss://clearing.example:443").__enter__()


@pytest.mark.parametrize("scheme", ["tls", "wss"])
def test_nobody_there_is_said_at_once_and_worth_another_attempt(site, scheme):
    with pytest.raises(UnreachableError, match=r"cannot be reached \(Connection refused\): does the coordinator run"):
        site.broker(url=f"{scheme}://127.0.0.1:{free_port()}").__enter__()


def test_a_site_dials_one_kind_of_address(site):
    members = site.consortium.members
    with pytest.raises(LocalError, match="either tls:// or wss:// addresses, not both"):
        Broker([site.url, "tls://127.0.0.1:1"], site.sites["north"].tls(members.authority), "x").__enter__()


def test_a_proxy_is_not_spoken_to_over_tls(site):
    with pytest.raises(LocalError, match="write it as http://host:port"):
        site.broker(proxy="https://user:secret@proxy.example:3128").__enter__()
