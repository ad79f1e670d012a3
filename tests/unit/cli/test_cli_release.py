"""`tacit release`: what a model file gives away, by its limits, and what may leave."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit import ELMClassifier

COLUMNS = [f"c{j}" for j in range(10)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model, the records of its training, and others."""
    folder = tmp_path_factory.mktemp("release")
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:160]
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[rows, :10], y[rows]
    ELMClassifier(n_hidden=12, random_state=0).fit(X, y).save(folder / "model.tacit")
    for name, some in (("training", slice(None)), ("others", slice(0, 60))):
        lines = [",".join(map(str, [*x, t])) for x, t in zip(X[some].tolist(), y[some].tolist(), strict=True)]
        (folder / f"{name}.csv").write_text("\n".join([",".join([*COLUMNS, "label"]), *lines]))
    (folder / "lax.toml").write_text(
        'protocols = "any"\napprovers = ["ann"]\n[columns]\nd = "all"\n'
        "[release]\nmembership_auc = 0.7\nattribute_advantage = 0.5\ntrue_positives = 0.2\n"
    )
    return folder


def test_a_model_within_the_limits_of_a_policy_is_exported(tacit, files):
    out = files / "model.skops"
    done = tacit(
        "release", files / "model.tacit", files / "training.csv", "--policy", files / "lax.toml", "--twins", "4",
        "--export", out, "--report", files / "r.html", "--json",
    )  # fmt: skip
    assert done.json["released"] is True
    assert {line["limit"] for line in done.json["lines"]} >= {"stored_records", "membership_auc"}
    assert out.exists()
    assert "<h2>Release</h2>" in (files / "r.html").read_text(encoding="utf-8")


def test_without_the_records_nothing_leaves_and_the_exit_status_says_so(tacit, files):
    done = tacit("release", files / "model.tacit", "--export", files / "no.skops")
    assert done.code == 1
    assert "not measured: bring the records of the training" in " ".join(done.out.split())
    assert "refused: membership" in done.out
    assert not (files / "no.skops").exists()


def test_refusals_are_one_line(refused, files):
    assert "give those that were in it, too" in refused(
        "release", files / "model.tacit", "--others", files / "others.csv"
    )
    assert "no column 'outcome'" in refused(
        "release", files / "model.tacit", files / "training.csv", "--label", "outcome"
    )
