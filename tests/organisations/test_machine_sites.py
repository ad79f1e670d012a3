"""Machines of the core between organisations: a study that survives kill -9 of a holder and of the dealer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tacit
from organisations.row_sites import records_of
from organisations.sites import ANALYST, Sites
from tacit.cli.one_machine import one_machine
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.analyst import outcome_of
from tacit.study.replay import pipeline_of

pytest.importorskip("nats")
pytestmark = pytest.mark.slow

FILE = """
dataset = "cohort"
purpose = "a test"
legal_basis = "none"
parties = ["h1", "h2", "h3"]
coordinator = "clearing"
partition = "vertical"
labeller = "h1"
aligned = true
seed = 7

[[step]]
name = "scale"
use = "FederatedScaler"

[[step]]
name = "machine"
use = "{use}"

[evaluate]
"""
LEARNERS = {"SVC": tacit.SVC}
PHASES = (("clearing", 20), ("h2", 40), ("h3", 90))  # and after how many of its messages each is killed


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    with Sites(tmp_path_factory.mktemp("machines"), rows=240, timeout=120.0) as made:
        yield made


@pytest.fixture(scope="module", params=LEARNERS)
def done(request, sites, tmp_path_factory):
    """The study of a file in which dealer and holders are killed, each in another phase, as the analyst has it."""
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(FILE.format(use=request.param))
    with sites.analyst() as analyst:
        job = job_of_file(path, submitter=ANALYST)
        analyst.submit(job)
        for victim, messages in PHASES:
            sites.await_(lambda v=victim, m=messages: sites.messages(job, v) > m, 200.0)
            sites.kill(victim)
            sites.start(victim)
        news = sites.ends_well(analyst, job, 500.0)
        fitted = pipeline_of(job.arguments, job.roster, outcome_of(job, news, analyst.result(job)))
    return job, fitted, LEARNERS[request.param]


def test_a_study_survives_kills_in_every_phase_and_is_as_good_as_the_simulation(sites, done):
    job, fitted, learner = done
    learn, judge = (records_of(job, sites.configs, held_out=held_out) for held_out in (False, True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("machine", learner())]).fit(learn)
        found = tacit.evaluate(alone, judge)
    judged = fitted.report_.evaluations["held-out records"]
    assert judged.score == pytest.approx(found.score, abs=0.15)  # landmarks and noise are drawn anew
    assert fitted["machine"].model_.weights.shape[1] == 1


def test_no_mask_is_ever_on_two_values_though_dealer_and_holders_were_killed(sites, done):
    job, *_ = done
    assert sites.check_masks() > 200
    assert not [name for name in sites.names if "1.share" in folder_of(sites.home(name) / "state", job.id).result]


def test_two_jobs_on_the_same_records_find_the_same_distribution(tmp_path):
    """A site's noise on sums of its records is a function of a secret that it keeps: there is nothing to average."""
    X, y = make_classification(240, 5, n_informative=4, n_redundant=0, random_state=3)
    names, rows = ("h1", "h2", "h3"), np.array_split(np.arange(240), 3)
    records, labels = ({name: each[own] for name, own in zip(names, rows, strict=True)} for each in (X, y))
    with one_machine(tmp_path, records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        first, again = (
            tacit.SVC(kernel="linear", alpha=alpha, verbose=False).fit(tacit.connect(made.config("analyst"))).model_.map
            for alpha in (0.1, 1.0)
        )
    away = np.abs(again.centres - first.centres) / X.std(axis=0)
    assert away.max() < 0.02  # noise of another draw has a deviation of 0.1
