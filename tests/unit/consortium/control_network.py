"""A consortium with a running server, and control letters between its sites."""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from consortium_study import Study

from tacit.consortium.broker.control import Control
from tacit.consortium.broker.server import start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.runtimes.nats.network import Broker


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Listener:
    """A site's control, and all that it heard."""

    control: Control
    broker: Broker
    heard: list = field(default_factory=list)
    lines: list = field(default_factory=list)  # for its log
    changed: threading.Condition = field(default_factory=threading.Condition)

    def handle(self, *letter):
        with self.changed:
            self.heard.append(letter)
            self.changed.notify_all()

    def waits(self, found, seconds=10.0):
        """Whether something becomes true of what was heard or refused."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found(self):
                return True
            with self.changed:
                self.changed.wait(0.02)
        return False

    def hears(self, *letter):
        return self.waits(lambda me: letter in me.heard)

    def logs(self, words):
        """Whether a line with these words comes up for its log."""

        def found(me):
            me.lines += me.control.notices.take()
            return any(words in line for line in me.lines)

        return self.waits(found)

    def refuses(self, words, times=1):
        return self.logs(words) and self.waits(lambda me: me.control.notices.refused >= times)

    def raw(self, subject, data):
        """Publish bytes as they are."""
        self.broker.call(self.broker.client.jetstream().publish(subject, data, timeout=5))


class ControlNetwork(Study):
    """A study whose sites can talk."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.store = folder / "store"
        self.settings = ServerSettings(self.sites["clearing"], self.store, f"127.0.0.1:{free_port()}")
        self.tokens = {name: self.members.token(name) for name in self.sites}
        self.server = None

    @contextmanager
    def serving(self):
        with start_server(self.members, self.settings) as self.server:
            yield self

    @contextmanager
    def site(self, name):
        """A member that listens."""
        identity = self.sites[name]
        broker = Broker([self.server.url], identity.tls(self.members.authority), self.tokens[name])
        listener = Listener(None, broker)
        with broker:
            listener.control = Control(broker, identity, self.members, listener.handle, admin=name == "clearing")
            with listener.control:
                yield listener

    def stored(self):
        """All bytes of the server's streams; its configuration, beside them, names the members."""
        found = b""
        for path in sorted((self.store / "jetstream").rglob("*")):
            with suppress(OSError):  # the server may remove a file meanwhile
                found += path.read_bytes() if path.is_file() else b""
        return found
