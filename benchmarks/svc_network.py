"""`SVC()` by rows between three sites over NATS, a process each: side by side, and behind slow lines."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

import tacit
from blind_network import measure_cpu
from figures import Figure
from slow_link import slow_link
from tacit.cli.one_machine import ANALYST, CLEARING, OneMachine, one_machine

NETWORK_ROWS, NETWORK_COLUMNS, NETWORK = 2000, 30, 3.0  # seconds
ROUND_TRIP, BITS, FAR = 0.04, 10e6, 60.0  # seconds, bits a second, seconds of the run


def figures(quick: bool) -> Iterator[Figure]:  # noqa: FBT001 - the one switch of all benchmarks
    """Train by rows between three sites, each a process of its own; the first run loads machine code."""
    del quick  # nothing of it is smaller: a smaller table waits for other things
    X, y = make_classification(NETWORK_ROWS, NETWORK_COLUMNS, n_informative=10, random_state=1)
    names, rows = ("north", "south", "east"), np.array_split(np.arange(NETWORK_ROWS), 3)
    parts, labels = ({name: each[own] for name, own in zip(names, rows, strict=True)} for each in (X, y))
    name = f"SVC(), three sites over NATS, {NETWORK_ROWS:,} x {NETWORK_COLUMNS}"
    with tempfile.TemporaryDirectory() as folder, one_machine(Path(folder), parts, labels, keep=True) as made:
        seconds, used = _train_between(made)
        yield _at_most(f"{name}: seconds", seconds, NETWORK)
        yield Figure(f"{name}: CPU seconds of all sites; cores", f"{used:.1f}; {os.cpu_count()}")
    with (
        tempfile.TemporaryDirectory() as folder,
        one_machine(Path(folder), parts, labels, keep=True) as made,
        contextlib.ExitStack() as lines,
    ):
        for site in (*made.hospitals, ANALYST):
            _move_far(made, site, lines)
        seconds, _ = _train_between(made)
        dropped = (made.folder(CLEARING) / "jetstream" / "nats.log").read_text(encoding="utf-8").count("Slow Consumer")
    line = f"{1000 * ROUND_TRIP:.0f} ms round trip and {BITS / 1e6:.0f} Mbit/s to each site"
    yield _at_most(f"the same, {line}: seconds", seconds, FAR)
    yield Figure("the same: how often the broker dropped a slow consumer", str(dropped), "never", not dropped)


def _at_most(name: str, seconds: float, most: float) -> Figure:
    return Figure(name, f"{seconds:.1f}", f"at most {most:g}", seconds <= most)


def _train_between(made: OneMachine) -> tuple[float, float]:
    """Return how long the second of two trainings took, and the CPU seconds of all sites; the first has another alpha.

    Equal studies would have the first one's result.
    """
    for site in made.sites:
        made.start(site)
    made.wait()
    for alpha in (0.3, "auto"):
        before = measure_cpu(made)
        model = tacit.SVC(alpha=alpha, verbose=False).fit(tacit.connect(made.config("analyst")))
    return model.report_.seconds, sum(seconds - before[site] for site, seconds in measure_cpu(made).items())


def _move_far(made: OneMachine, site: str, lines: contextlib.ExitStack) -> None:
    """Put a slow line between a site and the server."""
    near = made.url.rpartition(":")[2]
    far = lines.enter_context(slow_link(int(near), round_trip=ROUND_TRIP, bits=BITS))
    text = made.config(site).read_text(encoding="utf-8")
    made.config(site).write_text(text.replace(f":{near}", f":{far}"), encoding="utf-8")
