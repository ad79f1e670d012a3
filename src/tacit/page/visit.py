"""A visit: one request of one person, what was sent with it, and how it is answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tacit.page.desk import Desk, Kind
from tacit.page.sessions import Patience, Session, Sessions, address_of
from tacit.report.decision import say_status
from tacit.report.words import clean, human_bytes, human_seconds

# Templates: everything that is not our own text becomes one printable line, and is escaped

SHORT = 8  # letters of a job's id that people read


def make_environment() -> Environment:
    """Return where the templates are, and what they may call."""
    made = Environment(
        loader=PackageLoader("tacit.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"moment": show_moment, "short": lambda text: text[:SHORT]}
    made.filters |= {"several": keep_lines, "size": human_bytes, "seconds": human_seconds}
    return made


def show_moment(at: datetime) -> str:
    """Return a time as people read it."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def keep_lines(text: str) -> Markup:
    """Return a text of several lines, each of them printable and escaped."""
    return Markup("\n").join(clean(line) for line in text.splitlines())


def _finalize(value: Any) -> Any:
    """Return one printable line of a name or a text that others wrote; what was made here stays as it is."""
    return value if isinstance(value, Markup | int | float) else clean(value)


log = logging.getLogger("tacit.page")

SEE_OTHER = 303
WRONG = "this name and this passphrase do not belong together"
FORM = "form"  # the field of a form that only a page of ours can fill
# the pages of each kind of site, in the order of the menu
MENU: dict[Kind, tuple[tuple[str, str], ...]] = {
    "party": (
        ("/proposals", "Proposals"), ("/runs", "Runs"), ("/results", "Results"), ("/register", "Register"),
        ("/audit", "Audit"), ("/site", "This site"),
    ),
    "coordinator": (("/runs", "Runs"), ("/results", "Results"), ("/audit", "Audit"), ("/site", "This site")),
    "analyst": (
        ("/study", "Study"), ("/runs", "Runs"), ("/results", "Results"), ("/audit", "Audit"), ("/site", "This site"),
    ),
}  # fmt: skip


@dataclass
class Web:
    """All that the pages of one site share."""

    desk: Desk
    cookie: str
    secure: bool
    sessions: Sessions = field(default_factory=Sessions)
    patience: Patience = field(default_factory=Patience)
    stopping: threading.Event = field(default_factory=threading.Event)
    templates: Environment = field(default_factory=make_environment)

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page made of a template."""
        usual = {"site": self.desk.name, "kind": self.desk.kind, "person": "", "token": "", "menu": (), "here": ""}
        usual["status"] = say_status()
        return HTMLResponse(self.templates.get_template(name).render({**usual, **values}), status)

    def check_passphrase(self, request: Request, name: str, passphrase: str) -> tuple[str, int]:
        """Return what is wrong with a passphrase, and a status; nothing and 200 if it is right."""
        address = address_of(request.client.host if request.client else "")
        if wait := self.patience.wait(address):
            return f"too many wrong passphrases from this address: wait {wait} seconds", 429
        if self.desk.people.knows(name, passphrase):
            self.patience.forgive(address, name)
            return "", 200
        self.patience.note(address, name)
        log.warning("a wrong passphrase from %s", address)
        return WRONG, 403


@dataclass(frozen=True)
class Visit:
    """A request of somebody who is logged in."""

    web: Web
    session: Session
    request: Request
    form: FormData

    @property
    def desk(self) -> Desk:
        """What the page looks at."""
        return self.web.desk

    @property
    def job(self) -> str:
        """The job that the address names."""
        return str(self.request.path_params["job"])

    def text(self, name: str) -> str:
        """Return a field of the form; empty if it was left out, or is a file."""
        value = self.form.get(name, "")
        return "" if isinstance(value, UploadFile) else value

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page made of a template, with the menu of the site."""
        menu = MENU[self.desk.kind]
        here = next((path for path, _ in menu if self.request.url.path.startswith(path)), "")
        own = {"person": self.session.name, "token": self.session.form, "menu": menu, "here": here}
        return self.web.page(name, status, **own, **values)

    def go(self, path: str) -> Response:
        """Send the browser to another page of ours."""
        return RedirectResponse(path, SEE_OTHER)

    def attach(self, content: bytes, name: str, kind: str) -> Response:
        """Return a file to be kept under that name."""
        return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


View = Callable[[Visit], Response]
Views = Mapping[tuple[str, str], View]  # by method and path
