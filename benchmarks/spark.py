"""On Spark, two cores of this machine: what a round costs beyond the local solves, two million rows, many learners."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from figures import Figure, MissingDataError, Step, dataset
from tacit import ConsensusSVC, Federation
from tacit.choreo import Coordinator, Holder, Roster, entries_of
from tacit.errors import LocalError, MissingExtraError
from tacit.protocols.sums.secure_sum import protect, secure_sum
from tacit.runtimes.spark.cluster import Spark
from tacit.runtimes.spark.session import session, start

CORES, LEARNERS, COLUMNS, WORDS = 2, 4, 28, 1000
GIGABYTE = 1e9


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - called by run.py
    """Measure both in one session."""
    try:
        spark = session(start(f"local[{CORES},4]", spark_driver_memory="2g"))
    except (LocalError, MissingExtraError) as error:
        raise MissingDataError(str(error)) from None
    try:
        yield overhead(rounds=10 if quick else 40)
        yield from large(spark, rows=200_000 if quick else 2_000_000)
        yield crowd(spark, learners=100 if quick else 1000)
    finally:
        spark.stop()


def overhead(rounds: int) -> Figure:
    """Measure a round on higgs: wall time less the steps of all learners, which share the cores."""
    data = dataset("higgs")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    how = {"C": 1.0, "tol": 1e-12, "n_parties": LEARNERS, "random_state": 0, "runtime": "spark"}
    _fit(ConsensusSVC(max_rounds=2, **how), X, data.y)  # workers start and compile
    report = _fit(ConsensusSVC(max_rounds=rounds, **how), X, data.y).report_
    start_up = _fit(ConsensusSVC(max_rounds=1, **how), X, data.y).report_  # keys, classes, moments
    solves = (sum(report.cpu.values()) - sum(start_up.cpu.values())) / CORES
    each = (report.seconds - start_up.seconds - solves) / (rounds - 1)
    busy = os.getloadavg()[0]
    told = f"{each:.2f} s, and {solves / (rounds - 1):.2f} s of solves (load {busy:.0f})"
    return Figure(
        f"higgs {X.shape[0]} x {X.shape[1]}, {LEARNERS} learners: overhead of a round",
        told,
        "at most 0.5 s",
        each <= 0.5,
    )


def crowd(spark: Any, learners: int) -> Figure:
    """Measure one sum along a graph, once all is agreed, beside Spark's own sum of the same vectors in a tree.

    Spark's own is measured before and after: a thousand tasks of nothing take a minute, and other work comes and goes.
    """
    names, sc = tuple(f"p{i + 1}" for i in range(learners)), spark.sparkContext
    roster, x = Roster({Holder: names, Coordinator: ("coordinator",)}), np.arange(WORDS, dtype=np.uint64)
    plain = sc.parallelize([x] * learners, learners).persist()
    plain.count()
    before = _add_in_tree(plain)
    with Spark(roster, names, sc=sc, job=b"bench") as run:
        given, by = run.hold(Holder, dict.fromkeys(names, x)), protect(run, to=Coordinator, method="graph")
        run.finish()  # the last step of the agreement
        start_time = time.perf_counter()
        total = secure_sum(run, given, to=Coordinator, by=by)
        seconds = time.perf_counter() - start_time
        right = np.array_equal(entries_of(total)["coordinator"], x * np.uint64(learners))
    peer = (before + _add_in_tree(plain)) / 2
    ratio = seconds / peer
    told = f"{ratio:.1f} times treeReduce ({peer:.1f} s), {'exact' if right else 'WRONG'}"
    name, met = f"{learners:,} learners, one sum of {WORDS:,} words", right and ratio <= 3
    return Figure(name, told, "at most 3", met, before="refused by cost")


def _add_in_tree(plain: Any) -> float:
    """Return the seconds of Spark's own sum."""
    start_time = time.perf_counter()
    plain.treeReduce(np.add)
    return time.perf_counter() - start_time


def large(spark: Any, rows: int) -> Iterator[Figure]:
    """Train on rows that are made where they stay."""
    start_time = time.perf_counter()
    with watch_memory() as peak:
        learners = Federation.spark(_made_up(spark, rows), label="label")
        loaded = time.perf_counter() - start_time
        model = _fit(ConsensusSVC(C=1e-3, max_rounds=50), learners)
        seconds = time.perf_counter() - start_time
    memory = f"{peak[0] / GIGABYTE:.1f} GB"
    yield Figure(
        f"{rows:,} x {COLUMNS}, {2 * LEARNERS} learners: memory of driver, Java and workers",
        memory,
        "at most 8 GB",
        peak[0] < 8 * GIGABYTE,
    )
    yield Figure("  its time", f"{loaded:.0f} s to load, {seconds - loaded:.0f} s to train in {model.n_iter_} rounds")
    Z = np.random.default_rng(0).random((10_000, COLUMNS))
    right = np.mean(
        model.model_.common(Z)[:, 0] * (Z[:, : COLUMNS // 2].sum(axis=1) - Z[:, COLUMNS // 2 :].sum(axis=1)) > 0
    )
    yield Figure("  its accuracy on new rows without noise", f"{100 * right:.1f} %")


def _made_up(spark: Any, rows: int) -> Any:
    """Make uniform columns; the class says which half of them has the larger sum, with noise."""
    columns = [f"rand({j}) as f{j}" for j in range(COLUMNS)]
    half = [" + ".join(f"f{j}" for j in part) for part in np.array_split(range(COLUMNS), 2)]
    frame = spark.range(rows, numPartitions=2 * LEARNERS).selectExpr(*columns)
    return frame.selectExpr("*", f"cast({half[0]} - ({half[1]}) + 0.5 * (rand(99) - 0.5) > 0 as int) as label")


def _fit(model: Any, *data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many rounds, and no more
        return model.fit(*data)


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
