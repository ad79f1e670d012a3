"""nats-server as a child of this process: started, reloaded when members change, stopped.

    <store_dir>/nats.conf, ca.crt     written anew at every start and reload
    <store_dir>/nats.log, nats.pid
    <store_dir>/jetstream             the streams

Needs a POSIX system: nats-server reloads on a signal.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.consortium.broker.server_config import CONFIG, HANDSHAKE_SECONDS, PID, ServerSettings, write_config
from tacit.consortium.disk import lock_folder, port_error
from tacit.consortium.membership.members import Members
from tacit.errors import LocalError, MissingExtraError
from tacit.report.words import human_bytes

PATIENCE = HANDSHAKE_SECONDS + 10.0
LONGEST_REASON = 300
STARTS = 5
ROOM = 256 << 20  # free bytes below which a store that could not be written is not tried again
BROKEN = b"ritical write error"  # the server's word for a stream that it writes no more until it is started again
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on


def find_server() -> str:
    """Return the system's nats-server, or the one installed beside Python."""
    beside = sysconfig.get_path("scripts")
    found = shutil.which("nats-server") or shutil.which("nats-server", path=beside)
    if found is None:
        raise MissingExtraError(f"the server between the sites (no nats-server on PATH or in {beside})", "nats")
    return found


@contextmanager
def start_server(members: Members, settings: ServerSettings) -> Iterator[Server]:
    """Start a server that these members can reach; it is stopped at the end."""
    program, folder = find_server(), settings.store_dir
    taken = f"another coordinator uses store_dir {folder}: stop it, or name another folder"
    with lock_folder(folder, "store_dir", taken):
        end_left_behind(folder)
        server = Server(program, settings.fitted())
        try:
            server.start(members)
            yield server
        finally:
            server.stop()


class Server:
    """The nats-server of a coordinator, as a child process."""

    def __init__(self, program: str, settings: ServerSettings) -> None:
        self.settings = settings
        self._program = program
        self._child: subprocess.Popen[bytes] | None = None
        self._read, self._broken = 0, False  # how far its log was read, and whether a stream of it is broken

    def __repr__(self) -> str:
        return f"Server({self.url}, {'running' if self.alive else 'stopped'})"

    @property
    def url(self) -> str:
        """Where sites on this machine reach it."""
        host, port = self._dial()
        return f"tls://[{host}]:{port}" if ":" in host else f"tls://{host}:{port}"

    @property
    def alive(self) -> bool:
        """Whether the server's process runs."""
        return self._child is not None and self._child.poll() is None

    def start(self, members: Members) -> None:
        """Start it, and wait until it answers over TLS; once more if somebody kills it meanwhile."""
        for setting, (host, port) in self.settings.addresses().items():
            _refuse_taken(setting, host, port)
        write_config(members, self.settings)
        for attempt in range(1, STARTS + 1):
            since = self._launch()
            try:
                self._wait(lambda: self._answers(members), "start", since)
            except LocalError:
                if not self._killed or attempt == STARTS:
                    raise
            else:
                return

    def _launch(self) -> int:
        """Start a new child, and return where its part of the log begins."""
        since = self._read = self._log_size()
        self._broken = False
        with self.settings.log_file.open("ab") as log:
            # a session of its own: Ctrl-C reaches the coordinator alone, which then stops things in order
            self._child = subprocess.Popen(  # noqa: S603 - the program found, and our own file
                [self._program, "-c", str(self.settings.config_file)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        return since

    @property
    def _killed(self) -> bool:
        """Ended by a signal, rather than by an error of its own."""
        return self._child is not None and (self._child.poll() or 0) < 0

    @property
    def trouble(self) -> str:
        """What is wrong with the disk of the streams, and what to do; nothing if it is well."""
        free = shutil.disk_usage(self.settings.store_dir).free
        if self._is_broken() or free < ROOM:
            room = f"{human_bytes(free)} are free in {self.settings.store_dir}, and the message server needs"
            return f"{room} {human_bytes(ROOM)}: make room, and runs go on by themselves"
        return ""

    def recover(self, members: Members) -> bool:
        """Start it again if it could not write and there is room now; return whether it was."""
        if not self._is_broken() or shutil.disk_usage(self.settings.store_dir).free < ROOM:
            return False
        self.stop()
        self.start(members)
        return True

    def _is_broken(self) -> bool:
        """Return whether the server has said since its start that it cannot write a stream."""
        if not self._broken and (size := self._log_size()) != self._read:
            with self.settings.log_file.open("rb") as log:
                log.seek(self._read if self._read < size else 0)  # else it was rotated meanwhile
                self._broken = BROKEN in log.read()
            self._read = size
        return self._broken

    def reload(self, members: Members) -> None:
        """Apply a new list of members; who is no longer in it is disconnected."""
        if self._child is None:
            raise LocalError("the server is not running: start it before reloading")
        since = self._log_size()
        write_config(members, self.settings)
        if sys.platform == "win32":
            raise LocalError("a server on Windows cannot read its list of members again: restart the coordinator")
        self._child.send_signal(signal.SIGHUP)
        self._wait(lambda: self._has_reloaded(since), "reload", since)

    def stop(self) -> None:
        """End it, and nothing else; streams stay on disk."""
        child, self._child = self._child, None
        if child is not None:
            end_child(child)

    def _wait(self, done: Callable[[], bool], what: str, since: int) -> None:
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit and self.alive:
            if done():
                return
            time.sleep(0.02)
        ended = "did not" if self.alive else "ended and did not"
        log = self.settings.log_file
        raise LocalError(f"nats-server {ended} {what}: {_reason(self._log(since))}; the full log is {log}")

    def _has_reloaded(self, since: int) -> bool:
        said = self._log(since)
        if "[ERR] Failed to reload" in said:
            raise LocalError(f"nats-server keeps its old configuration: {_reason(said)}; restart the coordinator")
        return re.search(r"^\[\d+\] \S+ \S+ \[INF\] Reloaded server configuration", said, re.MULTILINE) is not None

    def _answers(self, members: Members) -> bool:
        context = self.settings.identity.tls(members.authority)
        context.check_hostname = False  # asked for by address here, whatever its names are
        try:
            with socket.create_connection(self._dial(), timeout=1) as plain, context.wrap_socket(plain) as door:
                return door.recv(5) == b"INFO "
        except OSError:
            return False

    def _dial(self) -> tuple[str, int]:
        host, port = self.settings.addresses()["listen"]
        return EVERYWHERE.get(host, host), port

    def _log_size(self) -> int:
        return self.settings.log_file.stat().st_size if self.settings.log_file.exists() else 0

    def _log(self, since: int) -> str:
        with self.settings.log_file.open("rb") as log:
            log.seek(since if since <= self._log_size() else 0)  # else it was rotated meanwhile
            return log.read().decode(errors="replace")


def end_child(child: subprocess.Popen[bytes]) -> None:
    """End a process, by force if it does not listen."""
    child.terminate()
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def end_left_behind(store: Path) -> None:
    """End the server of a coordinator that was killed: it would hold the port."""
    pid = _left_behind(store)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    limit = time.monotonic() + PATIENCE
    while _left_behind(store) == pid and time.monotonic() < limit:
        time.sleep(0.02)


def _left_behind(store: Path) -> int | None:
    try:
        pid = int((store / PID).read_text(encoding="ascii"))
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    # the number may belong to another process by now: only ours was started with this very file
    return pid if os.fsencode(store.absolute() / CONFIG) in command else None


def _refuse_taken(setting: str, host: str, port: int) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, proto, _, where = found[0]
        with socket.socket(family, kind, proto) as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind(where)
    except OSError as error:
        raise port_error(error, host, port, setting) from None


def _reason(log: str) -> str:
    """Return the last complaint in a log, in one line."""
    complaints = re.findall(r"(?:\[(?:FTL|ERR)\]|nats-server:) (.+)", log)
    return complaints[-1][:LONGEST_REASON] if complaints else "it gave no reason"
