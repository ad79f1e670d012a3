"""`Apart` with every party in a process of its own, joined by sockets.

The parent, which is whoever tests, starts `python -m tacit.runtimes.processes ENTRY` once per party and hands it its
ends of the sockets. ENTRY is `module:function`; the function gets the party's run and its payload, which is bytes, and
returns bytes. Payload and answer go through stdin and stdout.
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
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tacit.choreo.codec import LIMIT, decode, encode
from tacit.choreo.role import Role, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import LocalError, PeerError, TacitError
from tacit.runtimes.apart import Apart

LENGTH = struct.Struct("<Q")


class SocketPost:
    """Post over one socket for each other party; threads send and receive, so that nobody blocks anybody."""

    def __init__(self, sockets: Mapping[str, socket.socket]) -> None:
        self._box: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
        self._outgoing: dict[str, queue.SimpleQueue[bytes | None]] = {p: queue.SimpleQueue() for p in sockets}
        self._senders = [threading.Thread(target=_send, args=(s, self._outgoing[p])) for p, s in sockets.items()]
        readers = [threading.Thread(target=_receive, args=(p, s, self._box), daemon=True) for p, s in sockets.items()]
        for thread in (*self._senders, *readers):
            thread.start()

    def put(self, receiver: str, data: bytes) -> None:
        """Queue an envelope for sending."""
        self._outgoing[receiver].put(data)

    def get(self, timeout: float) -> tuple[str, bytes]:
        """Return the next envelope from anybody."""
        return self._box.get(timeout=timeout)

    def close(self) -> None:
        """Send what is queued, then end."""
        for outgoing in self._outgoing.values():
            outgoing.put(None)
        for sender in self._senders:
            sender.join()


def _send(sock: socket.socket, outgoing: queue.SimpleQueue[bytes | None]) -> None:
    while (data := outgoing.get()) is not None:
        try:
            sock.sendall(LENGTH.pack(len(data)) + data)
        except OSError:  # the other end is gone; whoever waits for it finds out
            return
    sock.shutdown(socket.SHUT_WR)


def _receive(party: str, sock: socket.socket, box: queue.SimpleQueue[tuple[str, bytes]]) -> None:
    with sock.makefile("rb") as stream:
        while len(head := stream.read(LENGTH.size)) == LENGTH.size and (size := LENGTH.unpack(head)[0]) <= LIMIT:
            box.put((party, stream.read(size)))


def in_processes(roster: Roster, entry: str, payloads: Mapping[str, bytes], *, job: bytes) -> dict[str, bytes]:
    """Run ENTRY at every party at once; return each party's answer, or raise the first party's error."""
    ends = _sockets(roster.parties)
    try:
        with ThreadPoolExecutor(len(roster.parties)) as pool:
            started = {p: pool.submit(_start, p, roster, entry, payloads[p], job, ends[p]) for p in roster.parties}
        answers = {p: decode(future.result()) for p, future in started.items()}
    finally:
        for sock in {s for links in ends.values() for s in links.values()}:
            sock.close()
    failures = [(p, *answer) for p, (ok, *answer) in answers.items() if not ok]
    for party, name, text in sorted(
        failures, key=lambda failure: failure[1] == "StoppedError"
    ):  # the cause before its echoes
        raise (LocalError if name == "LocalError" else PeerError)(f"{party}: {text}")
    return {p: answer[0] for p, (_, *answer) in answers.items()}


def _sockets(parties: Sequence[str]) -> dict[str, dict[str, socket.socket]]:
    ends: dict[str, dict[str, socket.socket]] = {p: {} for p in parties}
    for i, a in enumerate(parties):
        for b in parties[i + 1 :]:
            ends[a][b], ends[b][a] = socket.socketpair()
    return ends


def _start(
    party: str, roster: Roster, entry: str, payload: bytes, job: bytes, links: Mapping[str, socket.socket]
) -> bytes:
    handles = {p: s.fileno() for p, s in links.items()}
    roles = tuple((r.name, r.single, parties) for r, parties in roster.roles.items())
    order = encode((party, roles, handles, job, payload)).join()
    command = [sys.executable, "-m", "tacit.runtimes.processes", entry]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(  # noqa: S603 - our own module
        command, input=order, capture_output=True, pass_fds=list(handles.values()), env=environment, check=False
    )
    if done.returncode:
        raise PeerError(
            f"the process of {party} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}"
        )
    return done.stdout


def main() -> None:
    """Play one party: read the order, run it, answer."""
    module, _, function = sys.argv[1].partition(":")
    me, roles, handles, job, payload = decode(sys.stdin.buffer.read())
    roster = Roster({Role(name, single=single): parties for name, single, parties in roles})
    post = SocketPost({party: socket.socket(fileno=fd) for party, fd in handles.items()})
    # a root key of its own: what protects this party must not exist anywhere else
    run = Apart(me, roster, post, job=job, entropy=RootEntropy([me], job))
    try:
        answer: tuple[object, ...] = (True, getattr(importlib.import_module(module), function)(run, payload))
    except BaseException as error:  # noqa: BLE001 - the others must hear of it, whatever it is
        run.stop(error)
        answer = (False, type(error).__name__, str(error) if isinstance(error, TacitError) else traceback.format_exc())
    finally:
        post.close()
    sys.stdout.buffer.write(encode(answer).join())


if __name__ == "__main__":
    main()
