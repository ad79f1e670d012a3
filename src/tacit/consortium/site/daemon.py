"""The processes that run at a site until they are told to stop: `tacit coordinator` and `tacit party`."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.broker.server import Server, start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.consortium.disk import lock_folder
from tacit.consortium.jobs.folder import folders
from tacit.consortium.jobs.rehearsal import disclosure_of
from tacit.consortium.membership.members import Members, identity_of, remember
from tacit.consortium.site.alerts import Alerts
from tacit.consortium.site.common import Site
from tacit.consortium.site.coordinator import Clearing
from tacit.consortium.site.health import Health, Watch
from tacit.consortium.site.metrics import figures, serve_metrics
from tacit.consortium.site.party import Party
from tacit.consortium.site.runs import figures_of
from tacit.consortium.site.settings import CoordinatorSettings, DaemonSettings, PartySettings, Settings
from tacit.consortium.site.sources import stamp_of
from tacit.consortium.site.telling import describe_running, read_figures
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.runtimes.nats.dialling import UnreachableError
from tacit.runtimes.nats.network import Broker
from tacit.study.names import SEED, STUDY
from tacit.study.steps import USE

log = logging.getLogger("tacit")
TICK = 0.25
RETRY = 1.0
Meet = Callable[[Site], None]  # is shown the site once it is at work


def meet_nobody(site: Site) -> None:
    """Show a site to nobody."""


def run_party(settings: PartySettings, stop: threading.Event, meet: Meet = meet_nobody) -> None:
    """Dial out, and wait for proposals until told to stop."""
    identity, members = identity_of(settings)
    tls, token = identity.tls(members.authority), members.token(identity.name)
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock_state(settings))
        broker = _dial(stack, lambda: Broker(settings.servers, tls, token, proxy=settings.proxy), stop)
        if broker is not None:
            party = Party(settings, identity, members, broker)
            party.look_at_data()
            meet(party)
            log.info("%s waits for proposals from %s", party.name, ", ".join(settings.servers))
            _serve(party, stop, None, settings)


def run_coordinator(settings: CoordinatorSettings, stop: threading.Event, meet: Meet = meet_nobody) -> None:
    """Start the server, or use one that runs elsewhere, and coordinate until told to stop."""
    identity, members = identity_of(settings)
    tls, token = identity.tls(members.authority), members.token(identity.name)
    tls.check_hostname = bool(settings.servers)  # one's own server is dialled on loopback, whatever its names are
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock_state(settings))
        server = None
        if not settings.servers:
            options = ServerSettings(identity, settings.store_dir, settings.listen, settings.websocket)
            server = stack.enter_context(start_server(members, options))
        urls = settings.servers if server is None else (server.url,)

        def connect() -> Broker:
            _keep_up(server, members)
            return Broker(urls, tls, token)

        broker = _dial(stack, connect, stop)
        if broker is not None:
            clearing = Clearing(settings, identity, members, broker)
            meet(clearing)
            log.info("%s coordinates at %s", clearing.name, ", ".join(urls))
            _serve(clearing, stop, server, settings)


def lock_state(settings: Settings) -> contextlib.AbstractContextManager[None]:
    """Let one process at a time be this member with this state folder."""
    other = f"another process is {settings.name} already, with state {settings.state}"
    return lock_folder(settings.state, "state", f"{other}: stop it, or give this one its own name and state")


def _keep_up(server: Server | None, members: Members) -> None:
    """Start one's own server again if it was killed, or if its disk was full and has room again."""
    if server is not None and not server.alive:
        log.warning("the server has ended; starting it again")
        server.start(members)
    elif server is not None and server.recover(members):
        log.warning("the server could not write to its disk, which has room again; it was started again")


def _dial(stack: contextlib.ExitStack, connect: Callable[[], Broker], stop: threading.Event) -> Broker | None:
    """Connect, and try until the server is there; None if told to stop before. One that refuses this site raises."""
    said = False
    while not stop.is_set():
        try:
            return stack.enter_context(connect())
        except UnreachableError as error:
            if not said:
                log.warning("%s Trying again every %g s", error, RETRY)
            said = True
            stop.wait(RETRY)
    return None


def _serve(site: Site, stop: threading.Event, server: Server | None, settings: DaemonSettings) -> None:
    seen, trouble, prepared = stamp_of(settings.members), None, site.members.version
    port, watch = settings.metrics_port, Watch(site, lambda: "" if server is None else server.trouble)
    metrics = contextlib.nullcontext() if port is None else serve_metrics(port, lambda: figures(site, watch.last))
    threading.Thread(target=load_ahead, name="tacit-ahead", daemon=True).start()
    with site.control, metrics, Alerts(site.name, site.state, settings.notify, site.who_asks) as alerts:
        while not stop.is_set():
            site.tick()
            site.health = watch.look()
            alerts.consider(site.health)
            _write_status(site, site.health)
            trouble = _report_trouble(site.broker, trouble)
            for line in site.control.notices.take():
                log.warning("%s", line)
            _keep_up(server, site.members)
            if (now := stamp_of(settings.members)) != seen:
                seen = now
                _renew(site, server, settings)
            if prepared != site.members.version and (not site.admin or site.prepare()):
                prepared = site.members.version
            site.control.due.wait(TICK)
            site.control.due.clear()


def load_ahead() -> None:
    """Rehearse a study of nobody: what a first one loads is here by then, and nobody waits for it."""
    by_rows = Roster({Holder: ("a", "b", "c"), Asker: ("a",), Coordinator: ("site",)})
    disclosure_of(STUDY, {"steps": ({USE: "SVC"},), SEED: 0, "partition": "horizontal"}, by_rows)


def _report_trouble(broker: Broker, before: str | None) -> str | None:
    """Log what is wrong with the connection when that changes, and return it."""
    now = broker.trouble
    if now and now != before:
        log.warning("the connection to the server: %s. Trying again until it is back", now)
    elif before and not now:
        log.info("connected again")
    return now


def _renew(site: Site, server: Server | None, settings: Settings) -> None:
    """Go on with a newer list of members that was put in place."""
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


def _write_status(site: Site, health: Health) -> None:
    """Write the status file that `tacit status` and metrics read, once a second."""
    now = time.time()
    if now - site.told_at < 1.0:
        return
    site.told_at = now
    jobs = [_line(site, folder.id) for folder in folders(site.state, site.standings.__contains__)]
    known = {"site": site.name, "at": now, "since": site.started.timestamp(), "in_force": site.in_force()}
    known["health"] = health
    with contextlib.suppress(LocalError):  # a full disk must not end the daemon
        write_whole(site.state / "status.json", msgspec.json.encode({**known, "jobs": jobs}), "the status")


def _line(site: Site, job: str) -> dict[str, Any]:
    """Return how far a job is, for who asks by a command that reads nothing else."""
    live, (state, why) = site.live.get(job, {}), site.standings[job]
    told = figures_of(live)
    says = describe_running(read_figures(job, told)) if state == "running" else why
    return {"job": job, "state": state, "says": says, **told, **({"place": live["run"].place} if live else {})}


def stop_on_signals() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = threading.Event()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    return stop
