"""A real server and, for every member, a connection and a journal of its own; the parties of a run play in threads."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from organisations.sites import free_port
from tacit.choreo import Roster
from tacit.consortium.broker.server import start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.consortium.journal.record import Journal, Opening
from tacit.crypto.pads.agreement import public_key
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.pads.envelope import Sealer
from tacit.runtimes.nats.courier import NatsCourier
from tacit.runtimes.nats.durable import Durable, Limits
from tacit.runtimes.nats.network import Broker
from unit.consortium.consortium_sites import Consortium

COORDINATOR = "coordinator"
LIMITS = Limits(silence=30.0)


class Relay:
    """The server, and everybody's way to it."""

    def __init__(self, folder: Path, parties: Sequence[str], **server: Any) -> None:
        self.folder, self.options = folder, server
        self.consortium = Consortium(folder / "c")
        self.names = [COORDINATOR, *parties]
        self.identities = {
            n: self.consortium.join(n, "coordinator" if n == COORDINATOR else "party") for n in self.names
        }
        self.tokens = {n: self.consortium.members.token(n) for n in self.names}
        self.brokers: dict[str, Broker] = {}

    @property
    def store(self) -> Path:
        """Where the broker keeps its streams."""
        return self.folder / "js"

    def __enter__(self) -> Self:
        listen = f"127.0.0.1:{free_port()}"
        settings = ServerSettings(
            identity=self.identities[COORDINATOR], store_dir=self.store, listen=listen, **self.options
        )
        self._server = start_server(self.consortium.members, settings)
        self.server = self._server.__enter__()
        self.brokers = {n: self.connection(n).__enter__() for n in self.names}
        return self

    def __exit__(self, *_: object) -> None:
        for broker in self.brokers.values():
            broker.__exit__()
        self._server.__exit__(None, None, None)

    def connection(self, name: str) -> Broker:
        """One more, not yet open."""
        return Broker(
            [self.server.url], self.identities[name].tls(self.consortium.members.authority), self.tokens[name]
        )

    def streams(self) -> list[str]:
        """What the broker holds."""
        admin = self.brokers[COORDINATOR]
        return [info.config.name or "" for info in admin.call(admin.client.jetstream().streams_info())]


class Meeting:
    """One run of a roster over a relay."""

    def __init__(self, relay: Relay, roster: Roster, *, limits: Limits = LIMITS) -> None:
        self.relay, self.roster, self.limits = relay, roster, limits
        self.run = secrets.token_hex(16)
        self.private = {p: secrets.token_bytes(32) for p in roster.parties}
        self.public = {p: public_key(k) for p, k in self.private.items()}
        self.errors: dict[str, BaseException] = {}

    def folder(self, me: str) -> Path:
        """A party's journal."""
        return self.relay.folder / "state" / self.run / me

    def sealer(self, me: str) -> Sealer:
        """A party's keys of this run."""
        return Sealer(me, self.private[me], self.public, self.run.encode())

    @contextmanager
    def seat(self, me: str) -> Iterator[tuple[Durable, NatsCourier, Journal]]:
        """A party at its place; leaving it is like a crash: nobody is told."""
        opening = Opening(
            run=self.run, party=me, roster="r", protocol="p", source="s", data="d", versions={}, blas_threads=1, job="j"
        )
        tokens = {p: self.relay.tokens[p] for p in self.roster.parties}
        with Journal.open(self.folder(me), opening, bytes(32)) as journal:
            root = journal.secret("root", lambda: secrets.token_bytes(32))
            broker, admin = self.relay.brokers[me], me == COORDINATOR
            with NatsCourier(broker, me, self.run, tokens, self.sealer(me), journal, admin=admin) as courier:
                entropy = RootEntropy([me], self.run.encode(), {me: root})
                yield (
                    Durable(me, self.roster, journal, courier, job=b"conformance", entropy=entropy, limits=self.limits),
                    courier,
                    journal,
                )

    def play(self, part: Callable[[str, Durable], Any], *, finish: float = 20.0) -> dict[str, Any]:
        """Everybody plays; what each got out of it. Errors are kept by party."""

        def one(me: str) -> Any:
            with self.seat(me) as (run, courier, _):
                try:
                    result = part(me, run)
                except Exception as error:  # noqa: BLE001 - the test looks at it
                    self.errors[me] = error
                    return None
                courier.finish(finish)
                return result

        with ThreadPoolExecutor(len(self.roster.parties)) as pool:
            return dict(zip(self.roster.parties, pool.map(one, self.roster.parties), strict=True))

    def close(self) -> None:
        """Delete the run's stream."""
        admin = self.relay.brokers[COORDINATOR]
        admin.call(admin.client.jetstream().delete_stream(f"R{self.run}"))
