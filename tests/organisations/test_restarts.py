"""A server that is killed at the moments in which nobody looks after it.

While it starts, before it is dialled, while it reloads.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time

import numpy as np
import pytest

from tacit.cli.one_machine import CLEARING, one_machine
from tacit.consortium.broker.control import Control
from tacit.consortium.broker.server import Server, start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.consortium.membership.certificate_request import Request, create
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.membership.registrar import Registrar
from tacit.consortium.site import daemon
from tacit.errors import LocalError
from tacit.runtimes.nats.network import Broker


@pytest.fixture
def machine(tmp_path):
    tables = {name: np.arange(20.0).reshape(10, 2) for name in ("north", "south", "east")}
    with one_machine(tmp_path, tables, np.arange(10) % 2, keep=True) as made:
        yield made


@pytest.fixture
def papers(machine):
    """The coordinator's settings, key and list."""
    settings = daemon.CoordinatorSettings.from_toml(machine.config(CLEARING))
    return settings, Identity.load(settings.key), Members.load(settings.members, settings.ca_fingerprint)


def struck(server):
    server._child.kill()
    server._child.wait()


def wait_for(true, seconds=30.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.01)


def test_one_that_is_killed_while_it_starts_is_started_again(papers, monkeypatch):
    settings, identity, members = papers
    launch, kills = Server._launch, [1, 2]

    def launched(self):
        since = launch(self)
        if kills:
            kills.pop()
            struck(self)
        return since

    monkeypatch.setattr(Server, "_launch", launched)
    with start_server(members, ServerSettings(identity, settings.store_dir, settings.listen)) as server:
        assert server.alive
    assert kills == []


def test_one_that_is_killed_before_its_coordinator_dials_it_is_started_again(papers, caplog, monkeypatch):
    settings, *_ = papers

    @contextlib.contextmanager
    def killed(members, options):
        with start_server(members, options) as server:
            struck(server)
            yield server

    monkeypatch.setattr(daemon, "start_server", killed)
    caplog.set_level("INFO", logger="tacit")
    stop = threading.Event()
    coordinator = threading.Thread(target=daemon.run_coordinator, args=(settings, stop))
    coordinator.start()
    try:
        wait_for(lambda: " coordinates at " in caplog.text)
    finally:
        stop.set()
        coordinator.join(20)
    assert "the server has ended; starting it again" in caplog.text


def test_one_that_is_killed_while_it_reloads_is_started_again_with_the_new_list(machine, papers, caplog, monkeypatch):
    settings, *_ = papers
    reload, stop = Server.reload, threading.Event()

    def reloaded(self, members):
        struck(self)
        reload(self, members)

    monkeypatch.setattr(Server, "reload", reloaded)
    caplog.set_level("INFO", logger="tacit")
    coordinator = threading.Thread(target=daemon.run_coordinator, args=(settings, stop))
    coordinator.start()
    try:
        wait_for(lambda: " coordinates at " in caplog.text)
        west, members = joined(machine, "west")
        shutil.copy(machine.root / "registrar" / "consortium.members", settings.members)
        wait_for(lambda: f"list of members {members.version}" in caplog.text)
        wait_for(lambda: "connected again" in caplog.text)
        heard = []
        with listening(machine, west, members, lambda *letter: heard.append(letter)) as control:
            control.send("west", "note", b"to myself")
            wait_for(lambda: heard == [("west", "note", b"to myself")])
    finally:
        stop.set()
        coordinator.join(20)
    assert not coordinator.is_alive()


def test_a_list_that_a_running_coordinator_took_up_is_not_forgotten_when_it_starts_again(machine, papers, caplog):
    settings, *_ = papers
    old, stop = settings.members.read_bytes(), threading.Event()
    caplog.set_level("INFO", logger="tacit")
    coordinator = threading.Thread(target=daemon.run_coordinator, args=(settings, stop))
    coordinator.start()
    try:
        wait_for(lambda: " coordinates at " in caplog.text)
        _, members = joined(machine, "west")
        shutil.copy(machine.root / "registrar" / "consortium.members", settings.members)
        wait_for(lambda: f"list of members {members.version}" in caplog.text)
    finally:
        stop.set()
        coordinator.join(20)
    settings.members.write_bytes(old)
    with pytest.raises(
        LocalError,
        match=f"and this site has seen version {members.version}: an older list could bring a revoked key back",
    ):
        daemon.run_coordinator(settings, stop)


def joined(machine, name):
    """One more member."""
    folder, registrar = machine.folder(name), Registrar.load(machine.root / "registrar")
    folder.mkdir()
    identity, request = create(folder, name, "party", ())
    registrar.sign(Request.load(request), "party")
    shutil.copy(machine.root / "registrar" / f"{name}.crt", folder)
    return Identity.load(identity.key_file), registrar.members


@contextlib.contextmanager
def listening(machine, identity, members, hear):
    """A member that gets its letters."""
    broker = Broker([machine.url], identity.tls(members.authority), members.token(identity.name))
    with broker, Control(broker, identity, members, hear) as control:
        yield control
