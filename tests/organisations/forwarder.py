"""A line that can be cut: forwards TCP on loopback."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Forwarder:
    """Listens on a port of its own and passes everything on, both ways, while it is not cut."""

    def __init__(self) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        self.target = 0
        self._lines: set[socket.socket] = set()
        self._whole = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._door.close()

    def cut(self) -> None:
        """Every connection breaks, and none comes through."""
        self._whole = False
        for line in tuple(self._lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Connections come through again."""
        self._whole = True

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.target)) if self._whole else None
                except OSError:
                    far = None
                if far is None:
                    near.close()
                    continue
                self._lines |= {near, far}
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for line in (source, sink):
            self._lines.discard(line)
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
