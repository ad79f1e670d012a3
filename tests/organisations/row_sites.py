"""Three hospitals with rows of one table, an analyst and a clearing house, as processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

import tacit
from tacit.choreo import encode
from tacit.cli.one_machine import one_machine
from tacit.consortium.jobs.folder import folders
from tacit.consortium.jobs.job import Job
from tacit.consortium.site.settings import PartySettings
from tacit.consortium.site.tables import Tables, network_key


def rows_of_three() -> dict[str, Any]:
    """Return records and labels by hospital."""
    X, y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=3)
    return {f"h{i + 1}": (X[i::3], y[i::3]) for i in range(3)}


@contextmanager
def started(rows: dict[str, Any], folder: Path) -> Iterator[Any]:
    """All sites, which have met no job yet."""
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    with one_machine(folder, records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made


def newest_job(made: Any) -> Any:
    """Return the job that the clearing house met last."""
    return max(folders(made.folder("clearing") / "state"), key=lambda found: found.path.stat().st_ctime).job


def dealt(made: Any, *, held_out: bool = False) -> Any:
    """Return the records that the sites learnt from in their last job, or those that they judge by, in one process."""
    return records_of(newest_job(made), {name: made.config(name) for name in made.hospitals}, held_out=held_out)


def records_of(job: Job, configs: Mapping[str, Path], *, held_out: bool = False) -> Any:
    """Return the records of a job, as sites of these configurations bring them."""
    parts = {}
    for name, config in configs.items():
        settings = PartySettings.from_toml(config)
        tables = Tables(name, settings.state, settings.datasets, network_key(settings.ca_fingerprint))
        parts[name] = tables.part(job, held_out=held_out)
    alone = [
        np.where(part.owned, part.X, np.nan)
        if part.owned is not None
        else part.X
        if part.y is None
        else (part.X, part.y)
        for part in parts.values()
    ]
    named: Any = {"names": list(parts), "coordinator": "clearing", "partition": job.partition}
    if job.partition == "arbitrary":
        named["y"] = next(part.y for part in parts.values() if part.y is not None)
    names = [name for part in parts.values() for name in part.features]
    federation = tacit.from_parts(alone, allow_missing=True, **named).rename_features(list(dict.fromkeys(names)))
    return dataclasses.replace(federation, parts=parts)


def check_alike(one: Any, other: Any, X: Any, *, least: float = 0.95) -> None:
    """Two models of the same records differ by noise of their own; columns are prepared alike to the last bit."""
    steps = [[step for _, step in each._steps()] if hasattr(each, "_steps") else [each] for each in (one, other)]
    for mine, theirs in zip(*steps, strict=True):
        assert type(mine) is type(theirs)
        if not hasattr(mine, "predict"):
            assert encode(mine.model_).digest == encode(theirs.model_).digest
    if hasattr(one, "classes_"):
        np.testing.assert_array_equal(one.classes_, other.classes_)
        assert np.mean(one.predict(X) == other.predict(X)) > least
    else:
        assert np.corrcoef(one.predict(X), other.predict(X))[0, 1] > least
