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

IDLE, LONGEST = 30 * 60.0, 12 * 3600.0  # seconds after which a session ends: without a request, and in any case
MOST = 200  # sessions at a time; the oldest go first
FAILURES, FORGOTTEN = (
    5,
    300.0,
)  # wrong passphrases for one name before it has to wait, and seconds until one is forgotten
ALL = 60  # wrong passphrases for all names together
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
    """How many wrong passphrases there were of late, for each name and in all."""

    clock: Clock = time.monotonic
    _wrong: dict[str, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, name: str) -> int:
        """Return for how many seconds a name has to wait before it may try again; 0 if it may now."""
        now = self.clock()
        with self._lock:
            self._wrong = {
                who: kept for who, at in self._wrong.items() if (kept := [t for t in at if now - t < FORGOTTEN])
            }
            own, everybody = sorted(self._wrong.get(name, ())), sorted(t for at in self._wrong.values() for t in at)
        full = [times[-most] for times, most in ((own, FAILURES), (everybody, ALL)) if len(times) >= most]
        return max((int(at + FORGOTTEN - now) + 1 for at in full), default=0)

    def note(self, name: str) -> None:
        """Count a wrong passphrase."""
        with self._lock:
            self._wrong.setdefault(name, []).append(self.clock())

    def forgive(self, name: str) -> None:
        """Forget the wrong passphrases of a name: the right one came."""
        with self._lock:
            self._wrong.pop(name, None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
