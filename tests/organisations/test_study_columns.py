"""A whole study between organisations that hold columns of the same records, and the simulated one."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import tacit
from organisations.row_sites import check_alike, records_of
from organisations.sites import ANALYST, Sites
from tacit.choreo import encode
from tacit.consortium.jobs.folder import folder_of, folders
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.site.analyst import outcome_of
from tacit.study.replay import pipeline_of

pytest.importorskip("nats")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:X does not have valid feature names")]

FILE = """
dataset = "cohort"
purpose = "a test"
legal_basis = "none"
parties = ["h1", "h2", "h3"]
coordinator = "clearing"
partition = "vertical"
labeller = "h1"
seed = 7

[[step]]
name = "gaps"
use = "FederatedImputer"
add_indicator = true

[[step]]
name = "scale"
use = "FederatedScaler"

[[step]]
name = "svm"
use = "SVC"
probability = true

[evaluate]
"""


def pipeline():
    """The steps of the study."""
    gaps, scale = tacit.FederatedImputer(add_indicator=True), tacit.FederatedScaler()
    return tacit.Pipeline([("gaps", gaps), ("scale", scale), ("svm", tacit.SVC(probability=True))])


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """Three hospitals, whose columns lack values; of other patients each has some that others have not."""
    made, draw = Sites(tmp_path_factory.mktemp("columns")), np.random.default_rng(1)
    made.X[draw.random(made.X.shape) < 0.05] = np.nan
    for i, name in enumerate(made.hospitals):
        y = made.y if i == 0 else None
        write(made.home(name) / "cohort.csv", made.X[:, 4 * i : 4 * i + 4], name, y, np.arange(len(made.X)))
        write(made.home(name) / "others.csv", *others(name, i))
        for file, old, more in (
            ("site.toml", '[datasets.cohort]\npath = "cohort.csv"', OTHERS + ('\nlabel = "label"' if i == 0 else "")),
            ("policy.toml", "[columns]", 'others = "all"'),
        ):
            text = (made.home(name) / file).read_text()
            assert old in text
            changed = f"{more}\n\n{old}\nid = 'patient'" if file == "site.toml" else f"{old}\n{more}"
            (made.home(name) / file).write_text(text.replace(old, changed))
    with made:
        yield made


OTHERS = '[datasets.others]\npath = "others.csv"\nid = "patient"'


def others(name, i):
    """Columns of other patients at a hospital, in an order of its own, with labels at the first and ids."""
    draw = np.random.default_rng(2)
    X = draw.normal(size=(300, 12))
    y = (X[:, 0] + X[:, 5] > 0).astype(int)
    own = np.random.default_rng(i).permutation(
        np.delete(np.arange(300), slice(40 * i, 40 * i + 40))
    )  # each lacks others
    return X[own, 4 * i : 4 * i + 4], name, y[own] if i == 0 else None, 1000 + own


def write(path, X, name, y, ids):
    """Write a hospital's table, with blanks where a value is missing."""
    head = ["patient", *(f"{name}-column{j}" for j in range(X.shape[1])), *([] if y is None else ["label"])]
    rows = [[k, *("" if np.isnan(x) else repr(float(x)) for x in row)] for k, row in zip(ids, X, strict=True)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *(row if y is None else [*row, y[k]] for k, row in enumerate(rows))])


@pytest.fixture(scope="module")
def done(sites, tmp_path_factory):
    """The study of a file, with one site killed on the way, as the analyst has it at the end."""
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(FILE)
    with sites.analyst() as analyst:
        job = job_of_file(path, submitter=ANALYST)
        analyst.submit(job)
        sites.await_(lambda: sites.messages(job, "h2") > 3, 60.0)
        sites.kill("h2")
        sites.start("h2")
        news = sites.ends_well(analyst, job, 120.0)
        fitted = pipeline_of(job.arguments, job.roster, outcome_of(job, news, analyst.result(job)))
    return job, fitted


def test_columns_and_figures_are_those_of_the_simulation_though_a_site_was_killed(sites, done):
    job, fitted = done
    learn, judge = (records_of(job, sites.configs, held_out=held_out) for held_out in (False, True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = pipeline().fit(learn)
        found = tacit.evaluate(alone, judge)
        X = np.nan_to_num(sites.X)
        check_alike(alone, fitted, X, least=0.85)
    judged = fitted.report_.evaluations["held-out records"]
    assert judged.confusion_matrix.sum() == found.confusion_matrix.sum()
    assert abs(judged.accuracy - found.accuracy) < 0.15


def test_every_site_and_the_analyst_have_the_same_model(sites, done):
    job, fitted = done
    published = {folder_of(sites.home(name) / "state", job.id).public for name in sites.names}
    assert len({encode(each).digest for each in published}) == 1
    assert fitted["svm"].model_.weights.shape[1] == 1


def test_the_study_is_saved_and_loaded(tmp_path, sites, done):
    _, fitted = done
    loaded = tacit.load(fitted.save(tmp_path / "study.tacit"))
    np.testing.assert_array_equal(loaded.predict(sites.X), fitted.predict(sites.X))


def test_a_study_builds_on_an_alignment_of_records_that_stand_in_different_orders(sites):
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC())]
    there = tacit.connect(sites.home(ANALYST) / "site.toml").on("others").aligned(min_records=20)
    fitted = tacit.Pipeline([(name, clone(step)) for name, step in steps]).fit(there)
    job = max(folders(sites.home("clearing") / "state"), key=lambda found: found.path.stat().st_ctime).job
    here = records_of(job, sites.configs)
    assert 120 < here.n_rows < 180  # common patients, without those to judge by
    alone = tacit.Pipeline(steps).fit(here)
    X = np.random.default_rng(2).normal(size=(300, 12))
    check_alike(alone, fitted, X, least=0.85)
    assert fitted.score(X, X[:, 0] + X[:, 5] > 0) > 0.8


def test_a_transformer_alone_is_a_study_of_one_step(sites):
    there = tacit.connect(sites.home(ANALYST) / "site.toml")
    fitted = tacit.FederatedImputer().fit(there)
    assert fitted.federation_.features == tuple(f"{name}-column{j}" for name in sites.hospitals for j in range(4))
    assert fitted.statistics_.shape == (12,)
