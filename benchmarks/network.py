"""Between organisations: NATS JetStream with files, mutual TLS, sealed letters and journals, all on this machine."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import astuple, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step
from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Roster, Run, choreography
from tacit.cli.one_machine import CLEARING, OneMachine, one_machine
from tacit.consortium.broker.server import start_server
from tacit.consortium.broker.server_config import ServerSettings
from tacit.consortium.journal import store
from tacit.consortium.journal.record import Journal, Opening
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.crypto.pads.agreement import public_key
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.pads.envelope import Sealer
from tacit.runtimes.nats.courier import NatsCourier
from tacit.runtimes.nats.durable import Durable
from tacit.runtimes.nats.network import Broker

KB, MB = 1 << 10, 1 << 20


class Payload(Message, tells=Fact("tests.nothing_a_benchmark", "nobody", "nothing", "none", "nothing: a benchmark")):
    """A message of so many bytes."""

    values: F64


@choreography(opens={Everyone: Fact("tests.nothing_a_benchmark", "nobody", "nothing", "none", "nothing: a benchmark")})
def to_coordinator(run: Run, x: At, *, rounds: int) -> None:
    """Every holder sends to the coordinator, round after round."""
    s = run.carry(t=0)
    for t in run.rounds(rounds, s):
        run.send(Payload, Holder >> Coordinator, run.local(Holder, Payload, x))
        run.publish(Payload, run.local(Coordinator, _small))
        s.t = t


def _small() -> Payload:
    return Payload(np.zeros(1))


@choreography(opens={Everyone: Fact("tests.nothing_a_benchmark", "nobody", "nothing", "none", "nothing: a benchmark")})
def one_to_one(run: Run, x: At, *, rounds: int) -> None:
    """The first holder sends to the second."""
    first, second, *_ = run.members(Holder)
    for _ in range(rounds):
        run.send(Payload, first >> second, run.local(first, Payload, x))


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure latency, throughput, memory, a whole training between processes, and what happens to runs in trouble."""
    with threadpool_limits(1):
        yield from _latency(rounds=20 if quick else 100)
        yield _throughput(rounds=5 if quick else 40)
        yield from _training(parties=3 if quick else 5)
        yield from _memory(rounds=1 if quick else 10)
        if not quick:  # the tests have a short cut and some chaos
            yield _cut(seconds=60)
            yield from _chaos(runs=100)


@contextlib.contextmanager
def _rig(parties: int) -> Iterator[tuple[OneMachine, Members]]:
    """Start the server of a consortium, and none of its sites yet."""
    names = {f"h{i + 1}": np.zeros((2, 1)) for i in range(parties)}
    with (
        tempfile.TemporaryDirectory() as folder,
        one_machine(Path(folder), names, np.zeros(2, np.int64), keep=True) as made,
    ):
        members = Members.load(made.folder(CLEARING) / "consortium.members", made.fingerprint)
        identity = Identity.load(made.folder(CLEARING) / f"{CLEARING}.key")
        settings = ServerSettings(
            identity=identity, store_dir=Path(folder) / "server", listen=made.url.removeprefix("tls://")
        )
        with start_server(members, settings):
            yield made, members


@dataclass(frozen=True)
class Order:
    """What one site needs to know to play its part."""

    root: Path
    url: str
    authority: str
    hospitals: tuple[str, ...]
    tokens: dict[str, str]
    keys: dict[str, bytes]
    run: str
    play: Callable[..., None]
    size: int
    rounds: int


@dataclass(frozen=True)
class Spent:
    """What playing a choreography took one site."""

    seconds: float
    megabytes: float


def _played(
    made: OneMachine, members: Members, play: Callable[..., None], size: int, rounds: int, *, apart: bool = False
) -> dict[str, Spent]:
    """Return what a choreography takes each site, all of them in threads or in processes of their own."""
    sites = (*made.hospitals, CLEARING)
    keys, tokens = {p: secrets.token_bytes(32) for p in sites}, {p: members.token(p) for p in sites}
    run = secrets.token_hex(16)
    order = Order(made.root, made.url, members.authority, made.hospitals, tokens, keys, run, play, size, rounds)
    pool = ProcessPoolExecutor(len(sites), mp_context=get_context("spawn")) if apart else ThreadPoolExecutor(len(sites))
    with pool:
        return dict(zip(sites, pool.map(_site, [order] * len(sites), sites), strict=True))


def _site(order: Order, me: str) -> Spent:
    roster = Roster({Holder: order.hospitals, Coordinator: (CLEARING,)})
    identity = Identity.load(order.root / me / f"{me}.key")
    opening = Opening(
        run=order.run, party=me, roster="", protocol="", source="", data="", versions={}, blas_threads=1, job=""
    )
    sealer = Sealer(me, order.keys[me], {p: public_key(k) for p, k in order.keys.items()}, b"bench")
    with (
        Broker([order.url], identity.tls(order.authority), order.tokens[me]) as broker,
        Journal.open(order.root / order.run / me, opening, bytes(32)) as journal,
        NatsCourier(broker, me, order.run, order.tokens, sealer, journal, admin=me == CLEARING) as courier,
    ):
        run = Durable(me, roster, journal, courier, job=b"bench", entropy=RootEntropy([me], b"bench"))
        run.publish_all(Payload, run.local(Everyone, _small))  # everybody is there
        start = time.perf_counter()
        order.play(
            run, run.hold(Holder, dict.fromkeys(order.hospitals, np.zeros(order.size // 8))), rounds=order.rounds
        )
        seconds = time.perf_counter() - start
        courier.finish(60)
    return Spent(seconds, peak_memory())


def peak_memory(process: int | str = "self") -> float:
    """Return the most megabytes a process ever had; rusage would begin with the size of its parent."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _slowest(spent: Mapping[str, Spent]) -> float:
    return max(one.seconds for one in spent.values())


@dataclass(frozen=True)
class Round:
    """What a round of all sites takes: seconds, those of the processor here and at the server, and threads woken."""

    seconds: float
    sites: float
    server: float
    wakes: float


def _latency(rounds: int) -> Iterator[Figure]:
    """Measure a round, and the same where the disk is not waited for: what syncs cost."""
    with _rig(5) as (made, members):
        server = int((made.root / "server" / "nats.pid").read_text())

        def measure() -> Round:
            """Return what a round takes, of which each iteration has two."""
            before = _used(server)
            seconds = _slowest(_played(made, members, to_coordinator, KB, rounds))
            used = (after - start for after, start in zip(_used(server), before, strict=True))
            return Round(*(each / (2 * rounds) for each in (seconds, *used)))

        measure()  # what is imported once
        found, unsynced, waited = [], [], []
        for _ in range(3):  # in turns, so that whatever else the machine does falls on both
            with _syncs(store.sync_file) as seconds:
                found.append(measure())
            waited += seconds
            with _syncs(lambda _handle: None):
                unsynced.append(measure())
    each, free = _middle(found), _middle(unsynced)
    told = f"{each.seconds * 1e3:.1f} ms; of the processor {each.sites * 1e3:.1f} ms at all six sites"
    told += f" and {each.server * 1e3:.1f} ms at their server; {each.wakes:.0f} waits of threads"
    yield Figure(
        "one round of 1 KB, five parties, journal on", told, "under 10 ms", each.seconds < 0.01, before="21 ms"
    )
    often = len(waited) / (3 * 2 * rounds * 6)
    told = f"{often:.2f} at each site, of {median(waited) * 1e3:.1f} ms"
    told += f"; without them the round {free.seconds * 1e3:.1f} ms"
    yield Figure("what syncs of the disk cost in it", told)


def _used(server: int) -> tuple[float, float, float]:
    """Return the processor's seconds of this process and of the server so far, and how often a thread here waited."""
    ticks = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[11:13]
    waits = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    return time.process_time(), sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), waits


def _middle(found: list[Round]) -> Round:
    return Round(*(median(values) for values in zip(*map(astuple, found), strict=True)))


@contextlib.contextmanager
def _syncs(sync: Callable[[int], None]) -> Iterator[list[float]]:
    """Let journals in this process sync this way; yield the seconds of each sync."""
    seconds: list[float] = []
    usual = store.sync_file

    def timed(handle: int) -> None:
        start = time.perf_counter()
        sync(handle)
        seconds.append(time.perf_counter() - start)

    store.sync_file = timed
    try:
        yield seconds
    finally:
        store.sync_file = usual


def _throughput(rounds: int) -> Figure:
    with _rig(2) as (made, members):
        seconds = _slowest(_played(made, members, one_to_one, 8 * MB, rounds, apart=True))
    rate = 8 * rounds / seconds
    return Figure("8 MB arrays from one party to another", f"{rate:.0f} MB/s", "60 MB/s or more", rate >= 60)


def _training(parties: int) -> Iterator[Figure]:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    columns = [np.ascontiguousarray(part) for part in np.array_split(X, parties, axis=1)]
    across = tacit.SVC(gamma=0.03, partition="vertical", random_state=0)
    local, far = yield from _beside(across, [(columns[0], y), *columns[1:]], columns, y)
    yield _same(far, local, X)
    rows = [np.arange(i, len(X), parties) for i in range(parties)]
    labels = {f"h{i + 1}": y[at] for i, at in enumerate(rows)}
    down = tacit.SVC(gamma=0.03, random_state=0)
    local, far = yield from _beside(down, [(X[at], y[at]) for at in rows], [X[at] for at in rows], labels)
    yield _same(far, local, X)


def _same(far: tacit.SVC, local: tacit.SVC, X: np.ndarray) -> Figure:
    """Return on how many records two models agree; noise of landmarks is a site's own, so they are not the same."""
    agree = float(np.mean(far.predict(X) == local.predict(X)))
    return Figure("records of which both say the same", f"{agree:.1%}", "97 % or more", agree >= 0.97)


def _beside(
    estimator: tacit.SVC,
    parts: list[object],
    held: list[np.ndarray],
    y: np.ndarray | dict[str, np.ndarray],
) -> Generator[Figure, None, tuple[Any, Any]]:
    """Measure the same training in one process, and with a process for every site."""
    names, kind = [f"h{i + 1}" for i in range(len(held))], type(estimator).__name__
    local = clone(estimator).fit(tacit.Federation.from_parts(parts, names=names, partition=estimator.partition_))
    with (
        tempfile.TemporaryDirectory() as folder,
        one_machine(Path(folder), dict(zip(names, held, strict=True)), y, keep=True) as made,
    ):
        for site in made.sites:
            made.start(site)
        made.wait()
        start = time.perf_counter()
        far = clone(estimator).fit(tacit.Federation.connect(made.config("analyst")))
        whole = time.perf_counter() - start
    limit = local.report_.seconds + 0.06 * far.report_.rounds
    yield Figure(
        f"{kind}, {len(held)} hospitals as processes, beside one process, {far.report_.rounds} rounds",
        f"{far.report_.seconds * 1e3:.0f} ms, {local.report_.seconds * 1e3:.0f} ms",
        f"that plus 60 ms a round: {limit * 1e3:.0f} ms",
        far.report_.seconds <= limit,
    )
    yield Figure(f"{kind}, from submitting to the answer, with everybody's consent", f"{whole:.1f} s")
    return local, far


def _memory(rounds: int) -> Iterator[Figure]:
    with _rig(20) as (made, members):
        spent = _played(made, members, to_coordinator, MB, rounds, apart=True)
        server = peak_memory(int((made.root / "server" / "nats.pid").read_text()))
    own = spent[CLEARING].megabytes
    told = f"{own:.0f} MB, its server {server:.0f} MB"
    yield Figure(
        "memory of the coordinator, 20 parties, 1 MB messages", told, "within 1 GB together", own + server < 1024
    )
    yield Figure(
        f"the slowest of the 20, {rounds} rounds of 1 MB from each", f"{_slowest(spent):.1f} s", "completes", met=True
    )


def _cut(seconds: float) -> Figure:
    """Run the tests' own cut of a line, for longer."""
    with tempfile.TemporaryDirectory() as folder:
        found = _disturbances().cut_off(Path(folder), seconds)
    told = f"{'yes' if found.identical else 'no'}, {found.seconds:.1f} s after it"
    return Figure(f"a network cut of {seconds:.0f} s ends with the identical model", told, "yes", found.identical)


def _chaos(runs: int) -> Iterator[Figure | Step]:
    """Run the tests' own disturbances, more of them."""
    name = "runs under random kill -9 that end with the identical model"
    with tempfile.TemporaryDirectory() as folder:
        for found in _disturbances().chaos(Path(folder), runs):
            yield Step(f"{name}: {found.identical}", found.runs, runs)
    told = f"{found.identical} of {found.runs}, {found.kills} kills, {found.messages} messages"
    yield Figure(name, told, "all", found.identical == runs)


def _disturbances() -> Any:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    return importlib.import_module("organisations.chaos")
