"""What stands before every page: which host is meant, how large a request may be, and what a browser may do with it."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOO_LARGE = 413
# scripts and styles are files of ours; nothing inline, nothing of another host, and nobody puts the page into a frame
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser would not say where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guarded:
    """An application whose every response has the headers, and whose every request has a limit."""

    def __init__(self, app: ASGIApp, *, most: int, larger: Mapping[str, int], secure: bool) -> None:
        self._app, self._most, self._larger = app, most, larger
        self._headers = {**HEADERS, **({"Strict-Transport-Security": "max-age=31536000"} if secure else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most, taken = self._larger.get(scope["path"], self._most), 0
        refused = PlainTextResponse(f"this is more than {most:,} bytes: send less", TOO_LARGE)

        async def receive_some() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(TOO_LARGE, f"this is more than {most:,} bytes: send less")
            return message

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        said = Headers(scope=scope).get("content-length", "0")
        told = int(said) if said.isdecimal() else most + 1
        await (refused if told > most else self._app)(scope, receive_some, send_guarded)


def is_ours(headers: Headers, scheme: str) -> bool:
    """Return whether a form was sent by a page of ours, as far as the browser says."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    same = origin is None or origin == f"{scheme}://{headers.get('host', '')}"
    return same and site in {None, "same-origin", "none"}
