"""`Apart` with every party in a process of its own, joined by sockets that only the two ends of a link have.

The parent starts `python -m tacit.runtimes.processes ENTRY` once per party. ENTRY is `module:function`; the function
gets the party's run and its payload, both bytes, and returns bytes. Payload and answer go through stdin and stdout.
"""

from __future__ import annotations

import importlib
import os
import queue
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tacit.choreo.codec import decode, encode
from tacit.choreo.role import Role, Roster
from tacit.crypto.entropy import RootEntropy
from tacit.errors import LocalError, PeerError, TacitError
from tacit.runtimes.apart import Apart, Link

LENGTH = struct.Struct("<Q")


class SocketLink:
    """A link over a connected socket; a thread of its own sends, so that two parties can send to each other at once."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._sender.start()

    def put(self, data: bytes) -> None:
        """Queue for sending."""
        self._outgoing.put(data)

    def get(self, timeout: float) -> bytes:
        """Receive the next; a closed link is an empty one."""
        self._socket.settimeout(max(timeout, 0.001))
        try:
            return self._exactly(LENGTH.unpack(self._exactly(LENGTH.size))[0])
        except TimeoutError:
            raise queue.Empty from None

    def close(self) -> None:
        """Send what is queued, then hang up."""
        self._outgoing.put(None)
        self._sender.join()
        self._socket.close()

    def _send(self) -> None:
        while (data := self._outgoing.get()) is not None:
            try:
                self._socket.sendall(LENGTH.pack(len(data)) + data)
            except OSError:  # the other end is gone; whoever waits for it finds out
                return

    def _exactly(self, n: int) -> bytes:
        data = bytearray()
        while len(data) < n:
            piece = self._socket.recv(min(n - len(data), 1 << 20))
            if not piece:
                raise PeerError("the other party has gone")
            data += piece
        return bytes(data)


def in_processes(roster: Roster, entry: str, payloads: Mapping[str, bytes], *, job: bytes) -> dict[str, bytes]:
    """Run ENTRY at every party at once; returns each party's answer, or raises the first party's error."""
    ends = _sockets(roster.parties)
    try:
        with ThreadPoolExecutor(len(roster.parties)) as pool:
            started = {p: pool.submit(_start, p, roster, entry, payloads[p], job, ends[p]) for p in roster.parties}
        answers = {p: decode(future.result()) for p, future in started.items()}
    finally:
        for sock in {s for links in ends.values() for s in links.values()}:
            sock.close()
    failures = [(p, *answer) for p, (ok, *answer) in answers.items() if not ok]
    for kind in ("LocalError", "PeerError", ""):  # whoever caused it comes before those it stopped
        for party, name, text in failures:
            if name == kind or not kind:
                raise (LocalError if name == "LocalError" else PeerError)(f"{party}: {text}")
    return {p: answer[0] for p, (_, *answer) in answers.items()}


def _sockets(parties: Sequence[str]) -> dict[str, dict[str, socket.socket]]:
    ends: dict[str, dict[str, socket.socket]] = {p: {} for p in parties}
    for i, a in enumerate(parties):
        for b in parties[i + 1 :]:
            ends[a][b], ends[b][a] = socket.socketpair()
    return ends


def _start(party: str, roster: Roster, entry: str, payload: bytes, job: bytes, links: Mapping[str, socket.socket]) -> bytes:
    handles = {p: s.fileno() for p, s in links.items()}
    roles = tuple((r.name, r.single, parties) for r, parties in roster.roles.items())
    order = encode((party, roles, handles, job, payload)).join()
    command = [sys.executable, "-m", "tacit.runtimes.processes", entry]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, input=order, capture_output=True, pass_fds=list(handles.values()), env=environment, check=False)  # noqa: S603 - our own module
    if done.returncode:
        raise PeerError(f"the process of {party} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout


def main() -> None:
    """One party: read the order, play, answer."""
    module, _, function = sys.argv[1].partition(":")
    me, roles, handles, job, payload = decode(sys.stdin.buffer.read())
    roster = Roster({Role(name, single=single): parties for name, single, parties in roles})
    links = {party: SocketLink(socket.socket(fileno=fd)) for party, fd in handles.items()}
    # a root key of its own: what protects this party must not exist anywhere else
    run = Apart(me, roster, dict[str, Link](links), job=job, entropy=RootEntropy([me], job))
    try:
        answer: tuple[object, ...] = (True, getattr(importlib.import_module(module), function)(run, payload))
    except TacitError as error:
        run.stop(error)
        answer = (False, type(error).__name__, str(error))
    for link in links.values():
        link.close()
    sys.stdout.buffer.write(encode(answer).join())


if __name__ == "__main__":
    main()
