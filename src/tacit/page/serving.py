"""The page as a server of its own thread: where it listens, and under which certificate."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from tacit.consortium.disk import port_error, read_private
from tacit.consortium.site.settings import PageSettings, Settings, listening_at
from tacit.errors import LocalError, MissingExtraError

try:
    import uvicorn

    from tacit.page.app import make_app
except ImportError:
    raise MissingExtraError("the page of a site", "page") from None

from tacit.page.desk import Desk

log = logging.getLogger("tacit")
SETTING = "--page"
LOCAL = ("127.0.0.1", "localhost")
AT_ONCE = 100  # connections
ENDING = 2  # seconds for open connections when the page is stopped


@dataclass(frozen=True)
class Address:
    """Where a page listens, under which names, and with which certificate; none on loopback."""

    host: str
    port: int
    hosts: tuple[str, ...]
    tls: PageSettings | None

    @property
    def url(self) -> str:
        """The address that people type into a browser."""
        return f"https://{self.hosts[0]}:{self.port}" if self.tls else f"http://{self.host}:{self.port}"


def find_address(address: str, settings: Settings) -> Address:
    """Return where to listen; refuse any other place than loopback without a certificate."""
    host, port = listening_at(address, SETTING)
    if ":" in host:
        raise LocalError(
            f"{SETTING} {address}: a page listens on IPv4 addresses only: use 127.0.0.1, or another of these"
        )
    if is_loopback(host):
        return Address(host, port, LOCAL, None)
    if settings.page is None:
        needed = "certificate, key and hosts in [page] of the configuration"
        raise LocalError(
            f"{SETTING} {address} is open to other machines, and needs TLS: give {needed}, or use 127.0.0.1"
        )
    read_private(settings.page.key, "page.key", "a private key", "correct the path")
    if not settings.page.hosts:
        raise LocalError("[page] names no hosts: list the names by which people reach the page, as in its certificate")
    return Address(host, port, (*settings.page.hosts, *LOCAL), settings.page)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def serve_page(desk: Desk, address: Address) -> Iterator[None]:
    """Answer browsers while the block runs."""
    door = _open(address)
    app, web = make_app(desk, hosts=address.hosts, port=address.port, secure=address.tls is not None)
    tls = {} if address.tls is None else {"ssl_certfile": address.tls.certificate, "ssl_keyfile": address.tls.key}
    config = uvicorn.Config(
        app,
        log_config=None,  # the site's own log; addresses that people visit are not written down
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        limit_concurrency=AT_ONCE,
        timeout_graceful_shutdown=ENDING,
        **tls,  # type: ignore[arg-type]
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, name="tacit-page", daemon=True)
    thread.start()
    log.info("the page of %s is at %s", desk.name, address.url)
    if not desk.people.names():
        log.warning("nobody can log in yet: let a person choose a passphrase with tacit people add NAME")
    try:
        yield
    finally:
        web.stopping.set()
        server.should_exit = True
        thread.join(ENDING + 3)
        door.close()


def _open(address: Address) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((address.host, address.port))
        door.listen(AT_ONCE)  # browsers that come before the server is ready wait
    except OSError as error:
        door.close()
        raise port_error(error, address.host, address.port, SETTING) from None
    return door
