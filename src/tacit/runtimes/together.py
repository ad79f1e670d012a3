"""All parties in one process, their local steps on a thread pool. Every end derives its own pads."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from tacit.choreo.codec import Frames
from tacit.choreo.progress import Listener
from tacit.choreo.randomness import Entropy
from tacit.choreo.role import Roster
from tacit.choreo.run import Pair, Run
from tacit.errors import PeerError

QUICK = 5e-4  # seconds of a step, below which handing it to threads takes longer than doing it for all parties here


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Together(Run):
    """The default: all parties in this process.

    `absent(place, party)` lets a simulation drop a sender of a `gather`.
    """

    def __init__(
        self,
        roster: Roster,
        *,
        job: bytes,
        entropy: Entropy,
        progress: Listener | None = None,
        absent: Callable[[str, str], bool] = lambda _place, _party: False,
    ) -> None:
        threads = min(len(roster.parties), count_cores())
        super().__init__(roster, present=roster.parties, job=job, entropy=entropy, progress=progress)
        self.cpu: defaultdict[str, float] = defaultdict(float)
        self._absent = absent
        self._took: dict[str, float] = {}  # seconds of a step when it was done last, by its name
        self._pool = ThreadPoolExecutor(max_workers=threads) if threads > 1 else None  # one core has no use for it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _each(self, place: str, work: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        label = place.rpartition("/")[2].partition("#")[0]
        if self._pool is None or len(work) == 1 or self._took.get(label, QUICK) < QUICK:  # spare the threads
            return {party: self._time(label, party, do) for party, do in work.items()}
        futures = {party: self._pool.submit(self._time, label, party, do) for party, do in work.items()}
        return {party: future.result() for party, future in futures.items()}

    def _time(self, label: str, party: str, do: Callable[[], Any]) -> Any:
        start = time.thread_time()
        try:
            with self.meter.counting(party):
                return do()
        finally:
            self._took[label] = time.thread_time() - start
            self.cpu[party] += self._took[label]

    def _exchange(
        self, place: str, outbox: Mapping[Pair, Frames], wanted: Sequence[Pair], missing: int | None
    ) -> dict[Pair, Frames]:
        lost = {s for s, r in wanted if missing is not None and s != r and self._absent(place, s)}
        if len(lost) > (missing or 0):
            raise PeerError(f"{', '.join(sorted(lost))} did not answer at {place}, {missing} may be missing")
        return {pair: frames for pair, frames in outbox.items() if pair[0] not in lost or pair[0] == pair[1]}
