"""Whole studies under random `kill -9`: each on records of its own, against the same study in one process."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from organisations.chaos import AWAY, Chaos, disturb, log
from organisations.sites import ANALYST, CLEARING, Sites
from tacit.choreo import encode
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.analyst import outcome_of
from tacit.consortium.site.example_files import example_party, example_policy
from tacit.errors import TacitError
from tacit.study.replay import pipeline_of
from tacit.study.steps import read_pipeline

COLUMNS, ROWS, SEED = 4, 120, 7  # of a hospital
HELD_OUT = 0.25
PAN = {"use": "SVC", "max_rounds": 4}
STEPS = (
    {"use": "FederatedImputer"},
    {"use": "FederatedScaler"},
    {"use": "FederatedGridSearch", "estimator": PAN, "grid": {"C": (0.5, 2.0)}},
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
        head = ",".join([*(f"x{j}" for j in range(COLUMNS)), "label"])
        for k, dataset in enumerate(self.studies):
            table, file = np.column_stack(records(k, i)), self.home(name) / f"{dataset}.csv"
            np.savetxt(file, table, delimiter=",", header=head, comments="", fmt="%.17g")
        offered = [f'[datasets.{dataset}]\npath = "{dataset}.csv"\nlabel = "label"\n' for dataset in self.studies]
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

    def simulate(self, k: int) -> Sequence[Any]:
        """What the same study gives in this process."""
        held = [records(k, i) for i in range(len(self.hospitals))]
        whole = tacit.from_parts(held, names=self.hospitals, partition="horizontal", allow_missing=True)
        learn, judge = tacit.train_test_split(whole, test_size=HELD_OUT, random_state=SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = read_pipeline(STEPS, SEED).fit(learn)
            tacit.evaluate(fitted, judge, name="held-out records")
        return models_of(fitted)


def records(k: int, i: int) -> tuple[Any, Any]:
    """The records and labels of hospital i in study k."""
    rng = np.random.default_rng((k, i))
    X = rng.normal(size=(ROWS, COLUMNS)) * (1, 10, 0.1, 1)
    y = (X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=ROWS) > 0).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def models_of(fitted: Any) -> Sequence[Any]:
    """The model of every step, bit for bit, and what the last of them got right."""
    judged = fitted.report_.evaluations["held-out records"]
    return [*(encode(step.model_).digest for _, step in fitted._steps()), judged.confusion_matrix.tolist()]


def disturbed_study(sites: StudySites, k: int, kills: int) -> Sequence[Any]:
    """What a study that is struck so often gives the analyst."""
    with sites.analyst() as analyst:
        job = sites.study(k)
        news = disturb(sites, analyst, job, random.Random(k), kills)  # noqa: S311 - no secret
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return models_of(pipeline_of(job.arguments, job.roster, outcome_of(job, news, analyst.result(job))))


def study_chaos(folder: Path, runs: int, *, kills: int = 2) -> Iterator[Chaos]:
    """Each study is disturbed `kills` times, and must end with the simulated one's models; how it went so far."""
    identical, start = 0, time.monotonic()
    with StudySites(folder, studies=runs, timeout=AWAY) as sites:
        for k in range(runs):
            try:
                identical += disturbed_study(sites, k, kills) == sites.simulate(k)
            except (AssertionError, TacitError):
                ended = {name: each.poll() for name, each in sites.processes.items() if each.poll() is not None}
                log.exception("study %d did not end well; processes that had ended, and how: %s", k, ended)
                sites.start_missing()
            yield Chaos(k + 1, identical, (k + 1) * kills, sites.check_masks(), time.monotonic() - start)
