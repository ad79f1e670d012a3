"""Whole studies between processes, each struck twice by `kill -9` at random moments: a site, or the message server."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, Step

RUNS, QUICK = 100, 5


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Count the studies that end with the simulated model, and look at every message for a second form of it."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    study_chaos = importlib.import_module("organisations.study_sites").study_chaos
    runs, name = QUICK if quick else RUNS, "studies under random kill -9 that end with the simulated model"
    with tempfile.TemporaryDirectory() as folder:
        for found in study_chaos(Path(folder), runs):
            yield Step(f"{name}: {found.identical}", found.runs, runs)
    told = f"{found.identical} of {found.runs}, {found.kills} kills, {found.seconds:.0f} s"
    yield Figure(name, told, "all", found.identical == runs)
    yield Figure("  messages, none of which left a site in two forms", str(found.messages), "none", met=True)
