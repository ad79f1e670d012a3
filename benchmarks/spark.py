"""On Spark, two cores of this machine: what a round costs beyond the local steps, and two million rows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from figures import Figure, MissingDataError, Step, dataset
from tacit import SVC, Federation
from tacit.errors import LocalError, MissingExtraError
from tacit.runtimes.spark.session import session, start

CORES, LEARNERS, COLUMNS = 2, 4, 28
GIGABYTE = 1e9


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - called by run.py
    """Measure both in one session."""
    try:
        spark = session(start(f"local[{CORES},4]", spark_driver_memory="2g"))
    except (LocalError, MissingExtraError) as error:
        raise MissingDataError(str(error)) from None
    try:
        yield overhead(repeats=1 if quick else 3)
        yield from large(spark, rows=200_000 if quick else 2_000_000)
    finally:
        spark.stop()


def overhead(repeats: int) -> Figure:
    """Measure a training on higgs: wall time less the steps of all learners, which share the cores, by the round."""
    data = dataset("higgs")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    model = SVC(n_parties=LEARNERS, random_state=0, runtime="spark", verbose=False)
    model.fit(X, data.y)  # workers start and compile
    reports = [model.fit(X, data.y).report_ for _ in range(repeats)]
    each = min((r.seconds - sum(r.cpu.values()) / CORES) / r.rounds for r in reports)
    told = f"{each:.2f} s in {reports[0].rounds} rounds (load {os.getloadavg()[0]:.0f})"
    return Figure(f"higgs {X.shape[0]} x {X.shape[1]}, {LEARNERS} learners: overhead of a round", told,
                  "at most 0.5 s", each <= 0.5)  # fmt: skip


def large(spark: Any, rows: int) -> Iterator[Figure]:
    """Train on rows that are made where they stay."""
    start_time = time.perf_counter()
    with watch_memory() as peak:
        learners = Federation.spark(_made_up(spark, rows), label="label")
        loaded = time.perf_counter() - start_time
        model = SVC(kernel="linear", verbose=False).fit(learners)
        seconds = time.perf_counter() - start_time
    memory = f"{peak[0] / GIGABYTE:.1f} GB"
    yield Figure(
        f"{rows:,} x {COLUMNS}, {2 * LEARNERS} learners: memory of driver, Java and workers",
        memory,
        "at most 8 GB",
        peak[0] < 8 * GIGABYTE,
    )
    yield Figure(
        "  its time", f"{loaded:.0f} s to load, {seconds - loaded:.0f} s to train in {model.report_.rounds} rounds"
    )
    Z = np.random.default_rng(0).random((10_000, COLUMNS))
    truth = Z[:, : COLUMNS // 2].sum(axis=1) > Z[:, COLUMNS // 2 :].sum(axis=1)
    right = np.mean(model.predict(Z) == truth)
    yield Figure("  its accuracy on new rows without noise", f"{100 * right:.1f} %")


def _made_up(spark: Any, rows: int) -> Any:
    """Make uniform columns; the class says which half of them has the larger sum, with noise."""
    columns = [f"rand({j}) as f{j}" for j in range(COLUMNS)]
    half = [" + ".join(f"f{j}" for j in part) for part in np.array_split(range(COLUMNS), 2)]
    frame = spark.range(rows, numPartitions=2 * LEARNERS).selectExpr(*columns)
    return frame.selectExpr("*", f"cast({half[0]} - ({half[1]}) + 0.5 * (rand(99) - 0.5) > 0 as int) as label")


@contextmanager
def watch_memory() -> Iterator[list[float]]:
    """Return the most memory that this process and its children have at one time, each page counted once."""
    peak, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.3):
            peak[0] = max(peak[0], sum(_held(pid) for pid in _family(os.getpid())))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:  # it ended
            continue
        for child in found:
            yield from _family(int(child))


def _held(pid: int) -> float:
    """Return a process's own pages, and its share of those it has in common."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended
        return 0.0
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0.0)
