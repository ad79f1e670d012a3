"""Telling people that something waits for them or is wrong: in the log, by e-mail, to a webhook.

    [notify]
    email = ["dpo@north.example"]        smtp = "mail.north.example:587"     sender = "tacit@north.example"
    webhook_file = "webhook"             one line, the address; it may hold a secret, so it is its owner's alone

A word is said once, and again when it gets worse, or after `AGAIN` while nothing changes. What was said is kept in
`state`, so that a restart repeats nothing. A word names the site, jobs by the first digits of their ids and their
submitters: nothing of records, and no purpose.
"""

from __future__ import annotations

import json
import logging
import smtplib
import ssl
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Self

import msgspec

from tacit.consortium.disk import read_private
from tacit.consortium.site.health import DAY, Complaint, Health, complaints_about
from tacit.consortium.site.settings import Notify, listening_at
from tacit.errors import LocalError
from tacit.files import write_whole

log = logging.getLogger("tacit")
AGAIN = DAY  # seconds after which a word that still holds is said again
PATIENCE = 20.0  # seconds for a mail server or a webhook
WAITS = "proposal "  # how the subjects of proposals begin


class Said(msgspec.Struct):
    """When a subject was spoken of last, and how bad it was."""

    at: float
    degree: int


class Alerts:
    """What was said so far, and the ways to say more; use it as a context manager."""

    def __init__(self, site: str, state: Path, notify: Notify | None, who_asks: Callable[[str], str]) -> None:
        self._site, self._file, self._who_asks = site, state / "alerts.json", who_asks
        self._ways = () if notify is None else tuple(_ways_of(notify))
        self._said = self._read()
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="tacit-alerts")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sender.shutdown(cancel_futures=True)

    def consider(self, health: Health) -> None:
        """Say what is new."""
        found = {each.subject: each for each in (*complaints_about(health), *self._proposals(health))}
        changed = [subject for subject in self._said if subject not in found]
        for subject in changed:
            del self._said[subject]
        due = [each for each in found.values() if self._is_due(each, health.at)]
        for each in due:
            self._said[each.subject] = Said(health.at, each.degree)
            self._say(each)
        if changed or due:
            self._write()

    def _proposals(self, health: Health) -> Iterable[Complaint]:
        for job in health.waiting:
            says = f"job {job[:8]} of {self._who_asks(job)} waits for approval: tacit party pending"
            yield Complaint(f"{WAITS}{job}", 0, says)

    def _is_due(self, new: Complaint, now: float) -> bool:
        before = self._said.get(new.subject)
        return before is None or new.degree > before.degree or now - before.at >= AGAIN

    def _say(self, new: Complaint) -> None:
        log.log(logging.WARNING if new.degree else logging.INFO, "%s", new.says)
        for way in self._ways:
            self._sender.submit(self._try, way, new)

    def _try(self, way: Callable[[str, Complaint], None], new: Complaint) -> None:
        try:
            way(self._site, new)
        except (OSError, smtplib.SMTPException, LocalError, ValueError) as error:
            # the class alone: an address may hold a secret, and a server's answer the addresses of people
            log.warning("nobody was told of %r by %s (%s)", new.subject, way.__name__, type(error).__name__)

    def _read(self) -> dict[str, Said]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, Said])
        except (OSError, msgspec.DecodeError):  # said again rather than never
            return {}

    def _write(self) -> None:
        with suppress(LocalError):  # a full disk must not end the daemon, and is a word of its own
            write_whole(self._file, msgspec.json.encode(self._said), "what people were told")


def _ways_of(notify: Notify) -> Iterable[Callable[[str, Complaint], None]]:
    """Yield what tells people."""
    if notify.email:

        def email(site: str, new: Complaint) -> None:
            _mail(notify, site, new)

        yield email
    if notify.webhook_file is not None:
        file = notify.webhook_file

        def webhook(site: str, new: Complaint) -> None:
            _post(file, site, new)

        yield webhook


def _mail(notify: Notify, site: str, new: Complaint) -> None:
    message = EmailMessage()
    message["From"], message["To"] = notify.sender, ", ".join(notify.email)
    message["Subject"] = f"tacit at {site}: {new.subject[: len(WAITS) + 8]}"
    message.set_content(f"{site}: {new.says}\n")
    host, port = listening_at(notify.smtp, "notify.smtp")
    with smtplib.SMTP(host, port, timeout=PATIENCE) as server:
        if server.has_extn("starttls"):
            server.starttls(context=ssl.create_default_context())
        if notify.login_file is not None:
            user, _, password = _line_of(notify.login_file, "the login of the mail server").partition(" ")
            server.login(user, password)
        server.send_message(message)


def _post(file: Path, site: str, new: Complaint) -> None:
    body = json.dumps({"site": site, "subject": new.subject, "text": f"{site}: {new.says}", "degree": new.degree})
    address = _line_of(file, "the webhook")
    if not address.startswith(("https://", "http://")):
        raise LocalError(f"{file} holds no address: write one line, https://...")
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, body.encode(), headers)  # noqa: S310 - the scheme is checked above
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - as above
        answer.read(1)


def _line_of(file: Path, what: str) -> str:
    return read_private(file, what, "it may hold a secret, which", "correct the path").decode().strip()
