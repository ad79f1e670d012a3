"""The processes that run at a site until they are told to stop: `tacit coordinator` and `tacit party`."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from tacit.consortium.clearing import Clearing
from tacit.consortium.entrance import identity_of
from tacit.consortium.folder import folders
from tacit.consortium.identity import Identity
from tacit.consortium.members import Members
from tacit.consortium.metrics import figures, serve_metrics
from tacit.consortium.party import Party
from tacit.consortium.seen_lists import remember
from tacit.consortium.server import Server, start_server
from tacit.consortium.server_config import ServerSettings
from tacit.consortium.settings import CoordinatorSettings, PartySettings, Settings
from tacit.consortium.site import Site
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.runtimes.dialling import UnreachableError
from tacit.runtimes.nats import Broker

log = logging.getLogger("tacit")
TICK = 0.25
RETRY = 1.0


def run_party(settings: PartySettings, stop: threading.Event) -> None:
    """Dial out, and wait for proposals until told to stop."""
    identity, members = identity_of(settings)
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone(settings))
        broker = stack.enter_context(connected(settings.servers, identity, members, stop, proxy=settings.proxy))
        if broker is not None:
            party = Party(settings, identity, members, broker)
            log.info("%s waits for proposals from %s", party.name, ", ".join(settings.servers))
            _serve(party, stop, None, settings)


def run_coordinator(settings: CoordinatorSettings, stop: threading.Event) -> None:
    """Start the server, or use one that runs elsewhere, and coordinate until told to stop."""
    identity, members = identity_of(settings)
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone(settings))
        server = None
        if not settings.servers:
            options = ServerSettings(identity=identity, store_dir=settings.store_dir, listen=settings.listen, websocket=settings.websocket)
            server = stack.enter_context(start_server(members, options))
        urls = settings.servers if server is None else (server.url,)
        broker = stack.enter_context(connected(urls, identity, members, stop, own=server))
        if broker is not None:
            clearing = Clearing(settings, identity, members, broker)
            log.info("%s coordinates at %s", clearing.name, ", ".join(urls))
            _serve(clearing, stop, server, settings)


@contextlib.contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """One process per member and state folder; the lock goes with the process, however that ends."""
    try:
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (settings.state / "lock").open("ab")
    except OSError as error:
        raise LocalError(f"state {settings.state} cannot be made: {error.strerror}; name a folder that is yours to write") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LocalError(
                f"another process is {settings.name} already, with state {settings.state}: stop it, or give this one its own name and state"
            ) from None
        yield


@contextlib.contextmanager
def connected(
    urls: tuple[str, ...], identity: Identity, members: Members, stop: threading.Event, *, proxy: str | None = None,
    own: Server | None = None,
) -> Iterator[Broker | None]:  # fmt: skip
    """A connection, tried until there is one; None if told to stop before. A server that refuses this site ends it."""
    tls = identity.tls(members.authority)
    tls.check_hostname = own is None  # one's own server is dialled on loopback, whatever its names are

    def make() -> Broker:
        _keep_up(own, members)
        return Broker(urls, tls, members.token(identity.name), proxy=proxy)

    with contextlib.ExitStack() as stack:
        yield _dialled(stack, make, stop)


def _keep_up(server: Server | None, members: Members) -> None:
    """Start one's own server again if it was killed."""
    if server is not None and not server.alive:
        log.warning("the server has ended; starting it again")
        server.start(members)


def _dialled(stack: contextlib.ExitStack, make: Callable[[], Broker], stop: threading.Event) -> Broker | None:
    said = False
    while not stop.is_set():
        try:
            return stack.enter_context(make())
        except UnreachableError as error:
            if not said:
                log.warning("%s Trying again every %g s", error, RETRY)
            said = True
            stop.wait(RETRY)
    return None


def _serve(site: Site, stop: threading.Event, server: Server | None, settings: Settings) -> None:
    seen, trouble, prepared = _stamp(settings.members), None, site.members.version
    with site.control, _metrics(site, settings):
        while not stop.is_set():
            site.tick()
            _told(site)
            trouble = _complained(site.broker, trouble)
            for line in site.control.notices.take():
                log.warning("%s", line)
            _keep_up(server, site.members)
            if (now := _stamp(settings.members)) != seen:
                seen = now
                _renew(site, server, settings)
            if prepared != site.members.version and (not site.admin or site.prepared()):
                prepared = site.members.version
            site.control.due.wait(TICK)
            site.control.due.clear()


def _complained(broker: Broker, before: str | None) -> str | None:
    """What is wrong with the connection, which goes into the log when it changes."""
    now = broker.trouble
    if now and now != before:
        log.warning("the connection to the server: %s. Trying again until it is back", now)
    elif before and not now:
        log.info("connected again")
    return now


def _metrics(site: Site, settings: Settings) -> contextlib.AbstractContextManager[None]:
    port = getattr(settings, "metrics_port", None)
    return contextlib.nullcontext() if port is None else serve_metrics(port, lambda: figures(site))


def _renew(site: Site, server: Server | None, settings: Settings) -> None:
    """A newer list of members was put in place."""
    try:
        members = Members.load(settings.members, settings.ca_fingerprint, at_least=site.members.version)
    except LocalError as error:
        log.error("the new list of members is refused: %s", error)  # noqa: TRY400 - one line says it
        return
    site.members = members
    site.control.renew(members)
    if server is not None:
        try:
            server.reload(members)
        except LocalError:
            if server.alive:
                raise  # one that was killed meanwhile is started again with this list
    log.info("list of members %d", members.version)
    try:
        remember(settings.state, members)
    except LocalError as error:  # the list is in force all the same: it may revoke a key
        log.error("an older list would be taken after a restart: %s", error)  # noqa: TRY400 - one line says it


def _stamp(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime_ns
    return 0.0


def _told(site: Site) -> None:
    """The status file that `tacit status` and metrics read; once a second."""
    now = time.time()
    if now - site.told_at < 1.0:
        return
    site.told_at = now
    content = {
        "site": site.name,
        "at": now,
        "since": site.started.timestamp(),
        "in_force": site.in_force(),
        "jobs": [_line(site, folder.id) for folder in folders(site.state)],
    }
    target = site.state / "status.json"
    with contextlib.suppress(LocalError):  # a full disk must not end the daemon
        write_whole(target, msgspec.json.encode(content), "the status")


def _line(site: Site, job: str) -> dict[str, Any]:
    live = site.live.get(job, {})
    run = live.get("run")
    figures = {} if run is None else {"rounds": run.ledger.rounds, "bytes": run.ledger.bytes, "place": run.place}
    return {"job": job, "done": live.get("done", 0), "total": live.get("total", 0), **figures}


def stopping() -> threading.Event:
    """Set by SIGTERM and SIGINT."""
    stop = threading.Event()

    def told(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told)
    return stop
