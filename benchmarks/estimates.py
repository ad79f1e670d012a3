"""The time before the run: what is estimated of runs drawn at random, against the time that they then take."""

from __future__ import annotations

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
from tacit.cli.one_machine import ANALYST, one_machine
from tacit.consortium.jobs.preview import preview
from tacit.consortium.jobs.rehearsal import USUALLY
from tacit.consortium.timing import Machine, measure_machine, timing_of

RUNS, QUICK = 50, 12
WITHIN, ENOUGH = 0.3, 0.9  # of the truth; of all runs
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
    estimate: float

    def play(self) -> float:
        """Return the CPU time that it takes, to which other programs are nothing."""
        began = time.process_time()
        self.model.fit(self.federation)
        return time.process_time() - began


def draw(rng: np.random.Generator, machine: Machine) -> Drawn:
    """Return a run of a random method, rows and parties, which takes not too long by its estimate."""
    while True:
        name, kind, given, partition = METHODS[rng.integers(len(METHODS))]
        rows, parties = round(np.exp(rng.uniform(*np.log(ROWS)))), int(rng.integers(PARTIES[0], PARTIES[1] + 1))
        X, y = make_classification(
            rows, COLUMNS, n_informative=COLUMNS // 2, n_redundant=0, flip_y=0.05, random_state=int(rng.integers(2**31))
        )
        federation = tacit.Federation.simulate(X, y, parties=parties, partition=partition)
        try:
            estimate = machine.simulate(preview(federation, kind(**given)).cost)
        except tacit.errors.TacitError:  # more cells than the method multiplies
            continue
        if estimate <= LONGEST:
            return Drawn(f"{name}, {rows:,} rows, {parties} parties", kind(**given), federation, estimate)


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure how far estimates are off."""
    rng, machine, runs, rows = np.random.default_rng(1), measure_machine(), QUICK if quick else RUNS, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gaps of groups, which reports tell
        for _, kind, given, partition in METHODS:  # compiles and loads what later runs need
            X, y = make_classification(120, COLUMNS, random_state=0)
            kind(**given).fit(tacit.Federation.simulate(X, y, parties=3, partition=partition))
        for done in range(runs):
            drawn = draw(rng, machine)
            yield Step(drawn.name, done, runs + 1)
            rows.append((drawn.name, drawn.estimate, drawn.play()))
        yield Step("between processes", runs, runs + 1)
        between = list(connect_sites())
    yield from judge("simulated, by CPU time", rows)
    yield from judge("over NATS, by the clock on the wall", between)


def judge(where: str, rows: Sequence[tuple[str, float, float]]) -> Iterator[Figure | Table]:
    """Yield each run, and how many of them took about as long as was estimated."""
    off = [estimate / took - 1 for _, estimate, took in rows]
    shown = tuple(
        (name, f"{estimate:.2f} s", f"{took:.2f} s", f"{100 * by:+.0f} %")
        for (name, estimate, took), by in zip(rows, off, strict=True)
    )
    yield Table(f"The time before the run, {where}", ("run", "estimated", "took", "off"), shown)
    close, asked = sum(abs(by) <= WITHIN for by in off), int(ENOUGH * len(rows))
    name = f"runs whose estimate is within {100 * WITHIN:.0f} %, {where}"
    yield Figure(name, f"{close} of {len(rows)}", f"{asked} of {len(rows)}", close >= asked)


# Over NATS

BETWEEN: tuple[tuple[str, type[Any], Mapping[str, Any]], ...] = (
    ("PanSVC", tacit.PanSVC, {}),
    ("PanSVC, linear", tacit.PanSVC, {"kernel": "linear"}),
    ("PanSVC, C = 10", tacit.PanSVC, {"C": 10.0}),
    ("SecureELMClassifier", tacit.SecureELMClassifier, {}),
)


def connect_sites() -> Iterator[tuple[str, float, float]]:
    """Yield runs between three processes of this machine: what was estimated, and how long each took by the clock."""
    X, y = make_classification(USUALLY, COLUMNS, n_informative=COLUMNS // 2, flip_y=0.05, random_state=0)
    held = {name: slice(i, None, 3) for i, name in enumerate(("north", "south", "east"))}
    records, labels = ({name: each[rows] for name, rows in held.items()} for each in (X, y))
    with tempfile.TemporaryDirectory() as folder, one_machine(Path(folder), records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        federation = tacit.connect(made.config(ANALYST))
        tacit.PanSVC(kernel="linear", max_rounds=5).fit(federation)  # the first run of a process loads a good deal
        for name, kind, given in BETWEEN:
            cost = federation.rehearse(kind(**given)).cost
            timing = timing_of(made.folder(ANALYST) / "state")
            estimate = timing.link.seconds(cost, federation.roster, timing.machine)
            yield f"{name}, {USUALLY} rows, 3 sites", estimate, kind(**given).fit(federation).report_.seconds
