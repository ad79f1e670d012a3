"""A public model goes from a job to a file that anybody can use."""

from __future__ import annotations

import warnings

import pytest
from typer.testing import CliRunner

import tacit
from job_files import example_job
from organisations.row_sites import rows_of_three, started
from tacit.cli.app import app

pytest.importorskip("nats")


def test_a_submitted_job_leaves_its_public_model_in_a_file(tmp_path, tmp_path_factory):
    rows = rows_of_three()
    text = example_job(parties=tuple(rows), rows=80, partition="horizontal").replace('labeller = "h1"\n', "")
    (tmp_path / "job.toml").write_text(text)
    asked = ["submit", tmp_path / "job.toml", "--model", tmp_path / "model.tacit", "--config"]
    with started(rows, tmp_path_factory.mktemp("sites")) as sites, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        done = CliRunner().invoke(app, [*map(str, asked), str(sites.config("analyst"))], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    assert tacit.load(tmp_path / "model.tacit").score(*rows["h1"]) > 0.6
