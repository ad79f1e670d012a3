"""A slow line in front of a server: every connection through it is late, and has so many bits a second each way."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

HOST, CHUNK, WAITING = "127.0.0.1", 1 << 14, 64


@dataclass
class Line:
    """One direction of a site's connection to the world."""

    delay: float  # seconds
    rate: float  # bytes a second
    free: float = field(default=0.0)  # when what was sent before has left

    def send(self, size: int, now: float) -> float:
        """Return when so many bytes arrive that are handed over now."""
        self.free = max(now, self.free) + size / self.rate
        return self.free + self.delay


@contextmanager
def slow_link(port: int, *, round_trip: float, bits: float) -> Iterator[int]:
    """Return a port of this machine behind which the given one answers, but slowly; all connections share the line."""
    loop = asyncio.new_event_loop()
    lines = tuple(Line(round_trip / 2, bits / 8) for _ in range(2))

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):  # which asyncio would print before Python 3.12
            far_reader, far_writer = await asyncio.open_connection(HOST, port)
            await asyncio.gather(carry(reader, far_writer, lines[0]), carry(far_reader, writer, lines[1]))

    with socket.create_server((HOST, 0)) as door:
        thread = threading.Thread(target=loop.run_forever, name="slow-link", daemon=True)
        thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(relay, sock=door), loop).result()
        try:
            yield int(door.getsockname()[1])
        finally:
            asyncio.run_coroutine_threadsafe(_end(server), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: Line) -> None:
    """Pass on what is read, when it arrives."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(WAITING)  # a full line makes the sender wait

    async def deliver() -> None:
        while (arriving := await under_way.get())[1]:
            await asyncio.sleep(arriving[0] - loop.time())
            writer.write(arriving[1])
            await writer.drain()
        writer.close()

    async def collect() -> None:
        data = b"-"
        while data:
            try:
                data = await reader.read(CHUNK)
            except OSError:
                data = b""
            await under_way.put((line.send(len(data), loop.time()), data))

    with contextlib.suppress(OSError):
        await asyncio.gather(collect(), deliver())


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
