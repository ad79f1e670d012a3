"""The release gate between hospitals: one that is refused never reaches the analyst, and one that passes does."""

from __future__ import annotations

import re

import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import tacit
from organisations.row_sites import started
from tacit.cli.app import app
from tacit.consortium.jobs.folder import SENT, folders
from tacit.study.gate import NotReleasedError

pytest.importorskip("nats")

NAMES = ("h1", "h2", "h3")


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:480, :6]
    rows = {name: (X[i::3], y[:480][i::3]) for i, name in enumerate(NAMES)}
    with started(rows, tmp_path_factory.mktemp("gate")) as made:
        yield made


def allow(sites, hospital: str, limit: str, value: str) -> None:
    """Change a limit in the policy of one hospital, which reads it anew."""
    policy = sites.folder(hospital) / "policy.toml"
    policy.write_text(re.sub(rf"^{limit} = .*$", f"{limit} = {value}", policy.read_text(), flags=re.MULTILINE))


def test_the_strictest_hospital_decides_whether_the_analyst_gets_the_model(sites):
    fed = tacit.connect(sites.config("analyst")).gated(twins=4)
    for hospital in NAMES:
        for limit in ("membership_auc", "true_positives", "attribute_advantage"):
            allow(sites, hospital, limit, "1.0")
    model = tacit.ELMClassifier(n_hidden=8, random_state=0)
    passed = model.fit(fed).report_.release
    assert not passed.refused
    assert [line.allowed for line in passed.lines[1:]] == [1.0, 1.0, 1.0]
    allow(sites, "h2", "membership_auc", "0.1")
    with pytest.raises(NotReleasedError, match=r"area under the curve: 0\.\d+, and 0.1 is allowed") as refused:
        tacit.ELMClassifier(n_hidden=9, random_state=0).fit(fed)
    assert "3 of 3 sites trained 4 twins each on their own records" in refused.value.release.how
    (job,) = [each for each in folders(sites.folder("clearing") / "state") if (each.path / SENT).exists()]
    assert len((job.path / SENT).read_bytes()) < 2000  # the table, and no model
    analysts = {each.id: each.public for each in folders(sites.folder("analyst") / "state")}
    assert [*vars(analysts[job.id])["values"]] == ["gate"]
    model_file = sites.folder("analyst") / "model.tacit"
    asked = ["resume", job.id[:8], "--model", str(model_file), "--config", str(sites.config("analyst"))]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 2  # refused
    assert "the model is not released, membership" in " ".join((said.stderr or said.output).split())
    assert not model_file.exists()
