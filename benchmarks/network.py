"""Between organisations: NATS JetStream with files, mutual TLS, sealed letters and journals, all on this machine."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure
from tacit.choreo import F64, At, Coordinator, Everyone, Holder, Message, Roster, Run, choreography
from tacit.cli.one_machine import CLEARING, OneMachine, one_machine
from tacit.consortium.identity import Identity
from tacit.consortium.journal import Journal, Opening
from tacit.consortium.members import Members
from tacit.consortium.server import start_server
from tacit.consortium.server_config import ServerSettings
from tacit.crypto.agreement import public_key
from tacit.crypto.entropy import RootEntropy
from tacit.crypto.envelope import Sealer
from tacit.runtimes.durable import Durable
from tacit.runtimes.nats import Broker, NatsCourier

KB, MB = 1 << 10, 1 << 20


class Payload(Message, tells="nothing: a benchmark"):
    """So many bytes."""

    values: F64


@choreography(opens={Everyone: "nothing: a benchmark"})
def to_coordinator(run: Run, x: At, *, rounds: int) -> None:
    """Every holder sends to the coordinator, round after round."""
    s = run.carry(t=0)
    for t in run.rounds(rounds, s):
        run.send(Payload, Holder >> Coordinator, run.local(Holder, Payload, x))
        run.publish(Payload, run.local(Coordinator, _small))
        s.t = t


def _small() -> Payload:
    return Payload(np.zeros(1))


@choreography(opens={Everyone: "nothing: a benchmark"})
def one_to_one(run: Run, x: At, *, rounds: int) -> None:
    """The first holder sends to the second."""
    first, second, *_ = run.members(Holder)
    for _ in range(rounds):
        run.send(Payload, first >> second, run.local(first, Payload, x))


def figures(quick: bool) -> Iterator[Figure]:  # noqa: FBT001 - the one switch of all benchmarks
    """Latency and throughput of the runtime, then a whole training between processes."""
    with threadpool_limits(1):
        yield _latency(rounds=20 if quick else 100)
        yield _throughput(rounds=10 if quick else 40)
        yield from _training(parties=3 if quick else 5)
        if not quick:
            yield _twenty()


@contextlib.contextmanager
def _rig(parties: int) -> Iterator[tuple[OneMachine, Members]]:
    """A consortium whose sites are threads of this process."""
    names = {f"h{i + 1}": np.zeros((2, 1)) for i in range(parties)}
    with tempfile.TemporaryDirectory() as folder, one_machine(Path(folder), names, np.zeros(2, np.int64), keep=True) as made:
        members = Members.load(made.folder(CLEARING) / "consortium.members", made.fingerprint)
        identity = Identity.load(made.folder(CLEARING) / f"{CLEARING}.key")
        settings = ServerSettings(identity=identity, store_dir=Path(folder) / "server", listen=made.url.removeprefix("tls://"))
        with start_server(members, settings):
            yield made, members


def _played(made: OneMachine, members: Members, play: object, x: np.ndarray) -> float:
    """Seconds that a choreography takes with every site in a thread of its own."""
    roster = Roster({Holder: made.hospitals, Coordinator: (CLEARING,)})
    run_id, keys = secrets.token_hex(16), {p: secrets.token_bytes(32) for p in roster.parties}
    publics, tokens = {p: public_key(k) for p, k in keys.items()}, {p: members.token(p) for p in roster.parties}

    def one(me: str) -> float:
        identity = Identity.load(made.folder(me) / f"{me}.key")
        opening = Opening(run=run_id, party=me, roster="", protocol="", source="", data="", versions={}, blas_threads=1, job="")
        with (
            Broker([made.url], identity.tls(members.authority), tokens[me]) as broker,
            Journal.open(made.root / run_id / me, opening, bytes(32)) as journal,
            NatsCourier(broker, me, run_id, tokens, Sealer(me, keys[me], publics, b"bench"), journal, admin=me == CLEARING) as courier,
        ):
            run = Durable(me, roster, journal, courier, job=b"bench", entropy=RootEntropy([me], b"bench"))
            start = time.perf_counter()
            play(run, run.hold(Holder, dict.fromkeys(made.hospitals, x)))  # type: ignore[operator]
            seconds = time.perf_counter() - start
            courier.finish(60)
            return seconds

    with ThreadPoolExecutor(len(roster.parties)) as pool:
        return max(pool.map(one, roster.parties))


def _latency(rounds: int) -> Figure:
    with _rig(5) as (made, members):
        seconds = [_played(made, members, lambda run, x: to_coordinator(run, x, rounds=rounds), np.zeros(KB // 8)) for _ in range(3)]
    each = median(seconds) / (2 * rounds)  # a send and a publish
    return Figure("one round of 1 KB, five parties, journal on", f"{each * 1e3:.1f} ms", "under 40 ms", each < 0.04)


def _throughput(rounds: int) -> Figure:
    with _rig(3) as (made, members):
        seconds = _played(made, members, lambda run, x: one_to_one(run, x, rounds=rounds), np.zeros(8 * MB // 8))
    rate = 8 * rounds / seconds
    return Figure("8 MB arrays from one party to another", f"{rate:.0f} MB/s", "60 MB/s or more", rate >= 60)


def _training(parties: int) -> Iterator[Figure]:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    parts = {f"h{i + 1}": np.ascontiguousarray(part) for i, part in enumerate(np.array_split(X, parties, axis=1))}
    local = tacit.GramSVC(C=10).fit(tacit.Federation.from_parts(
        [(part, y) if i == 0 else part for i, part in enumerate(parts.values())], names=list(parts), partition="vertical"
    ))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, one_machine(Path(folder), parts, y, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        start = time.perf_counter()
        far = tacit.GramSVC(C=10).fit(tacit.Federation.connect(made.config("analyst")))
        whole = time.perf_counter() - start
    limit = local.report_.seconds + 0.06 * far.report_.rounds
    name = f"GramSVC, {parties} hospitals as processes, beside one process"
    yield Figure(
        name, f"{far.report_.seconds * 1e3:.0f} ms, {local.report_.seconds * 1e3:.0f} ms",
        f"that plus 60 ms a round: {limit * 1e3:.0f} ms", far.report_.seconds <= limit,
    )  # fmt: skip
    same = np.array_equal(far.support_, local.support_)
    yield Figure("the same support vectors", "yes" if same else "no", "yes", same)
    yield Figure("from submitting to the answer, with everybody's consent", f"{whole:.1f} s")


def _twenty() -> Figure:
    with _rig(20) as (made, members):
        seconds = _played(made, members, lambda run, x: to_coordinator(run, x, rounds=3), np.zeros(MB // 8))
    return Figure("20 parties, three rounds of 1 MB each to the coordinator", f"{seconds:.1f} s", "completes", met=True)
