"""The study of UCI Heart Disease between four hospitals over NATS, all on this machine, beside its simulation."""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

import tacit
from figures import DATA, Figure, MissingDataError, Step
from study import FILE, load_example
from tacit.cli.one_machine import CLEARING, OneMachine, one_machine

GRID = {"alpha": [0.01, 0.03, 0.1, 0.3], "gamma": [0.01, 0.03, 0.1]}  # 12 candidates
PER_ROUND = 0.03  # seconds that a round may take beyond three times the simulation


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure the study in both ways, and compare the models."""
    if not FILE.exists():
        raise MissingDataError(f"{FILE.name} is not in {DATA}: set TACIT_DATA to the folder that has it")
    example, grid = load_example(), {name: values[:2] if quick else values for name, values in GRID.items()}
    cohort = example.load(FILE)
    held = {site: (cohort.X[cohort.site == site], cohort.y[cohort.site == site]) for site in example.SITES}
    columns = {f"x{example.COLUMNS.index(name)}": kinds for name, kinds in example.KINDS.items()}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the example shows them
        yield Step("simulated", 0, 2)
        local, alone = _simulate(held, _pipeline(columns, grid))
        yield Step("between processes", 1, 2)
        with tempfile.TemporaryDirectory() as folder:
            far, whole, pause = _connect(Path(folder), held, _pipeline(columns, grid))
    candidates, rounds = int(np.prod([len(values) for values in grid.values()])), far.report_.rounds
    limit = 3 * alone + PER_ROUND * rounds
    name = f"heart disease, 4 sites, {candidates} candidates, five folds, {rounds} rounds"
    told = f"{far.report_.seconds:.1f} s, {alone:.1f} s"
    asked = f"3 times that plus 30 ms a round: {limit:.1f} s"
    yield Figure(f"{name}: over NATS, simulated", told, asked, far.report_.seconds <= limit)
    yield Figure("  from proposing to the fitted pipeline", f"{whole:.1f} s")
    same = float(np.mean(local.predict(cohort.X) == far.predict(cohort.X)))
    yield Figure("  records that both models call the same; noise is each site's own", f"{100 * same:.1f} %")
    yield Figure(
        "  from the last consent to the start of the last site's run", f"{pause * 1e3:.0f} ms", "under 1 s", pause < 1
    )


def _pipeline(kinds: dict[str, tuple[int, ...]], grid: dict[str, list[float]]) -> tacit.Pipeline:
    """Return the study of the example, with the names that the sites' columns have."""
    strategy = {f"x{j}": "mean" for j in range(12)} | dict.fromkeys(kinds, "most_frequent")
    search = tacit.FederatedGridSearch(tacit.SVC(probability=True), grid)
    steps = [
        ("gaps", tacit.FederatedImputer(strategy, categories=kinds)),
        ("categories", tacit.FederatedEncoder(kinds)),
        ("scale", tacit.FederatedScaler()),
        ("svm", search),
    ]
    return tacit.Pipeline(steps)


def _simulate(held: dict[str, Any], pipeline: tacit.Pipeline) -> tuple[tacit.Pipeline, float]:
    """Return the pipeline, fitted in this process, and the seconds that it took."""
    named = [(pa.table({f"x{j}": column for j, column in enumerate(X.T)}), y) for X, y in held.values()]
    here = tacit.from_parts(named, names=list(held), partition="horizontal", allow_missing=True)
    start = time.perf_counter()
    return pipeline.fit(here), time.perf_counter() - start


def _connect(folder: Path, held: dict[str, Any], pipeline: tacit.Pipeline) -> tuple[tacit.Pipeline, float, float]:
    """Return the pipeline, fitted between processes; the seconds from proposing on; those from consent to start."""
    records, labels = ({site: part[i] for site, part in held.items()} for i in (0, 1))
    with one_machine(folder, records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        start = time.perf_counter()
        fitted = pipeline.fit(tacit.connect(made.config("analyst")))
        whole = time.perf_counter() - start
        pause = _measure_pause(made)
    return fitted, whole, pause


def _measure_pause(made: OneMachine) -> float:
    """Return the seconds from the last consent, as the coordinator has it, to the start of the run at the last site."""
    (job,) = (made.folder(CLEARING) / "state" / "jobs").iterdir()
    consents = [file.stat().st_mtime for file in (job / "answers").iterdir()]
    return max(_started(made.job_folder(site, job.name)) for site in made.sites) - max(consents)


def _started(job: Path) -> float:
    """Return when a site began to play: it wrote how long it played when it had finished."""
    file = job / "finished.json"
    return file.stat().st_mtime - json.loads(file.read_text())["seconds"]
