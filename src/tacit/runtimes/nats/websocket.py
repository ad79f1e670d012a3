"""NATS over a websocket, through an HTTP proxy if need be: for networks that let out nothing but port 443.

The proxy gets CONNECT with the server's host and port, then carries TLS that ends at the server: it sees who is
dialled, sizes and times. It must pass TLS through: one that opens it shows another certificate and is refused.

nats-py has no proxy, and lets its websockets wait five minutes to be connected. So its transport is replaced where its
client makes it.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from urllib.parse import ParseResult

from aiohttp import ClientWSTimeout
from nats.aio.client import Client, Srv
from nats.aio.transport import WebSocketTransport
from yarl import URL

CLOSING = 2.0  # seconds that a server gets to say goodbye
SHUTTING = 0.1  # seconds for the TLS below it, which aiohttp does not wait for


class WebsocketClient(Client):
    """A client that dials websockets only."""

    def __init__(self, proxy: str | None = None) -> None:
        super().__init__()
        self._proxy = proxy

    async def _connect_to_server(self, s: Srv) -> None:
        if not self._transport:
            self._transport = Websocket(self._proxy)
        await super()._connect_to_server(s)


class Websocket(WebSocketTransport):
    """Dials one websocket after the other to the same server."""

    def __init__(self, proxy: str | None = None) -> None:
        super().__init__()
        self._proxy: URL | None = None
        self._pass: dict[str, str] | None = None
        if proxy:
            self._proxy, self._pass = _split_proxy(proxy)

    async def connect_tls(
        self, uri: str | ParseResult, ssl_context: ssl.SSLContext, buffer_size: int, connect_timeout: int
    ) -> None:
        """Dial; the client calls it again with a mere host name when the server wants TLS, which it has by then."""
        del buffer_size
        if isinstance(uri, str):
            return
        if self._ws is not None:
            await self._ws.close()
        dialling = self._client.ws_connect(
            uri.geturl(),
            ssl=ssl_context,
            proxy=self._proxy,
            proxy_headers=self._pass,
            max_msg_size=0,
            timeout=ClientWSTimeout(ws_close=CLOSING),
        )
        self._ws = await asyncio.wait_for(dialling, connect_timeout)
        self._using_tls = True

    async def wait_closed(self) -> None:
        """Wait until nothing is left that would outlive the loop."""
        await super().wait_closed()  # type: ignore[no-untyped-call]
        await asyncio.sleep(SHUTTING)


def _split_proxy(proxy: str) -> tuple[URL, dict[str, str] | None]:
    """Return a proxy's address, which aiohttp puts into its errors, and the password that lets a site pass."""
    address = URL(proxy)
    word = base64.b64encode(f"{address.user}:{address.password or ''}".encode()).decode()
    return address.with_user(None), {"Proxy-Authorization": f"Basic {word}"} if address.user else None
