"""The time left: what is shown when a fifth of a run is over, against the time that it then takes.

What operations take (`protocols/work.py`) was measured on `FITTED`; the figure is judged on other runs.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

import tacit
from figures import Figure, Step, Table
from tacit.choreo.progress import Progress
from tacit.progress import TimeLeft

AT, WITHIN, ENOUGH = 0.2, 0.4, 0.9  # of a run; of the truth; of all runs
LOOK = 0.02  # seconds between two looks


@dataclass(frozen=True)
class Case:
    """One run: what is trained, and on what."""

    name: str
    make: Callable[[], Any]
    rows: int
    columns: int
    classes: int = 2
    parties: int = 4
    partition: str = "horizontal"

    def federation(self) -> tacit.Federation:
        """Return the records."""
        X, y = make_classification(
            self.rows, self.columns, n_informative=self.columns // 2, n_redundant=0, n_classes=self.classes,
            flip_y=0.05, random_state=0,
        )  # fmt: skip
        return tacit.Federation.simulate(X, y, parties=self.parties, partition=self.partition)


GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}
FITTED = (
    Case("PanSVC", tacit.PanSVC, 120_000, 30),
    Case("PanSVC, five classes", tacit.PanSVC, 60_000, 20, classes=5),
    Case("PanSVC, Fourier features", lambda: tacit.PanSVC(landmark_source="fourier"), 60_000, 20),
    Case("grid search, PanSVC", lambda: tacit.FederatedGridSearch(tacit.PanSVC(), GRID), 12_000, 20),
    Case("wrapper selection", lambda: tacit.VotedWrapperSelector(tacit.PanSVC()), 6_000, 12, parties=3),
    Case("GramSVC, by columns", lambda: tacit.GramSVC(C=10), 10_000, 12, parties=3, partition="vertical"),
    Case("GramSVC, by rows", lambda: tacit.GramSVC(C=10), 2_500, 12, parties=3),
    Case(
        "grid search, GramSVC", lambda: tacit.FederatedGridSearch(tacit.GramSVC(), GRID), 4_000, 10, parties=3,
        partition="vertical",
    ),
    Case("ConsensusSVC, rbf", lambda: tacit.ConsensusSVC(kernel="rbf"), 8_000, 10),
    Case(
        "scaler and ELM in a Pipeline",
        lambda: tacit.Pipeline([("scaler", tacit.FederatedScaler()), ("elm", tacit.SecureELMClassifier())]),
        400_000,
        20,
    ),
)  # fmt: skip

MORE = {"C": [1, 10], "gamma": [0.01, 0.03, 0.1]}
CASES = (
    Case("PanSVC, C = 10", lambda: tacit.PanSVC(C=10), 40_000, 12, parties=3),
    Case("PanSVC, three classes", tacit.PanSVC, 30_000, 40, classes=3, parties=5),
    Case("PanSVC, linear", lambda: tacit.PanSVC(kernel="linear"), 150_000, 25),
    Case("PanSVC, Fourier features", lambda: tacit.PanSVC(landmark_source="fourier"), 30_000, 40),
    Case("grid search, PanSVC", lambda: tacit.FederatedGridSearch(tacit.PanSVC(), MORE), 6_000, 30, parties=3),
    Case("GramSVC, by columns", tacit.GramSVC, 6_000, 20, partition="vertical"),
    Case("GramSVC, by rows", tacit.GramSVC, 1_800, 20),
    Case(
        "grid search, GramSVC", lambda: tacit.FederatedGridSearch(tacit.GramSVC(), MORE), 2_500, 15, parties=3,
        partition="vertical",
    ),
    Case("ConsensusSVC, rbf", lambda: tacit.ConsensusSVC(kernel="rbf", C=3), 5_000, 16, parties=3),
    Case("ELM", lambda: tacit.SecureELMClassifier(n_hidden=300), 150_000, 30, parties=3),
)  # fmt: skip


class Watcher:
    """Looks at the time left again and again, by one clock, as somebody who waits does."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._began = clock, clock()
        self._left, self._last = TimeLeft(clock), Progress("")
        self.seen: list[tuple[float, float, str]] = []

    def hear(self, progress: Progress) -> None:
        """Take the news of a run; another one begins where less is done than before."""
        if progress.done < self._last.done:
            self._left = TimeLeft(self._clock)
        self._last = progress
        self._left.hear(progress)

    def look(self) -> None:
        """Write down what is shown now."""
        left = self._left.seconds
        self.seen.append((self._clock() - self._began, np.nan if left is None else left, self._last.phase))

    def judge(self) -> Shown:
        """Return what was shown when a fifth of the time was over that it took until the last look."""
        took = self.seen[-1][0]
        _, left, phase = min(self.seen, key=lambda each: abs(each[0] - AT * took))
        return Shown(took, left, phase)


@dataclass(frozen=True)
class Shown:
    """How long a run took, what was shown when a fifth of it was over, and what was being done then."""

    took: float
    left: float
    phase: str

    @property
    def off(self) -> float:
        """How far it was off, as a share of the truth."""
        return self.left / ((1 - AT) * self.took) - 1

    @property
    def close(self) -> bool:
        """Whether that is close enough."""
        return abs(self.off) <= WITHIN


def watch(case: Case, clock: Callable[[], float]) -> Shown:
    """Return what was shown by a clock."""
    federation, model, over = case.federation(), case.make(), threading.Event()
    watcher = Watcher(clock)

    def look() -> None:
        while not over.wait(LOOK):
            watcher.look()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        model.fit(replace(federation, progress=watcher.hear))
    finally:
        over.set()
        looking.join()
    watcher.look()
    return watcher.judge()


@contextmanager
def on_one_core() -> Iterator[None]:
    """Let all parties share a core: on several, the CPU time of one second would be that of several."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def watch_twice(case: Case) -> tuple[Shown, Shown]:
    """Return what was shown by the clock on the wall, and by one that stands still while others use the cores."""
    wall = watch(case, time.monotonic)
    with on_one_core():
        return wall, watch(case, time.process_time)


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure how far the time left is off when a fifth of a run is over; also on `FITTED`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gaps of groups, which reports tell
        watch(replace(FITTED[1], rows=6_000), time.monotonic)  # compiles and loads what later runs need
        yield from _judge(CASES[::2] if quick else CASES, judged=True)
        if not quick:
            yield from _judge(FITTED, judged=False)


def _judge(cases: tuple[Case, ...], *, judged: bool) -> Iterator[Figure | Step | Table]:
    found: list[tuple[Shown, Shown]] = []
    for done, case in enumerate(cases):
        yield Step(case.name, done, len(cases))
        found.append(watch_twice(case))
    columns = ("run", "took", "phase at 20 %", "left as shown", "in truth", "off", "by CPU time, on one core")
    rows = (
        (case.name, f"{wall.took:.1f} s", wall.phase, f"{wall.left:.1f} s", f"{(1 - AT) * wall.took:.1f} s",
         f"{100 * wall.off:+.0f} %", f"{100 * cpu.off:+.0f} %")
        for case, (wall, cpu) in zip(cases, found, strict=True)
    )  # fmt: skip
    which = "" if judged else ", of runs that constants were fitted on"
    yield Table(f"The time left when a fifth of a run is over{which}", columns, tuple(rows))
    asked = int(ENOUGH * len(cases))
    for clock, way in enumerate(("", ", by CPU time on one core, to which other programs are nothing")):
        close = sum(each[clock].close for each in found)
        name = f"runs in which it is within {100 * WITHIN:.0f} % of the truth{way}{which}"
        bar = (f"{asked} of {len(cases)}", close >= asked) if judged else ("", None)
        yield Figure(name, f"{close} of {len(cases)}", *bar)
