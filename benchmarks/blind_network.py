"""Blind training between three hospitals over NATS, all on this machine: seconds, and CPU of every process."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import tacit
from figures import Figure, Step
from tacit.cli.one_machine import CLEARING, OneMachine, one_machine

LEARN, C, MOST = 455, 10.0, 12.0  # seconds
HOSPITALS = ("north", "south", "east")
TICKS = os.sysconf("SC_CLK_TCK")


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Train 455 x 30 once, or a quarter of it."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[: LEARN // 4 if quick else LEARN]
    X, y = StandardScaler().fit_transform(X)[order], y[order]
    parts = dict(zip(HOSPITALS, np.array_split(X, 3, axis=1), strict=True))
    with tempfile.TemporaryDirectory() as folder, one_machine(Path(folder), parts, y, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        yield Step("between processes", 0, 1)
        before, start = measure_cpu(made), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = tacit.SVC(features="exact", loss="hinge", C=C, verbose=False).fit(
                tacit.connect(made.config("analyst"))
            )
        whole = time.perf_counter() - start
        used = {site: seconds - before[site] for site, seconds in measure_cpu(made).items()}
    yield from _tell(model, whole, used, len(X))


def _tell(model: tacit.SVC, whole: float, used: Mapping[str, float], records: int) -> Iterator[Figure]:
    seconds = model.report_.seconds
    name = f"{records} x 30, three hospitals as processes over NATS"
    yield Figure(f"{name}: the run, s", f"{seconds:.1f}", f"{MOST:g}", seconds <= MOST)
    yield Figure("  from proposing to the fitted model", f"{whole:.1f} s")
    yield Figure("  CPU s of all processes, the server's left out", f"{sum(used.values()):.1f}")
    yield Figure("  CPU s of the dealer's process", f"{used[CLEARING]:.1f}")


def measure_cpu(made: OneMachine) -> dict[str, float]:
    """Return the CPU seconds that the process of each site has used so far, as Linux counts them."""
    found = {}
    for site, child in made.processes.items():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        found[site] = (int(fields[11]) + int(fields[12])) / TICKS  # utime, stime
    return found
