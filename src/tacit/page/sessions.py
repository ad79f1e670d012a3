"""Who is logged in: sessions in the memory of this process, forms that only our own page can send, and patience.

A session is a random token in a cookie; the server keeps its digest, so that its memory holds no
cookie to use. It knows a name and no passphrase: every decision asks for that again, as the command line does.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

IDLE, LONGEST = 30 * 60.0, 12 * 3600.0  # seconds after which a session ends: without a request, and in any case
NETWORK = 64  # bits of an address of version 6
MOST = 200  # sessions at a time; the oldest go first
FAILURES, FORGOTTEN = 5, 300.0  # wrong passphrases before an address has to wait, and seconds until one is forgotten
Clock = Callable[[], float]


@dataclass
class Session:
    """One person at one browser. `form` stands in every form that this session is sent.

    previews: how many it has asked for; only the last one is still wanted.
    """

    name: str
    form: str
    began: float
    seen: float
    previews: int = 0


@dataclass
class Sessions:
    """All sessions of a page."""

    clock: Clock = time.monotonic
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _open: dict[bytes, Session] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, name: str) -> str:
        """Return the token of a new session; whatever token the browser had before is not used."""
        token, now = secrets.token_urlsafe(32), self.clock()
        with self._lock:
            self._drop_old(now)
            while len(self._open) >= MOST:
                self._open.pop(next(iter(self._open)))
            self._open[_digest(token)] = Session(name, secrets.token_urlsafe(32), now, now)
        return token

    def find(self, token: str, *, renew: bool = True) -> Session | None:
        """Return the session of a token, if it is still open; one that is used stays open for longer."""
        now = self.clock()
        with self._lock:
            self._drop_old(now)
            found = self._open.get(_digest(token))
            if found is not None and renew:
                found.seen = now
            return found

    def end(self, token: str) -> None:
        """Close a session."""
        with self._lock:
            self._open.pop(_digest(token), None)

    def form_before(self, visit: str) -> str:
        """Return what the form of a login holds: nobody without the cookie `visit`, and this server, can make it."""
        return hmac.new(self._key, visit.encode(), hashlib.sha256).hexdigest()

    def _drop_old(self, now: float) -> None:
        for key in [k for k, s in self._open.items() if now - s.seen > IDLE or now - s.began > LONGEST]:
            del self._open[key]


@dataclass
class Patience:
    """How many wrong passphrases there were of late from each address, so that nobody elsewhere keeps a person out."""

    clock: Clock = time.monotonic
    _wrong: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, address: str) -> int:
        """Return for how many seconds an address has to wait before it may try again; 0 if it may now."""
        now = self.clock()
        with self._lock:
            recent = ((at, [each for each in own if now - each[0] < FORGOTTEN]) for at, own in self._wrong.items())
            self._wrong = {at: own for at, own in recent if own}
            times = sorted(at for at, _ in self._wrong.get(address, ()))
        return int(times[-FAILURES] + FORGOTTEN - now) + 1 if len(times) >= FAILURES else 0

    def note(self, address: str, name: str) -> None:
        """Count a wrong passphrase for a name."""
        with self._lock:
            self._wrong.setdefault(address, []).append((self.clock(), name))

    def forgive(self, address: str, name: str) -> None:
        """Forget the wrong passphrases for a name, since the right one came; those for other names still count."""
        with self._lock:
            self._wrong[address] = [each for each in self._wrong.get(address, ()) if each[1] != name]


def address_of(host: str) -> str:
    """Return what stands for whoever is at an address: of version 6 the network, in which a host has many."""
    try:
        found = ip_address(host)
    except ValueError:
        return host
    return host if found.version == 4 else str(ip_network((found, NETWORK), strict=False))  # noqa: PLR2004 - as written


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
