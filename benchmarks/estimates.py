"""The time before the run: what is estimated of runs drawn at random, against the time that they then take.

Constants were fitted to draws of other seeds. Programs that share caches with a run make it slower from one moment to
the next, so the paces of the machine are measured right before and right after each run; both halves say what they
compare.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

import tacit
from figures import Figure, Step, Table
from tacit.choreo.protocol import Cost
from tacit.choreo.role import Coordinator
from tacit.cli.one_machine import ANALYST, CLEARING, DATASET, OneMachine, one_machine
from tacit.consortium.jobs.preview import preview
from tacit.consortium.timing import Machine, busy, look_at_machine, timing_of

RUNS, QUICK, SEED = 50, 12, 2210
WITHIN, ENOUGH = 0.3, 0.9  # of the truth; of all runs
CONSORTIA = 3  # each plays all of `BETWEEN`
LONGEST = 20.0  # seconds: what is expected to take longer is drawn again
ROWS, PARTIES, COLUMNS = (200, 20_000), (3, 10), 20
METHODS: tuple[tuple[str, type[Any], Mapping[str, Any], str], ...] = (
    ("PanSVC", tacit.PanSVC, {}, "horizontal"),
    ("PanSVC, linear", tacit.PanSVC, {"kernel": "linear"}, "horizontal"),
    ("PanSVC, Fourier features", tacit.PanSVC, {"landmark_source": "fourier"}, "horizontal"),
    ("ConsensusSVC", tacit.ConsensusSVC, {"kernel": "rbf"}, "horizontal"),
    ("SecureELMClassifier", tacit.SecureELMClassifier, {}, "horizontal"),
    ("GramSVC, by columns", tacit.GramSVC, {}, "vertical"),
    ("GramSVC, by rows", tacit.GramSVC, {}, "horizontal"),
    ("GramSVC, by cells", tacit.GramSVC, {}, "arbitrary"),
    ("GramSVC, blind", tacit.GramSVC, {"view": "blind"}, "vertical"),
)


@dataclass(frozen=True)
class Drawn:
    """A run: what is trained between how many parties, and what was estimated of it."""

    name: str
    model: Any
    federation: tacit.Federation
    cost: Cost

    def play(self) -> tuple[str, float, float]:
        """Return its name, the CPU time that is estimated of it, and the CPU time that it takes."""
        before, began = look_at_machine(), time.process_time()
        self.model.fit(self.federation)
        took, after = time.process_time() - began, look_at_machine()
        return self.name, (before.simulate(self.cost) + after.simulate(self.cost)) / 2, took


def draw(rng: np.random.Generator) -> Drawn:
    """Return a run of a random method, rows and parties, which takes not too long on a usual machine."""
    while True:
        name, kind, given, partition = METHODS[rng.integers(len(METHODS))]
        rows, parties = round(np.exp(rng.uniform(*np.log(ROWS)))), int(rng.integers(PARTIES[0], PARTIES[1] + 1))
        X, y = make_classification(
            rows, COLUMNS, n_informative=COLUMNS // 2, n_redundant=0, flip_y=0.05, random_state=int(rng.integers(2**31))
        )
        federation = tacit.Federation.simulate(X, y, parties=parties, partition=partition)
        try:
            cost = preview(federation, kind(**given)).cost
        except tacit.errors.TacitError:  # more cells than the method multiplies
            continue
        if Machine().simulate(cost) <= LONGEST:
            return Drawn(f"{name}, {rows:,} rows, {parties} parties", kind(**given), federation, cost)


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure how far estimates are off."""
    rng, runs, rows = np.random.default_rng(SEED), QUICK if quick else RUNS, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gaps of groups, which reports tell
        for _, kind, given, partition in METHODS:  # compiles and loads what later runs need
            X, y = make_classification(120, COLUMNS, random_state=0)
            kind(**given).fit(tacit.Federation.simulate(X, y, parties=3, partition=partition))
        for done in range(runs):
            drawn = draw(rng)
            yield Step(drawn.name, done, runs + 1)
            rows.append(drawn.play())
        yield Step("between processes", runs, runs + 1)
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        between = list(connect_sites(rng, 1 if quick else CONSORTIA))
    yield from judge("simulated, by CPU time", rows)
    yield from judge("over NATS, by CPU time of the coordinator", [(b.name, b.busy, b.used) for b in between])
    yield from judge("over NATS, by the clock", [(b.name, b.estimate, b.took) for b in between], load)


def judge(where: str, rows: Sequence[tuple[str, float, float]], load: float = 0.0) -> Iterator[Figure | Table]:
    """Yield each run, and how many of them took about as long as was estimated; nothing is asked of a busy machine."""
    off = [estimate / took - 1 for _, estimate, took in rows]
    shown = tuple(
        (name, f"{estimate:.2f} s", f"{took:.2f} s", f"{100 * by:+.0f} %")
        for (name, estimate, took), by in zip(rows, off, strict=True)
    )
    yield Table(f"The time before the run, {where}", ("run", "estimated", "took", "off"), shown)
    close, asked = sum(abs(by) <= WITHIN for by in off), int(ENOUGH * len(rows))
    name = f"runs whose estimate is within {100 * WITHIN:.0f} %, {where}"
    if load > IDLE:
        yield Figure(f"{name} (not judged: a load of {load:.1f} for each core)", f"{close} of {len(rows)}")
    else:
        yield Figure(name, f"{close} of {len(rows)}", f"{asked} of {len(rows)}", close >= asked)


# Over NATS

BETWEEN: tuple[tuple[str, type[Any], Mapping[str, Any]], ...] = (
    ("PanSVC", tacit.PanSVC, {}),
    ("PanSVC, linear", tacit.PanSVC, {"kernel": "linear"}),
    ("PanSVC, Fourier features", tacit.PanSVC, {"landmark_source": "fourier"}),
    ("SecureELMClassifier", tacit.SecureELMClassifier, {}),
)
SITES = ("north", "south", "east", "west", "coast")
IDLE = 0.5  # load for each core: above it the clock on the wall says how busy the machine is, not how long a run takes


@dataclass(frozen=True)
class Between:
    """A run between processes: seconds estimated and taken by the clock, and CPU time of the coordinator likewise."""

    name: str
    estimate: float
    took: float
    busy: float
    used: float


def connect_sites(rng: np.random.Generator, consortia: int) -> Iterator[Between]:
    """Yield runs in consortia of random size, whose sites are processes of this machine with a real message server."""
    for _ in range(consortia):
        sites = SITES[: int(rng.integers(PARTIES[0], len(SITES) + 1))]
        rows = round(np.exp(rng.uniform(*np.log(ROWS))))
        X, y = make_classification(rows, COLUMNS, n_informative=COLUMNS // 2, flip_y=0.05, random_state=0)
        held = {name: slice(i, None, len(sites)) for i, name in enumerate(sites)}
        records, labels = ({name: each[part] for name, part in held.items()} for each in (X, y))
        with tempfile.TemporaryDirectory() as folder, one_machine(Path(folder), records, labels, keep=True) as made:
            for site in made.sites:
                made.start(site)
            made.wait()
            told = {name: len(labels[name]) for name in sites}
            federation = tacit.connect(made.config(ANALYST)).on(DATASET, rows=told)
            tacit.PanSVC(kernel="linear", max_rounds=5).fit(federation)  # the first run of a process loads a good deal
            for name, kind, given in BETWEEN:
                yield play_between(f"{name}, {rows:,} rows, {len(sites)} sites", kind(**given), federation, made)


def play_between(name: str, model: Any, federation: Any, made: OneMachine) -> Between:
    """Return what was estimated of a run, and what it took."""
    cost, trip = federation.rehearse(model).cost, timing_of(made.folder(ANALYST) / "state").link
    machine, before = look_at_machine(), cpu_of(made.processes[CLEARING].pid)
    report = model.fit(federation).report_
    used, site = cpu_of(made.processes[CLEARING].pid) - before, federation.roster[Coordinator][0]
    estimate = trip.seconds(cost, federation.roster, machine)
    return Between(name, estimate, report.seconds, busy(cost, site, machine), used)


def cpu_of(process: int) -> float:
    """Return the CPU time of a process of this machine so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
