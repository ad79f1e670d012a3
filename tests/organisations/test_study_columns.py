"""A whole study between organisations that hold columns of the same records: the simulated one, bit for bit."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import tacit
from organisations.sites import ANALYST, Sites
from tacit.choreo import encode
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
bins = 32
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
    X = draw.normal(size=(130, 12))
    y = (X[:, 0] + X[:, 5] > 0).astype(int)
    own = np.random.default_rng(i).permutation(np.delete(np.arange(130), i))  # each lacks another one
    return X[own, 4 * i : 4 * i + 4], name, y[own] if i == 0 else None, 1000 + own


def write(path, X, name, y, ids):
    """Write a hospital's table, with blanks where a value is missing."""
    head = ["patient", *(f"{name}-column{j}" for j in range(X.shape[1])), *([] if y is None else ["label"])]
    rows = [[k, *("" if np.isnan(x) else repr(float(x)) for x in row)] for k, row in zip(ids, X, strict=True)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *(row if y is None else [*row, y[k]] for k, row in enumerate(rows))])


@pytest.fixture(scope="module")
def here(sites):
    """The same records in one process."""
    parts = [sites.X[:, 4 * i : 4 * i + 4] for i in range(3)]
    held = [(parts[0], sites.y), *parts[1:]]
    return tacit.from_parts(
        held, names=sites.hospitals, partition="vertical", coordinator="clearing", allow_missing=True
    )


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


def test_shares_and_figures_are_those_of_the_simulation_though_a_site_was_killed(sites, here, done):
    job, fitted = done
    learn, judge = tacit.train_test_split(here, test_size=0.25, random_state=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = pipeline().fit(learn)
        found = tacit.evaluate(alone, judge, bins=32)
    kept = {name: folder_of(sites.home(name) / "state", job.id).result for name in sites.names}
    model = alone["svm"].model_
    assert encode(kept["clearing"]["2.dual"]).digest == encode(model.dual).digest
    for name in sites.hospitals:
        assert encode(kept[name]["2.columns"]).digest == encode(model.columns[name]).digest
    judged = fitted.report_.evaluations["held-out records"]
    assert (judged.accuracy, judged.roc_auc) == (found.accuracy, found.roc_auc)
    np.testing.assert_array_equal(judged.confusion_matrix, found.confusion_matrix)
    np.testing.assert_array_equal(fitted["svm"].model_.sigmoids, model.sigmoids)


def test_statistics_stay_with_the_owners_of_the_columns(sites, here, done):
    job, fitted = done
    means = folder_of(sites.home("h2") / "state", job.id).result["1.columns"]
    assert set(means) >= {f"h2-column{j}" for j in range(4)}
    assert not any(name.startswith(("h1", "h3", "missingindicator_h1")) for name in means)
    assert "1.columns" not in folder_of(sites.home("clearing") / "state", job.id).result
    assert not hasattr(fitted["scale"], "mean_")
    with pytest.raises(tacit.LocalError, match="h1, h2, h3 each keep what this FederatedImputer found of their own"):
        fitted["gaps"].transform(here.pooled()[0])


def test_the_handle_is_saved_and_loaded(tmp_path, done):
    job, fitted = done
    loaded = tacit.load(fitted.save(tmp_path / "study.tacit"))
    assert loaded["svm"].model_.job == f"{job.id}.2"
    assert loaded["gaps"].model_.job == f"{job.id}.0"


def test_a_study_builds_on_an_alignment_of_records_that_stand_in_different_orders(sites):
    parts = {name: others(name, i) for i, name in enumerate(sites.hospitals)}
    held = [X if y is None else (X, y) for X, _, y, _ in parts.values()]
    ids = [each for *_, each in parts.values()]
    here = tacit.from_parts(held, names=sites.hospitals, partition="vertical", coordinator="clearing", ids=ids)
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC())]
    alone = tacit.Pipeline(steps).fit(here)
    there = tacit.connect(sites.home(ANALYST) / "site.toml").on("others").aligned(min_records=20)
    fitted = tacit.Pipeline([(name, clone(step)) for name, step in steps]).fit(there)
    job, _, number = fitted["svm"].model_.job.partition(".")
    kept = folder_of(sites.home("clearing") / "state", job).result[f"{number}.dual"]
    assert len(here.pooled()[0]) == 127
    np.testing.assert_allclose(kept.objective, alone["svm"].model_.dual.objective, rtol=1e-7)  # in another order


def test_a_transformer_alone_is_a_study_of_one_step(sites, here):
    there = tacit.connect(sites.home(ANALYST) / "site.toml")
    fitted = tacit.FederatedImputer().fit(there)
    assert fitted.federation_.features == tuple(f"{name}-column{j}" for name in sites.hospitals for j in range(4))
    assert fitted.model_.job.endswith(".0")
    assert tacit.FederatedImputer().fit(here).statistics_.shape == (12,)
