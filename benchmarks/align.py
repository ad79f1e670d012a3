"""Alignment of records by private set intersection: seconds and bytes, all parties in one process."""

from __future__ import annotations

import queue
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import Figure, Step
from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.sets import oprf
from tacit.registry import Outcome, execute_together

ASKED = {2: (0.8, 12.4), 3: (1.3, 21.6)}  # CPU seconds and megabytes at 10^5 ids
BEFORE = {2: "26 s", 3: "47 s"}
MILLION = (6.0, 1.2)  # CPU seconds and gigabytes at 10^6 ids of two parties
Held = dict[str, NDArray[np.uint8]]
SCALAR = oprf.make_scalar(bytes(32))
WHOLE, QUICK, PART = 100_000, 5_000, 1_000


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Align as many ids at every party, six tenths of them common, beside a point of a group for each id."""
    n = QUICK if quick else WHOLE
    _align(_all_ids(2, QUICK))  # loads what is compiled
    for parties, (seconds, megabytes) in ASKED.items():
        name, held = f"alignment of {n:,} ids, {parties} parties", _all_ids(parties, n)
        start, cpu = time.perf_counter(), time.process_time()
        outcome = yield from _watch(name, held)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - start
        right, moved = outcome.result.count == n * 6 // 10, outcome.ledger.bytes / 1e6
        met = right and (quick or (cpu <= seconds and moved <= megabytes))
        asked = "the right count" if quick else f"{seconds} s, {megabytes} MB"
        told, earlier = f"{cpu:.2f} s, {moved:.1f} MB", "" if quick else BEFORE[parties]
        yield Figure(f"{name}: CPU seconds and megabytes of all", told, asked, met, before=earlier)
        before = _time_points(parties) * n / PART
        yield Figure(f"{name}: with a point for each id, times as long", f"{before / cpu:.0f}", "", None)
        yield Figure(f"{name}: seconds", f"{wall:.1f} s")
    if not quick:
        yield from _million()


def _million() -> Iterator[Figure]:
    """Align a million ids in a process of its own, whose memory nothing else took."""
    with get_context("spawn").Pool(1) as pool:
        cpu, peak = pool.apply(_measure_alone, (2, 1_000_000))
    seconds, gigabytes = MILLION
    met = cpu <= seconds and peak <= gigabytes
    name, asked = "alignment of 1,000,000 ids, 2 parties: CPU seconds, memory", f"{seconds} s, {gigabytes} GB"
    yield Figure(name, f"{cpu:.1f} s, {peak:.2f} GB", asked, met, before="about 265 s")


def _measure_alone(parties: int, n: int) -> tuple[float, float]:
    """Return CPU seconds and gigabytes at the peak."""
    _align(_all_ids(2, QUICK))
    held = _all_ids(parties, n)
    cpu = time.process_time()
    _align(held)
    return time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _time_points(parties: int) -> float:
    """Return what points alone take that every party asks about and answers, as before the extension; CPU seconds."""
    ids, cpu = _ids(0, PART), time.process_time()
    for _ in range(parties):  # everyone's own
        points = oprf.raise_points(oprf.hash_to_points(ids, b"benchmark"), SCALAR)
    for _ in range(2 * (parties - 1)):  # answered, and taken off again
        oprf.raise_points(points, SCALAR)
    return time.process_time() - cpu


def _watch(name: str, held: Held) -> Iterator[Step]:
    """Run, and show the progress beside it."""
    told: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(_align, held, lambda now: told.put((now.round, now.rounds)))
        done.add_done_callback(lambda _: told.put(None))
        while (at := told.get()) is not None:
            yield Step(name, *at)
    return done.result()


def _align(held: Held, progress: Any = None) -> Outcome:
    roster = Roster({Holder: tuple(held), Coordinator: ("site",)})
    return execute_together(roster, "align", {"ids": (Holder, held)}, {}, progress=progress)


def _all_ids(parties: int, n: int) -> Held:
    return {f"p{i + 1}": _ids(i, n) for i in range(parties)}


def _ids(party: int, n: int) -> NDArray[np.uint8]:
    """Return digests, the first six tenths of them everybody's."""
    common = np.random.default_rng(0).integers(0, 256, (n * 6 // 10, 32), dtype=np.uint8)
    own = np.random.default_rng(party + 1).integers(0, 256, (n - len(common), 32), dtype=np.uint8)
    return np.random.default_rng(party).permutation(np.vstack([common, own]))
