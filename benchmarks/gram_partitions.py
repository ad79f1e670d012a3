"""GramSVC whatever way the table is cut.

Exactness, the worst case of paper 001's Table 1, rows, columns, and memory.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from figures import Figure, Step, Table, dataset
from tacit.choreo import Holder
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation import Federation
from tacit.numeric.ring.words import Ring
from tacit.papers.gram import GramSVC
from tacit.papers.gram.arbitrary import gram_products, sum_bands
from tacit.papers.gram.cell_products import Scheme, encrypt_own, plan_of
from tacit.papers.gram.cells import Multiply, integers
from tacit.papers.gram.crossing import gram_crossing
from tacit.protocols.blind.owners import ownership
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

EXPONENTIATION = 0.0104  # seconds at 1024 bit, from which 001 (section 5.2) estimates its Table 1: m^2 n of them
PRINTED = [(100, 10), (200, 10), (500, 20), (1000, 30)]  # sizes of Table 1
GRID = [(m, n) for m in (100, 200, 500, 1000) for n in (10, 20, 30)]
MOST = {2: 10.0, 9: 40.0, 30: 120.0}  # CPU seconds for 1000 x 30
PAIRS = 10  # timed, where all take too long
PARTITIONS = ("vertical", "horizontal", "arbitrary")
MEMORY = (10_000, 20, 5)  # records, columns, parties


@dataclass(frozen=True)
class Cost:
    """CPU seconds and bytes of a gram matrix; of all pairs, or made up from some of them."""

    seconds: float
    bytes: float
    estimated: bool = False

    def __str__(self) -> str:
        return f"{'about ' * self.estimated}{self.seconds:.1f} s, {self.bytes / 1e6:.0f} MB"


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure that answers are the same for all three cuts, and what they cost."""
    with threadpool_limits(1):  # every party has one core of its own
        yield from _exactness(("heart",) if quick else ("wdbc", "tic-tac-toe", "heart"))
        yield from _by_columns_and_rows()
        yield _linear_answers(*((200, 10) if quick else (1000, 30)))
        yield from _worst_case([(100, 10), (200, 10)] if quick else GRID)
    if not quick:
        yield _memory()


def _exactness(names: tuple[str, ...]) -> Iterator[Figure]:
    """Columns standardised, RBF with C = 10, gamma = 'scale'.

    The centralised learner is scikit-learn's SVC with the same tolerance.
    """
    for name in names:
        data = dataset(name)
        X = StandardScaler().fit_transform(data.X) if name != "tic-tac-toe" else data.X
        for partition in PARTITIONS:
            most = 1e-6 if partition == "vertical" else 5e-6
            told = GramSVC(C=10.0, partition=partition).fit(X, data.y, compare=True).report_.comparison
            gap, other = told["relative gap of the dual objective"], told["training records labelled differently"]
            yield Figure(
                f"{name}, {partition}: relative gap of the dual objective",
                f"{gap:.1e}",
                f"at most {most:.0e}",
                gap <= most,
            )
            yield Figure(f"{name}, {partition}: predictions that differ, of {len(X)}", str(other), "0", other == 0)


def _by_columns_and_rows() -> Iterator[Figure]:
    X, y = _table(1000, 30)
    start = time.perf_counter()
    GramSVC(partition="vertical").fit(X, y)
    seconds = time.perf_counter() - start
    yield Figure(
        "vertical, 1000 x 30, three parties, whole fit: wall time",
        f"{seconds:.2f} s",
        "under 1 s",
        seconds < 1,
        paper="about 10 s (section 5.2)",
    )
    start = time.process_time()
    report = GramSVC(partition="horizontal").fit(X, y).report_
    cpu = time.process_time() - start
    told = f"{cpu:.1f} s, {report.bytes / 1e6:.0f} MB"
    yield Figure(
        "horizontal, 1000 x 30, three parties, bfv, whole fit: CPU",
        told,
        "under 10 s",
        cpu < 10,
        paper="about 80 s (section 5.2)",
    )


def _linear_answers(m: int, n: int) -> Table:
    """Shares of w, and answers about all records beside the pooled values of the same coefficients.

    Only answering makes a difference.
    """
    rng, rows = np.random.default_rng(0), []
    X = rng.normal(size=(m, n))
    y = X @ rng.normal(size=n) + 3 * rng.normal(size=m) > 0
    for partition in PARTITIONS:
        model = GramSVC(kernel="linear", partition=partition).fit(X, y)
        start = time.process_time()
        model.predict(X[:1])
        made = time.process_time()
        values = model.decision_function(X)
        asked, dual = time.process_time(), model.model_.dual
        off = np.abs(values - X @ (dual.coef @ X[model.support_])[0] - dual.bias[0]).max()
        rows.append(
            (partition, str(len(model.support_)), f"{made - start:.2f} s", f"{asked - made:.2f} s", f"{off:.1e}")
        )
    heads = ("", "support vectors", "shares of w and 1 answer", f"{m} answers", "largest difference of decision values")
    return Table(
        f"linear kernel, {m} x {n}, three parties, w in shares: CPU seconds of all parties together", heads, tuple(rows)
    )


def _worst_case(sizes: list[tuple[int, int]]) -> Iterator[Figure | Step | Table]:
    """Measure random cells of 2, 9 and 30 owners: as far as the data goes, every cell has its own owner."""
    rows, done = [], 0
    for m, n in sizes:
        costs = {}
        for owners in MOST:
            costs[owners] = _some_pairs(m, n, owners) if owners > PAIRS else _all_pairs(m, n, owners)
            done += 1
            yield Step("owners and sizes", done, len(sizes) * len(MOST))
        rows.append((f"{m} x {n}", *map(str, costs.values()), _by_the_paper(m, n)))
        if (m, n) == (1000, 30):
            for owners, cost in costs.items():
                what = (
                    f"1000 x 30 in random cells of {owners} owners, bfv: CPU"
                    + f" (estimated from {PAIRS} pairs)" * cost.estimated
                )
                yield Figure(what, str(cost), f"under {MOST[owners]:.0f} s", cost.seconds < MOST[owners])
    heads = (
        "records x columns",
        "2 owners",
        "9 owners",
        f"30 owners (estimated from {PAIRS} pairs)",
        "the paper's estimate at 1024 bit",
    )
    title = "Table 1: CPU seconds of all parties together, and bytes sent, for the gram matrix"
    yield Table(title, heads, tuple(rows), heads[-1:])


def _by_the_paper(m: int, n: int) -> str:
    """Return the time that Table 1 has for a size, rounded down; for others the one that its rule gives."""
    seconds = m * m * n * EXPONENTIATION
    unit, name = (3600, "h") if seconds >= 3600 else (60, "min")
    return f"{math.floor(seconds / unit * 100) / 100:.2f} {name}" + " (by its rule)" * ((m, n) not in PRINTED)


def _table(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(m, n)), np.arange(m) % 2


def _start(m: int, n: int, owners: int) -> tuple[Together, Any]:
    federation = Federation.simulate(*_table(m, n), parties=owners, partition="arbitrary", seed=1)
    run = Together(federation.roster, job=b"bench", entropy=RootEntropy(federation.roster.parties, b"bench"))
    return run, run.hold(Holder, federation.parts)


def _all_pairs(m: int, n: int, owners: int) -> Cost:
    run, data = _start(m, n, owners)
    with run:
        start = time.process_time()
        gram_products(run, data, owners=ownership(run, data, "arbitrary"), multiply=Multiply(), by=protect(run))
        return Cost(time.process_time() - start, run.ledger.bytes)


def _some_pairs(m: int, n: int, owners: int) -> Cost:
    """Time uploads and pairs on ten pairs and multiply up; the sum is that of all parties."""
    run, data = _start(m, n, owners)
    with run:
        start = time.process_time()
        held, by = ownership(run, data, "arbitrary"), protect(run)
        cells = Multiply().cells(4, n)
        table = run.local(Holder, integers, data, cells, run.who(Holder))
        nothing = run.local(Holder, np.zeros, (m, m), np.uint64)
        sum_bands(run, table, nothing, owners=held, cells=cells, ring=Ring(1 << cells.ring_bits), by=by, band=1 << 22)
        rest = Cost(time.process_time() - start, run.ledger.bytes)
    crossing, scheme = gram_crossing(held), Scheme("bfv", cells)
    picked = np.random.default_rng(2).choice(len(crossing.pairs), PAIRS, replace=False)
    # a benchmark looks inside
    timed = [_pair(crossing, scheme, crossing.pairs[i], dict(table._entries)) for i in picked]  # noqa: SLF001
    uploads, pairs = (np.mean([[t[k].seconds, t[k].bytes] for t in timed], axis=0) for k in (0, 1))
    pairs_in_all = len(crossing.pairs)
    seconds = rest.seconds + owners * uploads[0] + pairs_in_all * pairs[0]
    return Cost(float(seconds), float(rest.bytes + pairs_in_all * (uploads[1] + pairs[1])), estimated=True)


def _pair(crossing: Any, scheme: Scheme, pair: tuple[str, str], tables: dict[str, Any]) -> tuple[Cost, Cost]:
    """Time one upload, one reply and its decryption."""
    (p, q), entropy = pair, RootEntropy(pair, b"bench")
    way, plan = scheme.engine(crossing, p), plan_of(crossing, p, q)
    secret, start = way.secret(bytes(32)), time.process_time()
    sent = encrypt_own(tables[p], secret, crossing, scheme, p)
    uploaded = time.process_time()
    matrices = tuple(np.ascontiguousarray(tables[q][np.ix_(b.right, b.columns)]) for b in crossing.blocks(p, q))
    reply, _ = way.reply(sent, plan, matrices, entropy.pads(q, {"mask": bytes(32), "noise": bytes(range(32))}, b"tag"))
    way.finish(secret, plan, reply)
    return Cost(uploaded - start, sent.nbytes), Cost(time.process_time() - uploaded, reply.nbytes)


def _memory() -> Figure:
    """Measure the memory of this process, in which all parties and the coordinator are."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        gigabytes = pool.apply(_peak)
    what = "vertical, {} x {}, {} parties and the coordinator in one process: memory".format(*MEMORY)
    return Figure(what, f"{gigabytes:.1f} GB", "under 4 GB", gigabytes < 4)


def _peak() -> float:
    m, n, parties = MEMORY
    X, _ = _table(m, n)
    GramSVC(kernel="linear", C=1e-4, n_parties=parties).fit(X, X[:, 0] > 0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
