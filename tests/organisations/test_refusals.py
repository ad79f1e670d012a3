"""Whom the server does not accept, for good at the first dial or for a moment in the middle; and who hears nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from organisations.sites import free_port
from tacit.cli.one_machine import CLEARING, one_machine
from tacit.consortium.broker.server import start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.registrar import Registrar
from tacit.consortium.site import daemon
from tacit.errors import LocalError
from tacit.runtimes.nats.dialling import UnreachableError
from tacit.runtimes.nats.network import Broker
from unit.consortium.consortium_sites import Consortium

WORDS = (
    "does not accept this site's certificate, which is revoked or not in the coordinator's list of members: ask the"
    " registrar"
)


class House:
    """A server with both doors, and two lists of members: without north, and with it."""

    def __init__(self, folder) -> None:
        consortium = Consortium(folder)
        clearing = consortium.join(CLEARING, "coordinator")
        self.without = consortium.members
        self.north = consortium.join("north")
        self.members = consortium.members
        self.settings = ServerSettings(
            clearing, folder / "store", f"127.0.0.1:{free_port()}", websocket=f"127.0.0.1:{free_port()}"
        )

    def broker(self, door):
        url = {"tls": f"tls://{self.settings.listen}", "wss": f"wss://{self.settings.websocket}"}[door]
        return Broker([url], self.north.tls(self.members.authority), self.members.token("north"))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return House(tmp_path_factory.mktemp("house"))


@pytest.mark.parametrize("door", ["tls", "wss"])
def test_a_member_that_the_server_does_not_have_is_refused_for_good(house, door):
    with start_server(house.without, house.settings), pytest.raises(LocalError, match=WORDS) as caught:
        house.broker(door).__enter__()
    assert not isinstance(caught.value, UnreachableError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("door", ["tls", "wss"])
def test_a_member_that_a_reload_leaves_out_for_a_moment_is_connected_again_by_itself(house, door):
    with start_server(house.members, house.settings) as server, house.broker(door) as broker:
        server.reload(house.without)
        wait_for(lambda: broker.trouble and not broker.client.is_connected)
        time.sleep(2)  # some attempts in vain
        server.reload(house.members)
        wait_for(lambda: broker.client.is_connected and broker.trouble is None)
        broker.call(broker.client.flush(5))


def test_a_connection_whose_server_is_gone_ends_without_a_word(house):
    with start_server(house.members, house.settings) as server, house.broker("tls") as broker:
        server.stop()
        wait_for(lambda: broker.client.is_reconnecting)
        broker.call(broker.client.publish("t.x", b"never sent"))


def wait_for(true, seconds=15.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.02)


@pytest.fixture
def machine(tmp_path):
    """A consortium that has revoked east, whose own list is older."""
    tables = {name: np.arange(20.0).reshape(10, 2) for name in ("north", "south", "east")}
    with one_machine(tmp_path, tables, np.arange(10) % 2, keep=True) as made:
        Registrar.load(made.root / "registrar").revoke("east")
        yield made


def serving(machine):
    """Its server, with the newest list."""
    identity = Identity.load(machine.folder(CLEARING) / f"{CLEARING}.key")
    settings = ServerSettings(
        identity=identity, store_dir=machine.root / "server", listen=machine.url.removeprefix("tls://")
    )
    return start_server(Registrar.load(machine.root / "registrar").members, settings)


def test_a_revoked_party_ends_with_one_line_and_code_2(machine):
    with serving(machine):
        done = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", "tacit.cli", "party", "--config", machine.config("east")],
            capture_output=True, text=True, check=False, timeout=30, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert WORDS in done.stderr


def test_status_of_an_analyst_tells_no_jobs_from_no_word(machine):
    machine.start(CLEARING)
    machine.wait()
    assert status_of(machine).stdout == "analyst (analyst): no jobs\n"
    machine.kill(CLEARING)  # its server stays
    assert status_of(machine).stdout == "analyst (analyst): no word from clearing: does it run?\n"


def status_of(machine):
    command = [sys.executable, "-m", "tacit.cli", "status", "--config", machine.config("analyst")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=40)  # noqa: S603 - ourselves


def test_a_server_that_is_merely_away_is_dialled_until_it_is_there(machine, caplog):
    caplog.set_level("INFO", logger="tacit")
    settings, stop = daemon.PartySettings.from_toml(machine.config("north")), threading.Event()
    party = threading.Thread(target=daemon.run_party, args=(settings, stop))
    party.start()
    try:
        wait_for(lambda: "cannot be reached" in caplog.text)
        with serving(machine):
            wait_for(lambda: "north waits for proposals" in caplog.text)
        wait_for(lambda: "the connection to the server: " in caplog.text)
        with serving(machine):
            wait_for(lambda: "connected again" in caplog.text)
            stop.set()
            party.join(10)
    finally:
        stop.set()
        party.join(10)
    assert not party.is_alive()
    assert caplog.text.count("cannot be reached") == 1
