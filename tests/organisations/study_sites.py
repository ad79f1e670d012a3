"""Whole studies under random `kill -9`: each on records of its own, against the same study in one process."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from organisations.chaos import AWAY, Chaos, disturb, log
from organisations.row_sites import check_alike, records_of
from organisations.sites import ANALYST, CLEARING, Sites
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.analyst import outcome_of
from tacit.consortium.site.example_files import example_party, example_policy
from tacit.errors import TacitError
from tacit.study.replay import pipeline_of
from tacit.study.steps import read_pipeline

COLUMNS, ROWS, SEED = 4, 120, 7  # of a hospital
STEPS = (
    {"use": "FederatedImputer"},
    {"use": "FederatedScaler"},
    {"use": "FederatedGridSearch", "estimator": {"use": "SVC"}, "grid": {"alpha": (0.1, 1.0)}},
)


class StudySites(Sites):
    """Hospitals that hold rows with gaps; a dataset for every study, since two of the same rows know of each other."""

    moments = 74  # what a hospital sends in such a study

    def __init__(self, folder: Path, hospitals: int = 3, *, studies: int, **options: Any) -> None:
        self.studies = [f"cohort{k}" for k in range(studies)]
        super().__init__(folder, hospitals, **options)

    def _hospital(self, name: str, i: int, **settings: Any) -> None:
        text, policy = (
            example_party(name, label="label", **settings),
            example_policy(automatic=True, preflights_per_day=1000),
        )
        head = ",".join(["patient", *(f"x{j}" for j in range(COLUMNS)), "label"])
        for k, dataset in enumerate(self.studies):
            table, file = np.column_stack([np.arange(ROWS), *records(k, i)]), self.home(name) / f"{dataset}.csv"
            np.savetxt(file, table, delimiter=",", header=head, comments="", fmt="%.17g")
        offered = [
            f'[datasets.{dataset}]\npath = "{dataset}.csv"\nlabel = "label"\nid = "patient"\n'
            for dataset in self.studies
        ]
        (self.home(name) / "site.toml").write_text("\n".join([text.partition("[datasets.")[0], *offered]))
        allowed = "\n".join(f'{dataset} = "all"' for dataset in self.studies)
        (self.home(name) / "policy.toml").write_text(policy.replace('cohort = "all"', allowed))

    def study(self, k: int) -> Job:
        """The job of one of the studies."""
        asked = {"steps": STEPS, "seed": SEED, "partition": "horizontal", "evaluate": {}}
        return propose(
            "study", asked, partition="horizontal", parties=self.hospitals, coordinator=CLEARING,
            dataset=self.studies[k], submitter=ANALYST, purpose="a test", legal_basis="none",
        )  # fmt: skip

    def simulate(self, job: Job) -> Any:
        """What the same study on the same records gives in this process, and those to judge by."""
        learn, judge = (records_of(job, self.configs, held_out=held_out) for held_out in (False, True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read_pipeline(STEPS, SEED).fit(learn), judge


def records(k: int, i: int) -> tuple[Any, Any]:
    """The records and labels of hospital i in study k."""
    rng = np.random.default_rng((k, i))
    X = rng.normal(size=(ROWS, COLUMNS)) * (1, 10, 0.1, 1)
    y = (X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=ROWS) > 0).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def disturbed_study(sites: StudySites, k: int, kills: int) -> tuple[Job, Any]:
    """A study that is struck so often, and what it gives the analyst."""
    with sites.analyst() as analyst:
        job = sites.study(k)
        news = disturb(sites, analyst, job, random.Random(k), kills)  # noqa: S311 - no secret
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return job, pipeline_of(job.arguments, job.roster, outcome_of(job, news, analyst.result(job)))


def is_alike(sites: StudySites, job: Job, fitted: Any) -> bool:
    """Whether a study prepared columns as the simulation does, to the last bit, and decides as it does."""
    alone, judge = sites.simulate(job)
    judged = fitted.report_.evaluations["held-out records"]
    assert judged.confusion_matrix.sum() == judge.n_rows
    check_alike(alone, fitted, judge.pooled()[0], least=0.85)
    return True


def study_chaos(folder: Path, runs: int, *, kills: int = 2) -> Iterator[Chaos]:
    """Each study is disturbed `kills` times, and must end like the simulated one; how it went so far."""
    identical, start = 0, time.monotonic()
    with StudySites(folder, studies=runs, timeout=AWAY) as sites:
        for k in range(runs):
            try:
                identical += is_alike(sites, *disturbed_study(sites, k, kills))
            except (AssertionError, TacitError):
                ended = {name: each.poll() for name, each in sites.processes.items() if each.poll() is not None}
                log.exception("study %d did not end well; processes that had ended, and how: %s", k, ended)
                sites.start_missing()
            yield Chaos(k + 1, identical, (k + 1) * kills, sites.check_masks(), time.monotonic() - start)
