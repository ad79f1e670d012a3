"""How a site is: what a person is told of it, once, by log, mail and webhook; a full disk at the broker."""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import socket
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec
import pytest
from consortium_sites import Consortium

from tacit.consortium.broker import server as server_module
from tacit.consortium.broker.server import find_server, start_server
from tacit.consortium.broker.server_config import LEAST_STORE, ServerSettings
from tacit.consortium.membership.names import inbox
from tacit.consortium.site.alerts import AGAIN, Alerts
from tacit.consortium.site.health import LEAST_DISK, Health, complaints_about, describe_health
from tacit.consortium.site.settings import Notify
from tacit.errors import LocalError, MissingExtraError

JOB = "0123456789abcdef0123456789abcdef"


def health(**other):
    usual = {"at": 1000.0, "reachable": True, "certificate_days": 200.0, "disk_free": 10 * LEAST_DISK}
    return Health(**{**usual, **other})


@pytest.mark.parametrize(
    ("found", "subject", "says"),
    [
        ({"reachable": False, "trouble": "refused", "unreachable": 300.0}, "broker", "lost 5 min 0 s ago (refused)"),
        ({"certificate_days": 29.5}, "certificate", "ends in 29 days: ask the registrar for tacit keys renew"),
        ({"certificate_days": -2.0}, "certificate", "has ended"),
        ({"disk_free": LEAST_DISK - 1}, "disk", "1.1 GB are free where state lies: make room, or move state"),
        ({"clock_offset": -45.0}, "clock", "45.0 s behind the message server's: set it"),
        ({"store": "no room"}, "store", "no room"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(found, subject, says):
    (complaint,) = complaints_about(health(**found))
    assert complaint.subject == subject
    assert says in complaint.says


def test_a_site_that_is_well_has_no_complaints_and_a_restart_of_the_server_is_none():
    assert not list(complaints_about(health(clock_offset=2.0, waiting=(JOB,))))
    assert not list(complaints_about(health(reachable=False, unreachable=20.0)))


def test_a_certificate_gets_worse_a_week_before_its_end_and_at_it():
    degrees = [next(complaints_about(health(certificate_days=days))).degree for days in (29, 6.9, -0.1)]
    assert degrees == [1, 2, 3]


def test_how_a_site_is_fits_into_a_few_lines_and_survives_the_status_file():
    here = health(heard={"clearing": 3.0, "south": 7200.0}, clock_offset=-0.02, waiting=(JOB,), queue=2)
    lines = dict(describe_health(msgspec.json.decode(msgspec.json.encode(here), type=Health)))
    assert lines["last heard of"] == "clearing 3.0 s ago, south 2 h 0 min ago"
    assert lines["waiting for people here"] == "01234567"
    assert lines["certificate"] == "200 days left"
    assert len(lines) == 7


# Telling people


class Mails(socketserver.StreamRequestHandler):
    """As much of a mail server as a mail needs."""

    def handle(self):
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            word = line.strip().upper()[:4]
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                text = b"".join(iter(self.rfile.readline, b".\r\n"))
                self.server.mails.append(text.decode())
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 well\r\n")


class Posts(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def serving(kind, handler, **keeps):
    with kind(("127.0.0.1", 0), handler) as server:
        vars(server).update(keeps)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def alerts(tmp_path):
    def make(notify=None):
        return Alerts("north", tmp_path, notify, lambda _: "analyst")

    return make


def test_a_proposal_that_waits_is_told_by_mail_and_webhook_once_also_after_a_restart(tmp_path, alerts):
    with serving(socketserver.TCPServer, Mails, mails=[]) as mail, serving(HTTPServer, Posts, posts=[]) as hook:
        webhook = tmp_path / "webhook"
        webhook.write_text(f"http://127.0.0.1:{hook.server_port}/secret\n")
        webhook.chmod(0o600)
        notify = Notify(
            email=("dpo@north.example",), smtp=f"127.0.0.1:{mail.server_address[1]}", sender="tacit@north.example",
            webhook_file=webhook,
        )  # fmt: skip
        for _ in range(2):
            with alerts(notify) as told:
                for _ in range(3):
                    told.consider(health(waiting=(JOB,)))
                told._sender.shutdown()
        (text,) = mail.mails
        assert "Subject: tacit at north: proposal 01234567" in text
        assert "job 01234567 of analyst waits for approval: tacit party pending" in text
        assert hook.posts == [
            {"site": "north", "subject": f"proposal {JOB}", "degree": 0,
             "text": "north: job 01234567 of analyst waits for approval: tacit party pending"}
        ]  # fmt: skip


def test_what_goes_on_is_said_again_after_a_day_and_at_once_when_it_gets_worse(alerts, caplog):
    caplog.set_level(logging.INFO, "tacit")
    with alerts() as told:
        for at, days in ((0.0, 29.0), (60.0, 28.9), (AGAIN + 1, 27.9), (AGAIN + 60, 6.5), (AGAIN + 90, 200.0)):
            told.consider(health(at=at, certificate_days=days))
    assert len(caplog.messages) == 3


def test_a_way_that_fails_is_logged_without_its_address_and_ends_nothing(tmp_path, alerts, caplog):
    webhook = tmp_path / "webhook"
    webhook.write_text("http://127.0.0.1:1/secret-token\n")
    webhook.chmod(0o600)
    with alerts(Notify(webhook_file=webhook)) as told:
        told.consider(health(disk_free=0))
        told._sender.shutdown()
    assert "nobody was told of 'disk' by webhook (URLError)" in caplog.messages
    assert "secret-token" not in caplog.text


@pytest.mark.parametrize(
    ("notify", "says"),
    [
        (Notify(), r"tells nobody: add email or webhook_file"),
        (Notify(email=("a@b",)), r"needs a sender for its mails"),
        (Notify(email=("a@b",), sender="c@d", smtp="mail"), r"needs a host and a port"),
    ],
)
def test_a_table_that_tells_nobody_is_refused(notify, says):
    with pytest.raises(LocalError, match=says):
        notify.check("party.toml")


# A full disk at the broker


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=64m", "tacit-test", str(place)]
    if os.name != "posix" or mount is None or subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603 - ours
        pytest.skip("a small file system can only be mounted by root")
    yield place
    subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607 - where mount is


def test_streams_are_given_no_more_than_the_disk_has_however_large_it_is(tmp_path, monkeypatch):
    settings = ServerSettings(None, tmp_path)
    usage = shutil.disk_usage(tmp_path)
    for free, wanted in ((5 << 30, 4 << 30), (1 << 20, LEAST_STORE), (100 << 30, 10 << 30)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        assert settings.fitted().store_bytes == wanted


def test_a_full_disk_is_said_and_the_server_goes_on_when_there_is_room(small_disk, tmp_path, monkeypatch):
    nats = pytest.importorskip("nats")
    try:
        find_server()
    except MissingExtraError:
        pytest.skip("there is no nats-server")
    monkeypatch.setattr(server_module, "ROOM", 16 << 20)
    consortium = Consortium(tmp_path / "sites")
    identity = consortium.join("clearing", "coordinator")
    members = consortium.members
    settings = ServerSettings(identity, small_disk, f"127.0.0.1:{free_port()}")

    async def publish(server, size, times):
        context, subject = identity.tls(members.authority), f"t.S.{members.token('clearing')}.x"
        own = inbox(members.token("clearing")).encode()
        client = await nats.connect(server.url, tls=context, tls_handshake_first=True, inbox_prefix=own)
        try:
            js = client.jetstream()
            await js.add_stream(name="S", subjects=[subject])
            for _ in range(times):
                await js.publish(subject, os.urandom(size), timeout=1)
        finally:
            await client.close()

    with start_server(members, settings) as server:
        asyncio.run(publish(server, 1000, 3))
        assert server.trouble == ""
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(40 << 20))
        with pytest.raises(Exception, match="timeout"):  # the server itself says nothing to who publishes
            asyncio.run(publish(server, 1 << 19, 60))
        assert "are free in" in server.trouble
        assert server.trouble.endswith("make room, and runs go on by themselves")
        assert not server.recover(members)
        ballast.unlink()
        assert server.recover(members)
        assert server.trouble == ""
        asyncio.run(publish(server, 1 << 19, 3))
        assert not server.recover(members)
