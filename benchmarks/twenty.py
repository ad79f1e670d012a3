"""Twenty hospitals with rows of one table, all on this machine: column statistics, and a training of SVC."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step
from network import peak_memory
from tacit.cli.one_machine import CLEARING, OneMachine, one_machine

PARTIES, ROWS = 20, 60  # of each hospital
MOST = 1024  # MB


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Run both as a study, and measure the memory of the coordinator and of its server."""
    X, y = make_classification(PARTIES * ROWS, 8, n_informative=5, flip_y=0.05, random_state=1)
    held = {f"h{k + 1}": slice(k, None, PARTIES) for k in range(PARTIES)}
    svm = tacit.SVC(random_state=0, **({"features": 10} if quick else {}))
    pipeline = tacit.Pipeline([("columns", tacit.FederatedScaler()), ("svm", svm)])
    with (
        threadpool_limits(1),
        tempfile.TemporaryDirectory() as folder,
        one_machine(
            Path(folder), {n: X[at] for n, at in held.items()}, {n: y[at] for n, at in held.items()}, keep=True
        ) as made,
    ):
        yield Step("twenty processes start", 0, 3)
        made.start(CLEARING)
        made.wait()
        for site in made.hospitals:
            made.start(site)
        federation = tacit.connect(made.config("analyst"))
        yield Step("describe", 1, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            described, looking = _time(federation.describe)
            yield Step("SVC", 2, 3)
            fitted, whole = _time(lambda: pipeline.fit(federation))
            right = f"accuracy {fitted.score(X, y):.3f}"
            finite = bool(np.isfinite(fitted.decision_function(X)).all())
        own, server = _memory(made)
    told = f"{len(described.description.columns)} columns, {looking:.1f} s with consents"
    yield Figure(f"describe between {PARTIES} parties", told, "finish", len(described.description.columns) > X.shape[1])
    rounds, seconds = fitted.report_.rounds, fitted.report_.seconds
    name = f"prepare_columns and SVC between {PARTIES} parties"
    told = f"{seconds:.1f} s in {rounds} rounds, {whole:.1f} s with consents, {right}"
    yield Figure(name, told, "finish", finite)
    memory = f"{own:.0f} MB, its server {server:.0f} MB"
    yield Figure("  most memory of the coordinator", memory, "under 1 GB together", own + server < MOST)


def _time(play: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return play(), time.perf_counter() - start


def _memory(made: OneMachine) -> tuple[float, float]:
    """Return the most megabytes that the coordinator and its server ever had."""
    server = int((made.folder(CLEARING) / "jetstream" / "nats.pid").read_text())
    return peak_memory(made.processes[CLEARING].pid), peak_memory(server)
