"""The application: addresses, logging in, and what becomes of a request that is refused."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import TacitError
from tacit.page import audits, dossiers, proposals, register, results, runs, studies, this_site
from tacit.page.desk import Desk, NotHereError
from tacit.page.events import stream
from tacit.page.sessions import Session
from tacit.page.visit import FORM, MENU, SEE_OTHER, View, Views, Visit, Web

log = logging.getLogger("tacit.page")
MOST = 256 << 10  # bytes of a request
FILES, FIELDS = 20, 200  # of a form
NOT_FOUND = 404
VISIT = "visit"  # how the name of the cookie ends that a login form belongs to
VIEWS: dict[str, tuple[Views, ...]] = {  # by kind of site
    "party": (proposals.VIEWS, register.VIEWS, dossiers.VIEWS),
    "coordinator": (dossiers.VIEWS,),
    "analyst": (studies.VIEWS,),
}
COMMON: tuple[Views, ...] = (runs.VIEWS, results.VIEWS, audits.VIEWS, this_site.VIEWS)
Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(desk: Desk, *, hosts: Iterable[str], port: int, secure: bool) -> tuple[Starlette, Web]:
    """Return the application of a site's page, and what its pages share.

    The name of its cookie has the port in it: browsers send a cookie to every port of a host.
    """
    web = Web(desk, f"{'__Host-' if secure else ''}tacit-{port}", secure)
    views = {at: view for each in (*VIEWS[desk.kind], *COMMON) for at, view in each.items()}
    routes = [
        *(Route(path, _endpoint(web, view), methods=[method]) for (method, path), view in views.items()),
        Route("/runs/{job}/events", _events(web)),
        Route("/", _endpoint(web, lambda visit: visit.go(MENU[desk.kind][0][0]))),
        Route("/login", _show_login(web), methods=["GET"]),
        Route("/login", _log_in(web), methods=["POST"]),
        Route("/logout", _endpoint(web, _log_out), methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("tacit.page", "static")])),
    ]
    guards = [
        Middleware(Guarded, most=MOST, larger=audits.LARGER, secure=secure),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
    ]
    handlers: dict[Any, Any] = {HTTPException: _say_status(web), TacitError: _say_refusal(web)}
    return Starlette(routes=routes, middleware=guards, exception_handlers=handlers), web


# Who may


def _endpoint(web: Web, view: View) -> Endpoint:
    """Let a view answer, in a thread of its own, who is logged in; what is sent must come from a form of ours."""

    async def answer(request: Request) -> Response:
        session = _session(web, request)
        if session is None:
            return _to_login(web, request)
        form = FormData()
        if request.method == "POST":
            form = await _read_form(request, session.form)
        try:
            return await run_in_threadpool(view, Visit(web, session, request, form))
        except (TacitError, HTTPException):
            raise
        except Exception:
            log.exception("a page failed")
            return web.page("error.html", 500, what="something went wrong here, and the log of this site says what")
        finally:
            await form.close()

    return answer


def _events(web: Web) -> Endpoint:
    async def answer(request: Request) -> Response:
        if _session(web, request, renew=False) is None:
            raise HTTPException(403, "the session is over: log in again")
        folder = await run_in_threadpool(web.desk.folder, request.path_params["job"])
        return stream(web, folder, lambda: _session(web, request, renew=False) is not None)

    return answer


def _session(web: Web, request: Request, *, renew: bool = True) -> Session | None:
    return web.sessions.find(request.cookies.get(web.cookie, ""), renew=renew)


async def _read_form(request: Request, wanted: str) -> FormData:
    """Return what a form sent; refuse one that no page of ours made."""
    if not is_ours(request.headers, request.url.scheme):
        raise HTTPException(403, "this form was sent from another site: open the page here, and try again")
    form = await request.form(max_files=FILES, max_fields=FIELDS, max_part_size=MOST)
    given = form.get(FORM)
    if not isinstance(given, str) or not secrets.compare_digest(given.encode(), wanted.encode()):
        raise HTTPException(403, "this form is not of this session: open the page again, and try once more")
    return form


# Logging in


def _to_login(web: Web, request: Request) -> Response:
    over = "the session is over: log in again"
    return RedirectResponse("/login", SEE_OTHER) if request.method == "GET" else _login_page(web, request, over, 403)


def _show_login(web: Web) -> Endpoint:
    async def answer(request: Request) -> Response:
        if _session(web, request) is not None:
            return RedirectResponse("/", SEE_OTHER)
        return _login_page(web, request, "", 200)

    return answer


def _log_in(web: Web) -> Endpoint:
    async def answer(request: Request) -> Response:
        visit = request.cookies.get(f"{web.cookie}-{VISIT}", "")
        form = await _read_form(request, web.sessions.form_before(visit) if visit else secrets.token_hex())
        name, passphrase = (str(form.get(field, "")) for field in ("name", "passphrase"))
        fault, status = await run_in_threadpool(web.check_passphrase, request, name, passphrase)
        if fault:
            return _login_page(web, request, fault, status)
        done = RedirectResponse("/", SEE_OTHER)
        _set_cookie(web, done, web.cookie, web.sessions.begin(name))
        done.delete_cookie(f"{web.cookie}-{VISIT}", secure=web.secure)
        log.info("%s logged in", name)
        return done

    return answer


def _login_page(web: Web, request: Request, fault: str, status: int) -> Response:
    visit = request.cookies.get(f"{web.cookie}-{VISIT}") or secrets.token_urlsafe(32)
    page = web.page("login.html", status, fault=fault, token=web.sessions.form_before(visit))
    _set_cookie(web, page, f"{web.cookie}-{VISIT}", visit)
    return page


def _set_cookie(web: Web, response: Response, name: str, value: str) -> None:
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=web.secure, path="/")


def _log_out(visit: Visit) -> Response:
    visit.web.sessions.end(visit.request.cookies.get(visit.web.cookie, ""))
    done = visit.go("/login")
    done.delete_cookie(visit.web.cookie, secure=visit.web.secure)
    return done


# Refusals


def _say_status(web: Web) -> Callable[[Request, HTTPException], Response]:
    def answer(request: Request, error: HTTPException) -> Response:
        del request
        nowhere = error.status_code == NOT_FOUND
        return web.page("error.html", error.status_code, what="there is no such page here" if nowhere else error.detail)

    return answer


def _say_refusal(web: Web) -> Callable[[Request, TacitError], Response]:
    def answer(request: Request, error: TacitError) -> Response:
        del request
        return web.page("error.html", NOT_FOUND if isinstance(error, NotHereError) else 400, what=str(error))

    return answer


# What stands before every page: which host is meant, how large a request may be, and what a browser may do with it


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
