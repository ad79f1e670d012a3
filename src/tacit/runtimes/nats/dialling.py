"""The first connection to a broker: made, or refused in one line. nats-py alone would try for ever without a word."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tacit.errors import LocalError, MissingExtraError

if TYPE_CHECKING:
    from nats.aio.client import Client

PATIENCE = 10  # seconds for one attempt
GOODBYE = 1.0  # seconds to close what came of it
HANG_UPS, PAUSE = 3, 1.0  # so many in a row, so many seconds apart, are no accident
FOR_EVER = {"allow_reconnect": True, "max_reconnect_attempts": -1}


class UnreachableError(LocalError, ConnectionError):
    """Nobody answers there yet: another attempt may succeed."""


async def dial(
    servers: Sequence[str],
    tls: ssl.SSLContext,
    inbox: str,
    heard: Callable[[Exception | None], None],
    *,
    proxy: str | None = None,
) -> Client:
    """Return a client that keeps its connection up from here on; raise if the first connection cannot be made.

    `heard` gets every error, and None once the connection is back.
    """
    hang_ups = 0
    while True:
        client = _client(servers, proxy)
        error = await _failure(client, servers, tls, inbox, heard)
        if error is None:
            client.options |= FOR_EVER
            return client
        hang_ups += 1
        if not _hung_up(error) or hang_ups == HANG_UPS:
            raise explain(error, servers, proxy)
        await asyncio.sleep(PAUSE)


async def _failure(
    client: Client, servers: Sequence[str], tls: ssl.SSLContext, inbox: str, heard: Callable[[Exception | None], None]
) -> Exception | None:
    """Connect; return the reason if the client could not."""
    from nats.errors import Error  # noqa: PLC0415 - an extra

    failures: list[Exception] = []

    async def told(error: Exception) -> None:
        failures[:] = [error]
        heard(error)

    async def restored() -> None:
        heard(None)

    try:
        await client.connect(
            list(servers),
            tls=tls,
            tls_handshake_first=not _websockets(servers),  # a websocket is inside TLS from its first byte
            inbox_prefix=inbox.encode(),
            error_cb=told,
            reconnected_cb=restored,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0.5,  # type: ignore[arg-type]  # a pause, which asyncio takes in fractions
            connect_timeout=PATIENCE,
            ping_interval=10,
            max_outstanding_pings=3,
        )
    except (OSError, TimeoutError, Error) as error:
        with contextlib.suppress(TimeoutError):  # nats-py waits for ever for a connection whose handshake failed
            await asyncio.wait_for(client.close(), GOODBYE)
        return failures[0] if failures else error
    heard(None)
    return None


def _hung_up(error: Exception) -> bool:
    """Whether a server closed without a word once TLS stood: its list lacks our key, or it ended at that moment."""
    return "when expecting INFO" in str(error)


def explain(error: Exception, servers: Sequence[str], proxy: str | None) -> LocalError:
    """Return the error that says why there is no connection.

    Only a refused certificate is final, since another attempt with it would do no better.
    """
    where, through = ", ".join(servers), f" through the proxy {_plain(proxy)}" if proxy else ""
    if isinstance(error, ssl.SSLError) and (
        isinstance(error, ssl.SSLCertVerificationError) or "ALERT" in _reason(error)
    ):
        return LocalError(
            f"{where} refused the certificate or is not who it should be ({_reason(error)}): see `tacit keys show`"
        )
    if proxy and isinstance(status := getattr(error, "status", None), int):
        return UnreachableError(
            f"{where} cannot be reached{through} (status {status}): have it allow CONNECT to that host and port"
        )
    if "Authorization Violation" in str(error) or _hung_up(error):
        return LocalError(
            f"{where} does not accept this site's certificate, which is revoked or not in the coordinator's list of"
            " members: ask the registrar (`tacit keys list`), have the coordinator take the newest list, then start"
            " again"
        )
    return UnreachableError(
        f"{where} cannot be reached{through} ({_describe(error)}): does the coordinator run, and the firewall let this"
        " site out?"
    )


def _client(servers: Sequence[str], proxy: str | None) -> Client:
    _refuse_unfit(servers, proxy)
    try:
        if _websockets(servers):
            from tacit.runtimes.nats.websocket import WebsocketClient  # noqa: PLC0415 - an extra

            return WebsocketClient(proxy)
        from nats.aio.client import Client  # noqa: PLC0415 - an extra

        return Client()
    except ImportError:
        raise MissingExtraError("the runtime between organisations", "nats") from None


def _refuse_unfit(servers: Sequence[str], proxy: str | None) -> None:
    if len({url.startswith("wss:") for url in servers}) != 1:
        raise LocalError(
            f"servers {', '.join(servers)}: a site dials either tls:// or wss:// addresses, not both; keep one kind"
        )
    if proxy is not None and not proxy.startswith("http:"):
        raise LocalError(
            f"the proxy {_plain(proxy)} cannot be reached over TLS: write it as http://host:port; the traffic inside is"
            " TLS anyway"
        )


def _websockets(servers: Sequence[str]) -> bool:
    return any(url.startswith("wss:") for url in servers)


def _reason(error: ssl.SSLError) -> str:
    inner = getattr(error, "certificate_error", error)  # aiohttp wraps it
    return getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or type(inner).__name__


def _describe(error: Exception) -> str:
    if isinstance(error, socket.gaierror) or not (isinstance(error, OSError) and error.errno):
        return getattr(error, "strerror", None) or type(error).__name__
    return os.strerror(error.errno)


def _plain(proxy: str) -> str:
    """Return a proxy's address without user and password."""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.hostname}:{parts.port}"
