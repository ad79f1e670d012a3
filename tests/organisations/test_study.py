"""A whole study between hospitals: one text, simulated and connected, and one job."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from typer.testing import CliRunner

import tacit
from organisations.row_sites import check_alike, dealt, started
from tacit.cli.app import app

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some

NAMES = ("h1", "h2", "h3")


def rows_with_gaps():
    """Records and labels by hospital; values are missing, and columns differ in size."""
    X, y = make_classification(360, 6, n_informative=4, flip_y=0.1, random_state=3)
    X = X * (1, 10, 100, 1, 0.1, 1)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return {name: (X[i::3], y[i::3]) for i, name in enumerate(NAMES)}


def study(**changes):
    """The pipeline of the study."""
    svm = tacit.SVC(probability=True, random_state=3, **changes)
    search = tacit.FederatedGridSearch(svm, {"alpha": [0.1, 1.0]})
    return tacit.Pipeline(
        [("gaps", tacit.FederatedImputer("median")), ("scale", tacit.FederatedScaler()), ("svm", search)]
    )


@pytest.fixture(scope="module")
def rows():
    return rows_with_gaps()


@pytest.fixture(scope="module")
def sites(rows, tmp_path_factory):
    with started(rows, tmp_path_factory.mktemp("study")) as made:
        yield made


@pytest.fixture(scope="module")
def fitted(sites):
    """The same text in one process and between sites, one of which is killed on the way."""
    killed = []

    def disturb(progress):
        if progress.round > 5 and not killed:
            killed.append(sites.kill("h2"))
            sites.start("h2")

    connected = tacit.connect(sites.config("analyst"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = study().fit(dataclasses.replace(connected, progress=disturb))
        alone = study().fit(dealt(sites))
    assert killed
    return alone, together


def test_the_same_text_gives_the_same_columns_and_decisions_though_a_site_was_killed(rows, fitted):
    alone, together = fitted
    assert [name for name, _ in together.steps] == [name for name, _ in alone.steps]
    X = rows["h1"][0]
    check_alike(alone, together, X)
    assert together["svm"].best_params_["alpha"] in (0.1, 1.0)
    assert np.corrcoef(together.predict_proba(X)[:, 1], alone.predict_proba(X)[:, 1])[0, 1] > 0.95


def test_its_parameters_are_those_that_were_given(fitted):
    _, together = fitted
    assert together["svm"].estimator.random_state == 3
    assert together["gaps"].random_state is None


def test_it_was_one_job_with_one_consent_and_one_audit_at_every_site(sites, fitted):
    del fitted
    for site in sites.sites:
        jobs = (sites.folder(site) / "state" / "jobs").iterdir()
        assert sum((folder / "audit.jsonl").exists() for folder in jobs) == 1


def test_the_report_tells_of_every_step(fitted):
    _, together = fitted
    opened = {fact.identifier for row in together.report_.opens for fact in row.facts}
    assert {"core.columns", "core.scores"} <= opened


def test_the_fitted_pipeline_is_saved_and_loaded(tmp_path, rows, fitted):
    _, together = fitted
    X = rows["h2"][0]
    loaded = tacit.load(together.save(tmp_path / "study.tacit"))
    np.testing.assert_array_equal(loaded.predict(X), together.predict(X))


def test_a_step_that_a_policy_refuses_refuses_the_whole_study_before_anything_is_opened(sites, fitted):
    del fitted
    with pytest.raises(
        tacit.PeerError, match=r"h[123] refuses: policy policy.toml: parameters.features = .*, the job has 300"
    ):
        study(features=300).fit(tacit.connect(sites.config("analyst")))
    for site in sites.hospitals:
        folders = (sites.folder(site) / "state" / "jobs").iterdir()
        assert sum((folder / "journal").exists() or (folder / "audit.jsonl").exists() for folder in folders) == 1


FILE = """
dataset = "cohort"
purpose = "a test"
legal_basis = "none"
parties = ["h1", "h2", "h3"]
coordinator = "clearing"
seed = 7

[[step]]
use = "TableVectorizer"

[[step]]
use = "FederatedGridSearch"
estimator = { use = "SVC", probability = true }
grid = { alpha = [0.1, 1.0] }

[evaluate]
"""


@pytest.fixture(scope="module")
def others(rows, tmp_path_factory):
    """Sites of which no study has opened anything yet."""
    with started(rows, tmp_path_factory.mktemp("others")) as made:
        yield made


def test_a_study_in_a_file_leaves_a_model_and_a_report_with_the_figures_of_the_simulation(tmp_path, rows, others):
    (tmp_path / "study.toml").write_text(FILE)
    files = {"--model": tmp_path / "model.tacit", "--report": tmp_path / "report.html"}
    asked = ["submit", tmp_path / "study.toml", "--config", others.config("analyst")]
    done = CliRunner().invoke(app, list(map(str, [*asked, *(each for pair in files.items() for each in pair)])))
    assert done.exit_code == 0, done.stderr
    learn, judge = (dealt(others, held_out=held_out) for held_out in (False, True))
    search = tacit.FederatedGridSearch(tacit.SVC(probability=True, random_state=7), {"alpha": [0.1, 1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = tacit.Pipeline([("table", tacit.TableVectorizer()), ("svm", search)]).fit(learn)
        found = tacit.evaluate(alone, judge)
    loaded = tacit.load(files["--model"])
    check_alike(alone, loaded, rows["h1"][0])
    judged = loaded.report_.evaluations["held-out records"]
    assert judged.confusion_matrix.sum() == found.confusion_matrix.sum() == judge.n_rows
    assert abs(judged.accuracy - found.accuracy) < 0.1
    page = files["--report"].read_text()
    assert "held-out records" in page
    assert f"{judged.accuracy:.4f}"[:5] in page
