"""Pairwise sum of five 64 MiB vectors, and sums of 1,000 words of thousands of parties along a graph.

How fast pads are made, how much memory masking takes, how many words are drawn; what a party of many pays.
"""

from __future__ import annotations

import secrets
import time
import tracemalloc
from collections.abc import Iterator
from statistics import median

import numpy as np

from figures import Figure
from tacit.choreo import Coordinator, Holder, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.pads.stream import stream
from tacit.numeric.ring.words import Z64
from tacit.protocols.sums.graph_threshold_sum import AWAY
from tacit.protocols.sums.secure_sum import mask, protect, secure_sum
from tacit.runtimes.together import Together

PARTIES = 5
MIB = 1 << 20


def figures(quick: bool) -> Iterator[Figure]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure rates as ratios within one run, and the memory of one party's masking step."""
    size = (16 if quick else 64) * MIB
    names = [f"p{i + 1}" for i in range(PARTIES)]
    x = np.frombuffer(secrets.token_bytes(1 << 16), dtype=np.uint64).repeat(size // (1 << 16))
    yield from _rate(names, x, repeats=3 if quick else 5)
    yield _memory(names, x)
    yield from _whole(names, x)
    yield from _crowd(*((200, 1000) if quick else (1000, 10_000)))


def _mask(names: list[str], x: np.ndarray) -> float:
    entropy = RootEntropy(names, b"bench")
    pads = entropy.pads(names[0], {p: secrets.token_bytes(32) for p in names[1:]}, b"tag")
    start = time.thread_time()
    mask(x, pads, names[0], None, "x", Z64)
    return time.thread_time() - start


def _stream(x: np.ndarray) -> float:
    """Measure AES alone, streamed and added: the rate that masking is measured against."""
    into = np.zeros_like(x)
    start = time.thread_time()
    Z64.add(into, stream(secrets.token_bytes(32), into.size))
    return time.thread_time() - start


def _rate(names: list[str], x: np.ndarray, repeats: int) -> Iterator[Figure]:
    pairs = [(_stream(x), _mask(names, x)) for _ in range(repeats + 1)][1:]
    aes = median(x.nbytes / one for one, _ in pairs)
    ratio = median((PARTIES - 1) * one / four for one, four in pairs)
    yield Figure(f"streamed AES-256-CTR into a sum, {x.nbytes // MIB} MiB", f"{aes / 1e9:.2f} GB/s")
    yield Figure("pads of one of five parties, share of that rate", f"{ratio:.0%}", "60 % or more", ratio >= 0.6)


def _memory(names: list[str], x: np.ndarray) -> Figure:
    tracemalloc.start()
    _mask(names, x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Figure(
        "peak extra memory of masking, times the vector",
        f"{peak / x.nbytes:.3f}",
        "at most 1.5",
        peak <= 1.5 * x.nbytes,
    )


def _whole(names: list[str], x: np.ndarray) -> Iterator[Figure]:
    roster = Roster({Holder: tuple(names), Coordinator: ("coordinator",)})
    entropy = RootEntropy(roster.parties, b"bench")
    start = time.perf_counter()
    with Together(roster, job=b"bench", entropy=entropy) as run:
        total = secure_sum(
            run, run.hold(Holder, dict.fromkeys(names, x)), to=Coordinator, by=protect(run, to=Coordinator)
        )
    seconds = time.perf_counter() - start
    right = np.array_equal(entries_of(total)["coordinator"], x * np.uint64(PARTIES))
    yield Figure(f"the whole sum of five, {x.nbytes // MIB} MiB each", f"{seconds:.2f} s", "exact", right)
    due = PARTIES * (PARTIES - 1) * (x.size + 1)
    yield Figure(
        "PRF words drawn, of M(M-1) vectors", f"{entropy.words_drawn / due:.6f}", "1", entropy.words_drawn == due
    )


def _crowd(few: int, many: int) -> Iterator[Figure]:
    for method, away in (("graph", 0.0), ("graph_threshold", AWAY)):
        one, other = (_graph(parties, method, away) for parties in (few, many))
        absent = f", {away:.0%} of them away" if away else ""
        yield Figure(f"{method} sum of 1,000 words, CPU of a party of {few:,}{absent}", f"{1e3 * one:.2f} ms")
        yield Figure(
            f"the same of {many:,}, times that of {few:,}",
            f"{other / one:.2f}",
            "at most 1.5",
            other <= 1.5 * one,
            before="none",
        )


def _graph(parties: int, method: str, away: float) -> float:
    """Return the processor seconds of agreement and sum with all parties in this process, for each party."""
    names = tuple(f"p{i + 1}" for i in range(parties))
    roster, x = Roster({Holder: names, Coordinator: ("coordinator",)}), np.arange(1000, dtype=np.uint64)
    gone = frozenset(names[: int(away * parties)])  # the ring has them in any order
    start = time.process_time()
    with Together(
        roster,
        job=b"bench",
        entropy=RootEntropy(roster.parties, b"bench"),
        absent=lambda place, party: party in gone and place.endswith("/Covered"),
    ) as run:
        by = protect(run, to=Coordinator, method=method)
        total = secure_sum(run, run.hold(Holder, dict.fromkeys(names, x)), to=Coordinator, by=by)
    seconds = time.process_time() - start
    if not np.array_equal(entries_of(total)["coordinator"], x * np.uint64(parties - len(gone))):
        raise ValueError(f"the {method} sum of {parties} parties is wrong")
    return seconds / parties
