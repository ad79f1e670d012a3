"""Alignment of records by private set intersection: seconds and bytes, all parties in one process; and set intersections of binary data."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import Figure, MissingDataError, Step, dataset
from tacit.attacks.token_frequency import token_frequency
from tacit.choreo import Coordinator, Holder, Roster
from tacit.registry import Outcome, execute_together

ASKED = {2: 45.0, 3: 90.0}  # CPU seconds at 10^5 ids
WHOLE, QUICK = 100_000, 5_000


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """As many ids at every party, six tenths of them common."""
    n = QUICK if quick else WHOLE
    _aligned(2, 100)  # compiles what is compiled
    for parties, asked in ASKED.items():
        limit = asked * n / WHOLE
        name = f"alignment of {n:,} ids, {parties} parties"
        start, cpu = time.perf_counter(), time.process_time()
        outcome = yield from _watched(name, parties, n)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - start
        right = outcome.result["count"] == n * 6 // 10
        yield Figure(f"{name}: CPU seconds of all", f"{cpu:.1f}", f"under {limit:.1f}", right and cpu < limit)
        yield Figure(f"{name}: seconds, megabytes", f"{wall:.1f} s, {outcome.ledger.bytes / 1e6:.1f} MB")
    yield from _order_of_columns()


def _order_of_columns() -> Iterator[Figure]:
    """What the coordinator of method='intersection' finds out."""
    try:
        adult = dataset("a9a").sample(6000).X
    except MissingDataError:
        return
    table, sample = adult[:1000], adult[1000:]
    seen = table[:, np.random.default_rng(0).permutation(table.shape[1])]
    found = token_frequency(seen, sample, table).ones
    yield Figure("token_frequency, 1000 records of Adult, a public sample of 5000: share of the ones", f"{found:.3f}")


def _watched(name: str, parties: int, n: int) -> Iterator[Step]:
    """The run, beside which its progress is told."""
    told: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(_aligned, parties, n, lambda _, at, total: told.put((at, total)))
        done.add_done_callback(lambda _: told.put(None))
        while (at := told.get()) is not None:
            yield Step(name, *at)
    return done.result()


def _aligned(parties: int, n: int, progress: Any = None) -> Outcome:
    names = tuple(f"p{i + 1}" for i in range(parties))
    roster = Roster({Holder: names, Coordinator: ("site",)})
    return execute_together(roster, "align", {"ids": (Holder, {p: _ids(i, n) for i, p in enumerate(names)})}, {}, progress=progress)


def _ids(party: int, n: int) -> NDArray[np.uint8]:
    """Digests, the first six tenths of them everybody's."""
    common = np.random.default_rng(0).integers(0, 256, (n * 6 // 10, 32), dtype=np.uint8)
    own = np.random.default_rng(party + 1).integers(0, 256, (n - len(common), 32), dtype=np.uint8)
    return np.random.default_rng(party).permutation(np.vstack([common, own]))
